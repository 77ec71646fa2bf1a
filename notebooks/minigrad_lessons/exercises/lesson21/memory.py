"""Puzzles about what is kept: saved tensors, graphs that stay, changes in place, and a hook that looks on."""

import weakref
from typing import Any

import minigrad as torch
from minigrad_lessons.exercises import report
from minigrad_lessons.exercises.lesson21.graphs import saved_by
from minigrad_lessons.exercises.lesson21.puzzle import (
    Line,
    Solved,
    Wrong,
    call,
    close,
    leaf,
    made_by,
    node,
    puzzle,
    recorded,
)
from minigrad_lessons.values import show

MODIFIED = "modified by an inplace operation"
STEPS = 5


def _memory(of: torch.Tensor) -> Any:
    """The array that owns the numbers of a tensor."""
    array = of.detach().numpy()
    return array if array.base is None else array.base


@puzzle
def alive(line: Line) -> Solved:
    """Judge y = line(h): when h is gone, its memory is still held by the graph of y."""
    x = torch.tensor([1.0, 2.0], device="cpu", requires_grad=True)  # a weak reference to an array of NumPy tells
    h = x + 1
    y = made_by(line, "h", h)
    if _memory(y) is _memory(h):
        raise Wrong("y uses the memory of h itself. Make new numbers, and let the graph keep those of h.")
    recorded(y)
    held = weakref.ref(_memory(h))
    saved = ", ".join(f"{name} = {show(value)}" for name, value in saved_by(y.grad_fn).items())
    name = node(y)
    del h
    if held() is None:
        raise Wrong(f"the memory of h was freed. {name} saved {saved or 'nothing'}: a node keeps what its derivative "
                    "needs, and nothing else.")
    del y
    if held() is not None:
        raise Wrong("the memory of h is still there even after y is gone. Something other than the graph of y holds "
                    "it.")
    return Solved(f"{name} saved {saved}, so the numbers of h lived as long as y. This is where the memory of a "
                  "forward pass goes.")


@puzzle
def let_go(line: Line) -> Solved:
    """Judge a statement on y: the graph behind it is freed, y keeps its numbers, and no pass runs."""
    x = leaf(1.0, 2.0)
    y = x.exp() * x
    numbers, graph = y.tolist(), weakref.ref(y.grad_fn)
    call(line, "y", y)
    if x.grad is not None:
        raise Wrong("a pass has run, and it filled x.grad. That frees the saved tensors; here x.grad must stay None.")
    if graph() is not None:
        raise Wrong(f"y still has its {node(y)}, and with it everything that the graph has saved. Making a new "
                    "tensor, or rebinding the name y in your function, does not change this y.")
    if y.tolist() != numbers:
        raise Wrong(f"the graph is gone, but y now holds {show(y)}, not {show(numbers)}.")
    return Solved("the graph is gone, and y is a leaf with the same numbers. A method whose name ends in _ "
                  "changes the tensor itself: detach_() cuts y off, while detach() makes another tensor.")


@puzzle
def running_total(line: Line) -> Solved:
    """Judge total = line(total, loss), called once in each step: no step's graph stays."""
    x, total, graphs, expected = leaf(2.0), 0.0, [], 0.0
    for step in range(STEPS):
        loss = x.exp() * step
        expected += loss.item()
        graphs.append(weakref.ref(loss.grad_fn))
        total = call(line, "total, loss", total, loss)
        del loss
    if not isinstance(total, float | torch.Tensor):
        raise Wrong(f"line must return the new total; it returned {report.a(total)}.")
    if not close(torch.as_tensor(total), expected):
        raise Wrong(f"after {STEPS} steps the total is {show(total)}; it must be {show(expected)}.")
    left = sum(graph() is not None for graph in graphs)
    if left:
        raise Wrong(f"{left} of {STEPS} graphs are still in memory: total has a graph of its own, which leads to "
                    "those of the losses. In a long training run this fills the memory.")
    return Solved(f"the total is {show(expected)}, and no graph is left. A number, or a tensor without history, holds "
                  "nothing.")


@puzzle
def in_place_step(line: Line) -> Solved:
    """Judge a statement on w: w - 0.1 * w.grad, in w itself, which stays a leaf."""
    w = leaf(1.0, 2.0)
    (w * w).sum().backward()
    grad = w.grad
    call(line, "w", w)
    if not w.is_leaf or not w.requires_grad:
        raise Wrong("w is no longer a leaf that requires grad: the change was recorded, or the flag was turned off.")
    if close(w, [1.0, 2.0]):
        raise Wrong("w is unchanged. A result to which your function gives the name w is another tensor; the "
                    "parameter must be changed in place.")
    if close(w, [1.2, 2.4]):
        raise Wrong("w went uphill: the gradient must be subtracted.")
    if not close(w, [0.8, 1.6]):
        raise Wrong(f"w is {show(w)}; it must be [0.8, 1.6].")
    if w.grad is not grad:
        raise Wrong("w is right, but it has lost its .grad.")
    return Solved("w is [0.8, 1.6] and still a leaf. A leaf that requires grad may be changed in place only where "
                  "nothing is recorded; optimizers do it in the same way.")


@puzzle
def modified_error(line: Line) -> Solved:
    """Judge a statement on y = x.exp(): y.sum().backward() raises "modified by an inplace operation"."""
    x = leaf(0.0, 1.0)
    y = x.exp()
    call(line, "x, y", x, y)
    try:
        y.sum().backward()
    except RuntimeError as error:
        if MODIFIED in str(error):
            return Solved("the error was raised: ExpBackward0 had saved y, and found a newer version of it than the "
                          "one it saved. Each change in place raises the version.")
        raise Wrong(f"another error: {report.first_line(error)}") from None
    if not close(y, x.detach().exp()):
        raise Wrong(f"y was changed, and backward raised nothing: x.grad is {show(x.grad)}, which is wrong. A change "
                    "through .data is not counted.")
    raise Wrong(f"backward raised nothing, and x.grad is {show(x.grad)}. The y of the program is unchanged: giving "
                "its name to a new tensor is not a change in place.")


@puzzle
def seen(line: Line) -> Solved:
    """Judge a statement on y and a list: the list gets the gradient of y, which y.grad does not keep."""
    looked: list[Any] = []
    x = leaf(1.0, 2.0)
    y = x * 3
    call(line, "y, seen", y, looked)
    loss = (y * y + y).sum()
    try:
        loss.backward()
    except Exception as error:  # noqa: BLE001 (a hook is a student's code, and whatever it raises is reported)
        raise Wrong(f"backward called your hook, and it {report.raised(error, line)}") from None
    if y.retains_grad:
        raise Wrong(f"retain_grad() keeps the gradient in y.grad: {show(y.grad)}. Look at it while it passes.")
    if not looked:
        raise Wrong("backward has run, but seen is empty.")
    if len(looked) > 1 or not isinstance(looked[0], torch.Tensor):
        raise Wrong(f"seen holds {show(looked)}. Your line runs before backward does, when y.grad is still None.")
    if not close(looked[0], [7.0, 13.0]):
        raise Wrong(f"seen holds {show(looked)}; the gradient of y is [7, 13].")
    if x.grad is None or not close(x.grad, [21.0, 39.0]):
        raise Wrong(f"seen holds the gradient, but x.grad is {show(x.grad)} now: what a hook returns replaces the "
                    "gradient, unless it is None.")
    return Solved("seen holds [7, 13], once: a hook gets the whole sum of the gradients from both uses of y. "
                  "list.append "
                  "returns None, so the gradient went on unchanged.")


HINTS = {
    "alive": (
        "A node saves what its derivative needs. Which derivative needs the numbers of h?",
        "That of h + 1 needs nothing, that of h * 2 the number 2, that of h.exp() its own result.",
        "Multiply h by itself, or take its sine."),
    "let_go": (
        "The y of the program must be changed, not a new one made.",
        "A method whose name ends in _ changes a tensor in place. Which method cuts a tensor off from its history?",
        "detach makes a new tensor; there is a version of it that ends in an underscore."),
    "running_total": (
        "What you add must not bring its history along.",
        "A Python number has no history, and neither has a detached tensor.",
        "loss.item() is the number. Add that."),
    "in_place_step": (
        "The change must be in place, and must not be recorded.",
        "torch.no_grad() is a block. Which attribute gives the same memory without history?",
        "Subtract from w.data, in place; or write the with-block and the step in one line."),
    "modified_error": (
        "ExpBackward0 saves its result, which is y. The error is raised if y is changed after that.",
        "y = y + 1 makes a new tensor. How do you change the numbers of y itself?",
        "Methods that end in _ change in place. Add something to y."),
    "seen": (
        "You want to be called while backward runs. Who calls you then?",
        "y.register_hook takes a function, which gets the gradient of y.",
        "A list's append method is a function too. Pass it without calling it."),
}
