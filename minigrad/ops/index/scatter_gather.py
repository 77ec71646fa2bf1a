"""Reads and writes elements along a dimension by an index that differs from row to row (`gather`, `scatter`), and whole
slices by one index (`index_select`, `index_add`, `index_copy`, `index_fill`).

`gather` reads `input[..., index[...], ...]`; `scatter` and `scatter_add` write where `gather` would read.
`scatter_reduce` and `index_reduce` add, multiply, average or compare elements that share an index; the derivative
divides a gradient among the elements that contributed to a result.
"""

from typing import Any, ClassVar

import numpy as np

from minigrad._base.dtype import as_dtype
from minigrad._base.warnings import warn_once
from minigrad.backends.intp import as_intp
from minigrad.backends.numpy import add_at
from minigrad.backends.registry import device_like
from minigrad.core import Node, NothingSaved, Tensor, plain, record_n
from minigrad.history.custom_function import Error
from minigrad.history.views import set_history
from minigrad.ops._dispatch import broadcast_shape, in_order_of, number_in, op, row_by_row, same_device
from minigrad.ops._dispatch.elementwise import Underived
from minigrad.ops.index.flat_indexing import (
    elements_at,
    first_out_of_range,
    gather_indices,
    is_index,
    raw,
    reduce_at,
    replace_at,
    scatter_into,
    slice_indices,
    write_at,
)
from minigrad.ops.reduce.sums import one_of
from minigrad.ops.shape.views import Expand, dim_of, reshape, view

__all__ = [
    "gather", "index_add", "index_copy", "index_fill", "index_reduce", "index_select", "put", "scatter",
    "scatter_add", "scatter_reduce", "take", "take_along_dim",
]

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
    """The elements `input[..., index[...], ...]` along `dim`, in the shape of `index`. Raises RuntimeError if an index
    is out of range, or `index` has other dimensions or is larger than `input`."""
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

    Where an index repeats, the last value stays. `reduce="add"` or `"multiply"` has no derivative. Raises RuntimeError
    if an index is out of range, the dimensions do not fit, or the dtypes differ.
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
    """A copy of `input` with the elements of `src` added at `index` along `dim`. Raises RuntimeError as in
    `scatter`."""
    return ScatterAdd.forward(input, index, src, check_written("scatter_add", input, index, src, dim))


@op(method=True)
def take_along_dim(input: Tensor, indices: Tensor, dim: int | None = None) -> Tensor:
    """`gather` with broadcasting, where an index may count from the end; without `dim`, from the flattened tensor.
    Raises RuntimeError if the dtype of `indices` is not int64, or the dimensions do not fit."""
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


class IndexSelect(Node):
    saves = ("index",)
    constants = ("dim", "self_sym_sizes")

    @staticmethod
    def forward(a: Tensor, dim: int, index: Tensor) -> Tensor:
        x, chosen = a.array, as_intp(index.array.reshape(-1))
        out = x.take(chosen, dim) if x.ndim else x.reshape(1).take(chosen, 0).reshape(())
        return record_n(IndexSelect, out, (a,), (index,), (dim, x.shape))

    def backward(self, xp: Any, g: Any, index: Any, dim: int, shape: Shape) -> Any:
        return scatter_into(xp, xp.reshape(g, (-1,)), slice_indices(raw(index), dim, shape).reshape(-1), shape)


class IndexAdd(Node):
    saves = ("index", "source")
    constants = ("dim", "alpha", "source_dim")

    @staticmethod
    def forward(a: Tensor, index: Tensor, source: Tensor, dim: int, alpha: Any) -> Tensor:
        x, y = a.array, source.array
        out = x.copy()
        if x.size:
            positions = slice_indices(index.array, dim, x.shape)
            part = y if alpha == 1 else y * number_in(alpha, y.dtype)
            out = write_at(x, positions, part.reshape(positions.shape), add=True)
        saved = (index, source) if source._requires_grad else NothingSaved((None, None))
        return record_n(IndexAdd, out, (a, source), saved, (dim, alpha, y.ndim))

    def backward(self, xp: Any, g: Any, index: Any, source: Any, dim: int, alpha: Any, _: int) -> tuple[Any, Any]:
        if self.next[1] is None or 0 in g.shape:
            return g, None
        part = xp.reshape(elements_at(xp, g, slice_indices(raw(index), dim, tuple(g.shape))), tuple(source.shape))
        return g, part if alpha == 1 else part * alpha


class IndexCopy(Scatter):
    positions = staticmethod(slice_indices)


class IndexFill(ScatterValue):
    positions = staticmethod(slice_indices)
    keeps_order = True


class IndexFillTensor(IndexFill, name="IndexFill", number=1):
    """With a one-element tensor, whose gradient is the sum of the gradients of the filled elements."""

    def backward(self, xp: Any, g: Any, index: Any, dim: int) -> tuple[Any, Any]:
        positions = np.unique(self.positions(raw(index), dim, tuple(g.shape)))
        return (replace_at(xp, g, positions, 0) if self.next[0] is not None else None,
                xp.sum(elements_at(xp, g, positions), None, False) if self.next[1] is not None else None)


class Take(Node):
    """Elements by their row-major index; negative ones count from the end."""

    saves = ("self", "index")

    @staticmethod
    def forward(a: Tensor, index: Tensor) -> Tensor:
        x = a.array
        return record_n(Take, x.reshape(-1)[index.array], (a,), (a, index), (x.shape,))

    def backward(self, xp: Any, g: Any, a: Any, index: Any, shape: Shape) -> Any:
        return scatter_into(xp, g, raw(index), shape)


class Put(Node):
    """Elements by their row-major index, overwritten or added to."""

    saves = ("index",)
    constants = ("accumulate",)

    @staticmethod
    def forward(a: Tensor, index: Tensor, source: Tensor, accumulate: bool) -> Tensor:
        positions, y = index.array, source.array
        out = write_at(a.array, positions, y.reshape(positions.shape), add=accumulate)
        return record_n(Put, out, (a, source), (index,), (accumulate, y.shape))

    def backward(self, xp: Any, g: Any, index: Any, accumulate: bool, shape: Shape) -> tuple[Any, Any]:
        positions = raw(index)
        own = g if accumulate else None if self.next[0] is None else replace_at(xp, g, positions, 0)
        return own, None if self.next[1] is None else xp.reshape(elements_at(xp, g, positions), shape)


@op(method=True)
def index_select(input: Tensor, dim: int, index: Tensor) -> Tensor:
    """The slices along `dim` at the vector of indices `index`. Raises IndexError if an index is out of range (along
    dimension 1 a RuntimeError, as in PyTorch), or `index` is not a vector."""
    x, i = input.array, index.array
    axis = dim_of(dim, x.ndim)
    same_device(x, i)
    if i.ndim > 1:
        raise IndexError("index_select(): Index is supposed to be a vector")
    if not is_index(i.dtype):
        raise RuntimeError("index_select(): Expected dtype int32 or int64 for index")
    if not x.ndim and i.size != 1:
        raise RuntimeError(f"index_select(): Index to scalar can have only 1 value, got {i.size} value(s)")
    check_rows(x, i, axis)
    return IndexSelect.forward(input, axis, index)


def check_rows(x: Any, index: Any, axis: int = 0) -> None:
    """Raise PyTorch's errors for slice indices along `axis` that are out of range."""
    if index.size and x.ndim > 1 and not x.shape[axis]:
        raise RuntimeError("index_select(): self indexing axis dim should be positive")
    wrong = first_out_of_range(index, x.shape[axis] if x.ndim else 1)
    if wrong is not None and x.ndim > 1 and (axis == 1 or not x.size):  # PyTorch has separate code for these
        raise RuntimeError(f"INDICES element is out of DATA bounds, id={wrong} axis_dim={x.shape[axis]}")
    if wrong is not None:
        raise IndexError("index out of range in self")


def check_added(name: str, input: Tensor, dim: int, index: Tensor, source: Tensor) -> int:
    """Check arguments that combine slices of `source` with those of `input`; return the non-negative dimension.

    Raises RuntimeError if an index is out of range (of a vector: an IndexError), or shapes or dtypes do not fit, and
    IndexError if `index` is not a vector.
    """
    x, i, y = input.array, index.array, source.array
    axis = dim_of(dim, x.ndim)
    same_device(x, i, y)
    if i.ndim > 1:
        raise IndexError(f"{name}(): Index is supposed to be a vector, but got dim: "
                         f"{i.ndim} with type: {index.dtype.type_name} and size: {list(i.shape)}")
    if not is_index(i.dtype):
        raise RuntimeError(f"{name}(): Expected dtype int32/int64 for index but got: {index.dtype.type_name}")
    if x.dtype != y.dtype:
        raise RuntimeError(f"{name}(): self ({input.dtype.type_name}) and source ({source.dtype.type_name}) must "
                           "have the same scalar type")
    if axis and axis >= y.ndim:
        raise RuntimeError(f"{name}(): Indexing dim {axis} is out of bounds of the source tensor with dim {y.ndim}")
    if i.size != (y.shape[axis] if y.ndim else 1):
        raise RuntimeError(f"{name}(): Number of indices ({i.size}) should be equal to source.size(dim): "
                           f"({y.shape[one_of(axis, y.ndim)]}), for dim: {axis}")
    if x.ndim != y.ndim or [n for d, n in enumerate(x.shape) if d != axis] != [
            n for d, n in enumerate(y.shape) if d != axis]:
        raise RuntimeError("source tensor shape must match self tensor shape, excluding the specified dimension. Got "
                           f"self.shape = {list(x.shape)} source.shape = {list(y.shape)}")
    if x.ndim < 2 and first_out_of_range(i, x.size) is not None:
        raise IndexError("index out of range in self")
    if x.ndim > 1 and x.size:
        check_values(i, x.shape, axis)
    return axis


@op(method=True, in_place=True)
def index_add(input: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: float = 1) -> Tensor:
    """A copy of `input` with the slices of `alpha * source` added to its slices along `dim` at `index`.

    Raises RuntimeError if an index is out of range (of a vector: an IndexError), or shapes or dtypes do not fit, and
    IndexError if `index` is not a vector.
    """
    axis = check_added("index_add_", input, dim, index, source)
    return IndexAdd.forward(input, index, source, axis, alpha)


@op(method=True, in_place=True)
def index_copy(input: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    """A copy of `input` with its slices along `dim` at `index` replaced by those of `source`.

    Raises IndexError if an index is out of range, or `source` has another number of slices than `index`, and
    RuntimeError if shapes or dtypes do not fit.
    """
    x, i, y = input.array, index.array, source.array
    axis = dim_of(dim, x.ndim)
    same_device(x, i, y)
    if i.ndim > 1:
        raise IndexError(f"index_copy_(): Index should have dimension 1 or 0 (got {i.ndim})")
    if not y.ndim and i.size != 1:
        raise IndexError(f"index_copy_(): When source is scalar, index should have one element (got {i.size})")
    if x.ndim != y.ndim and x.ndim and y.ndim:
        raise IndexError("index_copy_(): When source and destination are not scalars, their dimensionality must match. "
                         f"Source dimensionality ({y.ndim}), destination dimensionality ({x.ndim})")
    if i.dtype != np.int64:
        raise RuntimeError(f"index_copy_(): Expected a long tensor for index, but got {index.dtype.type_name}")
    if x.dtype != y.dtype:
        raise RuntimeError("index_copy_(): self and source expected to have the same dtype, but got (self) "
                           f"{input.dtype.type_name} and (source) {source.dtype.type_name}")
    target_slice, source_slice = [(*s[:axis], *s[axis + 1:]) for s in (x.shape, y.shape)]
    if target_slice != source_slice:
        raise RuntimeError("index_copy_(): Source/destination tensor must have same slice shapes. Destination slice "
                           f"shape: {' '.join(map(str, target_slice))} at dimension {axis} and source slice shape: "
                           f"{' '.join(map(str, source_slice))} at dimension 0.")
    if y.ndim and i.size != y.shape[axis]:
        raise IndexError(f"index_copy_(): Number of indices ({i.size}) should be equal to source.size(dim) "
                         f"({y.shape[axis]})")
    check_values(i, x.shape, axis, IndexError, "index_copy_(): ")
    return IndexCopy.forward(input, index, source, axis)


@op(method=True, in_place=True)
def index_fill(input: Tensor, dim: int, index: Tensor, value: Any) -> Tensor:
    """A copy of `input` with its slices along `dim` at `index` filled with one value. Raises IndexError if an index is
    out of range; negative ones count from the end."""
    x, i = input.array, index.array
    axis = dim_of(dim, x.ndim)
    same_device(x, i)
    if isinstance(value, Tensor) and value.array.ndim:
        raise RuntimeError("index_fill_ only supports a 0-dimensional value tensor, but got tensor with "
                           f"{value.array.ndim} dimension(s).")
    if i.dtype != np.int64:
        raise IndexError("index_fill_(): Expected dtype int64 for index.")
    if i.ndim > 1:
        raise RuntimeError("Index has to be a vector/scalar")
    check_values(i, x.shape, axis, IndexError, negative=True)
    op = IndexFillTensor if isinstance(value, Tensor) else IndexFill
    return op.forward(input, index, value, axis)


def check_numbers(name: str, input: Tensor, index: Tensor) -> None:
    """Raise PyTorch's errors for element indices that are out of range."""
    same_device(input.array, index.array)
    if index.array.dtype != np.int64:
        raise RuntimeError(f"{name}(): Expected a long tensor for index, but got {index.dtype.type_name}")
    size = input.array.size
    if not size and index.array.size:
        raise IndexError("take(): tried to take from an empty tensor" if name == "take" else
                         "put_(): Tried to put elements into an empty tensor")
    wrong = first_out_of_range(index.array, size, -size)
    if wrong is not None:
        raise IndexError(f"out of range: tried to access index {wrong} on a tensor of {size} elements.")


@op(method=True)
def take(input: Tensor, index: Tensor) -> Tensor:
    """The elements at row-major indices, in the shape of `index`; negative ones count from the end. Raises IndexError
    if an index is out of range."""
    check_numbers("take", input, index)
    return Take.forward(input, index)


@op(method=True, in_place=True)
def put(input: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    """A copy of `input` with its elements at row-major indices replaced by those of `source`, or added to. Raises
    IndexError if an index is out of range, or the numbers of indices and elements differ."""
    same_device(input.array, source.array)
    if input.array.dtype != source.array.dtype:
        raise RuntimeError("put_(): self and source expected to have the same dtype, but got self.dtype = "
                           f"{input.dtype.type_name} and source.dtype = {source.dtype.type_name}")
    if index.array.dtype == np.int64 and index.array.size != source.array.size:
        raise IndexError("put_(): Expected source and index to have the same number of elements, but got "
                         f"source.numel() = {source.array.size}, index.numel() = {index.array.size}")
    check_numbers("put_", input, index)
    return Put.forward(input, index, source, accumulate)


BETA = "index_reduce() is in beta and the API may change at any time."

KERNELS: dict[str, Any] = {"prod": np.multiply, "amax": np.maximum, "amin": np.minimum}


TWO_ZEROS = ("{0}: Double backward is unsupported for {1} when >1 zeros in {1} are scattered to the same position in "
             "self")


class DelayedError:
    """The same gradient; in a recorded pass, with a node that raises when the pass is differentiated."""

    @staticmethod
    def values(g: Any, message: str) -> Any:
        return g

    @staticmethod
    def forward(g: Tensor, message: str) -> Tensor:
        result = plain(g.array)
        set_history(result, Error([g], message))
        return result


class Reduction(Node, number=None):
    """Elements reduced into others: the derivative is the same for both ways of addressing them."""

    constants = ("dim", "reduce", "include_self")

    def backward(self, xp: Any, g: Any, a: Any, src: Any, index: Any, y: Any, dim: int, reduce: str,
                 include_self: bool) -> tuple[Any, Any]:
        positions = gather_indices(raw(index), dim, tuple(a.shape))
        part = xp.getitem(src, tuple([slice(n) for n in positions.shape])) if src.shape != positions.shape else src
        if reduce == "prod":
            of_self, of_part = self.of_product(xp, g, a, part, index, y, positions, dim, include_self)
        elif reduce in ("amax", "amin"):
            hit, hits = a == y, part == elements_at(xp, y, positions)
            ones, kind = xp.cast(hits, xp.dtype(g)), xp.dtype(g)
            own = xp.cast(hit, kind)
            own = own if include_self else replace_at(xp, own, positions, 0)
            share = g / (own + scatter_into(xp, ones, positions, tuple(a.shape)))
            of_self, of_part = xp.masked(hit, share), xp.masked(hits, elements_at(xp, share, positions))
        else:
            share = g
            if reduce == "mean":
                share = g / self.counts(xp, g, positions, include_self)
            of_self, of_part = share, elements_at(xp, share, positions)
        if not include_self:
            of_self = replace_at(xp, of_self, positions, 0)
        return of_self, zero_padded(xp, of_part, tuple(src.shape))

    def counts(self, xp: Any, g: Any, positions: Any, include_self: bool) -> Any:
        """The number of elements in each mean, at least 1."""
        own = xp.zeros(tuple(g.shape), g) + 1
        own = own if include_self else replace_at(xp, own, positions, 0)
        counted = own + scatter_into(xp, xp.zeros(positions.shape, g) + 1, positions, tuple(g.shape))
        return counted + xp.cast(counted == 0, xp.dtype(g))

    def of_product(self, xp: Any, g: Any, a: Any, part: Any, index: Any, y: Any, positions: Any, dim: int,
                   include_self: bool) -> tuple[Any, Any]:
        """The gradient of each factor is the product of the others; a factor of 0 cannot be divided out."""
        def product(x: Any, factors: Any) -> Any:
            return xp.apply(ScatterReduce, x, factors, index, dim, "prod", include_self)

        own = xp.where(a == 0, xp.masked(a != 0, a) + 1, a)
        of_self = g * product(own, part) / own
        zero = part == 0
        zeros = elements_at(xp, scatter_into(xp, xp.cast(zero, xp.dtype(g)), positions, tuple(a.shape)), positions)
        alone = zero & (zeros == 1)
        others = product(a, xp.where(alone, xp.masked(~alone, part) + 1, part))
        divided = elements_at(xp, g * y, positions) / xp.where(zero, xp.masked(~zero, part) + 1, part)
        of_part = xp.where(alone, elements_at(xp, g * others, positions), divided)
        if (raw(zeros) > 1).any():
            op, source = ("scatter_reduce()", "src") if type(self) is ScatterReduce else ("index_reduce()", "source")
            of_part = xp.apply(DelayedError, of_part, TWO_ZEROS.format(op, source))
        return of_self, of_part


class ScatterReduce(Reduction):
    saves = ("self", "src", "index", "result")

    @staticmethod
    def values(x: Any, y: Any, index: Any, dim: int, reduce: str, include_self: bool) -> Any:
        """The array `x` with the elements of `y` reduced into it."""
        y, positions, like = leading(y, index.shape), gather_indices(index, dim, x.shape), device_like(x)
        out = np.array(x, order="C", like=like).reshape(-1)
        if reduce not in ("sum", "mean"):
            if not include_self:  # start from any one of the incoming elements; a product, from 1
                out[positions] = 1 if reduce == "prod" else y
            return reduce_at(KERNELS[reduce], out, positions, y).reshape(x.shape)
        if not include_self:
            out[positions] = 0
        add_at(out, positions, y)
        if reduce == "mean":
            count = np.ones(out.shape, np.int64, like=like)
            if not include_self:
                count[positions] = 0
            add_at(count, positions, np.ones(positions.shape, np.int64, like=like))
            count = np.maximum(count, 1)
            out = as_dtype(out / count, out.dtype) if out.dtype.kind == "f" else out // count
        return out.reshape(x.shape)

    @staticmethod
    def forward(a: Tensor, src: Tensor, index: Tensor, dim: int, reduce: str, include_self: bool) -> Tensor:
        out = ScatterReduce.values(a.array, src.array, index.array, dim, reduce, include_self)
        return record_n(ScatterReduce, out, (a, src), (a, src, index, out), (dim, reduce, include_self))


class IndexReduce(Reduction):
    """The same with one index for each slice."""

    saves = ("self", "source", "index", "result")

    @staticmethod
    def forward(a: Tensor, source: Tensor, index: Tensor, dim: int, reduce: str, include_self: bool) -> Tensor:
        of_each = spread(index.array, dim, source.array.shape)
        out = ScatterReduce.values(a.array, source.array, of_each, dim, reduce, include_self)
        return record_n(IndexReduce, out, (a, source), (a, source, index, out), (dim, reduce, include_self))

    def backward(self, xp: Any, g: Any, a: Any, source: Any, index: Any, *rest: Any) -> tuple[Any, Any]:
        of_each = spread(raw(index), rest[1], tuple(source.shape))
        index = plain(of_each) if isinstance(index, Tensor) else of_each
        return super().backward(xp, g, a, source, index, *rest)


def spread(index: Any, dim: int, shape: tuple[int, ...]) -> Any:
    """An index for each element: that of its slice along `dim`."""
    ends = (1,) * (len(shape) - 1 - dim)
    return np.broadcast_to(index.reshape((-1, *ends)) if shape else index.reshape(()), shape)


@op(method=True, in_place=True)
def index_reduce(input: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, *,
                 include_self: bool = True) -> Tensor:
    """A copy of `input` with its slices along `dim` at `index` reduced together with those of `source`.
    `reduce`: "prod", "mean", "amax" or "amin"; without `include_self`, only those of `source` count.

    Raises:
        RuntimeError, IndexError: as in `index_add`; RuntimeError for another `reduce`.
    """
    warn_once(BETA)
    if reduce not in ("prod", "mean", "amax", "amin"):
        raise RuntimeError(f"index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got {reduce}.")
    axis = check_added("index_reduce_", input, dim, index, source)
    if input.array.dtype.kind == "b":
        raise NotImplementedError("\"index_func_\" not implemented for 'Bool'")
    return IndexReduce.forward(input, source, index, axis, reduce, include_self)


@op(method=True, in_place=True)
def scatter_reduce(input: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, *,
                   include_self: bool = True) -> Tensor:
    """A copy of `input` with its elements at `index` along `dim` reduced together with those of `src`.

    `reduce`: "sum", "prod", "mean", "amax" or "amin"; without `include_self`, the elements of `input` at `index` do not
    count. Raises RuntimeError as in `scatter`, and for another `reduce`.
    """
    if reduce not in ("sum", "prod", "mean", "amax", "amin"):
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    axis = check_written("scatter_reduce", input, index, src, dim)
    if reduce == "mean" and input.array.dtype.kind == "b":
        raise NotImplementedError("\"scatter_gather_tensor_cpu_reduce_mean\" not implemented for 'Bool'")
    return ScatterReduce.forward(input, src, index, axis, reduce, include_self)
