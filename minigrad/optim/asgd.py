"""Averaged stochastic gradient descent: mirrors `torch/optim/asgd.py`."""

from collections.abc import Iterable
from typing import Any

from minigrad.core import Tensor
from minigrad.optim._update import (
    ElementwiseOptimizer,
    change_scalar,
    check_options,
    number,
    plain_number,
    scalar_state,
    state_like,
    steps,
)
from minigrad.optim.optimizer import Group, State

__all__ = ["ASGD"]


class ASGD(ElementwiseOptimizer):
    """SGD with steps that get smaller, and the mean of the parameters beside it (Polyak and Juditsky 1992).

    p ← (1 - λ η) p - η g              λ: lambd; η begins at lr, then it is lr / (1 + λ lr t)^α
    x ← x + μ (p - x)                  the mean, `ax`; μ = 1 / max(1, t - t0): it is p itself at first
    """

    captured = "params, mus, etas, and state_steps"

    def __init__(self, params: Iterable[Any], lr: float | Tensor = 1e-2, lambd: float = 1e-4, alpha: float = 0.75,
                 t0: float = 1e6, weight_decay: float = 0, foreach: bool | None = None, maximize: bool = False,
                 differentiable: bool = False, capturable: bool = False) -> None:
        check_options(lr=lr, weight_decay=weight_decay)
        super().__init__(params, {
            "lr": lr, "lambd": lambd, "alpha": alpha, "t0": t0, "weight_decay": weight_decay, "foreach": foreach,
            "maximize": maximize, "differentiable": differentiable, "capturable": capturable})

    def init_state(self, p: Tensor, group: Group) -> State:
        eta, mu = scalar_state(p, group, group["lr"]), scalar_state(p, group, 1)
        return {"step": scalar_state(p, group), "eta": eta, "mu": mu, "ax": state_like(p, 0)}

    def update(self, p: Any, g: Any, state: dict[str, Any], group: Group) -> None:
        eta, mu, x = steps(state, group, "eta"), steps(state, group, "mu"), state["ax"]
        g = self.effective_grad(p, g, group)
        p.mul_(1 - group["lambd"] * eta)
        p.sub_(eta * g)
        if not isinstance(mu, Tensor) and mu == 1:
            x.copy_(p)
        else:
            x.add_((p - x) * mu)

    def step_one(self, p: Tensor, g: Tensor, state: State, group: Group) -> None:
        super().step_one(p, g, state, group)
        lr, t = group["lr"], steps(state, group)
        lr = number(lr, group) if group["capturable"] else plain_number(lr)
        late = (t - group["t0"]).clamp(min=1) if isinstance(t, Tensor) else max(1, t - group["t0"])
        change_scalar(state["eta"], "fill_", lr / (1 + group["lambd"] * lr * t) ** group["alpha"])
        change_scalar(state["mu"], "fill_", 1 / late)
