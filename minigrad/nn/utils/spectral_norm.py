"""Normalises weights by their spectral norm, in a hook before `forward`: mirrors `torch/nn/utils/spectral_norm.py`.

Its successor in PyTorch is `torch.nn.utils.parametrizations.spectral_norm`.
"""

from typing import Any, TypeVar

from minigrad.autograd.grad_mode import no_grad
from minigrad.core import Tensor
from minigrad.nn import functional as F
from minigrad.nn.modules.conv import _ConvTransposeNd
from minigrad.nn.modules.module import Module
from minigrad.nn.parameter import Parameter, refuse_uninitialized
from minigrad.nn.utils.weight_norm import remove_hook

__all__ = ["SpectralNorm", "remove_spectral_norm", "spectral_norm"]

M = TypeVar("M", bound=Module)


class SpectralNorm:
    """The hook: divides the weight `…_orig` by u · (W v), an estimate of its greatest singular value.

    The buffers `…_u` and `…_v` are estimates of the singular vectors; each call in training improves them.
    """

    _version = 1  # stored in state dicts; states of version 0, older than 2019, have no `…_v` and are refused

    def __init__(self, name: str = "weight", n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        if n_power_iterations <= 0:
            raise ValueError("Expected n_power_iterations to be positive, but got n_power_iterations="
                             f"{n_power_iterations}")
        self.name, self.dim, self.n_power_iterations, self.eps = name, dim, n_power_iterations, eps

    def reshape_weight_to_matrix(self, weight: Tensor) -> Tensor:
        """Return the weight with its dimension of outputs first and all others joined."""
        order = [self.dim, *[d for d in range(weight.ndim) if d != self.dim]]
        turned = weight.permute(order) if self.dim else weight
        return turned.reshape(turned.size(0), -1)

    def compute_weight(self, module: Module, do_power_iteration: bool) -> Tensor:
        """Return the weight divided by the estimate."""
        weight, u, v = [getattr(module, f"{self.name}_{part}") for part in ("orig", "u", "v")]
        matrix = self.reshape_weight_to_matrix(weight)
        if do_power_iteration:
            with no_grad():
                for _ in range(self.n_power_iterations):
                    v.copy_(F.normalize(matrix.t().mv(u), dim=0, eps=self.eps))
                    u.copy_(F.normalize(matrix.mv(v), dim=0, eps=self.eps))
                u, v = u.clone(), v.clone()  # backward needs these; the next step overwrites the buffers
        return weight / u.dot(matrix.mv(v))

    def remove(self, module: Module) -> None:
        """Make the weight a parameter again."""
        with no_grad():
            weight = self.compute_weight(module, do_power_iteration=False)
        for name in (self.name, *[f"{self.name}_{part}" for part in ("u", "v", "orig")]):
            delattr(module, name)
        module.register_parameter(self.name, Parameter(weight.detach()))

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module, do_power_iteration=module.training))

    def note_version(self, module: Module, state_dict: Any, prefix: str, local_metadata: dict[str, Any]) -> None:
        """Write the version into a state dict."""
        local_metadata.setdefault("spectral_norm", {})[f"{self.name}.version"] = self._version


def spectral_norm(module: M, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12,
                  dim: int | None = None) -> M:
    """Divide a parameter by an estimate of its greatest singular value (Miyato et al., 2018).

    `n_power_iterations`: by how many steps of the power method each call in training improves the estimate. `eps`:
    keeps norms from being 0. `dim`: the dimension of outputs; by default 0, or 1 for a transposed convolution. Raises
    RuntimeError if this parameter is already normalised; ValueError if it is None or has no shape yet.
    """
    dim = int(isinstance(module, _ConvTransposeNd)) if dim is None else dim
    hook = SpectralNorm(name, n_power_iterations, dim, eps)
    if any(isinstance(known, SpectralNorm) and known.name == name for known in module._forward_pre_hooks.values()):
        raise RuntimeError(f"Cannot register two spectral_norm hooks on the same parameter {name}")
    weight = module._parameters[name]
    if weight is None:
        raise ValueError(f"`SpectralNorm` cannot be applied as parameter `{name}` is None")
    refuse_uninitialized(weight, "SpectralNorm")
    with no_grad():
        u, v = [F.normalize(weight.new_empty(size).normal_(0, 1), dim=0, eps=eps)
                for size in hook.reshape_weight_to_matrix(weight).shape]
    delattr(module, name)
    module.register_parameter(f"{name}_orig", weight)
    setattr(module, name, weight.data)
    module.register_buffer(f"{name}_u", u)
    module.register_buffer(f"{name}_v", v)
    module.register_forward_pre_hook(hook)
    module._register_state_dict_hook(hook.note_version)
    return module


def remove_spectral_norm(module: M, name: str = "weight") -> M:
    """Undo `spectral_norm`. Raises ValueError if there is nothing to undo."""
    hook = remove_hook(module, SpectralNorm, name, "spectral_norm")
    for key, note in list(module._state_dict_hooks.items()):
        if getattr(note, "__self__", None) is hook:
            del module._state_dict_hooks[key]
    return module
