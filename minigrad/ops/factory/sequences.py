"""Makes evenly spaced numbers (`arange`, `linspace`, `logspace`) and unit matrices (`eye`). All of them are leaves."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from minigrad._base.dtype import default_float
from minigrad.backends.registry import HERE, home
from minigrad.core import Tensor
from minigrad.ops._dispatch import op, refuse
from minigrad.ops.factory.values import Dtype, new_leaf, numpy_dtype

__all__ = ["arange", "eye", "linspace", "logspace"]

INT64 = np.dtype("int64")


def number_of(value: Any) -> Any:
    """A number, or what a tensor of one holds."""
    return value.item() if isinstance(value, (Tensor, np.generic)) else value


@op
def arange(start: Any = None, end: Any = None, step: Any = 1, *, dtype: Dtype = None, device: Any = None,
           requires_grad: bool = False) -> Tensor:
    """Numbers from `start` (0 where only one is given) up to, not including, `end`; int64 if all of them are whole.

    Raises:
        RuntimeError: if the bounds do not agree with the sign of the step, or are not finite.
    """
    if start is None and end is None:
        raise TypeError("arange")
    if end is None:
        start, end = 0, start
    low, high, by = [number_of(v) for v in (0 if start is None else start, end, step)]
    whole = not any(isinstance(v, float) for v in (low, high, by))
    kind = numpy_dtype(dtype, INT64 if whole else default_float(), "arange")
    if kind.kind == "b":
        refuse("arange_cpu", kind)
    if by == 0 or (kind.kind != "f" and int(by) == 0):
        raise RuntimeError("step must be nonzero")
    if not (math.isfinite(low) and math.isfinite(high)):
        raise RuntimeError(f"unsupported range: {low:g} -> {high:g}")
    if (high - low) * by < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    if kind.name == "int64":
        low, high, by = int(low), int(high), int(by)
    count = -(-(high - low) // by) if whole or kind.name == "int64" else math.ceil((high - low) / by)
    if kind.kind != "f":
        low, by = int(low), int(by)
    return new_leaf(computed(row, count, low, by, kind, device=device), requires_grad, "arange")


def row(count: int, low: Any, by: Any, kind: Any, place: Any) -> Any:
    """`count` numbers from `low` on, `by` apart."""
    numbers: Any = np.arange(count, dtype=np.float64 if kind.kind == "f" else INT64, like=place)
    return (low + by * numbers).astype(kind)


def computed(formula: Callable[..., Any], *args: Any, device: Any) -> Any:
    """An array that a formula computes on a device, which is the current one meanwhile."""
    place = home(device)
    if place is HERE:
        return formula(*args, place)
    with place.backend.on(place.index):
        return formula(*args, place)


def spaced(what: str, start: Any, end: Any, steps: int, base: float | None, dtype: Dtype, device: Any,
           requires_grad: bool) -> Tensor:
    """`linspace`, or `base` to the powers that it gives; the bounds are rounded to the dtype of the result first."""
    kind = numpy_dtype(dtype, what=what)
    bounds = [(name, v.array.ndim) for name, v in (("start", start), ("end", end)) if isinstance(v, Tensor)]
    if any(ndim for _, ndim in bounds):
        dims = " and ".join([f"{name} with {ndim} dimension(s)" for name, ndim in bounds])
        raise RuntimeError(f"{what} only supports 0-dimensional start and end tensors, but got {dims}.")
    steps = operator.index(steps)
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    if kind.kind == "b":
        refuse(f"{what}_cpu", kind)
    counting = kind if kind.kind == "f" else np.dtype("float64")
    low, high = [counting.type(kind.type(int(v) if kind.kind != "f" else v)) for v in map(number_of, (start, end))]
    return new_leaf(computed(evenly_spaced, low, high, steps, kind, base, device=device), requires_grad, what)


def evenly_spaced(low: Any, high: Any, steps: int, kind: Any, base: float | None, place: Any) -> Any:
    """`steps` numbers from `low` to `high`, counted from both ends to the middle; or `base` to their powers."""
    counting = low.dtype
    if steps == 1:
        numbers = np.full(1, low, counting, like=place)
    else:
        by = (high - low) / counting.type(max(steps - 1, 1))
        count = np.arange(steps, like=place).astype(counting)
        numbers = np.where(count < steps // 2, low + by * count, high - by * (steps - 1 - count).astype(counting))
    return (numbers if base is None else np.power(base, numbers.astype(np.float64))).astype(kind)


@op
def linspace(start: Any, end: Any, steps: int, *, dtype: Dtype = None, device: Any = None,
             requires_grad: bool = False) -> Tensor:
    """`steps` numbers from `start` to `end`, both included; integers lose their fraction.

    Raises:
        RuntimeError: if `steps` is negative, or a bound is a tensor that is no number.
    """
    return spaced("linspace", start, end, steps, None, dtype, device, requires_grad)


@op
def logspace(start: Any, end: Any, steps: int, base: float = 10.0, *, dtype: Dtype = None, device: Any = None,
             requires_grad: bool = False) -> Tensor:
    """`base` to the powers that `linspace(start, end, steps)` gives."""
    return spaced("logspace", start, end, steps, float(base), dtype, device, requires_grad)


@op
def eye(n: int, m: int | None = None, *, dtype: Dtype = None, device: Any = None,
        requires_grad: bool = False) -> Tensor:
    """Ones on the diagonal of an (n, m) matrix, zeros elsewhere."""
    for name, size in (("n", n), ("m", m)):
        if size is not None and size < 0:
            raise RuntimeError(f"{name} must be greater or equal to 0, got {size}")
    return new_leaf(np.eye(n, m, dtype=numpy_dtype(dtype, what="eye"), like=home(device)), requires_grad, "eye")
