"""The reader's own hooks among the user's: one after each of theirs, to see what it left.

PyTorch calls the hooks in a dict in its order. The user's hooks stay as they are, and where they are; for the duration
of one pass there are others between them, which return nothing and so change nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

__all__ = ["put_among", "take_out"]

Hook = Callable[..., None]
OURS = "minigrad"  # (OURS, number) is the key of one of the reader's hooks; the user's have a number


def put_among(touched: list[Callable[[], Any]], reference: Callable[[], Any], tell: Hook, *, front: Hook | None = None,
              first: int | None = None, last: int | None = None) -> None:
    """Make a dict of hooks call `tell(name, …)` after each of the user's hooks, and `front` before them.

    `first`, `last`: the key of a hook of the reader's own that stays there. `reference` returns the dict, and is noted
    in `touched`; if the user has no hooks there, nothing is done.
    """
    hooks = reference()
    own = last if first is None else first
    if hooks is None or len(hooks) == (own is not None and own in hooks):
        return
    before = dict(hooks.items())
    take_out(before)
    kept = {key: before.pop(key) for key in (first, last) if key in before}
    among: dict[Any, Hook] = {} if first not in kept else {first: kept[first]}
    if front is not None:
        among[OURS, 0] = front
    for number, (key, hook) in enumerate(before.items(), 1):
        among[key] = hook
        among[OURS, number] = partial(tell, getattr(hook, "__name__", type(hook).__name__))
    if last in kept:
        among[last] = kept[last]
    hooks.clear()
    hooks.update(among)
    touched.append(reference)


def take_out(hooks: Any) -> None:
    """Remove the reader's hooks from among the user's."""
    for key in [key for key in hooks or () if isinstance(key, tuple)]:
        del hooks[key]
