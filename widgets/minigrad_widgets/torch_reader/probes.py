"""The reader's own hooks among the user's: one behind each of theirs, to see what it has left.

PyTorch calls the hooks in a dict in its order. The user's hooks stay as they are, and where they are; for the time of
one pass there are others between them, which return nothing and so change nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

__all__ = ["put_among", "take_out"]

Hook = Callable[..., None]
OURS = "minigrad"  # (OURS, number) is the key of one of the reader's; the user's have a number


def put_among(touched: list[Callable[[], Any]], reference: Callable[[], Any], tell: Hook, *, front: Hook | None = None,
              first: int | None = None, last: int | None = None) -> None:
    """Have `tell(name, …)` called behind each of the user's hooks in a dict, and `front` before them.

    `first`, `last`: the key of a hook of the reader's own that has its place there. `reference` gives the dict, and is
    noted in `touched`; where there are no hooks of the user's nothing is done.
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
    """Leave none of the reader's hooks among the user's."""
    for key in [key for key in hooks or () if isinstance(key, tuple)]:
        del hooks[key]
