"""NumPy's numbers and arrays in lists, as indices and as values: taken, converted and refused as PyTorch does."""

from __future__ import annotations

import numpy as np
import pytest

from tests.parity.alike import alike

pytestmark = pytest.mark.torch

KINDS = ["uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64", "bool"]
UNKNOWN = ["uint16", "uint32", "uint64"]  # tensors have no such dtype here, but indices may
USES = {
    **{f"list to {dtype}": lambda m, n, dtype=dtype: m.tensor([[n]], dtype=getattr(m, dtype))
       for dtype in ("int64", "uint8", "bool", "float32")},
    "list": lambda m, n: m.tensor([n]),
    "list with 2": lambda m, n: m.tensor([2, n]),
    "list with 2.": lambda m, n: m.tensor([2.0, n]),
    "full": lambda m, n: m.full((2,), n),
    "list as an index": lambda m, n: m.arange(3)[[n]],
}
INDICES = {
    "array": lambda m, a: m.arange(3)[a],
    "rows": lambda m, a: m.arange(6).reshape(3, 2)[a, a],
    "0-d": lambda m, a: m.arange(3)[a[1]] if a.dtype != bool else None,
    "written": lambda m, a: (x := m.arange(3), x.__setitem__(a, 7), x)[-1],
}


OPERATORS = {
    "+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b, "//": lambda a, b: a // b,
    "%": lambda a, b: a % b, "**": lambda a, b: a ** b, "&": lambda a, b: a & b, "<<": lambda a, b: a << b,
    "==": lambda a, b: a == b, "reversed": lambda a, b: b + a, "reversed **": lambda a, b: b ** a,
    "in place": lambda a, b: a.mul_(b), "least": lambda a, b: a.clamp(b),
}


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("kind", ["bool", "uint8", "int64", "float32"])
@pytest.mark.parametrize("dtype", ["bool", "int64", "float32"])
def test_operands(torch, every_warning, dtype, kind, operator):
    alike(torch, lambda m: OPERATORS[operator](m.tensor([1, 1], dtype=getattr(m, dtype)), np.dtype(kind).type(1)))


@pytest.mark.parametrize("kind, use", [(kind, use) for kind in KINDS for use in USES if use != "list as an index" or (
    kind not in ("float16", "float32"))])  # PyTorch refuses these in a list, though not in an array
def test_numbers(torch, every_warning, kind, use):
    alike(torch, lambda m: USES[use](m, np.dtype(kind).type(1)))


@pytest.mark.parametrize("kind, use", [(kind, use) for kind in [*KINDS, *UNKNOWN] for use in INDICES if (
    (kind, use) != ("uint8", "written"))])  # PyTorch refuses to write with an old mask, and warns that it is old
def test_indices(torch, every_warning, kind, use):
    alike(torch, lambda m: INDICES[use](m, np.array([1, 0, 1], kind)))
