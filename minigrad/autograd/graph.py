"""Offers the graph to users: nodes, edges and hooks. Mirrors `torch/autograd/graph.py`.

Nodes are defined in core/graph.py; how a saved tensor is packed is in core/saved_tensor.py.
"""

import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar
from weakref import WeakKeyDictionary, WeakSet

import numpy as np

from minigrad._base.contexts import contextmanager, safe_exit
from minigrad._base.dtype import from_numpy_dtype
from minigrad._base.hooks import RemovableHandle
from minigrad._base.locks import new_lock
from minigrad.autograd.grad_mode import no_grad
from minigrad.backends.registry import HOST, device_of, info_of
from minigrad.core import LOCAL, Node, counter_of, is_tensor
from minigrad.core.exec_info import will_run
from minigrad.core.graph import AccumulateGrad, GradientEdge, ManyOutputs, gradient_node
from minigrad.core.saved_tensor import CALLABLES, PackHook, SavedTensor, UnpackHook, wrong_arguments
from minigrad.core.tensor import VersionCounter
from minigrad.history.custom_function import FunctionBase

__all__ = ["GradientEdge", "Node", "SavedTensor", "allow_mutation_on_saved_tensors", "disable_saved_tensors_hooks",
           "get_gradient_edge", "increment_version", "register_multi_grad_hook", "save_on_cpu", "saved_tensors_hooks"]

NO_TENSOR = ((), HOST, np.dtype("float32"))  # what PyTorch says of an output that gets no gradient
OUTSIDE = (
    "Trying to backward outside of the 'allow_mutation_on_saved_tensors' contextin which the graph was originally "
    "recorded."
)
MODES = ("all", "any")


def get_gradient_edge(tensor: Any) -> GradientEdge:
    """Return where the gradient of a tensor is computed: an edge that can replace it in `autograd.grad` and `backward`.

    Raises RuntimeError if the tensor does not require grad, and AssertionError for a view that requires grad only
    because its base does: no gradient goes to it.
    """
    if not tensor.requires_grad:
        raise RuntimeError("It is not possible to get the gradient edge for a Tensor that does not require gradients")
    edge = GradientEdge(*sure_edge(tensor))
    if not isinstance(edge.node, AccumulateGrad):
        extras = edge.node.extras()
        extras.output_info = {**(extras.output_info or {}), edge.output_nr: info_of(tensor.array)}
    return edge


@dataclass(frozen=True)
class InputMetadata:
    """What a gradient is like that a node receives: as one of the node's outputs."""

    shape: list[int]
    dtype: Any
    device: Any
    is_nested_tensor: ClassVar[bool] = False
    is_cpp_nested_tensor: ClassVar[bool] = False


def input_metadata(node: Any) -> tuple[InputMetadata, ...]:
    """`node._input_metadata`: for each output of a node what its gradient is like. Raises AttributeError for a node
    with one output of which nobody has asked for the edge: it does not keep its shape."""
    if isinstance(node, AccumulateGrad):
        known = [info_of(node.variable.array)]
    elif isinstance(node, FunctionBase):
        known = [NO_TENSOR if info is None or info[2].kind != "f" else info for info in node._output_info]
    elif isinstance(node, ManyOutputs):
        known = node.output_info
    else:
        noted = {} if node._extras is None else node._extras.output_info or {}
        if len(noted) < node.outputs:
            raise AttributeError(f"{node.name()} does not know the shape of what it made: get_gradient_edge(tensor) "
                                 "notes it")
        known = [noted[nr] for nr in range(node.outputs)]
    return tuple([InputMetadata([*shape], from_numpy_dtype(dtype), device_of(np.empty(0, like=handle)))
                  for shape, handle, dtype in known])


setattr(Node, "_input_metadata", property(input_metadata))  # noqa: B010 (mypy lets nobody assign a property)


def increment_version(tensor: Any) -> None:
    """Declare that a tensor, or each of several, was changed in place by something that autograd does not see. Raises
    RuntimeError for an argument that is not a tensor, and for a tensor of inference mode, which has no version."""
    try:
        tensors = iter((tensor,) if is_tensor(tensor) else tensor)
    except TypeError:
        raise RuntimeError("increment_version expect a Iterable[Tensor] as input") from None
    for each in tensors:
        if not is_tensor(each):
            raise RuntimeError("increment_version expects each element of the iterable to be a tensor")
        if not each.is_inference():
            counter_of(each).value += 1


# Hooks on saved tensors: they can make a graph hold less memory (`save_on_cpu`, checkpointing) or show what it holds.
class saved_tensors_hooks:
    """A block in which every tensor that a node saves goes through `pack_hook`, and comes back through `unpack_hook`.

    Hooks apply to the thread that enters the block; of nested blocks only the innermost counts. The pack hook runs with
    grad mode off, and must not write to its argument. If it returns the tensor itself, and that is the result of the
    node that saves it, node and tensor keep each other alive until the garbage collector runs: return its `detach()`.
    Raises TypeError on entering the block, if a hook cannot be called, and RuntimeError on entering the block inside
    `disable_saved_tensors_hooks`.
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
    """A block in which `saved_tensors_hooks` cannot be entered: for code that does not work with them. Raises
    RuntimeError with this message, if hooks are on already, or on entering a block of hooks inside."""
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

    Forward and backward pass must both be inside the block. Raises RuntimeError if blocks are nested.
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


# One hook on several tensors: a hook on each of them. What these collect in a pass is stored under that pass, for as
# long as it lives: passes in other threads, or started inside a hook, do not disturb it, and one that fails leaves
# nothing behind.
class _MultiHandle(RemovableHandle):
    """Removes all the hooks."""

    def __init__(self, handles: tuple[RemovableHandle, ...]) -> None:
        self.handles = handles

    def remove(self) -> None:
        """Remove the hooks; a second call does nothing."""
        for handle in self.handles:
            handle.remove()

    def __getstate__(self) -> tuple[RemovableHandle, ...]:
        return self.handles

    def __setstate__(self, state: tuple[RemovableHandle, ...]) -> None:
        self.handles = state


class _Gathered:
    """What one pass has brought so far: the gradients, and how many are still to come."""

    def __init__(self, count: int, left: int) -> None:
        self.grads: list[Any] = [None] * count
        self.left = left


class _All:
    """Mode "all": calls `fn` with all gradients when the last of those that a pass computes has arrived."""

    def __init__(self, tensors: Sequence[Any], fn: Callable[[Sequence[Any]], None]) -> None:
        self.nodes = [sure_edge(t)[0] for t in tensors]
        self.fn = fn
        self.passes: WeakKeyDictionary[Any, _Gathered] = WeakKeyDictionary()
        self.lock = new_lock()

    def hook(self, index: int) -> Callable[[Any], None]:
        """Return the hook of one of the tensors."""

        def inner_hook(grad: Any) -> None:
            task = current_task()
            with self.lock:
                found = self.passes.get(task)
                if found is None:
                    found = _Gathered(len(self.nodes), sum(will_run(task, node) for node in self.nodes))
                    self.passes[task] = found
                found.grads[index] = grad
                found.left -= 1
            if found.left == 0:
                del self.passes[task]
                self.fn(found.grads)

        return inner_hook


class _Any:
    """Mode "any": calls `fn` with the first gradient of a pass, whichever it is."""

    def __init__(self, fn: Callable[[Any], None]) -> None:
        self.fn = fn
        self.passes: WeakSet[Any] = WeakSet()
        self.lock = new_lock()

    def hook(self, grad: Any) -> None:
        """The hook of each of the tensors."""
        task = current_task()
        with self.lock:
            seen = task in self.passes
            self.passes.add(task)
        if not seen:
            self.fn(grad)


def sure_edge(tensor: Any) -> tuple[Any, int]:
    """Return where the gradient of a tensor goes; raise an error if it goes nowhere."""
    node = gradient_node(tensor) if tensor.requires_grad else None
    if node is None:
        raise AssertionError("Expected gradient function to be set")
    return node, tensor._output_nr


def current_task() -> Any:
    """Return the pass that this thread is running."""
    if LOCAL.graph_task is None:
        raise AssertionError("expected this hook to be called inside a backward call")
    return LOCAL.graph_task


def register_multi_grad_hook(tensors: Sequence[Any], fn: Callable[[Any], None], *,
                             mode: str = "all") -> RemovableHandle:
    """Call `fn` once in each pass for several tensors.

    Mode "all": with the list of their gradients, when the last of those that this pass computes has arrived; None for a
    tensor that gets none. Mode "any": with the first of their gradients. What `fn` returns is ignored. Raises
    ValueError for any other mode, and AssertionError in mode "all", if no gradient goes to a tensor.
    """
    if mode not in MODES:
        raise ValueError(f"Expects mode to be one of {MODES} but got {mode}")
    if mode == "any":
        once = _Any(fn)
        return _MultiHandle(tuple([t.register_hook(once.hook) for t in tensors if t.requires_grad]))
    all_of_them = _All(tensors, fn)
    return _MultiHandle(tuple([t.register_hook(all_of_them.hook(i)) for i, t in enumerate(tensors)]))
