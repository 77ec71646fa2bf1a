"""Splits weights into length and direction, in a hook before `forward`: mirrors `torch/nn/utils/weight_norm.py`."""

import warnings
from typing import Any, TypeVar

from minigrad.core import Tensor
from minigrad.nn.modules.module import Module
from minigrad.nn.parameter import Parameter, refuse_uninitialized
from minigrad.ops.nn.normalization import lengths, normalised

__all__ = ["WeightNorm", "remove_weight_norm", "weight_norm"]

M = TypeVar("M", bound=Module)
DEPRECATED = "`torch.nn.utils.weight_norm` is deprecated in favor of `torch.nn.utils.parametrizations.weight_norm`."


class WeightNorm:
    """The hook: recomputes the weight from its length `…_g` and its direction `…_v`."""

    def __init__(self, name: str, dim: int | None) -> None:
        self.name, self.dim = name, -1 if dim is None else dim

    def compute_weight(self, module: Module) -> Tensor:
        """g * v / |v|."""
        return normalised(getattr(module, f"{self.name}_v"), getattr(module, f"{self.name}_g"), self.dim)

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module))

    def remove(self, module: Module) -> None:
        """Make the weight a parameter again."""
        weight = self.compute_weight(module)
        for name in (self.name, f"{self.name}_g", f"{self.name}_v"):
            delattr(module, name)
        setattr(module, self.name, Parameter(weight.data))


def weight_norm(module: M, name: str = "weight", dim: int | None = 0) -> M:
    """Replace a parameter by two: the lengths `name_g` along `dim` (None: one length), and the direction `name_v`.
    Raises RuntimeError if this parameter is already normalised, and ValueError if it has no shape yet."""
    warnings.warn(DEPRECATED, FutureWarning, stacklevel=2)
    if any(isinstance(hook, WeightNorm) and hook.name == name for hook in module._forward_pre_hooks.values()):
        raise RuntimeError(f"Cannot register two weight_norm hooks on the same parameter {name}")
    hook = WeightNorm(name, dim)
    weight = getattr(module, name)
    refuse_uninitialized(weight, "WeightNorm")
    del module._parameters[name]
    module.register_parameter(f"{name}_g", Parameter(lengths(weight, hook.dim).data))
    module.register_parameter(f"{name}_v", Parameter(weight.data))
    setattr(module, name, hook.compute_weight(module))
    module.register_forward_pre_hook(hook)
    return module


def remove_weight_norm(module: M, name: str = "weight") -> M:
    """Undo `weight_norm`. Raises ValueError if there is nothing to undo."""
    remove_hook(module, WeightNorm, name, "weight_norm")
    return module


def remove_hook(module: Module, kind: type[Any], name: str, what: str) -> Any:
    """Find the hook of this kind that computes a parameter, make the parameter a plain one again, remove the hook."""
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, kind) and hook.name == name:
            hook.remove(module)
            del module._forward_pre_hooks[key]
            return hook
    raise ValueError(f"{what} of '{name}' not found in {module}")
