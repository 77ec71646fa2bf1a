"""Answers the questions that programs ask of a tensor: `type()`, `is_nonzero()`, `x in tensor`, `torch.typename`.

It mirrors parts of PyTorch's `torch/_tensor.py`.
"""

from __future__ import annotations

import warnings
from numbers import Number
from typing import Any

import numpy as np

from minigrad._base.device import strided
from minigrad._base.dtype import DTYPES, from_numpy_dtype
from minigrad._base.dtype import dtype as dtype_type
from minigrad._base.type_name import type_name
from minigrad.core import Tensor
from minigrad.core.tensor import alias
from minigrad.ops._dispatch import op, tensor_method
from minigrad.ops._dispatch.registration import tensor_properties
from minigrad.ops.pointwise.compare import eq
from minigrad.ops.tensor.copy import cast, to

__all__ = ["is_complex", "is_floating_point", "is_inference", "is_nonzero", "is_same_size", "is_signed", "is_tensor",
           "numel", "typename"]

TYPES = {f"torch.{d.type_name}Tensor": d for d in DTYPES} | {"torch.Tensor": from_numpy_dtype("float32")}


@op
def is_tensor(obj: Any) -> bool:
    """Whether something is a Tensor."""
    return isinstance(obj, Tensor)


@op
def typename(obj: Any, /) -> str:
    """A tensor's `type()`; of anything else the name of its class, or its own."""
    if isinstance(obj, Tensor):
        return tensor_type(obj)
    named = obj if hasattr(obj, "__qualname__") else type(obj)
    module = getattr(named, "__module__", None) or ""
    return named.__qualname__ if module in ("", "builtins") else f"{module}.{named.__qualname__}"


def tensor_type(self: Tensor) -> str:
    """The old name of a tensor's type, for instance `torch.FloatTensor`."""
    device = "" if self.device.type == "cpu" else f"{self.device.type}."
    return f"torch.{device}{self.dtype.type_name}Tensor"


def type_of(self: Tensor, dtype: Any = None) -> Any:
    """The old name of the type, for instance `torch.FloatTensor`; or the tensor in another type, as `to` gives it."""
    if dtype is None:
        return tensor_type(self)
    if isinstance(dtype, dtype_type):
        return cast(self, dtype.numpy)
    if not (isinstance(dtype, (str, type)) or type(dtype).__name__ == "tensortype"):
        raise TypeError("dtype must be a type, str, or dtype object")
    name = dtype if isinstance(dtype, str) else dtype.__qualname__
    short = name.replace("torch.cuda.", "torch.", 1)
    if short not in TYPES or name == "torch.cuda.Tensor":
        raise ValueError(f"invalid type: '{name}'")
    kind = "cpu" if short == name else "cuda"
    return to(self, dtype=TYPES[short], device=None if kind == self.device.type else kind)


@tensor_method
def type_as(self: Tensor, other: Tensor) -> Tensor:
    """The tensor in the dtype of another, and on its device."""
    return to(self, dtype=other.dtype, device=other.device)


@op(method=True)
def is_same_size(self: Tensor, other: Tensor) -> bool:
    """Whether both have one shape."""
    return bool(self.array.shape == other.array.shape)


@op(method=True)
def is_nonzero(input: Tensor) -> bool:
    """Whether the one element of a tensor is not zero."""
    return Tensor.__bool__(input)


@op(method=True)
def is_floating_point(input: Tensor) -> bool:
    """Whether the dtype is a floating point one."""
    return input.dtype.is_floating_point


@op(method=True)
def is_complex(input: Tensor) -> bool:
    """Whether the dtype is a complex one."""
    return input.dtype.is_complex


@op(method=True)
def is_signed(input: Tensor) -> bool:
    """Whether the dtype has negative numbers."""
    return input.array.dtype.kind in "if"


@op
def is_inference(input: Tensor) -> bool:
    """Whether a tensor was made inside `inference_mode`."""
    return input.is_inference()


@op
def numel(input: Tensor) -> int:
    """The number of elements."""
    return input.numel()


@tensor_method
def get_device(self: Tensor) -> int:
    """The number of the GPU that holds the data; -1 for the CPU."""
    return -1 if self.device.index is None else int(self.device.index)


def contains(self: Tensor, element: Any) -> bool:
    """`element in tensor`: whether any element equals it.

    Raises:
        RuntimeError: for anything but tensors and numbers.
    """
    if not isinstance(element, (Tensor, Number)):
        raise RuntimeError("Tensor.__contains__ only supports Tensor or scalar, but you passed in a "
                           f"{type(element)}.")
    comparable = isinstance(element, (Tensor, int, float, np.generic))
    return comparable and bool(eq(self, element).array.any())


def make_subclass(cls: Any, data: Tensor, require_grad: bool = False) -> Tensor:
    """A leaf of a subclass that looks at the data of a tensor and shares its version (`Tensor._make_subclass`)."""
    if not (isinstance(cls, type) and issubclass(cls, Tensor)):
        raise TypeError("Creating a Tensor subclass from a class that does not inherit from Tensor is not possible. "
                        "Make sure your class inherits from Tensor.")
    if not isinstance(require_grad, bool):
        raise TypeError("_make_subclass(): argument 'require_grad' (position 3) must be bool, not "
                        f"{type_name(require_grad)}")
    detached = data.detach()
    if require_grad and not detached.is_floating_point():
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
    result = alias(detached, cls)
    result._version_counter = detached._version_counter
    result.requires_grad = require_grad
    return result


def listed(self: Tensor) -> list[str]:
    """The names that `dir(tensor)` lists."""
    return sorted({*object.__dir__(self)} - {"volatile"})


def volatile(self: Tensor) -> bool:
    """Always False: early PyTorch's predecessor of `no_grad`."""
    warnings.warn("volatile was removed (Variable.volatile is always False)", UserWarning, stacklevel=2)
    return False


def set_volatile(self: Tensor, value: Any) -> None:
    """Does nothing but warn."""
    warnings.warn("volatile was removed and now has no effect. Use `with torch.no_grad():` instead.", UserWarning,
                  stacklevel=2)


tensor_properties({
    "itemsize": property(Tensor.element_size, doc="The bytes of one element."),
    "nbytes": property(lambda self: self.numel() * self.element_size(), doc="The bytes of all elements."),
    "is_cuda": property(lambda self: self.device.type == "cuda", doc="Whether the data lives on a GPU."),
    "layout": property(lambda self: strided, doc="How the elements lie in memory: `torch.strided`, always."),
    "real": property(lambda self: self, doc="The tensor itself: it is no complex one."),
    "volatile": property(volatile, set_volatile),
    **dict.fromkeys(("is_meta", "is_mkldnn", "is_quantized", "is_sparse"),
                    property(lambda self: False, doc="False: the elements are a plain array.")),
})
