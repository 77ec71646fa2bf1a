"""Contexts that set hooks on saved tensors: mirrors the contexts of `torch/autograd/graph.py`.

Inside `with saved_tensors_hooks(pack_hook, unpack_hook):` every tensor that a node saves goes through the hooks. They
can make a graph hold less memory (`save_on_cpu`, checkpointing) or show what it holds. Packing itself is in
core/saved_tensor.py.
"""

import weakref
from collections.abc import Iterator
from typing import Any

from minigrad._base.contexts import contextmanager, safe_exit
from minigrad.autograd.grad_mode import no_grad
from minigrad.core import LOCAL, counter_of
from minigrad.core.saved_tensor import CALLABLES, PackHook, SavedTensor, UnpackHook, pack_all, wrong_arguments
from minigrad.core.tensor import VersionCounter

__all__ = ["SavedTensor", "allow_mutation_on_saved_tensors", "disable_saved_tensors_hooks", "pack_all", "save_on_cpu",
           "saved_tensors_hooks"]

OUTSIDE = (
    "Trying to backward outside of the 'allow_mutation_on_saved_tensors' contextin which the graph was originally "
    "recorded."
)


class saved_tensors_hooks:
    """A block in which every tensor that a node saves goes through `pack_hook`, and comes back through `unpack_hook`.

    Hooks apply to the thread that enters the block; of nested blocks only the innermost counts. The pack hook runs with
    grad mode off, and must not write to its argument. If it returns the tensor itself, and that is the result of the
    node that saves it, node and tensor keep each other alive until the garbage collector runs: return its `detach()`.

    Raises:
        TypeError: on entering the block, if a hook cannot be called.
        RuntimeError: on entering the block inside `disable_saved_tensors_hooks`.
    """

    def __init__(self, pack_hook: PackHook, unpack_hook: UnpackHook) -> None:
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook

    def __enter__(self) -> None:
        if not all(map(callable, (self.pack_hook, self.unpack_hook))):
            raise wrong_arguments("_push_saved_tensors_default_hooks", CALLABLES, self.pack_hook, self.unpack_hook)
        if LOCAL.saved_tensors_hooks_disabled is not None:
            raise RuntimeError(LOCAL.saved_tensors_hooks_disabled)
        self.hooks = self.pack_hook, self.unpack_hook
        LOCAL.saved_tensors_hooks, self._entered = (*LOCAL.saved_tensors_hooks, self.hooks), True
        LOCAL.update()

    def _leave(self, *error: Any) -> None:
        if not LOCAL.saved_tensors_hooks:
            raise RuntimeError("saved_tensors_hooks was left without having been entered")
        LOCAL.saved_tensors_hooks = LOCAL.saved_tensors_hooks[:-1]
        LOCAL.update()

    def _leave_again(self, *error: Any) -> None:
        if LOCAL.saved_tensors_hooks and LOCAL.saved_tensors_hooks[-1] is self.hooks:
            LOCAL.saved_tensors_hooks = LOCAL.saved_tensors_hooks[:-1]
        LOCAL.update()

    __exit__ = safe_exit(_leave, again=_leave_again)


class save_on_cpu(saved_tensors_hooks):
    """A block in which saved tensors are moved to the CPU, and back to their device when a derivative needs them.

    Tensors already on the CPU are not copied, unless `pin_memory` asks for memory that CUDA can read directly (without
    CUDA: for a plain copy).
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        def pack_to_cpu(tensor: Any) -> tuple[Any, Any]:
            return tensor.device, tensor.clone() if pin_memory and tensor.device.type == "cpu" else tensor.cpu()

        def unpack_from_cpu(packed: tuple[Any, Any]) -> Any:
            device, tensor = packed
            return tensor.to(device)

        super().__init__(pack_to_cpu, unpack_from_cpu)


@contextmanager
def disable_saved_tensors_hooks(error_message: str) -> Iterator[None]:
    """A block in which `saved_tensors_hooks` cannot be entered: for code that does not work with them.

    Raises:
        RuntimeError: with this message, if hooks are on already, or on entering a block of hooks inside.
    """
    if not isinstance(error_message, str):
        raise wrong_arguments("_saved_tensors_hooks_disable", "error_message: str, fail_if_non_empty: bool = True",
                      error_message)
    if LOCAL.saved_tensors_hooks:
        raise RuntimeError(error_message)
    before = LOCAL.saved_tensors_hooks_disabled
    LOCAL.saved_tensors_hooks_disabled = error_message
    try:
        yield
    finally:
        LOCAL.saved_tensors_hooks_disabled = before


class _Handle:
    """Stands for a saved tensor: while a graph holds the handle, the tensor or its clone is kept."""

    __slots__ = ("__weakref__", "key")

    def __init__(self, key: tuple[int, int]) -> None:
        self.key = key  # the tensor's id() and version


class _AllowMutationOnSavedContext:
    """What `allow_mutation_on_saved_tensors` keeps, each as long as a graph needs it: `original` tensors that were
    never written to, and `cloned` ones."""

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
        """Clone what was saved of a storage that is about to be written to."""
        counter.before_write = None
        with no_grad():
            for handle, tensor in list(self.original.items()):
                if counter_of(tensor) is counter:
                    self.cloned[handle] = tensor.clone()
                    del self.original[handle], self.handles[handle.key]

    def unpack(self, handle: _Handle) -> Any:
        """Return the tensor as it was when it was saved."""
        found = self.cloned.get(handle, self.original.get(handle))
        if found is None:
            raise AssertionError(OUTSIDE)
        return found

    def clear(self) -> None:
        """Free everything."""
        for kept in (self.original, self.cloned, self.handles):
            kept.clear()


MUTATION: list[_AllowMutationOnSavedContext] = []  # the one that is open


@contextmanager
def allow_mutation_on_saved_tensors() -> Iterator[_AllowMutationOnSavedContext]:
    """A block in which saved tensors may be written to in place: what a graph needs of them is cloned first.

    Forward and backward pass must both be inside the block.

    Raises:
        RuntimeError: if blocks are nested.
    """
    if MUTATION:
        raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested")
    kept = _AllowMutationOnSavedContext()
    with saved_tensors_hooks(kept.pack, kept.unpack):
        try:
            MUTATION.append(kept)
            yield kept
        finally:
            del MUTATION[:]
            kept.clear()
