"""The transforms that run in a thread, in the order in which the program entered them.

Ops need no such list: tangents, graphs and batches each have levels of their own. A custom Function needs it, since it
has a rule for each kind of transform, and the innermost one comes first (`custom_functions.py`).
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from minigrad.autograd.forward_ad import wrap_apply
from minigrad.backends.batched import CURRENT, Level

__all__ = ["STACK", "entered_on_stack", "lowered"]


class Stack(threading.local):
    """The levels that are on, the outermost first: of `vmap`, of forward mode and of reverse mode."""

    levels: tuple[Any, ...] = ()


class AllTransforms:
    """How many levels are on in the process, and what custom Functions do then."""

    count = 0
    rule: Callable[..., Any]  # a wrapper around `Function.apply`, set by `custom_functions.py`

    @classmethod
    def add(cls, number: int) -> None:
        cls.count += number
        wrap_apply(cls.rule, cls.count > 0)


STACK = Stack()


@contextmanager
def entered_on_stack(level: Any) -> Iterator[None]:
    """A block in which one more transform runs."""
    before, STACK.levels = STACK.levels, (*STACK.levels, level)
    AllTransforms.add(1)
    try:
        yield
    finally:
        STACK.levels = before
        AllTransforms.add(-1)


@contextmanager
def lowered(levels: tuple[Any, ...]) -> Iterator[None]:
    """A block in which only these of the levels are on, as far as custom Functions and batches are concerned."""
    before, STACK.levels = STACK.levels, levels
    inside, CURRENT.inside = CURRENT.inside, tuple([each for each in levels if type(each) is Level])
    try:
        yield
    finally:
        STACK.levels, CURRENT.inside = before, inside
