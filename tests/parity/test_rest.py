"""What fewer programs call: ops with one derivative, and what they refuse."""

from __future__ import annotations

import pytest

import minigrad
from tests.parity.compare import leaf
from tests.parity.outcome import Programs, outcome
from tests.parity.test_ops import compare

pytestmark = pytest.mark.torch


def texts(m, a, steps=(6, 5), lengths=(3, 2), letters=((1, 2, 2), (3, 1, 0)), **options):
    """`ctc_loss` of two texts in the columns of (T, 2, C), the lengths as tensors."""
    return m.nn.functional.ctc_loss(a.log_softmax(2), m.tensor(letters), m.tensor(steps), m.tensor(lengths), **options)


ONCE = {
    "ctc_loss": (texts, [leaf(6, 2, 4)]),
    "ctc_loss sum": (lambda m, a: texts(m, a, reduction="sum", zero_infinity=True), [leaf(6, 2, 4)]),
    "ctc_loss none": (lambda m, a: texts(m, a, reduction="none", blank=3, letters=((1, 2, 2), (0, 1, 0))),
                      [leaf(6, 2, 4)]),
    "ctc_loss with no way": (lambda m, a: texts(m, a, (2, 5), reduction="none", zero_infinity=True), [leaf(6, 2, 4)]),
    "ctc_loss of nothing": (lambda m, a: texts(m, a, (0, 5), (0, 0), reduction="none"), [leaf(6, 2, 4)]),
    "ctc_loss of letters in a row": (lambda m, a: texts(m, a, letters=(1, 2, 2, 3, 1)), [leaf(6, 2, 4)]),
    "ctc_loss of one": (lambda m, a: m.nn.functional.ctc_loss(a.log_softmax(1), m.tensor([1, 2]), (4,), (2,)),
                        [leaf(4, 3)]),
    "ctc_loss of one, apart": (lambda m, a: m.nn.functional.ctc_loss(
        a.log_softmax(1), m.tensor([1, 2]), (4,), (2,), reduction="none", zero_infinity=True), [leaf(4, 3)]),
    "ctc_loss by number": (lambda m, a: m.ctc_loss(a.log_softmax(2), m.tensor([[1], [2]]), [3, 3], [1, 1], 0, 2),
                           [leaf(3, 2, 3)]),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ONCE)
def test_one_derivative(torch, name, dtype):
    compare(torch, *ONCE[name], dtype, order=1)


def scores(m, *shape):
    """Scores that want a gradient."""
    return m.arange(float(m.zeros(shape).numel())).reshape(shape).requires_grad_()


def twice(m):
    """A second derivative of `ctc_loss`."""
    x = scores(m, 6, 2, 4)
    g, = m.autograd.grad(texts(m, x), x, create_graph=True)
    g.sum().backward()


programs = Programs({
    "least squares of a row": lambda m: m.linalg.lstsq(m.ones(3), m.ones(3, 1)),
    "least squares of a number": lambda m: m.linalg.lstsq(m.ones(3, 2), m.tensor(1.0)),
    "least squares of two dtypes": lambda m: m.linalg.lstsq(m.ones(3, 2), m.ones(3, 1).double()),
    "least squares of integers": lambda m: m.linalg.lstsq(m.ones(3, 2).long(), m.ones(3, 1).long()),
    "least squares of other rows": lambda m: m.linalg.lstsq(m.ones(3, 2), m.ones(2, 1)),
    "least squares of other dimensions": lambda m: m.linalg.lstsq(m.ones(1, 1, 3, 2), m.ones(3, 1)),
    "least squares by no such driver": lambda m: m.linalg.lstsq(m.ones(3, 2), m.ones(3, 1), driver="best"),
    "least squares without full rank": lambda m: m.linalg.lstsq(m.ones(3, 2), m.ones(3, 1), driver="gels"),
    "the rank of least squares": lambda m: [m.linalg.lstsq(m.ones(3, 2), m.ones(3, 1)).rank,
                                            m.linalg.lstsq(m.eye(2), m.ones(2, 1), driver="gelsd")[3],
                                            m.linalg.lstsq(m.tensor([[1, 0], [0, 1e-3]]), m.ones(2), rcond=0.1).rank],
    "least squares of no tensor": lambda m: m.linalg.lstsq(3, m.ones(2, 2)),
    "numbers by name": lambda m: [m.pi, m.e, m.inf, str(m.nan), m.newaxis, m.ones(2)[:, m.newaxis].shape],
    "functions in place": lambda m: (x := m.arange(-1.5, 2), m.relu_(x) is x, m.clamp_(x, max=1), m.add(m.neg_(x), 1),
                                     m.fill_(x, 2.5), m.index_put_(x, (m.tensor([0]),), m.tensor(3.0)), x._version),
    "a function in place on a leaf": lambda m: m.sigmoid_(m.ones(2, requires_grad=True)),
    "the node of a function in place": lambda m: m.tanh_(m.ones(2, requires_grad=True) * 1).grad_fn.name(),
    "steps that are not there": lambda m: texts(m, scores(m, 6, 2, 4), (7, 5)),
    "negative steps": lambda m: texts(m, scores(m, 6, 2, 4), (6, -5)),
    "a negative length": lambda m: texts(m, scores(m, 6, 2, 4), lengths=(-1, 2)),
    "letters that are not there": lambda m: texts(m, scores(m, 6, 2, 4), lengths=(4, 2)),
    "letters in a row that are not there": lambda m: texts(m, scores(m, 6, 2, 4), letters=(1, 2)),
    "one text for two": lambda m: texts(m, scores(m, 6, 2, 4), letters=((1, 2, 2),)),
    "letters of three dimensions": lambda m: texts(m, scores(m, 6, 2, 4), letters=(((1, 2, 2), (3, 1, 0)),)),
    "one number of steps for two": lambda m: texts(m, scores(m, 6, 2, 4), (6,)),
    "one length for two": lambda m: texts(m, scores(m, 6, 2, 4), lengths=(3,)),
    "steps that are no integers": lambda m: texts(m, scores(m, 6, 2, 4), (6.0, 5.0)),
    "no such blank": lambda m: texts(m, scores(m, 6, 2, 4), blank=4),
    "no such reduction": lambda m: texts(m, scores(m, 6, 2, 4), reduction="most"),
    "scores of nothing": lambda m: texts(m, scores(m, 6, 0, 4)),
    "scores of four dimensions": lambda m: texts(m, scores(m, 1, 6, 2, 4)),
    "scores that are integers": lambda m: m.ctc_loss(m.ones(3, 1, 2).long(), m.ones(1, 1).long(), (3,), (1,)),
    "a tensor and a tuple": lambda m: m.ctc_loss(m.ones(3, 1, 2), m.ones(1, 1).long(), m.tensor([3]), (1,)),
    "numbers for lengths": lambda m: m.ctc_loss(m.ones(3, 2), m.ones(1).long(), 3, 1),
    "no tensor": lambda m: m.nn.functional.ctc_loss(3, m.ones(1, 1).long(), (3,), (1,)),
    "a second derivative": twice,
    "a pool of five dimensions": lambda m: m.nn.functional.adaptive_max_pool2d(m.ones(1, 1, 1, 2, 2), (2, 2)),
    "a pool of a matrix": lambda m: m.nn.functional.adaptive_max_pool2d(m.ones(2, 2), (2, 2)),
    "a pool of an empty picture": lambda m: m.nn.functional.adaptive_max_pool2d(m.ones(2, 3, 0, 2), 2),
    "a pool of an empty row": lambda m: m.nn.functional.adaptive_max_pool1d(m.ones(2, 0), 2),
    "a pool of an empty batch": lambda m: m.nn.functional.adaptive_max_pool3d(m.ones(0, 2, 4, 4, 4), 2),
    "a pool to nothing": lambda m: m.nn.functional.adaptive_max_pool2d(m.ones(2, 3, 3), (0, 2)),
    "a pool to less than nothing": lambda m: m.nn.functional.adaptive_max_pool2d(m.ones(2, 3, 3), (2, -1)),
    "a pool of integers": lambda m: m.nn.functional.adaptive_max_pool3d(m.ones(2, 3, 3, 3).long(), 2),
    "a pool with one size too many": lambda m: m.nn.functional.adaptive_max_pool2d(m.ones(2, 2, 3, 3), (2, 2, 2)),
    "a pool of rows to two sizes": lambda m: m.nn.functional.adaptive_max_pool1d(m.ones(2, 3), (2, 2)),
    "a pool of one dimension": lambda m: m.nn.functional.adaptive_max_pool1d(m.ones(3), 2),
    "a pool of no tensor": lambda m: m.nn.functional.adaptive_max_pool1d(3, 2),
    "a pool with NaN": lambda m: m.nn.functional.adaptive_max_pool1d(m.tensor([[1, float("nan"), 3, float("nan")]]), 1,
                                                                     True)[1],
})


@pytest.mark.parametrize("name", programs)
def test_what_they_refuse(torch, name):
    assert outcome(programs[name], minigrad) == outcome(programs[name], torch)
