"""What a student brings along: arrays and the chain rule. Lesson 1 asks these."""

from collections.abc import Callable

import numpy as np

from minigrad_lessons.bank.kinds import Belief, Question

_A = np.arange(6.0).reshape(2, 3)
_B = np.arange(3.0)


def _slope(f: Callable[[float], float], at: float) -> float:
    """The derivative of f, measured with two values of f."""
    step = 1e-4
    return round((f(at + step) - f(at - step)) / (2 * step), 4)


def _write_into_row(row_of: Callable[[np.ndarray], np.ndarray]) -> float:
    a = np.zeros((2, 3))
    row_of(a)[0] = 9.0
    return float(a[0, 0])


QUESTIONS = (
    Question(
        "q0.1", "A has the shape (2, 3) and B the shape (3,). The shape of A * B, as a tuple?",
        lambda: (_A * _B).shape,
        (Belief("* multiplies matrices", lambda: (_A @ _B).shape),
         Belief("* combines every entry of A with every entry of B", lambda: np.multiply.outer(_A, _B).shape),
         Belief("the result has the smaller shape", lambda: _B.shape)),
        "make two such arrays with numpy and print (A * B).shape"),
    Question(
        "q0.2", "A = zeros (2, 3); row = A[0]; row[0] = 9. What is A[0, 0] now?",
        lambda: _write_into_row(lambda a: a[0]),
        (Belief("a slice is a copy", lambda: _write_into_row(lambda a: a[0].copy())),),
        "run these three statements with numpy"),
    Question(
        "q0.3", "A has the shape (2, 3). The shape of A.sum(0), as a tuple?",
        lambda: _A.sum(0).shape,
        (Belief("the axis that I name is the one that stays", lambda: _A.sum(1).shape),
         Belief("the summed axis stays with length 1", lambda: _A.sum(0, keepdims=True).shape),
         Belief("sum always gives one number", lambda: _A.sum().shape)),
        "print the shape with numpy; the axis that you name is summed away"),
    Question(
        "q0.4", "f(x) = (3x + 1)**2. The slope of f at x = 1?",
        lambda: _slope(lambda x: (3 * x + 1) ** 2, 1.0),
        (Belief("the slope of the square is enough; what is inside it has no slope of its own",
                lambda: _slope(lambda u: u**2, 3 * 1.0 + 1)),
         Belief("the slope of the inside, squared", lambda: _slope(lambda x: 3 * x + 1, 1.0) ** 2),
         Belief("the slope of the square is taken at x, not at 3x + 1",
                lambda: _slope(lambda u: u**2, 1.0) * _slope(lambda x: 3 * x + 1, 1.0))),
        "measure it: (f(1.001) - f(0.999)) / 0.002"),
    Question(
        "q0.5", "f(x) = x * g(x) with g(2) = 5 and slope 4 there. The slope of f at x = 2?",
        lambda: _slope(lambda x: x * (5 + 4 * (x - 2)), 2.0),
        (Belief("x reaches f by one path only, through the factor x",
                lambda: _slope(lambda x: x * 5, 2.0)),
         Belief("x reaches f by one path only, through g",
                lambda: _slope(lambda x: 2 * (5 + 4 * (x - 2)), 2.0)),
         Belief("the slope of a product is the product of the slopes",
                lambda: _slope(lambda x: x, 2.0) * _slope(lambda x: 5 + 4 * (x - 2), 2.0))),
        "x is used twice: add the slopes of the two paths. Or measure it, with g(x) = 5 + 4 * (x - 2)"),
)
