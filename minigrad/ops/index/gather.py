"""Elements by index along one dimension: `gather`, `scatter`, `scatter_add`, `scatter_reduce`, `take_along_dim`.

`gather` reads `input[..., index[...], ...]`; each of the others writes where `gather` would read. What an index names
is taken apart in _places.py, once for all of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minigrad._base.warnings import warn_once
from minigrad.backends.registry import beside
from minigrad.core.graph import Node
from minigrad.core.record import record1, record2
from minigrad.core.tensor import Tensor, plain
from minigrad.ops._dispatch.registration import op
from minigrad.ops._dispatch.same_device import same_device
from minigrad.ops._dispatch.scalars import number_in
from minigrad.ops._dispatch.type_promotion import broadcast_shape
from minigrad.ops.index.flat_indexing import along, in_range, is_index, raw, replaced, spread, taken, worked_in, written
from minigrad.ops.reduce.sums import one_of
from minigrad.ops.shape.views import Expand, dim_of, view

__all__ = ["gather", "scatter", "scatter_add", "take_along_dim"]

Shape = tuple[int, ...]
OF_A_TENSOR = (
    "The reduce argument of torch.scatter with Tensor src is deprecated and will be removed in a future PyTorch "
    "release. Use torch.scatter_reduce instead for more reduction options."
)


class Gather(Node):
    __slots__ = ()
    saves = ("index",)
    constants = ("dim", "sparse_grad")

    @staticmethod
    def forward(a: Tensor, index: Tensor, dim: int, sparse_grad: bool = False) -> Tensor:
        x = a.array
        out = x.reshape(-1)[along(index.array, dim, x.shape)]
        return record1(Gather, out, a, (index,), (dim, sparse_grad, x.shape))

    def backward(self, xp: Any, g: Any, index: Any, dim: int, sparse_grad: bool, shape: Shape) -> Any:
        return spread(xp, g, along(raw(index), dim, shape), shape)


class Scatter(Node):
    """The elements of `src` that `index` has room for, written over those of `a`."""

    __slots__ = ()
    saves = ("index",)
    constants = ("dim",)

    @staticmethod
    def forward(a: Tensor, index: Tensor, src: Tensor, dim: int) -> Tensor:
        x, y = a.array, src.array
        out = written(x, along(index.array, dim, x.shape), corner(y, index.array.shape))
        return record2(Scatter, out, a, src, (index,), (dim, y.shape))

    def backward(self, xp: Any, g: Any, index: Any, dim: int, shape: Shape) -> tuple[Any, Any]:
        places = along(raw(index), dim, tuple(g.shape))
        return (replaced(xp, g, places, 0) if self.next[0] is not None else None,
                cornered(xp, taken(xp, g, places), shape) if self.next[1] is not None else None)


class ScatterValue(Node, name="Scatter", number=1):
    """One number in the place of some elements of `a`."""

    __slots__ = ()
    saves = ("index",)
    constants = ("dim",)

    @staticmethod
    def forward(a: Tensor, index: Tensor, value: Any, dim: int) -> Tensor:
        x = a.array
        out = written(x, along(index.array, dim, x.shape), number_in(value, x.dtype))
        return record1(ScatterValue, out, a, (index,), (dim,))

    def backward(self, xp: Any, g: Any, index: Any, dim: int) -> Any:
        return replaced(xp, g, along(raw(index), dim, tuple(g.shape)), 0)


class ScatterAdd(Node):
    __slots__ = ()
    saves = ("index",)
    constants = ("dim",)

    @staticmethod
    def forward(a: Tensor, index: Tensor, src: Tensor, dim: int) -> Tensor:
        x, y = a.array, src.array
        out = written(x, along(index.array, dim, x.shape), corner(y, index.array.shape), add=True)
        return record2(ScatterAdd, out, a, src, (index,), (dim, y.shape))

    def backward(self, xp: Any, g: Any, index: Any, dim: int, shape: Shape) -> tuple[Any, Any]:
        if self.next[1] is None:
            return g, None
        return g, cornered(xp, taken(xp, g, along(raw(index), dim, tuple(g.shape))), shape)


class ScatterOther(Node, number=None):
    """`scatter` with a reduction: PyTorch's node too has no derivative."""

    __slots__ = ()
    op = "Scatter"

    @staticmethod
    def forward(a: Tensor, index: Tensor, src: Any, dim: int, reduce: str) -> Tensor:
        places, out = along(index.array, dim, a.array.shape), np.array(a.array, order="C", like=beside(a.array))
        values = corner(src.array, places.shape) if isinstance(src, Tensor) else number_in(src, out.dtype)
        out = worked_in(np.add if reduce == "add" else np.multiply, out.reshape(-1), places, values).reshape(out.shape)
        return record2(ScatterOther, out, a, src) if isinstance(src, Tensor) else record1(ScatterOther, out, a)

    def backward(self, xp: Any, g: Any) -> Any:
        raise RuntimeError("derivative for aten::scatter is not implemented")

    def name(self) -> str:
        """PyTorch's qualified name of this node."""
        return "torch::autograd::NotImplemented"


ScatterOther.__name__ = ScatterOther.__qualname__ = "NotImplemented"


def one(shape: Shape) -> Shape:
    """The shape of a number as that of a vector."""
    return shape or (1,)


def corner(x: Any, shape: Shape) -> Any:
    """The first elements of `x` along each dimension, as many as `shape` has."""
    if x.shape == shape or 0 in shape:
        return x if x.shape == shape else np.zeros(shape, x.dtype, like=beside(x))
    return x.reshape(one(x.shape))[tuple([slice(n) for n in one(shape)])].reshape(shape)


def cornered(xp: Any, part: Any, shape: Shape) -> Any:
    """Zeros of `shape` with `part` at their start: the derivative of `corner`."""
    if part.shape == shape or 0 in part.shape:
        return part if part.shape == shape else xp.zeros(shape, part)
    start = tuple([slice(n) for n in one(tuple(part.shape))])
    return xp.reshape(xp.scatter(xp.reshape(part, one(tuple(part.shape))), start, one(shape)), shape)


def check_index(name: str, input: Tensor, index: Tensor, dim: int) -> int:
    """The dimension as a non-negative number; PyTorch's errors for an index of another dtype or other dimensions."""
    axis = dim_of(dim, input.array.ndim)
    same_device(input.array, index.array)
    if index.array.size and not is_index(index.array.dtype):
        raise RuntimeError(f"{name}(): Expected dtype int32/int64 for index")
    return axis


def check_values(index: Any, shape: Shape, dim: int) -> None:
    """PyTorch's error for an index that is out of range; there are no negative ones here."""
    size = shape[dim] if shape else 1
    wrong = in_range(index, size)
    if wrong is not None:
        raise RuntimeError(f"index {wrong} is out of bounds for dimension {dim} with size {size}")


def larger(index: Shape, other: Shape, dim: int | None) -> int | None:
    """The first dimension but `dim` in which an index is larger than another tensor, of which a number has size 1
    everywhere; an IndexError if the other has not as many."""
    return next((d for d, n in enumerate(one(index))
                 if d != dim and n > (other[one_of(d, len(other))] if other else 1)), None)


def check_dims(index: Any, x: Any, what: str) -> None:
    """PyTorch's error for an index of other dimensions than a tensor; one of a number counts."""
    if max(index.ndim, 1) != max(x.ndim, 1):
        raise RuntimeError(f"Index tensor must have the same number of dimensions as {what} tensor")


def check_written(name: str, input: Tensor, index: Tensor, src: Any, dim: int) -> int:
    """PyTorch's errors for what the scattering ops are given; the dimension."""
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
    """The elements of `input` that `index` names along `dim`, in the shape of `index`.

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
    """A copy of `input` with the elements that `index` names along `dim` replaced by those of `src`, or by a number.

    Where an index names an element twice, the last one stays. `reduce="add"` or `"multiply"` has no derivative.

    Raises:
        RuntimeError: if an index is out of range, the dimensions do not fit, or the dtypes differ.
    """
    given = value if src is None else src
    if reduce is not None and isinstance(given, Tensor):
        warn_once(OF_A_TENSOR)
    if reduce not in (None, "add", "multiply"):
        raise RuntimeError("reduce argument must be either add or multiply.")
    axis = check_written("scatter", input, index, given, dim)
    if reduce is not None:
        return ScatterOther.forward(input, index, given, axis, reduce)
    if isinstance(given, Tensor):
        return Scatter.forward(input, index, given, axis)
    return ScatterValue.forward(input, index, given, axis)


@op(method=True, in_place=True)
def scatter_add(input: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """A copy of `input` to whose elements that `index` names along `dim` those of `src` are added.

    Raises:
        RuntimeError: as `scatter`.
    """
    return ScatterAdd.forward(input, index, src, check_written("scatter_add", input, index, src, dim))


@op(method=True)
def take_along_dim(input: Tensor, indices: Tensor, dim: int | None = None) -> Tensor:
    """`gather` where the two broadcast, and an index may count from the end; without `dim`, of the flat tensor.

    Raises:
        RuntimeError: if the dtype of `indices` is not int64, or the dimensions do not fit.
    """
    if indices.array.dtype != np.int64:
        raise RuntimeError("torch.take_along_dim(): dtype of indices should be Long but got "
                           f"{indices.dtype.type_name}")
    if dim is None:
        flat = view(input, -1)
        return gather(flat, 0, plain(indices.array.reshape(-1)))
    x, i = input.array, indices.array
    if x.ndim != i.ndim:
        raise RuntimeError("torch.take_along_dim(): input and indices should have the same number of dimensions, but "
                           f"got {x.ndim} dimensions for input, and {i.ndim} dimensions for indices")
    axis = one_of(dim, x.ndim)
    rest = broadcast_shape(*[(*s[:axis], 1, *s[axis + 1:]) for s in (x.shape, i.shape)])
    wide = Expand.forward(input, (*rest[:axis], *x.shape[axis:axis + 1], *rest[axis + 1:]))
    index = np.broadcast_to(i, (*rest[:axis], *i.shape[axis:axis + 1], *rest[axis + 1:]))
    return gather(wide, axis, wrapped(index, x.shape[axis]))


def wrapped(index: Any, size: int) -> Tensor:
    """Indices counted round and round, from the end where they are negative."""
    return plain(index % size if size else index)
