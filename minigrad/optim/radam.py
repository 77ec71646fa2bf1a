"""RAdam: mirrors `torch/optim/radam.py`."""

from collections.abc import Iterable
from typing import Any

from minigrad.core import Tensor
from minigrad.ops.pointwise.ternary import where
from minigrad.optim._update import ElementwiseOptimizer, check_options, number, steps
from minigrad.optim.optimizer import Group

__all__ = ["RAdam"]


class RAdam(ElementwiseOptimizer):
    """Adam that divides by √v only once enough steps have made v reliable (Liu et al. 2019).

    m ← β₁ m + (1 - β₁) g,  v ← β₂ v + (1 - β₂) g²
    ρ∞ = 2 / (1 - β₂) - 1,  ρₜ = ρ∞ - 2 t β₂ᵗ / (1 - β₂ᵗ)
    p ← p - lr m̂                                  while ρₜ ≤ 5, with m̂ = m / (1 - β₁ᵗ)
    p ← p - lr m̂ r √(1 - β₂ᵗ) / (√v + ε)          then, with r² = (ρₜ - 4) (ρₜ - 2) ρ∞ / ((ρ∞ - 4) (ρ∞ - 2) ρₜ)
    """

    averages = ("exp_avg", "exp_avg_sq")

    def __init__(self, params: Iterable[Any], lr: float | Tensor = 1e-3, betas: tuple[float, float] = (0.9, 0.999),
                 eps: float = 1e-8, weight_decay: float = 0, decoupled_weight_decay: bool = False, *,
                 foreach: bool | None = None, maximize: bool = False, capturable: bool = False,
                 differentiable: bool = False) -> None:
        check_options(lr=lr, eps=eps, betas=betas, weight_decay=weight_decay)
        super().__init__(params, {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "maximize": maximize,
            "foreach": foreach, "capturable": capturable, "decoupled_weight_decay": decoupled_weight_decay,
            "differentiable": differentiable})

    def update(self, p: Any, g: Any, state: dict[str, Any], group: Group) -> None:
        lr, (beta1, beta2) = number(group["lr"], group), group["betas"]
        m, v, t = state["exp_avg"], state["exp_avg_sq"], steps(state, group)
        g = self.effective_grad(p, g, group)
        m.lerp_(g, 1 - beta1)
        v.mul_(beta2).add_((1 - beta2) * g * g)
        lr, known = lr / (1 - beta1 ** t), 1 - beta2 ** t
        longest = 2 / (1 - beta2) - 1
        length: Any = longest - 2 * t * beta2 ** t / known
        if not group["capturable"] and length <= 5:
            p.sub_(lr * m)
            return
        r = ((length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length)) ** 0.5
        if group["capturable"]:  # the GPU decides
            p.sub_(lr * m * where(length > 5, r * known ** 0.5 / (v.sqrt() + group["eps"]), 1.0))
        else:
            p.sub_(lr * r * known ** 0.5 * m / (v.sqrt() + group["eps"]))
