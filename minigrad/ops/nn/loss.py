"""Losses between an input and a target: elementwise ones, and those of margins, distances and distributions, which are
composed of other ops as in PyTorch. Losses of classes are in cross_entropy.py.
"""

import math
import operator
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

import numpy as np

from minigrad._base.contexts import SIGNALS, silently
from minigrad._base.dtype import Size, as_dtype, result_dtype
from minigrad._base.tensor_errors import mismatch
from minigrad.backends.numpy import FLOAT32, add_at, total
from minigrad.backends.registry import backend_of, device_like
from minigrad.core import Node, Tensor, plain, record2, record_n
from minigrad.history.inplace import in_place
from minigrad.ops._dispatch import (
    NO_BOOLS_MINUS,
    broadcast_and_promote,
    broadcast_shape,
    check_cast,
    check_kind,
    input_metadata_of,
    refuse,
    same_device,
    underived,
    widened,
)
from minigrad.ops._dispatch.memory_order import in_order_of
from minigrad.ops.activation import LogSigmoid
from minigrad.ops.index.flat_indexing import raw
from minigrad.ops.index.mask import MaskedFill
from minigrad.ops.linalg.norms import pairwise_distance
from minigrad.ops.pointwise.add import AddScalar, Sub, SubScalar
from minigrad.ops.pointwise.minmax import ClampMin, Minimum
from minigrad.ops.pointwise.mul import MulScalar
from minigrad.ops.pointwise.pow import Pow
from minigrad.ops.pointwise.ternary import Where
from minigrad.ops.pointwise.unary import Abs, Exp, Log, Neg
from minigrad.ops.reduce.sums import mean, sum
from minigrad.ops.shape.views import Expand, Unsqueeze
from minigrad.ops.special.functions import Logit, Xlogy
from minigrad.ops.tensor.copy import Clone
from minigrad.ops.tensor.storage import size

__all__ = ["binary_cross_entropy", "binary_cross_entropy_with_logits", "cosine_embedding_loss", "gaussian_nll_loss",
           "hinge_embedding_loss", "huber_loss", "kl_div", "l1_loss", "margin_ranking_loss", "mse_loss",
           "multi_margin_loss", "multilabel_margin_loss", "multilabel_soft_margin_loss", "poisson_nll_loss",
           "smooth_l1_loss", "soft_margin_loss", "triplet_margin_loss", "triplet_margin_with_distance_loss"]

Flag = bool | None
REDUCTIONS = {"none": 0, "mean": 1, "sum": 2}  # their numbers in PyTorch


class Loss(Node, number=None):
    """The form of a loss as one op: `values` for each element, then their mean, their sum, or neither.

    The first constant of the formula is the share of each element in the result.
    """

    kernel: ClassVar[str]
    values: ClassVar[Callable[..., Any]]
    like_input: ClassVar[bool] = False  # whether the result has the input's dtype, whatever the target's is
    saves = ("self", "target")
    constants: ClassVar[tuple[str, ...]] = ("", "reduction")

    @classmethod
    def forward(cls: Any, a: Tensor, b: Tensor, reduction: str, *const: Any) -> Tensor:
        """The loss of two Tensors of one shape."""
        x, y, input_metadata = broadcast_and_promote(a.array, b.array)
        dtype = a.array.dtype if cls.like_input else x.dtype
        check_cast(x.dtype, dtype)
        if x.dtype.kind != "f":
            refuse(cls.kernel, x.dtype)
        losses = cls.values(x, y, *const)
        losses = losses if losses.dtype is dtype else as_dtype(losses, dtype)
        return record_loss(cls, losses, a, b, (a, b), reduction, const, input_metadata)


def record_loss(cls: type[Node], losses: Any, a: Tensor, b: Tensor, saved: tuple[Any, ...], reduction: str,
                const: tuple[Any, ...] = (), input_metadata: Any = None) -> Tensor:
    """Record the reduced losses of elements as the result of an op on two Tensors."""
    loss, share = reduced(losses, reduction)
    if reduction != "none":
        input_metadata = tuple([(v.array.shape, v.array.dtype) for v in (a, b)])
    return record2(cls, loss, a, b, saved, (share, *const, REDUCTIONS[reduction]), input_metadata)


def reduced(losses: Any, reduction: str) -> tuple[Any, float]:
    """The mean or the sum of elements, or the elements themselves; and the share of each in it."""
    if reduction == "none":
        return losses, 1.0
    count = losses.size if reduction == "mean" else 1
    return total(losses, None, count=count), 1 / count if count else math.nan


def difference(xp: Any, a: Any, b: Any) -> Any:
    """`a - b` of Tensors in a recorded pass, one of which may hold bools: arrays subtract these, Tensors do not."""
    a, b = [xp.cast(v, xp.dtype(other)) if xp.dtype(v).kind == "b" else v for v, other in ((a, b), (b, a))]
    return a - b


class MseLoss(Loss):
    """The squares of the differences."""

    kernel = "mse_cpu"

    @staticmethod
    def values(x: Any, y: Any) -> Any:
        d = x - y
        return d * d

    def backward(self, xp: Any, g: Any, a: Any, b: Any, share: float, _: int) -> tuple[Any, Any]:
        d = a - b if xp is not Tensor.backward_namespace else difference(xp, a, b)
        d = d * (g * (2 * share))
        return d, -d


class SmoothL1Loss(Loss):
    """Half the square of a difference over beta, where that is less than beta; else the difference, less beta / 2."""

    kernel = "smooth_l1_cpu"
    constants = ("", "beta", "reduction")

    @staticmethod
    def values(x: Any, y: Any, beta: float) -> Any:
        d = abs(x - y)
        return np.where(d < beta, 0.5 * d * d / beta, d - 0.5 * beta)

    def backward(self, xp: Any, g: Any, a: Any, b: Any, share: float, beta: float, _: int) -> tuple[Any, Any]:
        d = a - b if xp is not Tensor.backward_namespace else difference(xp, a, b)
        slope = xp.where((d >= beta) | (d <= -beta), xp.sign(d), d / beta) * (g * share)  # for NaN it is NaN
        return slope, -slope


class HuberLoss(Loss):
    """Half the square of a difference that is at most delta; else the difference, less delta / 2, times delta."""

    kernel = "huber_cpu"
    like_input = True
    constants = ("", "delta", "reduction")

    @staticmethod
    def values(x: Any, y: Any, delta: float) -> Any:
        d = abs(x - y)
        return np.where(d <= delta, 0.5 * d * d, delta * (d - 0.5 * delta))

    def backward(self, xp: Any, g: Any, a: Any, b: Any, share: float, delta: float, _: int) -> tuple[Any, Any]:
        d = a - b if xp is not Tensor.backward_namespace else difference(xp, a, b)
        slope = xp.where((d >= delta) | (d <= -delta), xp.sign(d) * delta, d) * (g * share)  # for NaN it is NaN
        return slope, -slope


class BinaryCrossEntropy(Node):
    """-(y * log(x) + (1 - y) * log(1 - x)) for probabilities x; logarithms are at least -100."""

    saves = ("self", "target", "weight")
    constants = ("", "reduction")

    @staticmethod
    def forward(a: Tensor, b: Tensor, weight: Tensor | None, reduction: str) -> Tensor:
        x, y = a.array, b.array
        if x.dtype.kind != "f":
            refuse("binary_cross_entropy", x.dtype)
        for name, v in (("input", x), ("target", y)):
            if backend_of(v) is None and not ((v >= 0) & (v <= 1)).all():  # checking a device would block
                raise RuntimeError(f"all elements of {name} should be between 0 and 1")
        same_device(x, y, *([] if weight is None else [weight.array]))
        losses = (y - 1) * np.maximum(np.log1p(-x), -100) - y * np.maximum(np.log(x), -100)
        losses = losses if weight is None else losses * weight.array
        return record_loss(BinaryCrossEntropy, losses, a, b, (a, b, weight), reduction)

    def backward(self, xp: Any, g: Any, a: Any, b: Any, w: Any, share: float, _: int) -> tuple[Any, Any]:
        scale = g * share if w is None else w * (g * share)
        of_target = None if self.next[1] is None else -scale * xp.apply(Logit, a, None)
        return xp.apply(BinaryCrossEntropyBackward, scale, a, b), of_target


class BinaryCrossEntropyBackward(Node):
    """Its derivative by the probabilities x, times `g`; at 0 and 1 the divisor is 1e-12, in second derivatives as
    PyTorch adds it there."""

    saves = ("grad_output", "self", "target")

    @staticmethod
    def values(g: Any, x: Any, y: Any) -> Any:
        """On arrays."""
        return g * ((x - y) / np.maximum((1 - x) * x, x.dtype.type(1e-12)))

    @staticmethod
    def forward(g: Tensor, a: Tensor, b: Tensor) -> Tensor:
        slope = BinaryCrossEntropyBackward.values(g.array, a.array, b.array)
        return record_n(BinaryCrossEntropyBackward, slope, (g, a, b), (g, a, b), (),
                        input_metadata_of(slope.shape, slope.dtype, g.array, a.array, b.array))

    def backward(self, xp: Any, gg: Any, g: Any, a: Any, b: Any) -> tuple[Any, Any, Any]:
        spread, spaced = (1 - a) * a, (a + 1e-12) * (1 - a + 1e-12)
        return (gg * ((a - b) / spaced), gg * g * ((a * a - 2 * a * b + b) / (spaced * spaced)),
                -gg * g / xp.where(spread > 1e-12, spread, 1e-12))


class BinaryCrossEntropyWithLogits(Node):
    """The same for x = sigmoid(input), without underflow; `pos_weight` is the weight of the targets 1."""

    saves = ("self", "target", "weight", "pos_weight")
    constants = ("", "reduction")

    @staticmethod
    def forward(a: Tensor, b: Tensor, weight: Tensor | None, pos_weight: Tensor | None, reduction: str) -> Tensor:
        same_device(a.array, b.array, *[v.array for v in (weight, pos_weight) if v is not None])
        x, y, input_metadata = broadcast_and_promote(a.array, b.array)
        wide = widened(x)
        log = LogSigmoid.values(wide)
        log = log if pos_weight is None else log * ((pos_weight.array - 1) * y + 1)
        factor = (1 - y) * wide
        losses = as_dtype(in_order_of(factor - log, factor), b.array.dtype, copy=False)
        if weight is not None:
            losses = as_dtype(losses * weight.array, losses.dtype, copy=False)
        saved = (a, b, weight, pos_weight)
        return record_loss(BinaryCrossEntropyWithLogits, losses, a, b, saved, reduction, (), input_metadata)

    def backward(self, xp: Any, g: Any, a: Any, b: Any, w: Any, p: Any, share: float, _: int) -> tuple[Any, Any]:
        scale = g * share if w is None else w * (g * share)
        of_target = None
        if self.next[1] is not None:
            of_target = -scale * (a if p is None else a + (p - 1) * xp.apply(LogSigmoid, a))
        if p is None:
            return scale * (xp.sigmoid(a) - b), of_target
        t = p * b
        return scale * ((t + 1 - b) * xp.sigmoid(a) - t), of_target


class SoftMarginLoss(Node):
    """log(1 + exp(-y * x)) for targets y of 1 and -1."""

    saves = ("self", "target")
    constants = ("", "reduction")

    @staticmethod
    def forward(a: Tensor, b: Tensor, reduction: str) -> Tensor:
        x, y, input_metadata = broadcast_and_promote(a.array, b.array)
        loss, share = reduced(as_dtype(np.log1p(np.exp(-y * x)), a.array.dtype, copy=False), reduction)
        metadata = input_metadata[:1] if reduction == "none" else ((a.array.shape, a.array.dtype),)
        return record_n(SoftMarginLoss, loss, (a,), (a, b), (share, REDUCTIONS[reduction]), metadata)

    def backward(self, xp: Any, g: Any, a: Any, b: Any, share: float, _: int) -> Any:
        return b * xp.sigmoid(-b * a) * (g * -share)


def reduction_of(size_average: Flag, reduce: Flag, reduction: str, stacklevel: int = 3) -> str:
    """The reduction asked for, including by the two deprecated flags, with their warning."""
    if size_average is None and reduce is None:
        return reduction
    old = "none" if reduce is not None and not reduce else "mean" if size_average is None or size_average else "sum"
    warnings.warn("size_average and reduce args will be deprecated, please use "
                  f"reduction='{old}' instead.", UserWarning, stacklevel=stacklevel + 1)
    return old


def checked(size_average: Flag, reduce: Flag, reduction: str) -> str:
    """One of PyTorch's reductions; a ValueError for any other."""
    reduction = reduction_of(size_average, reduce, reduction, 4)
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return reduction


def apply_reduction(losses: Tensor, reduction: str) -> Tensor:
    """The mean or the sum of a tensor, or the tensor itself."""
    return losses if reduction == "none" else mean(losses) if reduction == "mean" else sum(losses)


def together(input: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """Both operands broadcast to one shape; with PyTorch's warning if their shapes differ."""
    m, n = input.array.shape, target.array.shape
    if m != n:
        warnings.warn(f"Using a target size ({Size(n)}) that is different to the input size ({Size(m)}). This will "
                      "likely lead to incorrect results due to broadcasting. Please ensure they have the same size.",
                      UserWarning, stacklevel=3)
        shape = broadcast_shape(m, n)
        input = input if m == shape else Expand.forward(input, shape)
        target = target if n == shape else Expand.forward(target, shape)
    return input, target


def underivable(name: str, **inputs: Tensor | None) -> None:
    """Raise PyTorch's error for an input that requires grad, but has no derivative."""
    for argument, value in inputs.items():
        if value is not None and value._requires_grad:
            raise RuntimeError(f"The function '{name}' is not differentiable with respect to argument '{argument}'. "
                               "This input cannot have requires_grad True.")


def weighted(losses: Tensor, weight: Tensor | None, reduction: str) -> Tensor:
    """Losses times weights, reduced; a mean is divided by the sum of the weights."""
    if weight is None:
        return apply_reduction(losses, reduction)
    scaled = losses * weight
    return sum(scaled) / sum(weight) if reduction == "mean" else apply_reduction(scaled, reduction)


def check_weight(weight: Tensor | None, input: Tensor) -> None:
    """Raise PyTorch's error for weights of another shape."""
    if weight is not None and weight.array.shape != input.array.shape:
        raise ValueError("Weights and input must have the same size.")


def mse_loss(input: Tensor, target: Tensor, size_average: Flag = None, reduce: Flag = None,
             reduction: str = "mean", weight: Tensor | None = None) -> Tensor:
    """The mean (or sum, or none) of the squared differences; `size_average` and `reduce` are deprecated.

    `weight`: one for each element; a mean is then divided by their sum. Raises ValueError for another reduction, or
    weights of another shape, and RuntimeError if the shapes do not broadcast.
    """
    try:
        reduction = checked(size_average, reduce, reduction)
        input, target = together(input, target)
        if weight is None:
            return MseLoss.forward(input, target, reduction)
        check_weight(weight, input)
        return weighted(Pow.forward(Sub.forward(input, target), 2), weight, reduction)
    except SIGNALS as error:
        return silently(error, mse_loss, input, target, reduction=reduction, weight=weight)


def l1_loss(input: Tensor, target: Tensor, size_average: Flag = None, reduce: Flag = None,
            reduction: str = "mean", weight: Tensor | None = None) -> Tensor:
    """The mean (or sum, or none) of the absolute differences; arguments and errors as in `mse_loss`."""
    reduction = checked(size_average, reduce, reduction)
    losses = Abs.forward(Sub.forward(*together(input, target)))
    check_weight(weight, input)
    return weighted(losses, weight, reduction)


def smooth_l1_loss(input: Tensor, target: Tensor, size_average: Flag = None, reduce: Flag = None,
                   reduction: str = "mean", beta: float = 1.0) -> Tensor:
    """Half the squared difference over `beta` below `beta` (≥ 0); above it, the difference - `beta` / 2."""
    reduction = checked(size_average, reduce, reduction)
    input, target = together(input, target)
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    if beta == 0:
        return apply_reduction(Abs.forward(Sub.forward(input, target)), reduction)
    return SmoothL1Loss.forward(input, target, reduction, beta)


def huber_loss(input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0,
               weight: Tensor | None = None) -> Tensor:
    """Half the squared difference up to `delta` (> 0); above it, `delta` times (the difference - `delta` / 2)."""
    reduction = checked(None, None, reduction)
    input, target = together(input, target)
    if delta <= 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    if weight is None:
        return HuberLoss.forward(input, target, reduction, delta)
    check_weight(weight, input)
    return apply_reduction(HuberLoss.forward(input, target, "none", delta) * weight, reduction)


def binary_cross_entropy(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: Flag = None,
                         reduce: Flag = None, reduction: str = "mean") -> Tensor:
    """The cross entropy of probabilities and targets, both in [0, 1]. Raises ValueError if the shapes differ, and
    RuntimeError if an element of `input` is not a probability."""
    reduction = checked(size_average, reduce, reduction)
    x, y = input.array, target.array
    if x.shape != y.shape:
        raise ValueError(f"Using a target size ({Size(y.shape)}) that is different to the input size "
                         f"({Size(x.shape)}) is deprecated. Please ensure they have the same size.")
    if weight is not None:
        sizes = weight.array.shape
        for dim in range(-1, -len(sizes) - 1, -1):
            if -dim > y.ndim or sizes[dim] not in (1, y.shape[dim]):
                raise RuntimeError(f"Attempting to broadcast a dimension of length {sizes[dim]} at {dim}! Mismatching "
                                   f"argument at index 1 had {Size(sizes)}; but expected shape should be broadcastable "
                                   f"to {list(y.shape)}")
        weight = Expand.forward(weight, y.shape)
    underivable("binary_cross_entropy", weight=weight)
    if x.dtype != y.dtype:
        raise RuntimeError(f"Found dtype {target.dtype.type_name} but expected {input.dtype.type_name}")
    return BinaryCrossEntropy.forward(input, target, weight, reduction)


def binary_cross_entropy_with_logits(input: Tensor, target: Tensor, weight: Tensor | None = None,
                                     size_average: Flag = None, reduce: Flag = None, reduction: str = "mean",
                                     pos_weight: Tensor | None = None) -> Tensor:
    """The cross entropy of `sigmoid(input)` and targets in [0, 1]; `pos_weight`: the weight of the targets 1. Raises
    ValueError if the shapes differ."""
    reduction = checked(size_average, reduce, reduction)
    if input.array.shape != target.array.shape:
        raise ValueError(f"Target size ({Size(target.array.shape)}) must be the same as input size "
                         f"({Size(input.array.shape)})")
    underivable("binary_cross_entropy_with_logits", weight=weight, pos_weight=pos_weight)
    check_kind(input.array, "bui", "log_sigmoid_cpu")
    if target.array.dtype.kind == "b":
        raise RuntimeError(NO_BOOLS_MINUS)
    check_cast(input.array.dtype, target.array.dtype)
    return BinaryCrossEntropyWithLogits.forward(input, target, weight, pos_weight, reduction)


def soft_margin_loss(input: Tensor, target: Tensor, size_average: Flag = None, reduce: Flag = None,
                     reduction: str = "mean") -> Tensor:
    """log(1 + exp(-target * input)) for targets of 1 and -1, reduced. Raises RuntimeError if the target's shape does
    not broadcast to the input's, or the input's dtype is not real."""
    reduction = checked(size_average, reduce, reduction)
    underivable("soft_margin_loss", target=target)
    x, y = input.array, target.array
    if x.dtype.kind == "b":
        Neg.forward(input)  # raises
    if broadcast_shape(x.shape, y.shape) != x.shape:
        raise RuntimeError(mismatch(x.shape, y.shape))
    check_cast(result_dtype(x, y), x.dtype)
    check_cast(FLOAT32, x.dtype)
    return SoftMarginLoss.forward(input, target, reduction)


def kl_div(input: Tensor, target: Tensor, size_average: Flag = None, reduce: Flag = None, reduction: str = "mean",
           log_target: bool = False) -> Tensor:
    """The Kullback-Leibler divergence of log-probabilities from probabilities (`log_target`: their logarithms).

    `reduction` may also be 'batchmean', the actual divergence: the sum divided by the batch size.
    """
    old = size_average is not None or reduce is not None
    if reduction == "mean" and not old:
        warnings.warn("reduction: 'mean' divides the total loss by both the batch size and the support size."
                      "'batchmean' divides only by the batch size, and aligns with the KL div math definition."
                      "'mean' will be changed to behave the same as 'batchmean' in the next major release.",
                      UserWarning, stacklevel=2)
    if any(v.array.dtype.kind != "f" for v in (input, target)):
        raise RuntimeError("kl_div: Integral inputs not supported.")
    how = checked(size_average, reduce, "sum" if reduction == "batchmean" else reduction)
    losses = Exp.forward(target) * (target - input) if log_target else Xlogy.forward(target, target) - target * input
    loss = apply_reduction(losses, how)
    return loss / input.array.shape[0] if reduction == "batchmean" and not old and input.array.ndim else loss


def poisson_nll_loss(input: Tensor, target: Tensor, log_input: bool = True, full: bool = False,
                     size_average: Flag = None, eps: float = 1e-8, reduce: Flag = None,
                     reduction: str = "mean") -> Tensor:
    """exp(input) - target * input; with `log_input=False` input - target * log(input + eps).

    `full`: add Stirling's approximation of the term that does not depend on the input.
    """
    reduction = checked(size_average, reduce, reduction)
    if log_input:
        losses = Exp.forward(input) - target * input
    else:
        losses = input - target * Log.forward(AddScalar.forward(input, eps))
    if full:
        half_log = MulScalar.forward(Log.forward(MulScalar.forward(target, 2 * math.pi)), 0.5)
        stirling = target * Log.forward(target) - target + half_log
        losses = losses + MaskedFill.forward(stirling, plain(target.array <= 1), 0)
    return apply_reduction(losses, reduction)


def gaussian_nll_loss(input: Tensor, target: Tensor, var: Tensor | float, full: bool = False, eps: float = 1e-6,
                      reduction: str = "mean") -> Tensor:
    """(log(var) + (input - target)² / var) / 2, where `var` is at least `eps`; `full`: with its constant term. Raises
    ValueError if `var` has a negative element, or a shape that does not fit."""
    if isinstance(var, float):
        if var < 0:
            raise ValueError("var has negative entry/entries")
        var = plain(np.ones_like(input.array)) * var
    elif (var.array < 0).any():
        raise ValueError("var has negative entry/entries")
    m, n = input.array.shape, var.array.shape
    if m != n:
        if m[:-1] == n:
            var = Unsqueeze.forward(var, len(n))
        elif len(m) != len(n) or [b for a, b in zip(m, n, strict=True) if b and a != b] != [1]:
            raise ValueError("var is of incorrect size")
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not valid")
    spread = Clone.forward(var)
    in_place(ClampMin.forward, plain(spread.array), eps)  # not part of the graph
    losses = (Log.forward(spread) + Pow.forward(input - target, 2) / spread) * 0.5
    return apply_reduction(losses + 0.5 * math.log(2 * math.pi) if full else losses, reduction)


def hinge_embedding_loss(input: Tensor, target: Tensor, margin: float = 1.0, size_average: Flag = None,
                         reduce: Flag = None, reduction: str = "mean") -> Tensor:
    """The input where the target is 1; where it is -1, max(0, margin - input)."""
    reduction = checked(size_average, reduce, reduction)
    short, t = ClampMin.forward(filled_like(input, margin) - input, 0), target.array
    return apply_reduction(where_or_zero(t != 1, short) + where_or_zero(t != -1, input), reduction)


def filled_like(v: Tensor, value: float) -> Tensor:
    """A tensor filled with a number, with the shape and dtype of another."""
    return plain(np.full(v.array.shape, value, v.array.dtype, like=device_like(v.array)))


def where_or_zero(condition: Any, v: Tensor) -> Tensor:
    """The elements where a condition holds, else 0."""
    return Where.forward(plain(condition), v, filled_like(v, 0))


def margin_ranking_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0, size_average: Flag = None,
                        reduce: Flag = None, reduction: str = "mean") -> Tensor:
    """max(0, -target * (input1 - input2) + margin), for targets of 1 and -1; a RuntimeError for unlike dimensions."""
    reduction = checked(size_average, reduce, reduction)
    if not input1.array.ndim == input2.array.ndim == target.array.ndim:
        raise RuntimeError("margin_ranking_loss : All input tensors should have same dimension but got sizes: input1: "
                           f"{Size(input1.array.shape)}, input2: {Size(input2.array.shape)}, target: "
                           f"{Size(target.array.shape)} ")
    difference = input1 - input2
    return apply_reduction(ClampMin.forward(AddScalar.forward(-target * difference, margin), 0), reduction)


def triplet_margin_loss(anchor: Tensor, positive: Tensor, negative: Tensor, margin: float = 1.0, p: float = 2,
                        eps: float = 1e-6, swap: bool = False, size_average: Flag = None, reduce: Flag = None,
                        reduction: str = "mean") -> Tensor:
    """max(0, d(anchor, positive) - d(anchor, negative) + margin), where d is the p-norm of the difference.

    `swap`: the distance between positive and negative is used instead of d(anchor, negative) where it is smaller.
    Raises ValueError if the margin is not positive, or for another reduction, and RuntimeError if the numbers of
    dimensions differ.
    """
    distance = partial(pairwise_distance, p=p, eps=eps)
    reduction = checked(size_average, reduce, reduction)
    return triplet_loss(anchor, positive, negative, distance, AddScalar.forward, margin, swap, reduction)


def triplet_margin_with_distance_loss(anchor: Tensor, positive: Tensor, negative: Tensor, *,
                                      distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
                                      margin: float = 1.0, swap: bool = False, reduction: str = "mean") -> Tensor:
    """`triplet_margin_loss` with a user-defined distance."""
    distance = pairwise_distance if distance_function is None else distance_function
    return triplet_loss(anchor, positive, negative, distance, operator.add, margin, swap, reduction)


def triplet_loss(anchor: Tensor, positive: Tensor, negative: Tensor, distance: Callable[[Tensor, Tensor], Tensor],
                 add: Callable[[Tensor, float], Tensor], margin: float, swap: bool, reduction: str) -> Tensor:
    """The loss of triplets by a distance. `add` adds the margin, by the op whose node PyTorch's function records."""
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    dims = [v.array.ndim for v in (anchor, positive, negative)]
    if len(set(dims)) > 1:
        raise RuntimeError("The anchor, positive, and negative tensors are expected to have the same number of "
                           f"dimensions, but got: anchor {dims[0]}D, positive {dims[1]}D, and negative {dims[2]}D "
                           "inputs")
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = Minimum.forward(far, distance(positive, negative))
    return apply_reduction(ClampMin.forward(add(near, margin) - far, 0), reduction)


def cosine_embedding_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0, size_average: Flag = None,
                          reduce: Flag = None, reduction: str = "mean") -> Tensor:
    """1 - cos where the target is 1; where it is -1, max(0, cos - margin). Raises RuntimeError if the dimensions of
    target and inputs do not fit."""
    reduction = checked(size_average, reduce, reduction)
    ndim = target.array.ndim
    if ndim > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if input1.array.ndim != ndim + 1 or input2.array.ndim != ndim + 1:
        raise RuntimeError(f"{ndim}D target tensor expects {ndim + 1}D input tensors, but found inputs with sizes "
                           f"{list(input1.array.shape)} and {list(input2.array.shape)}.")
    inner = sum(input1 * input2, ndim)
    squares1, squares2 = [AddScalar.forward(sum(v * v, ndim), 1e-12) for v in (input1, input2)]
    cosine = inner / (squares1 * squares2).sqrt()
    above, t = ClampMin.forward(SubScalar.forward(cosine, margin), 0), target.array
    losses = where_or_zero(t == 1, filled_like(cosine, 1) - cosine) + where_or_zero(t == -1, above)
    return apply_reduction(losses, reduction)


def multilabel_soft_margin_loss(input: Tensor, target: Tensor, weight: Tensor | None = None,
                                size_average: Flag = None, reduce: Flag = None, reduction: str = "mean") -> Tensor:
    """The mean over the classes (the last dimension) of `binary_cross_entropy_with_logits`."""
    reduction = reduction_of(size_average, reduce, reduction)
    loss = -(target * LogSigmoid.forward(input) + (1 - target) * LogSigmoid.forward(-input))
    if weight is not None:
        loss = loss * weight
    loss = sum(loss, input.array.ndim - 1) / size(input, -1)
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not valid")
    return apply_reduction(loss, reduction)


class MultiMarginLoss(Node):
    """For each row, the mean over its classes of max(0, margin - x[target] + x[i])^p; the target itself counts 0."""

    saves = ("self", "target")
    constants = ("margin", "p", "", "", "reduction")

    @staticmethod
    def forward(a: Tensor, target: Tensor, margin: float, p: int, weight: Any, reduction: str) -> Tensor:
        x = a.array.reshape(-1, *a.array.shape[-1:] or (1,))
        index = (np.arange(len(x), like=x), target.array.reshape(-1))
        gaps = np.maximum(margin - x[index][:, None] + x, 0) ** p
        gaps[index] = 0
        even = np.full(len(x), 1 / x.shape[1], x.dtype, like=device_like(x))
        share = even if weight is None else weight[index[1]] / x.shape[1]
        loss, part = reduced(gaps.sum(1) * share, reduction)
        loss = loss.reshape(a.array.shape[:-1]) if reduction == "none" else loss
        const = margin, p, index, as_dtype(share * part, x.dtype), REDUCTIONS[reduction]
        return record_n(MultiMarginLoss, loss, (a,), (a, target), const)

    def backward(self, xp: Any, g: Any, a: Any, target: Any, margin: float, p: int, index: Any, share: Any,
                 _: int) -> Any:
        return xp.apply(MultiMarginLossBackward, g, a, margin, p, index, share)


class MultiMarginLossBackward:
    """The derivative; it has none itself, as in PyTorch."""

    @staticmethod
    def values(g: Any, a: Any, margin: float, p: int, index: Any, share: Any) -> Any:
        rows = a.reshape(len(share), -1)
        gaps = margin - rows[index][:, None] + rows
        slopes = np.where(gaps > 0, (1 if p == 1 else 2 * gaps) * share[:, None], 0)
        slopes[index] = 0
        slopes[index] = 0 - slopes.sum(1)  # not -0
        return as_dtype((slopes * g.reshape(-1, 1)).reshape(a.shape), a.dtype, copy=False)

    @staticmethod
    def forward(g: Tensor, a: Tensor, *const: Any) -> Tensor:
        return underived("multi_margin_loss_backward", MultiMarginLossBackward.values(g.array, a.array, *const), g, a)


def multi_margin_loss(input: Tensor, target: Tensor, p: int = 1, margin: float = 1.0, weight: Tensor | None = None,
                      size_average: Flag = None, reduce: Flag = None, reduction: str = "mean") -> Tensor:
    """The sum over classes i ≠ t of max(0, margin - input[t] + input[i])^p / C, for the target t; `p` is 1 or 2.

    Raises ValueError for another `p`, or weights that are not a vector, and RuntimeError if the shapes do not fit, or a
    target is not a class.
    """
    reduction = checked(size_average, reduce, reduction)
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and weight.array.ndim != 1:
        raise ValueError("weight must be one-dimensional")
    x, t = input.array, target.array
    if x.ndim > 2 or 0 in x.shape[-1:]:
        raise RuntimeError("Expected non-empty vector or matrix with optional 0-dim batch size, but got: "
                           f"{list(x.shape)}")
    rows, classes = x.shape[0] if x.ndim == 2 else 1, x.shape[-1] if x.ndim else 1
    if x.ndim == 2 and t.shape != (rows,) or t.size != rows:
        raise RuntimeError("multi_margin_loss: target tensor should be 1-D with size equal to the number of input "
                           f"samples (batch size). Expected target size [{rows}], but got {list(t.shape)}. Input has "
                           f"shape {list(x.shape)}.")
    underivable("multi_margin_loss", weight=weight)
    check_kind(x, "bui", "multi_margin_loss_cpu_kernel")
    if weight is not None and weight.array.size != classes:
        raise RuntimeError(f"inconsistent weight size, expected {classes} but got {list(weight.array.shape)}")
    if t.dtype.name != "int64":
        raise RuntimeError(f"expected scalar type Long but found {target.dtype.type_name}")
    if weight is not None and weight.array.dtype != x.dtype:
        raise RuntimeError(f"expected scalar type {input.dtype.type_name} but found {weight.dtype.type_name}")
    same_device(x, t, *([] if weight is None else [weight.array]))
    if backend_of(t) is None and ((t < 0) | (t >= classes)).any():  # checking a device would block
        raise RuntimeError("target out of range")
    return MultiMarginLoss.forward(input, target, margin, p, None if weight is None else weight.array, reduction)


class MultilabelMarginLoss(Node):
    """For each row, the sum over its targets j and other classes i of max(0, 1 - (x[j] - x[i])), over the classes.

    The targets of a row end at its first -1.
    """

    saves = ("self", "target", "is_target")
    constants = ("", "", "reduction")

    @staticmethod
    def forward(a: Tensor, target: Tensor, reduction: str) -> Tensor:
        rows, labels = [np.atleast_2d(v.array) for v in (a, target)]
        listed = np.logical_and.accumulate(labels >= 0, 1)
        marked = np.zeros(rows.shape, rows.dtype, like=device_like(rows))
        row, column = np.nonzero(listed)
        marked[row, labels[row, column]] = 1
        gaps = gaps_of(rows, labels, listed, marked)
        loss, part = reduced(gaps.sum((1, 2)) / rows.dtype.type(rows.shape[1]), reduction)
        loss = loss.reshape(a.array.shape[:-1]) if reduction == "none" else loss
        share = np.full(len(rows), part / rows.shape[1], rows.dtype, like=device_like(rows))
        is_target = plain(marked.reshape(a.array.shape))
        const = listed, share, REDUCTIONS[reduction]
        return record_n(MultilabelMarginLoss, as_dtype(loss, rows.dtype), (a,), (a, target, is_target), const)

    def backward(self, xp: Any, g: Any, a: Any, target: Any, is_target: Any, listed: Any, share: Any, _: int) -> Any:
        return xp.apply(MultilabelMarginLossBackward, g, a, raw(target), raw(is_target), listed, share)


def gaps_of(rows: Any, labels: Any, listed: Any, marked: Any) -> Any:
    """max(0, 1 - (x[j] - x[i])) for each listed target j and each class i that is not a target."""
    chosen = np.take_along_axis(rows, np.maximum(labels, 0), 1)
    gaps = np.maximum(1 - chosen[:, :, None] + rows[:, None, :], 0)
    return gaps * listed[:, :, None] * (1 - marked)[:, None, :]


class MultilabelMarginLossBackward:
    """The derivative; it has none itself, as in PyTorch."""

    @staticmethod
    def values(g: Any, a: Any, target: Any, is_target: Any, listed: Any, share: Any) -> Any:
        rows, labels, marked = [np.atleast_2d(v) for v in (a, target, is_target)]
        above = (gaps_of(rows, labels, listed, marked) > 0) * share[:, None, None]
        slopes = above.sum(1)
        row, column = np.nonzero(listed)
        add_at(slopes, (row, labels[row, column]), -above.sum(2)[row, column])
        return as_dtype((slopes * g.reshape(-1, 1)).reshape(a.shape), a.dtype, copy=False)

    @staticmethod
    def forward(g: Tensor, a: Tensor, *const: Any) -> Tensor:
        values = MultilabelMarginLossBackward.values(g.array, a.array, *const)
        return underived("multilabel_margin_loss_backward", values, g, a)


def multilabel_margin_loss(input: Tensor, target: Tensor, size_average: Flag = None, reduce: Flag = None,
                           reduction: str = "mean") -> Tensor:
    """max(0, 1 - (input[j] - input[i])) summed over target classes j and other classes i, over C: (N, C) or (C).

    Args:
        target: class numbers in the shape of `input`; the first -1 ends a row.

    Raises RuntimeError if the shapes do not fit, or a target is not a class.
    """
    reduction = checked(size_average, reduce, reduction)
    x, t = input.array, target.array
    if x.ndim > 2 or 0 in x.shape[-1:]:
        raise RuntimeError("Expected non-empty vector or matrix with optional 0-dim batch size, but got: "
                           f"{list(x.shape)}")
    if x.shape != t.shape:
        raise RuntimeError(f"inconsistent target size: {list(t.shape)} for input of size: {list(x.shape)}")
    check_kind(x, "bui", "multilabel_margin_loss_forward_out_frame")
    if t.dtype.name != "int64":
        raise RuntimeError(f"expected scalar type Long but found {target.dtype.type_name}")
    same_device(x, t)
    classes = x.shape[-1] if x.ndim else 1
    if backend_of(t) is None and t.size and (t.min() < -1 or t.max() >= classes):
        raise RuntimeError("argument #2 'target' is out of range")
    return MultilabelMarginLoss.forward(input, target, reduction)
