"""Reads and writes elements by an index along one dimension: `gather`, `scatter`, `scatter_add`, `take_along_dim`.

`gather` reads `input[..., index[...], ...]`; `scatter` and `scatter_add` write where `gather` would read.
"""

from typing import Any, ClassVar

import numpy as np

from minigrad._base.warnings import warn_once
from minigrad.backends.registry import device_like
from minigrad.core import Node, Tensor, plain, record_n
from minigrad.core.saved import NothingSaved
from minigrad.ops._dispatch import broadcast_shape, number_in, op, same_device
from minigrad.ops._dispatch.elementwise import Underived
from minigrad.ops._dispatch.memory_order import in_order_of, row_by_row
from minigrad.ops.index.flat_indexing import (
    elements_at,
    first_out_of_range,
    gather_indices,
    is_index,
    raw,
    reduce_at,
    replace_at,
    scatter_into,
    write_at,
)
from minigrad.ops.reduce.sums import one_of
from minigrad.ops.shape.views import Expand, dim_of, reshape, view

__all__ = ["gather", "scatter", "scatter_add", "take_along_dim"]

Shape = tuple[int, ...]
OF_A_TENSOR = (
    "The reduce argument of torch.scatter with Tensor src is deprecated and will be removed in a future PyTorch "
    "release. Use torch.scatter_reduce instead for more reduction options."
)


class Gather(Node):
    saves = ("self", "index")
    constants = ("dim", "sparse_grad")

    @staticmethod
    def forward(a: Tensor, index: Tensor, dim: int, sparse_grad: bool = False) -> Tensor:
        x = a.array
        out = row_by_row(x.reshape(-1)[gather_indices(index.array, dim, x.shape)])
        return record_n(Gather, out, (a,), (a, index), (dim, sparse_grad, x.shape))

    def backward(self, xp: Any, g: Any, a: Any, index: Any, dim: int, sparse_grad: bool, shape: Shape) -> Any:
        return scatter_into(xp, g, gather_indices(raw(index), dim, shape), shape)


class Scatter(Node):
    """Overwrites elements of `a` at `positions` with those of `src`; subclasses add them, or index slices."""

    saves = ("index",)
    constants = ("dim",)
    positions: ClassVar[Any] = staticmethod(gather_indices)
    adds: ClassVar[bool] = False

    @classmethod
    def forward(cls, a: Tensor, index: Tensor, src: Tensor, dim: int) -> Tensor:
        x, y = a.array, src.array
        positions = cls.positions(index.array, dim, x.shape)
        out = write_at(x, positions, leading(y, positions.shape), cls.adds)
        saved = (index,) if src._requires_grad or not cls.adds else NothingSaved((None,))
        return record_n(cls, out, (a, src), saved, (dim, y.shape))

    def backward(self, xp: Any, g: Any, index: Any, dim: int, shape: Shape) -> tuple[Any, Any]:
        if self.adds and self.next[1] is None:
            return g, None
        positions = self.positions(raw(index), dim, tuple(g.shape))
        of_a = g if self.adds else None if self.next[0] is None else replace_at(xp, g, positions, 0)
        return of_a, None if self.next[1] is None else zero_padded(xp, elements_at(xp, g, positions), shape)


class ScatterAdd(Scatter):
    adds = True


class ScatterValue(Node, name="Scatter", number=1):
    """Writes one value over elements of `a`."""

    saves = ("index",)
    constants = ("dim",)
    positions: ClassVar[Any] = staticmethod(gather_indices)
    keeps_order: ClassVar[bool] = False  # in memory

    @classmethod
    def forward(cls, a: Tensor, index: Tensor, value: Any, dim: int) -> Tensor:
        x = a.array
        out = write_at(x, cls.positions(index.array, dim, x.shape), number_in(value, x.dtype))
        out = in_order_of(out, x) if cls.keeps_order else out
        if isinstance(value, Tensor):
            return record_n(cls, out, (a, value), (index,), (dim,), (None, ((), value.array.dtype)))
        return record_n(cls, out, (a,), (index,), (dim,))

    def backward(self, xp: Any, g: Any, index: Any, dim: int) -> Any:
        return replace_at(xp, g, self.positions(raw(index), dim, tuple(g.shape)), 0)


class ScatterOther(Underived, number=None):
    """`scatter` with a reduction, which has no derivative, as in PyTorch."""

    op = "Scatter"

    @staticmethod
    def forward(a: Tensor, index: Tensor, src: Any, dim: int, reduce: str) -> Tensor:
        out = np.array(a.array, order="C", like=device_like(a.array))
        positions = gather_indices(index.array, dim, out.shape)
        values = leading(src.array, positions.shape) if isinstance(src, Tensor) else number_in(src, out.dtype)
        ufunc = np.add if reduce == "add" else np.multiply
        out = reduce_at(ufunc, out.reshape(-1), positions, values).reshape(out.shape)
        return record_n(ScatterOther, out, (a, src) if isinstance(src, Tensor) else (a,), (), ("scatter",))


ScatterOther.__name__ = ScatterOther.__qualname__ = Underived.op


def leading(x: Any, shape: Shape) -> Any:
    """The leading elements of `x` along each dimension, as many as `shape` has."""
    if x.shape == shape or 0 in shape:
        return x if x.shape == shape else np.zeros(shape, x.dtype, like=device_like(x))
    return x.reshape(x.shape or (1,))[tuple([slice(n) for n in shape or (1,)])].reshape(shape)


def zero_padded(xp: Any, part: Any, shape: Shape) -> Any:
    """Zeros of `shape` with `part` at the start of each dimension: the derivative of `leading`."""
    if part.shape == shape or 0 in part.shape:
        return part if part.shape == shape else xp.zeros(shape, part)
    size = tuple(part.shape) or (1,)
    start = tuple([slice(n) for n in size])
    return xp.reshape(xp.scatter(xp.reshape(part, size), start, shape or (1,)), shape)


def check_index(name: str, input: Tensor, index: Tensor, dim: int) -> int:
    """The dimension as a non-negative number; PyTorch's errors for an index of another dtype or device."""
    axis = dim_of(dim, input.array.ndim)
    same_device(input.array, index.array)
    if index.array.size and not is_index(index.array.dtype):
        raise RuntimeError(f"{name}(): Expected dtype int32/int64 for index")
    return axis


def check_values(index: Any, shape: Shape, dim: int, error: type[Exception] = RuntimeError, prefix: str = "",
                 negative: bool = False) -> None:
    """Raise PyTorch's error for an index that is out of range; `negative`: it may count from the end."""
    size = shape[dim] if shape else 1
    wrong = first_out_of_range(index, size, -size if negative else 0)
    if wrong is not None:
        raise error(f"{prefix}index {wrong} is out of bounds for dimension {dim} with size {size}")


def larger(index: Shape, other: Shape, dim: int | None) -> int | None:
    """The first dimension except `dim` in which an index is larger than another tensor (a 0-d one has size 1
    everywhere); an IndexError if the other has fewer dimensions."""
    return next((d for d, n in enumerate(index or (1,))
                 if d != dim and n > (other[one_of(d, len(other))] if other else 1)), None)


def check_dims(index: Any, x: Any, what: str) -> None:
    """Raise PyTorch's error unless the index has as many dimensions as the tensor; a 0-d one counts as 1-d."""
    if max(index.ndim, 1) != max(x.ndim, 1):
        raise RuntimeError(f"Index tensor must have the same number of dimensions as {what} tensor")


def check_written(name: str, input: Tensor, index: Tensor, src: Any, dim: int) -> int:
    """Raise PyTorch's errors for the arguments of the scattering ops; return the dimension."""
    axis = check_index("scatter" if name != "scatter_add" else name, input, index, dim)
    x, i, y = input.array, index.array, src.array if isinstance(src, Tensor) else None
    if y is not None:
        same_device(x, y)
    if y is not None and x.dtype != y.dtype:
        raise RuntimeError("scatter(): Expected self.dtype to be equal to src.dtype")
    if not i.size:
        return axis
    check_dims(i, x, "self")
    wrong = larger(i.shape, x.shape, axis) is not None
    if y is not None:
        wrong = wrong or larger(i.shape, y.shape, None) is not None
        check_dims(i, y, "src")
    if wrong:
        text = f"Expected index {list(i.shape)} to be no larger than self {list(x.shape)} apart from dimension {axis}"
        raise RuntimeError(text if y is None else f"{text} and to be no larger size than src {list(y.shape)}")
    check_values(i, x.shape, axis)
    return axis


@op(method=True)
def gather(input: Tensor, dim: int, index: Tensor, *, sparse_grad: bool = False) -> Tensor:
    """The elements `input[..., index[...], ...]` along `dim`, in the shape of `index`.

    Raises:
        RuntimeError: if an index is out of range, or `index` has other dimensions or is larger than `input`.
    """
    axis = check_index("gather", input, index, dim)
    x, i = input.array, index.array
    if i.size:
        check_dims(i, x, "input")
        wrong = larger(i.shape, x.shape, axis)
        if wrong is not None:
            raise RuntimeError(f"Size does not match at dimension {wrong} expected index {list(i.shape)} to be no "
                               f"larger than self {list(x.shape)} apart from dimension {axis}")
        check_values(i, x.shape, axis)
    return Gather.forward(input, index, axis, sparse_grad)


@op(method=True, in_place=True)
def scatter(input: Tensor, dim: int, index: Tensor, src: Any = None, *, value: Any = None,
            reduce: str | None = None) -> Tensor:
    """A copy of `input` with the elements at `index` along `dim` replaced by those of `src`, or by a number.

    Where an index repeats, the last value stays. `reduce="add"` or `"multiply"` has no derivative.

    Raises:
        RuntimeError: if an index is out of range, the dimensions do not fit, or the dtypes differ.
    """
    source = value if src is None else src
    if reduce is not None and isinstance(source, Tensor):
        warn_once(OF_A_TENSOR)
    if reduce not in (None, "add", "multiply"):
        raise RuntimeError("reduce argument must be either add or multiply.")
    axis = check_written("scatter", input, index, source, dim)
    if reduce is not None:
        return ScatterOther.forward(input, index, source, axis, reduce)
    if isinstance(source, Tensor):
        return Scatter.forward(input, index, source, axis)
    return ScatterValue.forward(input, index, source, axis)


@op(method=True, in_place=True)
def scatter_add(input: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """A copy of `input` with the elements of `src` added at `index` along `dim`.

    Raises:
        RuntimeError: as in `scatter`.
    """
    return ScatterAdd.forward(input, index, src, check_written("scatter_add", input, index, src, dim))


@op(method=True)
def take_along_dim(input: Tensor, indices: Tensor, dim: int | None = None) -> Tensor:
    """`gather` with broadcasting, where an index may count from the end; without `dim`, from the flattened tensor.

    Raises:
        RuntimeError: if the dtype of `indices` is not int64, or the dimensions do not fit.
    """
    if indices.array.dtype != np.int64:
        raise RuntimeError("torch.take_along_dim(): dtype of indices should be Long but got "
                           f"{indices.dtype.type_name}")
    if dim is None:
        flat = view(input, -1)
        return gather(flat, 0, reshape(indices, -1))
    x, i = input.array, indices.array
    if x.ndim != i.ndim:
        raise RuntimeError("torch.take_along_dim(): input and indices should have the same number of dimensions, but "
                           f"got {x.ndim} dimensions for input, and {i.ndim} dimensions for indices")
    axis = one_of(dim, x.ndim)
    rest = broadcast_shape(*[(*s[:axis], 1, *s[axis + 1:]) for s in (x.shape, i.shape)])
    wide = Expand.forward(input, (*rest[:axis], *x.shape[axis:axis + 1], *rest[axis + 1:]))
    index = np.broadcast_to(i, (*rest[:axis], *i.shape[axis:axis + 1], *rest[axis + 1:]))
    size = x.shape[axis]
    return gather(wide, axis, plain(index % size if size else index))
