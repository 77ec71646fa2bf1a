"""Maxima and minima: `max`, `min`, `amax`, `amin`, `aminmax`, `argmax` and `argmin`.

`amax` and `max` of all elements share their gradient evenly among equal maxima; `max` along a dimension sends all of
it to the element whose index it returns. NaN counts as the maximum and as the minimum. `Selection` is the
base class of all ops that select elements along a dimension, including `sort` and `cummax`.
"""

import operator
from typing import Any, ClassVar, NoReturn

import numpy as np

from minigrad import return_types
from minigrad.backends import intp
from minigrad.backends.registry import device_like
from minigrad.core import ManyOutputs, Node, Tensor, plain, record1, record_many, record_without_grad
from minigrad.ops._dispatch import in_order_of, op, row_by_row
from minigrad.ops.index.flat_indexing import gather_indices, scatter_into
from minigrad.ops.pointwise.minmax import maximum, minimum
from minigrad.ops.reduce.sums import Dims, axes_of, kept_shape, one_of, share_evenly
from minigrad.ops.shape.views import dim_of

__all__ = ["amax", "amin", "aminmax", "argmax", "argmin", "max", "min"]

Shape = tuple[int, ...]


class Selection(Node, number=None):
    """The elements at `indices` along a dimension, whose new size is the number of indices."""

    saves: ClassVar[tuple[str, ...]] = ("indices",)
    constants: ClassVar[tuple[str, ...]] = ("", "", "dim")

    @classmethod
    def forward(cls, a: Tensor, dim: int, indices: Any, keepdim: bool = True) -> tuple[Tensor, Tensor]:
        x = a.array
        positions = gather_indices(indices, dim, x.shape)
        values = in_order_of(x.reshape(-1)[positions], indices)
        if not keepdim and x.ndim:
            values, indices = values.squeeze(dim), indices.squeeze(dim)
        saved_indices = plain(indices)
        saved = (saved_indices,) if cls.saves == ("indices",) else (a, saved_indices)
        return record1(cls, values, a, saved, (positions, x.shape, dim, keepdim)), saved_indices

    def backward(self, xp: Any, g: Any, indices: Any, positions: Any, shape: Shape, *names: Any) -> Any:
        return scatter_into(xp, xp.reshape(g, positions.shape), positions, shape)


class SelectionOfOne(Selection, number=None):
    """A selection of one element along a dimension, which is removed unless `keepdim`."""

    constants = ("", "self_sym_sizes", "dim", "keepdim")


def filled_dim(name: str, dim: int, shape: Shape) -> int:
    """A dimension to reduce, counted from the left; an IndexError if it is out of range or empty."""
    axis = dim_of(dim, len(shape))
    if shape and shape[axis] == 0:
        raise IndexError(f"{name}: Expected reduction dim {axis} to have non-zero size.")
    return axis


class OfAll(Node, number=None):
    """Selects one of all elements; those equal to it share the gradient (those that are NaN, if it is)."""

    saves = ("self", "result")
    find: ClassVar[Any]  # finds the element in an array

    @classmethod
    def forward(cls, a: Tensor) -> Tensor:
        y = cls.find(a.array)
        return record1(cls, y, a, (a, y))

    def backward(self, xp: Any, g: Any, a: Any, y: Any) -> Any:
        chosen = (a == y) | ((a != a) & (y != y))
        return xp.where(chosen, g / xp.sum(xp.cast(chosen, xp.dtype(g)), None, False), 0)


class Max(OfAll, number=1):
    find = operator.methodcaller("max")


class Min(OfAll, number=1):
    find = operator.methodcaller("min")


class MaxDim(SelectionOfOne, name="Max"):
    __slots__ = ()


class MinDim(SelectionOfOne, name="Min"):
    __slots__ = ()


class Amax(Node):
    """The maximum over several dimensions; NaN gets no share of the gradient."""

    saves = ("self", "result")
    constants = ("", "", "dim", "keepdim")
    method: ClassVar[str] = "max"

    @classmethod
    def forward(cls, a: Tensor, axes: Shape, keepdim: bool, dim: Shape | None) -> Tensor:
        y = getattr(a.array, cls.method)(axes, keepdims=keepdim)
        y = y if y.ndim < 2 else row_by_row(y)
        return record1(cls, y, a, (a, y), (axes, kept_shape(a.array.shape, axes), dim or (), keepdim))

    def backward(self, xp: Any, g: Any, a: Any, y: Any, axes: Shape, kept: Shape, *_: Any) -> Any:
        return share_evenly(xp, xp.reshape(g, kept), a == xp.reshape(y, kept), axes)


class Amin(Amax):
    method = "min"


class Aminmax(ManyOutputs):
    saves = ("self", "min", "max")
    constants = ("", "", "dim", "keepdim")

    @staticmethod
    def forward(a: Tensor, axes: Shape, keepdim: bool, dim: int | None) -> tuple[Tensor, ...]:
        x = a.array
        low, high = row_by_row(x.min(axes, keepdims=keepdim)), row_by_row(x.max(axes, keepdims=keepdim))
        const = axes, kept_shape(x.shape, axes), dim, keepdim
        return record_many(Aminmax, (low, high), a, const, saved=(a, low, high))

    def backward(self, xp: Any, gs: list[Any], a: Any, low: Any, high: Any, axes: Shape, kept: Shape, *_: Any) -> Any:
        return sum(share_evenly(xp, xp.reshape(g, kept), a == xp.reshape(y, kept), axes)
                   for g, y in zip(gs, (low, high), strict=True))

    def saved_output_nr(self, index: int) -> int:
        return 1 if index == 2 else 0


def filled_axes(name: str, dim: Dims, shape: Shape) -> Shape:
    """The dimensions to reduce, none of them empty; all of them if none is given."""
    for d in (dim if isinstance(dim, (tuple, list)) else (dim,)) if 0 in shape else ():
        if d is not None and shape[one_of(d, len(shape))] == 0:
            raise IndexError(f"{name}(): Expected reduction dim {d} to have non-zero size.")
    axes = axes_of(dim, len(shape))
    if axes is None and 0 in shape:
        refuse_empty(name)
    return tuple(range(len(shape))) if axes is None else axes


def first_index(find: Any, input: Tensor, dim: int, name: str) -> tuple[int, Any]:
    """The dimension, and the index along it that `find` (NumPy's argmax or argmin) returns; the dimension is kept."""
    axis, x = filled_dim(f"{name}()", dim, input.array.shape), input.array
    return axis, find(x, axis=axis, keepdims=True) if x.ndim else np.zeros((), np.int64, like=device_like(x))


def refuse_empty(name: str) -> NoReturn:
    raise RuntimeError(f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the "
                       "reduction dim with the 'dim' argument.")


def extremum(name: str, of_all: type[OfAll], along: type[SelectionOfOne], find: Any, of_two: Any, doc: str) -> Any:
    """The function `torch.max` or `torch.min`, each of which is three ops; `find` is NumPy's argmax or argmin."""
    def function(input: Tensor, dim: Any = None, keepdim: bool = False, *, other: Tensor | None = None) -> Any:
        if other is not None or isinstance(dim, Tensor):
            if keepdim is not False:  # there is no dimension to keep between two tensors
                raise TypeError(name)
            return of_two(input, dim if other is None else other)
        if dim is None:
            return of_all.forward(input) if input.array.size else refuse_empty(name)
        return getattr(return_types, name)(along.forward(input, *first_index(find, input, dim, name), keepdim))

    function.__doc__ = doc
    return op(method=True, name=name)(function)


max = extremum("max", Max, MaxDim, intp.argmax, maximum, """\
The maximum of all elements; or along `dim`, with its index; or of each two elements of two tensors.

    Along `dim`, the first of equal maxima gets all of the gradient. For two tensors it is `maximum`. Raises
    RuntimeError for an empty tensor, if no `dim` is given, and IndexError if `dim` is out of range or empty.
    """)
min = extremum("min", Min, MinDim, intp.argmin, minimum, "The minimum; otherwise as `max`.")


def index_of_extremum(name: str, find: Any, doc: str) -> Any:
    """The function `torch.argmax` or `torch.argmin`; `find` is NumPy's function of this name."""
    def function(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
        x = input.array
        if x.dtype.kind == "b":
            raise RuntimeError(f"{name}(): does not support bool input")
        if dim is None:
            if x.size == 0:
                raise IndexError(f"{name}(): Expected reduction dim to be specified for input.numel() == 0.")
            index = find(x)
            return record_without_grad(name, index.reshape((1,) * x.ndim) if keepdim else index, input)
        axis, index = first_index(find, input, dim, name)
        return record_without_grad(name, index if keepdim or not x.ndim else index.squeeze(axis), input)

    function.__doc__ = doc
    return op(method=True, name=name)(function)


argmax = index_of_extremum("argmax", intp.argmax, """\
The index of the maximum, the first of several: along `dim`, or in the flattened tensor.""")
argmin = index_of_extremum("argmin", intp.argmin, "The index of the minimum; otherwise as `argmax`.")


@op(method=True)
def amax(input: Tensor, dim: Dims = (), keepdim: bool = False) -> Tensor:
    """The maximum, over all dimensions or over `dim`; equal maxima share the gradient. Raises RuntimeError for an empty
    tensor, if no `dim` is given, and IndexError if a dimension is out of range or empty."""
    shape = input.array.shape
    return Amax.forward(input, filled_axes("amax", dim, shape), keepdim, axes_of(dim, len(shape)))


@op(method=True)
def amin(input: Tensor, dim: Dims = (), keepdim: bool = False) -> Tensor:
    """The minimum, over all dimensions or over `dim`; otherwise as `amax`."""
    shape = input.array.shape
    return Amin.forward(input, filled_axes("amin", dim, shape), keepdim, axes_of(dim, len(shape)))


@op(method=True)
def aminmax(input: Tensor, *, dim: int | None = None, keepdim: bool = False) -> return_types.aminmax:
    """The minimum and the maximum, of all elements or along `dim`."""
    shape = input.array.shape
    if dim is not None:
        axes: Shape = (filled_dim("aminmax", dim, shape),)[:len(shape)]
    elif 0 in shape:
        raise RuntimeError("aminmax(): cannot compute aminmax over an empty dimension as the operation has no "
                           "identity.")
    else:
        axes = tuple(range(len(shape)))
    return return_types.aminmax(Aminmax.forward(input, axes, keepdim, None if dim is None else (*axes, 0)[0]))
