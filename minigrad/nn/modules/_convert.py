"""Modules in another dtype, or elsewhere: mirrors `_apply`, `to` and their like of `torch/nn/modules/module.py`.

All of them change the module itself. A parameter stays the same object and gets new data, so that an optimiser that
holds it goes on; a buffer is replaced.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

from minigrad.autograd.grad_mode import no_grad
from minigrad.core.tensor import Tensor
from minigrad.nn.modules._tree import Tree
from minigrad.ops.factory.sizes import empty_like
from minigrad.ops.tensor.copy import parse_to

__all__ = ["Convertible"]


class Convertible(Tree):
    """The part of a Module that converts it."""

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """Put `fn` of it in the place of the data of each parameter and its gradient, and of each buffer."""
        if recurse:
            for module in self.children():
                module._apply(fn)
        for param in self._parameters.values():
            if param is not None:
                with no_grad():
                    made = fn(param)
                    param.data = made
                    if param.grad is not None:
                        param.grad.data = fn(param.grad)
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """`to(device, dtype, non_blocking)`, `to(dtype, non_blocking)` or `to(tensor, non_blocking)`.

        Only floating point parameters and buffers change their dtype.

        Raises:
            TypeError: for a dtype that is not a floating point one.
        """
        device, dtype, _ = parse_to(*args, **kwargs)
        if dtype is not None and not dtype.is_floating_point:
            raise TypeError("nn.Module.to only accepts floating point or complex dtypes, but got desired "
                            f"dtype={dtype}")
        return self._apply(lambda t: t.to(device, dtype if t.is_floating_point() else None))

    def to_empty(self, *, device: Any, recurse: bool = True) -> Self:
        """Move parameters and buffers to a device without their values, which are undefined then."""
        return self._apply(lambda t: empty_like(t, device=device), recurse)

    def type(self, dst_type: Any) -> Self:
        """Convert all parameters and buffers, of whichever dtype, to this one."""
        return self._apply(lambda t: t.type(dst_type))

    def float(self) -> Self:
        """Floating point parameters and buffers as `float32`."""
        return self._apply(lambda t: t.float() if t.is_floating_point() else t)

    def double(self) -> Self:
        """Floating point parameters and buffers as `float64`."""
        return self._apply(lambda t: t.double() if t.is_floating_point() else t)

    def half(self) -> Self:
        """Floating point parameters and buffers as `float16`."""
        return self._apply(lambda t: t.half() if t.is_floating_point() else t)

    def cpu(self) -> Self:
        """Parameters and buffers on the CPU."""
        return self._apply(lambda t: t.cpu())

    def cuda(self, device: Any = None) -> Self:
        """Parameters and buffers on a GPU."""
        return self._apply(lambda t: t.cuda(device))
