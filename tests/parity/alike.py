"""One program under both libraries: it must end alike, in what it gives or in the error that it raises.

A tensor is told by its values and by what autograd says of it, a node by its name; of an error all of PyTorch's text
counts. What minigrad adds to a text stands below an empty line.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from types import ModuleType
from typing import Any

import minigrad
from tests.parity.outcome import tried

__all__ = ["alike", "ending"]


def told(value: Any) -> Any:
    """A value without anything of its library; floats to six digits, since libraries may round differently."""
    if hasattr(value, "grad_fn"):
        return ("tensor", told(value.detach().tolist()), told(value.dtype), value.requires_grad, value.is_leaf,
                value.output_nr, told(value.grad_fn))
    if hasattr(value, "next_functions"):
        return value.name()
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, (list, tuple)):
        return [told(each) for each in value]
    if value is None or isinstance(value, (bool, int, str)):
        return value
    return re.sub("0x[0-9a-f]+", "0x", repr(value)).replace("minigrad", "torch")


def ending(program: Callable[[ModuleType], Any], lib: ModuleType) -> Any:
    """What a program gives, or its error, and the warnings on the way."""
    end, caught = tried(lambda m: told(program(m)), lib)
    if isinstance(end, Exception):
        end = [type(end).__name__, str(end).split("\n\n")[0].split("\nException raised")[0]]
    return end, [(each.category.__name__, str(each.message).split(" (Triggered")[0]) for each in caught]


def alike(torch: ModuleType, program: Callable[[ModuleType], Any]) -> None:
    """Run a program under both libraries and compare."""
    theirs, ours = ending(program, torch), ending(program, minigrad)
    assert ours == theirs
