"""Restores the random state for a recomputation, so that dropout repeats: mirrors parts of `torch/utils/checkpoint.py`.

A function that is run again must draw the same numbers as the first time, and code after it must draw as if nothing had
been run again.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from minigrad._base.contexts import contextmanager
from minigrad.backends.registry import device_like, device_of, is_host
from minigrad.core import Tensor
from minigrad.ops.random import device_states, set_device_states
from minigrad.random import fork_rng, get_rng_state, set_rng_state

__all__ = ["random_state"]


def random_state(preserve: bool, args: Sequence[Any]) -> Callable[[], AbstractContextManager[None]]:
    """Note the present random state of the CPU and of the devices of the tensor arguments; return a function that makes
    a block that starts from it and leaves no trace."""
    if not preserve:
        return nullcontext
    state, devices = get_rng_state(), devices_of(args)
    states = device_states(devices)

    @contextmanager
    def as_it_was() -> Iterator[None]:
        with fork_rng(devices=devices):
            set_rng_state(state)
            set_device_states(states)
            yield

    return as_it_was


def devices_of(args: Any) -> list[Any]:
    """Return the devices of tensors, other than the CPU, also of those in tuples, lists and dicts."""
    if isinstance(args, Tensor):
        return [] if is_host(device_like(args.array)) else [device_of(args.array)]
    inner = args.values() if isinstance(args, dict) else args if isinstance(args, (tuple, list)) else ()
    return list(dict.fromkeys([each for arg in inner for each in devices_of(arg)]))
