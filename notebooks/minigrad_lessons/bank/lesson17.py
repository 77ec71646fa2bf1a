"""Lesson 17: its predictions. No later lesson recalls it."""

import numpy as np

import minigrad as torch
from minigrad_lessons.bank.kinds import Belief, Case, Names, Prediction, Question, Reason, Why
from minigrad_lessons.exercises.graph import grad_of

Shape = tuple[int, ...]
TARGETS = [1.0, 2.0, 6.0]


def _leaf(shape: Shape) -> torch.Tensor:
    return torch.ones(shape, requires_grad=True)


def _gradient(shape: Shape, whole: Shape = (4, 3)) -> torch.Tensor:
    """The gradient of a tensor of ones that is added to a matrix, in the sum of all entries."""
    leaf = _leaf(shape)
    (torch.ones(whole) + leaf).sum().backward()
    return grad_of(leaf)


def used(rows: int, columns: int) -> float:
    """The first entry of b.grad, if m has so many rows and columns and b is added to each row."""
    return float(_gradient((columns,), (rows, columns))[0])


def shape_of_grad(shape: Shape) -> Shape:
    """The shape of the gradient of a tensor with this shape, which is added to a matrix of the shape (4, 3)."""
    return tuple(_gradient(shape).shape)


def finished(result: torch.Tensor) -> bool:
    """Whether the node of this result returns a gradient with the shape of its first input."""
    returned = result.grad_fn(torch.ones(result.shape))
    first = returned[0] if isinstance(returned, tuple) else returned
    leaf = result.grad_fn.next_functions[0][0].variable
    return bool(first.shape == leaf.shape)


def shape_of(first: Shape, second: Shape) -> Shape:
    """The shape of a - b, for an a and a b of these shapes."""
    return tuple((torch.ones(first) - torch.ones(second)).shape)


def _error(pred: torch.Tensor) -> torch.Tensor:
    return torch.mean((pred - torch.tensor(TARGETS)) ** 2)


def _different(shape: Shape) -> int:
    """How many different numbers there are in the gradient of predictions with this shape."""
    pred = torch.zeros(shape, requires_grad=True)
    _error(pred).backward()
    return len(set(grad_of(pred).flatten().tolist()))


def learned(shape: Shape) -> list[float]:
    """Three predictions after 200 steps, if they have this shape and the targets 1, 2 and 6 have the shape (3,)."""
    pred = torch.zeros(shape, requires_grad=True)
    for _ in range(200):
        pred.grad = None
        _error(pred).backward()
        with torch.no_grad():
            pred -= 0.3 * grad_of(pred)
    return [round(value, 2) for value in pred.flatten().tolist()]


def _names() -> Names:
    return {"used": used, "shape_of_grad": shape_of_grad, "finished": finished, "shape_of": shape_of,
            "learned": learned, "w": _leaf(()), "b": _leaf((3,)), "x": torch.tensor([1.0, 2.0, 3.0])}


def _shapes(case: Case) -> tuple[Shape, Shape]:
    first, second = case.arguments()
    return first, second  # type: ignore[return-value]  # what stands in the brackets are two shapes


def _of(case: Case) -> Shape:
    shape, = case.arguments()
    return shape  # type: ignore[return-value]  # what stands in the brackets is a shape


def _rows_columns(case: Case) -> tuple[int, int]:
    rows, columns = case.arguments()
    return rows, columns  # type: ignore[return-value]  # what stands in the brackets are two numbers


def _longer(case: Case) -> Shape:
    return max(_shapes(case), key=lambda shape: (len(shape), shape))


QUESTIONS: tuple[Question, ...] = ()

PREDICTIONS = (
    Prediction(
        "17.1",
        (Belief("b stands in the formula once, so each entry has the gradient 1",
                lambda: _gradient((3,), (1, 3)).tolist()),
         Belief("all of m goes through b", lambda: _gradient((), (4, 3)).expand(3).tolist())),
        Why("What is the first entry of b.grad?", _names, ("used(1, 3)", "used(4, 3)", "used(5, 1)"),
            lambda value: value, {
                "a": Reason("1, because b stands in the formula once", lambda case: 1.0),
                "b": Reason("as many as m has entries, because all of m goes through b",
                            lambda case: float(np.prod(_rows_columns(case)))),
                "c": Reason("as many as m has rows, because each row uses that entry once",
                            lambda case: float(_rows_columns(case)[0]))}),
        look="Write m + b for two rows, entry by entry. How many of the sums contain b[0]?"),
    Prediction(
        "17.2",
        (Belief("a gradient has the shape of the result", lambda: tuple(_gradient((4, 3)).shape)),
         Belief("what is summed away is gone from the shape", lambda: tuple(_gradient((4, 3)).sum(1).shape))),
        Why("Which shape does a gradient have?", _names,
            ("shape_of_grad((4, 3))", "shape_of_grad((4, 1))", "shape_of_grad((3,))", "shape_of_grad(())"),
            lambda value: value, {
                "a": Reason("that of its tensor, whatever the tensor was broadcast to", _of),
                "b": Reason("that of the result, (4, 3)", lambda case: (4, 3)),
                "c": Reason("that of its tensor, without the dimensions that were stretched",
                            lambda case: tuple(length for length in _of(case) if length != 1))}),
        look="Print c.grad, and count its brackets."),
    Prediction(
        "17.3",
        (Belief("the node has already added them up", lambda: tuple(_gradient(()).shape)),),
        Why("Does the gradient that a node returns already have the shape of its first input?", _names,
            ("finished(b * x)", "finished(w * x)", "finished(w.expand(3))"), lambda value: value, {
                "a": Reason("always: each node knows what was broadcast, and sums", lambda case: True),
                "b": Reason("only if nothing was broadcast: no node sums", lambda case: "b" in case.code),
                "c": Reason("if nothing was broadcast, or if that is the operation itself, as in expand; a product "
                            "leaves the sum to the engine",
                            lambda case: "b" in case.code or "expand" in case.code)},
            shows="w has one number; b and x have three."),
        look="Print dw. Then call the sum by hand too, and look at what each call returns."),
    Prediction(
        "17.4",
        (Belief("the targets are matched with the column, one by one", lambda: tuple(_leaf((3, 1)).shape)),
         Belief("the column is read as a list", lambda: tuple(_leaf((3, 1)).flatten().shape))),
        Why("Which shape does a - b have?", _names,
            ("shape_of((2, 3), (3,))", "shape_of((3,), (1,))", "shape_of((3, 1), (3,))"), lambda value: value, {
                "a": Reason("that of a", lambda case: _shapes(case)[0]),
                "b": Reason("sizes are matched from the right; a missing one, or a 1, becomes the other",
                            lambda case: np.broadcast_shapes(*_shapes(case))),
                "c": Reason("that of the one with more dimensions", _longer)}),
        look="Write both shapes one below the other, aligned at the right, and fill the gap with a 1."),
    Prediction(
        "17.5",
        (Belief("each prediction is compared with its own target", lambda: _different((3,))),),
        Why("Where do the three predictions go?", _names, ("learned((3, 1))", "learned((3,))"),
            lambda value: value, {
                "a": Reason("each to its own target", lambda case: TARGETS),
                "b": Reason("a column: all to the mean of the targets; a plain list: each to its own target",
                            lambda case: [3.0] * 3 if len(_of(case)) == 2 else TARGETS),
                "c": Reason("all to the mean of the targets, because the loss is a mean", lambda case: [3.0] * 3)}),
        look="Print pred - target, and read its first row: which targets does the first prediction meet?"),
)
