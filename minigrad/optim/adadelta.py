"""Adadelta: mirrors `torch/optim/adadelta.py`."""

from collections.abc import Iterable
from typing import Any

from minigrad.core import Tensor
from minigrad.optim._update import ElementwiseOptimizer, check_options, number
from minigrad.optim.optimizer import Group

__all__ = ["Adadelta"]


class Adadelta(ElementwiseOptimizer):
    """Steps in the units of the parameter: past steps set the size for gradients like those of the past (Zeiler 2012).

    v ← ρ v + (1 - ρ) g²
    d = √(u + ε) / √(v + ε) g
    u ← ρ u + (1 - ρ) d²
    p ← p - lr d
    """

    averages = ("square_avg", "acc_delta")
    captured_on = ElementwiseOptimizer.captured_on[:-1]

    def __init__(self, params: Iterable[Any], lr: float | Tensor = 1.0, rho: float = 0.9, eps: float = 1e-6,
                 weight_decay: float = 0, foreach: bool | None = None, *, capturable: bool = False,
                 maximize: bool = False, differentiable: bool = False) -> None:
        check_options(lr=lr)
        if not 0.0 <= rho <= 1.0:
            raise ValueError(f"Invalid rho value: {rho}")
        check_options(eps=eps, weight_decay=weight_decay)
        super().__init__(params, {
            "lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay, "maximize": maximize,
            "capturable": capturable, "foreach": foreach, "differentiable": differentiable})

    def update(self, p: Any, g: Any, state: dict[str, Any], group: Group) -> None:
        rho, eps, v, u = group["rho"], group["eps"], state["square_avg"], state["acc_delta"]
        g = self.effective_grad(p, g, group)
        v.mul_(rho).add_((1 - rho) * g * g)
        d = (u + eps).sqrt() / (v + eps).sqrt() * g
        u.mul_(rho).add_((1 - rho) * d * d)
        p.sub_(number(group["lr"], group) * d)
