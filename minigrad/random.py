"""Seeds the default generators, and gets and sets their states. Mirrors `torch/random.py`.

You can make a program's random numbers reproducible (`manual_seed`), return to them (`set_rng_state`), or draw some
without affecting the rest of the program (`fork_rng`).
"""

from collections.abc import Iterable, Iterator
from typing import Any

from minigrad._base.contexts import contextmanager, ensure
from minigrad._base.device import device
from minigrad.backends.registry import resolve_device
from minigrad.ops.random import (
    Generator,
    default_generator,
    device_states,
    get_rng_state,
    initial_seed,
    manual_seed,
    seed,
    set_device_states,
    set_rng_state,
)

__all__ = ["Generator", "default_generator", "fork_rng", "get_rng_state", "initial_seed", "manual_seed", "seed",
           "set_rng_state"]


@contextmanager
def fork_rng(devices: Iterable[Any] | None = None, enabled: bool = True, _caller: str = "fork_rng",
             _devices_kw: str = "devices", device_type: str | None = None) -> Iterator[None]:
    """Draw random numbers in a `with` block, after which the default generators continue as if nothing was drawn.

    `devices`: the GPUs whose generators are restored, by index or name; None: all. `enabled=False` restores nothing.
    """
    kind = device(device_type or "cuda").type
    if not enabled:
        yield
        return
    wanted = None if devices is None else [
        resolve_device(device(kind, each) if isinstance(each, int) else each) for each in devices]
    state, states = get_rng_state(), device_states(wanted)
    with ensure(set_device_states, states, wanted is None), ensure(set_rng_state, state):
        yield
