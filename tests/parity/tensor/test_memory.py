"""Ops on the memory of tensors, and those that cut and fill it: results, second gradients and errors as in PyTorch."""

from __future__ import annotations

import pytest

import minigrad
from tests.parity.outcome import outcome

pytestmark = pytest.mark.torch

# `g(result)` gives a result with its first and second gradients.
LINES = """\
m.as_strided(x, (2, 2), (1, 1))
m.as_strided(x, (2, 2), (3, 3), 2)
m.as_strided(x, (2,), (1, 2))
m.as_strided(x, (2,), (-1,))
m.as_strided(x, (2,), (1,), -1)
m.as_strided(m.arange(3.0), (5,), (1,)).shape
m.slice_scatter(x, m.ones(2), 0, 1, 3)
m.slice_scatter(x, m.ones(2), 0, 1, 4)
m.select_scatter(x, m.ones(2), 0, 1)
m.select_scatter(x, m.ones(()), 0, -2)
m.diagonal_scatter(x.view(2, 3), m.ones(3))
m.diagonal_scatter(x.view(2, 3), y[:2], 1)
x.clone().resize_(2)
m.arange(6.0).resize_(2, 2)
m.arange(3.0).set_()
m.arange(3.0).set_(m.ones(2))._version
m.ones(2, requires_grad=True).set_(m.ones(3))
m.arange(3.0).set_(m.ones(3).long())
x.as_strided_((2,), (1,))
x.clone().as_strided_((2, 2), (2, 1), 1)
g(m.as_strided(x * y, (2, 2), (1, 1)))
g(m.as_strided((x * y).view(2, 3).t(), (3,), (2,), 1))
g(m.as_strided((x * y)[:1].expand(4), (2,), (0,)))
g((x * y)[2:].as_strided((2, 2), (1, 1)))
g((x * y)[2:].as_strided((2, 2), (1, 1), 0))
g(m.select_scatter((x * y).view(2, 3), y[:2].sin(), 1, 1))
g(m.slice_scatter(x * y, y[:2].sin(), 0, 1, 6, 3))
g(m.diagonal_scatter((x * y).view(2, 3), y[:2].sin()))
m.arange(4.0)[1:].resize_(2).tolist()
m.arange(4.0).resize_as_(m.ones(2, 2))
m.trapezoid(m.arange(4.0), m.arange(3.0))
g(m.trapezoid(x * y, m.tensor([0.0, 1.0, 3.0, 4, 6, 9])))
m.trapezoid(m.arange(4))
g(m.cumulative_trapezoid(x * y))
g(m.cumulative_trapezoid(x * y, m.arange(6.0)))
m.trapezoid(m.tensor(1.0))
m.trapezoid(m.ones(0))
m.trapz(m.ones(2, 3), dx=0.5, dim=0)
g(m.trapezoid((x * y).view(2, 3), dx=0.5))
g(m.trapezoid((x * y).view(2, 3), y.view(2, 3)))
m.unravel_index(m.tensor([7]), (2, 3))
m.unravel_index(m.tensor(1.0), (2, 3))
m.unravel_index(m.tensor(-1), 6)
m.unravel_index(m.tensor([[1, 2], [3, 4]]), (2, 3))
m.ones(2).apply_(lambda v: v + 1)
m.ones(2, requires_grad=True).apply_(lambda v: v + 1)
m.ones(2).map_(m.ones(2) * 3, lambda a, b: a + b)
m.ones(2).apply_(lambda v: v + 1)._version
m.empty_strided((2, 3), (1, 2)).stride()
m.empty_strided((2, 3), (1,))
g(m.narrow_copy(x * y, 0, 1, 2))
m.narrow_copy(x, 0, 1, 7)
m.narrow_copy(m.tensor(1.0), 0, 1, 7)
m.narrow_copy(x, 0, 1, -1)
g(m.fill(x, 2))
m.fill(m.ones(2), m.tensor(3.0, requires_grad=True))
m.fill(m.ones(2).long(), 2.5)
g(m.unsafe_chunk(x * y, 2)[1])
g(m.unsafe_split_with_sizes(x * y, [2, 4])[0])
g(m.unsafe_split(x * y, 4)[1])
m.unsafe_split(x * y, 4)[1].grad_fn._saved_self_sym_sizes
m.unsafe_split(x, -1)
m.unsafe_split_with_sizes(x, [2, 3])
m.unsafe_chunk(m.tensor(1.0), 2)
m.unsafe_chunk(x, 0)
m.unsafe_split(m.tensor(1.0), 1)
m.nonzero_static(m.tensor([0, 1, 2]), size=4)
m.nonzero_static(m.tensor([0, 1, 2]), size=1)
m.nonzero_static(m.tensor([[0, 1], [2, 0]]), size=3, fill_value=7)
m.nonzero_static(m.tensor([0, 1, 2]), size=-1)
m.renorm(m.ones(2, 3), 2, 2, 1.0)
m.renorm(m.ones(3), 2, 0, 1.0)
m.renorm(m.ones(2, 3), -1, 0, 1.0)
m.renorm(m.ones(2, 3), 1, 0, -1.0)
g(m.renorm((x * y).view(2, 3), 2, 0, 3.0))
g(m.renorm((x * y + 1).view(2, 3), 1, 1, 3.0))
g(m.renorm((x * y + 1).view(2, 3), 3, 1, 3.5))
m.renorm(m.ones(2, 3).long(), 2, 0, 1.0)
m.ones(2, 3).renorm_(2, 0, 1.0)
m.renorm(m.arange(6.0).view(2, 3), float('inf'), 0, 1.0)
x.sum_to_size(1)
g((x * y).view(2, 3).sum_to_size(3))
g((x * y).view(2, 3).sum_to_size(2, 1))
x.sum_to_size(2)
x.sum_to_size(1, 1, 6)
x.sum_to_size(6) is x
x.view(2, 3).sum_to_size(())
m.constant_pad_nd(x, (1, 1), 2.0)
m.constant_pad_nd(x, (1,), 2.0)
m.constant_pad_nd(x, (1, 1))
x.new(2, 3).shape
x.new([1, 2])
x.new().shape
m.ones(2).long().new([1.5])
x.new_empty_strided((2, 3), (1, 2)).stride()
m.detach_(x * y)
m.detach_(x).requires_grad
m.detach_((x * y)[0])
"""


@pytest.mark.parametrize("expression", LINES.splitlines())
def test_line(torch, expression):
    def program(m):
        x = m.arange(6.0, dtype=m.float64).requires_grad_()
        y = m.linspace(1, 2, 6, dtype=m.float64).requires_grad_()

        def values(tensors):
            return [None if each is None else each.detach() for each in tensors]

        def g(result):
            first = m.autograd.grad((result ** 2).sum(), [x, y], create_graph=True, allow_unused=True)
            known = [each for each in first if each is not None and each.requires_grad]
            loss = sum((each ** 2).sum() for each in known)
            return result, values(first), values(m.autograd.grad(loss, [x, y], allow_unused=True)) if known else []

        return eval(expression, {"m": m, "x": x, "y": y, "g": g})

    assert outcome(program, minigrad) == outcome(program, torch)
