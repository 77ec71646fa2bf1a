"""Clips gradients: mirrors `torch/nn/utils/clip_grad.py`. All functions change `.grad` in place, unrecorded."""

import warnings
from collections.abc import Iterable
from types import GeneratorType

from minigrad.autograd.grad_mode import no_grad
from minigrad.core import Tensor
from minigrad.linalg import vector_norm
from minigrad.ops.factory import zeros
from minigrad.ops.pointwise.minmax import clamp
from minigrad.ops.shape.join import stack

__all__ = ["clip_grad_norm", "clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "get_total_norm"]

Tensors = Tensor | Iterable[Tensor]
NON_FINITE = (
    "The total norm of order {} for gradients from `parameters` is non-finite, so it cannot be clipped. To disable "
    "this error and scale the gradients by the non-finite norm anyway, set `error_if_nonfinite=False`"
)


def as_list(tensors: Tensors) -> list[Tensor]:
    return [tensors] if isinstance(tensors, Tensor) else list(tensors)


def grads_of(parameters: Tensors) -> list[Tensor]:
    return [p.grad for p in as_list(parameters) if p.grad is not None]


def on_device_of(like: Tensor, norm: Tensor) -> Tensor:
    """Return a norm on the device of another tensor: gradients may be on several."""
    return norm if type(norm.array) is type(like.array) and norm.device == like.device else norm.to(like.device)


def get_total_norm(tensors: Tensors, norm_type: float = 2.0, error_if_nonfinite: bool = False,
                   foreach: bool | None = None) -> Tensor:
    """Return the norm of all tensors as one vector: the norm of their norms. `foreach` changes nothing here. Raises
    RuntimeError if it is infinite or NaN, and `error_if_nonfinite`."""
    tensors, order = as_list(tensors), float(norm_type)
    if not tensors:
        return zeros(())
    with no_grad():
        total: Tensor = vector_norm(stack([on_device_of(tensors[0], vector_norm(v, order)) for v in tensors]), order)
    if error_if_nonfinite and not total.isfinite():
        raise RuntimeError(NON_FINITE.format(order))
    return total


def clip_grads_with_norm_(parameters: Tensors, max_norm: float, total_norm: Tensor,
                          foreach: bool | None = None) -> None:
    """Scale the gradients by `max_norm / (total_norm + 1e-6)` if that is below 1."""
    with no_grad():
        factor = clamp(float(max_norm) / (total_norm + 1e-6), max=1.0)
        for grad in grads_of(parameters):
            grad.mul_(on_device_of(grad, factor))


def clip_grad_norm_(parameters: Tensors, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False,
                    foreach: bool | None = None) -> Tensor:
    """Scale the gradients so that their norm as one vector is at most `max_norm`; return the norm before. Raises
    RuntimeError if it is infinite or NaN, and `error_if_nonfinite`."""
    tensors = as_list(parameters)
    if isinstance(parameters, GeneratorType) and not tensors:
        warnings.warn("`parameters` is an empty generator, no gradient clipping will occur.", stacklevel=2)
    total = get_total_norm(grads_of(tensors), norm_type, error_if_nonfinite, foreach)
    clip_grads_with_norm_(tensors, max_norm, total, foreach)
    return total


def clip_grad_norm(parameters: Tensors, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False,
                   foreach: bool | None = None) -> Tensor:
    """The old name of `clip_grad_norm_`."""
    warnings.warn("`torch.nn.utils.clip_grad_norm` is now deprecated in favor of `torch.nn.utils.clip_grad_norm_`.",
                  FutureWarning, stacklevel=2)
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)


def clip_grad_value_(parameters: Tensors, clip_value: float, foreach: bool | None = None) -> None:
    """Clamp each element of the gradients to [-clip_value, clip_value]."""
    bound = float(clip_value)
    with no_grad():
        for grad in grads_of(parameters):
            grad.clamp_min_(-bound).clamp_max_(bound)
