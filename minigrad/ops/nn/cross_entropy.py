"""Losses of classes: nll_loss and cross_entropy. As in PyTorch, cross_entropy is log_softmax, then nll_loss."""

import math
from typing import Any

import numpy as np

from minigrad._base.dtype import as_dtype
from minigrad.backends.numpy import total
from minigrad.backends.registry import backend_of, device_like
from minigrad.core import Node, Tensor, plain, record1, record_n
from minigrad.ops._dispatch import Scaled, check_kind, same_device
from minigrad.ops.activation.softmax import log_softmax
from minigrad.ops.index.mask import MaskedFill
from minigrad.ops.nn.loss import REDUCTIONS, Flag, checked
from minigrad.ops.pointwise.scalar import AddScalar, DivScalar, MulScalar
from minigrad.ops.reduce.sums import sum
from minigrad.ops.shape.views import View
from minigrad.ops.tensor.storage import size


class Place(Node):
    """Zeros of a shape, with values at an index that addresses no element twice."""

    @staticmethod
    def values(part: Any, index: Any, shape: tuple[int, ...]) -> Any:
        out = np.zeros(shape, part.dtype, like=device_like(part))
        out[index] = part
        return out

    @staticmethod
    def forward(part: Tensor, index: Any, shape: tuple[int, ...]) -> Tensor:
        return record1(Place, Place.values(part.array, index, shape), part, (), (index,))

    def backward(self, xp: Any, g: Any, index: Any) -> Any:
        return xp.getitem(g, index)


class NllLoss(Node):
    """Minus the element of each row at its target, times the weight of that class.

    For the derivative it saves the index of these elements, and the share of each in the result: 0 for ignored ones.
    """

    saves = ("self", "target", "weight")
    constants = ("", "", "", "reduction")
    kernel = "nll_loss_out_frame"

    @classmethod
    def forward(cls, a: Tensor, target: Tensor, weight: Tensor | None, reduction: str, ignored: int) -> Tensor:
        x, t = a.array, target.array
        check_kind(x, "bui", cls.kernel)
        same_device(x, t, *([] if weight is None else [weight.array]))
        count, here = x.shape[min(1, x.ndim - 1)], backend_of(t) is None  # checking a device would block
        keep: Any = None  # which targets count; None: all of them
        if here and weight is None and t.size and t.min() >= 0 and t.max() < count and not 0 <= ignored < count:
            classes, all_count = t, True
        else:
            keep = t != ignored
            all_count = here and keep.all()
            classes = t if all_count else np.where(keep, t, 0)
            wrong: Any = (classes < 0) | (classes >= count) if here else None
            if here and wrong.any():
                raise IndexError(f"Target {classes[wrong].flat[0]} is out of bounds.")
        index = index_of(classes, x.ndim)
        picked: Any = x[index] if all_count else np.where(keep, x[index], x.dtype.type(0))
        if keep is None:
            share = np.ones_like(picked)
        elif weight is None:
            share = as_dtype(keep, x.dtype)
        else:
            share = np.where(keep, weight.array[classes], x.dtype.type(0))
        loss = -picked if keep is None else -picked * share
        if reduction != "none":
            loss = total(loss, None)
        if reduction == "mean":
            weights = total(share, None)
            loss, share = loss / weights, share / weights
        return record_n(cls, loss, (a,), (a, target, weight), (-share, index, x.shape, REDUCTIONS[reduction]))

    def backward(self, xp: Any, g: Any, a: Any, target: Any, weight: Any, share: Any, index: Any,
                 shape: tuple[int, ...], _: int) -> Any:
        return xp.apply(Place, xp.apply(Scaled, g, share), index, shape)


class NllLoss2D(NllLoss, name="NllLoss2D"):
    """The same for images of shape (N, C, H, W), with a target for each pixel."""

    kernel = "nll_loss2d_forward_out_frame"


def index_of(classes: Any, ndim: int) -> Any:
    """The index of the targets' elements; dimension 1 of the input is the class."""
    if ndim == 1:
        return (classes,)
    if ndim == 2:
        return np.arange(len(classes), like=device_like(classes)), classes
    grid = [np.arange(n, like=device_like(classes)).reshape((n,) + (1,) * (classes.ndim - d - 1))
            for d, n in enumerate(classes.shape)]
    return (grid[0], classes, *grid[1:])


def check_target(input: Tensor, target: Tensor) -> None:
    """Raise PyTorch's errors for targets that do not fit an input of shape (C), (N, C) or (N, C, …)."""
    m, n = input.array.shape, target.array.shape
    if not m:
        raise ValueError("Expected 1 or more dimensions (got 0)")
    rows = n[0] if n else 0
    if len(m) > 1 and m[0] != rows:
        raise ValueError(f"Expected input batch_size ({m[0]}) to match target batch_size ({rows}).")
    if len(m) <= 2 and len(n) > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if len(m) == 4 and len(n) != 3:
        raise RuntimeError("only batches of spatial targets supported (3D tensors) but got targets of dimension: "
                           f"{len(n)}")
    if len(m) > 2 and len(m) != 4 and n[1:] != m[2:]:
        raise RuntimeError(f"Expected target size {[m[0], *m[2:]]}, got {list(n)}")
    if target.array.dtype.char not in "lqB":
        raise RuntimeError(f"expected target dtype to be Long or Byte, but got {target.dtype.type_name}")
    if len(m) == 4 and m[2:] != n[1:]:
        raise RuntimeError(f"size mismatch (got input: {list(m)} , target: {list(n)}")
    if len(m) == 1 and n and rows != 1:
        raise ValueError(f"For 1D input, 1D target must have size 1, but got target size: {rows}")
    if len(m) == 2:
        size(target, 0)  # raises if there is no such dimension


def check_class_weight(weight: Tensor | None, input: Tensor) -> None:
    """Raise PyTorch's errors unless there is one weight for each class, of the input's dtype."""
    if weight is None:
        return
    count = input.array.shape[min(1, input.array.ndim - 1)]
    if weight.array.size != count:
        raise RuntimeError(f"weight tensor should be defined either for all {count} classes or no classes but got "
                           f"weight tensor of shape: {list(weight.array.shape)}")
    if weight.array.dtype != input.array.dtype:
        raise RuntimeError(f"expected scalar type {input.dtype.type_name} but found {weight.dtype.type_name}")


def nll_loss(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: Flag = None,
             ignore_index: int = -100, reduce: Flag = None, reduction: str = "mean") -> Tensor:
    """Minus the log-probability of the target class: `input` (C), (N, C) or (N, C, …), `target` (), (N) or (N, …).

    A mean is weighted by the targets' class weights; targets equal to `ignore_index` do not count.

    Raises:
        IndexError: if a target is not a class.
        ValueError: for another reduction, or if the batch sizes differ.
        RuntimeError: if the shapes or dtypes do not fit.
    """
    return negative_log(input, target, weight, ignore_index, checked(size_average, reduce, reduction))


def negative_log(input: Tensor, target: Tensor, weight: Tensor | None, ignored: int, reduction: str) -> Tensor:
    """`nll_loss`; as in PyTorch, an input that is neither (N, C) nor 4-D is reshaped to one."""
    check_target(input, target)
    check_class_weight(weight, input)
    shape = input.array.shape
    if len(shape) <= 2:
        picked = target if len(shape) == 2 or not target.array.ndim else plain(target.array.reshape(()))
        return NllLoss.forward(input, picked, weight, reduction, ignored)
    if len(shape) == 4:
        return NllLoss2D.forward(input, target, weight, reduction, ignored)
    size = math.prod(shape[2:])
    rows = View.forward(input, (*shape[:2], 1, size))
    loss = NllLoss2D.forward(rows, plain(target.array.reshape(shape[0], 1, size)), weight, reduction, ignored)
    return View.forward(loss, target.array.shape) if reduction == "none" else loss


def cross_entropy(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: Flag = None,
                  ignore_index: int = -100, reduce: Flag = None, reduction: str = "mean",
                  label_smoothing: float = 0.0) -> Tensor:
    """The cross entropy of `softmax(input)` and targets: classes as in `nll_loss`, or probabilities like `input`.

    `label_smoothing`: the part of each target that is spread over all classes.

    Raises:
        IndexError, ValueError, RuntimeError: as in `nll_loss`.
    """
    reduction = checked(size_average, reduce, reduction)
    dim = 0 if input.array.ndim == 1 else 1
    if not 0 <= label_smoothing <= 1:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing:g}")
    if input.array.shape == target.array.shape:
        if target.array.dtype.kind != "f":
            raise RuntimeError("Expected floating point type for target with class probabilities, got "
                               f"{target.dtype.type_name}")
        if ignore_index >= 0:
            raise RuntimeError("ignore_index is not supported for floating point target")
        check_class_weight(weight, input)
        return of_probabilities(log_softmax(input, dim), target, weight, reduction, label_smoothing, dim)
    logs = log_softmax(input, dim)
    loss = negative_log(logs, target, weight, ignore_index, reduction)
    if not label_smoothing:
        return loss
    return smoothed(loss, logs, target, weight, ignore_index, reduction, label_smoothing, dim)


def along(weight: Tensor, dim: int, ndim: int) -> Tensor:
    """Class weights, in a shape that broadcasts along the class dimension."""
    return plain(weight.array.reshape([-1 if d == dim else 1 for d in range(ndim)]))


def of_probabilities(logs: Tensor, target: Tensor, weight: Tensor | None, reduction: str, smoothing: float,
                     dim: int) -> Tensor:
    """The cross entropy with targets that are probabilities."""
    shape = logs.array.shape
    if smoothing:
        target = AddScalar.forward(MulScalar.forward(target, 1 - smoothing), smoothing / shape[dim])
    products = logs * target
    if weight is not None:
        products = products * along(weight, dim, len(shape))
    if reduction == "none":
        return -sum(products, dim)
    loss = -sum(products)
    count = math.prod(shape) / shape[dim] if math.prod(shape) else 0
    return DivScalar.forward(loss, count) if reduction == "mean" else loss


def smoothed(loss: Tensor, logs: Tensor, target: Tensor, weight: Tensor | None, ignored: int, reduction: str,
             smoothing: float, dim: int) -> Tensor:
    """The loss of classes, with a part spread over all classes."""
    weighted = logs if weight is None else logs * along(weight, dim, logs.array.ndim)
    dropped = target.array == ignored
    spread = MaskedFill.forward(-sum(weighted, dim), plain(dropped), 0.0)
    if reduction != "none":
        spread = sum(spread)
    if reduction == "mean":
        count = (~dropped).sum() if weight is None else total(
            np.where(dropped, 0, weight.array[np.where(dropped, 0, target.array)]), None)
        spread = spread / plain(count)
    share = smoothing / logs.array.shape[dim]
    return MulScalar.forward(loss, 1 - smoothing) + MulScalar.forward(spread, share)
