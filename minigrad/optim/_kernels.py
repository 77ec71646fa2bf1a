"""An update rule as one kernel of a GPU (`minigrad.backends.kernels`), in the place of a dozen passes over memory."""

from __future__ import annotations

from typing import Any, NamedTuple

from minigrad.backends.registry import OF_TYPE
from minigrad.core.tensor import Tensor, counter_of
from minigrad.optim._walk import FAST

__all__ = ["Kernel", "run"]


class Kernel(NamedTuple):
    """A kernel whose first input is the gradient; it changes the parameter and the parts of its state that are named.

    `writes`: how many words of the rule change each of these, as versions count it.
    """

    name: str
    numbers: tuple[float, ...]
    keys: tuple[str, ...]
    writes: tuple[int, ...]


def run(kernel: Kernel | None, p: Tensor, g: Tensor, state: dict[str, Any]) -> bool:
    """Change a parameter on a GPU and its state; whether that could be done."""
    if kernel is None or p.array.dtype not in FAST:
        return False
    tensors = [p, *[state[key] for key in kernel.keys]]
    if not is_like(g, p) or not all(is_like(t, p) and can_write(t) for t in tensors):
        return False
    found = OF_TYPE[type(p.array)].fused(kernel.name)
    if found is None:
        return False
    found(g.array, *kernel.numbers, *[t.array for t in tensors])
    for t, writes in zip(tensors, kernel.writes):
        counter_of(t).value += writes
    return True


def is_like(t: Any, p: Tensor) -> bool:
    """Whether a tensor is like the parameter, on the same device."""
    a, like = t.array, p.array
    return (type(a) is type(like) and a.dtype == like.dtype and a.shape == like.shape
            and OF_TYPE[type(like)].index_of(a) == OF_TYPE[type(like)].index_of(like))


def can_write(t: Tensor) -> bool:
    """Whether a tensor has an array that can be written to without more ado: each element has a place of its own."""
    flags = t.array.flags
    return ((flags.c_contiguous or flags.f_contiguous) and (t._extras is None or not t._extras.inference)
            and counter_of(t).before_write is None)
