"""Stochastic gradient descent: mirrors `torch/optim/sgd.py`."""

from collections.abc import Iterable
from typing import Any

from minigrad.core import Tensor
from minigrad.optim._update import ElementwiseOptimizer, Kernel, check_one_element, number, plain_number
from minigrad.optim.optimizer import Group, State

__all__ = ["SGD"]


class SGD(ElementwiseOptimizer):
    """Down the slope, with momentum (Polyak 1964; Sutskever et al. 2013).

    b ← μ b + (1 - τ) g        g: the gradient, μ: momentum, τ: dampening; the first b is g itself
    p ← p - lr b               nesterov: p ← p - lr (g + μ b); without momentum: p ← p - lr g
    """

    def __init__(self, params: Iterable[Any], lr: float | Tensor = 1e-3, momentum: float = 0, dampening: float = 0,
                 weight_decay: float | Tensor = 0, nesterov: bool = False, *, maximize: bool = False,
                 foreach: bool | None = None, differentiable: bool = False, fused: bool | None = None) -> None:
        check_one_element(lr)
        options: dict[str, Any] = {"learning rate": lr, "momentum value": momentum, "weight_decay value": weight_decay}
        for name, value in options.items():
            if value < 0.0:
                raise ValueError(f"Invalid {name}: {value}")
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        super().__init__(params, {
            "lr": lr, "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay, "nesterov": nesterov,
            "maximize": maximize, "foreach": foreach, "differentiable": differentiable, "fused": fused})

    def state_of(self, p: Tensor, group: Group) -> State:
        return self.state[p] if group["momentum"] != 0 else {}

    def count_step(self, state: State, group: Group) -> None:
        """Do nothing: SGD counts no steps."""

    def update_in_blocks(self, p: Tensor, g: Tensor, state: State, group: Group) -> bool:
        missing = group["momentum"] != 0 and state.get("momentum_buffer") is None  # the first step makes it
        return not missing and super().update_in_blocks(p, g, state, group)

    def update(self, p: Any, g: Any, state: dict[str, Any], group: Group) -> None:
        lr, momentum = number(group["lr"], group), group["momentum"]
        g = self.effective_grad(p, g, group)
        if momentum != 0:
            b = state.get("momentum_buffer")
            if b is None:
                b = state["momentum_buffer"] = g.detach().clone()
            else:
                b.mul_(momentum).add_(g, alpha=1 - group["dampening"])
            g = g + momentum * b if group["nesterov"] else b
        p.sub_(lr * g)

    def kernel(self, state: State, group: Group) -> Kernel | None:
        momentum = group["momentum"]
        numbers = -1 if group["maximize"] else 1, plain_number(group["weight_decay"]), plain_number(group["lr"])
        if momentum == 0:
            return Kernel("sgd", numbers, (), (1,))
        return Kernel("sgd_nesterov" if group["nesterov"] else "sgd_momentum",
                      (*numbers, momentum, 1 - group["dampening"]), ("momentum_buffer",), (1, 2))
