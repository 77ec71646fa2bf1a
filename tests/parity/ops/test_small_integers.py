"""Factors of small integer dtypes, which wrap around or overflow, and tensors of NumPy's small integers."""

from __future__ import annotations

import numpy as np
import pytest

from tests.parity.alike import alike

pytestmark = pytest.mark.torch

OPS = {
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
@pytest.mark.parametrize("name", OPS)
def test_factors(torch, name, scale, dtype):
    alike(torch, lambda m: OPS[name](m, *[m.tensor(v, dtype=getattr(m, dtype)) for v in ([5, 6], [1, 2])], scale))


DATA = {
    "uint8": [np.uint8(3), np.uint8(4)],
    "rows": [[np.uint8(1)], [np.uint8(2)]],
    "with int8": [np.uint8(200), np.int8(-4)],
    "with a bool": [True, np.uint8(2)],
    "with a float": [np.uint8(3), 1.5],
    "too large": [2**63],
}


@pytest.mark.parametrize("dtype", [None, "int64", "uint8"])
@pytest.mark.parametrize("name", DATA)
def test_lists_of_small_integers(torch, name, dtype):
    alike(torch, lambda m: m.tensor(DATA[name], dtype=dtype and getattr(m, dtype)))
