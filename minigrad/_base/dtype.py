"""Dtypes and sizes: mirrors `torch.dtype` and `torch.Size`.

They are the two small value types that every tensor reports; the rules by which two dtypes are promoted
(`torch.promote_types`) are here too. docs/dtypes.md says which of PyTorch's dtypes minigrad lacks, and why.
"""

from __future__ import annotations

import builtins
import operator
from collections.abc import Iterable
from typing import Any

import numpy as np

from minigrad._base.contexts import SIGNALS, silently
from minigrad._base.optional import missing, optional
from minigrad._base.type_name import type_name

__all__ = ["Size", "bool", "double", "dtype", "float", "float16", "float32", "float64", "half", "int", "int16", "int32",
           "int64", "int8", "long", "short", "uint8"]

_CATEGORY = {"b": 0, "u": 1, "i": 1, "f": 2, "c": 3}


class BFloat16:
    """The dtype of bfloat16 arrays (`minigrad.backends.bfloat16`), since NumPy has none. (That of ml_dtypes has a
    kind that no op would take for a float.)"""

    name, kind, itemsize, isnative = "bfloat16", "f", 2, True
    dtype: Any  # NumPy's substitute: the dtype of ml_dtypes
    type: Any = None  # converts a number, or another array, to an array
    handle: Any = None  # for NumPy's `like`; all three are set when bfloat16 is first used

    def __repr__(self) -> str:
        return "dtype(bfloat16)"

    def __reduce__(self) -> tuple[Any, ...]:
        return operator.attrgetter("numpy"), (load_bfloat16(),)  # so that unpickling loads what it needs


BFLOAT16: Any = BFloat16()


class dtype:
    """The type of a tensor's elements, for instance `minigrad.float32`; `itemsize` is in bytes."""

    __slots__ = ("abbr", "is_complex", "is_floating_point", "is_signed", "itemsize", "name", "numpy", "type_name")

    name: str
    type_name: str  # as in PyTorch's errors and legacy tensor types
    abbr: str
    numpy: np.dtype[Any]
    itemsize: builtins.int
    is_floating_point: builtins.bool
    is_signed: builtins.bool
    is_complex: builtins.bool

    def __new__(cls, *args: Any, **kwargs: Any) -> dtype:
        raise TypeError("cannot create 'torch.dtype' instances")

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> str:
        return self.name

    def to_real(self) -> dtype:
        """The dtype of the real and imaginary parts: itself."""
        return self

    def to_complex(self) -> dtype:
        """PyTorch's complex dtype of this precision, which minigrad lacks: always a RuntimeError."""
        raise RuntimeError(f"Unknown Complex ScalarType for {self.type_name}{NOT_HERE}")


def _new_dtype(name: str, type_name: str, numpy: Any = None) -> dtype:
    made: dtype = object.__new__(dtype)
    made.name, made.type_name, made.numpy = name, type_name, numpy or np.dtype(name)
    made.itemsize = made.numpy.itemsize
    made.abbr = f"{'bf' if numpy else made.numpy.kind}{8 * made.itemsize}"
    made.is_floating_point, made.is_signed = made.numpy.kind == "f", made.numpy.kind in "fi"
    made.is_complex = False
    return made


float16 = half = _new_dtype("float16", "Half")
float32 = float = _new_dtype("float32", "Float")
float64 = double = _new_dtype("float64", "Double")
uint8 = _new_dtype("uint8", "Byte")
int8 = _new_dtype("int8", "Char")
int16 = short = _new_dtype("int16", "Short")
int32 = int = _new_dtype("int32", "Int")
int64 = long = _new_dtype("int64", "Long")
bool = _new_dtype("bool", "Bool")

DTYPES = (float16, float32, float64, uint8, int8, int16, int32, int64, bool)
HALVES = frozenset((float16.numpy, BFLOAT16))  # PyTorch computes these in float32, and rounds once
_OF_NUMPY = {d.numpy: d for d in DTYPES}
NOT_HERE = "\n\nminigrad has no complex numbers, and no unsigned integers of more than 8 bits."
ABSENT = ("cdouble", "cfloat", "chalf", "complex32", "complex64", "complex128", "uint16", "uint32", "uint64")


def register_bfloat16() -> dtype:
    """Create `bfloat16`, and register it for arrays."""
    made = _OF_NUMPY[BFLOAT16] = _new_dtype("bfloat16", "BFloat16", BFLOAT16)
    return made


def load_bfloat16() -> dtype:
    """Load `bfloat16`, so that arrays can have it. Raises MissingExtra if ml_dtypes is not installed."""
    loaded: dtype = optional("minigrad.ops._dispatch.bfloat16", "bfloat16").bfloat16
    return loaded


def __getattr__(name: str) -> dtype:
    """Return `bfloat16` by the name under which it is pickled."""
    if name == "bfloat16":
        return load_bfloat16()
    missing(f"module '{__name__}'", name)


def as_dtype(array: Any, dtype: Any, *, copy: builtins.bool = True) -> Any:
    """`array.astype(dtype, copy=copy)`, also to bfloat16, which NumPy arrays lack."""
    if dtype is not BFLOAT16:
        return array.astype(dtype, copy=copy)
    return array.copy("K") if copy and array.dtype is BFLOAT16 else BFLOAT16.type(array)


def from_numpy_dtype(numpy_dtype: Any) -> dtype:
    """The minigrad dtype of a NumPy dtype; PyTorch's TypeError if there is none."""
    found = _OF_NUMPY.get(numpy_dtype) or _OF_NUMPY.get(np.dtype(numpy_dtype))
    if found is None:
        kind = np.dtype(numpy_dtype)
        raise TypeError(
            f"can't convert np.ndarray of type {kind.type.__module__}.{kind.type.__name__}. The only supported types "
            "are: float64, float32, float16, complex64, complex128, int64, int32, int16, int8, uint64, uint32, uint16, "
            f"uint8, and bool.{NOT_HERE if kind.kind in 'ucV' else ''}")
    return found


def viewed(array: Any, dtype: Any) -> Any:
    """`array.view(dtype)`, also as bfloat16."""
    return array.view(dtype) if dtype is not BFLOAT16 else BFLOAT16.type(array.view(dtype))


def number_array(number: Any, dtype: Any) -> Any:
    """`numpy.asarray(number, dtype)`, also in bfloat16."""
    try:
        return np.asarray(number, dtype) if dtype is not BFLOAT16 else BFLOAT16.type(number)
    except SIGNALS as error:
        return silently(error, number_array, number, dtype)


def numpy_dtype_of(given: Any) -> Any:
    """`numpy.dtype(given)`, of bfloat16 and its name too."""
    return BFLOAT16 if given is BFLOAT16 or given == "bfloat16" else np.dtype(given)


def float_info(dtype: Any) -> Any:
    """`numpy.finfo(dtype)`, also of bfloat16."""
    return optional("ml_dtypes", "bfloat16").finfo("bfloat16") if dtype is BFLOAT16 else np.finfo(dtype)


class Default:
    """The default dtype of all threads, set by `set_default_dtype`."""

    dtype = float32
    numpy = float32.numpy


def get_default_dtype() -> dtype:
    """The dtype of Python floats: float32 unless `set_default_dtype` changes it."""
    return Default.dtype


def set_default_dtype(d: dtype, /) -> None:
    """Set the floating-point dtype of Python floats, and of tensors created without a dtype. Raises TypeError for
    anything else."""
    if not isinstance(d, dtype):
        raise TypeError("invalid dtype object: only floating-point types are supported as the default type")
    if not d.is_floating_point:
        raise TypeError("only floating-point types are supported as the default type")
    Default.dtype, Default.numpy = d, d.numpy


default_dtype = get_default_dtype


def default_float() -> np.dtype[Any]:
    """`get_default_dtype()` as NumPy's dtype."""
    return Default.numpy


def result_dtype(x: Any, y: Any) -> np.dtype[Any]:
    """The common dtype of two arrays (`torch.result_type`).

    A 0-d array only decides if its category (bool < integer < float) is the higher one, so that
    float32[3] * float64[] stays float32. NumPy would make it float64.
    """
    if x.dtype is y.dtype:
        return x.dtype  # type: ignore[no-any-return]  # an array's dtype is Any here
    if (x.ndim == 0) == (y.ndim == 0):
        return promote_types(x.dtype, y.dtype)
    array, scalar = (x, y) if y.ndim == 0 else (y, x)
    if _CATEGORY[scalar.dtype.kind] <= _CATEGORY[array.dtype.kind]:
        return array.dtype  # type: ignore[no-any-return]  # an array's dtype is Any here
    return promote_types(array.dtype, scalar.dtype)


def promote_types(a: np.dtype[Any], b: np.dtype[Any]) -> np.dtype[Any]:
    """The common dtype of two dtypes.

    Integers never widen a float: int64 with float32 is float32 in PyTorch, float64 in NumPy.
    """
    if _CATEGORY[a.kind] != _CATEGORY[b.kind] and "f" in (a.kind, b.kind):
        return a if a.kind == "f" else b
    if BFLOAT16 in (a, b):
        return a if a is b else float32.numpy if "float16" in (a.name, b.name) else a if b is BFLOAT16 else b
    return np.promote_types(a, b)


class Size(tuple[Any, ...]):
    """The shape of a tensor; prints as `torch.Size([2, 3])`. Its slices, sums and multiples are sizes too.

    Raises TypeError for elements that are no integers.
    """

    __slots__ = ()

    def __new__(cls, sizes: Iterable[Any] = ()) -> Size:
        size = tuple.__new__(cls, sizes)
        return size if all(type(n) is builtins.int for n in size) else size_of_integers(size)

    def numel(self) -> Any:
        """The number of elements of a tensor of this size."""
        count = 1
        for n in self:
            count *= n
        return count

    def __repr__(self) -> str:
        return f"torch.Size([{', '.join(map(str, self))}])"

    def __getitem__(self, index: Any) -> Any:
        part = tuple.__getitem__(self, index)
        return Size(part) if isinstance(index, slice) else part

    def __add__(self, other: Any) -> Size:
        if not isinstance(other, tuple):
            raise TypeError(f"can only concatenate tuple (not {type(other).__name__}) to torch.Size")
        return size_of_integers((*self, *other))

    def __radd__(self, other: Any) -> Size:
        return size_of_integers((*other, *self)) if isinstance(other, tuple) else NotImplemented

    def __mul__(self, count: Any) -> Size:
        return Size(tuple(self) * count)

    __rmul__ = __mul__


def size_of_integers(sizes: tuple[Any, ...]) -> Size:
    """A size that consists of integers. Raises TypeError for any other element."""
    plain = []
    for i, each in enumerate(sizes):
        try:
            plain.append(operator.index(each))
        except TypeError:
            raise TypeError(f"torch.Size() takes an iterable of 'int' (item {i} is '{type_name(each)}')") from None
    return tuple.__new__(Size, plain)
