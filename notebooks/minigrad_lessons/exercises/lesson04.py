"""The checks of lesson 4: a walk that waits, a Jacobian by three backward calls, and which second backward raises."""

import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import minigrad as torch
from minigrad.recorder import record
from minigrad_lessons.exercises import report
from minigrad_lessons.exercises.graph import grad_of, nodes_of, paths_to, without_recording
from minigrad_lessons.exercises.truths import Truths

Walk = Callable[[Any, torch.Tensor, dict[Any, int], dict[Any, torch.Tensor]], None]
Graph = tuple[torch.Tensor, list[torch.Tensor]]


def edges_into(root: Any) -> dict[Any, int]:
    """How many edges lead to each node below `root`: as many gradients will arrive there."""
    return dict(Counter(below for node in nodes_of(root) for below, _ in node.next_functions if below is not None))


def _chain() -> Graph:
    a = torch.tensor(0.5, requires_grad=True)
    return (a * 3).exp(), [a]


def _doubled() -> Graph:
    a = torch.tensor(1.0, requires_grad=True)
    b = a + a
    return b + b, [a]


def _random() -> Graph:
    """Thirty steps of two operations on whatever was there before; the seed is fixed, and the values stay small."""
    choose = random.Random(4)
    leaves = [torch.tensor(value, requires_grad=True) for value in (0.5, -0.25, 1.0)]
    made: list[torch.Tensor] = list(leaves)
    for _ in range(30):
        one, other = choose.choice(made[-6:]), choose.choice(made)
        made.append(choose.choice((torch.add, torch.sub, torch.mul, torch.maximum))(one, other).sin())
    total = made[0]
    for result in made[1:]:
        total = total + result
    return total, leaves


GRAPHS: tuple[tuple[str, Callable[[], Graph]], ...] = (
    ("(a * 3).exp(), a chain", _chain), ("b = a + a; c = b + b", _doubled),
    ("30 steps, put together at random", _random))


def waiting_walk(student: Walk) -> None:
    """Judge `walk(node, grad, needs, waiting)`: the right gradients, and each node called once."""
    name = "check.waiting_walk"
    if not report.to_judge(name, "walk", "Fill in the two blanks of walk(node, grad, needs, waiting).", student):
        return
    lines = []
    for told, build in GRAPHS:
        fault, calls = _judge(student, build)
        if fault:
            report.misconception(name, fault, f"This was the graph  {told}")
            return
        lines.append(f"{told}: {calls} nodes, {calls} calls, every .grad equal to that of backward()")
    report.passed(name, *lines)


def _judge(student: Walk, build: Callable[[], Graph]) -> tuple[str, int]:
    """What is wrong with the walk (empty if nothing), and how many calls it made."""
    result, leaves = build()
    result.backward()
    wanted = [grad_of(leaf).item() for leaf in leaves]
    result, leaves = build()
    root = result.grad_fn
    nodes, needs = nodes_of(root), edges_into(root)
    try:
        with record() as trace:
            without_recording(lambda: student(root, torch.tensor(1.0), dict(needs), {}))
    except RecursionError:
        return "the walk never ends. It must go on with the node below, not with the same one.", 0
    except Exception as error:  # noqa: BLE001 (whatever a student's code raises is reported)
        return f"the walk {report.raised(error, student)}", 0
    called = Counter(event["node"] for event in trace.events if event["kind"] == "call")
    fault = _why_calls(sum(called.values()), max(called.values(), default=0), nodes)
    found = [None if leaf.grad is None else leaf.grad.item() for leaf in leaves]
    if not fault and any(f is None or abs(f - w) > 1e-3 * max(1.0, abs(w)) for f, w in zip(found, wanted)):
        fault = ("each node was called once, but not with the whole sum. Pass on what has been added up in waiting, "
                 "not the last part to arrive.")
    return fault, sum(called.values())


def _why_calls(calls: int, most: int, nodes: list[Any]) -> str:
    if most > max(paths_to(nodes[0]).values()):
        return ("one node was called more often than there are paths to it: go on with the node below, not with the "
                "same one.")
    if most > 1:
        return (f"one node was called {most} times: it ran before its last gradient had arrived, each time with a "
                "partial sum.")
    if calls < len(nodes):
        return (f"only {calls} of {len(nodes)} nodes ran. The others still wait: by your count, more gradients are "
                "due.")
    return ""


def _three(x: torch.Tensor) -> torch.Tensor:
    return torch.stack([x[0] * x[1], x[0].exp(), x[1] * x[1] * 3])


def jacobian(student: Callable[[torch.Tensor, torch.Tensor], Any]) -> None:
    """Judge `jacobian(y, x)`: three rows, the gradient of each entry of y."""
    name = "check.jacobian"
    if not report.to_judge(
            name, "jacobian", "Write jacobian(y, x): three calls of backward, one row from each.", student):
        return
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    wanted = [torch.autograd.grad(_three(x)[i], x)[0].tolist() for i in range(3)]
    try:
        found = _rows(student(_three(x), x))
    except Exception as error:  # noqa: BLE001 (whatever a student's code raises is reported)
        report.misconception(name, _why_raised(error, student))
        return
    fault = _why_rows(found, wanted)
    if fault:
        report.misconception(name, fault, f"Your rows: {_shown(found)}")
    else:
        report.passed(name, "y = [x0 * x1, exp(x0), 3 * x1 ** 2], x = [1, 2]", f"Its rows: {_shown(wanted)}")


def _rows(given: Any) -> Any:
    if given is None:
        raise TypeError("jacobian returned None; return the list of the rows")
    return given.tolist() if isinstance(given, torch.Tensor) else [_row(row) for row in given]


def _row(row: Any) -> Any:
    return row.tolist() if isinstance(row, torch.Tensor) else row


def _shown(rows: Any) -> str:
    if isinstance(rows, list):
        return "[" + ", ".join(_shown(row) for row in rows) + "]"
    return f"{rows:.3g}" if isinstance(rows, float) else str(rows)


def _why_raised(error: Exception, student: object) -> str:
    text = str(error)
    if "second time" in text:
        return "the first call freed what the nodes had saved. This is what retain_graph=True is for."
    if "implicitly created" in text:
        return "y has three numbers: use gradient= to choose one, with a 1 in its place and 0 elsewhere."
    if "Mismatch in shape" in text:
        return "gradient= has one number for each number of y: three of them, whatever the shape of x is."
    return f"jacobian(y, x) {report.raised(error, student)}"


def _close(a: Any, b: Any) -> bool:
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(_close(i, j) for i, j in zip(a, b))
    return isinstance(a, int | float) and isinstance(b, int | float) and abs(a - b) <= 1e-3 * max(1.0, abs(b))


def _why_rows(found: Any, wanted: list[list[float]]) -> str:
    columns = [sum(column) for column in zip(*wanted)]
    running = [[sum(column) for column in zip(*wanted[:i + 1])] for i in range(3)]
    mistakes: tuple[tuple[Any, str], ...] = (
        (wanted, ""),
        (running, "each row includes the rows above it: .grad adds up. Set x.grad = None before each call."),
        ([columns] * 3, "all rows are equal to the sum of the rows. Either gradient= was all ones, or .grad was never "
                        "set to None: then the three rows are one and the same tensor."),
        ([wanted[2]] * 3, "all rows are equal to the last: x.grad was zeroed in place, and the three rows are one and "
                          "the "
                          "same tensor. Set x.grad = None instead, or clone() it."),
        ([list(column) for column in zip(*wanted)], "these are the columns: entry i of y makes row i."),
        (columns, "this is the sum of the rows, the gradient of y.sum(). Keep them apart: one call for each."),
    )
    for rows, text in mistakes:
        if _close(found, rows):
            return text
    if isinstance(found, list) and None in found:
        return "one of the rows is None: backward() returns None, and the gradient is in x.grad."
    if isinstance(found, list) and any(isinstance(row, tuple) for row in found):
        return "torch.autograd.grad returns a tuple: take the tensor out of it."
    return "the rows differ. Row i is x.grad after y.backward(v), where v has a 1 at place i and 0 elsewhere."


NINE = ("x + y", "x * y", "x - y", "-x", "x * 5", "x.exp()", "x.clone()", "(x * y) + x", "(x + y).sum()")


def _raises_again(code: str, names: dict[str, Any]) -> bool:
    """Whether a second backward from the result raises; the first one must run."""
    result = eval(code, names)
    result.backward()
    try:
        result.backward()
    except RuntimeError:
        return True
    return False


_NINE = Truths(
    name="check.second_backward", codes=NINE, count="nine", hand_over="x and y (one number each, requires grad)",
    run=_raises_again, holds=bool, beliefs=(
        ("the first backward destroys the graph, so every second one raises", lambda code, raises: True),
        ("the graph is still there, so nothing raises", lambda code, raises: False),
        ("only a product saves anything", lambda code, raises: "*" in code),
        ("a plain number need not be saved", lambda code, raises: raises and "5" not in code),
        ("only the last operation counts", lambda code, raises: raises and "+ x" not in code),
        ("with one input there is nothing to save", lambda code, raises: raises and "y" in code),
        ("with two inputs something is saved", lambda code, raises: raises or "y" in code),
    ),
    look="Does its formula need a value from the forward pass? Then it has to save that.", told=("raise", "run again"))


def second_backward(answers: object, **names: Any) -> None:
    """Judge `{expression: does a second backward() raise?}` by running each expression with the given names."""
    _NINE.judge(answers, names)


HINTS = {
    "waiting_walk": (
        "needs[below] says how many gradients have not arrived yet. One has just arrived.",
        "Count down by one for each gradient that arrives. Then ask whether any is still missing.",
        "The first blank is a number: one gradient has arrived. The second compares needs[below] with what is left "
        "when all have arrived.",
    ),
    "jacobian": (
        "backward(v) computes the gradient of (y * v).sum(). For which v is that sum one entry of y?",
        "v has a 1 at place i and 0 elsewhere. Three calls on one graph: what must the first two keep? And what does "
        ".grad do when a second gradient arrives?",
        "For each row v of torch.eye(3): set x.grad = None, call y.backward(v, retain_graph=True), append x.grad.",
    ),
    "second_backward": (
        "A node raises an error if it needs a value that was freed. Which formulas need a value?",
        "The gradient of a sum is the incoming gradient; that of a product is the incoming gradient times the other "
        "factor.",
        "A product saves its factors, even if one is a plain number; exp saves its result. A chain raises if any of "
        "its nodes does.",
    ),
}
