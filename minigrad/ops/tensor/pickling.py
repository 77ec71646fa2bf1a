"""Tensors made anew: what `copy.copy`, `copy.deepcopy` and `pickle` do with one. Mirrors `torch/_utils.py`.

All three take a tensor apart into its storage, how it looks at it, and its flags, and put these together again, always
as a leaf: a graph is never copied. `copy.copy` looks at the same storage; within one `copy.deepcopy`, a tensor and its
views look at one new storage; `pickle` stores the whole storage for each tensor.
"""

from __future__ import annotations

import copy
import warnings
from typing import Any

import numpy as np

from minigrad.backends.registry import as_strided, backend_of, beside
from minigrad.core.tensor import Tensor, VersionCounter, plain
from minigrad.ops.tensor.storage import UntypedStorage, storage_offset, stride, untyped_storage

__all__ = ["apart", "deepcopy", "rebuild", "reduce_ex", "setstate"]

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
        room = (memory.size - start) // step * step
        array = as_strided(memory[start:start + room].view(dtype), size, steps)
    made = plain(array, requires_grad, cls)
    made._version_counter = counter = VersionCounter()
    counter.value = 1  # PyTorch counts that the storage was set
    return made


def apart(self: Tensor) -> tuple[Any, ...]:
    """The arguments of `rebuild` for this tensor."""
    return (type(self), untyped_storage(self), self.array.dtype, storage_offset(self), tuple(self.shape),
            stride(self), self._requires_grad)


def reduce_ex(self: Tensor, protocol: Any) -> tuple[Any, ...]:
    """What `copy.copy` and `pickle` ask for. Attributes come along, the gradient and hooks do not."""
    for hook in (self._backward_hooks or {}).values():
        warnings.warn(NOT_SERIALIZED.format(hook), UserWarning, stacklevel=2)
    return rebuild, apart(self), self.__dict__ or None


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
    """What `copy.deepcopy` makes of a leaf: its data, flags, gradient and attributes; hooks stay behind.

    Raises:
        RuntimeError: for a tensor with a graph, which cannot be copied.
    """
    if not self.is_leaf:
        raise RuntimeError("Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol "
                           "at the moment.  If you were attempting to deepcopy a module, this may be because of a "
                           "torch.nn.utils.weight_norm usage, see https://github.com/pytorch/pytorch/pull/103001")
    if id(self) in memo:
        found: Tensor = memo[id(self)]
        return found
    met: dict[int, UntypedStorage] = memo.setdefault(id(STORAGES), {})
    cls, storage, *look = apart(self)
    if storage.data_ptr() not in met:
        backend = backend_of(storage.bytes)
        met[storage.data_ptr()] = UntypedStorage(storage.bytes.copy() if backend is None else backend.move(
            storage.bytes, backend.index_of(storage.bytes)))
    made = rebuild(cls, met[storage.data_ptr()], *look)
    memo[id(self)] = made
    if self._grad is not None:
        made._grad = deepcopy(self._grad, memo)
    made.__dict__.update(copy.deepcopy(self.__dict__, memo))
    return made
