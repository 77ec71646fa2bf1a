"""Access to the memory of a tensor: its storage, address and strides, and its conversion to and from NumPy.

A tensor is a view of a storage, from an offset and in steps of its strides; views share one storage. Here the storage
is the memory of the NumPy array at the end of the chain of `.base`, or memory that a device has allocated. You can
check whether two tensors share it (`untyped_storage().data_ptr()`), and pass memory to NumPy and back without a copy.


`copy.copy`, `copy.deepcopy` and `pickle` split a tensor into its storage, its offset, shape and strides there, and its
flags, and build a leaf from these, as in `torch/_utils.py`: a graph is never copied. With `copy.copy` the leaf shares
the storage. Within one `copy.deepcopy`, a tensor and its views share one new storage. `pickle` stores the whole storage
for each tensor.
"""

import copy
import warnings
from typing import Any

import numpy as np

from minigrad._base.device import contiguous_format, memory_format
from minigrad._base.dtype import BFLOAT16, from_numpy_dtype
from minigrad._base.tensor_data import note_read
from minigrad._base.warnings import warn_once
from minigrad.backends.registry import (
    as_strided,
    backend_of,
    bounds,
    device_handle,
    device_like,
    device_of,
    host,
    in_memory,
    is_array,
    moved,
)
from minigrad.core import LOCAL, Tensor, constant, materialized, plain
from minigrad.core.tensor import VersionCounter
from minigrad.history.views import address
from minigrad.ops._dispatch import op, tensor_method
from minigrad.ops._dispatch.memory_order import strides_of
from minigrad.ops.reduce.sums import one_of
from minigrad.ops.tensor.copy import lies_in

__all__ = ["UntypedStorage", "from_numpy"]

READ_ONLY = (
    "The given NumPy array is not writable, and PyTorch does not support non-writable tensors. This means writing to "
    "this tensor will result in undefined behavior. You may want to copy the array to protect its data or make it "
    "writable before converting it to a tensor. This type of warning will be suppressed for the rest of this program."
)
BACKWARDS = (
    "At least one stride in the given numpy array is negative, and tensors with negative strides are not currently "
    "supported. (You can probably work around this by making a copy of your array  with array.copy().) "
)
NOT_SERIALIZED = (
    "backward hook {!r} on tensor will not be serialized.  If this is expected, you can decorate the function with "
    "@torch.utils.hooks.unserializable_hook to suppress this warning"
)
STORAGES = "the storages that one deepcopy has met"


class Window:
    """Memory as described by NumPy's array interface; it ends the chain of `.base` of arrays over it."""

    def __init__(self, array: Any, **changes: Any) -> None:
        self.owner = array
        self.__array_interface__ = {**array.__array_interface__, **changes}


class UntypedStorage:
    """The bytes that a tensor and its views share (`torch.UntypedStorage`); created on request."""

    __slots__ = ("bytes",)

    def __init__(self, memory: Any) -> None:
        self.bytes = memory

    def data_ptr(self) -> int:
        """The address of the first byte."""
        return address(self.bytes) if self.bytes.size else 0

    def nbytes(self) -> int:
        """The number of bytes."""
        return int(self.bytes.size)

    size = __len__ = nbytes

    def __reduce__(self) -> tuple[Any, ...]:
        if backend_of(self.bytes) is None:
            return UntypedStorage, (self.bytes,)
        return on_device, (host(self.bytes), str(device_of(self.bytes)))


def is_storage(obj: Any) -> bool:
    """Whether an object is the memory of a tensor (`tensor.untyped_storage()`)."""
    return isinstance(obj, UntypedStorage)


def on_device(memory: Any, device: str) -> UntypedStorage:
    """A storage that was pickled, on its former device."""
    return UntypedStorage(moved(memory, device_handle(device)))


def root_of(array: Any) -> Any:
    """The NumPy array from which all views of one memory derive."""
    above = array.base
    while above is not None:
        if not is_array(above):  # `as_strided` puts another object between two arrays
            above = getattr(above, "base", None)
            if not is_array(above):
                break
        array, above = above, above.base
    return array


@tensor_method
def untyped_storage(self: Tensor) -> UntypedStorage:
    """The memory that this tensor shares with its views."""
    array = materialized(self)
    backend = backend_of(array)
    if backend is not None:
        return UntypedStorage(backend.bytes_of(array, *backend.storage(array)))
    root = root_of(in_memory(array))
    if not root.size:
        return UntypedStorage(np.empty(0, np.uint8))
    low, high = bounds(root)
    window = Window(root, data=(low, not root.flags.writeable), shape=(high - low,), typestr="|u1", strides=None,
                    descr=[("", "|u1")])
    return UntypedStorage(np.asarray(window))


@tensor_method
def storage_offset(self: Tensor) -> int:
    """The offset of this tensor in its storage, in elements."""
    array = materialized(self)
    if not array.size:
        return 0
    backend = backend_of(array)
    begin = bounds(root_of(in_memory(array)))[0] if backend is None else backend.storage(array)[0]
    return (address(array) - begin) // int(array.itemsize)


@tensor_method
def data_ptr(self: Tensor) -> int:
    """The address of the first element; 0 if there is none."""
    return address(materialized(self)) if self.array.size else 0


@tensor_method
def size(self: Tensor, dim: int | None = None) -> Any:
    """`shape`, or one of its entries."""
    return self.shape if dim is None else self.shape[one_of(dim, self.ndim)]


@tensor_method
def stride(self: Tensor, dim: int | None = None) -> Any:
    """The steps between neighbours along each dimension (or one), in elements."""
    steps = strides_of(materialized(self))
    return tuple(steps) if dim is None else steps[one_of(dim, len(steps))]


@tensor_method
def is_contiguous(self: Tensor, *, memory_format: memory_format = contiguous_format) -> bool:
    """Whether the memory is in row-major order, or in another format."""
    return lies_in(materialized(self), memory_format)


@tensor_method
def is_shared(self: Tensor) -> bool:
    """Whether other processes see writes to this memory: on a GPU they do, as in PyTorch; in host memory not."""
    return backend_of(self.array) is not None


@tensor_method
def is_set_to(self: Tensor, tensor: Tensor) -> bool:
    """Whether both are the same view of the same memory."""
    return (data_ptr(self), self.shape, stride(self)) == (data_ptr(tensor), tensor.shape, stride(tensor))


@tensor_method
def numpy(self: Tensor, *, force: bool = False) -> np.ndarray[Any, Any]:
    """The data as a NumPy array that shares memory with this tensor; `force` also detaches it, and copies from another
    device.

    Raises:
        TypeError: if it is on another device than the CPU, or of dtype bfloat16, which NumPy lacks.
        RuntimeError: if this tensor requires grad and grad mode is on.
    """
    if self._requires_grad and not force and LOCAL.grad_enabled:
        raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
    if self.array.dtype is BFLOAT16:
        raise TypeError("Got unsupported ScalarType BFloat16")
    note_read(self)
    array: np.ndarray[Any, Any] = materialized(self)
    if backend_of(array) is None:
        return array
    if not force and self.device.type != "cpu":
        raise TypeError(f"can't convert {self.device} device type tensor to numpy. Use Tensor.cpu() to copy the tensor "
                        "to host memory first.")
    return np.asarray(host(array))


def as_array(self: Tensor, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
    """The result of `np.asarray(tensor)`."""
    array: np.ndarray[Any, Any] = np.array(numpy(self), dtype=dtype, copy=copy)
    return array


def wrapped(self: Tensor, array: Any, context: Any = None, return_scalar: bool = False) -> Tensor:
    """A result of NumPy's functions as a tensor; bools become uint8, as in PyTorch."""
    return from_numpy(np.asarray(array, np.uint8 if array.dtype == np.bool_ else None))


def checked(array: Any) -> Any:
    """A NumPy array that can become a tensor; PyTorch's error for one that cannot."""
    if any(s % array.itemsize for s in array.strides):
        raise ValueError("given numpy array strides not a multiple of the element byte size. Copy the numpy array to "
                         "reallocate the memory.")
    if any(s < 0 for s in array.strides):
        raise ValueError(BACKWARDS)
    if not array.dtype.isnative:
        raise ValueError("given numpy array has byte order different from the native byte order. Conversion between "
                         "byte orders is currently not supported.")
    dtype = from_numpy_dtype(array.dtype).numpy
    return array if array.dtype is dtype else array.view(dtype)  # ops compare dtypes by identity; unpickled ones differ


@op
def from_numpy(ndarray: np.ndarray[Any, Any]) -> Tensor:
    """A tensor that shares its memory with a NumPy array: changes of one are visible in the other.

    Raises:
        TypeError: if it is not an array, or of a dtype that tensors do not support.
        ValueError: for negative strides, and for a foreign byte order.
    """
    if not isinstance(ndarray, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(ndarray).__name__})")
    if not ndarray.flags.writeable:
        warn_once(READ_ONLY)
    ndarray = checked(ndarray)
    if isinstance(ndarray.base, np.ndarray) and ndarray.size:  # the array is the whole storage of the tensor
        ndarray = np.asarray(Window(ndarray))
    return constant(ndarray)


def looking_at(storage: UntypedStorage, dtype: Any, offset: int, size: tuple[int, ...],
               strides: tuple[int, ...]) -> Any:
    """A view of a storage as an array of NumPy's dtype, from an offset, with these strides, in elements.

    Raises:
        RuntimeError: if it would leave the storage.
    """
    step, memory = dtype.itemsize, storage.bytes
    if 0 in size:
        return np.empty(size, dtype, like=device_like(memory, dtype))
    needed = (offset + 1 + sum([(n - 1) * s for n, s in zip(size, strides, strict=True)])) * step
    if needed > memory.size:
        raise RuntimeError(f"setStorage: sizes {list(size)}, strides {list(strides)}, storage offset {offset}, and "
                           f"itemsize {step} requiring a storage size of {needed} are out of bounds for storage of "
                           f"size {memory.size}")
    start, steps = offset * step, tuple([s * step for s in strides])
    if dtype is BFLOAT16:
        return BFLOAT16.type(np.ndarray(size, dtype, memory, start, steps))
    if backend_of(memory) is None:
        return np.ndarray(size, dtype, memory, start, steps)
    available = (memory.size - start) // step * step
    return as_strided(memory[start:start + available].view(dtype), size, steps)


def rebuild(cls: type[Tensor], storage: UntypedStorage, dtype: Any, offset: int, size: tuple[int, ...],
            strides: tuple[int, ...], requires_grad: bool) -> Tensor:
    """A leaf of this class, a view of a storage from an offset, with these strides."""
    own = dtype if dtype is BFLOAT16 else np.dtype(dtype.name)  # unpickled dtypes of NumPy are other objects
    array = looking_at(storage, own, offset, size, strides)
    result = plain(array, requires_grad, cls)
    result._version_counter = counter = VersionCounter()
    counter.value = 1  # PyTorch counts setting the storage
    return result


def rebuild_args(self: Tensor) -> tuple[Any, ...]:
    """The arguments of `rebuild` for this tensor."""
    return (type(self), untyped_storage(self), self.array.dtype, storage_offset(self), tuple(self.shape),
            stride(self), self._requires_grad)


def reduce_ex(self: Tensor, protocol: Any) -> tuple[Any, ...]:
    """Implements `__reduce_ex__` for `copy.copy` and `pickle`: attributes are kept, the gradient and hooks are not."""
    for hook in (self._backward_hooks or {}).values():
        if hasattr(hook, "__torch_unserializable__"):
            continue
        warnings.warn(NOT_SERIALIZED.format(hook), UserWarning, stacklevel=2)
    return rebuild, rebuild_args(self), self.__dict__ or None


def setstate(self: Tensor, state: Any) -> None:
    """Set the user's attributes, or a state in an old form of PyTorch's (requires_grad, _, hooks).

    Raises:
        RuntimeError: on a tensor with a graph.
    """
    if not self.is_leaf:
        raise RuntimeError("__setstate__ can be only called on leaf Tensors")
    if isinstance(state, dict):
        self.__dict__.update(state)
        return
    if len(state) == 5:
        self.data = state[0]
        state = state[3], state[4], state[2]
    self.requires_grad = state[0]


def deepcopy(self: Tensor, memo: dict[int, Any]) -> Tensor:
    """Implements `copy.deepcopy` of a leaf: copies its data, flags, gradient and attributes, but not its hooks.

    Raises:
        RuntimeError: for a tensor with a graph, which cannot be copied.
    """
    if not self.is_leaf:
        raise RuntimeError("Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol "
                           "at the moment.  If you were attempting to deepcopy a module, this may be because of a "
                           "torch.nn.utils.weight_norm usage, see https://github.com/pytorch/pytorch/pull/103001")
    if id(self) in memo:
        known: Tensor = memo[id(self)]
        return known
    storages: dict[int, UntypedStorage] = memo.setdefault(id(STORAGES), {})
    cls, storage, *look = rebuild_args(self)
    if storage.data_ptr() not in storages:
        backend = backend_of(storage.bytes)
        storages[storage.data_ptr()] = UntypedStorage(storage.bytes.copy() if backend is None else backend.move(
            storage.bytes, backend.index_of(storage.bytes)))
    result = rebuild(cls, storages[storage.data_ptr()], *look)
    memo[id(self)] = result
    if self._grad is not None:
        result._grad = deepcopy(self._grad, memo)
    result.__dict__.update(copy.deepcopy(self.__dict__, memo))
    return result
