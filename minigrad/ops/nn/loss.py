"""Elementwise losses between an input and a target. Losses of classes are in cross_entropy.py."""

import math
import warnings
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from minigrad._base.dtype import Size, as_dtype, result_dtype
from minigrad.backends.numpy import FLOAT32, total
from minigrad.backends.registry import backend_of
from minigrad.core import Node, Tensor, record2, record_n
from minigrad.ops._dispatch import (
    NO_BOOLS_MINUS,
    broadcast_and_promote,
    broadcast_shape,
    check_cast,
    check_kind,
    refuse,
    same_device,
    widened,
)
from minigrad.ops._dispatch.memory_order import in_order_of
from minigrad.ops.activation.smooth import LogSigmoid
from minigrad.ops.pointwise.arithmetic import Sub
from minigrad.ops.pointwise.elementary import Abs, Neg
from minigrad.ops.pointwise.power import Pow
from minigrad.ops.reduce.sums import mean, sum
from minigrad.ops.shape.views import Expand
from minigrad.ops.tensor.copy import mismatch

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
        spread = (1 - a) * a
        of_target = None
        if self.next[1] is not None:
            of_target = scale * (bounded(xp, xp.log(1 - a)) - bounded(xp, xp.log(a)))
        return scale * ((a - b) / xp.where(spread > 1e-12, spread, 1e-12)), of_target


def bounded(xp: Any, x: Any) -> Any:
    """`x`, but at least -100."""
    return xp.where(x > -100, x, -100.0)


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

    `weight`: one for each element; a mean is then divided by their sum.

    Raises:
        ValueError: for another reduction, or weights of another shape.
        RuntimeError: if the shapes do not broadcast.
    """
    reduction = checked(size_average, reduce, reduction)
    input, target = together(input, target)
    if weight is None:
        return MseLoss.forward(input, target, reduction)
    check_weight(weight, input)
    return weighted(Pow.forward(Sub.forward(input, target), 2), weight, reduction)


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
    """The cross entropy of probabilities and targets, both in [0, 1].

    Raises:
        ValueError: if the shapes differ.
        RuntimeError: if an element of `input` is not a probability.
    """
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
    """The cross entropy of `sigmoid(input)` and targets in [0, 1]; `pos_weight`: the weight of the targets 1.

    Raises:
        ValueError: if the shapes differ.
    """
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
    """log(1 + exp(-target * input)) for targets of 1 and -1, reduced.

    Raises:
        RuntimeError: if the target's shape does not broadcast to the input's, or the input's dtype is not real.
    """
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
