"""What the first update of each optimizer does to the parameters, by their values before and after it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

__all__ = ["Update", "fed", "update_of"]


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
            if old.ndim == 2 and equal_units(old, used):
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


def equal_units(weights: Any, gradient: Any) -> bool:
    """Whether all rows, or all columns, are the same in a matrix and in its gradient: these units stay equal."""
    if min(weights.shape) < 2 or weights.flat[0] != weights.flat[-1]:
        return False
    size = float(np.abs(gradient).max(initial=0.0)) * 1e-5
    return any(bool((w == w[:1]).all()) and bool((np.abs(g - g[:1]) <= size).all())
               for w, g in ((weights, gradient), (weights.T, gradient.T)))
