"""Hooks on saved tensors: mirrors PyTorch's `saved_variable_hooks.h` and the contexts of `torch/autograd/graph.py`.

A pair of hooks stands between a graph and what it keeps. `pack_hook(tensor)` is called when a node saves a tensor, and
what it returns is kept instead; `unpack_hook(packed)` is called when a derivative needs the tensor, and must return
one. With them a graph can hold less memory (`save_on_cpu`, checkpointing), or tell what it holds.

A pair is set for a block, `with saved_tensors_hooks(pack_hook, unpack_hook):`, or for one saved tensor,
`node._raw_saved_self.register_hooks(pack_hook, unpack_hook)`.
"""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from minigrad.autograd.grad_mode import no_grad
from minigrad.core.grad_mode import LOCAL
from minigrad.core.saved import (
    DETACHED,
    FREED,
    REGISTRY,
    Packed,
    VersionCounter,
    counter_of,
    is_array,
    is_tensor,
    saving_order,
    value_of,
    watched_result,
)

__all__ = ["SavedTensor", "allow_mutation_on_saved_tensors", "disable_saved_tensors_hooks", "pack_all", "save_on_cpu",
           "saved_tensors_hooks"]

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
OUTSIDE = (
    "Trying to backward outside of the 'allow_mutation_on_saved_tensors' contextin which the graph was originally "
    "recorded."
)


BOTH = "arg0: collections.abc.Callable, arg1: collections.abc.Callable"


def refused(function: str, arguments: str, *given: Any) -> TypeError:
    """PyTorch's error for arguments of a wrong type."""
    return TypeError(f"{function}(): incompatible function arguments. The following argument types are supported:\n"
                     f"    1. ({arguments}) -> None\n\nInvoked with: {', '.join(map(repr, given))}")


class saved_tensors_hooks:
    """A block in which every tensor that a node saves goes through `pack_hook`, and comes back through `unpack_hook`.

    Hooks hold for the thread that enters the block; of nested blocks only the innermost counts. The pack hook runs
    without grad mode, and must not write to what it is given. If it returns the tensor itself, and that is the result
    of the node that saves it, node and tensor hold each other until the garbage collector comes: return a
    `detach()` of it.

    Raises:
        TypeError: on entering the block, if a hook cannot be called.
        RuntimeError: on entering the block inside of `disable_saved_tensors_hooks`.
    """

    def __init__(self, pack_hook: PackHook, unpack_hook: UnpackHook) -> None:
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook

    def __enter__(self) -> None:
        if not all(map(callable, (self.pack_hook, self.unpack_hook))):
            raise refused("_push_saved_tensors_default_hooks", BOTH, self.pack_hook, self.unpack_hook)
        if LOCAL.saved_tensors_hooks_disabled is not None:
            raise RuntimeError(LOCAL.saved_tensors_hooks_disabled)
        LOCAL.saved_tensors_hooks = (*LOCAL.saved_tensors_hooks, (self.pack_hook, self.unpack_hook))
        LOCAL.share.add(1)

    def __exit__(self, *error: Any) -> None:
        if not LOCAL.saved_tensors_hooks:
            raise RuntimeError("saved_tensors_hooks was left without having been entered")
        LOCAL.saved_tensors_hooks = LOCAL.saved_tensors_hooks[:-1]
        LOCAL.share.add(-1)


class save_on_cpu(saved_tensors_hooks):
    """A block in which saved tensors are moved to the CPU, and back to their device when a derivative needs them.

    What is on the CPU already is not copied, unless `pin_memory` asks for memory of a kind that CUDA can read at once
    (without CUDA: for a plain copy).
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        def pack_to_cpu(tensor: Any) -> tuple[Any, Any]:
            return tensor.device, tensor.clone() if pin_memory and tensor.device.type == "cpu" else tensor.cpu()

        def unpack_from_cpu(packed: tuple[Any, Any]) -> Any:
            device, tensor = packed
            return tensor.to(device)

        super().__init__(pack_to_cpu, unpack_from_cpu)


@contextlib.contextmanager
def disable_saved_tensors_hooks(error_message: str) -> Iterator[None]:
    """A block in which `saved_tensors_hooks` cannot be entered: for code that does not work with them.

    Raises:
        RuntimeError: with this message, where hooks are on already, and on entering a block of hooks inside.
    """
    if not isinstance(error_message, str):
        raise refused("_saved_tensors_hooks_disable", "error_message: str, fail_if_non_empty: bool = True",
                      error_message)
    if LOCAL.saved_tensors_hooks:
        raise RuntimeError(error_message)
    before = LOCAL.saved_tensors_hooks_disabled
    LOCAL.saved_tensors_hooks_disabled = error_message
    try:
        yield
    finally:
        LOCAL.saved_tensors_hooks_disabled = before


def pack_all(node: Any, outputs: Sequence[Any]) -> None:
    """Send what a node saved through the hooks that are on in this thread; the node has its `outputs` already.

    Numbers and what is None stay as they are.
    """
    kept, hooks = list(node.saved), LOCAL.saved_tensors_hooks[-1]
    for i in saving_order(node):
        value, output_nr = kept[i], node.saved_output_nr(i)
        if is_tensor(value):
            kept[i] = packed(value, output_nr, value, *hooks)
        elif is_array(value):
            kept[i] = packed(value, output_nr, outputs[output_nr], *hooks)
    node.saved = tuple(kept)
    node.extras()  # off the straight path: what was saved has to be unpacked


def packed(kept: Any, output_nr: int, handed: Any, pack_hook: PackHook, unpack_hook: UnpackHook) -> Packed:
    """What is kept of a saved value, which is `handed` to the pack hook as a tensor; `output_nr`: of a result."""
    made = Packed()
    made.unpack_hook = unpack_hook
    made.is_result, made.is_number = is_array(kept), not is_array(kept) and not is_tensor(kept)
    made.source, made.output_nr = kept.gradient_edge() if is_tensor(kept) else (None, output_nr)
    version = handed._version
    with no_grad():
        made.value = pack_hook(handed)
    if handed._version != version:
        raise RuntimeError(WRITES)
    return made


class SavedTensor:
    """A handle on one saved value of a node, what `node._raw_saved_self` gives: to hang hooks on it (PyTorch's
    `torch._C._autograd.SavedTensor`)."""

    __slots__ = ("__weakref__", "index", "node")

    index: int | None  # None: of nothing that is saved
    node: Any

    def __init__(self) -> None:
        raise RuntimeError("Trying to create a SavedTensor object from Python is forbidden.")

    def __repr__(self) -> str:
        return f"<torch._C._autograd.SavedTensor object at {id(self):#x}>"

    def _kept(self) -> Any:
        return None if self.node.saved is None or self.index is None else self.node.saved[self.index]

    @property
    def data(self) -> Any:
        """What is kept: the tensor, what a pack hook made of it, or None once it was let go."""
        kept = self._kept()
        return kept.value if type(kept) is Packed else self._handed(kept)

    @property
    def unpack_hook(self) -> Any:
        """The unpack hook; None if there is none."""
        kept = self._kept()
        return kept.unpack_hook if type(kept) is Packed else None

    def _handed(self, kept: Any) -> Any:
        """A value as a tensor that does not know of this node."""
        if is_array(kept):
            return watched_result(self.node, kept, self.node.saved_output_nr(self.index)).detach()
        return kept if kept is None or is_tensor(kept) else REGISTRY.tensor(np.asarray(kept))

    def unpack(self) -> Any:
        """The saved tensor, as a derivative would get it.

        Raises:
            RuntimeError: if it was let go or changed in place; for a node's own result, which in PyTorch the node
                alone can unpack.
        """
        kept = self._kept()
        if is_array(kept) or (type(kept) is Packed and kept.is_result):
            raise RuntimeError(f"{DETACHED}\n\nThis is PyTorch's sentence for the result of the node itself. Read it "
                               "by `_saved_result`, or by `saved_tensors` of a custom Function.")
        return None if self.index is None else value_of(self.node, self.index)

    def register_hooks(self, pack_hook: PackHook, unpack_hook: UnpackHook) -> None:
        """Keep `pack_hook(tensor)` from now on, and call `unpack_hook` on it when the tensor is needed.

        Raises:
            TypeError: if a hook cannot be called.
            RuntimeError: if there are hooks already, or there is nothing that is kept, or the pack hook writes to its
                input.
        """
        if not all(map(callable, (pack_hook, unpack_hook))):
            raise refused("register_hooks", f"self: torch._C._autograd.SavedTensor, {BOTH}", self, pack_hook,
                          unpack_hook)
        node, kept = self.node, self._kept()
        if type(kept) is Packed:
            raise RuntimeError(HOOKED)
        if node.saved is None:
            raise RuntimeError(HOOKED_LATE)
        if kept is None or self.index is None:
            raise RuntimeError("Calling register_hooks on a saved tensor with value None is forbidden")
        handed = kept.detach() if is_tensor(kept) else self._handed(kept)
        made = packed(kept, node.saved_output_nr(self.index), handed, pack_hook, unpack_hook)
        node.saved = tuple([made if i == self.index else value for i, value in enumerate(node.saved)])
        node.extras()  # off the straight path, as in `pack_all`


def saved_tensor(node: Any, index: int | None) -> SavedTensor:
    """The handle on one saved value of a node; the same one as long as anybody holds it."""
    extras = node.extras()
    if extras.handles is None:
        extras.handles = weakref.WeakValueDictionary()
    handle: SavedTensor | None = extras.handles.get(index)
    if handle is None:
        handle = extras.handles[index] = SavedTensor.__new__(SavedTensor)
        handle.node, handle.index = node, index
    return handle


def saved_tensor_handles(node: Any) -> tuple[SavedTensor, ...]:
    """The handles on all that a node saved: `_raw_saved_tensors` of a custom Function.

    Raises:
        RuntimeError: if it was let go.
    """
    if node.saved is None:
        raise RuntimeError(FREED)
    return tuple([saved_tensor(node, i) for i in range(len(node.saved))])


class _Handle:
    """Stands for a saved tensor; as long as a graph holds it, the tensor or its clone is kept."""

    __slots__ = ("__weakref__", "key")

    def __init__(self, key: tuple[int, int]) -> None:
        self.key = key  # of the tensor: its id() and its version


class _AllowMutationOnSavedContext:
    """What `allow_mutation_on_saved_tensors` keeps: `original` tensors that nobody has written to, and the others
    `cloned`, each as long as a graph needs it."""

    def __init__(self) -> None:
        self.original: weakref.WeakKeyDictionary[_Handle, Any] = weakref.WeakKeyDictionary()
        self.cloned: weakref.WeakKeyDictionary[_Handle, Any] = weakref.WeakKeyDictionary()
        self.handles: weakref.WeakValueDictionary[tuple[int, int], _Handle] = weakref.WeakValueDictionary()

    def pack(self, tensor: Any) -> _Handle:
        """Keep a tensor; one that is saved twice at one version is kept once."""
        counter = counter_of(tensor)
        key = id(tensor), counter.value
        handle = self.handles.get(key)
        if handle is None:
            handle = self.handles[key] = _Handle(key)
            self.original[handle] = tensor
            counter.before_write = lambda: self.clone(counter)
        return handle

    def clone(self, counter: VersionCounter) -> None:
        """A storage is about to be written: clone what was saved of it."""
        counter.before_write = None
        with no_grad():
            for handle, tensor in list(self.original.items()):
                if counter_of(tensor) is counter:
                    self.cloned[handle] = tensor.clone()
                    del self.original[handle], self.handles[handle.key]

    def unpack(self, handle: _Handle) -> Any:
        """The tensor as it was when it was saved."""
        found = self.cloned.get(handle, self.original.get(handle))
        if found is None:
            raise AssertionError(OUTSIDE)
        return found

    def clear(self) -> None:
        """Let go of everything."""
        for kept in (self.original, self.cloned, self.handles):
            kept.clear()


MUTATION: list[_AllowMutationOnSavedContext] = []  # the one that is open


@contextlib.contextmanager
def allow_mutation_on_saved_tensors() -> Iterator[_AllowMutationOnSavedContext]:
    """A block in which saved tensors may be written to in place: what a graph needs of them is cloned just before.

    Forward and backward pass must both be inside of the block.

    Raises:
        RuntimeError: if blocks are nested.
    """
    if MUTATION:
        raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested")
    kept = _AllowMutationOnSavedContext()
    with saved_tensors_hooks(kept.pack, kept.unpack):
        MUTATION.append(kept)
        try:
            yield kept
        finally:
            kept.clear()
            MUTATION.remove(kept)
