"""The checks of the capstone: ten facts about a model's graph, and an operation of one's own."""

import gc
import weakref
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any

import minigrad as torch
from minigrad_lessons.exercises import report
from minigrad_lessons.facts import FACTS, facts_of
from minigrad_lessons.same_in_torch import pytorch
from minigrad_lessons.values import show

Program = Callable[[ModuleType], Any]
# What somebody has counted who answers so: the facts, and how the answer follows from them.
COUNTED: dict[str, tuple[tuple[str, Callable[[dict[str, Any]], object]], ...]] = {
    "nodes": (("you left the AccumulateGrad nodes out.", lambda f: f["nodes"] - f["leaves"]),
              ("you counted the (None, 0) pairs as nodes.", lambda f: f["nodes"] + f["empty"])),
    "leaves": (("you counted the pairs (None, 0) too: an input that does not require grad has no node.",
                lambda f: f["leaves"] + f["empty"]),
               ("you counted the parameters that get no gradient too.", lambda f: f["leaves"] + f["without"])),
    "empty": (("a tensor that does not require grad leaves a pair (None, 0) at every node that takes it.",
               lambda f: 0),),
    "shared": (("a tensor that is used twice has one node, to which two edges lead.", lambda f: 0),),
    "longest": (("count nodes, not edges.", lambda f: f["longest"] - 1),
                ("this is the number of all nodes; side branches are not on one path.", lambda f: f["nodes"])),
    "numbered": (("only a node with several outputs has edges with an integer other than 0.", lambda f: f["nodes"]),),
    "again": (("ask for each node whether it saved something: one that did is enough for the error.",
               lambda f: not f["again"]),),
    "data": (("the data has a .grad only if it requires grad.", lambda f: not f["data"]),),
    "without": (("a parameter without .grad is frozen, or no path leads to it.", lambda f: 0),),
}


def facts(program: Program, answers: Any) -> None:
    """Judge predictions about the graph of `program(torch)`, which returns loss, model and data."""
    name = "check.facts"
    if not report.is_function(name, "program, {…}", program):
        return
    if report.has_dots(program) or not isinstance(answers, Mapping) or any(a is ... for a in answers.values()):
        open_ones = [key for key, answer in answers.items() if answer is ...] if isinstance(answers, Mapping) else []
        report.not_yet(name, f"Still open: {', '.join(open_ones) or 'the program'}.")
        return
    if unknown := [key for key in answers if key not in FACTS]:
        report.misconception(name, f"there is no fact {unknown[0]!r}. There are: {', '.join(FACTS)}.")
        return
    found = _found(name, program, torch)
    if found is None:
        return
    wrong = [key for key, answer in answers.items() if answer != found[key]]
    if wrong:
        report.misconception(name, f"{len(wrong)} of {len(answers)} differ. The first, {wrong[0]}: {FACTS[wrong[0]]}.",
                             *_why(wrong[0], answers[wrong[0]], found))
        return
    if len(answers) == len(FACTS) and (found["nodes"] < 8 or not (found["shared"] or found["numbered"])):
        report.misconception(name, "all agree, but this graph is too plain: at least 8 nodes, and one to which more "
                                   "than one edge leads, or an integer other than 0.")
        return
    theirs = pytorch()
    if theirs is not None and (other := _found(name, program, theirs)) != found:
        if other is not None:
            differing = next(key for key in FACTS if other[key] != found[key])
            report.misconception(name, f"PyTorch says {other[differing]} for {differing}, minigrad {found[differing]}.")
        return
    report.passed(name, *(f"{key}: {answers[key]}" for key in answers))


def _found(name: str, program: Program, library: ModuleType) -> dict[str, Any] | None:
    finished, made = report.run(name, program, "torch", library)
    if not finished:
        return None
    if not isinstance(made, tuple) or len(made) != 3 or not hasattr(made[1], "parameters"):
        report.misconception(name, "the program must return three things: the loss, the model, the data.")
        return None
    try:
        return facts_of(*made)
    except (ValueError, RuntimeError) as error:
        report.misconception(name, f"no facts can be read from this loss: {report.first_line(error)}")
        return None


def _why(key: str, said: object, found: dict[str, Any]) -> tuple[str, ...]:
    if key == "root":
        return (f"You say {said}. Look at what computes the loss last; its name ends in Backward and a digit.",)
    fits = next((text for text, rule in COUNTED[key] if rule(found) == said), "")
    return (f"You say {said}{f': {fits}' if fits else '.'}",
            "Draw the graph, or open it in the inspector, and count again.")


Function = Any
Reference = Callable[[ModuleType, Any], Any]


def operation(student: Function, reference: Reference, at: Sequence[float]) -> None:
    """Judge a Function of one tensor against its reference, as minigrad's own operations are tested."""
    name = "check.operation"
    if not isinstance(student, type) or not issubclass(student, torch.autograd.Function):
        report.misconception(name, "pass the class itself, a torch.autograd.Function.")
        return
    if any(report.has_dots(getattr(student, part)) for part in ("forward", "backward")):
        report.not_yet(name, f"Write forward and backward of {student.__name__}.")
        return
    told = []
    for judge in (_values, _gradient, _checks, _second, _shapes, _unwanted, _versions, _memory):
        try:
            fault = judge(student, reference, list(at))
        except Exception as error:  # noqa: BLE001 (whatever a student's code raises is reported)
            fault = f"{judge.__doc__} {report.raised(error, student.backward)}"
        if fault:
            report.misconception(name, fault)
            return
        told.append(f"{judge.__doc__} right")
    report.passed(name, *told)


def _leaf(at: list[float]) -> torch.Tensor:
    return torch.tensor(at, dtype=torch.float64, requires_grad=True)


def _values(student: Function, reference: Reference, at: list[float]) -> str:
    """values:"""
    x = _leaf(at)
    result, wanted = student.apply(x), reference(torch, x.detach())
    if not isinstance(result, torch.Tensor):
        return f"forward returned a {type(result).__name__}, not a tensor."
    if result.shape != wanted.shape or not torch.allclose(result.detach(), wanted):
        return f"at {show(x.detach())} forward gives {show(result.detach())}, the reference {show(wanted)}."
    theirs = pytorch()
    if theirs is not None:
        other = reference(theirs, theirs.tensor(at, dtype=theirs.float64))
        if not torch.allclose(wanted, torch.tensor(other.tolist(), dtype=torch.float64)):
            return "the reference gives other values in PyTorch."
    return ""


def _gradient(student: Function, reference: Reference, at: list[float]) -> str:
    """gradients:"""
    x, other = _leaf(at), _leaf(at)
    weights = torch.arange(1.0, len(at) + 1.0).double()
    student.apply(x).backward(weights)
    reference(torch, other).backward(weights)
    if x.grad is None or other.grad is None:
        return "no gradient reached x: backward must return it."
    if torch.allclose(x.grad, other.grad):
        return ""
    if torch.allclose(x.grad * weights, other.grad):
        return "the derivative is right, but it was not multiplied by the incoming gradient."
    return f"backward gives {show(x.grad)} for the gradients {show(weights)}; the reference {show(other.grad)}."


def _checks(student: Function, reference: Reference, at: list[float]) -> str:
    """gradcheck:"""
    torch.autograd.gradcheck(student.apply, (_leaf(at),))
    return ""


def _second(student: Function, reference: Reference, at: list[float]) -> str:
    """second derivatives:"""
    x = _leaf(at)
    (slope,) = torch.autograd.grad(student.apply(x).sum(), x, create_graph=True)
    other = _leaf(at)
    (wanted,) = torch.autograd.grad(reference(torch, other).sum(), other, create_graph=True)
    if wanted.requires_grad and not slope.requires_grad:
        return ("the second derivative is lost: backward uses a value that has no history. Save the input with "
                "save_for_backward, and compute from it in backward.")
    torch.autograd.gradgradcheck(student.apply, (_leaf(at),))
    return ""


def _shapes(student: Function, reference: Reference, at: list[float]) -> str:
    """other shapes and dtypes:"""
    for made in (torch.tensor(at[0]), torch.tensor([at, at]).T, torch.ones(0), torch.tensor(at)):
        x = made.detach().clone().requires_grad_()
        result = student.apply(x)
        if result.shape != x.shape or result.dtype is not x.dtype:
            return f"from shape {list(x.shape)} and {x.dtype} it makes {list(result.shape)} and {result.dtype}."
        result.sum().backward()
    return ""


def _unwanted(student: Function, reference: Reference, at: list[float]) -> str:
    """no gradient wanted:"""
    wanted = student.apply(torch.tensor(at)).requires_grad
    return "the result requires grad, though the input does not." if wanted else ""


def _versions(student: Function, reference: Reference, at: list[float]) -> str:
    """changes in place:"""
    x = _leaf(at)
    inner = x * 1
    result = student.apply(inner)
    saved = bool(getattr(result.grad_fn, "saved_tensors", ()))
    inner.add_(1.0)
    other = _leaf(at)
    reference(torch, other).sum().backward()
    try:
        result.sum().backward()
    except RuntimeError:
        return ""
    if x.grad is None or other.grad is None or torch.allclose(x.grad, other.grad):
        return ""
    kept = "" if saved else " Keep tensors with save_for_backward, not as an attribute of ctx."
    return f"the input was changed in place, and backward silently gave a wrong gradient.{kept}"


def _memory(student: Function, reference: Reference, at: list[float]) -> str:
    """memory given back:"""
    x = _leaf(at)
    inner = x * 1
    spy = weakref.ref(inner)
    result = student.apply(inner)
    result.sum().backward()
    del inner
    gc.collect()
    if spy() is not None:
        return "after backward the input is still held: an attribute of ctx keeps it. Use save_for_backward."
    return ""


HINTS = {
    "facts": (
        "Draw one node for each operation with an input that requires grad, then an edge for each input.",
        "Linear leaves AddmmBackward0 with the pairs of bias, data and weight; TBackward0 comes before the weight. "
        "Data that does not require grad is (None, 0).",
        "Open it: with record() as trace: … and Inspector(trace). Count nodes, then edges, then the longest path.",
    ),
    "operation": (
        "forward computes and saves what backward needs. backward returns grad times the derivative.",
        "ctx.save_for_backward(x); in backward x, = ctx.saved_tensors. The derivative of sin²(x) is 2 sin(x) cos(x).",
        "forward: ctx.save_for_backward(x); return x + torch.sin(x) ** 2. backward: x, = ctx.saved_tensors; "
        "return grad * (1 + torch.sin(2 * x)).",
    ),
}
