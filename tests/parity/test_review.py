"""Corners where a gradient could be silently wrong: each program ends in both libraries with the same values or error.

What is compared: every value, dtype, shape and `requires_grad` that a program returns; of an error its type and first
sentence.
"""

from __future__ import annotations

import numpy as np
import pytest

import minigrad
from tests.parity.test_errors import first_sentence

pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore")]


def leaf(m, *shape, dtype="float32"):
    """Different numbers from 0.5 to 2 that require grad."""
    return m.from_numpy(np.linspace(0.5, 2, int(np.prod(shape))).reshape(shape).astype(dtype)).requires_grad_()


def grads(m, y, *inputs):
    """First derivatives of a sum of squares, and derivatives of those."""
    first = m.autograd.grad((y * y).sum(), inputs, create_graph=True)
    return first, m.autograd.grad(sum(g.sum() for g in first), inputs, materialize_grads=True)


def changed(m, make, change):
    """Change what an op was given between forward and backward."""
    x = leaf(m, 3)
    y, other = make(x)
    change(other)
    y.sum().backward()
    return x.grad


def quietly(m, change):
    """Run a change without grad mode."""
    with m.no_grad():
        change()


CHANGES = {
    "condition": lambda m: changed(m, lambda x: (m.where(c := m.tensor([True, False, True]), x, x * 2), c),
                                   lambda c: c.zero_()),
    "indices": lambda m: changed(m, lambda x: (x[i := m.tensor([0, 1])], i), lambda i: i.add_(1)),
    "mask": lambda m: changed(m, lambda x: (x[i := m.tensor([True, False, True])], i), lambda i: i.fill_(True)),
    "indices put": lambda m: changed(m, lambda x: (put(x.clone(), i := m.tensor([0, 1]), 2.0), i), lambda i: i.add_(1)),
    "data of a parameter": lambda m: changed(
        m, lambda x: ((p := m.nn.Parameter(d := m.ones(3))) * p * x, d), lambda d: d.add_(1)),
    "a saved result asked for": lambda m: changed(
        m, lambda x: (y := x.exp(), (y.detach(), y.grad_fn._saved_result.detach(), y)[2]), lambda y: y.add_(1)),
    "assigned grad": lambda m: (x := leaf(m, 3), y := x.exp(), setattr(x, "grad", y), (x * 2).sum().backward(),
                                y.sum().backward()),
    "expanded grad": lambda m: (x := leaf(m, 3), setattr(x, "grad", m.ones(1).expand(3)), x.sum().backward()),
    "a result saved by a pass": lambda m: (x := leaf(m, 3), v := leaf(m, 3), y := x.exp(), g := m.autograd.grad(
        y, x, v, create_graph=True)[0], y.detach().add_(1), m.autograd.grad(g.sum(), v)),
}


def put(x, index, value):
    """Assign to an index, and give the tensor."""
    x[index] = value
    return x


def assigned(m, x, index, value):
    """Assign, and give the derivatives by what was assigned to and by what was assigned."""
    y = put(x.clone(), index, value) * m.tensor([1.0, 2.0, 3.0])
    return y, grads(m, y, *[t for t in (x, value) if isinstance(t, m.Tensor)]), y.grad_fn.next_functions[0][0].name()


INDEXING = {
    "mask and tensor": lambda m: assigned(m, leaf(m, 3), m.tensor([True, False, True]), leaf(m, 2)),
    "list and number": lambda m: assigned(m, leaf(m, 3), [0, 2], 7),
    "list and 0-d tensor": lambda m: assigned(m, leaf(m, 3), [0, 2], leaf(m)),
    "of another dtype": lambda m: put(m.arange(3), [1], m.tensor(2.7)),
    "of another shape": lambda m: put(m.zeros(3), m.tensor([True, True, False]), m.ones(3)),
    "a list": lambda m: put(m.ones(3), slice(0, 2), [1, 2]),
    "an array": lambda m: put(m.ones(3), [0, 1], np.ones(2)),
    "without grad mode": lambda m: (x := m.zeros(3), quietly(m, lambda: put(x, [0, 1], leaf(m, 2))), x),
    "list of lists": lambda m: leaf(m, 2, 3)[[[0, 1], [1, 0]]],
    "list of a number and a list": lambda m: leaf(m, 2, 3)[[0, [1, 2]]],
    "bytes are a mask": lambda m: leaf(m, 3)[m.tensor([1, 0, 1], dtype=m.uint8)],
    "short indices": lambda m: leaf(m, 3)[m.tensor([1, 0], dtype=m.int16)],
    "twice": lambda m: ((y := leaf(m, 3)[[0, 1]].sum()), y.backward(), y.backward()),
    "where twice": lambda m: ((y := m.where(m.tensor([True]), leaf(m, 1), 0.0)), y.backward(), y.backward()),
}

IN_PLACE = {
    "fill_ with a tensor": lambda m: (w := leaf(m), x := leaf(m, 3), y := x.clone().fill_(w), grads(m, y * x, w, x),
                                      y.grad_fn.name()),
    "fill_ data with a tensor": lambda m: (w := leaf(m), y := m.zeros(3).fill_(w), grads(m, y, w)),
    "fill_ with a vector": lambda m: m.zeros(3).fill_(m.ones(1)),
    "pow_ with a tensor": lambda m: (x := leaf(m, 3), e := leaf(m, 3), grads(m, x.clone().pow_(e), x, e)),
    "**=": lambda m: (x := leaf(m, 3), y := x.clone(), z := y, z.__ipow__(2), z is y, y._version, grads(m, y, x)),
    "copy_ into integers": lambda m: m.zeros(3, dtype=m.int64).copy_(leaf(m, 3)),
    "a word": lambda m: m.ones(2).add_("a"),
    "expanded by nothing": lambda m: (m.zeros(3).expand(1, 3).add_(1), m.zeros(0, 2).expand(4, 0, 2)),
    "expanded": lambda m: m.zeros(1).expand(3).add_(1),
    "sign of bools is no view": lambda m: (x := m.tensor([True]), x.sign().fill_(False), x)[2],
    "view of what is detached": lambda m: (x := leaf(m, 3), y := x.clone(), v := y[0], y.detach().fill_(2.0),
                                           grads(m, v, x)),
}

DTYPES = {
    "half sum": lambda m: m.ones(10000, 2, dtype=m.float16).sum(0),
    "half mean": lambda m: (m.ones(70000, dtype=m.float16).mean(), m.ones(70000, 2, dtype=m.float16).mean(0)),
    "half norm": lambda m: m.full((1000,), 300.0, dtype=m.float16).norm(),
    "half loss": lambda m: m.nn.functional.mse_loss(m.full((99999,), 2.0, dtype=m.float16),
                                                    m.zeros(99999, dtype=m.float16)),
    "half broadcast": lambda m: (x := m.ones(3, dtype=m.float16, requires_grad=True),
                                 (x * m.ones(5000, 3, dtype=m.float16)).sum(0).sum().backward(), x.grad),
    "large numbers": lambda m: (m.ones(2, dtype=m.uint8) + 300, m.ones(2, dtype=m.int8) * 200,
                                m.ones(2, dtype=m.uint8) * -1),
    "True minus": lambda m: True - m.ones(2),
    "minus True": lambda m: m.arange(2) - True,
    "bools minus": lambda m: m.tensor([True]) - 1,
    "not of floats": lambda m: ~m.ones(2),
    "bmm": lambda m: m.bmm(leaf(m, 1, 2, 2), leaf(m, 1, 2, 2, dtype="float64")),
    "mv": lambda m: m.mv(leaf(m, 2, 2), leaf(m, 2, dtype="float64")),
    "addmm bias": lambda m: m.addmm(leaf(m, 2, 2, dtype="float64"), leaf(m, 2, 2), leaf(m, 2, 2)),
    "addmm": lambda m: m.addmm(leaf(m, 2, 2), leaf(m, 2, 2, dtype="float64"), leaf(m, 2, 2)),
    "linear": lambda m: m.nn.functional.linear(leaf(m, 2, 2), leaf(m, 2, 2), leaf(m, 2, dtype="float64")),
    "condition of floats": lambda m: m.where(m.ones(2), leaf(m, 2), leaf(m, 2)),
    "cat of numbers": lambda m: m.cat([leaf(m), leaf(m)]),
}

DIMS = {
    "squeeze": lambda m: (x := leaf(m, 1, 2, 1), y := x.squeeze((0, 1, -1)), grads(m, y, x), y.grad_fn.name()),
    "movedim": lambda m: (x := leaf(m, 2, 3, 4), y := x.movedim((0, -1), (1, 0)), grads(m, y, x)),
    "movedim of one to two": lambda m: leaf(m, 2, 3).movedim((0, 1), (0,)),
    "NumPy's integers": lambda m: leaf(m, 2, 3).sum(np.int64(1)),
    "any out of range": lambda m: m.ones(2).any(3),
}



def laid(m, w, make, **how):
    """The strides of a leaf's first gradient; `view` takes those of a row-major one only."""
    make(w).sum().backward(**how)
    return w.grad.stride(), w.grad.is_contiguous(), w.grad.view(-1) if w.is_contiguous() else w.grad


LAYOUTS = {
    "of a turned factor": lambda m: laid(m, leaf(m, 3, 4), lambda w: w * leaf(m, 4, 3).detach().t()),
    "of a turned factor, recorded": lambda m: laid(m, leaf(m, 3, 4), lambda w: w * leaf(m, 4, 3).detach().t(),
                                                   create_graph=True),
    "of a small product": lambda m: laid(m, leaf(m, 3, 4), lambda w: leaf(m, 2, 3).mm(w)),
    "of a product and its square": lambda m: laid(m, leaf(m, 3, 3), lambda w: m.addmm(w, w, w.t()) + w.t()),
    "of a turned leaf": lambda m: laid(m, leaf(m, 3, 4).detach().t().requires_grad_(), lambda w: w * 2),
    "of a turned weight": lambda m: laid(m, leaf(m, 3, 4).detach().t().requires_grad_(),
                                         lambda w: m.nn.functional.linear(leaf(m, 5, 3), w, m.ones(4))),
    "of a permuted leaf": lambda m: laid(m, leaf(m, 2, 3, 4).detach().permute(2, 0, 1).requires_grad_(),
                                         lambda w: w * w),
    "of every other row": lambda m: laid(m, leaf(m, 6, 4).detach()[::2].requires_grad_(), lambda w: w * w),
    "of a small product asked for": lambda m: m.autograd.grad(
        leaf(m, 2, 3).mm(w := leaf(m, 3, 4)).sum(), w)[0].stride(),
}
TABLES = {"changes": CHANGES, "indexing": INDEXING, "in place": IN_PLACE, "dtypes": DTYPES, "dims": DIMS,
          "layouts": LAYOUTS}


def told(value, m):
    """A result in terms that both libraries share."""
    if isinstance(value, m.Tensor):
        array = value.detach().numpy()
        return array.dtype.name, array.shape, array.tolist(), value.requires_grad
    if isinstance(value, (tuple, list)):
        return [told(v, m) for v in value]
    return value


def outcome(program, m):
    """What a program gives, or the error that it ends in."""
    try:
        return told(program(m), m)
    except Exception as error:  # noqa: BLE001 (whichever it is, it is compared)
        return type(error).__name__, first_sentence(error)


@pytest.mark.parametrize("table, name", [(table, name) for table, rows in TABLES.items() for name in rows])
def test_both_end_alike(torch, table, name):
    ours, theirs = (outcome(TABLES[table][name], m) for m in (minigrad, torch))
    assert same(ours, theirs), (ours, theirs)


def same(ours, theirs):
    """Equal, floats up to rounding."""
    if isinstance(theirs, (list, tuple)):
        return type(ours) is type(theirs) and len(ours) == len(theirs) and all(map(same, ours, theirs))
    return ours == pytest.approx(theirs, rel=1e-5) if isinstance(theirs, float) else ours == theirs
