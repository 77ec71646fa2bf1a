"""Activation checkpointing: mirrors `torch/utils/checkpoint.py`.

`checkpoint(function, *args)` returns what `function(*args)` returns, but does not keep what the function would save for
the backward pass: it is computed again when the pass needs it. Memory is saved at the price of a second run. There are
two ways to do it: read _reentrant.py and _non_reentrant.py, each as a whole. Lesson 10 compares them.
"""

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from minigrad._base.contexts import contextmanager
from minigrad.amp import same_autocast
from minigrad.autograd.graph import saved_tensors_hooks
from minigrad.core import LOCAL
from minigrad.nn.modules.container import Sequential
from minigrad.utils.checkpoint._debug import Logs
from minigrad.utils.checkpoint._errors import CheckpointError
from minigrad.utils.checkpoint._events import Run
from minigrad.utils.checkpoint._group import GraphExecGroup
from minigrad.utils.checkpoint._non_reentrant import Frame
from minigrad.utils.checkpoint._random import random_state
from minigrad.utils.checkpoint._reentrant import CheckpointFunction, check_backward_validity, detach_variable
from minigrad.utils.checkpoint._selective import (
    CheckpointPolicy,
    SelectiveCheckpointContext,
    create_selective_checkpoint_contexts,
)

__all__ = ["CheckpointError", "CheckpointFunction", "CheckpointPolicy", "GraphExecGroup", "SelectiveCheckpointContext",
           "check_backward_validity", "checkpoint", "checkpoint_sequential", "create_selective_checkpoint_contexts",
           "detach_variable", "noop_context_fn", "set_checkpoint_debug_enabled", "set_checkpoint_early_stop"]

Contexts = tuple[AbstractContextManager[Any], AbstractContextManager[Any]]
EARLY_STOP: list[bool] = []  # the settings of set_checkpoint_early_stop, innermost block last
DEBUG: list[bool | None] = []  # those of set_checkpoint_debug_enabled
CHECKS: dict[str, Callable[[Any], Any]] = {
    "default": lambda tensor: {"shape": tensor.shape, "dtype": tensor.dtype, "device": tensor.device},
    "none": lambda tensor: None,
}
NOT_SAID = (
    "torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly. Starting in PyTorch 2.9, calling "
    "checkpoint without use_reentrant will raise an exception. use_reentrant=False is recommended, but if you need to "
    "preserve the current default behavior, you can pass use_reentrant=True. Refer to docs for more details on the "
    "differences between the two variants."
)
NOT_SAID_OF_SEQUENTIAL = (
    "torch.utils.checkpoint.checkpoint_sequential: the use_reentrant parameter should be passed explicitly. In version "
    "2.9 we will raise an exception if use_reentrant is not passed. use_reentrant=False is recommended, but if you "
    "need to preserve the current default behavior, you can pass use_reentrant=True. Refer to docs for more details on "
    "the differences between the two variants."
)
SUPPRESSED = (
    "torch.utils.checkpoint: the forward context provided by context_fn suppressed an exception raised during the "
    "checkpointed forward. This is not supported because checkpoint cannot return a value for a failed forward."
)


def noop_context_fn() -> Contexts:
    """Return two contexts that do nothing: the default `context_fn`."""
    return nullcontext(), nullcontext()


@contextmanager
def set_checkpoint_early_stop(enable: bool) -> Iterator[None]:
    """A block in whose checkpoints, whatever they say, a recomputation stops at the last tensor needed, or never."""
    before = list(EARLY_STOP)
    try:
        EARLY_STOP.append(enable)
        yield
    finally:
        EARLY_STOP[:] = before


@contextmanager
def set_checkpoint_debug_enabled(enabled: bool | None) -> Iterator[None]:
    """A block whose checkpoints use this setting, whatever their `debug` says; None: each uses its own."""
    before = list(DEBUG)
    try:
        DEBUG.append(enabled)
        yield
    finally:
        DEBUG[:] = before


def checkpoint(function: Callable[..., Any], *args: Any, use_reentrant: bool | None = None,
               context_fn: Callable[[], Contexts] = noop_context_fn, determinism_check: str = "default",
               debug: bool = False, early_stop: bool = True, **kwargs: Any) -> Any:
    """Return `function(*args, **kwargs)`, with what it saves for the backward pass recomputed instead of kept.

    `use_reentrant`: which of the module's two ways; pass it explicitly, since the default (True) is going to change.
    `preserve_rng_state=True`: the second run draws the random numbers of the first. The others are for
    `use_reentrant=False` only: `context_fn` makes the contexts of the first and the second run;
    `determinism_check="none"` compares nothing, "default" the shapes, dtypes and devices of what is saved;
    `early_stop`: the second run stops at the last tensor that is needed; `debug`: an error lists the ops of both runs.

    Raises:
        ValueError: for arguments that the chosen way does not have.
        CheckpointError: in the backward pass, if the second run saves other tensors than the first.
    """
    if use_reentrant is None:
        warnings.warn(NOT_SAID, stacklevel=2)
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs and use_reentrant:
        raise ValueError(f"Unexpected keyword arguments: {','.join(kwargs)}")
    if not use_reentrant:
        if DEBUG and DEBUG[-1] is not None:
            debug = DEBUG[-1]
        return non_reentrant(function, args, kwargs, preserve, context_fn, determinism_check, early_stop, debug)
    if context_fn is not noop_context_fn or debug is not False:
        raise ValueError("Passing `context_fn` or `debug` is only supported when use_reentrant=False.")
    return CheckpointFunction.apply(function, preserve, *args)


def non_reentrant(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], preserve: bool,
                  context_fn: Callable[[], Contexts], determinism_check: str, early_stop: bool, debug: bool) -> Any:
    """Do the first run, under hooks that keep nothing; with grad mode off there is nothing to keep."""
    logs = Logs() if debug else None
    if logs is not None:
        if context_fn is not noop_context_fn:
            raise ValueError("debug=True is incompatible with non-default context_fn")
        context_fn = logs.contexts
    if determinism_check not in CHECKS:
        raise ValueError(f"determinism_check should be one of {list(CHECKS)}, but got {determinism_check}")
    first, second = context_fn()
    state, settings = random_state(preserve, args), same_autocast()

    def run(*args: Any) -> None:
        with state(), settings(), second:
            function(*args, **kwargs)

    if not LOCAL.grad_enabled:
        return function(*args, **kwargs)
    frame = Frame(run, args, EARLY_STOP[-1] if EARLY_STOP else early_stop, CHECKS[determinism_check])
    events = Run("checkpoint", frame, function, False, frame.arguments)
    unpack = frame.unpack if logs is None else logs.explaining(frame.unpack)
    with saved_tensors_hooks(frame.pack, unpack), first, events:
        result = function(*args, **kwargs)
        frame.complete = True
    if not frame.complete:
        raise RuntimeError(SUPPRESSED)
    return result


def checkpoint_sequential(functions: Sequential | Sequence[Callable[[Any], Any]], segments: int, input: Any,
                          use_reentrant: bool | None = None, **kwargs: Any) -> Any:
    """Send `input` through all functions, in `segments` segments, of which all but the last are checkpointed.

    Raises:
        ValueError: for keyword arguments other than `preserve_rng_state`.
    """
    if use_reentrant is None:
        warnings.warn(NOT_SAID_OF_SEQUENTIAL, stacklevel=2)
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError(f"Unexpected keyword arguments: {','.join(kwargs)}")
    steps = list(functions.children()) if isinstance(functions, Sequential) else functions
    size = len(steps) // segments

    def through(part: Sequence[Callable[[Any], Any]]) -> Callable[[Any], Any]:
        def forward(input: Any) -> Any:
            for step in part:
                input = step(input)
            return input

        return forward

    last = size * (segments - 1)
    for start in range(0, last, size):
        input = checkpoint(through(steps[start:start + size]), input, use_reentrant=use_reentrant,
                           preserve_rng_state=preserve)
    return through(steps[last:])(input)
