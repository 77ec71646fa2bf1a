"""Adagrad: mirrors `torch/optim/adagrad.py`."""

from collections.abc import Iterable
from typing import Any

from minigrad.backends.registry import device_guard
from minigrad.core import Tensor
from minigrad.optim._update import ElementwiseOptimizer, check_options, number, scalar_state, state_like
from minigrad.optim.optimizer import Group, State

__all__ = ["Adagrad"]


class Adagrad(ElementwiseOptimizer):
    """Steps that get smaller where gradients have been large (Duchi et al. 2011).

    s ← s + g²                         the sum begins at initial_accumulator_value
    p ← p - lrₜ g / (√s + ε)           lrₜ = lr / (1 + (t - 1) lr_decay)
    """

    def __init__(self, params: Iterable[Any], lr: float | Tensor = 1e-2, lr_decay: float = 0, weight_decay: float = 0,
                 initial_accumulator_value: float = 0, eps: float = 1e-10, foreach: bool | None = None, *,
                 maximize: bool = False, differentiable: bool = False, fused: bool | None = None) -> None:
        check_options(lr=lr, lr_decay=lr_decay, weight_decay=weight_decay,
                      initial_accumulator_value=initial_accumulator_value, eps=eps)
        super().__init__(params, {
            "lr": lr, "lr_decay": lr_decay, "eps": eps, "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value, "foreach": foreach, "maximize": maximize,
            "differentiable": differentiable, "fused": fused})
        for group in self.param_groups:
            for p in group["params"]:
                p.dim()  # refused while a lazy module has not set the shape
                with device_guard(p.array):
                    self.state_of(p, group)

    def init_state(self, p: Tensor, group: Group) -> State:
        return {"step": scalar_state(p, group), "sum": state_like(p, self.defaults["initial_accumulator_value"])}

    def update(self, p: Any, g: Any, state: dict[str, Any], group: Group) -> None:
        g = self.effective_grad(p, g, group)
        s = state["sum"].add_(g * g)
        lr = number(group["lr"], group) / (1 + (state["step"].item() - 1) * group["lr_decay"])
        p.sub_(lr * g / (s.sqrt() + group["eps"]))
