"""The checks of lesson 3: a walk over trees, chosen integers, and a graph on which the walk drowns."""

from collections.abc import Callable
from typing import Any

import minigrad as torch
from minigrad.recorder import record
from minigrad_lessons.exercises import report
from minigrad_lessons.exercises.graph import nodes_of, paths_to, without_recording

Walk = Callable[[Any, torch.Tensor], None]


def _leaf(*values: float) -> torch.Tensor:
    return torch.tensor(list(values), requires_grad=True)


def _chain() -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
    x = torch.tensor(0.5, requires_grad=True)
    return (x * 5).exp(), {"x": x}


def _two_leaves() -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
    x, y = _leaf(1.0, 2.0), _leaf(3.0, 4.0)
    return (x * y).sum(), {"x": x, "y": y}


def _with_data() -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
    x, y = _leaf(1.0, 2.0), _leaf(3.0, 4.0)
    return (torch.tensor([5.0, 6.0]) * x + y * 2).sum(), {"x": x, "y": y}


def _diamond() -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
    x = _leaf(1.0, 2.0)
    b = x * 3
    return (b * b).sum(), {"x": x}


TREES = (("(x * y).sum()", _two_leaves), ("(x * 5).exp()", _chain), ("(data * x + y * 2).sum()", _with_data))


def walk(student: Walk) -> None:
    """Judge `walk(node, grad)` on three trees, against what `.backward()` writes into `.grad`."""
    name = "check.walk"
    if not report.to_judge(name, "walk", "Fill in the two blanks of walk(node, grad).", student):
        return
    lines = []
    for code, tree in TREES:
        fault = _judge_tree(student, tree)
        if fault:
            report.misconception(name, fault, f"This was the tree  {code}")
            return
        lines.append(f"{code}: every .grad is equal to that of backward()")
    report.passed(name, *lines, _on_a_diamond(student))


def _on_a_diamond(student: Walk) -> str:
    """What the walk does on a graph that is not a tree."""
    loss, _ = _diamond()
    with record() as trace:
        fault = _judge_tree(student, _diamond)
    calls = sum(event["kind"] == "call" for event in trace.events)
    judged = ".grad is wrong" if fault else ".grad is right too"
    nodes = len(nodes_of(loss.grad_fn))
    return f"(b * b).sum() with b = x * 3, not a tree: {judged}, after {calls} calls for {nodes} nodes"


def _judge_tree(student: Walk, tree: Callable[[], tuple[torch.Tensor, dict[str, torch.Tensor]]]) -> str:
    loss, leaves = tree()
    loss.backward()
    wanted = {key: leaf.grad.tolist() for key, leaf in leaves.items() if leaf.grad is not None}
    loss, leaves = tree()
    try:
        without_recording(lambda: student(loss.grad_fn, torch.tensor(1.0)))
    except RecursionError:
        return "the walk never ends. It must go on with the node below, not with the same one."
    except Exception as error:  # noqa: BLE001 (whatever a student's code raises is reported)
        holds_none = any(below is None for node in nodes_of(loss.grad_fn) for below, _ in node.next_functions)
        return _why_raised(error, student, holds_none)
    found = {key: None if leaf.grad is None else leaf.grad.tolist() for key, leaf in leaves.items()}
    return "" if found == wanted else _why_different(found, wanted)


def _why_raised(error: Exception, student: Walk, holds_none: bool) -> str:
    text = str(error)
    if "'int' object is not callable" in text:
        return "the walk called the integer; the node is the first of the pair."
    if "'Tensor' object is not callable" in text:
        return "the walk called a gradient; call the node below with it."
    if "'NoneType' object is not callable" in text and not holds_none:
        return "the walk called None, and no pair of this tree holds None: go on with the node below."
    if "NoneType" in text and holds_none:
        return "the walk reached None. A pair (None, 0) means that this input does not require grad: skip it."
    if "0-d" in text or "zip" in text or "iterate" in text or "iterable" in text:
        return "a node with one input returns a bare tensor, not a tuple with one tensor in it."
    return f"the walk {report.raised(error, student)}"


def _why_different(found: dict[str, Any], wanted: dict[str, Any]) -> str:
    missing = [key for key, grad in found.items() if grad is None]
    if len(missing) == len(found):
        return ("none of the leaves received anything. Gradients arrive when the walk calls the last nodes: it has to "
                "go on down to them.")
    if missing:
        return f"{', '.join(missing)}.grad is None: the walk followed one edge only. A node may have several inputs."
    key = next(k for k in wanted if found[k] != wanted[k])
    if all(value == 1.0 for grad in found.values() for value in (grad if isinstance(grad, list) else [grad])):
        return ("every leaf got the gradient of the root. What goes down an edge is what the node returned for that "
                "input.")
    if sorted(map(str, found.values())) == sorted(map(str, wanted.values())):
        return "the gradients went to the wrong inputs: the results are in the order of next_functions."
    return f"{key}.grad is {_numbers(found[key])}, backward() gives {_numbers(wanted[key])}."


def _numbers(values: Any) -> str:
    return "[" + ", ".join(f"{v:.3g}" for v in values) + "]" if isinstance(values, list) else f"{values:.3g}"


def integers(build: Callable[[torch.Tensor], object], wanted: list[int]) -> None:
    """Judge `build(m)`: do the pairs of its result's node hold these integers, all with one UnbindBackward0?"""
    name = "check.integers"
    if not report.to_judge(name, f"build, {wanted}", "Write what build(m) returns.", build):
        return
    finished, result = report.run(
        name, build, "m", torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], requires_grad=True))
    if not finished:
        return
    if not isinstance(result, torch.Tensor) or result.grad_fn is None:
        report.misconception(name, "build must return a tensor that has a grad_fn.")
        return
    pairs = result.grad_fn.next_functions
    shown = f"Its pairs: {', '.join(f'({_kind(node)}, {integer})' for node, integer in pairs)}"
    fault = _why_not_rows(pairs) or _why_other_integers(pairs, wanted)
    if fault:
        report.misconception(name, fault, shown)
    else:
        report.passed(name, shown)


def _kind(node: object) -> str:
    return "None" if node is None else type(node).__name__


def _why_not_rows(pairs: Any) -> str:
    """What is wrong with the nodes, whatever the integers are; empty if all are of unbind."""
    names = [_kind(node) for node, _ in pairs]
    if set(names) == {"None"}:
        return "these rows were made without recording: no node."
    if "SelectBackward0" in names:
        return "m[2] is an operation of its own, with one output. Each such row is output 0 of its own node."
    for place, kind in enumerate(names):
        if kind == "None":
            return f"input {place} was made without recording, or does not require grad: no node."
        if kind != "UnbindBackward0":
            return f"input {place} comes from {kind}, not from unbind."
    return ""


def _why_other_integers(pairs: Any, wanted: list[int]) -> str:
    found, count = [integer for _, integer in pairs], len(pairs)
    if found == wanted and len({id(node) for node, _ in pairs}) > 1:
        return "unbind was called more than once; one call is enough, since its outputs can be used again."
    if found == wanted:
        return ""
    if count != len(wanted):
        inputs, made = ("input", "pair") if count == 1 else ("inputs", "pairs")
        return f"this node has {count} {inputs}, so {count} {made}; it should have {len(wanted)}."
    if found == sorted(found):
        return ("the integers do not count the inputs. They say which output of unbind each input was; you choose the "
                "order.")
    if found == wanted[::-1]:
        return "the pairs are in the order of the inputs, first input first."
    return f"the integers are {found}; they should be {wanted}."


def diamond(build: Callable[[], object], most_nodes: int = 20, calls: int = 1000) -> None:
    """Judge `build()`: at most so many nodes, and more calls than that for a walk that recurses along every edge."""
    name = "check.diamond"
    if not report.to_judge(name, "build_diamonds", "Write build_diamonds(): what is computed from a?", build):
        return
    finished, result = report.run(name, build, "")
    if finished and (not isinstance(result, torch.Tensor) or result.grad_fn is None):
        report.misconception(name, "build must return a tensor that has a grad_fn: let it begin with a leaf that "
                                   "requires grad.")
    elif finished:
        _judge_diamond(name, result, most_nodes, calls)


def _judge_diamond(name: str, result: torch.Tensor, most_nodes: int, calls: int) -> None:
    nodes, paths = nodes_of(result.grad_fn), paths_to(result.grad_fn)
    walked, most = sum(paths.values()), max(paths.values())
    counts = f"Nodes: {len(nodes)}. Calls by walk: {walked}. Runs by backward(): {len(nodes)}, each node once."
    meet = any(count > 1 and node.next_functions for node in nodes for count in [paths[id(node)]])
    if walked > calls and len(nodes) <= most_nodes and meet:
        report.passed(name, counts, f"The most visited node is called {most} times, each time with a part of its "
                                    "gradient.")
    elif most == 1:
        report.misconception(name, "this is a tree: one path leads to each node, so the walk calls each node once, "
                                   "however long it is.", counts)
    elif len(nodes) > most_nodes:
        report.misconception(name, f"it has {len(nodes)} nodes, {most_nodes} are allowed. Size alone does not make "
                                   "the calls: look at how they grow with each step.", counts)
    elif not meet:
        report.misconception(name, "the paths meet only at the leaf. That adds one call for each use; it does not "
                                   "double what lies below.", counts)
    else:
        report.misconception(name, "paths meet, but too few times. What happens to the number of paths when one "
                                   "diamond stands on another?", counts)


HINTS = {
    "walk": (
        "Two questions: which pairs have nothing to visit, and what is called with the result?",
        "A pair (None, 0) has no node. In every other pair, the node is the first of the two.",
        "The first blank compares with None. The second is the node that walk should go on with.",
    ),
    "integers": (
        "The integer depends on the input, not on its place: it says which output of unbind this input is.",
        "Call unbind once and keep its three rows. The result needs four inputs, so use one row twice.",
        "With p, q, r = m.unbind(), the integers of p, q, r are 0, 1, 2. Put them into torch.stack in the order you "
        "need.",
    ),
    "diamond": (
        "A walk calls a node once for each path that leads to it. How does the number of paths grow?",
        "Use a result twice in the next operation: each such step doubles the paths to everything below it.",
        "In a loop, let a be computed from a and a. After n steps there are 2 ** n paths down; 10 steps are enough.",
    ),
}
