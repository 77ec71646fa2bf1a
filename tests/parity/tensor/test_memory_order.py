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


OF_TWO = {
    "add": lambda lib, a, b: a + b,
    "sub scaled": lambda lib, a, b: lib.sub(a, b, alpha=2),
    "mul": lambda lib, a, b: a * b,
    "div": lambda lib, a, b: a / b,
    "pow": lambda lib, a, b: a ** b,
    "add of dtypes": lambda lib, a, b: a.double() + b,
    "a comparison": lambda lib, a, b: a > b,
    "and": lambda lib, a, b: (a > 1) & (b > 1),
    "maximum": lambda lib, a, b: a.maximum(b),
    "hypot": lambda lib, a, b: lib.hypot(a, b),
    "fmod": lambda lib, a, b: a.fmod(b),
    "lerp": lambda lib, a, b: a.lerp(b, 0.5),
    "addcmul": lambda lib, a, b: a.addcmul(b, b),
    "clamp": lambda lib, a, b: a.clamp(b, b),
    "mse_loss": lambda lib, a, b: lib.nn.functional.mse_loss(a.expand_as(a + b), b.expand_as(a + b), reduction="none"),
    "dropout": lambda lib, a, b: lib.nn.functional.dropout(a + b, 0.5),
    "of a part": lambda lib, a, b: a + b[0],
    "to a part": lambda lib, a, b: a[0] + b,
    "of a row": lambda lib, a, b: a + b.sum(-1, keepdim=True),
}


@pytest.mark.parametrize("layouts", list(product(LAYOUTS, repeat=2)))
@pytest.mark.parametrize("shape", [(3, 4), (2, 3, 4)])
@pytest.mark.parametrize("name", OF_TWO)
def test_two_operands_in_different_orders(torch, name, shape, layouts):
    """The first that tells two dimensions apart decides."""
    def run(lib):
        lib.manual_seed(3)
        a, b = [LAYOUTS[layout](lib, shape) for layout in layouts]
        result = OF_TWO[name](lib, a, b)
        return result.nan_to_num(0.5).tolist() if result.is_floating_point() else result.tolist(), result.stride()

    (mine, own_strides), (values, strides) = run(minigrad), run(torch)
    assert own_strides == strides
    assert np.allclose(mine, values, atol=1e-4)


@pytest.mark.parametrize("name", ["prod", "gather", "renorm"])
def test_rows_of_what_is_turned(torch, name):
    def run(lib):
        x = LAYOUTS["turned"](lib, (2, 3, 4))
        result = {"prod": lambda: x.prod(0), "gather": lambda: x.gather(0, (x * 0).long()),
                  "renorm": lambda: x.renorm(2, 0, 1.0)}[name]()
        return result.shape, result.stride()

    assert outcome(run, minigrad) == outcome(run, torch)
