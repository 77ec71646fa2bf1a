"""Variances, standard deviations and covariances."""

import math
from typing import Any, ClassVar

import numpy as np

from minigrad._base.dtype import HALVES, as_dtype
from minigrad._base.warnings import warn
from minigrad.backends.numpy import FLOAT32, total
from minigrad.core import ManyOutputs, Node, Tensor, plain, record1, record_many
from minigrad.ops._dispatch import op, widened
from minigrad.ops.linalg.matmul import mm
from minigrad.ops.pointwise.add import Sub
from minigrad.ops.pointwise.div import Div
from minigrad.ops.pointwise.minmax import Clamp
from minigrad.ops.pointwise.mul import Mul, MulScalar
from minigrad.ops.pointwise.unary import Sqrt
from minigrad.ops.reduce.sums import Dims, all_axes_of, kept_shape, sum
from minigrad.ops.shape.diagonal import Diagonal
from minigrad.ops.shape.views import squeeze, t, unsqueeze, view

__all__ = ["corrcoef", "cov", "std", "std_mean", "var", "var_mean"]

Shape = tuple[int, ...]
FEW = ("{}: degrees of freedom is <= 0. Correction should be strictly less than the reduction factor (input numel "
       "divided by output numel).")
FEW_OBSERVATIONS = ("cov(): degrees of freedom is <= 0. Correction should be strictly less than the number of "
                    "observations.")


def freedom(count: int, correction: float | None) -> float:
    """The divisor of a sum of squares; a correction of None is 1."""
    return count - (1 if correction is None else correction)


def moments(x: Any, axes: Shape, correction: float | None, keepdim: bool) -> tuple[Any, Any]:
    """The variance and mean of an array; for float16 in float32."""
    wide = widened(x)
    count = math.prod([x.shape[i] for i in axes])
    mean = total(wide, axes, keepdims=True, count=count)
    deviations = wide - mean
    squares = total(deviations * deviations, axes, keepdims=keepdim)
    variance = squares / squares.dtype.type(max(0.0, freedom(count, correction)) if count else 0)
    return as_dtype(variance, x.dtype, copy=False), as_dtype(mean.reshape(variance.shape), x.dtype, copy=False)


def all_if_none(axes: Shape | None, ndim: int) -> Shape:
    """The dimensions to reduce; None: all of them."""
    return tuple(range(ndim)) if axes is None else axes


def from_variance(xp: Any, g: Any, a: Any, correction: float | None, over: Shape | None) -> Any:
    """The gradient of `a` from that of its variance: 2 (a - mean) / (count - correction).

    Where the divisor is not positive, PyTorch's formula for a variance over all dimensions differs.
    """
    axes = all_if_none(over, a.ndim)
    count = math.prod([a.shape[i] for i in axes])
    wide = xp.cast(a, FLOAT32) if xp.dtype(a) in HALVES else a
    deviations = wide - xp.sum(wide, axes, True) / count
    deviations = xp.cast(deviations, xp.dtype(a)) if wide is not a else deviations
    degrees = freedom(count, correction)
    if degrees <= 0 and (over is None or not a.ndim):
        return g * xp.cast(xp.where(deviations == 0, math.nan, math.inf), xp.dtype(g))
    return g * (2 / degrees if degrees else math.inf) * deviations


def from_deviation(xp: Any, g: Any, y: Any) -> Any:
    """The gradient of the variance from that of its square root `y`: 0 where it is 0."""
    return xp.masked(y != 0, g / (2 * y))


def forward(cls: type[Node], a: Tensor, correction: float | None, over: Shape | None, keepdim: bool) -> Any:
    """The forward of all four ops: of the variance or, for an op that saves its result, of the square root."""
    axes = all_if_none(over, a.array.ndim)
    first, mean = moments(a.array, axes, correction, keepdim)
    saved: tuple[Any, ...] = (a,)
    if len(cls.saves) == 2:
        first = np.sqrt(first)
        saved = (a, first)
    const = correction, over, kept_shape(a.array.shape, axes), keepdim
    if issubclass(cls, ManyOutputs):
        return record_many(cls, (first, mean), a, const, saved)
    return record1(cls, first, a, saved, const)


class Var(Node):
    saves: ClassVar[tuple[str, ...]] = ("self",)
    constants = ("correction", "dim", "", "keepdim")

    forward = classmethod(forward)

    def backward(self, xp: Any, g: Any, a: Any, correction: float | None, over: Shape | None, kept: Shape,
                 *_: Any) -> Any:
        return from_variance(xp, xp.reshape(g, kept), a, correction, over)


class Std(Var):
    saves = ("self", "result")

    def backward(self, xp: Any, g: Any, a: Any, y: Any, *const: Any) -> Any:
        return Var.backward(self, xp, from_deviation(xp, g, y), a, *const)


class VarMean(ManyOutputs):
    saves: ClassVar[tuple[str, ...]] = ("self",)
    constants = ("correction", "dim", "", "keepdim")
    fills_missing = False

    forward = classmethod(forward)

    def backward(self, xp: Any, gs: list[Any], a: Any, correction: float | None, over: Shape | None, kept: Shape,
                 *_: Any) -> Any:
        g, of_mean = [None if g is None else xp.reshape(g, kept) for g in gs]
        if of_mean is not None:
            of_mean = xp.zeros(a.shape, a) + of_mean / math.prod([a.shape[i] for i in all_if_none(over, a.ndim)])
        if g is None:
            return of_mean
        of_variance = from_variance(xp, g, a, correction, over)
        return of_variance if of_mean is None else of_variance + of_mean


class StdMean(VarMean):
    saves = ("self", "result0")

    def backward(self, xp: Any, gs: list[Any], a: Any, y: Any, *const: Any) -> Any:
        of_variance = None if gs[0] is None else from_deviation(xp, gs[0], y)
        return VarMean.backward(self, xp, [of_variance, gs[1]], a, *const)


def spread(name: str, node: Any, doc: str) -> Any:
    """The function `torch.var`, or another of the four; those with two results are not methods."""
    def function(input: Tensor, dim: Dims | bool = None, unbiased: bool | None = None, keepdim: bool = False, *,
                 correction: float | None = None) -> Any:
        if isinstance(dim, bool):  # `var(input, False)`
            dim, unbiased = None, dim
        if not input.dtype.is_floating_point:
            what = name if "mean" in name else "std and var"
            raise RuntimeError(f"{what} only support floating point and complex dtypes")
        shape = input.array.shape
        axes = all_axes_of(dim, len(shape))
        if correction is None and (unbiased is not None or dim is not None):  # only then PyTorch's nodes have a number
            correction = 0 if unbiased is False else 1
        result = node.forward(input, correction, None if dim is None else axes, keepdim)
        if freedom(0 if 0 in shape else math.prod([shape[i] for i in axes]), correction) <= 0:
            warn(FEW.format(f"{name}()"))  # last: an op that NumPy interrupts is computed again
        return result

    function.__doc__ = doc
    return op(method="mean" not in name, name=name)(function)


var = spread("var", Var, """\
The variance over all dimensions or over `dim`: the sum of squares / (count - `correction`).

    `correction`: by default 1; the older `unbiased` is 1 if True, 0 if False. It warns if the divisor is not positive.
    Raises RuntimeError for an integer or bool tensor.
    """)
std = spread("std", Std, "The square root of the variance; otherwise as `var`.")
var_mean = spread("var_mean", VarMean, "The variance and the mean; otherwise as `var`.")
std_mean = spread("std_mean", StdMean, "The standard deviation and the mean; otherwise as `var`.")


def check_weights(name: str, weights: Tensor | None, count: int, real: bool) -> Tensor | None:
    if weights is None:
        return None
    if weights.array.ndim > 1:
        raise RuntimeError(f"cov(): expected {name} to have one or fewer dimensions but got {name} with "
                           f"{weights.array.ndim} dimensions")
    if weights.dtype.is_floating_point is not real or weights.dtype.name == "bool":
        raise RuntimeError(f"cov(): expected {name} to have {'floating point' if real else 'integral'} dtype but got "
                           f"{name} with {weights.dtype.type_name} dtype")
    if weights.array.size != count:
        raise RuntimeError(f"cov(): expected {name} to have the same numel as there are observations in the input but "
                           f"got {weights.array.size} != {count}")
    if weights.array.size and weights.array.min() < 0:
        raise RuntimeError(f"cov(): {name} cannot be negative")
    return weights


def weighted(rows: Tensor, weights: Tensor | None) -> Tensor:
    return rows if weights is None else Mul.forward(rows, weights)


@op(method=True)
def cov(input: Tensor, *, correction: int = 1, fweights: Tensor | None = None,
        aweights: Tensor | None = None) -> Tensor:
    """The covariances of the rows of a matrix: rows are variables, columns are observations.

    `fweights`: how often each observation occurred; `aweights`: its relative weight. Composed of other ops, as in
    PyTorch's Correlation.cpp. Raises RuntimeError for more than two dimensions, bools, and weights that do not fit.
    """
    if input.array.ndim > 2:
        raise RuntimeError("cov(): expected input to have two or fewer dimensions but got an input with "
                           f"{input.array.ndim} dimensions")
    if input.array.dtype.kind == "b":
        raise RuntimeError("cov(): bool dtype is not supported for input")
    rows = view(input, 1, -1) if input.array.ndim < 2 else input
    count = rows.array.shape[1]
    fweights = check_weights("fweights", fweights, count, False)
    aweights = check_weights("aweights", aweights, count, True)
    weights = aweights if fweights is None else fweights if aweights is None else Mul.forward(fweights, aweights)
    total_weight = plain(np.asarray(count)) if weights is None else sum(weights)
    if weights is not None and total_weight.item() == 0:
        raise RuntimeError("cov(): weights sum to zero, can't be normalized")
    divisor = Sub.forward(total_weight, correction) if correction else total_weight
    if weights is not None and aweights is not None and correction:
        squares = MulScalar.forward(sum(Mul.forward(weights, aweights)), correction)
        divisor = Sub.forward(total_weight, Div.forward(squares, total_weight))
    if divisor.item() <= 0:
        warn(FEW_OBSERVATIONS)
        divisor = plain(np.zeros_like(divisor.array))
    deviations = Sub.forward(rows, unsqueeze(Div.forward(sum(weighted(rows, weights), 1), total_weight), 1))
    return squeeze(Div.forward(mm(deviations, t(weighted(deviations, weights))), divisor))


@op(method=True)
def corrcoef(input: Tensor) -> Tensor:
    """The correlation coefficients of the rows of a matrix: covariances over both standard deviations. Raises
    RuntimeError for more than two dimensions."""
    if input.array.ndim > 2:
        raise RuntimeError("corrcoef(): expected input to have two or fewer dimensions but got an input with "
                           f"{input.array.ndim} dimensions")
    c = cov(input)
    if not c.array.ndim:
        return Div.forward(c, c)
    deviation = Sqrt.forward(Diagonal.forward(c, 0, 0, 1))
    c = Div.forward(Div.forward(c, view(deviation, -1, 1)), view(deviation, 1, -1))
    return Clamp.forward(c, -1, 1)
