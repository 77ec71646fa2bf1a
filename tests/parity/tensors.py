"""Tables of programs about tensors: what a program gives, or its error, and its warnings, in every detail."""

from __future__ import annotations

import re
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from tests.parity.outcome import tried

Program = Callable[[ModuleType], Any]
# NumPy says of PyTorch that its `__array__` and `__array_wrap__` have old signatures.
NUMPYS = DeprecationWarning


def having(value: Any, **attributes: Any) -> Any:
    """A thing with attributes set."""
    for name, each in attributes.items():
        setattr(value, name, each)
    return value


def described(value: Any) -> Any:
    """A result in every detail, without anything of the library in it."""
    if hasattr(value, "grad_fn") and hasattr(value, "tolist"):
        maker = None if value.grad_fn is None else value.grad_fn.name()
        return (type(value).__name__, str(value.dtype), tuple(value.shape), value.stride(), repr(value.tolist()),
                value.requires_grad, value.is_leaf, maker)
    if isinstance(value, (np.ndarray, np.generic)):
        return type(value).__name__, str(value.dtype), value.shape, repr(value.tolist())
    if isinstance(value, dict):
        return {key: described(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [type(value).__name__, *map(described, value)]
    return neutral(repr(value))


def neutral(text: str) -> str:
    """A text without addresses and without the library's name."""
    return re.sub(r"0x[0-9a-f]+", "0x", text).replace("minigrad", "torch")


def said(text: str) -> str:
    """A message without places in PyTorch's source, without its lists of signatures and without what we add."""
    return neutral(re.split(r" \(Triggered|\n\n|, but expected one of:", text)[0])


def outcome(program: Program, lib: ModuleType) -> tuple[Any, list[str]]:
    """What a program gives, or its error; and its warnings."""
    result, caught = tried(lambda m: described(program(m)), lib)
    if isinstance(result, Exception):
        result = f"{type(result).__name__}: {said(str(result))}"
    given = [each for each in caught if each.category is not NUMPYS]
    return result, [f"{each.category.__name__}: {said(str(each.message))}" for each in given]
