"""Lesson 10: recall questions about it (asked later)."""

import warnings
from collections.abc import Callable
from typing import Any

import minigrad as torch
from minigrad.utils.checkpoint import checkpoint
from minigrad_lessons.bank.kinds import Belief, Question

Fn = Callable[[torch.Tensor], Any]


def _x(requires_grad: bool = True) -> torch.Tensor:
    return torch.ones(8, requires_grad=requires_grad)


def _starts(run: Callable[[Fn], Any]) -> int:
    """How often a function begins, over forward and backward, if `run` runs it."""
    starts = []

    def block(x: torch.Tensor) -> Any:
        starts.append(x)
        return x.exp().sin()

    run(block).sum().backward()
    return len(starts)


def _out(use_reentrant: bool) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # reentrant, it warns that no input requires grad
        return bool(checkpoint(torch.nn.Linear(8, 8), _x(False), use_reentrant=use_reentrant).requires_grad)


def _ends_again(**options: Any) -> bool:
    """Whether the line behind the last operation of a block runs a second time."""
    ends = []

    def block(x: torch.Tensor) -> Any:
        y = x.exp()
        ends.append(y.shape)
        return y

    checkpoint(block, _x(), use_reentrant=False, **options).sum().backward()
    return len(ends) > 1


def same_mask_again(**options: Any) -> bool:
    """Whether dropout in a checkpointed block draws the same mask when the block runs again."""
    drop, masks = torch.nn.Dropout(0.5), []

    def block(x: torch.Tensor) -> Any:
        dropped = drop(x)
        masks.append((dropped.detach() != 0).tolist())
        return dropped.exp() * x

    checkpoint(block, torch.ones(64, requires_grad=True), use_reentrant=False, **options).sum().backward()
    return bool(masks[0] == masks[1])


def _kept(run: Callable[[Fn, torch.Tensor], Any]) -> int:
    """How many different tensors are kept for backward."""
    kept: set[int] = set()

    def pack(t: torch.Tensor) -> torch.Tensor:
        kept.add(t.data_ptr())
        return t

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        run(lambda x: x.exp().exp().exp(), _x())
    return len(kept)


def _without_recording(block: Fn, x: torch.Tensor) -> Any:
    with torch.no_grad():
        return block(x)


QUESTIONS = (
    Question(
        "q10.1", "A block runs under checkpoint; then backward runs. How often does the block begin in all?",
        lambda: _starts(lambda block: checkpoint(block, _x(), use_reentrant=False)),
        (Belief("checkpoint keeps what it needs, so the block runs once", lambda: _starts(lambda block: block(_x()))),),
        "let the block print a word at its start"),
    Question(
        "q10.2", "x needs no gradient, layer's weights do. Does checkpoint(layer, x, use_reentrant=False) need one?",
        lambda: _out(use_reentrant=False),
        (Belief("the output follows the inputs that I hand over", lambda: _out(use_reentrant=True)),),
        "print requires_grad of the output, with use_reentrant=False and with True"),
    Question(
        "q10.3", "Dropout in a checkpointed block: does the second run draw the same mask? True or False",
        lambda: same_mask_again(),
        (Belief("every run draws a new mask", lambda: same_mask_again(preserve_rng_state=False)),),
        "let the block note its masks"),
    Question(
        "q10.4", "checkpoint(lambda x: x.exp().exp().exp(), x, use_reentrant=False): how many tensors are kept?",
        lambda: _kept(lambda block, x: checkpoint(block, x, use_reentrant=False)),
        (Belief("checkpoint changes what runs, not what is kept", lambda: _kept(lambda block, x: block(x))),
         Belief("nothing is recorded, so nothing is kept", lambda: _kept(_without_recording))),
        "count what a pack hook around it gets"),
    Question(
        "q10.5", "Non-reentrant. Behind the block's last operation stands a print. Does it print twice? True or False",
        lambda: _ends_again(),
        (Belief("in backward the whole block runs again", lambda: _ends_again(early_stop=False)),),
        "put a print there, and call it with early_stop=False too"),
)
