"""Options of optimisers: PyTorch's errors for what they cannot be, and tensors among them."""

from __future__ import annotations

from typing import Any

from minigrad.backends.registry import OF_TYPE
from minigrad.core.grad_mode import LOCAL
from minigrad.core.tensor import Tensor

__all__ = ["check_at_least", "check_betas", "check_fused", "check_lr", "number", "plain_number", "steps"]

NAMES = {"lr": "learning rate", "eps": "epsilon value"}


def number(value: Any, group: dict[str, Any]) -> Any:
    """An option as a number; a tensor stays one where its gradient is wanted, and on a GPU if a graph may be captured:
    then a replay reads what is in it."""
    if not isinstance(value, Tensor):
        return value
    if (LOCAL.recording and value._requires_grad) or (group.get("capturable") and type(value.array) in OF_TYPE):
        return value
    return value.item()


def plain_number(value: Any) -> Any:
    """An option as a number in any case."""
    return value.item() if isinstance(value, Tensor) else value


def steps(state: dict[str, Any], group: dict[str, Any], key: str = "step") -> Any:
    """The count of steps, or what else is one number in a state: a tensor if a graph may be captured."""
    return state[key] if group["capturable"] else state[key].item()


def check_at_least(low: float, **values: Any) -> None:
    """PyTorch's errors for options that are too small."""
    for name, value in values.items():
        if not low <= value:
            raise ValueError(f"Invalid {NAMES.get(name, f'{name} value')}: {value}")


def check_lr(lr: Any) -> None:
    """PyTorch's errors for a learning rate: a number, or a tensor with one."""
    if isinstance(lr, Tensor) and lr.numel() != 1:
        raise ValueError("Tensor lr must be 1-element")
    check_at_least(0.0, lr=lr)


def check_betas(betas: Any) -> None:
    """PyTorch's errors for how much of an average is kept."""
    for i in (0, 1):
        if not 0.0 <= betas[i] < 1.0:
            raise ValueError(f"Invalid beta parameter at index {i}: {betas[i]}")


def check_fused(options: dict[str, Any]) -> None:
    """PyTorch's errors for `fused=True`, which asks for a kernel that it has; the rule is the same."""
    if options["fused"] and options["differentiable"]:
        raise RuntimeError("`fused` does not support `differentiable`")
    if options["fused"] and options["foreach"]:
        raise RuntimeError("`fused` and `foreach` cannot be `True` together.")
