"""Adamax: mirrors `torch/optim/adamax.py`."""

from collections.abc import Iterable
from typing import Any

from minigrad.core import Tensor
from minigrad.optim._update import ElementwiseOptimizer, before_write, check_options, number, steps
from minigrad.optim.optimizer import Group

__all__ = ["Adamax"]


class Adamax(ElementwiseOptimizer):
    """Adam with the greatest gradient in place of the root mean square (Kingma and Ba 2014).

    m ← β₁ m + (1 - β₁) g
    u ← max(β₂ u, |g| + ε)
    p ← p - lr m̂ / u                   m̂ = m / (1 - β₁ᵗ)
    """

    averages = ("exp_avg", "exp_inf")

    def __init__(self, params: Iterable[Any], lr: float | Tensor = 2e-3, betas: tuple[float, float] = (0.9, 0.999),
                 eps: float = 1e-8, weight_decay: float = 0, foreach: bool | None = None, *, maximize: bool = False,
                 differentiable: bool = False, capturable: bool = False) -> None:
        check_options(lr=lr, eps=eps, betas=betas, weight_decay=weight_decay)
        super().__init__(params, {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "foreach": foreach,
            "maximize": maximize, "differentiable": differentiable, "capturable": capturable})

    def update(self, p: Any, g: Any, state: dict[str, Any], group: Group) -> None:
        (beta1, beta2), m, u = group["betas"], state["exp_avg"], state["exp_inf"]
        g = self.effective_grad(p, g, group)
        m.lerp_(g, 1 - beta1)
        u.mul_(beta2)
        u.copy_(before_write(u).maximum(g.abs() + group["eps"]))
        p.sub_(number(group["lr"], group) / (1 - beta1 ** steps(state, group)) * m / u)
