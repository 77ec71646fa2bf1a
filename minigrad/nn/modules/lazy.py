"""Layers that learn the sizes of their parameters from their first input: mirrors `torch/nn/modules/lazy.py`.

PyTorch has each beside the layer that it becomes; here they are together. Until the first call the parameters are
`UninitializedParameter`s. An optimiser made before that still holds the right ones afterwards.
"""

from typing import Any, ClassVar

from minigrad._base.dtype import int64
from minigrad.autograd.grad_mode import no_grad
from minigrad.core import Tensor
from minigrad.nn.modules import batchnorm, conv, instancenorm
from minigrad.nn.modules.linear import Linear
from minigrad.nn.modules.module import Module
from minigrad.nn.parameter import Uninitialized, UninitializedBuffer, UninitializedParameter
from minigrad.ops.factory import zeros

__all__ = ["LazyBatchNorm1d", "LazyBatchNorm2d", "LazyBatchNorm3d", "LazyConv1d", "LazyConv2d", "LazyConv3d",
           "LazyConvTranspose1d", "LazyConvTranspose2d", "LazyConvTranspose3d", "LazyInstanceNorm1d",
           "LazyInstanceNorm2d", "LazyInstanceNorm3d", "LazyLinear"]


class LazyModuleMixin(Module):
    """What a lazy module does until its first call, at which it becomes a module of the class `cls_to_become`."""

    cls_to_become: ClassVar[type[Module] | None] = None
    size: ClassVar[str]  # the attribute that the first input determines

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._load_hook = self._register_load_state_dict_pre_hook(self._lazy_load_hook)
        self._initialize_hook = self.register_forward_pre_hook(self._infer_parameters, with_kwargs=True)

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        held = {**self._parameters, **{name: buffer for name, buffer in self._buffers.items()
                                       if name not in self._non_persistent_buffers_set}}
        for name, tensor in held.items():
            if tensor is not None:
                whole = keep_vars or isinstance(tensor, Uninitialized)
                destination[prefix + name] = tensor if whole else tensor.detach()

    def _lazy_load_hook(self, state_dict: dict[str, Any], prefix: str, *rest: Any) -> None:
        """Give the parameters the shapes in a state dict."""
        for name, tensor in (*self._parameters.items(), *self._buffers.items()):
            given = state_dict.get(prefix + name)
            if given is not None and isinstance(tensor, Uninitialized) and not isinstance(given, Uninitialized):
                with no_grad():
                    tensor.materialize(given.shape)

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> None:
        """Give the parameters the shapes that the first input requires."""
        raise NotImplementedError(f"initialize_parameters is not implemented for {type(self).__name__}")

    def has_uninitialized_params(self) -> bool:
        """Return whether a parameter or buffer has no shape yet."""
        return any(isinstance(tensor, Uninitialized)
                   for tensor in (*self._parameters.values(), *self._buffers.values()))

    def reset_parameters(self) -> None:
        """Draw the parameters, once they have shapes."""
        if not self.has_uninitialized_params() and getattr(self, self.size) != 0:
            super().reset_parameters()  # type: ignore[misc]  # the layer's own

    def _infer_parameters(self, module: Any, args: Any, kwargs: Any = None) -> None:
        """Set the shapes: the hook before the first call."""
        module.initialize_parameters(*args, **(kwargs or {}))
        if module.has_uninitialized_params():
            raise RuntimeError(f"module {self._get_name()} has not been fully initialized")
        for name in ("_initialize_hook", "_load_hook"):
            getattr(module, name).remove()
            delattr(module, name)
        if module.cls_to_become is not None:
            module.__class__ = module.cls_to_become


class LazyLinear(LazyModuleMixin, Linear):
    """A Linear layer whose `in_features` are those of its first input."""

    cls_to_become, size = Linear, "in_features"

    def __init__(self, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None) -> None:
        super().__init__(0, 0, False)
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        self.out_features = out_features
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def initialize_parameters(self, input: Tensor) -> None:
        width = input.shape[-1]
        if self.has_uninitialized_params():
            with no_grad():
                self.in_features = width
                self.weight.materialize((self.out_features, width))
                if self.bias is not None:
                    self.bias.materialize((self.out_features,))
                self.reset_parameters()
        if self.in_features == 0:  # a state was loaded
            if width != self.weight.shape[-1]:
                raise AssertionError(f"The in_features inferred from input: {width} is not equal to in_features from "
                                     f"self.weight: {self.weight.shape[-1]}")
            self.in_features = width


class _LazyConvNd(LazyModuleMixin, conv._ConvNd):
    """A convolution whose `in_channels` are those of its first input; its other arguments are those of the layer."""

    size = "in_channels"

    def _become_lazy(self, out_channels: int, bias: bool, device: Any, dtype: Any) -> None:
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        self.out_channels = out_channels
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def initialize_parameters(self, input: Tensor, *args: Any, **kwargs: Any) -> None:
        if not self.has_uninitialized_params():
            return
        dims = len(self.kernel_size)
        if input.ndim not in (dims + 1, dims + 2):
            raise RuntimeError(f"Expected {dims + 1}D (unbatched) or {dims + 2}D (batched) input to "
                               f"{type(self).__name__}, but got input of size: {input.shape}")
        self.in_channels = input.shape[-dims - 1]
        if self.in_channels % self.groups:
            raise ValueError("in_channels must be divisible by groups")
        first, second = self.out_channels, self.in_channels // self.groups
        if self.transposed:
            first, second = self.in_channels, self.out_channels // self.groups
        weight: Any = self.weight
        weight.materialize((first, second, *self.kernel_size))
        if self.bias is not None:
            self.bias.materialize((self.out_channels,))
        self.reset_parameters()


class _LazyConv(_LazyConvNd):
    def __init__(self, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
                 groups: int = 1, bias: bool = True, padding_mode: str = "zeros", device: Any = None,
                 dtype: Any = None) -> None:
        super().__init__(0, 0, kernel_size, stride, padding, dilation, groups, False, padding_mode, device, dtype)
        self._become_lazy(out_channels, bias, device, dtype)


class _LazyConvTranspose(_LazyConvNd):
    def __init__(self, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0,
                 output_padding: Any = 0, groups: int = 1, bias: bool = True, dilation: Any = 1,
                 padding_mode: str = "zeros", device: Any = None, dtype: Any = None) -> None:
        super().__init__(0, 0, kernel_size, stride, padding, output_padding, groups, False, dilation, padding_mode,
                         device, dtype)
        self._become_lazy(out_channels, bias, device, dtype)


class _LazyNorm(LazyModuleMixin, batchnorm._NormBase):
    """A norm whose `num_features` are the channels of its first input."""

    size = "num_features"

    def __init__(self, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = True,
                 track_running_stats: bool = True, device: Any = None, dtype: Any = None, *,
                 bias: bool = True) -> None:
        super().__init__(0, eps, momentum, False, False, device, dtype, bias=False)
        self.affine, self.track_running_stats = affine, track_running_stats
        if affine:
            self.weight = UninitializedParameter(device=device, dtype=dtype)
            if bias:
                self.bias = UninitializedParameter(device=device, dtype=dtype)
        if track_running_stats:
            self.running_mean = UninitializedBuffer(device=device, dtype=dtype)
            self.running_var = UninitializedBuffer(device=device, dtype=dtype)
            self.num_batches_tracked = zeros((), dtype=int64, device=device)

    def initialize_parameters(self, input: Tensor) -> None:
        if self.has_uninitialized_params():
            self.num_features = input.shape[1]
            for tensor in (self.weight, self.bias, self.running_mean, self.running_var):
                if isinstance(tensor, Uninitialized):
                    tensor.materialize((self.num_features,))
            self.reset_parameters()


def lazy(of: type[Module], kind: type[LazyModuleMixin]) -> Any:
    """Make the lazy class of a layer."""
    doc = f"{of.__name__} whose `{kind.size}` are the channels of its first input, which it learns from that."
    return type(f"Lazy{of.__name__}", (kind, of), {"cls_to_become": of, "__doc__": doc, "__module__": __name__})


LazyConv1d, LazyConv2d, LazyConv3d = [lazy(of, _LazyConv) for of in (conv.Conv1d, conv.Conv2d, conv.Conv3d)]
LazyConvTranspose1d, LazyConvTranspose2d, LazyConvTranspose3d = [
    lazy(of, _LazyConvTranspose) for of in (conv.ConvTranspose1d, conv.ConvTranspose2d, conv.ConvTranspose3d)]
LazyBatchNorm1d, LazyBatchNorm2d, LazyBatchNorm3d = [
    lazy(of, _LazyNorm) for of in (batchnorm.BatchNorm1d, batchnorm.BatchNorm2d, batchnorm.BatchNorm3d)]
LazyInstanceNorm1d, LazyInstanceNorm2d, LazyInstanceNorm3d = [
    lazy(of, _LazyNorm)
    for of in (instancenorm.InstanceNorm1d, instancenorm.InstanceNorm2d, instancenorm.InstanceNorm3d)]
