"""Rprop: mirrors `torch/optim/rprop.py`."""

from collections.abc import Iterable
from typing import Any

from minigrad.core import Tensor
from minigrad.optim._update import ElementwiseOptimizer, before_write, check_options, scalar_state, state_like
from minigrad.optim.optimizer import Group, State

__all__ = ["Rprop"]


class Rprop(ElementwiseOptimizer):
    """Steps with their own size for each element, in which only the sign of the gradient counts (Riedmiller 1993).

    s ← η⁺ s, or η⁻ s where the gradient has changed its sign (and counts as 0); within step_sizes; s begins at lr
    p ← p - s sign(g)
    """

    def __init__(self, params: Iterable[Any], lr: float | Tensor = 1e-2, etas: tuple[float, float] = (0.5, 1.2),
                 step_sizes: tuple[float, float] = (1e-6, 50), *, capturable: bool = False,
                 foreach: bool | None = None, maximize: bool = False, differentiable: bool = False) -> None:
        check_options(lr=lr)
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        super().__init__(params, {
            "lr": lr, "etas": etas, "step_sizes": step_sizes, "foreach": foreach, "maximize": maximize,
            "differentiable": differentiable, "capturable": capturable})

    def init_state(self, p: Tensor, group: Group) -> State:
        return {"step": scalar_state(p, group), "prev": state_like(p, 0), "step_size": state_like(p, group["lr"])}

    def update(self, p: Any, g: Any, state: dict[str, Any], group: Group) -> None:
        (less, more), prev, size = group["etas"], state["prev"], state["step_size"]
        g = self.effective_grad(p, g, group)
        sign = (g * before_write(prev)).sign()
        changed = sign.lt(0)
        factor = sign.masked_fill(sign.eq(0), 1).masked_fill(sign.gt(0), more).masked_fill(changed, less)
        size.mul_(factor).clamp_(*group["step_sizes"])
        g = g.masked_fill(changed, 0)
        p.sub_(g.sign() * size)
        prev.copy_(g)
