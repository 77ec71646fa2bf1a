"""Losses of classes: nll_loss, cross_entropy, and ctc_loss, which is for sequences of them.

As in PyTorch, cross_entropy is log_softmax, then nll_loss. Connectionist temporal classification (ctc) is the
likelihood of a target over all its alignments. Letters may repeat and be separated by `blank`. An alignment is a walk
through the *states*: blank, first letter, blank, second letter, …, blank. `ahead[t, s]` is the log-likelihood of all
walks that reach state s at step t, `back[t, s]` that of all ways to continue from there to the end; both count step t
itself.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from minigrad._base.contexts import errstate
from minigrad._base.dtype import as_dtype, number_array
from minigrad.backends.batched import in_all_examples
from minigrad.backends.numpy import total
from minigrad.backends.registry import backend_of, device_like, on_host
from minigrad.core import Node, Tensor, plain, record1, record_n
from minigrad.ops._dispatch import Scaled, backward_of, check_kind, op, refuse, same_device, underived
from minigrad.ops._dispatch.arg_parser import parses_arguments
from minigrad.ops.index.mask import MaskedFill
from minigrad.ops.nn.loss import REDUCTIONS, Flag, checked
from minigrad.ops.nn.softmax import log_softmax
from minigrad.ops.pointwise.add import AddScalar
from minigrad.ops.pointwise.div import Div, DivScalar
from minigrad.ops.pointwise.mul import MulScalar
from minigrad.ops.pointwise.ternary import Where
from minigrad.ops.reduce.sums import mean, sum
from minigrad.ops.shape.views import SqueezeDim, Unsqueeze, View
from minigrad.ops.tensor.storage import size

__all__ = ["ctc_loss"]

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
    constants = ("", "", "", "", "reduction")
    kernel = "nll_loss_out_frame"

    @classmethod
    def forward(cls, a: Tensor, target: Tensor, weight: Tensor | None, reduction: str, ignored: int) -> Tensor:
        x, t = a.array, target.array
        check_kind(x, "bui", cls.kernel)
        same_device(x, t, *([] if weight is None else [weight.array]))
        backend, count = backend_of(t), x.shape[min(1, x.ndim - 1)]
        here = backend is None or on_host(backend)  # checking a device would block
        every = t if backend is None else in_all_examples(t)
        keep: Any = None  # which targets count; None: all of them
        if here and weight is None and every.size and every.min() >= 0 and every.max() < count and not (
                0 <= ignored < count):
            classes, all_count = t, True
        else:
            keep = t != ignored
            all_count = here and in_all_examples(keep).all()
            classes = t if all_count else np.where(keep, t, 0)
            used = in_all_examples(classes)
            wrong: Any = (used < 0) | (used >= count) if here else None
            if here and wrong.any():
                raise IndexError(f"Target {used[wrong].flat[0]} is out of bounds.")
        index = index_of(classes, x.ndim)
        picked: Any = x[index] if all_count else np.where(keep, x[index], x.dtype.type(0))
        if keep is None:
            share = -np.ones_like(picked)
        elif weight is None:
            share = 0 - as_dtype(keep, x.dtype)  # of what is ignored 0, not -0
        else:
            share = np.where(keep, -weight.array[classes], x.dtype.type(0))
        loss = picked * share if x.ndim > 1 else picked * share + 0  # of a vector 0, not -0
        if reduction != "none":
            loss = total(loss, None)
        if reduction == "mean":
            weights = -total(share, None)
            loss, share = loss / weights, share / weights
        const = share, None if all_count else keep, index, x.shape, REDUCTIONS[reduction]
        return record_n(cls, loss, (a,), (a, target, weight), const)

    def backward(self, xp: Any, g: Any, a: Any, target: Any, weight: Any, share: Any, keep: Any, index: Any,
                 shape: tuple[int, ...], _: int) -> Any:
        part = xp.apply(Scaled, g, share)
        part = xp.apply(Place, part if keep is None else xp.masked(keep, part), index, shape)
        return xp.apply(backward_of(type(self)), part, a)


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


def check_class_weight(weight: Tensor | None, input: Tensor, images: bool, caller: str = "") -> None:
    """Raise PyTorch's errors unless there is one weight for each class, of the input's dtype."""
    if weight is None:
        return
    count = input.array.shape[min(1, input.array.ndim - 1)]
    if weight.array.shape != (count,):
        raise RuntimeError(f"{caller}weight tensor should be defined either for all " + (
            "or no classes" if images else
            f"{count} classes or no classes but got weight tensor of shape: {list(weight.array.shape)}"))
    if weight.array.dtype != input.array.dtype:
        raise RuntimeError(f"expected scalar type {input.dtype.type_name} but found {weight.dtype.type_name}")


def nll_loss(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: Flag = None,
             ignore_index: int = -100, reduce: Flag = None, reduction: str = "mean") -> Tensor:
    """Minus the log-probability of the target class: `input` (C), (N, C) or (N, C, …), `target` (), (N) or (N, …).

    A mean is weighted by the targets' class weights; targets equal to `ignore_index` do not count. Raises IndexError if
    a target is not a class, ValueError for another reduction, or if the batch sizes differ, and RuntimeError if the
    shapes or dtypes do not fit.
    """
    return negative_log(input, target, weight, ignore_index, checked(size_average, reduce, reduction))


def negative_log(input: Tensor, target: Tensor, weight: Tensor | None, ignored: int, reduction: str) -> Tensor:
    """`nll_loss`; as in PyTorch, an input that is neither (N, C) nor 4-D is reshaped to one."""
    check_target(input, target)
    shape = input.array.shape
    check_class_weight(weight, input, len(shape) > 2)
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
        check_class_weight(weight, input, False, "cross_entropy: ")
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


WHILE = " (while checking arguments for ctc_loss_allocate_outputs)"


class States(NamedTuple):
    """For each text, `letters`: those of its states; `skips`: whether each state may follow the one two before it; and
    the numbers of steps and states."""

    letters: Any
    skips: Any
    steps: Any
    count: Any


class CtcLoss(Node):
    """Minus the log-likelihood of each text."""

    saves = ("log_probs", "result0")
    constants = ("", "", "blank", "input_lengths", "target_lengths", "zero_infinity")

    @staticmethod
    def forward(a: Tensor, states: States, blank: int, steps: Any, lengths: Any, zero_infinity: bool) -> Tensor:
        if a.array.dtype.name not in ("float32", "float64"):
            refuse("ctc_loss_cpu", a.array.dtype)
        ahead = walked(a.array, states)
        y = -as_dtype(ends(ahead, states), a.array.dtype)
        return record1(CtcLoss, y, a, (a, y), (states, ahead, blank, steps, lengths, zero_infinity))

    def backward(self, xp: Any, g: Any, a: Any, y: Any, states: States, ahead: Any, *names: Any) -> Any:
        return xp.apply(CtcLossBackward, g, a, y, states, ahead, names[-1])


class CtcLossBackward:
    """The derivative, assuming that the input comes from `log_softmax`; it has none itself, as in PyTorch."""

    @staticmethod
    def values(g: Any, x: Any, y: Any, states: States, ahead: Any, zero_infinity: bool) -> Any:
        through = ahead + walked(x, states, back=True)  # of all walks through a state; its letter is counted twice
        n = np.arange(x.shape[1])
        of_letter = np.full(x.shape, -math.inf, x.dtype)
        for s in range(states.letters.shape[1]):
            at = (slice(None), n, states.letters[:, s])
            of_letter[at] = np.logaddexp(of_letter[at], through[:, :, s])
        with errstate(invalid="ignore", over="ignore"):
            out = (np.exp(x) - np.exp(of_letter + y[:, None] - x)) * g[:, None]
        if zero_infinity:
            out[:, y == math.inf] = 0
        out[np.arange(len(x))[:, None] >= states.steps] = 0
        return out

    @staticmethod
    def forward(g: Tensor, a: Tensor, y: Any, states: States, ahead: Any, zero_infinity: bool) -> Tensor:
        y = y.array if isinstance(y, Tensor) else y
        values = CtcLossBackward.values(g.array, a.array, y, states, ahead, zero_infinity)
        return underived("_ctc_loss_backward", values, g, a)


def walked(x: Any, states: States, back: bool = False) -> Any:
    """`ahead`, or `back`, for all steps, texts and states."""
    letters, skips, steps, count = states
    t_max, n, s_max = len(x), len(letters), letters.shape[1]
    numbers, out = np.arange(s_max), np.full((t_max, n, s_max), -math.inf, x.dtype)
    inside = numbers < count[:, None]
    first = inside & (numbers >= count[:, None] - 2 if back else numbers < 2)
    allowed = np.roll(skips, -2, 1) & (numbers < s_max - 2) if back else skips
    before = np.full((n, s_max), -math.inf, x.dtype)
    for t in range(t_max - 1, -1, -1) if back else range(t_max):
        heard = np.take_along_axis(x[t], letters, 1)
        start = (t == steps - 1 if back else np.full(n, t == 0))[:, None]
        came = np.logaddexp(before, moved(before, 1, back))
        came = np.logaddexp(came, np.where(allowed, moved(before, 2, back), -math.inf))
        came = np.where(start & first, 0, came)
        before = out[t] = np.where(inside & (t < steps)[:, None], came + heard, -math.inf)
    return out


def moved(x: Any, by: int, back: bool) -> Any:
    """The states `by` steps before each one, or after it if `back`."""
    out = np.full_like(x, -math.inf)
    if back:
        out[:, :-by] = x[:, by:]
    else:
        out[:, by:] = x[:, :-by]
    return out


def ends(ahead: Any, states: States) -> Any:
    """The log-likelihood of the texts: of all walks that end at the last letter or the blank after it."""
    n, last = np.arange(len(states.count)), states.count - 1
    if not len(ahead):
        return np.where(last == 0, 0, -math.inf)
    final = ahead[np.maximum(states.steps - 1, 0), n]
    likelihood = np.where(last > 0, np.logaddexp(final[n, last], final[n, last - 1]), final[n, last])
    return np.where(states.steps > 0, likelihood, np.where(last == 0, 0, -math.inf))


def states_of(targets: Any, steps: Any, lengths: Any, blank: int) -> States:
    """The states of texts, given as rows of letters or as the concatenation of all letters."""
    longest = int(lengths.max(initial=0))
    letters = np.full((len(lengths), 2 * longest + 1), blank, np.int64)
    start = 0
    for i, length in enumerate(lengths):
        row = targets[i] if targets.ndim == 2 else targets[start:]
        letters[i, 1:2 * length:2] = row[:length]
        start += length
    skips = np.zeros(letters.shape, bool)
    skips[:, 2:] = (letters[:, 2:] != letters[:, :-2]) & (np.arange(2, letters.shape[1]) % 2 == 1)
    return States(letters, skips, steps, 2 * lengths + 1)


def lengths_of(name: str, lengths: Any) -> Any:
    """Lengths as an array of integers."""
    if not isinstance(lengths, Tensor):
        return np.array(list(lengths), np.int64)
    if lengths.array.dtype.kind not in "iu":
        raise RuntimeError(f"{name} must be integral")
    return lengths.array.astype(np.int64).reshape(-1)


def check(shape: tuple[int, ...], targets: Any, steps: Any, lengths: Any, blank: int) -> None:
    """Raise PyTorch's errors for inconsistent operands."""
    if 0 in shape:
        raise RuntimeError("log_probs tensor must not be empty")
    if not 0 <= blank < shape[2]:
        raise RuntimeError("blank must be in label range")
    arguments = ("input_lengths", steps), ("target_lengths", lengths)
    for name, values in arguments:
        if len(values) != shape[1]:
            raise RuntimeError(f"{name} must be of size batch_size")
    for name, values in arguments:
        if values.min() < 0:
            raise RuntimeError(f"Expected {name} to have value at least 0, but got value "
                               f"{values[values < 0][0]}{WHILE}")
    if targets.ndim not in (1, 2):
        raise RuntimeError(f"Expected 1 to 2 dimensions, but got {targets.ndim}-dimensional tensor for argument #2 "
                           f"'targets'{WHILE}")
    size = lengths.sum() if targets.ndim == 1 else shape[1]
    if len(targets) != size:
        raise RuntimeError(f"Expected tensor to have size {size} at dimension 0, but got size {len(targets)} for "
                           f"argument #2 'targets'{WHILE}")
    if targets.ndim == 2 and targets.shape[1] < lengths.max():
        raise RuntimeError(f"Expected tensor to have size at least {lengths.max()} at dimension 1, but got size "
                           f"{targets.shape[1]} for argument #2 'targets'{WHILE}")
    if steps.max() > shape[0]:
        raise RuntimeError(f"Expected input_lengths to have value at most {shape[0]}, but got value "
                           f"{steps[steps > shape[0]][0]}{WHILE}")


@op
def ctc_loss(log_probs: Tensor, targets: Tensor, input_lengths: Tensor | Sequence[int],
             target_lengths: Tensor | Sequence[int], blank: int = 0, reduction: int = 1,
             zero_infinity: bool = False) -> Tensor:
    """Minus the log-likelihood of texts; `reduction`: 0 none, (N,); 1 the mean over letters and texts; 2 the sum.

    `log_probs`: (T, N, C), or (T, C) of one text, from `log_softmax`. `targets`: (N, S), or all letters concatenated.
    `zero_infinity`: a text without an alignment counts 0, also in the gradient. Raises RuntimeError if the lengths do
    not fit, or `blank` is not a class, IndexError for a letter that is not below C (PyTorch reads out of bounds),
    TypeError if only one of the lengths is a tensor, and NotImplementedError for tensors on a device.
    """
    if any(isinstance(v, Tensor) and not on_host(backend_of(v.array)) for v in (log_probs, targets, input_lengths)):
        raise NotImplementedError("Could not run 'aten::_ctc_loss' with arguments from the 'CUDA' backend.\n\nminigrad "
                                  "has ctc_loss on the CPU only: pass log_probs.cpu() and targets.cpu().")
    batched = log_probs.array.ndim == 3
    x = log_probs if batched else Unsqueeze.forward(log_probs, 1)
    texts = targets.array if batched or targets.array.ndim != 1 else targets.array[None]
    if x.array.ndim != 3:
        raise RuntimeError(f"Expected 3-dimensional tensor, but got {x.array.ndim}-dimensional tensor for argument #1 "
                           f"'log_probs'{WHILE}")
    if isinstance(input_lengths, Tensor) != isinstance(target_lengths, Tensor):
        raise TypeError("ctc_loss")
    steps, lengths = lengths_of("input_lengths", input_lengths), lengths_of("target_lengths", target_lengths)
    check(x.array.shape, texts, steps, lengths, blank)
    states = states_of(texts.astype(np.int64), steps, lengths, blank)
    loss = CtcLoss.forward(x, states, blank, tuple(steps.tolist()), tuple(lengths.tolist()), zero_infinity)
    if zero_infinity:
        loss = Where.forward(plain(loss.array == math.inf), plain(number_array(0, loss.array.dtype)), loss)
    if reduction == 1:
        return mean(Div.forward(loss, plain(as_dtype(np.maximum(lengths, 1), loss.array.dtype))))
    return sum(loss) if reduction == 2 else loss if batched else SqueezeDim.forward(loss, 0)


IN_FRAME = parses_arguments(ctc_loss, "ctc_loss")


def ctc_loss_of(log_probs: Tensor, targets: Tensor, input_lengths: Tensor | Sequence[int],
                target_lengths: Tensor | Sequence[int], blank: int = 0, reduction: str = "mean",
                zero_infinity: bool = False) -> Tensor:
    """Minus the log-likelihood of texts, over all alignments of their letters with the steps.

    `log_probs`: (T, N, C), or (T, C) of one text, from `log_softmax`. `targets`: (N, S), or all letters concatenated;
    the lengths are tensors or tuples. `reduction`: "none" returns (N,), "mean" first divides by the number of letters.
    `zero_infinity`: a text without an alignment counts 0, also in the gradient. Raises RuntimeError if the lengths do
    not fit, or `blank` is not a class, and ValueError for another reduction.
    """
    number = ("none", "mean", "sum").index(checked(None, None, reduction))
    loss: Tensor = IN_FRAME(log_probs, targets, input_lengths, target_lengths, blank, number, zero_infinity)
    return loss
