"""Defines InputBuffer, which collects the gradients on their way to a node, and GraphTask, the state of one pass.

Mirrors PyTorch's `input_buffer.h` and `graph_task.h`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from sys import getrefcount
from types import MappingProxyType
from typing import Any

from numpy import may_share_memory, ndarray

from minigrad.backends.numpy import XP
from minigrad.core.grad_mode import LOCAL
from minigrad.core.tensor import Tensor, plain

__all__ = ["GraphTask", "InputBuffer", "InputBuffers"]

SOLE_REFERENCE = 2  # `getrefcount(self.grad)` if only the buffer holds the array: it counts its own argument too


class InputBuffer:
    """The sum of the gradients that have arrived at one node."""

    __slots__ = ("grad", "node")

    node: Any  # the node that they are for
    grad: Any  # their sum; None before the first, and if all of them were None

    def __lt__(self, other: InputBuffer) -> Any:
        """Return whether this node runs first: it has the higher number (NOTE 1 in engine.py)."""
        return self.node.sequence_nr > other.node.sequence_nr

    def add(self, grad: Any, source: Any, edge: int) -> None:
        """Add one more gradient, in place if nobody else sees the sum; it came along edge number `edge` of `source`."""
        if type(self.grad) is ndarray and self.owns_grad():
            self.grad += grad
        else:
            self.grad = self.grad + grad

    def owns_grad(self) -> bool:
        """Return whether only this buffer can see the array of the sum (NOTE 3 in engine.py)."""
        if getrefcount(self.grad) != SOLE_REFERENCE or not isinstance(self.grad, ndarray):
            return False
        return self.grad.base is None or (
            getrefcount(self.grad.base) == SOLE_REFERENCE and type(self.grad.base) is ndarray
            and self.grad.flags.carray and self.grad.size == self.grad.base.size)


class InputBuffers(InputBuffer):
    """The buffer of a node with several outputs: `grad` is a list with a sum for each; none is added to in place."""

    __slots__ = ()

    def add(self, grad: Any, source: Any, edge: int) -> None:
        """Add a gradient to the sum for the output that the edge leads to."""
        output_nr = 0 if source.next_output_nrs is None else source.next_output_nrs[edge]
        total = self.grad[output_nr]
        self.grad[output_nr] = grad if total is None else total + grad


def writeable(array: Any) -> Any:
    """Return a writable view: NumPy's `broadcast_to` returns read-only ones. Read-only memory is copied."""
    if not isinstance(array.base, ndarray) or not array.base.flags.writeable:
        return array.copy()
    view = array.view()
    view.flags.writeable = True
    return view


class GraphTask:
    """The state of one backward pass."""

    fast_path: bool = True  # no node needs `evaluate_fully`, unless it has hooks; with `inputs` or an observer all do
    # With `inputs=` (exec_info.py):
    nodes_to_run: set[Any] | None = None  # the nodes whose formulas run, and the leaves that accumulate; None for all
    left_out: Any = frozenset()  # the targets of edges that are neither run nor captured
    inputs: Sequence[Any] | None = None  # what the user gave as `inputs=`
    captures: Mapping[Any, list[tuple[int, int]]] = MappingProxyType({})  # the (output_nr, index in `captured`) wanted
    captured: Any = ()  # a list of the gradients that autograd.grad returns
    node: Any = None  # the node that is being evaluated; anomaly mode sets it
    roots: tuple[Any, ...] = ()  # the targets of the edges to the roots
    given: Sequence[Tensor | None] = ()  # the gradients that the pass starts with

    def __init__(self, create_graph: bool, keep_graph: bool, evaluate: Any = None) -> None:
        self.first_order = not create_graph  # gradients are arrays; else tensors, and the pass is itself recorded
        self.keep_graph = keep_graph  # nodes keep what they saved
        self.xp = Tensor.backward_namespace if create_graph else XP  # the functions that formulas call
        self.evaluate: Callable[[GraphTask, InputBuffer], Any] = evaluate  # runs a node; observers wrap it
        # Both are keyed by edge target: a node, or a leaf in place of its AccumulateGrad (NOTE 6 in graph.py).
        self.dependencies: dict[Any, int] = {}  # how many edges have yet to deliver to it; ends at 1
        self.buffers: dict[Any, InputBuffer] = {}  # of leaves, and of nodes that get several gradients
        self.ready: list[InputBuffer] = []  # a heap of those whose nodes can run
        self.callbacks: list[Callable[[], Any]] = []  # called when the pass ends without an error
        self.outer: GraphTask | None = LOCAL.graph_task  # the pass inside which this one was started
        self.depth: int = 0 if self.outer is None else self.outer.depth + 1  # how many passes are around it
        self.observer = LOCAL.observer  # receives every step, or None

    def wrapped(self, grad: Any) -> Any:
        """Return a gradient as a tensor, for user code: one that the user gave, or a view of one, as it was given."""
        if not self.first_order or grad is None:
            return grad
        read_only = type(grad) is ndarray and not grad.flags.writeable
        for tensor in self.given:
            if tensor is None or read_only:
                continue
            if grad is tensor.array:
                return tensor
            if tensor._requires_grad and type(grad) is ndarray and may_share_memory(grad, tensor.array):
                return plain(grad, requires_grad=True)
        return plain(writeable(grad) if read_only else grad)

    def unwrapped(self, grad: Any) -> Any:
        """Return a gradient as this pass handles it: an array in a first-order pass."""
        return grad.array if self.first_order and grad is not None else grad
