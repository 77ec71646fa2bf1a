"""`ctc_loss`: its one derivative, and what it refuses."""

from __future__ import annotations

import pytest

import minigrad
from tests.parity.compare import leaf
from tests.parity.ops.test_ops import compare
from tests.parity.outcome import outcome

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


REFUSED = {
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
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_it_refuses(torch, name):
    assert outcome(REFUSED[name], minigrad) == outcome(REFUSED[name], torch)
