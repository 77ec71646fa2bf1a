"""RMSprop: mirrors `torch/optim/rmsprop.py`."""

from collections.abc import Iterable
from typing import Any

from minigrad.core import Tensor
from minigrad.optim._update import ElementwiseOptimizer, check_options, number, state_like
from minigrad.optim.optimizer import Group, State

__all__ = ["RMSprop"]


class RMSprop(ElementwiseOptimizer):
    """The gradient divided by its usual size (Hinton 2012).

    v ← α v + (1 - α) g²               centered: minus the square of the mean gradient, a ← α a + (1 - α) g
    b ← μ b + g / (√v + ε)             μ: momentum
    p ← p - lr b
    """

    averages = ("square_avg",)

    def __init__(self, params: Iterable[Any], lr: float | Tensor = 1e-2, alpha: float = 0.99, eps: float = 1e-8,
                 weight_decay: float = 0, momentum: float = 0, centered: bool = False, capturable: bool = False,
                 foreach: bool | None = None, maximize: bool = False, differentiable: bool = False) -> None:
        check_options(lr=lr, eps=eps, momentum=momentum, weight_decay=weight_decay, alpha=alpha)
        super().__init__(params, {
            "lr": lr, "momentum": momentum, "alpha": alpha, "eps": eps, "centered": centered,
            "weight_decay": weight_decay, "capturable": capturable, "foreach": foreach, "maximize": maximize,
            "differentiable": differentiable})

    def init_state(self, p: Tensor, group: Group) -> State:
        state = super().init_state(p, group)
        if group["momentum"] > 0:
            state["momentum_buffer"] = state_like(p, 0)
        if group["centered"]:
            state["grad_avg"] = state_like(p, 0)
        return state

    def update(self, p: Any, g: Any, state: dict[str, Any], group: Group) -> None:
        lr, alpha, v = number(group["lr"], group), group["alpha"], state["square_avg"]
        g = self.effective_grad(p, g, group)
        v.mul_(alpha).add_((1 - alpha) * g * g)
        if group["centered"]:
            a = state["grad_avg"].lerp_(g, 1 - alpha)
            v = v - a * a
        step = g / (v.sqrt() + group["eps"])
        if group["momentum"] > 0:
            step = state["momentum_buffer"].mul_(group["momentum"]).add_(step)
        p.sub_(lr * step)
