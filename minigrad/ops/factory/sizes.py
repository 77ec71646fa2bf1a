"""Makes tensors of a given size, filled with zeros, ones or one value, or not filled at all. All of them are leaves.

Each has three forms: of a size (`zeros`), of the size of another tensor (`zeros_like`), and in the dtype of another
(`x.new_zeros`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from minigrad._base.tensor_errors import check_tensor
from minigrad.backends.registry import beside, home, located, moved
from minigrad.core.accumulate import repeats
from minigrad.core.tensor import Tensor, owned
from minigrad.ops._dispatch.registration import op, tensor_method
from minigrad.ops._dispatch.scalars import number_in
from minigrad.ops.factory.values import Dtype, dtype_of, new_leaf, numpy_dtype, size_of

__all__ = ["empty", "empty_like", "full", "full_like", "ones", "ones_like", "scalar_tensor", "zeros", "zeros_like"]


def of_size(name: str, maker: Callable[..., Any], text: str) -> Callable[..., Tensor]:
    """The function that makes a tensor of a size by one of NumPy's functions."""
    def create(*size: Any, dtype: Dtype = None, device: Any = None, requires_grad: bool = False) -> Tensor:
        kind = numpy_dtype(dtype, what=name)
        return new_leaf(maker(size_of(size, name), kind, like=home(device)), requires_grad, name)
    create.__doc__ = text
    return create


zeros = op(name="zeros")(of_size("zeros", np.zeros, "Zeros of this size."))
ones = op(name="ones")(of_size("ones", np.ones, "Ones of this size."))
empty = op(name="empty")(of_size("empty", np.empty, "A tensor of this size, of unspecified values."))


@op
def full(size: Any, fill_value: Any, *, dtype: Dtype = None, device: Any = None,
         requires_grad: bool = False) -> Tensor:
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


def array_like(maker: Any, input: Tensor, dtype: Dtype, what: str, device: Any) -> Any:
    """An array of the shape of a tensor, its memory in the same order; of an expanded one row by row."""
    check_tensor(input, what)
    order = "C" if repeats(owned(input)) else "K"
    kind = numpy_dtype(dtype, input.array.dtype, what)
    if device is not None and located(device) != input.device:
        return moved(maker(owned(input), kind, order), home(device))
    return maker(owned(input), kind, order)


def of_size_of(name: str, maker: Callable[..., Any], text: str) -> Callable[..., Tensor]:
    """The function that makes a tensor of the size of another one by one of NumPy's functions."""
    def create(input: Tensor, *, dtype: Dtype = None, device: Any = None, requires_grad: bool = False) -> Tensor:
        return new_leaf(array_like(maker, input, dtype, name, device), requires_grad, name)
    create.__doc__ = text
    return create


zeros_like = op(name="zeros_like")(
    of_size_of("zeros_like", np.zeros_like, "Zeros of the shape and dtype of another tensor."))
ones_like = op(name="ones_like")(
    of_size_of("ones_like", np.ones_like, "Ones of the shape and dtype of another tensor."))
empty_like = op(name="empty_like")(
    of_size_of("empty_like", np.empty_like, "A tensor of the shape and dtype of another one, of unspecified values."))


@op
def full_like(input: Tensor, fill_value: float, *, dtype: Dtype = None, device: Any = None,
              requires_grad: bool = False) -> Tensor:
    """One value in the shape and dtype of another tensor."""
    array = array_like(np.empty_like, input, dtype, "full_like", device)
    array[...] = number_in(fill_value, array.dtype)
    return new_leaf(array, requires_grad, "full_like")


def place_of(self: Tensor, device: Any) -> Any:
    """The place in which `x.new_zeros` and its like make an array: that of `x`, if no device is named."""
    return beside(self.array) if device is None else home(device)


def in_dtype_of(name: str, maker: Callable[..., Any], text: str) -> Callable[..., Tensor]:
    """The method that makes a tensor of a size, in the dtype of its own tensor, by one of NumPy's functions."""
    def create(self: Tensor, *size: Any, dtype: Dtype = None, device: Any = None,
               requires_grad: bool = False) -> Tensor:
        kind = numpy_dtype(dtype, self.array.dtype, name)
        return new_leaf(maker(size_of(size, name), kind, like=place_of(self, device)), requires_grad, name)
    create.__doc__ = text
    return create


new_zeros = tensor_method(name="new_zeros")(
    in_dtype_of("new_zeros", np.zeros, "Zeros of this size, in this tensor's dtype."))
new_ones = tensor_method(name="new_ones")(
    in_dtype_of("new_ones", np.ones, "Ones of this size, in this tensor's dtype."))
new_empty = tensor_method(name="new_empty")(
    in_dtype_of("new_empty", np.empty, "A tensor of this size, of unspecified values, in this tensor's dtype."))


@tensor_method
def new_full(self: Tensor, size: Any, fill_value: float, *, dtype: Dtype = None, device: Any = None,
             requires_grad: bool = False) -> Tensor:
    """One value in this size, in this tensor's dtype."""
    kind = numpy_dtype(dtype, self.array.dtype, "new_full")
    array = np.full(size_of((size,), "new_full"), number_in(fill_value, kind), kind, like=place_of(self, device))
    return new_leaf(array, requires_grad, "new_full")
