"""Replaces the memory of a tensor (`set_`, `resize_`, `resize_as_`), or its elements one by one (`apply_`, `map_`).

Autograd records none of it. You need it to reuse memory, or to move the data of one tensor to another. The typed
storage, `storage()`, is here too.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minigrad._base.tensor_errors import IN_C
from minigrad._base.warnings import warn_once
from minigrad.backends.registry import device_like
from minigrad.core import Tensor, counter_of, materialized, plain
from minigrad.history.inplace import check_inplace
from minigrad.ops._dispatch import op, tensor_method
from minigrad.ops.shape.views import expand_as, shape_of
from minigrad.ops.tensor.storage import UntypedStorage, looking_at, storage_offset, untyped_storage

__all__ = ["TypedStorage", "resize_as_"]

TYPED = (
    "TypedStorage is deprecated. It will be removed in the future and UntypedStorage will be the only storage class. "
    "This should only matter to you if you are using storages directly.  To access UntypedStorage directly, use "
    "tensor.untyped_storage() instead of tensor.storage()"
)


def row_by_row(size: Sequence[int]) -> tuple[int, ...]:
    """The strides of a contiguous tensor of this size, in elements."""
    return tuple([math.prod([max(n, 1) for n in size[dim + 1:]]) for dim in range(len(size))])


def replace_memory(self: Tensor, array: Any) -> Tensor:
    """Give a tensor other memory, as `set_` and `resize_` do; its version goes up."""
    check_inplace(self, self._requires_grad)
    self.array = array
    counter_of(self).value += 1
    return self


@tensor_method
def set_(self: Tensor, source: Any = None, storage_offset: int = 0, size: Any = None, stride: Any = None) -> Tensor:
    """Use the memory of another tensor, or a storage from an offset on, with a size and strides, in elements.

    Args:
        source: a tensor or a storage; None for no memory at all.
        size: for a storage, by default all of the rest; None if `source` is a tensor, which has its own.
        stride: by default those of a contiguous tensor.

    Raises:
        RuntimeError: for another dtype, for a view that leaves the storage, and on a leaf that requires grad.
    """
    if source is None:
        return replace_memory(self, np.empty(0, self.array.dtype, like=device_like(self.array)))
    if isinstance(source, Tensor):
        if source.array.dtype != self.array.dtype:
            raise RuntimeError(f"Could not set tensor of type {IN_C[source.array.dtype.name]} to a tensor of "
                               f"type {IN_C[self.array.dtype.name]}")
        if size is None:
            return replace_memory(self, materialized(source))
        source = untyped_storage(source)
    memory = source.untyped() if isinstance(source, TypedStorage) else source
    dtype = self.array.dtype
    shape = (memory.nbytes() // dtype.itemsize - storage_offset,) if size is None else tuple(size)
    steps = row_by_row(shape) if stride is None else tuple(stride)
    return replace_memory(self, looking_at(memory, dtype, storage_offset, shape, steps))


@tensor_method
def resize_(self: Tensor, *size: Any) -> Tensor:
    """Change the size, row-major, over the same memory; if that is too small, over new memory that begins with the same
    elements, the others being unspecified. Views keep their memory.

    Raises:
        RuntimeError: on a tensor that requires grad.
    """
    if self._requires_grad:
        raise RuntimeError("cannot resize variables that require grad")
    shape = shape_of(size)
    if any(n < 0 for n in shape):
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(shape)}: {list(shape)}")
    storage, dtype, offset = untyped_storage(self), self.array.dtype, storage_offset(self)
    if (offset + math.prod(shape)) * dtype.itemsize > storage.nbytes():
        memory = np.empty(math.prod(shape), dtype, like=device_like(self.array))
        kept = looking_at(storage, dtype, offset, (storage.nbytes() // dtype.itemsize - offset,), (1,))
        memory[:kept.size] = kept
        return replace_memory(self, memory.reshape(shape))
    return replace_memory(self, looking_at(storage, dtype, offset, shape, row_by_row(shape)))


@op(method=True)
def resize_as_(input: Tensor, the_template: Tensor) -> Tensor:
    """`resize_` to the size of another tensor."""
    return resize_(input, the_template.array.shape)


class TypedStorage:
    """The elements of a storage, by index (`torch.TypedStorage`, the result of `Tensor.storage()`)."""

    def __init__(self, storage: UntypedStorage, elements: Tensor) -> None:
        self._storage, self._elements = storage, elements
        self.dtype, self.device = elements.dtype, elements.device

    def untyped(self) -> UntypedStorage:
        """The same memory as bytes."""
        return self._storage

    def data_ptr(self) -> int:
        """The address of the first element."""
        return self._storage.data_ptr()

    def tolist(self) -> list[Any]:
        """The elements as Python numbers."""
        return self._elements.tolist()

    def __len__(self) -> int:
        return self._elements.numel()

    size = __len__

    def __getitem__(self, index: Any) -> Any:
        return self._elements[index].item() if isinstance(index, int) else TypedStorage(
            self._storage, self._elements[index])

    def __setitem__(self, index: Any, value: Any) -> None:
        self._elements[index] = value

    def __repr__(self) -> str:
        rows = "".join([f" {value}\n" for value in self.tolist()])
        return f"{rows}[torch.storage.TypedStorage(dtype={self.dtype}, device={self.device}) of size {len(self)}]"


@tensor_method(name="storage")
def storage_of(self: Tensor) -> TypedStorage:
    """The elements of the memory that this tensor shares with its views; deprecated in favour of `untyped_storage`."""
    warn_once(TYPED)
    storage, dtype = untyped_storage(self), self.array.dtype
    return TypedStorage(storage, plain(looking_at(storage, dtype, 0, (storage.nbytes() // dtype.itemsize,), (1,))))


def by_element(name: str, self: Tensor, function: Callable[..., Any], *others: Tensor) -> Tensor:
    """Replace each element by the result of a function of Python numbers."""
    if self._requires_grad:
        raise RuntimeError(f"Can't call {name}() on Variable that requires grad. Use var.detach().{name}() instead.")
    values = [function(*numbers) for numbers in zip(*[v.array.ravel().tolist() for v in (self, *others)], strict=True)]
    materialized(self)[...] = np.array(values, self.array.dtype, like=device_like(self.array)).reshape(self.array.shape)
    return self  # as in PyTorch, its version does not change


@tensor_method
def apply_(self: Tensor, callable: Callable[[Any], Any]) -> Tensor:
    """Replace each element by the result of a Python function: slow, on the CPU, and not recorded.

    Raises:
        RuntimeError: on a tensor that requires grad.
    """
    return by_element("apply_", self, callable)


@tensor_method
def map_(self: Tensor, tensor: Tensor, callable: Callable[[Any, Any], Any]) -> Tensor:
    """Replace each element by the result of a Python function of it and the corresponding element of another tensor."""
    if tensor._requires_grad:
        raise RuntimeError("Can't call map_() on Variable that requires grad. Use var.detach().map_() instead.")
    return by_element("map_", self, callable, expand_as(tensor, self))
