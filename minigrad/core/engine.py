"""Runs backward passes. Mirrors PyTorch's `engine.cpp` and `python_engine.cpp`.

A pass counts how many gradients each node is going to receive (`compute_dependencies`), then evaluates each node when
all of them have arrived, and sends what it computed along its edges (`run`). In a first-order pass gradients
are arrays; in a pass that is itself recorded (`create_graph=True`) they are tensors. One loop serves both.

NOTE 1 (engine order). A node runs when all its gradients have arrived. A recursion would not do: it would run a node
once per path, with partial sums. Of several ready nodes the one with the highest sequence number runs first: the one
that was recorded last, and an AccumulateGrad before all others. At a node: hooks of the tensor that it made, in the
order of their registration, retain_grad, the node's pre-hooks, the node, its hooks, release of what it saved. At an
AccumulateGrad: hooks of the leaf, pre-hooks, accumulation, post-accumulate hooks, hooks. Then the gradients go on.

NOTE 3 (who may keep a gradient). A gradient that arrives at a leaf becomes its `.grad`, and one that waits in a buffer
is added to in place, both without a copy: but only if the formula made it new (it is not the gradient that came in, and
no view of another array) and no user code has seen it. Such a gradient is `owned`. It stays owned when a node with one
input only gives it another shape, as TBackward0 does below a Linear. Formulas keep their part of this: they never write
into what they are given, never return a saved value, and never return one new array twice.

NOTE 5 (passes inside passes). A hook or a custom Function may start another pass, and that one a third. Each takes a
dozen frames of Python's stack, which has room for a thousand. So every 32nd pass of such a tower runs in a thread of
its own, with a fresh stack and with the modes of the thread that waits for it (PyTorch does the same, at 60). An error
ends all of them where they are: leaves that were reached keep what they got, nodes that ran have freed what they saved,
all others are as they were, and nothing that was queued for the end is called.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from contextvars import copy_context
from heapq import heappop, heappush
from threading import Thread
from typing import Any

from numpy import errstate, ndarray

from minigrad.core.evaluate import evaluate_fully, sum_to_inputs
from minigrad.core.grad_mode import LOCAL, UNUSUAL, switch
from minigrad.core.graph import AccumulateGrad, GradientEdge, Node, accumulator_of, gradient_edge, known_accumulator
from minigrad.core.input_buffer import GraphTask, InputBuffer, InputBuffers
from minigrad.core.tensor import Tensor, extras_of

__all__ = ["Edge", "edge_of", "execute", "inside_full_passes", "queue_callback"]

# PyTorch says nothing when it divides by zero or overflows; NumPy warns. Only warnings that code of this package raises
# are silenced, so that a user's own NumPy code keeps its warnings. A filter that a user adds afterwards comes first:
# then an op warns. To ask in every op would make small ones half as slow again.
warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"minigrad\.")
SILENCE = warnings.filters[0]
Edge = tuple[Any, int]  # a node, and which of its outputs
MAX_DEPTH = 32  # so many passes, each started inside the one before, run in one thread (NOTE 5)


class GraphRoot(Node, number=None):
    """The node above all roots of a pass: its edges are the roots, its gradients the ones that the user gave."""

    def __init__(self, edges: Sequence[Edge]) -> None:
        self.fill(tuple([node for node, _ in edges]), sequence_nr=0)
        self.extras().output_nrs = tuple([output_nr for _, output_nr in edges])


def execute(edges: Sequence[Edge], grads: Sequence[Any], *, create_graph: bool, keep_graph: bool,
            inputs: Sequence[Any] = (), accumulate_grad: bool = True) -> list[Any]:
    """Run a backward pass from `edges` with the tensors `grads`.

    With `inputs` (tensors or GradientEdges) only what leads to them runs. Leaves add to `.grad`, unless
    `accumulate_grad` is False: then the gradients of `inputs` are returned, as tensors, None where none arrived.
    """
    task, root = GraphTask(create_graph, keep_graph), GraphRoot(edges)
    task.evaluate = evaluate if task.observer is None else evaluate_fully
    if inputs or not accumulate_grad:
        select(task, root, inputs, accumulate_grad)
    for wrap in UNUSUAL.pass_wrappers:
        wrap(task)
    if task.observer is not None:
        report_flows(task)
    compute_dependencies(task, root)
    if task.depth and task.depth % MAX_DEPTH == 0:
        in_another_thread(task, root, grads)
    else:
        process(task, root, grads)
    return [task.wrapped(grad) for grad in task.captured]


def compute_dependencies(task: GraphTask, root: Node) -> None:
    """Give each node of this pass its input buffer, and count the gradients that it is going to receive."""
    buffers, runs, stack = task.buffers, task.runs, [root]
    accumulators: list[AccumulateGrad] = []
    while stack:
        source = stack.pop()
        for target in source.next:
            buffer = buffers.get(target)
            if buffer is None and target is not None:
                is_leaf = isinstance(target, Tensor)
                node = (known_accumulator(target) or AccumulateGrad(target)) if is_leaf else target
                if runs is not None and node not in runs and node not in task.captures:
                    task.left_out.add(node)
                    continue
                buffer = buffers.get(node)
                if buffer is None:
                    buffer = buffers[node] = InputBuffer() if node.outputs == 1 else InputBuffers()
                    buffer.node, buffer.dependencies, buffer.owned = node, 0, False
                    buffer.grad = None if node.outputs == 1 else [None] * node.outputs
                    if type(node) is AccumulateGrad:
                        accumulators.append(node)
                    elif runs is None or node in runs:
                        stack.append(node)
                buffers[target] = buffer
            if buffer is not None:
                buffer.dependencies += 1
    for accumulator in accumulators:
        if accumulator.variable._extras is not None:
            restore_hooks(accumulator, buffers)


def restore_hooks(accumulator: AccumulateGrad, nodes: Iterable[Any]) -> None:
    """Give an AccumulateGrad the hooks that its leaf has kept, if a node with an edge to it is older (NOTE 6)."""
    leaf = accumulator.variable
    hooks, hooked_at = extras_of(leaf).accumulator_hooks, extras_of(leaf).hooked_at
    if hooks is not None and accumulator.extras().hooks is None and any(
            isinstance(node, Node) and node.sequence_nr < hooked_at
            and any(edge is leaf or edge is accumulator for edge in node.next) for node in nodes):
        accumulator.extras().hooks = hooks


def process(task: GraphTask, root: GraphRoot, grads: Sequence[Any]) -> None:
    """Run a pass with grad mode as it asks for, then what was queued for its end."""
    grad_enabled, observer = LOCAL.grad_enabled, task.observer
    try:
        switch(not task.first_order)
        LOCAL.graph_task = task
        if observer is not None:
            observer.backward_start([(edge, root.output_nr(i), grads[i].array) for i, edge in enumerate(root.next)],
                                    {buffer.node: buffer.dependencies for buffer in task.buffers.values()},
                                    not task.first_order, task.keep_graph, task.inputs)
        with quiet():
            start, arrays = InputBuffer(), [task.unwrapped(grad) for grad in grads]
            start.node, start.grad, start.fresh = root, None, False
            run(task, start, arrays if observer is None else report(task, start, arrays))
        for callback in task.callbacks:  # a callback may queue more
            callback()
        if observer is not None:
            observer.backward_end()
    except BaseException as error:
        if observer is not None:
            observer.error(error)
        raise
    finally:
        LOCAL.graph_task = task.outer
        switch(grad_enabled)


def quiet() -> AbstractContextManager[Any]:
    """A block in which no warning of NumPy breaks off a pass, whatever filters the user has set before `SILENCE`."""
    for each in warnings.filters:
        if each is SILENCE:
            return nullcontext()
        if each[0] != "ignore" and issubclass(RuntimeWarning, each[2]):
            break
    return errstate(all="ignore")


def run(task: GraphTask, source: InputBuffer, grads: Iterable[Any]) -> None:
    """Send gradients on from `source`, then evaluate each node when all its gradients have arrived (NOTE 1)."""
    buffers, ready, arrivals, evaluate = task.buffers, task.ready, task.arrivals, task.evaluate
    while True:
        for index, (grad, edge) in enumerate(zip(grads, source.node.next)):
            target = buffers.get(edge)
            if target is None:  # no edge, or one to a node that this pass leaves out
                continue
            if target.grad is None:
                target.grad = grad
                target.owned = source.fresh and type(grad) is ndarray and source.gave_away(grad)
            elif grad is not None:
                target.add(grad, index, source)
            target.dependencies -= 1
            if target.dependencies == 0:
                heappush(ready, (-target.node.sequence_nr, next(arrivals), target))
        source.grad, grads, grad = None, (), None  # a gradient that was sent is not kept while the next node runs
        if not ready:
            return
        source = heappop(ready)[-1]
        grads = evaluate(task, source)


def evaluate(task: GraphTask, buffer: InputBuffer) -> Iterable[Any]:
    """Evaluate a node on the plain path: call its formula, then free what it saved."""
    node, extras = buffer.node, buffer.node._extras
    if (task.runs is not None or (extras is not None and extras.hooks is not None)
            or (type(node) is AccumulateGrad and node.has_leaf_hooks())):
        return evaluate_fully(task, buffer)
    grads = node.input_grads(task, buffer.grad, buffer.owned)
    if extras is not None and extras.input_metadata is not None:
        grads = sum_to_inputs(node, grads, task.xp)
    if not task.keep_graph and node.saved:
        node.saved = None
    buffer.fresh = task.first_order and not node.checks_in_order
    return grads if type(grads) is tuple else (grads,)


def report_flows(task: GraphTask) -> None:
    """Have a pass tell its observer of each gradient that `run` sends on."""
    evaluate = task.evaluate
    task.evaluate = lambda task, buffer: report(task, buffer, evaluate(task, buffer))


def report(task: GraphTask, source: InputBuffer, grads: Iterable[Any]) -> Iterator[Any]:
    """The same gradients. Whenever `run` asks for the next one, the one before has been added: tell the observer."""
    node = source.node
    for index, (grad, edge) in enumerate(zip(grads, node.next)):
        yield grad
        target = task.buffers.get(edge)
        if target is not None:
            output_nr = node.output_nr(index)
            total = target.grad if target.node.outputs == 1 else target.grad[output_nr]
            task.observer.flow(None if isinstance(node, GraphRoot) else node, index, target.node, output_nr, grad,
                               total, target.dependencies == 0)


def in_another_thread(task: GraphTask, root: GraphRoot, grads: Sequence[Any]) -> None:
    """Run a pass in a thread of its own, with the modes of this one, which waits (NOTE 5)."""
    modes = {name: value for name, value in vars(LOCAL).items() if name != "share"}
    failures: list[BaseException] = []

    def work() -> None:
        vars(LOCAL).update(modes)
        try:
            process(task, root, grads)
        except BaseException as error:  # noqa: BLE001 (raised again in the thread that waits)
            failures.append(error)

    thread = Thread(target=copy_context().run, args=(work,))
    thread.start()
    thread.join()
    if failures:
        raise failures.pop()


def queue_callback(callback: Callable[[], Any]) -> None:
    """Call `callback()` at the end of the innermost pass that runs in this thread, if it ends without an error.

    Raises:
        RuntimeError: outside of a backward pass.
    """
    if LOCAL.graph_task is None:
        raise RuntimeError("Final callbacks can only be installed during backward pass.")
    LOCAL.graph_task.callbacks.append(callback)


# passes with `inputs=`
def edge_of(tensor: Any) -> Edge:
    """The node and output number at which the gradient of a tensor, or of a GradientEdge, is found."""
    if isinstance(tensor, GradientEdge):
        return tensor.node, tensor.output_nr
    return gradient_edge(tensor) or accumulator_of(tensor), tensor._output_nr


def select(task: GraphTask, root: GraphRoot, inputs: Sequence[Any], accumulate_grad: bool) -> None:
    """Choose what a pass with `inputs` runs: all that is above one of them, and the inputs if they are to accumulate.

    As in PyTorch a node that is the only root is looked at even if nothing below it is wanted: its tensor's hooks run.
    """
    edges = [edge_of(tensor) for tensor in inputs]
    nodes = {node for node, _ in edges}
    task.runs = nodes_above(nodes, root)
    task.inputs = inputs
    if accumulate_grad:
        task.runs |= nodes
    else:
        task.captured = [None] * len(inputs)
        for index, (node, output_nr) in enumerate(edges):
            task.captures.setdefault(node, []).append((output_nr, index))
    if len(root.next) == 1:
        task.captures.setdefault(root.next[0], [])


def nodes_above(targets: Container[Any], root: Node) -> set[Any]:
    """The nodes with one of the targets below them, found without recursion.

    A node is looked at twice: once to go down, and once to decide, when all below it is known.
    """
    above: set[Any] = set()
    seen: set[Any] = set()
    stack: list[tuple[Any, bool]] = [(root, False)]
    while stack:
        node, known = stack.pop()
        if known:
            if any(n in above or n in targets for n, _ in node.next_functions):
                above.add(node)
        elif node not in seen:
            seen.add(node)
            stack.append((node, True))
            stack.extend([(n, False) for n, _ in node.next_functions if n is not None and n not in seen])
    return above


def inside_full_passes() -> bool:
    """Whether the pass that is running, and all that it was started inside of, go to all leaves.

    A reentrant checkpoint cannot keep to a choice of `inputs`.
    """
    task = LOCAL.graph_task
    while task is not None and task.runs is None:
        task = task.outer
    return task is None
