"""Registers one hook on several tensors. Mirrors `register_multi_grad_hook` of `torch/autograd/graph.py`.

It consists of a hook on each of them. What these collect in a pass is stored under that pass, for as long as it lives:
passes in other threads, or started inside a hook, do not disturb it, and one that fails leaves nothing behind.
"""

from collections.abc import Callable, Sequence
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

from minigrad._base.hooks import RemovableHandle
from minigrad._base.locks import new_lock
from minigrad.core import LOCAL
from minigrad.core.exec_info import will_run
from minigrad.core.graph import gradient_node

__all__ = ["register_multi_grad_hook"]

MODES = ("all", "any")


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
    tensor that gets none. Mode "any": with the first of their gradients. What `fn` returns is ignored.

    Raises:
        ValueError: for any other mode.
        AssertionError: in mode "all", if no gradient goes to a tensor.
    """
    if mode not in MODES:
        raise ValueError(f"Expects mode to be one of {MODES} but got {mode}")
    if mode == "any":
        once = _Any(fn)
        return _MultiHandle(tuple([t.register_hook(once.hook) for t in tensors if t.requires_grad]))
    all_of_them = _All(tensors, fn)
    return _MultiHandle(tuple([t.register_hook(all_of_them.hook(i)) for i, t in enumerate(tensors)]))
