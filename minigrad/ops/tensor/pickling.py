"""Copies and pickles tensors: what `copy.copy`, `copy.deepcopy` and `pickle` do with one, as in `torch/_utils.py`.

All three split a tensor into its storage, its offset, shape and strides there, and its flags, and build a leaf from
these: a graph is never copied. With `copy.copy` the leaf shares the storage. Within one `copy.deepcopy`, a tensor and
its views share one new storage. `pickle` stores the whole storage for each tensor.
"""

from __future__ import annotations

import copy
import warnings
from typing import Any

import numpy as np

from minigrad.backends.registry import as_strided, backend_of, beside
from minigrad.core import Tensor, plain
from minigrad.core.tensor import VersionCounter
from minigrad.ops.tensor.storage import UntypedStorage, storage_offset, stride, untyped_storage

NOT_SERIALIZED = (
    "backward hook {!r} on tensor will not be serialized.  If this is expected, you can decorate the function with "
    "@torch.utils.hooks.unserializable_hook to suppress this warning"
)


def rebuild(cls: type[Tensor], storage: UntypedStorage, dtype: Any, offset: int, size: tuple[int, ...],
            strides: tuple[int, ...], requires_grad: bool) -> Tensor:
    """A leaf of this class that looks at a storage from an offset, in steps of these strides."""
    dtype = np.dtype(dtype.name)  # unpickled, it is an object of its own; ops go by identity
    step = dtype.itemsize
    memory, start, steps = storage.bytes, offset * step, tuple([s * step for s in strides])
    if 0 in size:
        array = np.empty(size, dtype, like=beside(memory))
    elif backend_of(memory) is None:
        array = np.ndarray(size, dtype, memory, start, steps)
    else:
        available = (memory.size - start) // step * step
        array = as_strided(memory[start:start + available].view(dtype), size, steps)
    result = plain(array, requires_grad, cls)
    result._version_counter = counter = VersionCounter()
    counter.value = 1  # PyTorch counts that the storage was set
    return result


def rebuild_args(self: Tensor) -> tuple[Any, ...]:
    """The arguments of `rebuild` for this tensor."""
    return (type(self), untyped_storage(self), self.array.dtype, storage_offset(self), tuple(self.shape),
            stride(self), self._requires_grad)


def reduce_ex(self: Tensor, protocol: Any) -> tuple[Any, ...]:
    """Implements `__reduce_ex__` for `copy.copy` and `pickle`: attributes are kept, the gradient and hooks are not."""
    for hook in (self._backward_hooks or {}).values():
        warnings.warn(NOT_SERIALIZED.format(hook), UserWarning, stacklevel=2)
    return rebuild, rebuild_args(self), self.__dict__ or None


def setstate(self: Tensor, state: Any) -> None:
    """Attributes of the user's, or PyTorch's (requires_grad, _, hooks).

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


STORAGES = "the storages that one deepcopy has met"


def deepcopy(self: Tensor, memo: dict[int, Any]) -> Tensor:
    """Implements `copy.deepcopy` of a leaf: copies its data, flags, gradient and attributes, but no hooks.

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
