"""Seeds and states of the default generator: mirrors `torch/random.py`.

A reader can fix a program's numbers (`manual_seed`), go back to them (`set_rng_state`), or draw some without moving
the numbers of the rest of the program (`fork_rng`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from minigrad._device import device
from minigrad.ops.generator import (
    Generator,
    default_generator,
    get_rng_state,
    initial_seed,
    manual_seed,
    seed,
    set_rng_state,
)

__all__ = ["Generator", "default_generator", "fork_rng", "get_rng_state", "initial_seed", "manual_seed", "seed",
           "set_rng_state"]


@contextmanager
def fork_rng(devices: Iterable[Any] | None = None, enabled: bool = True, _caller: str = "fork_rng",
             _devices_kw: str = "devices", device_type: str = "cuda") -> Iterator[None]:
    """Draw random numbers in a `with` block, after which the default generator goes on as if nothing was drawn.

    `devices`: GPUs whose generators go back too. `enabled=False`: nothing happens.
    """
    device(device_type)
    if not enabled:
        yield
        return
    state = get_rng_state()
    try:
        yield
    finally:
        set_rng_state(state)
