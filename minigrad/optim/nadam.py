"""NAdam: mirrors `torch/optim/nadam.py`."""

from collections.abc import Iterable
from typing import Any

from minigrad.core import Tensor
from minigrad.optim._update import ElementwiseOptimizer, change_scalar, check_options, number, scalar_state, steps
from minigrad.optim.optimizer import Group, State

__all__ = ["NAdam"]


class NAdam(ElementwiseOptimizer):
    """Adam with Nesterov's look ahead (Dozat 2016).

    μₜ = β₁ (1 - ½ 0.96^(t ψ))         ψ: momentum_decay
    m ← β₁ m + (1 - β₁) g
    v ← β₂ v + (1 - β₂) g²
    d = √(v / (1 - β₂ᵗ)) + ε
    p ← p - lr (1 - μₜ) / (1 - μ₁⋯μₜ) g / d - lr μₜ₊₁ / (1 - μ₁⋯μₜ₊₁) m / d
    """

    averages = ("exp_avg", "exp_avg_sq")
    captured = "params, mu_products and state_steps"

    def __init__(self, params: Iterable[Any], lr: float | Tensor = 2e-3, betas: tuple[float, float] = (0.9, 0.999),
                 eps: float = 1e-8, weight_decay: float = 0, momentum_decay: float = 4e-3,
                 decoupled_weight_decay: bool = False, *, foreach: bool | None = None, maximize: bool = False,
                 capturable: bool = False, differentiable: bool = False) -> None:
        check_options(lr=lr, eps=eps, betas=betas, weight_decay=weight_decay, momentum_decay=momentum_decay)
        super().__init__(params, {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "momentum_decay": momentum_decay,
            "decoupled_weight_decay": decoupled_weight_decay, "maximize": maximize, "foreach": foreach,
            "capturable": capturable, "differentiable": differentiable})

    def init_state(self, p: Tensor, group: Group) -> State:
        state = super().init_state(p, group)
        return {"step": state.pop("step"), "mu_product": scalar_state(p, group, 1), **state}

    def count_step(self, state: State, group: Group) -> None:
        super().count_step(state, group)
        change_scalar(state["mu_product"], "mul_", momentum(steps(state, group), group))

    def update(self, p: Any, g: Any, state: dict[str, Any], group: Group) -> None:
        lr, (beta1, beta2) = number(group["lr"], group), group["betas"]
        m, v, t = state["exp_avg"], state["exp_avg_sq"], steps(state, group)
        product = steps(state, group, "mu_product")
        now, then = momentum(t, group), momentum(t + 1, group)
        g = self.effective_grad(p, g, group)
        m.lerp_(g, 1 - beta1)
        v.mul_(beta2).add_((1 - beta2) * g * g)
        d = (v / (1 - beta2 ** t)).sqrt() + group["eps"]
        p.sub_(lr * (1 - now) / (1 - product) * g / d)
        p.sub_(lr * then / (1 - product * then) * m / d)


def momentum(t: Any, group: Group) -> Any:
    return group["betas"][0] * (1 - 0.5 * 0.96 ** (t * group["momentum_decay"]))
