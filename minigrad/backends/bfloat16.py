"""Defines arrays of bfloat16, a dtype that NumPy lacks: the upper half of a float32.

`BFloat16Array` takes part in NumPy's dispatch as CuPy's arrays do (NOTE 9 in registry.py), so the ops run on it
unchanged. Functions that compute get the elements in float32 and round the result once; functions that only move
elements, and views, work on the ml_dtypes array inside. This file is imported when bfloat16 is first used.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import ml_dtypes
import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.lib.stride_tricks import as_strided

from minigrad._base.dtype import BFLOAT16
from minigrad.backends import registry

__all__ = ["BFloat16Array", "round_up", "unrounded"]

HELD = np.dtype(ml_dtypes.bfloat16)
FLOAT32 = np.dtype("float32")
# NumPy functions that compute nothing: they move elements, select some of them, or create arrays.
MOVING = frozenset((
    "append", "arange", "array", "array_split", "asarray", "ascontiguousarray", "atleast_1d", "atleast_2d",
    "atleast_3d", "broadcast_arrays", "broadcast_to", "column_stack", "concatenate", "copy", "copyto", "delete", "diag",
    "diagonal", "dstack", "empty", "empty_like", "expand_dims", "eye", "flip", "fliplr", "flipud", "full", "full_like",
    "hstack", "may_share_memory", "moveaxis", "ndim", "ones", "ones_like", "pad", "permute_dims", "put_along_axis",
    "ravel", "repeat", "reshape", "roll", "rollaxis", "rot90", "shape", "shares_memory", "size", "split", "squeeze",
    "stack", "swapaxes", "take", "take_along_axis", "tile", "transpose", "tri", "tril", "triu", "vstack", "zeros",
    "zeros_like"))
MOVING_METHODS = ("copy", "diagonal", "flatten", "ravel", "repeat", "reshape", "squeeze", "swapaxes", "take", "tobytes",
                  "transpose")
COMPUTING_METHODS = ("all", "any", "argmax", "argmin", "argpartition", "argsort", "clip", "cumprod", "cumsum", "dot",
                     "item", "max", "mean", "min", "nonzero", "prod", "round", "searchsorted", "std", "sum", "tolist",
                     "trace", "var")


class Rounding(threading.local):
    """Whether results in this thread are rounded to bfloat16 at once."""

    at_once = True


ROUNDING = Rounding()


@contextmanager
def unrounded() -> Iterator[None]:
    """A block in which results stay float32 inside; results that leave it must pass through `round_up`."""
    before, ROUNDING.at_once = ROUNDING.at_once, False
    try:
        yield
    finally:
        ROUNDING.at_once = before


def mapped(function: Callable[[Any], Any], value: Any) -> Any:
    """Apply a function to a value, or to the values in its tuples, lists and dicts."""
    if type(value) in (tuple, list):
        return type(value)([mapped(function, each) for each in value])
    if type(value) is dict:
        return {key: mapped(function, each) for key, each in value.items()}
    return function(value)


def ml_counterpart(value: Any) -> Any:
    """NumPy's counterpart of a bfloat16 array, or of its dtype."""
    if type(value) is BFloat16Array:
        return value.held
    return (HELD if ROUNDING.at_once else FLOAT32) if value is BFLOAT16 else value


def widened(value: Any) -> Any:
    """A bfloat16 array, or its dtype, as float32."""
    if type(value) is BFloat16Array:
        return value.held.astype(FLOAT32, copy=False)
    return FLOAT32 if value is BFLOAT16 else value


def wrap_ml_array(value: Any) -> Any:
    """An ml_dtypes array as a bfloat16 array; while rounding is deferred, also a float32 array."""
    dtype = getattr(value, "dtype", None)
    return BFloat16Array(np.asarray(value)) if dtype is HELD or (dtype is FLOAT32 and not ROUNDING.at_once) else value


def round_to_bfloat16(value: Any) -> Any:
    """float32 as bfloat16; other dtypes unchanged."""
    if getattr(value, "dtype", None) is not FLOAT32:
        return value
    return BFloat16Array(np.asarray(value, HELD if ROUNDING.at_once else FLOAT32))


def round_up(value: Any) -> Any:
    """A bfloat16 array whose rounding was deferred, rounded; anything else unchanged."""
    return round_to_bfloat16(value.held) if type(value) is BFloat16Array and value.held.dtype is FLOAT32 else value


def is_foreign(cls: type) -> bool:
    """Whether a class of operands has its own share in NumPy's dispatch: symbols, and arrays of other devices."""
    return cls is not BFloat16Array and not issubclass(cls, (np.ndarray, np.generic)) and hasattr(
        cls, "__array_ufunc__")


def stays_wide(value: Any) -> bool:
    """Whether an operand has another floating-point dtype, and so has the result."""
    if type(value) in (tuple, list):
        return any(map(stays_wide, value))
    return isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind == "f"


def compute_wide(function: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Return a function of operands in float32, rounded once, unless an operand has a wider dtype."""
    dtype = options.get("dtype")
    wide = any(map(stays_wide, args)) if dtype is None else dtype is not BFLOAT16
    result = function(*mapped(widened, args), **mapped(widened, options))
    return result if wide else mapped(round_to_bfloat16, result)


def moved_elements(function: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Return the result of a function that only moves elements, with bfloat16 arrays."""
    return mapped(wrap_ml_array, function(*mapped(ml_counterpart, args), **mapped(ml_counterpart, options)))


class BFloat16Array(NDArrayOperatorsMixin):
    """An array of bfloat16: it wraps an ml_dtypes array, which holds its memory.

    In a block of `unrounded` it may wrap a float32 array that is still to be rounded.
    """

    __slots__ = ("held",)
    dtype = BFLOAT16

    def __init__(self, held: np.ndarray[Any, Any]) -> None:
        self.held = held

    shape = property(lambda self: self.held.shape)
    ndim = property(lambda self: self.held.ndim)
    size = property(lambda self: self.held.size)
    itemsize = property(lambda self: self.held.itemsize)
    nbytes = property(lambda self: self.held.nbytes)
    strides = property(lambda self: self.held.strides)
    flags = property(lambda self: self.held.flags)
    T = property(lambda self: BFloat16Array(self.held.T))
    base = property(lambda self: None if self.held.base is None else wrap_ml_array(self.held.base))

    def __len__(self) -> int:
        return len(self.held)

    def __bool__(self) -> bool:
        return bool(self.held)

    def __float__(self) -> float:
        return float(self.held)

    def __int__(self) -> int:
        return int(self.held)

    def __repr__(self) -> str:
        return f"BFloat16Array({self.held.tolist()})"

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NoReturn:
        """Refuse silent conversion by NumPy: `astype` states the dtype."""
        raise TypeError("NumPy has no bfloat16")

    def __getitem__(self, index: Any) -> BFloat16Array:
        part = self.held[index]
        if not isinstance(part, np.ndarray):  # one element is a view too, which can be written to
            part = self.held[(*index, ...) if isinstance(index, tuple) else (index, ...)]
        return BFloat16Array(part)

    def __setitem__(self, index: Any, part: Any) -> None:
        with np.errstate(all="ignore"):
            self.held[index] = part.held if type(part) is BFloat16Array else np.asarray(part).astype(FLOAT32)

    def astype(self, dtype: Any, order: Any = "K", copy: bool = True) -> Any:
        """A copy in another dtype; in bfloat16, a deferred rounding is applied."""
        if dtype is BFLOAT16:
            return BFloat16Array(self.held.astype(HELD, order)) if copy or self.held.dtype is FLOAT32 else self
        return self.held.astype(FLOAT32, order).astype(dtype, order, copy=False)

    def view(self, dtype: Any) -> Any:
        return wrap_ml_array(self.held.view(ml_counterpart(dtype)))

    def as_strided(self, shape: tuple[int, ...], strides: tuple[int, ...]) -> BFloat16Array:
        return BFloat16Array(as_strided(self.held, shape, strides))

    def fill(self, number: Any) -> None:
        self[...] = number

    def sort(self, axis: int = -1, kind: Any = None) -> None:
        self[...] = np.sort(widened(self), axis, kind)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = None, **options: Any) -> Any:
        """NumPy's ufuncs, and their `reduce`, `accumulate` and `at`."""
        if any(map(is_foreign, map(type, inputs))):
            return NotImplemented
        call = getattr(ufunc, method)
        if method == "at":
            wide = widened(inputs[0])
            call(wide, *mapped(widened, inputs[1:]))
            inputs[0][...] = wide
            return None
        if out is None:
            return compute_wide(call, inputs, options)
        results = mapped(widened, out)
        call(*mapped(widened, inputs), out=results, **mapped(widened, options))
        for target, result in zip(out, results):
            if type(target) is BFloat16Array:
                target[...] = result
        return out[0] if len(out) == 1 else out

    def __array_function__(self, function: Any, types: Any, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
        if any(map(is_foreign, types)):
            return NotImplemented
        if function.__name__ == "result_type":
            return BFLOAT16 if all(getattr(v, "dtype", v) is BFLOAT16 or type(v) in (float, int, bool)
                                   for v in args) else np.result_type(*mapped(widened, args))
        if function.__name__ in MOVING:
            return moved_elements(function, args, options)
        out = options.pop("out", None)
        result = compute_wide(function, args, options)
        if out is None:
            return result
        out[...] = result
        return out


def method_of(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
    """The method of this name, which delegates to the array inside, or to a float32 array."""
    def method(self: BFloat16Array, *args: Any, **options: Any) -> Any:
        return call(getattr(np.ndarray, name), (self, *args), options)
    method.__name__ = name
    method.__doc__ = f"NumPy's `ndarray.{name}`."
    return method


for each in MOVING_METHODS:
    setattr(BFloat16Array, each, method_of(each, moved_elements))
for each in COMPUTING_METHODS:
    setattr(BFloat16Array, each, method_of(each, compute_wide))


def as_bfloat16(value: Any) -> Any:
    """A number, or an array of another dtype, in bfloat16: by way of float32, as in PyTorch. An ml_dtypes array is
    wrapped without a copy."""
    if type(value) is BFloat16Array:
        return value
    backend = registry.backend_of(value)
    if backend is not None and backend.type == "meta":
        return value.astype(BFLOAT16)
    if backend is not None:
        raise RuntimeError(registry.CPU_ONLY)
    if getattr(value, "dtype", None) is HELD:
        return BFloat16Array(np.asarray(value))
    with np.errstate(all="ignore"):
        return BFloat16Array(np.asarray(value).astype(FLOAT32, copy=False).astype(ml_counterpart(BFLOAT16), copy=False))


class Handle:
    """The memory of these arrays, for NumPy's `like`: `np.zeros(3, dtype, like=Handle())`, of any dtype."""

    def __array_function__(self, function: Any, types: Any, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
        """NumPy's functions that create arrays; its own `ones`, `full` and `eye` pass their arguments on."""
        return moved_elements(function, args, options)


BFLOAT16.dtype, BFLOAT16.type, BFLOAT16.handle = HELD, as_bfloat16, Handle()
registry.ARRAYS = (*registry.ARRAYS, BFloat16Array)
