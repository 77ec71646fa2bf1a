"""Arrays of a device that is none: NumPy's in a wrapper that behaves as strictly as CuPy's arrays on a GPU.

They take part in NumPy's dispatch and know only the functions and methods that CuPy knows, refuse to be mixed with
NumPy's arrays and to become one silently, give 0-d arrays where NumPy gives scalars, refuse to be worked on while their
device is not in use, and count what is copied to the host. The device on which they lie is in `standin.py`.
"""

from __future__ import annotations

import functools
import inspect
import re
import threading
from collections.abc import Iterator
from typing import Any

import cupy
import numpy as np

__all__ = ["COUNTS", "OWNERS", "Strict", "in_use", "signature_of", "unwrapped"]

NO_CONVERSION = ("Implicit conversion to a NumPy array is not allowed. Please use `.get()` to construct a NumPy array "
                 "explicitly.")
COMPARISONS_OF = {np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal}
NUMBERS = {bool, int, float, complex, *np.sctypeDict.values()}


class Counts:
    """How often values went to the host, and the device in use, of which each thread has its own, and begins with 0."""

    def __init__(self) -> None:
        self.to_host = 0
        self.used = threading.local()

    @property
    def current(self) -> int:
        """The number of the device in use."""
        return getattr(self.used, "index", 0)

    @current.setter
    def current(self, index: int) -> None:
        self.used.index = index


COUNTS = Counts()


def unwrapped(value: Any) -> Any:
    """What stands in a strict array, for NumPy; a TypeError for an array that does not live on the device."""
    if isinstance(value, Strict):
        return value.host
    if isinstance(value, np.ndarray):
        raise TypeError(f"Unsupported type {type(value)}")
    if isinstance(value, (list, tuple)):
        return type(value)(*map(unwrapped, value)) if hasattr(value, "_fields") else type(value)(map(unwrapped, value))
    if isinstance(value, dict):
        return {name: unwrapped(each) for name, each in value.items()}
    return value


def in_use(*values: Any) -> None:
    """CuPy's error for work on arrays of a device that is not in use, where the two cannot reach each other's memory;
    where they can, CuPy warns, and lets the device in use do it."""
    for value in values:
        if isinstance(value, Strict) and value.index != COUNTS.current:
            raise ValueError(f"The device where the array resides ({value.index}) is different from the current device "
                             f"({COUNTS.current}). Peer access is unavailable between these devices.")
        if isinstance(value, (list, tuple)):
            in_use(*value)
        elif isinstance(value, dict):
            in_use(*value.values())


def is_view(found: Any, *seen: Any) -> bool:
    """Whether nothing was computed: the result lies in the memory of what it was made of, or has none."""
    if isinstance(found, (list, tuple)):
        return all(is_view(each, *seen) for each in found)
    return isinstance(found, np.ndarray) and (not found.size or any(
        isinstance(v, Strict) and np.may_share_memory(found, v.host) for v in seen))


def wrapped(value: Any, seen: Strict | None = None) -> Any:
    """A result of NumPy's as the device has it: arrays and scalars become strict arrays, tuples stay tuples.

    A view of an array that was `seen` lies where that lies, all else on the current device.
    """
    if isinstance(value, (np.ndarray, np.generic)):
        view = seen is not None and (np.may_share_memory(value, seen.host) or not value.size)
        if seen is None or not view:
            return Strict(value)
        return Strict(value, seen.index, seen if seen.cut is True else seen.cut)
    if isinstance(value, (list, tuple)):
        items = [wrapped(each, seen) for each in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    return value


def counterpart(func: Any, args: Any, kwargs: Any) -> None:
    """TypeError for a function of NumPy's that CuPy does not have, or not with these arguments."""
    module = func.__module__.split(".")[1:]
    try:
        theirs = functools.reduce(getattr, [*module, func.__name__], cupy)
    except AttributeError:
        raise TypeError(f"CuPy has no {func.__module__}.{func.__name__}") from None
    if inspect.isfunction(theirs):
        signature_of(theirs).bind(*args, **kwargs)


@functools.cache
def signature_of(func: Any) -> inspect.Signature:
    """What arguments a function of CuPy's takes."""
    return inspect.signature(func)


@functools.cache
def method_signature(name: str) -> inspect.Signature | None:
    """What arguments a method of CuPy's arrays takes: told by the first line of its text, since it is no Python."""
    told = re.match(r"_ndarray_base\.\w+\((.*?)\)", getattr(cupy.ndarray, name).__doc__ or "")
    if told is None:
        return None
    words = [re.sub(r"^(_ndarray_base|Py_ssize_t|int) ", "", each) for each in told[1].split(", ")]
    return inspect.signature(eval(f"lambda {', '.join(words)}: None", {"_ndarray_base": None}))


class Strict:
    """An array on the stand-in device."""

    __slots__ = ("__weakref__", "cut", "host", "index")
    __array_priority__ = 100
    __hash__ = None  # type: ignore[assignment]  # as arrays

    def __init__(self, host: Any, index: int | None = None, cut: Strict | bool = False) -> None:
        self.host, self.cut = np.asarray(host), cut  # True: made by `as_strided`; or the array so made that it views
        self.index = COUNTS.current if index is None else index

    # NumPy's dispatch
    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise TypeError(NO_CONVERSION)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if method != "__call__" or not hasattr(cupy, ufunc.__name__):  # CuPy lends NumPy no `add.reduce` and its like
            return NotImplemented
        if not all(isinstance(each, (Strict, np.ndarray)) or type(each) in NUMBERS for each in inputs):
            return NotImplemented
        if kwargs.keys() - {"out", "dtype", "casting"}:
            raise TypeError(f"Wrong arguments {kwargs}")
        if ufunc in COMPARISONS_OF:  # to them NumPy gives its scalars as arrays, and CuPy takes these as numbers
            inputs = tuple([v[()] if isinstance(v, np.ndarray) and not v.ndim else v for v in inputs])
        out = kwargs.get("out")
        in_use(inputs, kwargs)
        with np.errstate(all="ignore"):  # a GPU never warns, and its results lie row by row
            found = getattr(ufunc, method)(*map(unwrapped, inputs), **unwrapped(kwargs), order="C")
        return out[0] if out is not None and len(out) == 1 else wrapped(found)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        counterpart(func, args, kwargs)
        if kwargs.get("like") is not None:
            raise TypeError("like")
        out = kwargs.get("out")
        COUNTS.to_host += func in ASKING
        with np.errstate(all="ignore"):
            found = func(*unwrapped(args), **unwrapped(kwargs))
        view = is_view(found, *args)
        if func not in ANYWHERE and not view:
            in_use(args, kwargs)
        if func in ELEMENTWISE and out is None:
            found = in_rows(found)
        if func is np.diagonal:
            found.flags.writeable = True  # CuPy's can be written to
        return out if isinstance(out, Strict) else wrapped(found, args[0] if view and type(args[0]) is Strict else None)

    # what is known without waiting
    dtype = property(lambda self: self.host.dtype)
    shape = property(lambda self: self.host.shape)
    strides = property(lambda self: self.host.strides)
    size = property(lambda self: self.host.size)
    ndim = property(lambda self: self.host.ndim)
    itemsize = property(lambda self: self.host.itemsize)
    nbytes = property(lambda self: self.host.nbytes)
    flags = property(lambda self: Flags(self.host.flags))
    T = property(lambda self: self.transpose())
    real = property(lambda self: wrapped(self.host.real))

    @property
    def base(self) -> Any:
        """The array that owns the memory: one and the same strict array for all views of it; but the chain begins anew
        with what CuPy's `as_strided` makes."""
        if self.cut is not False:
            return None if self.cut is True else self.cut
        owner = self.host
        while owner.base is not None:  # between them may stand what `as_strided` puts there
            owner = owner.base
        return None if owner is self.host else OWNERS.setdefault(id(owner), Strict(owner, self.index))

    def __len__(self) -> int:
        return len(self.host)

    def __iter__(self) -> Iterator[Any]:
        return iter([self[i] for i in range(len(self))])

    # values that go to the host: they wait for the device
    def get(self, order: str = "C") -> Any:
        """A copy on the host."""
        COUNTS.to_host += 1
        return self.host.copy(order)

    def item(self, *args: Any) -> Any:
        """One value."""
        COUNTS.to_host += 1
        return self.host.item(*args)

    def tolist(self) -> Any:
        """All values."""
        COUNTS.to_host += 1
        return self.host.tolist()

    def tobytes(self, order: str = "C") -> bytes:
        """All values."""
        COUNTS.to_host += 1
        return self.host.tobytes(order)  # type: ignore[arg-type]  # an order is a literal to NumPy's types

    def __bool__(self) -> bool:
        COUNTS.to_host += 1
        return bool(self.host)

    def __int__(self) -> int:
        COUNTS.to_host += 1
        return int(self.host)

    def __float__(self) -> float:
        COUNTS.to_host += 1
        return float(self.host)

    def __index__(self) -> int:
        COUNTS.to_host += 1
        return self.host.__index__()

    def __repr__(self) -> str:
        return f"Strict({self.host!r})"

    # elements
    def __getitem__(self, index: Any) -> Any:
        waits(index)
        try:
            parts = index if isinstance(index, tuple) else (index,)
            if all(isinstance(i, BASIC) and not isinstance(i, bool) for i in parts):  # a view, also of one element
                return wrapped(self.host[parts if ... in parts else (*parts, ...)], self)
            in_use(self, index)
            return wrapped(self.host[unwrapped(index)], self)
        except IndexError as error:
            raise ValueError(str(error)) if "broadcast" in str(error) else error from None

    def __setitem__(self, index: Any, value: Any) -> None:
        waits(index)
        if isinstance(value, np.ndarray) and value.ndim:
            raise TypeError(f"Unsupported type {type(value)}")
        in_use(self, index, value)
        try:
            self.host[unwrapped(index)] = value.host if isinstance(value, Strict) else value
        except IndexError as error:
            raise ValueError(str(error)) if "broadcast" in str(error) else error from None

    def view(self, dtype: Any = None) -> Any:
        """The same memory."""
        return wrapped(self.host.view(dtype) if dtype is not None else self.host.view(), self)

    def sort(self, axis: int = -1) -> None:
        """In place; CuPy knows one order."""
        in_use(self)
        self.host.sort(axis)

    def fill(self, value: Any) -> None:
        """In place."""
        in_use(self, value)
        self.host.fill(unwrapped(value))


def in_rows(found: Any) -> Any:
    """What CuPy's elementwise functions make lies row by row, whatever their operands do."""
    return found.copy("C") if isinstance(found, np.ndarray) and not found.flags.c_contiguous else found


def waits(index: Any) -> None:
    """CuPy asks a mask how many elements it names."""
    COUNTS.to_host += any(isinstance(part, Strict) and part.dtype.kind == "b"
                          for part in (index if isinstance(index, tuple) else (index,)))


class Flags:
    """What CuPy's flags tell."""

    def __init__(self, flags: Any) -> None:
        self.c_contiguous, self.f_contiguous, self.owndata = flags.c_contiguous, flags.f_contiguous, flags.owndata


OWNERS: dict[int, Strict] = {}
ASKING = (np.argwhere, np.bincount, np.flatnonzero, np.nonzero, np.unique)  # they wait to know how large a result is
ANYWHERE = (np.empty_like, np.full_like, np.may_share_memory, np.ndim, np.ones_like, np.shape, np.shares_memory,
            np.size, np.zeros_like)  # nothing of the array is read
BASIC = (int, slice, type(None), type(...), np.integer)  # of these indices CuPy makes views
ELEMENTWISE = (np.clip, np.isclose, np.nan_to_num, np.round, np.where)
METHODS = ("all", "any", "argmax", "argmin", "argpartition", "argsort", "astype", "choose", "clip", "compress", "conj",
           "copy", "cumprod", "cumsum", "diagonal", "dot", "flatten", "max", "mean", "min", "nonzero", "partition",
           "prod", "ravel", "repeat", "reshape", "round", "searchsorted", "squeeze", "std", "sum", "swapaxes", "take",
           "trace", "transpose", "var")
BINARY = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor", "lshift", "rshift")
COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")
UNARY = ("neg", "pos", "abs", "invert")


def method(name: str) -> Any:
    """A method of NumPy's, on what stands in a strict array."""
    def call(self: Strict, *args: Any, **kwargs: Any) -> Any:
        signature = method_signature(name)
        if signature is not None:
            signature.bind(self, *args, **kwargs)
        if name == "dot" and not isinstance(args[0], Strict):
            raise TypeError(f"Argument 'b' has incorrect type (expected cupy.ndarray, got {type(args[0])})")
        found = getattr(self.host, name)(*unwrapped(args), **unwrapped(kwargs))
        if not is_view(found, self):
            in_use(self, args, kwargs)
        if name in ("clip", "round") and "out" not in kwargs:
            found = in_rows(found)
        return kwargs["out"] if isinstance(kwargs.get("out"), Strict) else wrapped(found, self)
    return call


def operator(name: str, in_place: bool = False) -> Any:
    """An operator: between strict arrays, or one and a number; everything else is refused as CuPy refuses it."""
    def call(self: Strict, *others: Any) -> Any:
        for other in others:
            if hasattr(other, "__array_ufunc__") and not isinstance(other, (Strict, np.generic, np.ndarray)):
                return NotImplemented
            if isinstance(other, np.ndarray):
                raise TypeError(f"Unsupported type {type(other)}")
            if not isinstance(other, Strict) and type(other) not in NUMBERS:
                return NotImplemented
        in_use(self, others)
        with np.errstate(all="ignore"):
            found = getattr(self.host, name)(*map(unwrapped, others))
            found = found if in_place else in_rows(found)
        if found is NotImplemented:
            return NotImplemented
        return self if in_place else wrapped(found)
    return call


for each in METHODS:
    if not hasattr(cupy.ndarray, each):
        raise TypeError(f"CuPy's arrays have no {each}")
    setattr(Strict, each, method(each))
for each in [*(f"__{kind}{word}__" for word in BINARY for kind in ("", "r")),
             *(f"__{word}__" for word in (*COMPARISONS, *UNARY))]:
    setattr(Strict, each, operator(each))
for each in (f"__i{word}__" for word in BINARY):
    setattr(Strict, each, operator(each, in_place=True))
