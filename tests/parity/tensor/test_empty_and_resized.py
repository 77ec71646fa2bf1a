"""Tensors without elements, tensors of other sizes than before, and sizes and indices at the limits."""

from __future__ import annotations

import numpy as np
import pytest

from tests.parity.alike import alike
from tests.parity.leaves import leaf

pytestmark = pytest.mark.torch


def in_inference_mode(m, function):
    with m.inference_mode():
        return function()


def twice_resized(x, first, second):
    """The strides and the version after each of two changes of size."""
    return x.resize_(first).stride(), x._version, x.resize_(second).stride(), x._version


def filled(tensor, index):
    tensor[index] = 7
    return tensor


def pooled(m, pool, *size):
    getattr(m.nn.functional, f"adaptive_{pool}")(leaf(m, *size), 0).sum().backward()


def convolved(m, *size, **given):
    """Shapes and gradients of a convolution without input channels; the values of the bias do not matter."""
    layer = getattr(m.nn, f"Conv{len(size) - 2}d")(0, 8, 2, **given)
    x = leaf(m, *size)
    y = layer(x)
    y.sum().backward()
    return list(y.shape), y.grad_fn, list(x.grad.shape), list(layer.weight.grad.shape), layer.bias.grad.tolist()


CASES = {
    "resized to its own size": lambda m: twice_resized(m.ones(2, 3).t(), (3, 2), (2, 3)),
    "resized as itself": lambda m: (x := m.ones(2, 3).t()).resize_as_(x).stride(),
    "resized leaf in inference mode": lambda m: in_inference_mode(m, lambda: list(leaf(m, 3).resize_(2).shape)),
    "resized ordinary leaf in inference mode": lambda m: (x := leaf(m, 3)) is in_inference_mode(
        m, lambda: x.resize_(2)),
    "resized inference tensor outside": lambda m: in_inference_mode(m, lambda: leaf(m, 3)).resize_(2),
    "resized leaf": lambda m: leaf(m, 3).resize_(3),
    "resized to too many elements": lambda m: m.empty(()).resize_([8, 8, 2**29, 2**29]),
    "resized to too many bytes": lambda m: m.empty(()).resize_([2**31, 2**31]),
    "too many bytes": lambda m: m.zeros([2**31, 2**31]),
    "expanded to too many elements": lambda m: m.ones(()).expand(2**62, 4),
    "strides of empty slices": lambda m: ((x := m.ones(2, 3, 4)), [part.stride() for part in (
        x[:, 1:1], x[:, 3:], x[1:1], x[:, :, 0:0], x[::2, 5:], x.narrow(1, 1, 0), x[:, 1:1] + 1)])[1],
    "strides of new empty tensors": lambda m: [x.stride() for x in (
        m.empty(0, 3), m.zeros(2, 0, 4), *m.ones(2, 3).split([0, 3], 1))],
    "set to another empty tensor": lambda m: m.tensor([]).is_set_to(m.tensor([])),
    "set to the same empty tensor": lambda m: ((e := m.tensor([])).is_set_to(e), e.is_set_to(e.view(0))),
    "numbers of any integer dtype as indices": lambda m: [
        m.arange(6.).view(2, 3)[m.tensor(1, dtype=d)] for d in (m.int8, m.int16, m.int32, m.int64)],
    "numbers of two dtypes as indices": lambda m: m.arange(6.).view(2, 3)[m.tensor(1).short(), m.tensor(0)],
    "written at a short number": lambda m: filled(m.zeros(2, 3), m.tensor(1).short()),
    "short vector as index": lambda m: m.zeros(2)[m.tensor([1]).short()],
    "an array as the shape of indices": lambda m: m.unravel_index(m.tensor([1]), np.array([1, 2, 3])),
    "new of a named size": lambda m: [list(x.shape) for x in (
        m.ones(2).new(size=(3, 4)), m.ones(2).new(size=[2]), m.ones(2).new(size=(3,), device="cpu"))],
    "new of named values": lambda m: m.ones(2).new(data=[1., 2.]),
    **{f"gradient of an empty {pool}": lambda m, pool=pool, size=size: pooled(m, pool, *size) for pool, size in (
        ("avg_pool1d", (1, 2, 4)), ("avg_pool2d", (1, 2, 4, 4)), ("avg_pool2d", (2, 4, 4)),
        ("avg_pool3d", (1, 2, 4, 4, 4)), ("max_pool1d", (1, 2, 4)), ("max_pool2d", (1, 2, 4, 4)),
        ("max_pool3d", (1, 2, 4, 4, 4)))},
    "no channels": lambda m: convolved(m, 2, 0, 15),
    "no channels, by steps": lambda m: convolved(m, 2, 0, 15, stride=2),
    "no channels, 2-d": lambda m: convolved(m, 2, 0, 5, 5, padding=1),
    "no channels, 3-d": lambda m: convolved(m, 1, 0, 3, 3, 3),
}


@pytest.mark.parametrize("name", CASES)
def test_alike(torch, name):
    alike(torch, CASES[name])


NONE_WRITTEN = """
x.index_put_((none,), one, accumulate=True)
x.index_put_((none,), one.expand(3), accumulate=True)
x.index_put_((none,), torch.zeros(0, 3), accumulate=True)
x.index_put_((none,), torch.ones(2), accumulate=True)
x.index_put_((none,), torch.ones(2, 3), accumulate=True)
x.index_put_((none,), torch.ones(2, 3))
x.index_put_((none, none), one, accumulate=True)
x.index_put_((none, none), torch.ones(3), accumulate=True)
x.index_put_((none.view(0, 1).expand(0, 2),), one, accumulate=True)
x.index_put_((none.bool().new_zeros(2, 3),), one, accumulate=True)
x.index_put_((none.double(),), one, accumulate=True)
x.index_put_((none,), one.double(), accumulate=True)
x[none] = one
x[[]] = torch.ones(2)
x[0:0] = 5
x[0:0] = one
x[0:0] = torch.ones(3)
x[0:0] = torch.ones(2)
x[0:0] = torch.ones(2, 3)
x[0:0] = torch.ones(1, dtype=torch.int32)
x[0:0] = None
x[2:1] = one
x[:, 3:3] = 1
x[0:0] += 1
x[False] = 1
x[0:0].fill_(one)
x[0:0].add_(one)
x[0:0].mul_(torch.ones(3))
x[0:0].copy_(torch.ones(0, 3))
""".strip().splitlines()


@pytest.mark.parametrize("statement", NONE_WRITTEN)
def test_writes_to_no_element(torch, statement):
    """They count as a write, and as a part of the graph."""
    def program(m):
        start, one = m.arange(6.0).view(2, 3).requires_grad_(), m.tensor(1.0, requires_grad=True)
        x = start.clone()
        exec(statement, {"torch": m, "x": x, "one": one, "none": m.tensor([], dtype=m.int64)})
        return x, x._version, m.autograd.grad(x.sum(), (start, one), allow_unused=True)

    alike(torch, program)


EMPTIED = """
x[2:2]
x[4:2]
x[1::2][1:1]
x[3:].narrow(0, 1, 0)
x.view(2, 3)[:, 1:1]
x.view(2, 3)[1:1, 1:]
x.view(2, 3).t()[2:2]
x[2:4].resize_(0)
x.detach().resize_(0)
torch.empty(0).set_(x.untyped_storage(), 2, (0,))
torch.empty(0)
""".strip().splitlines()


@pytest.mark.parametrize("expression", EMPTIED)
def test_where_a_tensor_without_elements_begins(torch, expression):
    """It looks at its memory from there when it is resized, and as the `out=` of an op."""
    def program(m):
        x, again = m.arange(6.0), m.arange(6.0)
        empty, other = (eval(expression, {"torch": m, "x": each}) for each in (x, again))
        begin = empty.storage_offset()
        if x.untyped_storage().data_ptr() == empty.untyped_storage().data_ptr():
            empty.resize_(2)
        m.add(m.ones(2), 1, out=other)
        return begin, empty, x, other, again

    alike(torch, program)
