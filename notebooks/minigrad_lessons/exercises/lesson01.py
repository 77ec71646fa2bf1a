"""The checks of lesson 1: classify twelve tensors, a non-leaf without arithmetic, a leaf in two ways."""

import ast
from collections.abc import Callable
from types import CodeType
from typing import Any

import minigrad as torch
from minigrad_lessons.exercises import report
from minigrad_lessons.exercises.graph import nodes_of
from minigrad_lessons.exercises.truths import Rule, Truths

TWELVE = ("torch.ones(2)", "torch.ones(2, requires_grad=True)", "w * 2", "data * 2", "w.clone()", "w.detach()", "w[0]",
          "w.sum()", "torch.ones_like(w)", "layer.weight", "layer(x)", "(w * 2).detach().requires_grad_()")

# The nodes that only move numbers. Any other node, but one of a Function of the student's own, computes.
MOVES = {f"{operation}Backward0" for operation in (
    "Alias", "AsStrided", "Cat", "Clone", "Diagonal", "DiagEmbed", "Expand", "Flip", "Gather", "Index", "IndexSelect",
    "MaskedSelect", "Permute", "Repeat", "Roll", "Rot90", "Select", "Slice", "Sort", "Split", "SplitWithSizes",
    "Squeeze", "Stack", "T", "Take", "ToCopy", "Transpose", "Unbind", "Unfold", "UnsafeView", "Unsqueeze", "View",
    "Where")}
MOVES |= {"AccumulateGrad", "CopyBackwards", "CopySlices", "DiagonalBackward0_copy"}


def _is_operation(code: str) -> bool:
    top = ast.parse(code, mode="eval").body
    made_by_torch = isinstance(top, ast.Call) and ast.unparse(top.func).startswith("torch.")
    return isinstance(top, ast.BinOp | ast.Subscript) or (isinstance(top, ast.Call) and not made_by_torch)


LEAF_BELIEFS: tuple[tuple[str, Rule], ...] = (
    ("a leaf is a tensor that I want gradients for", lambda code, t: t.requires_grad),
    ("a leaf is plain data, without gradients", lambda code, t: not t.requires_grad),
    ("the result of an operation is never a leaf", lambda code, t: not _is_operation(code)),
    ("only parameters and data that I made are leaves; a detached tensor stays a result",
     lambda code, t: t.is_leaf and "detach" not in code),
    ("a copy is a new tensor of my own, so it is a leaf", lambda code, t: t.is_leaf or "clone" in code),
    ("every tensor that I can name is a leaf", lambda code, t: True),
)


_TWELVE = Truths(
    name="check.twelve", codes=TWELVE, count="twelve", hand_over="w, data, layer and x", run=eval,
    holds=lambda tensor: tensor.is_leaf, beliefs=LEAF_BELIEFS, look="Print its grad_fn: is there a node?",
    told=("are leaves", "are not"))


def twelve(answers: object, **names: Any) -> None:
    """Judge `{expression: is it a leaf?}` by running each expression with the given names."""
    _TWELVE.judge(answers, names)


def _fresh_leaf() -> torch.Tensor:
    return torch.tensor([[1.5, -2.25], [0.5, 7.0]], requires_grad=True)


def _numbers(tensor: torch.Tensor) -> list[float]:
    return sorted(set(tensor.detach().reshape(-1).tolist()))


def _shares_memory(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Write into a, look at b, and put things back."""
    first, other = a.detach().reshape(-1), b.detach()
    before, kept = other.tolist(), first.clone()
    first.add_(1.0)
    changed = bool(other.tolist() != before)
    first.copy_(kept)
    return changed


def non_leaf(build: Callable[[torch.Tensor], torch.Tensor]) -> None:
    """Judge `build(w)`: does it make a non-leaf out of the leaf w without computing a number?"""
    name = "check.non_leaf"
    if not report.to_judge(name, "build", "Write what build(w) returns.", build):
        return
    w = _fresh_leaf()
    finished, result = report.run(name, build, "w", w)
    if not finished:
        return
    if not isinstance(result, torch.Tensor):
        report.misconception(name, f"build must return a tensor; it returned {report.a(result)}.")
    elif result is w:
        report.misconception(name, "this is w itself. A second name for a tensor does not make a second tensor.")
    elif result.is_leaf:
        report.misconception(name, _why_leaf(result, w), "Its grad_fn is None, so it is a leaf.")
    elif computed := [type(node).__name__ for node in nodes_of(result.grad_fn) if not _moves(node)]:
        report.misconception(name, _why_computed(computed), f"Its graph holds {', '.join(computed)}.")
    else:
        report.passed(name, f"{type(result.grad_fn).__name__} moved numbers and computed none; is_leaf is False.")


def _moves(node: Any) -> bool:
    return type(node).__name__ in MOVES or isinstance(node, torch.autograd.function.BackwardCFunction)


def _why_computed(nodes: list[str]) -> str:
    if set(nodes) <= {f"{operation}Backward0" for operation in ("Add", "Sub", "Mul", "Div")}:
        return "multiplying by 1 or adding 0 is arithmetic too: the result is not judged by its numbers."
    return "this computes numbers. Only move them, copy them, or view them differently."


def _why_leaf(result: torch.Tensor, w: torch.Tensor) -> str:
    if _shares_memory(w, result):
        return "it shares w's memory, but it was detached from w: no operation was recorded."
    return "its numbers were copied outside the graph: to minigrad it is new data."


def two_ways(first: Callable[[torch.Tensor], torch.Tensor], second: Callable[[torch.Tensor], torch.Tensor]) -> None:
    """Judge two functions that each make a leaf with the numbers of the non-leaf y, in different ways."""
    name = "check.two_ways"
    if not report.to_judge(name, "first_way, second_way", "Write both functions.", first, second):
        return
    lines, did = [], []
    for way in (first, second):
        y = _fresh_leaf() * 2
        fault, told = _judge_way(way, y)
        if fault:
            report.misconception(name, f"{report.name_of(way)}(y): {fault}")
            return
        lines.append(f"{report.name_of(way)}(y): {told}")
        did.append((told, _calls(way)))
    if did[0] == did[1]:
        report.misconception(name, "both functions do the same thing. A different name is not a different way.", *lines)
        return
    report.passed(name, *lines)


def _judge_way(way: Callable[[torch.Tensor], torch.Tensor], y: torch.Tensor) -> tuple[str, str]:
    """What is wrong with the leaf that this way makes (empty if nothing), and what is to be told of it."""
    numbers = y.detach().tolist()
    try:
        leaf = way(y)
    except Exception as error:  # noqa: BLE001 (whatever a student's code raises is reported)
        if "change requires_grad flags" in str(error):
            return f"a result cannot drop the flag while it has a history. {report.first_line(error)}", ""
        return f"it {report.raised(error, way)}", ""
    if not isinstance(leaf, torch.Tensor):
        return f"it must return a tensor; it returned {report.a(leaf)}.", ""
    if not leaf.is_leaf:
        made_by = type(leaf.grad_fn).__name__
        if leaf is y:
            return f"this is y itself, and its grad_fn is still {made_by}.", ""
        return f"a copy, or a new view, is still a recorded result: its grad_fn is {made_by}.", ""
    if leaf.shape != y.shape:
        return f"a leaf, but its shape is {list(leaf.shape)}; y has {list(y.shape)}.", ""
    if leaf.tolist() != numbers:
        return "a leaf, but not with the numbers of y: it is new data of the same kind.", ""
    if leaf is y:
        return "", "y itself has become a leaf"
    return "", "a leaf that shares memory with y" if _shares_memory(y, leaf) else "a leaf with numbers of its own"


def _calls(function: Any) -> tuple[str, ...]:
    """The names that a function looks up, those of its inner functions too: what it calls, however it is written.

    `.data` counts as `detach`: both give a tensor outside the graph that shares its memory. To set the flag of a leaf
    afterwards is no other way to a leaf.
    """
    function = getattr(function, "func", function)
    code = getattr(function, "__code__", None)
    if code is None or function.__module__.partition(".")[0] == torch.__name__:
        return (report.name_of(function),)
    names = _names(code, function.__globals__, set())
    return tuple(dict.fromkeys("detach" if name == "data" else name for name in names))


def _names(code: CodeType, around: dict[str, Any], seen: set[CodeType]) -> list[str]:
    seen.add(code)
    found: list[str] = []
    inner = [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    for name in code.co_names:
        helper = getattr(around.get(name), "__code__", None)
        if helper is not None:
            inner.append(helper)
        elif name not in ("torch", "Tensor", "requires_grad_", "requires_grad"):
            found.append(name)
    return found + [name for part in inner if part not in seen for name in _names(part, around, seen)]


HINTS = {
    "twelve": (
        "A leaf has no grad_fn. So ask for each line: was an operation recorded here?",
        "It was recorded if an input requires grad and nothing switched recording off. data and x do not require grad; "
        "w does, and so do a layer's weights.",
        "detach() records nothing, ones_like makes new data. clone(), [0], sum() and layer(x) are operations on "
        "something that requires grad. For the last one, ask what detach() leaves behind.",
    ),
    "non_leaf": (
        "Which operations do you know that only move numbers, or only view them differently?",
        "Change the shape, take a part, swap the axes, or copy: each of these is an operation with a node of its own.",
        "The node's name tells you: w.view(...) leaves ViewBackward0. Write one such call after return.",
    ),
    "two_ways": (
        "A leaf has no history. One way cuts the history off; another starts again from the bare numbers.",
        "The first: a method from the twelve tensors that gave a leaf. The second: new data from a list of numbers.",
        "y.detach() is one. For the other, look at y.tolist(), and at how w was created at the top of this lesson.",
    ),
}
