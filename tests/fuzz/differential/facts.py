"""What can be said of a variable in a program: compared between the libraries after each statement."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

HARD = ("values", "kind", "dtype", "shape", "requires_grad", "is_leaf", "grad_fn", "version", "error", "shares", "log")
"""What must be equal in every program. The others are "strides", "offset", "which error", "text", "warnings",
"recorded graph", "written gradient" (a hook should not write into its gradient, says PyTorch: who else sees
it depends on what shares its memory), "written behind hooks" (saved-tensor hooks take the check of versions away, and a
derivative of what was overwritten is of no use in either library), "after inference_mode" (PyTorch's inference tensors
outside of it have corners that nobody documents), and "hooks after .data": a leaf that was used before its data got
another dtype has two AccumulateGrads in PyTorch, and a hook on it runs for each."""


def facts(value: Any) -> dict[str, Any]:
    """What is compared of a value; a tensor's values are an array."""
    if not hasattr(type(value), "grad_fn"):
        return {"kind": type(value).__name__, "values": value if isinstance(value, (bool, int, float)) else None}
    return {
        "kind": type(value).__name__,
        "dtype": seen(lambda: str(value.dtype).rpartition(".")[2]),
        "shape": tuple(value.shape),
        "requires_grad": value.requires_grad,
        "is_leaf": seen(lambda: value.is_leaf),
        "grad_fn": seen(lambda: None if value.grad_fn is None else value.grad_fn.name()),
        "version": seen(lambda: value._version),
        "strides": strides(value),
        "offset": value.storage_offset() if value.numel() else 0,
        "values": value.detach().numpy(force=True),  # PyTorch has zeros without memory
    }


def seen(read: Callable[[], Any]) -> Any:
    """What a property says, or its error: a view from under no_grad may refuse to be looked at, and an array of a dtype
    that is not here has none to name."""
    try:
        return read()
    except (RuntimeError, TypeError) as error:
        return str(error)[:60]


def strides(tensor: Any) -> tuple[int, ...]:
    """The strides of a tensor where they mean something: of dimensions with several elements."""
    return tuple([s if n > 1 and tensor.numel() else 0 for s, n in zip(tensor.stride(), tensor.shape, strict=True)])


def memory_of(value: Any) -> int:
    """Where a tensor lies; 0 for what lies nowhere."""
    return value.untyped_storage().data_ptr() if hasattr(value, "untyped_storage") else 0


def unlike(mine: dict[str, Any], theirs: dict[str, Any], tolerance: float, counted: bool = True) -> str:
    """The first fact in which two values differ; empty: none. `counted`: whether versions are compared."""
    for name in ("kind", "dtype", "shape", "requires_grad", "is_leaf", "grad_fn", "version", "values", "strides",
                 "offset"):
        if name == "values":
            if not close(mine["values"], theirs["values"], tolerance):
                return name
        elif (counted or name != "version") and mine.get(name) != theirs.get(name):
            return name
    return ""


def close(mine: Any, theirs: Any, tolerance: float) -> bool:
    """Whether numbers are equal but for rounding; `tolerance`: of the largest of them."""
    if theirs is None or not isinstance(theirs, (np.ndarray, float)):
        return bool(mine == theirs)
    mine, theirs = np.asarray(mine), np.asarray(theirs)
    equal = bool((mine == theirs).all())
    if equal or theirs.dtype.kind != "f":
        return equal
    finite = theirs[np.isfinite(theirs)].astype(np.float64)
    scale = max(5 * tolerance, float(np.abs(finite).max())) if finite.size else 1.0
    return bool(np.allclose(mine.astype(np.float64), theirs.astype(np.float64), rtol=0,
                            atol=scale * tolerance, equal_nan=True))


def sharing(variables: dict[str, Any]) -> dict[str, str]:
    """For each tensor the first one that lies in the same memory.

    Gradients stand for themselves: which of them PyTorch keeps and which it copies depends on who else holds them.
    """
    first: dict[int, str] = {}
    found = {}
    for name, value in variables.items():
        if "." not in name and hasattr(value, "untyped_storage") and value.numel():
            found[name] = first.setdefault(memory_of(value), name)
    return found
