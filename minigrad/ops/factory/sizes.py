"""Makes tensors of a given size, filled with zeros, ones or one value, or not filled at all. All of them are leaves.

Each has three forms: of a size (`zeros`), of the size of another tensor (`zeros_like`), and in the dtype of another
(`x.new_zeros`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from minigrad.backends.registry import beside, home, located, moved
from minigrad.core import Tensor, owned
from minigrad.core.accumulate import repeats
from minigrad.ops._dispatch import number_in, op, tensor_method
from minigrad.ops.factory.values import Dtype, dtype_of, new_leaf, numpy_dtype, size_of

__all__ = ["empty", "empty_like", "full", "full_like", "ones", "ones_like", "scalar_tensor", "zeros", "zeros_like"]

Maker = Callable[..., Any]  # of an array
Creator = Callable[..., Tensor]


def sized(name: str, make: Maker, make_like: Maker, what: str) -> tuple[Creator, Creator, Creator]:
    """Register `name`, `name_like` and `Tensor.new_name`, which make tensors by two of NumPy's functions."""
    def create(*size: Any, dtype: Dtype = None, device: Any = None, requires_grad: bool = False) -> Tensor:
        kind = numpy_dtype(dtype, what=name)
        return new_leaf(make(size_of(size, name), kind, like=home(device)), requires_grad, name)

    def like(input: Tensor, *, dtype: Dtype = None, device: Any = None, requires_grad: bool = False) -> Tensor:
        return new_leaf(array_like(make_like, input, dtype, f"{name}_like", device), requires_grad, f"{name}_like")

    def new(self: Tensor, *size: Any, dtype: Dtype = None, device: Any = None, requires_grad: bool = False) -> Tensor:
        kind = numpy_dtype(dtype, self.array.dtype, f"new_{name}")
        array = make(size_of(size, f"new_{name}"), kind, like=device_or_own(self, device))
        return new_leaf(array, requires_grad, f"new_{name}")

    create.__doc__ = f"{what} of this size."
    like.__doc__ = f"{what} of the shape and dtype of another tensor."
    new.__doc__ = f"{what} of this size, in this tensor's dtype."
    return op(name=name)(create), op(name=f"{name}_like")(like), tensor_method(name=f"new_{name}")(new)


def array_like(make: Any, input: Tensor, dtype: Dtype, what: str, device: Any) -> Any:
    """An array of the shape of a tensor, its memory in the same order; of an expanded one row by row."""
    order = "C" if repeats(owned(input)) else "K"
    array = make(owned(input), numpy_dtype(dtype, input.array.dtype, what), order)
    return moved(array, home(device)) if device is not None and located(device) != input.device else array


def device_or_own(self: Tensor, device: Any) -> Any:
    """Where `x.new_zeros` and its like make an array: on the device of `x`, if none is named."""
    return beside(self.array) if device is None else home(device)


zeros, zeros_like, new_zeros = sized("zeros", np.zeros, np.zeros_like, "Zeros")
ones, ones_like, new_ones = sized("ones", np.ones, np.ones_like, "Ones")
empty, empty_like, new_empty = sized("empty", np.empty, np.empty_like, "Unspecified values")


@op
def full(size: Any, fill_value: Any, *, dtype: Dtype = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """One value in this size; its dtype is that of the value (a float has the default dtype).

    Raises:
        RuntimeError: if the dtype does not reach the value.
    """
    if isinstance(fill_value, Tensor):
        fill_value = fill_value.item()
    kind = numpy_dtype(dtype, dtype_of(fill_value), "full")
    array = np.full(size_of((size,), "full"), number_in(fill_value, kind), kind, like=home(device))
    return new_leaf(array, requires_grad, "full")


@op
def scalar_tensor(s: float, *, dtype: Dtype = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """A 0-d tensor."""
    return new_leaf(number_in(s, numpy_dtype(dtype, what="scalar_tensor")), requires_grad, "scalar_tensor", device)


@op
def full_like(input: Tensor, fill_value: float, *, dtype: Dtype = None, device: Any = None,
              requires_grad: bool = False) -> Tensor:
    """One value in the shape and dtype of another tensor."""
    array = array_like(np.empty_like, input, dtype, "full_like", device)
    array[...] = number_in(fill_value, array.dtype)
    return new_leaf(array, requires_grad, "full_like")


@tensor_method
def new_full(self: Tensor, size: Any, fill_value: float, *, dtype: Dtype = None, device: Any = None,
             requires_grad: bool = False) -> Tensor:
    """One value in this size, in this tensor's dtype."""
    kind = numpy_dtype(dtype, self.array.dtype, "new_full")
    array = np.full(size_of((size,), "new_full"), number_in(fill_value, kind), kind, like=device_or_own(self, device))
    return new_leaf(array, requires_grad, "new_full")
