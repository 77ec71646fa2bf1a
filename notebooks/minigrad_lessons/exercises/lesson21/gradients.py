"""Puzzles about gradients: zero, halved, summed, free of NaN, of one row, for one leaf, and differentiable."""

from typing import Any

import minigrad as torch
from minigrad_lessons.exercises.graph import nodes_of
from minigrad_lessons.exercises.lesson21.puzzle import (
    Line,
    Solved,
    Wrong,
    call,
    close,
    leaf,
    node,
    passed_back,
    puzzle,
    recorded,
    tensor,
)
from minigrad_lessons.values import show


@puzzle
def zeros(line: Line) -> Solved:
    """Judge y = line(x): x.grad must be zeros and not None."""
    x = leaf(1.0, -2.0, 3.0)
    y, trace = passed_back(line, x)
    recorded(y)
    if x.grad is None:
        raise Wrong(f"x.grad is None: y was made by {node(y)}, and x is not in its graph. Zero would be a gradient; "
                    "None means that there is no path.")
    if not close(x.grad, [0.0, 0.0, 0.0]):
        raise Wrong(f"x.grad is {show(x.grad)}: if x grows, y still changes.", trace)
    return Solved(f"x.grad is {show(x.grad)}. A path leads back to x, and its slope is 0. With no path at all it would "
                  "be None.", trace)


@puzzle
def half_constant(line: Line) -> Solved:
    """Judge y = line(x): the numbers of x * x, and the gradient x."""
    x = leaf(3.0, -1.0)
    y, trace = passed_back(line, x)
    if not close(y, [9.0, 1.0]):
        raise Wrong(f"y is {show(y)}; for x = [3, -1] it must be [9, 1]. Leave the value as it is.")
    if y.grad_fn is None or x.grad is None:
        raise Wrong("no gradient arrives at x: both factors are detached now. Detach only one.")
    if close(x.grad, [6.0, -2.0]):
        raise Wrong("x.grad is [6, -2], which is 2x: both factors count. The product rule adds one term for each of "
                    "them.", trace)
    if not close(x.grad, [3.0, -1.0]):
        raise Wrong(f"x.grad is {show(x.grad)}; it must be [3, -1].", trace)
    return Solved("x.grad is x. To backward, the detached factor is just a constant: its term of the product rule is "
                  "left out.", trace)


@puzzle
def broadcast(line: Line) -> Solved:
    """Judge y = line(x): with one addition, x.grad is 12."""
    x = leaf(1.0)
    y, trace = passed_back(line, x)
    recorded(y)
    made = [type(each).__name__ for each in nodes_of(y.grad_fn) if type(each).__name__ != "AccumulateGrad"]
    if made != ["AddBackward0"]:
        raise Wrong(f"the graph of y holds {', '.join(made)}. It must hold one AddBackward0 and nothing else.", trace)
    if x.grad is None or not close(x.grad, 12.0):
        grown = " Adding a number moves y, but does not change its slope." if y.numel() == 1 else ""
        raise Wrong(f"x.grad is {show(x.grad)}, one for each number of y that x was added to.{grown}", trace)
    return Solved("x.grad is 12. The addition stretched x over 12 numbers, so backward sums 12 gradients.", trace)


@puzzle
def no_nan(line: Line) -> Solved:
    """Judge y = line(x): the square root where x > 0, else 0, and no NaN in x.grad."""
    x = leaf(-1.0, 0.0, 4.0)
    y, trace = passed_back(line, x)
    if not close(y, [0.0, 0.0, 2.0]):
        raise Wrong(f"for x = [-1, 0, 4] y must be [0, 0, 2]; it is {show(y)}.", trace)
    recorded(y)
    if x.grad is None:
        raise Wrong(f"y has the right numbers, but no path leads from {node(y)} to x.", trace)
    if not all(map(_finite, x.grad.tolist())):
        raise Wrong(f"x.grad is {show(x.grad)}. Whatever masks the result of sqrt sends a 0 back to it, and at 0 or "
                    "below the slope of sqrt is infinite or NaN: 0 times that is NaN. Never let sqrt see those "
                    "numbers.",
                    trace)
    if not close(x.grad, [0.0, 0.0, 0.25]):
        raise Wrong(f"x.grad is {show(x.grad)}; at 4 the square root has the slope 0.25, elsewhere y is constant.",
                    trace)
    return Solved("x.grad is [0, 0, 0.25]. On the way back no 0 is multiplied by an infinite slope or by NaN.", trace)


def _finite(value: float) -> bool:
    return abs(value) < float("inf")


@puzzle
def one_row(line: Line) -> Solved:
    """Judge a statement on y = x ** 2: x.grad must be the slopes of y[1] alone."""
    x = leaf(1.0, 2.0, 3.0)
    y = x**2
    call(line, "y", y)
    if x.grad is None:
        raise Wrong("x.grad is None: no backward pass has run.")
    if close(x.grad, [2.0, 4.0, 6.0]):
        raise Wrong("x.grad is [2, 4, 6]: these are the slopes of y.sum(), with every entry of y counted once. Count "
                    "only y[1].")
    if not close(x.grad, [0.0, 4.0, 0.0]):
        raise Wrong(f"x.grad is {show(x.grad)}; it must be [0, 4, 0].")
    return Solved("x.grad is [0, 4, 0]. backward starts with one number for each entry of y, and multiplies; a 1 for "
                  "y[1] and a 0 for the others picks out its row of the Jacobian, as does y[1].backward().")


@puzzle
def only_x(line: Line) -> Solved:
    """Judge a statement on loss, x and w: x.grad is filled, and w.grad is not."""
    x, w = leaf(3.0), leaf(2.0)
    loss = w * x
    given = call(line, "loss, x, w", loss, x, w)
    if not w.requires_grad:
        raise Wrong("w does not require grad any more. Leave w as it is, and tell backward which leaf you want.")
    if x.grad is None:
        if given is not None:
            raise Wrong("the line returned the gradient, but x.grad is still None: autograd.grad does not fill .grad.")
        raise Wrong("x.grad is None: no pass has filled it.")
    if w.grad is not None:
        raise Wrong(f"w.grad is {show(w.grad)}: backward() fills every leaf that it reaches.")
    if not close(x.grad, 2.0):
        raise Wrong(f"x.grad is {show(x.grad)}; the slope of w * x with respect to x is 2 here.")
    return Solved("x.grad is 2 and w.grad is None. You can tell a pass which gradients you want, and it computes only "
                  "what is needed for them.")


@puzzle
def differentiable(line: Line) -> Solved:
    """Judge g = line(y, x): the slope of y with respect to x, which can be differentiated again."""
    for power in (3, 4):
        x = leaf(2.0)
        y = x**power
        _second(call(line, "y, x", y, x), x, power)
    return Solved("it returns the slopes of x ** 3 and x ** 4, and their second derivatives are 12 and 48. "
                  "create_graph "
                  "records the backward pass, so that it can be differentiated like a forward pass.")


def _second(slope: Any, x: torch.Tensor, power: int) -> None:
    if isinstance(slope, tuple):
        raise Wrong("autograd.grad returns a tuple, with one gradient for each input. Take the first.")
    tensor(slope)
    if not close(slope, power * 2.0 ** (power - 1)):
        raise Wrong(f"for y = x ** {power} at x = 2 line returns {show(slope)}; the slope is "
                    f"{power * 2 ** (power - 1)}. Compute it from y, whatever y is.")
    if not slope.requires_grad:
        raise Wrong("the slope is right, but it does not require grad: the pass that computed it was not recorded. "
                    "(retain_graph keeps the graph of y, which is something else.)")
    (second,) = torch.autograd.grad(slope, x)
    if not close(second, power * (power - 1) * 2.0 ** (power - 2)):
        raise Wrong(f"the second derivative comes out as {show(second)}.")


HINTS = {
    "zeros": (
        "There must be a path from y to x along which the slope is 0.",
        "Which simple operations on x give the same result whatever x is?",
        "Multiply x by a number. Which one?"),
    "half_constant": (
        "The product rule: the slope of a * b is b for a, and a for b. You want only one of the two.",
        "To backward, one of the factors must be a plain number with the same value.",
        "x.detach() has the numbers of x and no history. Use it for one of the factors."),
    "broadcast": (
        "If one number is used 12 times, its gradient is the sum of 12 gradients.",
        "An addition stretches its operands to a common shape.",
        "Add x to a tensor that has 12 entries, such as zeros."),
    "no_nan": (
        "Mask the input of sqrt. Masking its result is too late.",
        "Put a harmless number, such as 1, where x is not positive; take the root; then mask the result.",
        "torch.where(x > 0, x, 1.0) is safe to take the root of. One more torch.where gives the zeros."),
    "one_row": (
        "backward on a vector asks for one number for each of its entries. For which entry do you want the slopes?",
        "Either pass backward a tensor of three numbers, or start from a single entry of y.",
        "y[1] is a tensor with one number, and it has a backward of its own."),
    "only_x": (
        "backward() has an argument that says which leaves to fill.",
        "Look at help(loss.backward): there are gradient, retain_graph, create_graph, and one more.",
        "Its name is inputs, and it takes a list of leaves."),
    "differentiable": (
        "torch.autograd.grad returns a gradient. What must you pass to it so that the gradient has a graph?",
        "retain_graph keeps the graph of y. There is another argument, which records the backward pass itself.",
        "Use create_graph=True, and take the first entry of the tuple."),
}
