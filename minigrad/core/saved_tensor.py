"""Packs saved tensors with hooks, one value at a time. Mirrors PyTorch's `saved_variable_hooks.h`.

A pair of hooks stands between a graph and what it keeps. `pack_hook(tensor)` is called when a node saves a tensor, and
what it returns is kept instead. `unpack_hook(packed)` is called when a derivative needs the tensor, and must return
one. The contexts that set hooks for a block are in autograd/graph.py. saved.py checks whether a saved tensor was
changed in place.
"""

import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minigrad.backends.registry import info_of
from minigrad.core.grad_mode import LOCAL, switch
from minigrad.core.saved import (
    DETACHED,
    FREED,
    Packed,
    is_array,
    is_tensor,
    result_tensor,
    saved_value,
    saving_order,
)
from minigrad.core.tensor import plain

__all__ = ["SavedTensor", "pack_all", "saved_tensor_handle", "saved_tensor_handles"]

PackHook = Callable[[Any], Any]
UnpackHook = Callable[[Any], Any]

WRITES = (
    "A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack hook cannot be "
    "modified by in-place operations as this can lead to unexpected side-effects. Please open an issue if you need to "
    "perform in-place operations on the input to a pack hook."
)
HOOKED = (
    "Calling register_hooks on a saved tensor whose hooks have already been set. Hint: only one pair of hooks is "
    "allowed at a time."
)
HOOKED_LATE = (
    "Calling register_hooks on a saved tensor after it has been freed. Saved intermediate values of the graph are "
    "freed when you call .backward() or autograd.grad(). Specify retain_graph=True if you need to backward through the "
    "graph a second time or if you need to access saved variables after calling backward."
)
CALLABLES = "arg0: collections.abc.Callable, arg1: collections.abc.Callable"


def wrong_arguments(function: str, arguments: str, *given: Any) -> TypeError:
    """PyTorch's error for arguments of a wrong type."""
    return TypeError(f"{function}(): incompatible function arguments. The following argument types are supported:\n"
                     f"    1. ({arguments}) -> None\n\nInvoked with: {', '.join(map(repr, given))}")


def pack_all(node: Any, outputs: Sequence[Any]) -> None:
    """Send what a node saved through the hooks that are on in this thread; the node has its `outputs` already.

    Numbers and None stay as they are.
    """
    node.hold_accumulators()  # `source_of` finds them
    values, hooks = list(node.saved), LOCAL.saved_tensors_hooks[-1]
    for i in saving_order(node):
        value, output_nr = values[i], node.saved_output_nr(i)
        if is_tensor(value):
            values[i] = pack(value, output_nr, value, *hooks)
        elif is_array(value):
            values[i] = pack(value, output_nr, outputs[output_nr], *hooks)
    node.saved = type(node.saved)(values)
    node.node_hooks()  # off the fast path: what was saved has to be unpacked


def pack(value: Any, output_nr: int, tensor: Any, pack_hook: PackHook, unpack_hook: UnpackHook) -> Packed:
    """Pack a saved `value`, which the pack hook gets as `tensor`; `output_nr` counts for a result. Raises RuntimeError
    if the hook writes to its input."""
    packed = Packed()
    packed.unpack_hook = unpack_hook
    packed.is_result, packed.is_number = is_array(value), not is_array(value) and not is_tensor(value)
    packed.source, packed.output_nr = (source_of(value), value._output_nr) if is_tensor(value) else (None, output_nr)
    packed.info = info_of(tensor.array)
    version, grad_enabled = tensor._version, LOCAL.grad_enabled
    try:
        switch(False)
        packed.value = pack_hook(tensor)
    finally:
        LOCAL.grad_enabled = grad_enabled  # first, before an interrupt can skip it
        LOCAL.update()
    if tensor._version != version:
        raise RuntimeError(WRITES)
    return packed


def source_of(tensor: Any) -> Any:
    """Return the node that a gradient of a saved tensor goes to. For a leaf, `hold_accumulators` created it."""
    if not tensor._requires_grad:
        return None
    node = tensor.grad_fn
    if node is not None or tensor._extras is None or tensor._extras.accumulator is None:
        return node
    return tensor._extras.accumulator()


class SavedTensor:
    """A handle on one saved value of a node, for registering hooks on it; `node._raw_saved_self` returns one.

    It is PyTorch's `torch._C._autograd.SavedTensor`.
    """

    __slots__ = ("__weakref__", "index", "node")

    index: int | None  # None where nothing is saved
    node: Any

    def __init__(self) -> None:
        raise RuntimeError("Trying to create a SavedTensor object from Python is forbidden.")

    def __repr__(self) -> str:
        return f"<torch._C._autograd.SavedTensor object at {id(self):#x}>"

    def _value(self) -> Any:
        return None if self.node.saved is None or self.index is None else self.node.saved[self.index]

    @property
    def data(self) -> Any:
        """What is kept: the tensor, what a pack hook returned for it, or None once it was freed."""
        value = self._value()
        return value.value if type(value) is Packed else self._as_tensor(value)

    @property
    def unpack_hook(self) -> Any:
        """The unpack hook; None if there is none."""
        value = self._value()
        return value.unpack_hook if type(value) is Packed else None

    def _as_tensor(self, value: Any) -> Any:
        """Return a value as a tensor that does not know this node."""
        if is_array(value):
            return result_tensor(self.node, value, self.node.saved_output_nr(self.index)).detach()
        return value if value is None or is_tensor(value) else plain(np.asarray(value))

    def unpack(self) -> Any:
        """Return the saved tensor, as a derivative would get it. Raises RuntimeError if it was freed or changed in
        place; for a node's own result, which in PyTorch the node alone can unpack."""
        value = self._value()
        if is_array(value) or (type(value) is Packed and value.is_result):
            raise RuntimeError(f"{DETACHED}\n\nThis is PyTorch's sentence for the result of the node itself. Read it "
                               "by `_saved_result`, or by `saved_tensors` of a custom Function.")
        return None if self.index is None else saved_value(self.node, self.index)

    def register_hooks(self, pack_hook: PackHook, unpack_hook: UnpackHook) -> None:
        """Keep `pack_hook(tensor)` from now on, and call `unpack_hook` on it when the tensor is needed.

        Raises TypeError if a hook cannot be called, and RuntimeError if there are hooks already, or nothing is saved,
        or the pack hook writes to its input.
        """
        if not all(map(callable, (pack_hook, unpack_hook))):
            raise wrong_arguments("register_hooks", f"self: torch._C._autograd.SavedTensor, {CALLABLES}", self,
                                  pack_hook, unpack_hook)
        node, value = self.node, self._value()
        if type(value) is Packed:
            raise RuntimeError(HOOKED)
        if node.saved is None:
            raise RuntimeError(HOOKED_LATE)
        if value is None or self.index is None:
            raise RuntimeError("Calling register_hooks on a saved tensor with value None is forbidden")
        node.hold_accumulators()  # as in `pack_all`
        tensor = value.detach() if is_tensor(value) else self._as_tensor(value)
        packed = pack(value, node.saved_output_nr(self.index), tensor, pack_hook, unpack_hook)
        node.saved = tuple([packed if i == self.index else other for i, other in enumerate(node.saved)])
        node.node_hooks()  # off the fast path, as in `pack_all`


def saved_tensor_handle(node: Any, index: int | None) -> SavedTensor:
    """Return the handle on one saved value of a node; the same one for as long as anybody holds it."""
    extras = node.extras()
    if extras.handles is None:
        extras.handles = weakref.WeakValueDictionary()
    handle: SavedTensor | None = extras.handles.get(index)
    if handle is None:
        handle = extras.handles[index] = SavedTensor.__new__(SavedTensor)
        handle.node, handle.index = node, index
    return handle


def saved_tensor_handles(node: Any) -> tuple[SavedTensor, ...]:
    """Return the handles on all that a node saved: `_raw_saved_tensors` of a custom Function. Raises RuntimeError if it
    was freed."""
    if node.saved is None:
        raise RuntimeError(FREED)
    return tuple([saved_tensor_handle(node, i) for i in range(len(node.saved))])
