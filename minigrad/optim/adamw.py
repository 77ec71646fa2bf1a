"""AdamW: mirrors `torch/optim/adamw.py`."""

from collections.abc import Iterable
from typing import Any

from minigrad.optim.adam import Adam, Number

__all__ = ["AdamW"]


class AdamW(Adam):
    """Adam with weight decay as a separate step (Loshchilov and Hutter 2017).

    p ← (1 - lr λ) p                   λ: weight_decay, which is then not divided by √v̂; the rest is Adam's
    """

    def __init__(self, params: Iterable[Any], lr: Number = 1e-3, betas: tuple[Number, Number] = (0.9, 0.999),
                 eps: float = 1e-8, weight_decay: float = 1e-2, amsgrad: bool = False, *, maximize: bool = False,
                 foreach: bool | None = None, capturable: bool = False, differentiable: bool = False,
                 fused: bool | None = None) -> None:
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, foreach=foreach, maximize=maximize,
                         capturable=capturable, differentiable=differentiable, fused=fused,
                         decoupled_weight_decay=True)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.__dict__.get("param_groups", ()):
            group["decoupled_weight_decay"] = True  # also what Adam has saved
