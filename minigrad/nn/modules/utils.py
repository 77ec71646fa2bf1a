"""What several layers share: mirrors `torch/nn/modules/utils.py`, and how a layer creates and prints what it has."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

from minigrad._base.dtype import dtype as dtype_type
from minigrad.nn import init
from minigrad.nn.modules.module import Module
from minigrad.nn.parameter import Parameter
from minigrad.ops.factory.sizes import empty

__all__ = ["Layer", "attributes", "empty_parameter", "reset_weight_and_bias"]

Tuple = Callable[[Any], tuple[Any, ...]]


def _ntuple(n: int) -> Tuple:
    """The function that makes one value a tuple of n, and any other iterable a tuple as it is."""
    def parse(x: Any) -> tuple[Any, ...]:
        return tuple(x) if isinstance(x, Iterable) else (x,) * n
    return parse


_single, _pair, _triple, _quadruple = [_ntuple(n) for n in (1, 2, 3, 4)]


def attributes(module: object, *names: str) -> str:
    """These attributes as `name=value`, for `extra_repr`."""
    return ", ".join([f"{name}={getattr(module, name)}" for name in names])


class Layer(Module):
    """A module that prints the attributes that `_settings` names."""

    _settings: tuple[str, ...] = ()

    def extra_repr(self) -> str:
        return attributes(self, *self._settings)


def empty_parameter(shape: int | tuple[int, ...], device: Any, dtype: dtype_type | None,
                    requires_grad: bool = True) -> Parameter:
    """A Parameter whose values are still to be set."""
    return Parameter(empty(shape, device=device, dtype=dtype), requires_grad)


def reset_weight_and_bias(weight: Parameter, bias: Parameter | None) -> None:
    """Draw weight and bias uniformly from ±1/√n, n the number of inputs of one output."""
    init.kaiming_uniform_(weight, a=math.sqrt(5))
    if bias is not None:
        inputs = init.fans(weight)[0]
        bound = 1 / math.sqrt(inputs) if inputs > 0 else 0
        init.uniform_(bias, -bound, bound)
