"""Adadelta: mirrors `torch/optim/adadelta.py`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from minigrad.core.tensor import Tensor
from minigrad.optim._update import (
    CAPTURED_ON,
    ElementwiseOptimizer,
    check_at_least,
    check_lr,
    filled,
    number,
    scalar_state,
)
from minigrad.optim.optimizer import Group, State

__all__ = ["Adadelta"]


class Adadelta(ElementwiseOptimizer):
    """Steps in the units of the parameter: as large as steps have been, for gradients as they have been (Zeiler 2012).

    v ← ρ v + (1 - ρ) g²
    d = √(u + ε) / √(v + ε) g
    u ← ρ u + (1 - ρ) d²
    p ← p - lr d
    """

    captured = "params and state_steps", CAPTURED_ON[:-1]

    def __init__(self, params: Iterable[Any], lr: float | Tensor = 1.0, rho: float = 0.9, eps: float = 1e-6,
                 weight_decay: float = 0, foreach: bool | None = None, *, capturable: bool = False,
                 maximize: bool = False, differentiable: bool = False) -> None:
        check_lr(lr)
        if not 0.0 <= rho <= 1.0:
            raise ValueError(f"Invalid rho value: {rho}")
        check_at_least(0.0, eps=eps, weight_decay=weight_decay)
        super().__init__(params, {
            "lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay, "maximize": maximize,
            "capturable": capturable, "foreach": foreach, "differentiable": differentiable})

    def init_state(self, p: Tensor, group: Group) -> State:
        return {"step": scalar_state(p, group), "square_avg": filled(p, 0), "acc_delta": filled(p, 0)}

    def update(self, p: Any, g: Any, state: dict[str, Any], group: Group) -> None:
        rho, eps, v, u = group["rho"], group["eps"], state["square_avg"], state["acc_delta"]
        g = self.effective_grad(p, g, group)
        v.mul_(rho).add_((1 - rho) * g * g)
        d = (u + eps).sqrt() / (v + eps).sqrt() * g
        u.mul_(rho).add_((1 - rho) * d * d)
        p.sub_(number(group["lr"], group) * d)
