"""Integrals of samples by the trapezoidal rule: `trapezoid` and `cumulative_trapezoid`.

Between two samples the integral is their distance times the mean of their values.
"""

from typing import Any

from minigrad.core import Tensor
from minigrad.ops._dispatch import op
from minigrad.ops.pointwise.scalar import DivScalar, MulScalar
from minigrad.ops.reduce import sums
from minigrad.ops.reduce.cumulative import cumsum
from minigrad.ops.reduce.sums import one_of
from minigrad.ops.shape.slices import Select, Slice
from minigrad.ops.shape.views import view

__all__ = ["cumulative_trapezoid", "trapezoid", "trapz"]


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

    Raises:
        RuntimeError: if the numbers of points and samples differ.
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
