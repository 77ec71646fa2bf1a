"""Runs backward passes. Mirrors PyTorch's `engine.cpp` and `python_engine.cpp`.

`Tensor.backward` starts a pass (`execute`). The pass counts how many gradients each node will receive
(`compute_dependencies`). Then it evaluates each node when all of them have arrived, and sends what it computed along
the node's edges (`run`). In a first-order pass gradients are arrays; in a pass that is itself recorded
(`create_graph=True`) they are tensors. One loop handles both.

NOTE 1 (engine order). A node runs when all its gradients have arrived. A recursion would be wrong: it would run a node
once per path, with partial sums. Of several ready nodes the one with the highest sequence number runs first: the one
that was recorded last, and an AccumulateGrad before all others. Equal numbers, as of two AccumulateGrads, run as the
heap's swaps leave them, which are those of C++'s heap: in PyTorch's order, the same in each run, neither FIFO nor LIFO.

At a node this happens, in this order: the hooks of the tensors that it made, for each in the order of registration;
`retain_grad`; the node's pre-hooks; its formula; its post-hooks (`register_hook`); release of what it saved. At an
AccumulateGrad: hooks of the leaf, pre-hooks, accumulation, post-accumulate hooks, post-hooks. What `autograd.grad`
returns is captured before all of this; where the node itself does not run, after the hooks of its tensors, which do.

NOTE 3 (who may keep a gradient). A gradient that arrives at a leaf without a `.grad` becomes it without a copy, and one
that waits in a buffer is added to in place, but only if nobody else can see the array. As in PyTorch the reference
count says so (`InputBuffer.owns_grad`). It is copied if somebody else still holds it: the user, a hook, a saved value,
or another buffer that got it from the same formula; the last of these to be evaluated may keep it. A view may be kept
if it shows all of an array that nobody else holds, in the order of memory, as a reshaped gradient does. A leaf always
gets a copy if it has hooks, which may keep what they see, if the pass is recorded, or if its layout asks for another
order. A `.grad` that is there already is added to in place, whoever holds it; only a recorded pass makes a new one.
"""

import warnings
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from heapq import heappop, heappush
from operator import index
from typing import Any

import numpy as np

from minigrad._base.contexts import HANDLING, SET_UP, SILENCE, errstate, numpy_only_warns
from minigrad._base.dtype import BFLOAT16
from minigrad.backends.registry import BACKEND_OF, HOST, device_like
from minigrad.core.arguments import NOT_SCALAR, check_grad, check_inputs, inputs_of, sequence_of, warn_of_cycle
from minigrad.core.evaluate import evaluate_fully, sum_to_inputs
from minigrad.core.exec_info import is_left_out, select_nodes_to_run
from minigrad.core.grad_mode import LOCAL, UNUSUAL, switch
from minigrad.core.graph import AccumulateGrad, GradientEdge, Node, edge_target, known_accumulator, target_of
from minigrad.core.input_buffer import GraphTask, InputBuffer, InputBuffers
from minigrad.core.observed_pass import ObservedPass
from minigrad.core.reentrant import MAX_DEPTH, in_another_thread
from minigrad.core.tensor import Tensor, plain

__all__ = ["execute", "start_grads"]


def backward(self: Tensor, gradient: Tensor | None = None, retain_graph: bool | None = None,
             create_graph: bool = False, inputs: Any = None) -> None:
    """Add the gradient of this tensor to the `.grad` of the leaves that it was computed from.

    `gradient`: of this tensor's shape; may be omitted for a tensor of one element, where the default is 1.
    `retain_graph`: keep what the nodes saved (default: `create_graph`). `create_graph`: record the pass itself.
    `inputs`: the tensors to accumulate into (default: all leaves). Raises RuntimeError if this tensor has no graph,
    `gradient` is missing or has another shape, the graph was freed by an earlier pass, or a saved tensor was changed in
    place.
    """
    inputs = () if inputs is None else inputs_of(inputs, "backward")
    grads = start_grads((self,), (None,) if gradient is None else sequence_of(gradient))
    execute((self,), grads, create_graph if retain_graph is None else retain_graph, create_graph, inputs)


backward.__qualname__ = "Tensor.backward"
setattr(Tensor, "backward", backward)  # noqa: B010 (mypy lets nobody assign a method)


def start_grads(roots: Sequence[Any], grads: Sequence[Any], batched: bool = False) -> list[Any]:
    """Return the gradients to start from, as tensors: the user's, checked, and a 1 where the user gave None."""
    return [one_for(root) if grad is None and isinstance(root, Tensor) else check_grad(i, root, grad, batched)
            for i, (root, grad) in enumerate(zip(roots, grads))]


def one_for(root: Tensor) -> Tensor | None:
    """Return a 1 of the shape and dtype of a tensor of one element; None if no gradient goes to it."""
    if not root._requires_grad:
        return None
    if (x := root.array).size != 1:
        raise RuntimeError(NOT_SCALAR)
    return plain(np.ones(x.shape, x.dtype, like=device_like(x) if BACKEND_OF or x.dtype is BFLOAT16 else HOST)[()])


class GraphRoot(Node, number=None):
    """Stands before all roots of a pass: its edges lead to them, and the first gradients go along these edges."""

    def __init__(self, roots: Sequence[Any], targets: Sequence[Any]) -> None:
        self.fill(tuple(targets), sequence_nr=0,
                  next_output_nrs=tuple([r.output_nr if isinstance(r, GradientEdge) else r._output_nr for r in roots]))


def root_target(i: int, root: Any) -> Any:
    """Return what the edge to a root leads to, where a root is the user's tensor (or GradientEdge) number `i`."""
    target = target_of(root.node) if isinstance(root, GradientEdge) else edge_target(root)
    if target is None:
        raise RuntimeError(f"element {i} of tensors does not require grad and does not have a grad_fn")
    return target


def execute(roots: Sequence[Any], grads: Sequence[Any], keep_graph: bool, create_graph: bool,
            inputs: Sequence[Any] = (), accumulate_grad: bool = True) -> list[Any]:
    """Run a backward pass from tensors or GradientEdges, with a gradient for each; nothing changes if a check fails.

    With `inputs` (tensors or GradientEdges) only what leads to them runs. Leaves add to `.grad`, unless
    `accumulate_grad` is False: then the gradients of `inputs` are returned, as tensors, None where none arrived. Raises
    RuntimeError if a root or an input is not a tensor or does not require grad; if the numbers of gradients and roots
    differ.
    """
    if len(roots) != len(grads):
        raise RuntimeError(f"got {len(roots)} tensors and {len(grads)} gradients")
    task = GraphTask(bool(index(create_graph)), bool(index(keep_graph)), evaluate_function)
    root = GraphRoot(roots, [root_target(i, each) for i, each in enumerate(roots)])
    if inputs or not accumulate_grad:
        check_inputs(inputs, accumulate_grad)
        for tensor in inputs:
            if accumulate_grad and isinstance(tensor, Tensor):
                tensor.retain_grad()
        select_nodes_to_run(task, root, inputs, accumulate_grad)
    if create_graph and accumulate_grad:
        warn_of_cycle()
    for wrap in UNUSUAL.pass_wrappers:
        wrap(task)
    compute_dependencies(task, root)
    if task.depth and task.depth % MAX_DEPTH == 0:
        in_another_thread(execute_with_graph_task, task, root, grads)
    else:
        execute_with_graph_task(task, root, grads)
    return [task.wrapped(grad) for grad in task.captured]


def compute_dependencies(task: GraphTask, root: Node) -> None:
    """Count, for each node and leaf of this pass, the edges that lead to it; each will deliver a gradient, or None.

    Leaves, whose buffers hold their AccumulateGrads, and nodes with several outputs get their buffers here, any other
    node when its first gradient arrives.
    """
    dependencies, stack = task.dependencies, [root]
    while stack:
        for target in stack.pop().next:
            if target in dependencies:
                dependencies[target] += 1
            elif target is not None and (task.nodes_to_run is None or not is_left_out(task, target)):
                dependencies[target] = 1
                if isinstance(target, Tensor):
                    buffer = task.buffers[target] = InputBuffer()
                    buffer.node, buffer.grad = known_accumulator(target) or AccumulateGrad(target), None
                else:
                    stack.append(target)
                    if target.outputs != 1:
                        buffer = task.buffers[target] = InputBuffers()
                        buffer.node, buffer.grad = target, [None] * target.outputs


def execute_with_graph_task(task: GraphTask, root: GraphRoot, grads: Sequence[Any]) -> None:
    """Run a pass with the grad mode it requires, then call its queued callbacks."""
    grad_enabled, arrays = LOCAL.grad_enabled, [task.unwrapped(grad) for grad in grads]
    try:
        switch(not task.first_order)
        LOCAL.graph_task, task.roots, task.given = task, root.next, grads
        with nullcontext(arrays) if task.observer is None else ObservedPass(task, root, arrays) as first:
            with ignore_numpy_warnings():
                run(task, root, first)
            for callback in task.callbacks:  # a callback may queue more
                callback()
    finally:
        LOCAL.graph_task, LOCAL.grad_enabled = task.outer, grad_enabled  # no interrupt can come before these are set
        LOCAL.update()


def ignore_numpy_warnings() -> AbstractContextManager[Any]:
    """A block in which NumPy neither warns nor raises, whatever `np.errstate` or filters before `SILENCE` are set."""
    if warnings.filters[:1] == [SILENCE] and (HANDLING.get() is SET_UP or numpy_only_warns()):
        return nullcontext()
    return errstate(all="ignore")


def run(task: GraphTask, node: Node, grads: Any) -> None:
    """Send `grads` along the edges of `node`, then run each node that has all its gradients, and send on (NOTE 1)."""
    dependencies, buffers, ready, evaluate = task.dependencies, task.buffers, task.ready, task.evaluate
    while True:
        edge = -1  # counted by hand: `enumerate` or `zip` would take a tenth of the time of a pass through small ops
        for grad in grads:
            edge += 1
            target = node.next[edge]
            remaining = dependencies.get(target)
            if remaining is None:  # there is no edge, or this pass leaves out what it leads to
                continue
            buffer = buffers.get(target)
            if buffer is None:
                buffer = InputBuffer()
                buffer.node, buffer.grad = target, grad
                if remaining > 1:
                    buffers[target] = buffer
            elif buffer.grad is None:
                buffer.grad = grad
            elif grad is not None:
                buffer.add(grad, node, edge)
            if remaining > 1:
                dependencies[target] = remaining - 1
            else:
                heappush(ready, buffer)
        grads = grad = None  # `owns_grad` would count these references (NOTE 3), and they would keep memory
        if not ready:
            return
        buffer = heappop(ready)
        node, grads = buffer.node, evaluate(task, buffer)


def evaluate_function(task: GraphTask, buffer: InputBuffer) -> Any:
    """Call the formula of a node and free what it saved; `evaluate_fully` does so where there is more to do."""
    node, extras = buffer.node, buffer.node._extras
    if not task.fast_path or (extras is not None and extras.hooks is not None):
        return evaluate_fully(task, buffer)
    if type(node) is AccumulateGrad:
        if node.has_leaf_hooks():
            return evaluate_fully(task, buffer)
        can_steal, grad, buffer.grad = buffer.owns_grad(), buffer.grad, None
        return node.accumulate(task, grad, can_steal)
    grads, buffer.grad = node.input_grads(task, buffer.grad), None
    if extras is not None and extras.input_metadata is not None:
        grads = sum_to_inputs(node, grads, task.xp)
    if node.saved and not task.keep_graph:
        node.saved = None
    return grads if type(grads) is tuple else (grads,)
