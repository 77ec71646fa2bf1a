"""Programs whose values may differ in their last bits: what they give, or the first sentence of their error.

What is compared: every value, dtype, shape and `requires_grad` that a program returns. Warnings are not.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import minigrad


def leaf(m: ModuleType, *shape: int, dtype: str = "float32") -> Any:
    """Different numbers from 0.5 to 2 that require grad."""
    return m.from_numpy(np.linspace(0.5, 2, int(np.prod(shape))).reshape(shape).astype(dtype)).requires_grad_()


def grads(m: ModuleType, y: Any, *inputs: Any) -> Any:
    """First derivatives of a sum of squares, and derivatives of those."""
    first = m.autograd.grad((y * y).sum(), inputs, create_graph=True)
    return first, m.autograd.grad(sum(g.sum() for g in first), inputs, materialize_grads=True)


def described(value: Any, m: ModuleType) -> Any:
    """A result in terms that both libraries share."""
    if isinstance(value, m.Tensor):
        array = value.detach().numpy()
        return array.dtype.name, array.shape, array.tolist(), value.requires_grad
    if isinstance(value, (tuple, list)):
        return [described(v, m) for v in value]
    return value


def first_sentence(error: Exception) -> str:
    """The text without lists of signatures, places in PyTorch's own source, and what we add."""
    text = str(error).split("\n\n")[0].split(" (Triggered")[0].split("\nException raised")[0]
    return text.split("\n")[0].removesuffix(", but expected one of:")


def ending(program: Callable[[ModuleType], Any], m: ModuleType) -> Any:
    """What a program gives, or the error that it ends in."""
    try:
        return described(program(m), m)
    except Exception as error:  # noqa: BLE001 (whichever it is, it is compared)
        return type(error).__name__, first_sentence(error)


def equal(ours: Any, theirs: Any) -> bool:
    """Equal, floats up to rounding."""
    if isinstance(theirs, (list, tuple)):
        return type(ours) is type(theirs) and len(ours) == len(theirs) and all(map(equal, ours, theirs))
    return bool(ours == pytest.approx(theirs, rel=1e-5) if isinstance(theirs, float) else ours == theirs)


def same_end(torch: ModuleType, program: Callable[[ModuleType], Any]) -> None:
    """Run a program under both libraries and compare."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours, theirs = ending(program, minigrad), ending(program, torch)
    assert equal(ours, theirs), (ours, theirs)
