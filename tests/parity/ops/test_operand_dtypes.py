"""Operands of dtypes that an op promotes or refuses, and numbers that a dtype cannot hold."""

from __future__ import annotations

import numpy as np
import pytest

import minigrad
from tests.parity.alike import alike
from tests.parity.tensors import outcome
from tests.parity.values import leaf, same_end

pytestmark = pytest.mark.torch

OPERANDS = {
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

BITWISE = {
    "&": lambda m: m.ones(2) & m.ones(2),
    "|": lambda m: m.ones(2) | m.ones(2),
    "~": lambda m: ~m.ones(2),
    "^": lambda m: m.tensor([1, 2]) ^ m.tensor([3, 3]),
    "^b": lambda m: m.tensor([True]) ^ m.tensor([True]),
    "^f": lambda m: m.ones(2) ^ m.ones(2),
    "& num": lambda m: m.tensor([1, 2]) & 1,
    "num &": lambda m: 1 & m.tensor([1, 2]),
    "& float num": lambda m: m.tensor([1, 2]) & 1.5,
    "& mix": lambda m: m.tensor([1, 2]) & m.tensor([True, False]),
    "& str": lambda m: m.tensor([1]) & "a",
    "|num": lambda m: True | m.tensor([False]),
}


BEYOND = {
    "add": lambda m, x, n: x + n,
    "multiply": lambda m, x, n: x * n,
    "compare": lambda m, x, n: x > n,
    "clamp": lambda m, x, n: x.clamp(n),
    "alpha": lambda m, x, n: x.add(x, alpha=n),
    "fill": lambda m, x, n: x.clone().fill_(n),
    "full": lambda m, x, n: m.full((2,), n, dtype=x.dtype),
    "write": lambda m, x, n: (y := x.clone(), y.__setitem__(0, n), y)[-1],
}


@pytest.mark.parametrize("number", [2**64, -2**63 - 1, 2**64 - 1, -2**63])
@pytest.mark.parametrize("dtype", ["uint8", "int64", "float32"])
@pytest.mark.parametrize("use", BEYOND)
def test_integers_beyond_64_bits(torch, use, dtype, number):
    alike(torch, lambda m: BEYOND[use](m, m.ones(2, dtype=getattr(m, dtype)), number))


@pytest.mark.parametrize("name", OPERANDS)
def test_operands(torch, name):
    same_end(torch, OPERANDS[name])


@pytest.mark.parametrize("name", BITWISE)
def test_bitwise_operators(torch, every_warning, name):
    assert outcome(BITWISE[name], minigrad) == outcome(BITWISE[name], torch)


# factors of small integers wrap around or overflow
SCALED = {
    "add": lambda m, a, b, s: a.add(b, alpha=s),
    "add to a number": lambda m, a, b, s: a.add(1, alpha=s),
    "add_": lambda m, a, b, s: a.add_(b, alpha=s),
    "sub": lambda m, a, b, s: a.sub(b, alpha=s),
    "rsub": lambda m, a, b, s: m.rsub(a, b, alpha=s),
    "rsub from a number": lambda m, a, b, s: m.rsub(a, 1, alpha=s),
    "addcmul": lambda m, a, b, s: a.addcmul(b, b, value=s),
    "index_add": lambda m, a, b, s: a.index_add(0, m.tensor([1, 0]), b, alpha=s),
    "addmm": lambda m, a, b, s: m.addmm(a[:, None], a[:, None], b[None, :1], beta=s, alpha=s),
    "addmv": lambda m, a, b, s: m.addmv(a, m.stack([a, b]), b, alpha=s),
    "one element": lambda m, a, b, s: a[0].add(b[0], alpha=s),
}


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
@pytest.mark.parametrize("scale", [-1, 200, 300, -300, 2.5, -1.0])
@pytest.mark.parametrize("name", SCALED)
def test_factors(torch, name, scale, dtype):
    alike(torch, lambda m: SCALED[name](m, *[m.tensor(v, dtype=getattr(m, dtype)) for v in ([5, 6], [1, 2])], scale))


LISTS = {
    "uint8": [np.uint8(3), np.uint8(4)],
    "rows": [[np.uint8(1)], [np.uint8(2)]],
    "with int8": [np.uint8(200), np.int8(-4)],
    "with a bool": [True, np.uint8(2)],
    "with a float": [np.uint8(3), 1.5],
    "too large": [2**63],
}


@pytest.mark.parametrize("dtype", [None, "int64", "uint8"])
@pytest.mark.parametrize("name", LISTS)
def test_lists_of_small_integers(torch, name, dtype):
    alike(torch, lambda m: m.tensor(LISTS[name], dtype=dtype and getattr(m, dtype)))


SCALED_NUMBERS = {
    "add": lambda m: m.add(m.tensor([1], dtype=m.uint8), -1, alpha=-2),
    "sub": lambda m: m.sub(m.tensor([1], dtype=m.uint8), -1, alpha=-2),
    "add beyond the range": lambda m: m.add(m.tensor([1], dtype=m.int8), 100, alpha=2),
    "add beyond int64": lambda m: m.add(m.tensor([1]), 2**62 + 1, alpha=4),
    "rsub": lambda m: m.rsub(m.tensor([1], dtype=m.uint8), 3, alpha=-2),
    "rsub from a float": lambda m: m.rsub(m.tensor([1], dtype=m.int8), 3.5, alpha=2.5),
    "rsub from a float, beyond the range": lambda m: m.rsub(m.tensor([2], dtype=m.int8), 3.5, alpha=200),
    "rsub with a bool alpha": lambda m: m.rsub(m.ones(1), 3.5, alpha=True),
    "rsub of a bool": lambda m: m.rsub(m.tensor([True]), 3, alpha=2),
    "rsub from a bool": lambda m: m.rsub(m.tensor([1]), True, alpha=2),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", SCALED_NUMBERS)
def test_alpha_of_a_number(torch, name):
    alike(torch, SCALED_NUMBERS[name])


NUMPY_NUMBERS = [np.int64(300), np.int64(-1), np.int64(-200), np.float64(300.7), np.float32(-1.5), np.bool_(True),
                 np.uint8(200)]


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int64", "bool", "float16"])
@pytest.mark.parametrize("number", NUMPY_NUMBERS, ids=repr)
def test_a_number_of_numpys(torch, number, dtype):
    alike(torch, lambda m: m.tensor(number, dtype=getattr(m, dtype)))


BEYOND = {
    "padding": lambda m, x, n: m.nn.functional.pad(x, (1, 1), value=n),
    "what replaces": lambda m, x, n: m.nn.functional.threshold(x, 5, n),
    "a threshold": lambda m, x, n: m.nn.functional.threshold(x, n, 1),
    "a threshold in place": lambda m, x, n: m.nn.functional.threshold(x, n, 1, inplace=True),
    "padding, as it is": lambda m, x, n: m.constant_pad_nd(x, (1, 1), n),
    "an exponent": lambda m, x, n: x if x.is_floating_point() else x ** int(n),
}


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int64", "float16"])
@pytest.mark.parametrize("number", [-1, 300, -300, 2.5, 1e10])
@pytest.mark.parametrize("where", BEYOND)
def test_numbers_beyond_a_dtype(torch, where, number, dtype):
    if where.startswith("a threshold") and (number, dtype) == (1e10, "float16"):
        number = 65000.0  # else NumPy's warning would be seen, which only the user's filter "always" shows
    alike(torch, lambda m: BEYOND[where](m, m.tensor([[3, 120]]).to(getattr(m, dtype)), number))
