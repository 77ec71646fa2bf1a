"""Optimisers of matrices: Adafactor and Muon, mirroring `torch/optim/_adafactor.py` and `_muon.py`.

Adafactor is for large ones: it keeps the mean squares of their gradients as one number per row and per column. Muon is
for those of hidden layers; use another optimiser for the rest.
"""

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from minigrad._base.dtype import as_dtype
from minigrad.backends.registry import device_like
from minigrad.core import Tensor, plain
from minigrad.ops.tensor.properties import finfo
from minigrad.optim._update import check_one_element, plain_number, scalar_state, step_of_each
from minigrad.optim.optimizer import Group, Optimizer, State

__all__ = ["Adafactor", "Muon"]


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
        check_one_element(lr)
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


COEFFICIENTS = (3.4445, -4.775, 2.0315)  # of the quintic whose slope at 0 is steep (Jordan et al. 2024)
RATES = {
    "original": lambda rows, columns: math.sqrt(max(1, rows / columns)),
    "match_rms_adamw": lambda rows, columns: 0.2 * math.sqrt(max(rows, columns))}


class Muon(Optimizer):
    """Steps along the momentum, made orthogonal: its singular values become about 1 (Jordan et al. 2024).

    B ← B + (1 - momentum) (g - B)
    u = orthogonal(g + momentum (B - g))        without nesterov: orthogonal(B)
    p ← p (1 - lr weight_decay) - lr rate u     rate = √max(1, rows / columns), or 0.2 √max(rows, columns)
    """

    def __init__(self, params: Iterable[Any], lr: float | Tensor = 1e-3, weight_decay: float = 0.1,
                 momentum: float = 0.95, nesterov: bool = True,
                 ns_coefficients: tuple[float, float, float] = COEFFICIENTS, eps: float = 1e-7, ns_steps: int = 5,
                 adjust_lr_fn: str | None = None) -> None:
        check_one_element(lr)
        for wrong, text in ((plain_number(lr) < 0, f"Learning rate should be >= 0 but is: {lr}"),
                            (momentum < 0, f"momentum should be >= 0 but is: {momentum}"),
                            (weight_decay < 0, f"weight decay should be >= 0 but is: {weight_decay}"),
                            (adjust_lr_fn is not None and adjust_lr_fn not in RATES,
                             f"Adjust learning rate function {adjust_lr_fn} is not supported")):
            if wrong:
                raise ValueError(text)
        super().__init__(params, {"lr": lr, "weight_decay": weight_decay, "momentum": momentum, "nesterov": nesterov,
                                  "ns_coefficients": ns_coefficients, "eps": eps, "ns_steps": ns_steps,
                                  "adjust_lr_fn": adjust_lr_fn})
        for p in [p for group in self.param_groups for p in group["params"]]:
            if p.dim() != 2:
                raise ValueError(f"Muon only supports 2D parameters whereas we found a parameter with size: {p.size()}")

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        return step_of_each(self.param_groups, closure, self.update)

    def update(self, p: Any, group: Group) -> None:
        state, g, momentum, lr = self.state[p], p.grad, group["momentum"], plain_number(group["lr"])
        if not state:
            state["momentum_buffer"] = g.new_zeros(g.shape)
        buffer = state["momentum_buffer"].lerp_(g, 1 - momentum)
        change = g.lerp(buffer, momentum) if group["nesterov"] else buffer
        made = orthogonal(change.array, group["ns_coefficients"], group["ns_steps"], group["eps"])
        p.mul_(1 - lr * group["weight_decay"])
        p.add_(plain(as_dtype(made, p.array.dtype)), alpha=-lr * RATES[group["adjust_lr_fn"] or "original"](*p.shape))


def orthogonal(g: Any, coefficients: tuple[float, float, float], steps: int, eps: float) -> Any:
    """Return the matrix with its singular values moved to about 1, by Newton-Schulz iteration.

    As in PyTorch each result is rounded to bfloat16: the iteration is no more exact than that.
    """
    if steps >= 100:
        raise ValueError("Number of steps must be less than 100 for computational efficiency")
    if len(coefficients) != 3:
        raise ValueError("Coefficients must be a tuple of exactly 3 values")
    a, b, c = coefficients
    wide = g.shape[0] <= g.shape[1]
    x = as_bfloat16(g if wide else g.T)
    norm = as_bfloat16(np.sqrt((x * x).sum(), dtype=np.float32).reshape(1))
    x = as_bfloat16(x / np.maximum(norm, np.float32(eps)))
    for _ in range(steps):
        gram = as_bfloat16(x @ x.T)
        change = as_bfloat16(b * gram + c * (gram @ gram))
        x = as_bfloat16(a * x + change @ x)
    return x if wide else x.T


def as_bfloat16(x: Any) -> Any:
    """Round numbers to the nearest bfloat16, in an array of float32: bfloat16 is the upper half of its bits."""
    bits = np.ascontiguousarray(x, dtype=np.float32, like=device_like(x)).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000).astype(np.uint32).view(np.float32)
