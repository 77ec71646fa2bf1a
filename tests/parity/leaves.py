"""Leaves for programs that run under both libraries (`m` is the library), and what programs do to tensors."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any


def leaf(m: ModuleType, *shape: int) -> Any:
    """Ones that require grad."""
    return m.ones(shape, requires_grad=True)


def counted(m: ModuleType, *shape: int) -> Any:
    """1, 2, 3, … that require grad. Square roots of these are the same in both libraries, to the last bit."""
    return m.arange(1.0, 1.0 + float(m.ones(shape).sum())).reshape(shape).requires_grad_()


def put(tensor: Any, index: Any, value: Any) -> Any:
    """Assign to an index, and give the tensor."""
    tensor[index] = value
    return tensor


def quietly(m: ModuleType, change: Callable[[], Any]) -> Any:
    """Run a change without grad mode."""
    with m.no_grad():
        return change()
