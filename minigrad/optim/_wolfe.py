"""The line search of L-BFGS: a step that goes down enough, to where the slope is flat enough.

Those are the strong Wolfe conditions, for a step t along d from a point with loss f and slope g·d = f′:
f(t) ≤ f + c₁ t f′ and |f′(t)| ≤ c₂ |f′|. The search is Algorithm 3.5 and 3.6 of Nocedal and Wright, "Numerical
Optimization": a bracket around such steps, made smaller by the minimum of a cubic.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from minigrad.core.tensor import Tensor

__all__ = ["Point", "strong_wolfe"]

ENOUGH, FLAT = 1e-4, 0.9  # c₁ and c₂


@dataclass(frozen=True)
class Point:
    """Where one has looked: the step (a number, or a tensor with one), loss, gradient, slope along the direction."""

    t: Any
    f: float
    g: Tensor
    slope: Any


def cubic_minimum(a: Point, b: Point, low: Any, high: Any) -> Any:
    """Where the cubic with the losses and slopes of two points is least, between `low` and `high`; else the middle."""
    if not a.t <= b.t:
        a, b = b, a
    d = a.slope + b.slope - 3 * (a.f - b.f) / (a.t - b.t)
    square = d ** 2 - a.slope * b.slope
    if not square >= 0:
        return (low + high) / 2.0
    root = square.sqrt()
    t = b.t - (b.t - a.t) * ((b.slope + root - d) / (b.slope - a.slope + 2 * root))
    return min(max(t, low), high)


def strong_wolfe(look: Callable[[Any], Point], start: Point, t: Any, size: Any, tolerance: float,
                 limit: int) -> tuple[Point, int]:
    """The point that was found, the best one if none is good enough, and how often `look` was called.

    `size`: of the greatest element of the direction; a bracket in which that moves by less than `tolerance` is left.
    """
    points, tried, found = bracket(look, start, t, limit)
    low, high = lower_first(points)
    close = False
    while not found and tried <= limit and not abs(points[1].t - points[0].t) * size < tolerance:
        t = cubic_minimum(points[0], points[1], *ends(points))
        t, close = away_from_ends(t, points, close)
        new = look(t)
        tried += 1
        if too_high(new, start) or new.f >= points[low].f:
            points[high] = new
            low, high = lower_first(points)
            continue
        found = flat(new, start)
        if not found and new.slope * (points[high].t - points[low].t) >= 0:
            points[high] = points[low]
        points[low] = new
    return points[low], tried


def bracket(look: Callable[[Any], Point], start: Point, t: Any, limit: int) -> tuple[list[Point], int, bool]:
    """Two points with a good step between them, or a good one; how often was looked; whether it is a good one."""
    before, new = start, look(t)
    for i in range(limit):
        if too_high(new, start) or (i > 1 and new.f >= before.f):
            return [before, new], i + 1, False
        if flat(new, start):
            return [new], i + 1, True
        if new.slope >= 0:
            return [before, new], i + 1, False
        t = cubic_minimum(before, new, new.t + 0.01 * (new.t - before.t), new.t * 10)
        before, new = new, look(t)
    return [start, new], limit + 1, False


def too_high(point: Point, start: Point) -> bool:
    """Whether the loss did not go down enough."""
    return bool(point.f > start.f + ENOUGH * point.t * start.slope)


def flat(point: Point, start: Point) -> bool:
    """Whether the slope is flat enough."""
    return bool(abs(point.slope) <= -FLAT * start.slope)


def lower_first(points: list[Point]) -> tuple[int, int]:
    """Which of the points is lower, and which is not."""
    return (0, 1) if points[0].f <= points[-1].f else (1, 0)


def ends(points: list[Point]) -> tuple[Any, Any]:
    """The ends of a bracket, in order."""
    a, b = points[0].t, points[1].t
    return (a, b) if a <= b else (b, a)


def away_from_ends(t: Any, points: list[Point], close: bool) -> tuple[Any, bool]:
    """The step, moved if it lies at the end of the bracket, or near to it the second time (`close`)."""
    low, high = ends(points)
    margin = 0.1 * (high - low)
    if not min(high - t, t - low) < margin:
        return t, False
    if close or t >= high or t <= low:
        return (high - margin if abs(t - high) < abs(t - low) else low + margin), False
    return t, True
