"""The random state that a recomputation starts from: the part of `torch/utils/checkpoint.py` that keeps dropout true.

A function that is run again must draw the numbers that it drew the first time, and what comes after it must draw as if
nothing had been run again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

from minigrad.random import fork_rng, get_rng_state, set_rng_state

__all__ = ["random_state"]


def random_state(preserve: bool) -> Callable[[], AbstractContextManager[None]]:
    """Take down the random state of this moment; gives what makes a block that starts from it, and leaves no trace."""
    if not preserve:
        return nullcontext
    state = get_rng_state()

    @contextmanager
    def as_it_was() -> Iterator[None]:
        with fork_rng():
            set_rng_state(state)
            yield

    return as_it_was
