"""What the first update of each optimizer does to the parameters, by their values before and after it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

__all__ = ["Update", "aligned", "changes", "fed", "update_of"]


class Update(NamedTuple):
    """What an optimizer's first step did to one of its groups: the norms of the change, of the weights before it, and
    of the gradients that it used; `alike`: the id() of parameters whose units had equal weights and equal gradients."""

    group: int
    change: float
    weight: float
    gradient: float
    rate: float
    decay: float
    alike: tuple[int, ...]


def update_of(array: Callable[[Any], Any], optimizer: Any, before: dict[int, Any]) -> list[Update]:
    """Compare parameters with their values `before`, by id(): an array for each. `array` gives a tensor's values."""
    found = []
    for index, group in enumerate(optimizer.param_groups):
        sums = [0.0, 0.0, 0.0]
        alike: list[int] = []
        for p in group["params"]:
            old, grad = before.get(id(p)), p.grad
            sparse = getattr(grad, "layout", None) != getattr(p, "layout", None)
            if old is None or grad is None or sparse or p.device.type == "meta":
                continue
            old, new, used = array(old), array(p), array(grad)
            if old.shape != new.shape or old.dtype.kind != "f":
                continue
            for i, each in enumerate((new - old, old, used)):
                sums[i] += float(np.vdot(each, each).real)
            if old.ndim > 1 and equal_units(old, used):
                alike.append(id(p))
        change, weight, gradient = map(math.sqrt, sums)
        found.append(Update(index, change, weight, gradient, float(group.get("lr", math.nan)),
                            float(group.get("weight_decay", 0.0)), tuple(alike)))
    return found


def fed(array: Callable[[Any], Any], optimizer: Any) -> bool:
    """Whether an optimizer has a gradient other than 0. `array` gives a tensor's values; a sparse one, and one on the
    meta device, counts as other than 0."""
    held = (p for group in optimizer.param_groups for p in group["params"] if p.grad is not None)
    return any(p.device.type == "meta" or getattr(p.grad, "layout", None) != getattr(p, "layout", None)
               or bool(array(p.grad).any()) for p in held)


def changes(array: Callable[[Any], Any], leaves: Iterable[Any]) -> list[tuple[Any, Any]]:
    """The leaves that differ from what they were, and by how much. `leaves` are what a State has kept of each."""
    found = []
    for tensor, old in ((each.tensor, each.values) for each in leaves):
        new = tensor.data  # an uninitialized parameter has no more than that
        if old is not None and new.shape == old.shape and new.layout == old.layout and new.device.type != "meta":
            change = array(new) - array(old)
            if change.any():
                found.append((tensor, change))
    return found


def aligned(change: Any, gradient: dict[str, Any] | None) -> bool:
    """Whether a change is a positive multiple of a gradient, of which a preview is known: all entries, or their least,
    greatest and mean."""
    if change is None or gradient is None:
        return False
    moved = change.ravel() if "data" in gradient else np.array([change.min(), change.max(), change.mean()])
    used = gradient.get("data") or [gradient["stats"][name] for name in ("min", "max", "mean")]
    if not all(isinstance(x, (int, float)) for x in used) or len(used) != moved.size:
        return False
    both = float(np.linalg.norm(moved) * np.linalg.norm(used))
    return both > 0 and float(np.dot(moved, used)) > 0.999 * both


def equal_units(weights: Any, gradient: Any) -> bool:
    """Whether all units of a layer, or all that go into it, are the same in its weights and in their gradient: these
    units stay equal. The first two dimensions are the units; the rest is the size of a convolution."""
    if weights.ndim == 2 and min(weights.shape) < 2 or not weights.size or weights.flat[0] != weights.flat[-1]:
        return False
    size = float(np.abs(gradient).max(initial=0.0)) * 1e-5
    return any(len(w) > 1 and bool((w == w[:1]).all()) and bool((np.abs(g - g[:1]) <= size).all())
               for w, g in ((weights, gradient), (weights.swapaxes(0, 1), gradient.swapaxes(0, 1))))
