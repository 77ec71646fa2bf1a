"""Adafactor: mirrors `torch/optim/_adafactor.py`.

It is for large matrices: it keeps the mean squares of their gradients as one number per row and per column.
"""

from collections.abc import Callable, Iterable
from typing import Any

from minigrad.core import Tensor
from minigrad.ops.tensor.properties import finfo
from minigrad.optim._update import plain_number, scalar_state, step_of_each
from minigrad.optim.optimizer import Group, Optimizer, State

__all__ = ["Adafactor"]


class Adafactor(Optimizer):
    """Adam's second moments, factored, and steps relative to the size of a parameter (Shazeer and Stern 2018).

    R ← R + t^c (mean of g² along rows - R)       c = beta2_decay; C, along columns, likewise
    v = R C / mean(R)                             for a vector: v ← v + t^c (g² - v)
    u = g / √v
    p ← p - max(ε₂, rms(p)) min(lr, 1/√t) u / max(1, rms(u) / d)
    """

    def __init__(self, params: Iterable[Any], lr: float | Tensor = 1e-2, beta2_decay: float = -0.8,
                 eps: tuple[float | None, float] = (None, 1e-3), d: float = 1.0, weight_decay: float = 0.0, *,
                 foreach: bool | None = None, maximize: bool = False) -> None:
        if isinstance(lr, Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        for wrong, text in ((plain_number(lr) < 0, f"Learning rate should be >= 0 but is: {lr}"),
                            (beta2_decay > 0, f"beta2_decay should be <= 0 but is: {beta2_decay}"),
                            (eps[0] is not None and eps[0] < 0, f"epsilon1 should be >= 0 but is: {eps[0]}"),
                            (eps[1] < 0, f"epsilon2 should be >= 0 but is: {eps[1]}"),
                            (d < 1, f"Clipping threshold d should be >= 1 but is: {d}"),
                            (weight_decay < 0, f"weight_decay should be >= 0 but is: {weight_decay}")):
            if wrong:
                raise ValueError(text)
        super().__init__(params, {"lr": lr, "beta2_decay": beta2_decay, "eps": eps, "d": d,
                                  "weight_decay": weight_decay, "foreach": foreach, "maximize": maximize})

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Change each parameter that has a gradient; `closure` recomputes the loss, which is then returned."""
        return step_of_each(self.param_groups, closure, lambda p, group: update(
            p, -p.grad if group["maximize"] else p.grad, self.state_for(p), group))

    def state_for(self, p: Tensor) -> State:
        """Return the state of a parameter, made at its first gradient."""
        state: State = self.state[p]
        if not state:
            grad: Any = p.grad
            state["step"] = scalar_state(p, {})
            if grad.dim() > 1:
                state["row_var"] = grad.new_zeros((*grad.shape[:-1], 1))
                state["col_var"] = grad.new_zeros((*grad.shape[:-2], 1, grad.shape[-1]))
            else:
                state["variance"] = grad.new_zeros(grad.shape)
        return state


def update(p: Any, g: Any, state: State, group: Group) -> None:
    """Update one parameter by its gradient."""
    small, smallest_size = group["eps"]
    small = finfo(p.dtype).eps if small is None else small
    state["step"] += 1
    count, lr = state["step"].item(), plain_number(group["lr"])
    part = count ** group["beta2_decay"]
    rate = max(smallest_size, p.norm(2).item() / p.numel() ** 0.5) * min(lr, count ** -0.5)
    if group["weight_decay"]:
        p.mul_(1 - lr * group["weight_decay"])
    if g.dim() > 1:
        rows, columns = state["row_var"], state["col_var"]
        for moment, dim in ((rows, -1), (columns, -2)):
            moment.lerp_(g.norm(dim=dim, keepdim=True).square_().div_(g.size(dim)), part)
        variance = (rows @ columns).div_(rows.mean(dim=-2, keepdim=True).clamp_(min=small))
    else:
        variance = state["variance"].lerp_(g * g, part).clone()
    change = variance.clamp_(min=small * small).rsqrt_().mul_(g)
    p.add_(change, alpha=-rate / max(1.0, change.norm(2).item() / (change.numel() ** 0.5 * group["d"])))
