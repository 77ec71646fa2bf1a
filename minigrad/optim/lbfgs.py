"""L-BFGS: mirrors `torch/optim/lbfgs.py`.

It is the one optimiser that looks at all parameters as one vector, and that calls the closure more than once in a step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from minigrad.autograd.grad_mode import enable_grad, no_grad
from minigrad.core.tensor import Tensor
from minigrad.ops.shape.join import cat
from minigrad.optim._options import check_lr, plain_number
from minigrad.optim._wolfe import Point, strong_wolfe
from minigrad.optim.optimizer import Group, Optimizer, State

__all__ = ["LBFGS"]

KEPT = ("d", "t", "old_dirs", "old_stps", "ro", "H_diag", "prev_flat_grad", "prev_loss")


class LBFGS(Optimizer):
    """Newton's steps, with the inverse of the Hessian known from the last steps only (Nocedal 1980).

    d = -H g                           H: what history_size pairs s = t d (the step) and y = g - g' (what it changed)
    p ← p + t d                        say of it; t = lr (at first lr / |g|₁ if that is less), or a line search's
    """

    def __init__(self, params: Iterable[Any], lr: float | Tensor = 1, max_iter: int = 20, max_eval: int | None = None,
                 tolerance_grad: float = 1e-7, tolerance_change: float = 1e-9, history_size: int = 100,
                 line_search_fn: str | None = None) -> None:
        check_lr(lr)
        super().__init__(params, {
            "lr": lr, "max_iter": max_iter, "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad, "tolerance_change": tolerance_change, "history_size": history_size,
            "line_search_fn": line_search_fn})
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")

    def step(self, closure: Callable[[], Any]) -> Any:  # type: ignore[override]  # here a closure is needed
        """Up to max_iter steps; `closure` computes loss and gradients anew. Gives the loss before the first one.

        Raises:
            RuntimeError: for another line search than None and "strong_wolfe".
        """
        if len(self.param_groups) != 1:
            raise AssertionError(f"Expected exactly one param_group, but got {len(self.param_groups)}")
        group = self.param_groups[0]
        with no_grad():
            return self.descend(enable_grad()(closure), group)

    def descend(self, closure: Callable[[], Any], group: Group) -> Any:
        """The step, off record; the closure is on."""
        state = self.state[group["params"][0]]
        for name in ("func_evals", "n_iter"):
            state.setdefault(name, 0)
        first = closure()
        state["func_evals"] += 1
        g = self.flat_grad()
        if small(g, group["tolerance_grad"]):
            return first
        self.iterate(closure, group, state, float(first), g)
        return first

    def iterate(self, closure: Callable[[], Any], group: Group, state: State, loss: float, g: Tensor) -> None:
        """The steps, until one of the limits is reached."""
        now: State = {name: state.get(name) for name in KEPT}
        evals, most = 1, group["max_iter"]
        for i in range(1, most + 1):
            state["n_iter"] += 1
            direct(now, g, state, group["history_size"])
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
            loss, g, tried = self.move(closure, group, now, Point(0, loss, g, slope),
                                       group["max_eval"] - evals, i == most)
            evals += tried
            state["func_evals"] += tried
            if i == most or evals >= group["max_eval"] or self.arrived(group, now, loss, g):
                break
        state.update(now)

    def move(self, closure: Callable[[], Any], group: Group, now: State, here: Point, limit: int,
             last: bool) -> tuple[float, Tensor, int]:
        """Change the parameters once: the loss and the gradient there, and how often the closure was called."""
        d = now["d"]
        if group["line_search_fn"] is None:
            self.add(d, now["t"])
            return (here.f, here.g, 0) if last else (float(closure()), self.flat_grad(), 1)
        if group["line_search_fn"] != "strong_wolfe":
            raise RuntimeError("only 'strong_wolfe' is supported")
        before = [p.clone() for p in group["params"]]

        def look(t: Any) -> Point:
            self.add(d, t)
            loss, g = float(closure()), self.flat_grad()
            for p, value in zip(group["params"], before):
                p.copy_(value)
            return Point(t, loss, g, g.dot(d))

        found, tried = strong_wolfe(look, here, now["t"], d.abs().max(), group["tolerance_change"], limit)
        now["t"] = found.t
        self.add(d, found.t)
        return found.f, found.g, tried

    def arrived(self, group: Group, now: State, loss: float, g: Tensor) -> bool:
        """Whether nothing changes any more."""
        least = group["tolerance_change"]
        return (small(g, group["tolerance_grad"]) or small(now["d"] * now["t"], least)
                or abs(loss - now["prev_loss"]) < least)

    def flat_grad(self) -> Tensor:
        """All gradients in one vector, zeros where there is none."""
        return cat([p.new_zeros(p.numel()) if p.grad is None else p.grad.reshape(-1)
                    for p in self.param_groups[0]["params"]])

    def add(self, d: Tensor, t: Any) -> None:
        """p ← p + t d, for all parameters."""
        start = 0
        for p in self.param_groups[0]["params"]:
            p.add_(d[start:start + p.numel()].view(p.shape), alpha=plain_number(t))
            start += p.numel()


def small(x: Tensor, tolerance: float) -> bool:
    """Whether no element is greater."""
    return bool(x.abs().max() <= tolerance)


def direct(now: State, g: Tensor, state: State, history_size: int) -> None:
    """Where to go: `now["d"]`; remembers the last step in the pairs of y (`old_dirs`) and s (`old_stps`)."""
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
