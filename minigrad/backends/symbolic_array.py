"""The array methods and NumPy functions that the forward of an op calls, on symbols.

The formula of a derivative calls a namespace; the forward of an op calls NumPy. NumPy passes a call to its arguments
(`__array_ufunc__`, `__array_function__`: NEPs 13 and 18), so that forwards run on symbols unchanged.
"""

import math
from collections.abc import Callable
from functools import partial, reduce
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np

from minigrad._base.dtype import BFLOAT16, number_array, numpy_dtype_of, promote_types

__all__ = ["NotSymbolic", "SymbolicArray", "zeros_like"]

RENAMED = {"negative": "neg", "absolute": "abs", "subtract": "sub", "multiply": "mul", "divide": "div",
           "power": "pow", "less": "lt", "less_equal": "le", "greater": "gt", "greater_equal": "ge", "equal": "eq",
           "not_equal": "ne", "bitwise_and": "and", "bitwise_or": "or"}  # NumPy's names and ours
REDUCTIONS = {"add": "sum", "multiply": "prod", "maximum": "amax", "minimum": "amin", "logical_and": "all",
              "logical_or": "any"}
VIEWS = ("getitem", "reshape", "transpose", "swapaxes", "broadcast_to", "diagonal", "moveaxis")
C_ORDER = SimpleNamespace(c_contiguous=True, f_contiguous=False, fnc=False, forc=True, owndata=True, writeable=True)


class NotSymbolic(Exception):
    """A formula that no expression can represent: it reads numbers, or calls a function outside the namespace."""


def result_type(*types: Any) -> Any:
    """`numpy.result_type` of dtypes and Python numbers, including bfloat16."""
    if not any(each is BFLOAT16 for each in types):
        return np.result_type(*types)
    return reduce(promote_types, [each for each in types if isinstance(each, np.dtype)], BFLOAT16)


def zeros_like(value: Any) -> Any:
    """Zeros in place of a symbol, also within a tuple; they take no memory."""
    if isinstance(value, (tuple, list)) and not hasattr(value, "_fields"):
        return type(value)([zeros_like(part) for part in value])
    if isinstance(value, SymbolicArray):
        return np.broadcast_to(number_array(0, value.dtype), value.shape)
    return value


def reduction(name: str, x: Any, axis: Any, keepdims: bool) -> Any:
    """A NumPy reduction."""
    return getattr(np, name)(x, axis=axis, keepdims=keepdims)


class SymbolicArray:
    """An array with an expression, a dtype and, unless it is unknown, a shape, but without numbers."""

    namespace: ClassVar[Any]  # the functions of symbols (`minigrad.backends.symbolic`), which are built on this
    noted: ClassVar[Callable[..., Any]]  # records the call of a function under a name
    flags, base = C_ORDER, None

    def __init__(self, expression: Any, shape: tuple[int, ...] | None, dtype: Any) -> None:
        self.expression, self.known_shape, self.dtype = expression, shape, dtype

    @property
    def shape(self) -> tuple[int, ...]:
        if self.known_shape is None:
            raise NotSymbolic("the shape of a large result")
        return self.known_shape

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def itemsize(self) -> int:
        return int(self.dtype.itemsize)

    @property
    def nbytes(self) -> int:
        return self.size * self.itemsize

    @property
    def strides(self) -> tuple[int, ...]:
        return tuple([math.prod(self.shape[i + 1:]) * self.itemsize for i in range(self.ndim)])

    @property
    def T(self) -> Any:
        return self.transpose()

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, index: Any) -> Any:
        if index is Ellipsis or (isinstance(index, tuple) and not index):
            return self
        return self.namespace.getitem(self, index)

    def __bool__(self) -> bool:
        raise NotSymbolic("a truth value")

    def __iter__(self) -> Any:
        raise NotSymbolic("a loop over elements")

    # methods of arrays
    def astype(self, dtype: Any, copy: bool = True) -> Any:
        dtype = numpy_dtype_of(dtype)
        return self if self.dtype == dtype else self.namespace.cast(self, dtype)

    def reshape(self, *shape: Any) -> Any:
        sizes = shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
        return self.namespace.reshape(self, tuple(sizes))

    def ravel(self) -> Any:
        return self.reshape(-1)

    def transpose(self, *axes: Any) -> Any:
        dims = axes[0] if len(axes) == 1 and isinstance(axes[0], (tuple, list)) else axes
        return self.namespace.transpose(self, tuple(dims or reversed(range(self.ndim))))

    def swapaxes(self, i: int, j: int) -> Any:
        return self.namespace.swapaxes(self, i, j)

    def squeeze(self, axis: Any = None) -> Any:
        return self.reshape(zeros_like(self).squeeze(axis).shape)

    def dot(self, other: Any) -> Any:
        return self @ other

    def __matmul__(self, other: Any) -> Any:
        return self.namespace.matmul(self, other)

    def copy(self, order: str = "C") -> Any:
        return self

    def sum(self, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
        return self.reduced("sum", axis, dtype, keepdims)

    def max(self, axis: Any = None, keepdims: bool = False) -> Any:
        return self.reduced("amax", axis, None, keepdims)

    def min(self, axis: Any = None, keepdims: bool = False) -> Any:
        return self.reduced("amin", axis, None, keepdims)

    def prod(self, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
        return self.reduced("prod", axis, dtype, keepdims)

    def take(self, index: Any, axis: Any = None) -> Any:
        return self.noted("take", np.take, self, index, axis)

    def all(self, axis: Any = None, keepdims: bool = False) -> Any:
        return self.reduced("all", axis, None, keepdims)

    def any(self, axis: Any = None, keepdims: bool = False) -> Any:
        return self.reduced("any", axis, None, keepdims)

    def argmax(self, axis: Any = None, keepdims: bool = False) -> Any:
        return self.noted("argmax", partial(reduction, "argmax"), self, axis, keepdims)

    def argmin(self, axis: Any = None, keepdims: bool = False) -> Any:
        return self.noted("argmin", partial(reduction, "argmin"), self, axis, keepdims)

    def reduced(self, name: str, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
        """A reduction over some dimensions, or all."""
        x = self if dtype is None else self.astype(dtype)
        axes = (axis,) if isinstance(axis, int) else axis
        axes = None if axes is None else tuple([each % max(x.ndim, 1) for each in axes])
        if name == "sum":
            x = x.astype(np.int64) if x.dtype.kind == "b" else x
            return self.namespace.sum(x, axes, keepdims)
        return self.noted(name, partial(reduction, name), x, axes, keepdims)

    # NumPy's functions
    def __array_ufunc__(self, ufunc: Any, method: str, *args: Any, **options: Any) -> Any:
        """NumPy's ufuncs, where an op calls them instead of the namespace's functions."""
        if method == "reduce" and ufunc.__name__ in REDUCTIONS:
            x, *rest = args
            return x.reduced(REDUCTIONS[ufunc.__name__], *(rest or (options.pop("axis", 0),)), **options)
        dtype, out = options.pop("dtype", None), options.pop("out", (None,))[0]
        operands = list(args)
        if len(operands) > ufunc.nin:
            out = operands.pop()
        if method != "__call__" or options or ufunc.nout != 1:
            return NotImplemented
        if dtype is not None:
            operands = [a.astype(dtype) if isinstance(a, SymbolicArray) else a for a in operands]
        result = (self.namespace.matmul(*operands) if ufunc is np.matmul else
                  self.elementwise(RENAMED.get(ufunc.__name__, ufunc.__name__), ufunc, operands))
        return result if out is None else out.overwritten(result)

    def overwritten(self, part: Any, index: Any = ...) -> Any:
        """This array after a write; no other name may refer to it.

        Raises:
            NotSymbolic: if it may be a view, or the operand of an op.
        """
        if not isinstance(self.expression, list) or self.expression[0] in VIEWS:
            raise NotSymbolic("a view that is written to")
        whole = index is Ellipsis and getattr(part, "shape", None) == self.shape
        result = part.astype(self.dtype) if whole else self.namespace.put(self, index, part)
        self.expression = result.expression
        return self

    def __setitem__(self, index: Any, part: Any) -> None:
        self.overwritten(part, index)

    def elementwise(self, name: str, ufunc: Any, args: Any) -> Any:
        """An elementwise function; NumPy determines the dtype of the result."""
        kinds = [number_array(0, a.dtype) if isinstance(a, SymbolicArray) else a for a in args]
        with np.errstate(all="ignore"):
            return self.namespace.elementwise(name, ufunc(*kinds).dtype)(*args)

    def __array_function__(self, function: Any, types: Any, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
        """NumPy's other functions."""
        own = OWN.get(function.__name__)
        if own is not None:
            return own(self.namespace, *args, **options)
        if function.__name__ not in PLAIN:
            raise NotSymbolic(f"np.{function.__name__}")
        order = PLAIN[function.__name__]
        if options.get("kind") == "stable":  # as all sorting in an expression
            del options["kind"]
        if options.get("dtype", 0) is None:
            del options["dtype"]
        if len(args) == len(order) + 1 and args[-1] is None:  # a dtype
            args = args[:-1]
        extra = [options.pop(name, None) for name in order[len(args):]]
        if options or len(args) > len(order):
            raise NotSymbolic(f"np.{function.__name__} with further arguments")
        while extra and extra[-1] is None:
            extra.pop()
        return self.noted(function.__name__, function, *args, *extra)


def converted(parts: Any, dtype: Any) -> list[Any]:
    """Arrays converted to a dtype, if one is given."""
    return [part if dtype is None else part.astype(dtype) for part in parts]


# Functions that are recorded under NumPy's name, with the parameters in an expression, in their order.
PLAIN = {"clip": ("a", "a_min", "a_max"), "cumsum": ("a", "axis"), "cumprod": ("a", "axis"), "flip": ("m", "axis"),
         "roll": ("a", "shift", "axis"), "tril": ("m", "k"),
         "triu": ("m", "k"), "repeat": ("a", "repeats", "axis"), "tile": ("A", "reps"), "isclose": ("a", "b"),
         "take_along_axis": ("arr", "indices", "axis"), "take": ("a", "indices", "axis"), "sort": ("a", "axis"),
         "argsort": ("a", "axis"), "diagonal": ("a", "offset", "axis1", "axis2"), "moveaxis": ("a", "source",
         "destination"), "nan_to_num": ("x",), "dot": ("a", "b"), "outer": ("a", "b")}
OWN: dict[str, Callable[..., Any]] = {
    "where": lambda xp, mask, x, y: xp.where(mask, x, y),
    "concatenate": lambda xp, parts, axis=0, out=None, dtype=None, casting="": xp.concatenate(
        converted(parts, dtype), axis),
    "stack": lambda xp, parts, axis=0, out=None, dtype=None, casting="": xp.stack(converted(parts, dtype), axis),
    "broadcast_to": lambda xp, x, shape: xp.broadcast_to(x, tuple(shape)),
    "transpose": lambda xp, x, axes=None: x.transpose(*(axes or ())),
    "swapaxes": lambda xp, x, i, j: x.swapaxes(i, j),
    "reshape": lambda xp, x, shape: x.reshape(shape),
    "ravel": lambda xp, x: x.ravel(),
    "expand_dims": lambda xp, x, axis: x.reshape(np.expand_dims(zeros_like(x), axis).shape),
    "squeeze": lambda xp, x, axis=None: x.squeeze(axis),
    "sum": lambda xp, x, axis=None, dtype=None, keepdims=False: x.sum(axis, dtype, keepdims),
    "amax": lambda xp, x, axis=None, keepdims=False: x.max(axis, keepdims),
    "max": lambda xp, x, axis=None, keepdims=False: x.max(axis, keepdims),
    "amin": lambda xp, x, axis=None, keepdims=False: x.min(axis, keepdims),
    "min": lambda xp, x, axis=None, keepdims=False: x.min(axis, keepdims),
    "any": lambda xp, x, axis=None, keepdims=False: x.any(axis, keepdims),
    "all": lambda xp, x, axis=None, keepdims=False: x.all(axis, keepdims),
    "prod": lambda xp, x, axis=None, keepdims=False: x.reduced("prod", axis, None, keepdims),
    "mean": lambda xp, x, axis=None, keepdims=False: x.sum(axis, None, keepdims) / (
        x.size // max(x.sum(axis).size, 1)),
    "argmax": lambda xp, x, axis=None, out=None, keepdims=False: x.argmax(axis, keepdims),
    "argmin": lambda xp, x, axis=None, out=None, keepdims=False: x.argmin(axis, keepdims),
    "copy": lambda xp, x, order="K": x,
    "ascontiguousarray": lambda xp, x, dtype=None: x if dtype is None else x.astype(dtype),
    "zeros_like": lambda xp, x, dtype=None: xp.zeros(x.shape, x, dtype),
    "shape": lambda xp, x: x.shape,
    "ndim": lambda xp, x: x.ndim,
    "size": lambda xp, x: x.size,
    "full_like": lambda xp, x, value, dtype=None: xp.full(x.shape, value, dtype or x.dtype),
    "round": lambda xp, x, decimals=0: x.noted("round", np.round, x, decimals),
    "result_type": lambda xp, *args: result_type(*[getattr(a, "dtype", a) for a in args]),
}
