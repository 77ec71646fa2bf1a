"""The order in which PyTorch lays out the result of an elementwise op, and what depends on it."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minigrad
from minigrad.ops._dispatch.memory_order import memory_order
from tests.parity.outcome import outcome

pytestmark = pytest.mark.torch
LAYOUTS = {
    "plain": lambda lib, shape: lib.arange(float(np.prod(shape))).reshape(shape),
    "turned": lambda lib, shape: LAYOUTS["plain"](lib, shape[::-1]).permute(*reversed(range(len(shape)))),
    "gaps": lambda lib, shape: lib.arange(2.0 * np.prod(shape)).reshape(*shape[:-1], 2 * shape[-1])[..., ::2],
    "expanded": lambda lib, shape: lib.arange(float(shape[-1])).expand(shape),
}


@st.composite
def laid_out(draw, torch, shape):
    """A tensor of a shape whose dimensions lie in memory in any order, some of them expanded."""
    order = draw(st.permutations(range(len(shape))))
    sizes = [1 if draw(st.integers(0, 5)) == 0 else shape[axis] for axis in order]
    tensor = torch.arange(float(np.prod(sizes))).reshape(sizes).expand([shape[axis] for axis in order])
    return tensor.permute([order.index(axis) for axis in range(len(shape))])


@given(data=st.data())
def test_elementwise_results_are_laid_out_as_pytorch_lays_them_out(torch, data):
    shape = data.draw(st.lists(st.integers(2, 3), min_size=1, max_size=4))
    operands = [data.draw(laid_out(torch, shape)) for _ in range(data.draw(st.integers(1, 3)))]
    result = [torch.sin, torch.mul, torch.addcmul][len(operands) - 1](*operands)
    order = memory_order(shape, *[operand.stride() for operand in operands])
    assert [result.stride()[axis] for axis in order] == sorted(result.stride(), reverse=True)


@pytest.mark.parametrize("layouts", list(product(LAYOUTS, repeat=2)))
@pytest.mark.parametrize("shapes", list(product([(2, 2), (3, 2), (2, 3, 2), (2,)], repeat=2)))
def test_kron_of_any_layouts(torch, shapes, layouts):
    def run(lib):
        tensors = [LAYOUTS[layout](lib, shape) for layout, shape in zip(layouts, shapes, strict=True)]
        result = lib.kron(*tensors)
        return result.tolist(), result.stride()

    assert outcome(run, minigrad) == outcome(run, torch)
