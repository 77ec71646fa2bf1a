"""Adam: mirrors `torch/optim/adam.py`."""

from collections.abc import Iterable
from typing import Any

from minigrad.core import Tensor
from minigrad.optim._update import (
    ElementwiseOptimizer,
    Kernel,
    before_write,
    check_options,
    number,
    plain_number,
    state_like,
    steps,
)
from minigrad.optim.optimizer import Group, State

__all__ = ["Adam"]

Number = float | Tensor
NO_TENSOR = "{} as a Tensor is not supported for capturable=False and foreach=True"


class Adam(ElementwiseOptimizer):
    """Steps of about lr in each direction, whatever the scale of the gradient (Kingma and Ba 2014).

    m ← β₁ m + (1 - β₁) g              the mean of the gradient
    v ← β₂ v + (1 - β₂) g²             that of its square; amsgrad: the greatest v so far (Reddi et al. 2018)
    p ← p - lr m̂ / (√v̂ + ε)            m̂ = m / (1 - β₁ᵗ) and v̂ = v / (1 - β₂ᵗ): both began at 0
    """

    averages = ("exp_avg", "exp_avg_sq")

    def __init__(self, params: Iterable[Any], lr: Number = 1e-3, betas: tuple[Number, Number] = (0.9, 0.999),
                 eps: float = 1e-8, weight_decay: float = 0, amsgrad: bool = False, *, foreach: bool | None = None,
                 maximize: bool = False, capturable: bool = False, differentiable: bool = False,
                 fused: bool | None = None, decoupled_weight_decay: bool = False) -> None:
        if isinstance(lr, Tensor) and foreach and not capturable:
            raise ValueError(NO_TENSOR.format("lr"))
        check_options(lr=lr, eps=eps, betas=betas, weight_decay=weight_decay)
        check_kinds(betas, bool(foreach) and not capturable)
        super().__init__(params, {
            "lr": lr, "betas": tuple([b.squeeze() if isinstance(b, Tensor) else b for b in betas]), "eps": eps,
            "weight_decay": weight_decay, "amsgrad": amsgrad, "maximize": maximize, "foreach": foreach,
            "capturable": capturable, "differentiable": differentiable, "fused": fused,
            "decoupled_weight_decay": decoupled_weight_decay})

    def init_state(self, p: Tensor, group: Group) -> State:
        state = super().init_state(p, group)
        return {**state, "max_exp_avg_sq": state_like(p, 0)} if group["amsgrad"] else state

    def update(self, p: Any, g: Any, state: dict[str, Any], group: Group) -> None:
        lr, beta1, beta2 = [number(value, group) for value in (group["lr"], *group["betas"])]
        m, v, t = state["exp_avg"], state["exp_avg_sq"], steps(state, group)
        g = self.effective_grad(p, g, group)
        m.lerp_(g, 1 - beta1)
        v.mul_(beta2).add_((1 - beta2) * g * g)
        if group["amsgrad"]:
            v = state["max_exp_avg_sq"].copy_(before_write(state["max_exp_avg_sq"]).maximum(v))
        root = (1 - beta2 ** t) ** 0.5  # √v̂ = √v / root
        p.sub_(lr * root / (1 - beta1 ** t) * m / (v.sqrt() + root * group["eps"]))

    def kernel(self, state: State, group: Group) -> Kernel | None:
        if group["amsgrad"]:
            return None
        lr, beta1, beta2, decay, t = map(plain_number, (group["lr"], *group["betas"], group["weight_decay"],
                                                        state["step"]))
        apart, root = bool(group["decoupled_weight_decay"] and decay), (1 - beta2 ** t) ** 0.5
        return Kernel("adam", (-1 if group["maximize"] else 1, 0 if apart else decay, 1 - lr * decay if apart else 1,
                               beta1, 1 - beta1, beta2, 1 - beta2, lr * root / (1 - beta1 ** t), root * group["eps"]),
                      ("exp_avg", "exp_avg_sq"), (1 + apart, 1, 2))


def check_kinds(betas: tuple[Any, Any], no_tensor: bool) -> None:
    """Raise PyTorch's errors for betas that are tensors."""
    kinds = {float if isinstance(b, float) else Tensor if isinstance(b, Tensor) else None for b in betas}
    if len(kinds) > 1 or None in kinds:
        raise ValueError("betas must be either both floats or both Tensors")
    for i, beta in enumerate(betas):
        if isinstance(beta, Tensor) and no_tensor:
            raise ValueError(NO_TENSOR.format(f"betas[{i}]"))
        if isinstance(beta, Tensor) and beta.numel() != 1:
            raise ValueError(f"Tensor betas[{i}] must be 1-element")
