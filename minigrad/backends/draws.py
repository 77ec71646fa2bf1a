"""One name for each distribution, wherever the numbers are made: `minigrad.backends.random` for a stream on the CPU,
`minigrad.backends.curand` for a source on a GPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minigrad.backends import curand, random
from minigrad.backends.random import WHOLE as WHOLE
from minigrad.backends.stream import DEFAULT as DEFAULT
from minigrad.backends.stream import Stream


def either(name: str) -> Callable[..., Any]:
    """The distribution of this name, by the kind of stream that it is given; a GPU's is in use meanwhile."""
    here = getattr(random, name)
    there = getattr(curand, name, here)  # integers are remainders of words, whoever draws them

    def draw(stream: Any, *args: Any, **named: Any) -> Any:
        if type(stream) is Stream:
            return here(stream, *args, **named)
        with stream.on():
            return there(stream, *args, **named)

    draw.__doc__ = here.__doc__
    return draw


uniform = either("uniform")
normal = either("normal")
log_normal = either("log_normal")
exponential = either("exponential")
cauchy = either("cauchy")
geometric = either("geometric")
bernoulli = either("bernoulli")
randint = either("randint")
random_integers = either("random")
randperm = either("randperm")
