"""L-BFGS: mirrors `torch/optim/lbfgs.py`.

It is the only optimiser that treats all parameters as one vector, and calls the closure more than once in a step. Its
line search looks for a step t along the direction d that satisfies the strong Wolfe conditions, from a point with loss
f and slope g·d = f′: f(t) ≤ f + c₁ t f′ and |f′(t)| ≤ c₂ |f′|. It is Algorithm 3.5 and 3.6 of Nocedal and Wright,
"Numerical Optimization": a bracket around such steps, made smaller by the minimum of a cubic.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from minigrad.autograd.grad_mode import enable_grad, no_grad
from minigrad.core import Tensor
from minigrad.ops.shape.join import cat
from minigrad.optim._update import check_options, plain_number
from minigrad.optim.optimizer import Group, Optimizer, State

__all__ = ["LBFGS"]

REMEMBERED = ("d", "t", "old_dirs", "old_stps", "ro", "H_diag", "prev_flat_grad", "prev_loss")
ENOUGH, FLAT = 1e-4, 0.9  # c₁ and c₂


@dataclass(frozen=True)
class Point:
    """Where the loss was evaluated: the step (a number or one-element tensor), loss, gradient, slope along d."""

    t: Any
    f: float
    g: Tensor
    slope: Any


class LBFGS(Optimizer):
    """Newton steps, with the inverse of the Hessian known only from the last steps (Nocedal 1980).

    d = -H g                           H: what history_size pairs s = t d (the step) and y = g - g' (what it changed)
    p ← p + t d                        say of it; t = lr (at first lr / |g|₁ if that is less), or a line search's
    """

    def __init__(self, params: Iterable[Any], lr: float | Tensor = 1, max_iter: int = 20, max_eval: int | None = None,
                 tolerance_grad: float = 1e-7, tolerance_change: float = 1e-9, history_size: int = 100,
                 line_search_fn: str | None = None) -> None:
        check_options(lr=lr)
        super().__init__(params, {
            "lr": lr, "max_iter": max_iter, "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad, "tolerance_change": tolerance_change, "history_size": history_size,
            "line_search_fn": line_search_fn})
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")

    def step(self, closure: Callable[[], Any]) -> Any:  # type: ignore[override]  # here a closure is required
        """Take up to max_iter steps; `closure` recomputes loss and gradients. Returns the loss before the first one.
        Raises RuntimeError for a line search other than None and "strong_wolfe"."""
        if len(self.param_groups) != 1:
            raise AssertionError(f"Expected exactly one param_group, but got {len(self.param_groups)}")
        group, closure = self.param_groups[0], enable_grad()(closure)
        state = self.state[group["params"][0]]
        for name in ("func_evals", "n_iter"):
            state.setdefault(name, 0)
        with no_grad():
            first_loss = closure()
            state["func_evals"] += 1
            g = self.flat_grad()
            if not is_small(g, group["tolerance_grad"]):
                self.iterate(closure, group, state, float(first_loss), g)
        return first_loss

    def iterate(self, closure: Callable[[], Any], group: Group, state: State, loss: float, g: Tensor) -> None:
        """Take steps until one of the limits is reached."""
        now: State = {name: state.get(name) for name in REMEMBERED}
        evals, max_iter = 1, group["max_iter"]
        for i in range(1, max_iter + 1):
            state["n_iter"] += 1
            set_direction(now, g, state, group["history_size"])
            if now["prev_flat_grad"] is None:
                now["prev_flat_grad"] = g.clone()
            else:
                now["prev_flat_grad"].copy_(g)
            now["prev_loss"] = loss
            now["t"] = plain_number(group["lr"])
            if state["n_iter"] == 1:
                now["t"] = min(1.0, 1.0 / g.abs().sum()) * now["t"]
            slope = g.dot(now["d"])
            if slope > -group["tolerance_change"]:
                break
            loss, g, calls = self.move(closure, group, now, Point(0, loss, g, slope), group["max_eval"] - evals,
                                       i == max_iter)
            evals += calls
            state["func_evals"] += calls
            if (i == max_iter or evals >= group["max_eval"] or is_small(g, group["tolerance_grad"])
                    or is_small(now["d"] * now["t"], group["tolerance_change"])
                    or abs(loss - now["prev_loss"]) < group["tolerance_change"]):
                break
        state.update(now)

    def move(self, closure: Callable[[], Any], group: Group, now: State, here: Point, limit: int,
             last: bool) -> tuple[float, Tensor, int]:
        """Change the parameters once; return the loss and the gradient there, and how often the closure was called."""
        d = now["d"]
        if group["line_search_fn"] is None:
            self.add(d, now["t"])
            return (here.f, here.g, 0) if last else (float(closure()), self.flat_grad(), 1)
        if group["line_search_fn"] != "strong_wolfe":
            raise RuntimeError("only 'strong_wolfe' is supported")
        before = [p.clone() for p in group["params"]]

        def evaluate(t: Any) -> Point:
            self.add(d, t)
            loss, g = float(closure()), self.flat_grad()
            for p, value in zip(group["params"], before):
                p.copy_(value)
            return Point(t, loss, g, g.dot(d))

        best, calls = strong_wolfe(evaluate, here, now["t"], d.abs().max(), group["tolerance_change"], limit)
        now["t"] = best.t
        self.add(d, best.t)
        return best.f, best.g, calls

    def flat_grad(self) -> Tensor:
        """Return all gradients as one vector, with zeros where there is none."""
        return cat([p.new_zeros(p.numel()) if p.grad is None else p.grad.reshape(-1)
                    for p in self.param_groups[0]["params"]])

    def add(self, d: Tensor, t: Any) -> None:
        """Update all parameters: p ← p + t d."""
        start = 0
        for p in self.param_groups[0]["params"]:
            p.add_(d[start:start + p.numel()].view(p.shape), alpha=plain_number(t))
            start += p.numel()


def is_small(x: Tensor, tolerance: float) -> bool:
    """Return whether no element is greater in magnitude than `tolerance`."""
    return bool(x.abs().max() <= tolerance)


def set_direction(now: State, g: Tensor, state: State, history_size: int) -> None:
    """Set the direction, `now["d"]`; add the last step to the pairs of y (`old_dirs`) and s (`old_stps`)."""
    if state["n_iter"] == 1:
        now.update(d=g.neg(), old_dirs=[], old_stps=[], ro=[], H_diag=1)
        return
    ys, ss, rhos = now["old_dirs"], now["old_stps"], now["ro"]
    y, s = g - now["prev_flat_grad"], now["d"] * now["t"]
    curvature = y.dot(s)
    if curvature > 1e-10:
        if len(ys) == history_size:
            for old in (ys, ss, rhos):
                old.pop(0)
        ys.append(y)
        ss.append(s)
        rhos.append(1.0 / curvature)
        now["H_diag"] = curvature / y.dot(y)
    alphas = state.setdefault("al", [None] * history_size)
    q = g.neg()
    for i in reversed(range(len(ys))):
        alphas[i] = ss[i].dot(q) * rhos[i]
        q.add_(ys[i] * -alphas[i])
    now["d"] = q = q * now["H_diag"]
    for i in range(len(ys)):
        q.add_(ss[i] * (alphas[i] - ys[i].dot(q) * rhos[i]))


def cubic_minimum(a: Point, b: Point, low: Any, high: Any) -> Any:
    """Where the cubic with the losses and slopes of two points is least between `low` and `high`; else the middle."""
    if not a.t <= b.t:
        a, b = b, a
    d = a.slope + b.slope - 3 * (a.f - b.f) / (a.t - b.t)
    square = d ** 2 - a.slope * b.slope
    if not square >= 0:
        return (low + high) / 2.0
    root = square.sqrt()
    t = b.t - (b.t - a.t) * ((b.slope + root - d) / (b.slope - a.slope + 2 * root))
    return min(max(t, low), high)


def strong_wolfe(evaluate: Callable[[Any], Point], start: Point, t: Any, size: Any, tolerance: float,
                 limit: int) -> tuple[Point, int]:
    """Return the point found, or the best one if none is good enough, and how often `evaluate` was called.

    `size`: of the direction's greatest element; a bracket in which it moves by less than `tolerance` is final.
    """
    points, calls, done = bracket(evaluate, start, t, limit)
    low, high = lower_first(points)
    close = False
    while not done and calls <= limit and not abs(points[1].t - points[0].t) * size < tolerance:
        t = cubic_minimum(points[0], points[1], *bracket_ends(points))
        t, close = away_from_ends(t, points, close)
        new = evaluate(t)
        calls += 1
        if too_high(new, start) or new.f >= points[low].f:
            points[high] = new
            low, high = lower_first(points)
            continue
        done = is_flat(new, start)
        if not done and new.slope * (points[high].t - points[low].t) >= 0:
            points[high] = points[low]
        points[low] = new
    return points[low], calls


def bracket(evaluate: Callable[[Any], Point], start: Point, t: Any, limit: int) -> tuple[list[Point], int, bool]:
    """Return two points around a good step, or one good point; the calls of `evaluate`; whether it is one point."""
    before, new = start, evaluate(t)
    for i in range(limit):
        if too_high(new, start) or (i > 1 and new.f >= before.f):
            return [before, new], i + 1, False
        if is_flat(new, start):
            return [new], i + 1, True
        if new.slope >= 0:
            return [before, new], i + 1, False
        t = cubic_minimum(before, new, new.t + 0.01 * (new.t - before.t), new.t * 10)
        before, new = new, evaluate(t)
    return [start, new], limit + 1, False


def too_high(point: Point, start: Point) -> bool:
    """Return whether the loss did not decrease enough."""
    return bool(point.f > start.f + ENOUGH * point.t * start.slope)


def is_flat(point: Point, start: Point) -> bool:
    """Return whether the slope is flat enough."""
    return bool(abs(point.slope) <= -FLAT * start.slope)


def lower_first(points: list[Point]) -> tuple[int, int]:
    """Return the indices of the lower and of the higher point."""
    return (0, 1) if points[0].f <= points[-1].f else (1, 0)


def bracket_ends(points: list[Point]) -> tuple[Any, Any]:
    """Return the ends of a bracket, in order."""
    a, b = points[0].t, points[1].t
    return (a, b) if a <= b else (b, a)


def away_from_ends(t: Any, points: list[Point], close: bool) -> tuple[Any, bool]:
    """Return the step, moved if it is at the end of the bracket, or near it for the second time (`close`)."""
    low, high = bracket_ends(points)
    margin = 0.1 * (high - low)
    if not min(high - t, t - low) < margin:
        return t, False
    if close or t >= high or t <= low:
        return (high - margin if abs(t - high) < abs(t - low) else low + margin), False
    return t, True
