"""Creation: tensors of a size, of zeros, ones, one value or nothing in particular. All of them are leaves.

Three forms of each: of a size, of that of another tensor (`zeros_like`), in the dtype of another (`x.new_zeros`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minigrad._base.tensor_errors import check_tensor
from minigrad.autograd.views import repeats
from minigrad.backends.registry import beside, home, located, moved
from minigrad.core.tensor import Tensor, owned
from minigrad.ops._dispatch.registration import op, tensor_method
from minigrad.ops._dispatch.scalars import number_in
from minigrad.ops.factory.values import Dtype, dtype_of, made, numpy_dtype, size_of

__all__ = ["empty", "empty_like", "full", "full_like", "ones", "ones_like", "scalar_tensor", "zeros", "zeros_like"]


@op
def zeros(*size: Any, dtype: Dtype = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Zeros of this size."""
    kind = numpy_dtype(dtype, what="zeros")
    return made(np.zeros(size_of(size, "zeros"), kind, like=home(device)), requires_grad, "zeros")


@op
def ones(*size: Any, dtype: Dtype = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Ones of this size."""
    kind = numpy_dtype(dtype, what="ones")
    return made(np.ones(size_of(size, "ones"), kind, like=home(device)), requires_grad, "ones")


@op
def empty(*size: Any, dtype: Dtype = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """A tensor of this size, of unspecified values."""
    kind = numpy_dtype(dtype, what="empty")
    return made(np.empty(size_of(size, "empty"), kind, like=home(device)), requires_grad, "empty")


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
    return made(array, requires_grad, "full")


@op
def scalar_tensor(s: float, *, dtype: Dtype = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """A 0-d tensor."""
    return made(number_in(s, numpy_dtype(dtype, what="scalar_tensor")), requires_grad, "scalar_tensor", device)


def like(maker: Any, input: Tensor, dtype: Dtype, what: str, device: Any) -> Any:
    """An array of the shape of a tensor, its memory in the same order; of an expanded one row by row."""
    check_tensor(input, what)
    order = "C" if repeats(owned(input)) else "K"
    kind = numpy_dtype(dtype, input.array.dtype, what)
    if device is not None and located(device) != input.device:
        return moved(maker(owned(input), kind, order), home(device))
    return maker(owned(input), kind, order)


@op
def zeros_like(input: Tensor, *, dtype: Dtype = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Zeros of the shape and dtype of another tensor."""
    return made(like(np.zeros_like, input, dtype, "zeros_like", device), requires_grad, "zeros_like")


@op
def ones_like(input: Tensor, *, dtype: Dtype = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Ones of the shape and dtype of another tensor."""
    return made(like(np.ones_like, input, dtype, "ones_like", device), requires_grad, "ones_like")


@op
def empty_like(input: Tensor, *, dtype: Dtype = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """A tensor of the shape and dtype of another one, of unspecified values."""
    return made(like(np.empty_like, input, dtype, "empty_like", device), requires_grad, "empty_like")


@op
def full_like(input: Tensor, fill_value: float, *, dtype: Dtype = None, device: Any = None,
              requires_grad: bool = False) -> Tensor:
    """One value in the shape and dtype of another tensor."""
    array = like(np.empty_like, input, dtype, "full_like", device)
    array[...] = number_in(fill_value, array.dtype)
    return made(array, requires_grad, "full_like")


def by(self: Tensor, device: Any) -> Any:
    """Where `x.new_zeros` and its like make an array: where `x` lies, if no device is named."""
    return beside(self.array) if device is None else home(device)


@tensor_method
def new_zeros(self: Tensor, *size: Any, dtype: Dtype = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Zeros of this size, in this tensor's dtype."""
    kind = numpy_dtype(dtype, self.array.dtype, "new_zeros")
    return made(np.zeros(size_of(size, "new_zeros"), kind, like=by(self, device)), requires_grad, "new_zeros")


@tensor_method
def new_ones(self: Tensor, *size: Any, dtype: Dtype = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Ones of this size, in this tensor's dtype."""
    kind = numpy_dtype(dtype, self.array.dtype, "new_ones")
    return made(np.ones(size_of(size, "new_ones"), kind, like=by(self, device)), requires_grad, "new_ones")


@tensor_method
def new_empty(self: Tensor, *size: Any, dtype: Dtype = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """A tensor of this size, of unspecified values, in this tensor's dtype."""
    kind = numpy_dtype(dtype, self.array.dtype, "new_empty")
    return made(np.empty(size_of(size, "new_empty"), kind, like=by(self, device)), requires_grad, "new_empty")


@tensor_method
def new_full(self: Tensor, size: Any, fill_value: float, *, dtype: Dtype = None, device: Any = None,
             requires_grad: bool = False) -> Tensor:
    """One value in this size, in this tensor's dtype."""
    kind = numpy_dtype(dtype, self.array.dtype, "new_full")
    array = np.full(size_of((size,), "new_full"), number_in(fill_value, kind), kind, like=by(self, device))
    return made(array, requires_grad, "new_full")
