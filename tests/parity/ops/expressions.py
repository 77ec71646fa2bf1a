"""What the expressions of the tables about shapes and parts of tensors speak of."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

import minigrad
from tests.parity.outcome import outcome


def put(tensor: Any, index: Any, value: Any) -> Any:
    """A copy of a tensor with a value written to a part of it."""
    tensor = tensor.clone()
    tensor[index] = value
    return tensor


def words(lib: ModuleType) -> dict[str, Any]:
    """x, m, v, s: of three dimensions to none; sq: square; w: data; i, im: indices; mask: a mask of m."""
    m = lib.arange(12.0).reshape(3, 4).requires_grad_()
    return {"torch": lib, "np": np, "put": put, "x": lib.arange(24.0).reshape(2, 3, 4).requires_grad_(), "m": m,
            "sq": lib.arange(9.0).reshape(3, 3).requires_grad_(), "v": lib.arange(3.0).requires_grad_(),
            "w": lib.arange(3.0).requires_grad_(), "s": lib.tensor(1.0).requires_grad_(), "i": lib.tensor([0, 1]),
            "im": lib.zeros(3, 4, dtype=lib.long), "mask": (m > 4).detach()}


def agree(torch: ModuleType, expression: str) -> Any:
    """Compare what an expression gives under both libraries, or its error, and its warnings; return that."""
    ours, theirs = (outcome(lambda lib: eval(expression, words(lib)), lib) for lib in (minigrad, torch))
    assert ours == theirs
    return theirs
