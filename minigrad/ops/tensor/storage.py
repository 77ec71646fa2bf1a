"""Access to the memory of a tensor: its storage, address and strides, its conversion to and from NumPy; and ways to
replace it (`set_`, `resize_`) or its elements one by one (`apply_`, `map_`), of which autograd records nothing.

A tensor is a view of a storage, from an offset and in steps of its strides; views share one storage. Here the storage
is the memory of the NumPy array at the end of the chain of `.base`, or memory that a device has allocated. You can
check whether two tensors share it (`untyped_storage().data_ptr()`), and pass memory to NumPy and back without a copy.

`copy.copy`, `copy.deepcopy` and `pickle` split a tensor into its storage, its offset, shape and strides there, and its
flags, and build a leaf from these, as in `torch/_utils.py`: a graph is never copied. With `copy.copy` the leaf shares
the storage. Within one `copy.deepcopy`, a tensor and its views share one new storage. `pickle` stores the whole storage
for each tensor.
"""

import copy
import math
import warnings
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minigrad._base.device import contiguous_format, memory_format
from minigrad._base.dtype import BFLOAT16, from_numpy_dtype
from minigrad._base.hooks import NodeHooks
from minigrad._base.tensor_data import note_read
from minigrad._base.tensor_errors import IN_C
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
from minigrad.core import LOCAL, Tensor, constant, counter_of, materialized, plain
from minigrad.core.tensor import VersionCounter, extras_of, forget_accumulator
from minigrad.history.inplace import check_inplace
from minigrad.history.views import address
from minigrad.ops._dispatch import op, tensor_method
from minigrad.ops._dispatch.memory_order import strides_of
from minigrad.ops.reduce.sums import one_of
from minigrad.ops.shape.views import check_numel, expand_as, shape_of
from minigrad.ops.tensor.copy import lies_in

__all__ = ["TypedStorage", "UntypedStorage", "from_numpy", "resize_as_"]

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
POISONED = (
    "Trying to execute AccumulateGrad node that was poisoned by swap_tensors this can happen when you try to run "
    "backward on a tensor that was swapped. For a module m with "
    "`torch.__future__.set_swap_module_params_on_conversion(True)` you should not change the device or dtype of the "
    "module (e.g. `m.cpu()` or `m.half()`) between running forward and backward. To resolve this, please only change "
    "the device/dtype before running forward (or after both forward and backward)."
)


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
    return UntypedStorage(memory_at(root, low, high - low))


def memory_at(owner: Any, low: int, size: int) -> Any:
    """So many bytes from an address on, in the memory of a NumPy array, as an array."""
    return np.asarray(Window(owner, data=(low, not owner.flags.writeable), shape=(size,), typestr="|u1", strides=None,
                             descr=[("", "|u1")]))


@tensor_method
def storage_offset(self: Tensor) -> int:
    """The offset of this tensor in its storage, in elements."""
    array = materialized(self)
    if not array.size and array.base is None:
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
    one, other = materialized(self), materialized(tensor)
    if not one.size and root_of(one) is not root_of(other):
        return False
    return (data_ptr(self), self.shape, stride(self)) == (data_ptr(tensor), tensor.shape, stride(tensor))


@tensor_method
def numpy(self: Tensor, *, force: bool = False) -> np.ndarray[Any, Any]:
    """The data as a NumPy array that shares memory with this tensor; `force` also detaches it, and copies from another
    device.

    Raises TypeError if it is on another device than the CPU, or of dtype bfloat16, which NumPy lacks, and RuntimeError
    if this tensor requires grad and grad mode is on.
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

    Raises TypeError if it is not an array, or of a dtype that tensors do not support, and ValueError for negative
    strides, and for a foreign byte order.
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
    """A view of a storage as an array of NumPy's dtype, from an offset, with these strides, in elements. Raises
    RuntimeError if it would leave the storage."""
    step, memory = dtype.itemsize, storage.bytes
    if 0 in size and (offset * step > memory.size or backend_of(memory) is not None):
        return np.empty(size, dtype, like=device_like(memory, dtype))
    needed = 0 if 0 in size else (offset + 1 + sum([(n - 1) * s for n, s in zip(size, strides, strict=True)])) * step
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
    """Set the user's attributes, or a state in an old form of PyTorch's (requires_grad, _, hooks). Raises RuntimeError
    on a tensor with a graph."""
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
    """Implements `copy.deepcopy` of a leaf: copies its data, flags, gradient and attributes, but not its hooks. Raises
    RuntimeError for a tensor with a graph, which cannot be copied."""
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
    forget_accumulator(self)
    self.array = array
    counter_of(self).value += 1
    return self


def swap_tensors(t1: Tensor, t2: Tensor) -> None:
    """Swap all that two tensors are, class and attributes included; whoever holds one sees the other's content.

    A graph that was recorded before raises when a pass arrives at either of them.

    Raises:
        RuntimeError: if a weak reference to one of them is held, or their classes have different slots.
    """
    for name, t in (("t1", t1), ("t2", t2)):
        if weakref.getweakrefs(t):
            raise RuntimeError(f"Cannot swap {name} because it has weakref associated with it")
    try:
        t1.__class__, t2.__class__ = t2.__class__, t1.__class__
    except TypeError:
        raise RuntimeError("Cannot swap t1 and t2 if they have different slots") from None
    for name in ("__dict__", "array", "_grad", "_grad_fn", "_extras", "_requires_grad"):
        one, other = getattr(t1, name), getattr(t2, name)
        setattr(t1, name, other)
        setattr(t2, name, one)
    for t in (t1, t2):
        if t.is_leaf:
            extras_of(t).accumulator_hooks = poisoned = NodeHooks()
            poisoned.pre.register(refuse_swapped)
            forget_accumulator(t)


def refuse_swapped(grads: Any) -> None:
    """Raise PyTorch's error for a gradient of what a tensor was before `swap_tensors`."""
    raise RuntimeError(POISONED)


@tensor_method
def set_(self: Tensor, source: Any = None, storage_offset: int = 0, size: Any = None, stride: Any = None) -> Tensor:
    """Use the memory of another tensor, or a storage from an offset on, with a size and strides, in elements.

    Args:
        source: a tensor or a storage; None for no memory at all.
        size: for a storage, by default all of the rest; None if `source` is a tensor, which has its own.
        stride: by default those of a contiguous tensor.

    Raises RuntimeError for another dtype, for a view that leaves the storage, and on a leaf that requires grad.
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

    Raises RuntimeError on a tensor that requires grad, outside inference mode, and if there are too many elements.
    """
    if self._requires_grad and not LOCAL.inference:
        check_inplace(self, False)
        raise RuntimeError("cannot resize variables that require grad")
    shape = shape_of(size)
    if any(n < 0 for n in shape):
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(shape)}: {list(shape)}")
    if shape == self.array.shape:
        return self
    check_numel(shape, self.array.itemsize)
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
    """Replace each element by the result of a Python function: slow, on the CPU, and not recorded. Raises RuntimeError
    on a tensor that requires grad."""
    return by_element("apply_", self, callable)


@tensor_method
def map_(self: Tensor, tensor: Tensor, callable: Callable[[Any, Any], Any]) -> Tensor:
    """Replace each element by the result of a Python function of it and the corresponding element of another tensor."""
    if tensor._requires_grad:
        raise RuntimeError("Can't call map_() on Variable that requires grad. Use var.detach().map_() instead.")
    return by_element("map_", self, callable, expand_as(tensor, self))
