"""Connectionist temporal classification: the likelihood of a target over all its alignments.

Letters may repeat and be separated by `blank`. An alignment is a walk through the *states*: blank, first letter, blank,
second letter, …, blank. `ahead[t, s]` is the log-likelihood of all walks that reach state s at step t, `back[t, s]`
that of all ways to continue from there to the end; both count step t itself.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from minigrad._base.contexts import errstate
from minigrad._base.dtype import as_dtype, number_array
from minigrad.backends.registry import backend_of
from minigrad.core import Node, Tensor, plain, record1
from minigrad.ops._dispatch import op, refuse, underived
from minigrad.ops._dispatch.arg_parser import parses_arguments
from minigrad.ops.nn.loss import checked
from minigrad.ops.pointwise.arithmetic import Div
from minigrad.ops.pointwise.where import Where
from minigrad.ops.reduce.sums import mean, sum
from minigrad.ops.shape.views import SqueezeDim, Unsqueeze

__all__ = ["ctc_loss"]

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
    `zero_infinity`: a text without an alignment counts 0, also in the gradient.

    Raises:
        RuntimeError: if the lengths do not fit, or `blank` is not a class.
        IndexError: for a letter that is not below C (PyTorch reads out of bounds).
        TypeError: if only one of the lengths is a tensor.
        NotImplementedError: for tensors on a device.
    """
    if any(isinstance(v, Tensor) and backend_of(v.array) is not None for v in (log_probs, targets, input_lengths)):
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
    `zero_infinity`: a text without an alignment counts 0, also in the gradient.

    Raises:
        RuntimeError: if the lengths do not fit, or `blank` is not a class.
        ValueError: for another reduction.
    """
    number = ("none", "mean", "sum").index(checked(None, None, reduction))
    loss: Tensor = IN_FRAME(log_probs, targets, input_lengths, target_lengths, blank, number, zero_infinity)
    return loss
