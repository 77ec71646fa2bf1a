"""Convolutions: mirrors `torch/nn/modules/conv.py`.

`weight` is (out_channels, in_channels / groups, *kernel_size), with the channels swapped if transposed.
"""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from minigrad._base.dtype import dtype as dtype_type
from minigrad.core import Tensor
from minigrad.nn import functional as F
from minigrad.nn.modules.utils import Family, _ntuple, attributes, empty_parameter, reset_weight_and_bias
from minigrad.nn.parameter import Parameter

__all__ = ["Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d"]


class _ConvNd(Family):
    """What all convolutions share; sizes are tuples, with a number for each spatial dimension."""

    weight: Parameter
    bias: Parameter | None
    padding: Any
    _function: ClassVar[Callable[..., Tensor]]

    def __init__(self, in_channels: int, out_channels: int, kernel_size: tuple[int, ...], stride: tuple[int, ...],
                 padding: str | tuple[int, ...], dilation: tuple[int, ...], transposed: bool,
                 output_padding: tuple[int, ...], groups: int, bias: bool, padding_mode: str, device: Any = None,
                 dtype: dtype_type | None = None) -> None:
        super().__init__()
        if groups <= 0:
            raise ValueError("groups must be a positive integer")
        for name, channels in (("in", in_channels), ("out", out_channels)):
            if channels % groups:
                raise ValueError(f"{name}_channels must be divisible by groups")
        paddings, modes = {"same", "valid"}, {"zeros", "reflect", "replicate", "circular"}
        if isinstance(padding, str) and padding not in paddings:
            raise ValueError(f"Invalid padding string {padding!r}, should be one of {paddings}")
        if padding == "same" and any(step != 1 for step in stride):
            raise ValueError("padding='same' is not supported for strided convolutions")
        if padding_mode not in modes:
            raise ValueError(f"padding_mode must be one of {modes}, but got padding_mode='{padding_mode}'")
        self.in_channels, self.out_channels, self.groups = in_channels, out_channels, groups
        self.kernel_size, self.stride, self.padding, self.dilation = kernel_size, stride, padding, dilation
        self.transposed, self.output_padding, self.padding_mode = transposed, output_padding, padding_mode
        self._reversed_padding_repeated_twice = sides(padding, kernel_size, dilation)
        shape = (in_channels, out_channels // groups) if transposed else (out_channels, in_channels // groups)
        self.weight = empty_parameter((*shape, *kernel_size), device, dtype)
        self.register_parameter("bias", empty_parameter(out_channels, device, dtype) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        reset_weight_and_bias(self.weight, self.bias)

    def extra_repr(self) -> str:
        shown = ["kernel_size", "stride"]
        shown += [name for name, usual in (("padding", 0), ("dilation", 1), ("output_padding", 0))
                  if getattr(self, name) != (usual,) * len(getattr(self, name))]
        shown += ["groups"] if self.groups != 1 else []
        bias = ", bias=False" if self.bias is None else ""
        mode = f", padding_mode={self.padding_mode}" if self.padding_mode != "zeros" else ""
        return f"{self.in_channels}, {self.out_channels}, {attributes(self, *shown)}{bias}{mode}"


def sides(padding: str | tuple[int, ...], kernel_size: tuple[int, ...], dilation: tuple[int, ...]) -> list[int]:
    """Return how much `F.pad` has to pad: before and after, the last dimension first."""
    if not isinstance(padding, str):
        return [n for n in reversed(padding) for _ in range(2)]
    if padding == "valid":
        return [0, 0] * len(kernel_size)
    missing = [d * (k - 1) for d, k in zip(reversed(dilation), reversed(kernel_size), strict=True)]
    return [n for all_of_it in missing for n in (all_of_it // 2, all_of_it - all_of_it // 2)]


class _Conv(_ConvNd):
    def __init__(self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0,
                 dilation: Any = 1, groups: int = 1, bias: bool = True, padding_mode: str = "zeros",
                 device: Any = None, dtype: dtype_type | None = None) -> None:
        tuple_of = _ntuple(self._dims)
        super().__init__(in_channels, out_channels, tuple_of(kernel_size), tuple_of(stride),
                         padding if isinstance(padding, str) else tuple_of(padding), tuple_of(dilation), False,
                         tuple_of(0), groups, bias, padding_mode, device, dtype)

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        padding = self.padding
        if self.padding_mode != "zeros":
            input, padding = F.pad(input, self._reversed_padding_repeated_twice, self.padding_mode), 0
        return self._function(input, weight, bias, self.stride, padding, self.dilation, self.groups)

    def forward(self, input: Tensor) -> Tensor:
        return self._conv_forward(input, self.weight, self.bias)


class Conv1d(_Conv, dims=1, function=F.conv1d):
    """Each output channel is a sum over input channels, each with a kernel slid over it: (N, C, L) or (C, L)."""


class Conv2d(_Conv, dims=2, function=F.conv2d):
    """Each output channel is a sum over input channels, each with a kernel slid over it: (N, C, H, W) or (C, H, W)."""


class Conv3d(_Conv, dims=3, function=F.conv3d):
    """As Conv2d, with a third spatial dimension: (N, C, D, H, W) or (C, D, H, W)."""


class _ConvTransposeNd(_ConvNd):
    def __init__(self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0,
                 output_padding: Any = 0, groups: int = 1, bias: bool = True, dilation: Any = 1,
                 padding_mode: str = "zeros", device: Any = None, dtype: dtype_type | None = None) -> None:
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        tuple_of = _ntuple(self._dims)
        super().__init__(in_channels, out_channels, tuple_of(kernel_size), tuple_of(stride), tuple_of(padding),
                         tuple_of(dilation), True, tuple_of(output_padding), groups, bias, padding_mode, device, dtype)

    def _output_padding(self, input: Tensor, output_size: Sequence[int] | None) -> Sequence[int]:
        """Return what to add on one side to get this size; with a stride, several sizes shrink to the same one."""
        if output_size is None:
            return self.output_padding
        dims = self._dims
        before = 2 if input.ndim == dims + 2 else 1
        if len(output_size) not in (dims, before + dims):
            raise ValueError(f"ConvTranspose{dims}D: for {input.ndim}D input, output_size must have {dims} or "
                             f"{before + dims} elements (got {len(output_size)})")
        wanted = output_size[-dims:]
        lowest = [(n - 1) * step - 2 * pad + spread * (kernel - 1) + 1 for n, step, pad, spread, kernel in zip(
            input.shape[before:], self.stride, self.padding, self.dilation, self.kernel_size)]
        highest = [low + step - 1 for low, step in zip(lowest, self.stride)]
        if any(not low <= size <= high for low, size, high in zip(lowest, wanted, highest)):
            raise ValueError(f"requested an output size of {wanted}, but valid sizes range from {lowest} to {highest} "
                             f"(for an input of {input.size()[2:]})")
        return [size - low for size, low in zip(wanted, lowest)]

    def forward(self, input: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        extra = self._output_padding(input, output_size)
        return self._function(input, self.weight, self.bias, self.stride, self.padding, extra, self.groups,
                              self.dilation)


class ConvTranspose1d(_ConvTransposeNd, dims=1, function=F.conv_transpose1d):
    """What Conv1d does to gradients: each input element spreads a kernel. `output_size` picks one of several sizes."""


class ConvTranspose2d(_ConvTransposeNd, dims=2, function=F.conv_transpose2d):
    """What Conv2d does to gradients: each input element spreads a kernel. `output_size` picks one of several sizes."""


class ConvTranspose3d(_ConvTransposeNd, dims=3, function=F.conv_transpose3d):
    """What Conv3d does to gradients: each input element spreads a kernel. `output_size` picks one of several sizes."""
