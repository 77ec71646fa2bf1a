"""Defines InputBuffer, which collects the gradients on their way to a node, and GraphTask, the state of one pass.

Mirrors PyTorch's `input_buffer.h` and `graph_task.h`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from numpy import ndarray

from minigrad.backends.numpy import WORDS
from minigrad.core.grad_mode import LOCAL
from minigrad.core.tensor import Tensor, plain

__all__ = ["GraphTask", "InputBuffer", "InputBuffers"]


class InputBuffer:
    """The gradients on their way to one node: how many are still to come, and the sum of those that have arrived."""

    __slots__ = ("dependencies", "fresh", "grad", "node", "owned")

    node: Any  # the node that waits
    dependencies: int  # how many gradients are still to come
    grad: Any  # the sum of those that have arrived; None before the first, and where all of them were None
    owned: bool  # nobody else can see the sum, so it may be added to in place (NOTE 3 in engine.py)
    fresh: bool  # the arrays that the node's formula has just returned may be owned

    def add(self, grad: Any, index: int, source: InputBuffer) -> None:
        """Add a further gradient, which the node of `source` computed for its input `index`."""
        if self.owned:
            self.grad += grad
        else:
            self.grad = self.grad + grad
            self.owned = not isinstance(grad, Tensor)

    def gave_away(self, grad: Any) -> bool:
        """Whether nobody else can see an array that the formula of this buffer's node returned (NOTE 3)."""
        received = self.grad
        if grad.base is None:
            return grad is not received
        return (self.owned and grad.base is received and len(self.node.next) == 1 and grad.flags.c_contiguous
                and grad.size == received.size)


class InputBuffers(InputBuffer):
    """The same for a node with several outputs: `grad` is a list with a sum for each output."""

    __slots__ = ()

    def add(self, grad: Any, index: int, source: InputBuffer) -> None:
        """Add a gradient to the sum for the output that the edge leads to."""
        output_nr = source.node.output_nr(index)
        total = self.grad[output_nr]
        self.grad[output_nr] = grad if total is None else total + grad


class GraphTask:
    """The state of one backward pass."""

    __slots__ = ("__weakref__", "arrivals", "buffers", "callbacks", "captured", "captures", "depth", "evaluate",
                 "first_order", "inputs", "keep_graph", "left_out", "node", "observer", "outer", "ready", "runs",
                 "xp")

    def __init__(self, create_graph: bool, keep_graph: bool) -> None:
        self.first_order = not create_graph  # gradients are arrays; else tensors, and the pass is itself recorded
        self.keep_graph = keep_graph  # nodes keep what they saved
        self.xp = Tensor.backward_namespace if create_graph else WORDS  # the functions that formulas call
        self.buffers: dict[Any, InputBuffer] = {}  # by node, and by leaf where an edge holds the leaf
        self.ready: list[tuple[int, int, InputBuffer]] = []  # a heap of those that can run (NOTE 1)
        self.arrivals = itertools.count()  # numbers what enters `ready`, to order equal sequence numbers
        self.evaluate: Callable[[GraphTask, InputBuffer], Any]  # gives the gradients of a node's inputs
        self.runs: set[Any] | None = None  # with `inputs=`, the nodes whose formulas run; None for all
        self.left_out: set[Any] = set()  # with `inputs=`, the nodes that edges lead to and that are not evaluated
        self.inputs: Sequence[Any] | None = None  # what the user gave as `inputs=`
        self.captures: dict[Any, list[tuple[int, int]]] = {}  # by node, (output_nr, index in `captured`) to capture
        self.captured: list[Any] = []  # the gradients that autograd.grad returns
        self.callbacks: list[Callable[[], Any]] = []  # called when the pass ends without an error
        self.outer: GraphTask | None = LOCAL.graph_task  # the pass inside which this one was started
        self.depth: int = 0 if self.outer is None else self.outer.depth + 1  # how many passes it is inside of
        self.node: Any = None  # the node that is being evaluated; known in anomaly mode only
        self.observer = LOCAL.observer  # receives every step, or None

    def wrapped(self, grad: Any) -> Any:
        """A gradient as a tensor, for user code and for `.grad`."""
        if not self.first_order or grad is None:
            return grad
        if type(grad) is ndarray and grad.size == 1 and not grad.flags.writeable:
            grad = grad.copy()  # NumPy's `broadcast_to` gives read-only arrays, and a hook may write to its gradient
        return plain(grad)

    def unwrapped(self, grad: Any) -> Any:
        """A gradient as this pass handles it: an array in a first-order pass."""
        return grad.array if self.first_order and grad is not None else grad

    def will_run(self, node: Any) -> bool:
        """Whether a node is among those that this pass evaluates.

        Raises:
            RuntimeError: for a leaf whose gradient `autograd.grad` returns.
        """
        if self.captured and node in self.captures and hasattr(node, "variable"):
            raise RuntimeError("A leaf node was passed to _will_engine_execute_node but we are currently running "
                               "autograd.grad(). This is currently not supported.")
        return node in self.buffers
