"""Changes the shape of a tensor without copying it: `view`, `reshape`, `transpose`, `squeeze`, `expand` and others,
also in place (`x.t_()`); and brings tensors to a common shape (`broadcast_tensors`, `atleast_2d`).

A view shares the memory and the version counter of its base (`_base`). In place no element is written, but as in
PyTorch the version goes up, so that saved copies of the tensor count as modified. A view that changes its shape this
way has a new node after its old one; its base keeps its node.
"""

import functools
import math
import operator
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from minigrad._base.dtype import Size, viewed
from minigrad._base.dtype import dtype as dtype_type
from minigrad.backends.registry import as_strided
from minigrad.core import Node, Tensor, attributes, counter_of, materialized, plain, record1, sum_to
from minigrad.history.inplace import turn_in_place
from minigrad.history.views import record_view
from minigrad.ops._dispatch import broadcast_shape, op, tensor_method
from minigrad.ops.reduce.sums import axes_of
from minigrad.ops.tensor.copy import Clone, contiguous

__all__ = [
    "atleast_1d", "atleast_2d", "atleast_3d", "broadcast_shapes", "broadcast_tensors", "broadcast_to", "flatten",
    "moveaxis", "movedim", "permute", "ravel", "reshape", "squeeze", "swapaxes", "swapdims", "t", "transpose",
    "unflatten", "unsqueeze",
]

Shape = tuple[int, ...]


def shape_of(sizes: tuple[Any, ...]) -> Shape:
    """The shape from `f(2, 3)` or `f((2, 3))`.

    Raises:
        TypeError: from `f()`; the message names the missing argument.
    """
    if not sizes:
        raise TypeError("missing")
    if len(sizes) == 1 and isinstance(sizes[0], (tuple, list)):
        sizes = tuple(sizes[0])
    return tuple([operator.index(n) for n in sizes])


def check_numel(shape: Shape, itemsize: int = 1, storage: bool = False) -> None:
    """Raise PyTorch's RuntimeError for more elements, or bytes of elements of this size, than 64 bits can count;
    `storage`: name the bytes for too many elements too."""
    if (numel := math.prod(shape)) >= 2 ** 64 and not storage:
        raise RuntimeError("numel: integer multiplication overflow")
    if numel * itemsize >= 2 ** 64:
        raise RuntimeError(f"Storage size calculation overflowed with sizes={list(shape)}")


def dim_of(dim: int, ndim: int) -> int:
    """One dimension as a non-negative number; an IndexError if it is out of range."""
    if type(dim) is int and -ndim <= dim < ndim:
        return dim % ndim
    axes = axes_of(operator.index(dim), ndim)
    return axes[0] if axes else 0


def full_shape(shape: Shape, size: int) -> Shape:
    """A shape with its -1 filled in; PyTorch's error if the elements do not fit."""
    known = math.prod([n for n in shape if n != -1])
    for index, n in enumerate(shape):
        if n < -1:
            raise RuntimeError(f"invalid shape dimension {n} at index {index} of shape {list(shape)}")
    fits = known == size if -1 not in shape else known != 0 and size % known == 0
    if shape.count(-1) > 1:
        raise RuntimeError("only one dimension can be inferred")
    if known == 0 and size == 0 and -1 in shape:
        raise RuntimeError(f"cannot reshape tensor of 0 elements into shape {list(shape)} because the unspecified "
                           "dimension size -1 can be any value and is ambiguous")
    if not fits:
        raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {size}")
    return tuple([size // known if n == -1 else n for n in shape])


class Alias(Node):
    """`x[...]`."""

    @staticmethod
    def forward(a: Tensor) -> Tensor:
        return record_view(Alias, materialized(a)[...], a)

    def backward(self, xp: Any, g: Any) -> Any:
        return g


class Reshaped(Node, number=None):
    """The same elements in another shape: the gradient is reshaped to that of the input."""

    constants: ClassVar[tuple[str, ...]] = ("self_sym_sizes",)

    def backward(self, xp: Any, g: Any, shape: Shape, *_: Any) -> Any:
        return xp.reshape(g, shape)


class View(Reshaped):
    @classmethod
    def forward(cls, a: Tensor, shape: Shape) -> Tensor:
        x = materialized(a)
        return record_view(cls, x.reshape(shape), a, (x.shape,))


class ReshapeAlias(View):
    """A reshape of a tensor whose memory has gaps or another order, but which a view can express."""


class UnsafeView(View):
    """A reshape of a tensor that nothing else refers to, or one that had to copy: not a view."""

    @classmethod
    def forward(cls, a: Tensor, shape: Shape) -> Tensor:
        return record1(cls, a.array.reshape(shape), a, (), (a.array.shape,))


class T(Node):
    @classmethod
    def forward(cls, a: Tensor) -> Tensor:
        return record_view(cls, materialized(a).T, a)

    def backward(self, xp: Any, g: Any) -> Any:
        return xp.t(g) if g.ndim == 2 else g


class Transpose(Node):
    constants = ("dim0", "dim1")

    @classmethod
    def forward(cls, a: Tensor, i: int, j: int) -> Tensor:
        x = materialized(a)
        return record_view(cls, x.swapaxes(i, j) if x.ndim else x[...], a, (i, j))

    def backward(self, xp: Any, g: Any, i: int, j: int) -> Any:
        return xp.swapaxes(g, i, j) if g.ndim else g


class Permute(Node):
    constants = ("", "dims")

    @staticmethod
    def forward(a: Tensor, axes: Shape) -> Tensor:
        back = tuple([axes.index(i) for i in range(len(axes))])
        return record_view(Permute, materialized(a).transpose(axes), a, (back, axes))

    def backward(self, xp: Any, g: Any, back: Shape, _: Shape) -> Any:
        return xp.transpose(g, back)


class Unsqueeze(Node):
    constants = ("", "dim")

    @classmethod
    def forward(cls, a: Tensor, dim: int) -> Tensor:
        x = materialized(a)
        axis = dim_of(dim, x.ndim + 1)
        return record_view(cls, x[(slice(None),) * axis + (None,)], a, (x.shape, axis))

    backward = Reshaped.backward


class Squeeze(Reshaped):
    """Removes all dimensions of size 1."""

    @classmethod
    def forward(cls, a: Tensor) -> Tensor:
        return record_view(cls, materialized(a).squeeze(), a, (a.array.shape,))


class SqueezeDim(Reshaped, name="Squeeze", number=1):
    """Removes one dimension of size 1."""

    constants = ("self_sym_sizes", "dim")

    @classmethod
    def forward(cls, a: Tensor, dim: int) -> Tensor:
        x = materialized(a)
        axis = dim_of(dim, x.ndim)
        return record_view(cls, x.squeeze(axis) if x.ndim and x.shape[axis] == 1 else x[...], a, (x.shape, axis))


class SqueezeDims(Reshaped, name="Squeeze", number=2):
    """Removes several dimensions of size 1."""

    constants = ("self_sym_sizes", "dim")

    @classmethod
    def forward(cls, a: Tensor, dims: Sequence[int]) -> Tensor:
        x = materialized(a)
        axes = axes_of(dims, x.ndim) or ()
        return record_view(cls, x.squeeze(tuple([d for d in axes if x.shape[d] == 1])), a, (x.shape, axes))


class Expand(Node):
    shows = attributes(self_sym_sizes=lambda node: node.const[0][0])

    @staticmethod
    def forward(a: Tensor, shape: Shape) -> Tensor:
        x = materialized(a)
        # the result of broadcast_to is read-only, but a part of it may repeat nothing and be written to
        strides = np.broadcast_to(x, shape).strides
        return record_view(Expand, as_strided(x, shape, strides), a, ((x.shape, x.dtype),))

    def backward(self, xp: Any, g: Any, like: tuple[Shape, Any]) -> Any:
        return sum_to(g, like, xp)


@tensor_method
def view(input: Tensor, *shape: Any) -> Tensor:
    """The same memory in another shape (one size may be -1), or its bytes read as another dtype. Raises RuntimeError if
    the elements do not fit, or memory is not contiguous enough for a view of that shape."""
    x = materialized(input)
    if len(shape) == 1 and isinstance(shape[0], dtype_type):
        return as_dtype(input, shape[0])
    new = full_shape(shape_of(shape), x.size)
    if not np.may_share_memory(x.reshape(new), x) and x.size:
        raise RuntimeError("view size is not compatible with input tensor's size and stride (at least one dimension "
                           "spans across two contiguous subspaces). Use .reshape(...) instead.")
    return View.forward(input, new)


def as_dtype(input: Tensor, dtype: dtype_type) -> Tensor:
    """The same memory read as another dtype: not an op of the graph, but with the version counter of its source."""
    x = materialized(input)
    old, new = x.dtype.itemsize, dtype.itemsize
    what = f"to view {input.dtype.type_name} as {dtype.type_name} (different element sizes), but got"
    if old != new and x.ndim == 0:
        raise RuntimeError(f"self.dim() cannot be 0 {what.removesuffix(', but got')}")
    if old != new and x.strides[-1] != old:
        raise RuntimeError(f"self.stride(-1) must be 1 {what} {x.strides[-1] // old}")
    if old < new and x.shape[-1] * old % new:
        raise RuntimeError(f"self.size(-1) must be divisible by {new // old} {what} {x.shape[-1]}")
    result = plain(viewed(x, dtype.numpy))
    result._version_counter = counter_of(input)
    return result


@op(method=True)
def reshape(input: Tensor, *shape: Any) -> Tensor:
    """The same elements in another shape: a view if possible, else a copy."""
    x = materialized(input)
    new = full_shape(shape_of(shape), x.size)
    if x.flags.c_contiguous:
        return View.forward(input, new)
    if np.may_share_memory(x.reshape(new), x):
        return ReshapeAlias.forward(input, new)
    return UnsafeView.forward(Clone.forward(input, "C"), new)


@tensor_method
def view_as(input: Tensor, other: Tensor) -> Tensor:
    """`input.view(other.shape)`."""
    return view(input, other.array.shape)


@tensor_method
def reshape_as(input: Tensor, other: Tensor) -> Tensor:
    """`input.reshape(other.shape)`."""
    return reshape(input, other.array.shape)


@op(method=True)
def ravel(input: Tensor) -> Tensor:
    """All elements in one dimension: a view of the tensor, or of a copy if its memory is not contiguous."""
    return view(contiguous(input), -1)


@op(method=True)
def unflatten(input: Tensor, dim: int, sizes: Sequence[int]) -> Tensor:
    """One dimension as several (one size may be -1). Raises RuntimeError if the product of the sizes is not the size of
    the dimension."""
    if not sizes:
        raise RuntimeError("unflatten: sizes must be non-empty")
    shape, axis = input.array.shape, dim_of(dim, input.array.ndim)
    if not shape:
        raise RuntimeError("unflatten got an unexpected error:\nDimension specified as 0 but tensor has no dimensions")
    new = tuple([operator.index(n) for n in sizes])
    known = math.prod([n for n in new if n != -1])
    if known != shape[axis] if -1 not in new else known == 0 or shape[axis] % known:
        raise RuntimeError(f"unflatten: Provided sizes {list(new)} don't multiply up to the size of dim {axis} "
                           f"({shape[axis]}) in the input tensor")
    return view(input, (*shape[:axis], *full_shape(new, shape[axis]), *shape[axis + 1:]))


@op(method=True)
def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """The dimensions from `start_dim` to `end_dim` as one."""
    shape = input.array.shape
    first, last = dim_of(start_dim, len(shape)), dim_of(end_dim, len(shape))
    if first > last:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if shape and first == last:
        return input
    return reshape(input, (*shape[:first], math.prod(shape[first:last + 1]), *shape[last + 1:]))


@op(method=True)
def t(input: Tensor) -> Tensor:
    """The transpose of a matrix; a tensor with fewer dimensions unchanged."""
    check_matrix(input, "t")
    return T.forward(input)


def check_matrix(input: Tensor, name: str) -> None:
    """Raise PyTorch's error for a tensor with more than two dimensions."""
    if input.array.ndim > 2:
        raise RuntimeError(f"{name}() expects a tensor with <= 2 dimensions, but self is {input.array.ndim}D")


@op(method=True, aliases=("swapaxes", "swapdims"))
def transpose(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """The tensor with two dimensions swapped."""
    return Transpose.forward(input, dim_of(dim0, input.array.ndim), dim_of(dim1, input.array.ndim))


swapaxes = swapdims = transpose


@op(method=True)
def permute(input: Tensor, *dims: Any) -> Tensor:
    """The tensor with its dimensions in this order."""
    order = shape_of(dims)
    if len(order) != input.array.ndim:
        raise RuntimeError("permute(sparse_coo): number of dimensions in the tensor input does not match the length of "
                           f"the desired ordering of dimensions i.e. input.dim() = {input.array.ndim} is not equal to "
                           f"len(dims) = {len(order)}")
    axes = tuple([dim_of(d, input.array.ndim) for d in order])
    if len(set(axes)) != len(axes):
        raise RuntimeError("permute(): duplicate dims are not allowed.")
    return Permute.forward(input, axes)


@op(method=True, aliases=("moveaxis",))
def movedim(input: Tensor, source: int | Sequence[int], destination: int | Sequence[int]) -> Tensor:
    """The tensor with some dimensions moved to other positions; the rest stay in order."""
    ndim = input.array.ndim
    sources, destinations = [tuple(v) if isinstance(v, (tuple, list)) else (v,) for v in (source, destination)]
    if len(sources) != len(destinations):
        raise RuntimeError(f"movedim: Invalid source or destination dims: source ({list(sources)} dims) should "
                           f"contain the same number of dims as destination ({list(destinations)} dims)")
    start, end = [tuple([dim_of(d, ndim) for d in dims]) for dims in (sources, destinations)]
    for name, axes, dims in (("source", start, sources), ("destination", end, destinations)):
        if len(set(axes)) != len(axes):
            raise RuntimeError(f"movedim: repeated dim in `{name}` ({list(dims)})")
    if not ndim:
        return Alias.forward(input)
    moved = dict(zip(end, start, strict=True))
    rest = iter([d for d in range(ndim) if d not in start])
    return Permute.forward(input, tuple([moved[i] if i in moved else next(rest) for i in range(ndim)]))


moveaxis = movedim


@op(method=True)
def unsqueeze(input: Tensor, dim: int) -> Tensor:
    """The tensor with a new dimension of size 1 at `dim`."""
    return Unsqueeze.forward(input, dim)


@op(method=True)
def squeeze(input: Tensor, dim: int | Sequence[int] | None = None) -> Tensor:
    """The tensor without its dimensions of size 1, or without those of `dim` that have that size."""
    if isinstance(dim, Sequence):
        return SqueezeDims.forward(input, dim)
    return Squeeze.forward(input) if dim is None else SqueezeDim.forward(input, dim)


@tensor_method
def expand(input: Tensor, *sizes: Any) -> Tensor:
    """The tensor with dimensions of size 1 repeated, without a copy (-1 keeps a size). Raises RuntimeError if a size is
    neither 1 nor the requested one."""
    shape, new = input.array.shape, shape_of(sizes)
    lead = len(new) - len(shape)
    if lead < 0:
        name = "CPUBoolType" if input.array.dtype.kind == "b" else f"torch.{input.dtype.type_name}Tensor"
        raise RuntimeError(f"expand({name}{{{list(shape)}}}, size={list(new)}): the number of sizes provided "
                           f"({len(new)}) must be greater or equal to the number of dimensions in the tensor "
                           f"({len(shape)})")
    if not shape and min(new, default=0) < 0:
        raise RuntimeError("numel: integer multiplication overflow")
    if -1 in new[:lead]:
        raise RuntimeError(f"The expanded size of the tensor (-1) isn't allowed in a leading, non-existing dimension "
                           f"{new.index(-1)}")
    full = tuple([shape[i - lead] if n == -1 and i >= lead else n for i, n in enumerate(new)])
    for i, n in reversed(list(enumerate(shape))):
        if n not in (1, full[lead + i]):
            raise RuntimeError(f"The expanded size of the tensor ({full[lead + i]}) must match the existing size ({n}) "
                               f"at non-singleton dimension {lead + i}.  Target sizes: {list(new)}.  Tensor sizes: "
                               f"{list(shape)}")
    try:
        return Expand.forward(input, full)
    except ValueError:
        check_numel(full)
        raise


@tensor_method
def expand_as(input: Tensor, other: Tensor) -> Tensor:
    """`input.expand(other.shape)`."""
    return expand(input, other.array.shape)


@op(method=True)
def broadcast_to(input: Tensor, size: Sequence[int]) -> Tensor:
    """`input.expand(size)`, by NumPy's name."""
    return expand(input, size)


class TInPlace(T, name="T", number=1):
    @classmethod
    def forward(cls, a: Tensor) -> Tensor:
        check_matrix(a, "t_")
        return super().forward(a)


class TransposeInPlace(Transpose, name="Transpose", number=1):
    @classmethod
    def forward(cls, a: Tensor, dim0: int, dim1: int) -> Tensor:
        return super().forward(a, dim_of(dim0, a.array.ndim), dim_of(dim1, a.array.ndim))


def numbered(op: type[Node], number: int) -> Any:
    """The node of an in-place op, which PyTorch numbers after those of the op out of place."""
    return type(op.op, (op,), {"__slots__": (), "__module__": __name__}, number=number)


UnsqueezeInPlace, SqueezeInPlace = numbered(Unsqueeze, 1), numbered(Squeeze, 3)
SqueezeDimInPlace, SqueezeDimsInPlace = numbered(SqueezeDim, 4), numbered(SqueezeDims, 5)


@tensor_method
def t_(self: Tensor) -> Tensor:
    """`t`, in place."""
    return turn_in_place(TInPlace.forward, self)


@tensor_method(aliases=("swapaxes_", "swapdims_"))
def transpose_(self: Tensor, dim0: int, dim1: int) -> Tensor:
    """`transpose`, in place."""
    return turn_in_place(TransposeInPlace.forward, self, dim0, dim1)


swapaxes_ = swapdims_ = transpose_


@tensor_method
def unsqueeze_(self: Tensor, dim: int) -> Tensor:
    """`unsqueeze`, in place."""
    return turn_in_place(UnsqueezeInPlace.forward, self, dim)


@tensor_method
def squeeze_(self: Tensor, dim: int | Sequence[int] | None = None) -> Tensor:
    """`squeeze`, in place."""
    if dim is None:
        return turn_in_place(SqueezeInPlace.forward, self)
    op = SqueezeDimsInPlace if isinstance(dim, Sequence) else SqueezeDimInPlace
    return turn_in_place(op.forward, self, dim)


@op
def broadcast_tensors(*tensors: Any) -> tuple[Tensor, ...]:
    """The tensors as views of their common shape."""
    inputs = unpacked(tensors)
    shape: tuple[int, ...] = ()
    for v in inputs:
        shape = broadcast_shape(shape, v.array.shape)
    return tuple([v if v.array.shape == shape else Expand.forward(v, shape) for v in inputs])


@op
def broadcast_shapes(*shapes: Any) -> Size:
    """The common shape of tensors of these shapes."""
    inputs = [(s,) if isinstance(s, int) else tuple(s) for s in shapes]
    out = [1] * max([len(s) for s in inputs], default=0)
    for i, shape in enumerate(inputs):
        for dim in range(-1, -len(shape) - 1, -1):
            if shape[dim] < 0:
                raise ValueError("Attempting to broadcast a dimension with negative length!")
            if shape[dim] in (1, out[dim]):
                continue
            if out[dim] != 1:
                raise RuntimeError(f"Attempting to broadcast a dimension of length {shape[dim]} at {dim}! Mismatching "
                                   f"argument at index {i} had {shape}; but expected shape should be broadcastable to "
                                   f"{out}")
            out[dim] = shape[dim]
    return Size(out)


def unpacked(tensors: tuple[Any, ...]) -> tuple[Tensor, ...]:
    """The tensors of `f(a, b)` or `f([a, b])`."""
    return tuple(tensors[0]) if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)) else tensors


def at_least(ndim: int, tensors: tuple[Any, ...]) -> Any:
    """Tensors with at least `ndim` dimensions, as a tuple; a single tensor, not in a list, as itself."""
    results = tuple(map(functools.partial(unsqueezed, ndim), unpacked(tensors)))
    return results[0] if len(tensors) == 1 and isinstance(tensors[0], Tensor) else results


def unsqueezed(ndim: int, v: Tensor) -> Tensor:
    """A tensor with at least `ndim` dimensions: missing ones have size 1."""
    if v.array.ndim >= ndim:
        return v
    if v.array.ndim == 0:
        return View.forward(v, (1,) * ndim)
    row = Unsqueeze.forward(v, 0) if v.array.ndim == 1 else v
    return Unsqueeze.forward(row, 2) if ndim == 3 else row


@op
def atleast_1d(*tensors: Any) -> Any:
    """A 0-d tensor as a vector; any other unchanged."""
    return at_least(1, tensors)


@op
def atleast_2d(*tensors: Any) -> Any:
    """A 0-d tensor as (1, 1), a vector as a row; any other unchanged."""
    return at_least(2, tensors)


@op
def atleast_3d(*tensors: Any) -> Any:
    """A 0-d tensor as (1, 1, 1), a vector as (1, n, 1), a matrix as (n, m, 1); any other unchanged."""
    return at_least(3, tensors)
