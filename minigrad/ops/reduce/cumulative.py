"""Running reductions along a dimension (`cumsum`, `cummax`, …), products, differences of neighbours, and integrals by
the trapezoidal rule.

The gradients of a running product and of a running logsumexp are both a sum carried backwards along the dimension,
each step by a factor: `carried` computes all steps at once, without division, so that zeros are exact. A running
product without zeros divides, as in PyTorch: the gradient of an infinite factor is then NaN.
"""

import math
from typing import Any, ClassVar

import numpy as np

from minigrad import return_types
from minigrad._base.dtype import HALVES, as_dtype
from minigrad._base.dtype import dtype as dtype_type
from minigrad.backends.batched import Batched
from minigrad.backends.numpy import FLOAT32, accumulated
from minigrad.backends.registry import backend_of, device_like
from minigrad.core import Node, Tensor, plain, record1
from minigrad.history.inplace import in_place
from minigrad.ops._dispatch import op, refuse, row_by_row, tensor_method
from minigrad.ops.pointwise.add import Sub
from minigrad.ops.pointwise.compare import ne
from minigrad.ops.pointwise.div import DivScalar
from minigrad.ops.pointwise.mul import MulScalar
from minigrad.ops.reduce import sums
from minigrad.ops.reduce.minmax import Selection
from minigrad.ops.reduce.sums import converted, kept_shape, one_of, wanted_dtype
from minigrad.ops.shape.flip import Flip
from minigrad.ops.shape.join import Cat
from minigrad.ops.shape.slices import Select, Slice
from minigrad.ops.shape.views import dim_of, view
from minigrad.ops.tensor.copy import Copy

__all__ = [
    "cummax", "cummin", "cumprod", "cumsum", "cumulative_trapezoid", "diff", "logcumsumexp", "prod", "trapezoid",
    "trapz",
]

FLOAT64 = np.dtype("float64")
multiply: Any = np.multiply.reduce  # NumPy's types accept only literals for `keepdims`


def part(dim: int, start: int | None, stop: int | None, step: int | None = None) -> tuple[slice, ...]:
    """The index of a slice along a dimension."""
    return (*(slice(None),) * dim, slice(start, stop, step))


def reversed_along(xp: Any, x: Any, dim: int) -> Any:
    return xp.getitem(x, part(dim, None, None, -1))


def scaled(xp: Any, factor: Any, x: Any) -> Any:
    """`factor * x`; in a first-order pass 0 where the factor is 0, even of an infinite or NaN `x`."""
    return factor * x if isinstance(factor, Tensor) else xp.masked(factor != 0, factor * x)


def carried(xp: Any, g: Any, factor: Any, dim: int) -> Any:
    """`r` with `r[i] = g[i] + factor[i] * r[i + 1]` along a dimension; the last factor is ignored.

    By doubling (Hillis and Steele, 1986): after k passes each element has summed the 2^k elements from itself on.
    """
    size, step = g.shape[dim], 1
    while step < size:
        head, tail, rest = part(dim, None, -step), part(dim, step, None), part(dim, -step, None)
        more = xp.getitem(g, head) + scaled(xp, xp.getitem(factor, head), xp.getitem(g, tail))
        g = xp.concatenate((more, xp.getitem(g, rest)), dim)
        factor = xp.concatenate((xp.getitem(factor, head) * xp.getitem(factor, tail), xp.getitem(factor, rest)), dim)
        step *= 2
    return g


def rolled(xp: Any, x: Any, dim: int) -> Any:
    """`x` shifted by one towards the start of a dimension; the first element becomes the last."""
    return xp.concatenate((xp.getitem(x, part(dim, 1, None)), xp.getitem(x, part(dim, None, 1))), dim)


def accumulate(op: Any, x: Any, dim: int) -> Any:
    """A running reduction along a dimension, for float32 in float64, as in PyTorch, for halves in float32."""
    if not x.ndim:
        return x.copy()
    wide: Any = FLOAT32 if x.dtype in HALVES else FLOAT64 if x.dtype is FLOAT32 else x.dtype
    kept = x.astype(wide)
    result = accumulated(op, kept, dim, None if wide.kind == "f" else wide, kept)  # floats keep their dtype anyway
    if op is not np.multiply and wide.kind == "f":
        result += 0.0  # a sum starts at 0, so that of -0. is 0.
    return as_dtype(result, x.dtype, copy=False)


class Cumulation(Node, number=None):
    constants = ("dim",)
    ufunc: ClassVar[Any]

    @classmethod
    def values(cls, x: Any, dim: int) -> Any:
        return accumulate(cls.ufunc, x, dim)

    @classmethod
    def forward(cls, a: Tensor, dim: int, dtype: Any = None) -> Tensor:
        x, input_metadata = converted(a.array, dtype)
        y = row_by_row(cls.values(x, dim))
        return record1(cls, y, a, (a, y) if cls.saves else (), (dim,), input_metadata)


class Cumsum(Cumulation):
    ufunc = np.add

    def backward(self, xp: Any, g: Any, dim: int) -> Any:
        return summed_after(xp, g, dim) if g.ndim else g


def summed_after(xp: Any, x: Any, dim: int) -> Any:
    """The sum of each element and all after it along a dimension."""
    return xp.apply(Flip, xp.apply(Cumsum, xp.apply(Flip, x, (dim,)), dim), (dim,))


def has_zero(a: Any) -> bool:
    """Whether an element is 0, or may be: among examples of a batch, of which each may have one."""
    x = a.array if isinstance(a, Tensor) else a
    return type(x) is Batched or bool((x == 0).any())


class Cumprod(Cumulation):
    saves = ("self", "result")
    ufunc = np.multiply

    def backward(self, xp: Any, g: Any, a: Any, y: Any, dim: int) -> Any:
        if not g.ndim or 0 in g.shape or g.shape[dim] == 1:
            return g
        if not has_zero(a):
            return summed_after(xp, y * g, dim) / a
        return scaled(xp, exclusive(xp, y, dim), carried(xp, g, rolled(xp, a, dim), dim))


class Prod(Node):
    saves = ("self", "result")

    @staticmethod
    def forward(a: Tensor, dtype: Any = None) -> Tensor:
        x, input_metadata = converted(a.array, dtype)
        y = product(x, None)
        return record1(Prod, y, a, (a, y), (), input_metadata)

    def backward(self, xp: Any, g: Any, a: Any, y: Any) -> Any:
        if not a.ndim:
            return g
        if not has_zero(a):
            return g * (y / a)
        if math.prod(a.shape) == 1:
            return xp.reshape(g, a.shape)
        if not isinstance(a, Tensor) and type(a) is not Batched and (a == 0).sum() > 1:  # even for a NaN gradient
            return xp.zeros(a.shape, a)
        return xp.reshape(g * products_of_others(xp, xp.reshape(a, (math.prod(a.shape),)), 0), a.shape)


class ProdDim(Node, name="Prod", number=1):
    saves = ("self", "result")
    constants = ("dim", "keepdim")

    @staticmethod
    def forward(a: Tensor, dim: int, keepdim: bool, dtype: Any = None) -> Tensor:
        x, input_metadata = converted(a.array, dtype)
        y = product(x, dim if x.ndim else None, keepdim)
        return record1(ProdDim, y, a, (a, y), (dim, keepdim, kept_shape(x.shape, (dim,))), input_metadata)

    def backward(self, xp: Any, g: Any, a: Any, y: Any, dim: int, keepdim: bool, kept: tuple[int, ...]) -> Any:
        if not a.ndim:
            return g
        g, y = xp.reshape(g, kept), xp.reshape(y, kept)
        if not has_zero(a):
            return g * (y / a)
        return g if a.shape[dim] == 1 else g * products_of_others(xp, a, dim)


class Logcumsumexp(Cumulation):
    saves = ("self", "result")
    ufunc = np.logaddexp

    def backward(self, xp: Any, g: Any, a: Any, y: Any, dim: int) -> Any:
        if not g.ndim or 0 in g.shape:
            return g
        after = rolled(xp, y, dim)
        return xp.exp(a - y) * carried(xp, xp.masked(g == g, g), xp.exp(xp.masked(y != after, y - after)), dim)


class Cummax(Selection):
    """The maximum so far, and its index: the last of several; NaN counts as the maximum."""

    saves = ("self", "indices")
    ufunc: ClassVar[Any] = np.maximum

    def backward(self, xp: Any, g: Any, a: Any, *rest: Any) -> Any:
        return Selection.backward(self, xp, g, *rest)

    @classmethod
    def running(cls, a: Tensor, dim: int) -> tuple[Tensor, Tensor]:
        """PyTorch checks the dimension only if there are elements."""
        x = a.array
        if not x.ndim:
            if dim not in (0, -1):
                raise IndexError(f"{cls.op.lower()}(): Expected reduction dim -1 or 0 for scalar but got {dim}")
            return cls.forward(a, 0, np.zeros((), np.int64, like=device_like(x)))
        dim = dim_of(dim, x.ndim) if x.size else 0
        hit = (x == accumulated(cls.ufunc, x, dim)) | (x != x)
        count = np.arange(x.shape[dim], dtype=np.int64, like=x).reshape((-1, *(1,) * (x.ndim - 1 - dim)))
        return cls.forward(a, dim, row_by_row(accumulated(np.maximum, np.where(hit, count, 0), dim)))


class Cummin(Cummax):
    ufunc = np.minimum


def product(x: Any, dim: int | None, keepdim: bool = False) -> Any:
    """The product of the elements, for halves in float32."""
    wide = FLOAT32 if x.dtype in HALVES else x.dtype
    if backend_of(x) is not None:
        return as_dtype(x.prod(dim, wide, keepdims=keepdim), x.dtype, copy=False)
    return row_by_row(as_dtype(multiply(x, dim, wide, keepdims=keepdim), x.dtype, copy=False))


def exclusive(xp: Any, y: Any, dim: int) -> Any:
    """Running products of the elements before each one, from the running products."""
    first = xp.getitem(y, part(dim, None, 1))
    return xp.concatenate((xp.zeros(first.shape, y) + 1, xp.getitem(y, part(dim, None, -1))), dim)


def products_of_others(xp: Any, a: Any, dim: int) -> Any:
    """For each element the product of all others along a dimension, without division."""
    if not a.ndim:
        return xp.zeros((), a) + 1
    before = exclusive(xp, xp.apply(Cumprod, a, dim), dim)
    return before * reversed_along(xp, exclusive(xp, xp.apply(Cumprod, reversed_along(xp, a, dim), dim), dim), dim)


@op(method=True)
def prod(input: Tensor, dim: int | None = None, keepdim: bool = False, *, dtype: dtype_type | None = None) -> Tensor:
    """The product of the elements, of all or along `dim`; for integers and bools it is int64. Raises IndexError if
    `dim` is out of range."""
    target_dtype = wanted_dtype(input, dtype)
    if dim is None:
        return Prod.forward(input, target_dtype)
    return ProdDim.forward(input, dim_of(dim, input.array.ndim), keepdim, target_dtype)


def cumulation(name: str, node: type[Cumulation], doc: str) -> Any:
    """The function `torch.cumsum` or `torch.cumprod`, with its in-place method."""
    def function(input: Tensor, dim: int, *, dtype: dtype_type | None = None) -> Tensor:
        axis = dim_of(dim, input.array.ndim)
        if dtype is not None and dtype.name == "bool" and input.array.ndim and input.array.size:
            refuse(f"{name}_out_cpu", dtype.numpy)
        return node.forward(input, axis, wanted_dtype(input, dtype))

    def method_in_place(self: Tensor, dim: int, *, dtype: dtype_type | None = None) -> Tensor:
        return in_place(function, self, dim, dtype=self.dtype if dtype is None else dtype)

    function.__doc__, method_in_place.__doc__ = doc, f"`{name}`, in place and in the dtype of the tensor."
    tensor_method(name=f"{name}_")(method_in_place)
    return op(method=True, name=name)(function)


cumsum = cumulation(
    "cumsum", Cumsum, "The sum of each element and all before it along `dim`; integers and bools sum to int64.")
cumprod = cumulation(
    "cumprod", Cumprod, "The product of each element and all before it along `dim`; int64 for integers and bools.")


@op(method=True)
def logcumsumexp(input: Tensor, dim: int) -> Tensor:
    """The logarithm of the sum of exponentials of each element and all before it along `dim`."""
    axis = dim_of(dim, input.array.ndim)
    if input.array.dtype.kind != "f":
        refuse("logcumsumexp_out_cpu", input.array.dtype)
    return Logcumsumexp.forward(input, axis)


@op(method=True)
def cummax(input: Tensor, dim: int) -> return_types.cummax:
    """The maximum of each element and all before it along `dim`, and its index, the last of several."""
    return return_types.cummax(Cummax.running(input, dim))


@op(method=True)
def cummin(input: Tensor, dim: int) -> return_types.cummin:
    """The minimum of each element and all before it along `dim`; otherwise as `cummax`."""
    return return_types.cummin(Cummin.running(input, dim))


@op(method=True)
def diff(input: Tensor, n: int = 1, dim: int = -1, prepend: Tensor | None = None,
         append: Tensor | None = None) -> Tensor:
    """The differences of neighbours along `dim`, taken `n` times; for bools by `!=`.

    `prepend`, `append`: tensors joined to the input first. Raises RuntimeError for a 0-d input, a negative `n`, or
    parts that do not fit.
    """
    if not input.array.ndim:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    axis = dim_of(dim, input.array.ndim)
    parts = [check_fits(input, tensor, axis) for tensor in (prepend, input, append) if tensor is not None]
    out = Cat.forward(parts, axis) if len(parts) > 1 else input
    if not n:
        return Copy.forward(plain(np.zeros_like(input.array)), input)
    for _ in range(min(n, out.array.shape[axis])):
        size = out.array.shape[axis]
        ends = Slice.forward(out, axis, slice(1, size)), Slice.forward(out, axis, slice(0, size - 1))
        out = ne(*ends) if out.array.dtype.kind == "b" else Sub.forward(*ends)
    return out


def check_fits(input: Tensor, other: Tensor, dim: int) -> Tensor:
    shape, other_shape = input.array.shape, other.array.shape
    if len(shape) != len(other_shape):
        raise RuntimeError("diff expects prepend or append to be the same dimension as input")
    for i, (m, n) in enumerate(zip(shape, other_shape, strict=True)):
        if m != n and i != dim:
            raise RuntimeError("diff expects the shape of tensor to prepend or append to match that of input except "
                               f"along the differencing dimension; input.size({i}) = {m}, but got tensor.size({i}) = "
                               f"{n}")
    return other


def ends(x: Tensor, axis: int) -> tuple[Tensor, Tensor]:
    """All slices but the first, and all but the last."""
    n = x.array.shape[axis]
    return Slice.forward(x, axis, slice(1, n)), Slice.forward(x, axis, slice(0, n - 1))


def distances(what: str, y: Tensor, x: Tensor, axis: int) -> Tensor:
    """The distances between the sample points `x`, in a shape that broadcasts against `y`."""
    shape, points = y.array.shape, x.array.shape
    if len(points) == 1:
        if points[0] != shape[axis]:
            raise RuntimeError(f"{what}: There must be one `x` value for each sample point")
        x = view(x, *[points[0] if d == axis else 1 for d in range(len(shape))])
    elif len(points) < len(shape):
        x = view(x, *[1] * (len(shape) - len(points)), *points)
    later, earlier = ends(x, axis)
    return later - earlier


@op(aliases=("trapz",))
def trapezoid(y: Tensor, x: Tensor | None = None, *, dx: Any = 1, dim: int = -1) -> Tensor:
    """The integral along `dim` of a function with values `y`, sampled at `x`, or at points a distance `dx` apart.

    Args:
        y: samples, of any shape.
        x: the sample points: a vector as long as `dim`, or a tensor that broadcasts against `y`.

    Raises RuntimeError if the numbers of points and samples differ.
    """
    axis = one_of(dim, y.array.ndim)
    size = y.array.shape[axis]
    if not size:
        return sums.sum(y, axis)
    if x is None:
        first, last = Select.forward(y, axis, 0), Select.forward(y, axis, size - 1)
        return MulScalar.forward(sums.sum(y, axis) - MulScalar.forward(first + last, 0.5), dx)
    gaps = distances("trapezoid", y, x, axis)
    left, right = ends(y, axis)
    return DivScalar.forward(sums.sum((left + right) * gaps, axis), 2.0)


trapz = trapezoid


@op
def cumulative_trapezoid(y: Tensor, x: Tensor | None = None, *, dx: Any = 1, dim: int = -1) -> Tensor:
    """The integrals from the first sample to each later one, computed as by `trapezoid`."""
    axis = one_of(dim, y.array.ndim)
    left, right = ends(y, axis)
    if x is None:
        return cumsum(MulScalar.forward(left + right, dx / 2.0), axis)
    areas = (left + right) * distances("cumulative_trapezoid", y, x, axis)
    return DivScalar.forward(cumsum(areas, axis), 2.0)
