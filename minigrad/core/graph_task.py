"""What one backward pass waits for: mirrors PyTorch's `graph_task.h`.

A pass begins by counting: how many gradients is each node going to receive? What the counts say stands at `GraphTask`.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from typing import Any

from numpy import ndarray

from minigrad.autograd.anomaly_mode import ANOMALY
from minigrad.autograd.views import grad_fn_of
from minigrad.backends.numpy import WORDS
from minigrad.backends.registry import Several
from minigrad.core.grad_mode import LOCAL
from minigrad.core.graph import AccumulateGrad, GradientEdge, Node
from minigrad.core.saved import REGISTRY

__all__ = ["GraphRoot", "GraphTask", "can_checkpoint", "count", "destination", "select"]

Edge = tuple[Any, int]  # a node or a leaf, and which output of the node


class GraphRoot(Node, number=None):
    """The node above all roots of a pass: its edges are the roots, its gradients the ones that the user gave."""

    __slots__ = ()

    def __init__(self, edges: Iterable[Edge]) -> None:
        self.next, self._notes = tuple([node for node, _ in edges]), None
        self.output_nrs = tuple([output_nr for _, output_nr in edges])


class GraphTask:
    """One pass: what each node waits for, and what has arrived.

    `needs`: gradients still to come, above zero for nodes, below for leaves, 0 for an AccumulateGrad (its leaf is
    counted; it may be missing, if it took its leaf's place in an edge only after the count, when somebody looked at the
    graph), None for what this pass leaves out; `pending`: what has piled up; `owned`: whose pile may be added to in
    place (NOTE 3); `ready`: a heap of the nodes that can run; `runs`: the nodes and leaves that run, None for all;
    `captures`: for a node or leaf the (output_nr, index) of those `inputs` whose gradients are found there, and go into
    `captured`; `callbacks`: what to call at the end; `outer`: the pass inside of which this one was started, `depth` of
    them in all; `node`: where the pass is, which is known in anomaly mode only; `straight`: nothing that is unusual for
    a whole pass is on; `due`: the leaves that are ready; `total`: what `deliver` leaves for `run`; `first_order`:
    gradients are arrays, and `xp` their words; `keep`: nodes keep what they saved; `observer`: who is told the story,
    or None.
    """

    __slots__ = ("__weakref__", "callbacks", "captured", "captures", "depth", "due", "first_order", "inputs", "keep",
                 "needs", "node", "observer", "outer", "owned", "pending", "ready", "runs", "straight", "total", "xp")

    def __init__(self, create_graph: bool, keep: bool) -> None:
        self.first_order = not create_graph
        self.xp = REGISTRY.words if create_graph else WORDS
        self.keep = keep
        self.observer = LOCAL.observer
        self.outer: GraphTask | None = LOCAL.graph_task
        self.depth = 0 if self.outer is None else self.outer.depth + 1
        self.needs: dict[Any, int | None] = {}
        self.pending: dict[Any, Any] = {}
        self.owned: set[Any] = set()
        self.ready: list[tuple[int, int, Node, Any]] = []
        self.due: list[tuple[Any, Any, bool]] = []
        self.runs: set[Any] | None = None
        self.captures: dict[Any, list[tuple[int, int]]] = {}
        self.inputs: Sequence[Any] | None = None
        self.captured: list[Any] = []
        self.callbacks: list[Callable[[], Any]] = []
        self.total: Any = None
        self.node: Node | None = None
        self.straight = self.observer is None and not ANOMALY.enabled and not Several.known

    def wrapped(self, grad: Any) -> Any:
        """A gradient as a tensor, for user code and for `.grad`."""
        if not self.first_order or grad is None:
            return grad
        if type(grad) is ndarray and grad.size == 1 and not grad.flags.writeable:
            grad = grad.copy()  # of what NumPy's `broadcast_to` gives none can be written to, but a hook may to one
        return REGISTRY.tensor(grad)

    def unwrapped(self, grad: Any) -> Any:
        """A gradient as this pass handles it."""
        return grad.array if self.first_order and grad is not None else grad

    def will_run(self, node: Node | None) -> bool:
        """Whether a node is among those that this pass runs."""
        target = leaf_of(node)
        if self.captured and target is not node and target in self.captures:
            raise RuntimeError("A leaf node was passed to _will_engine_execute_node but we are currently running "
                               "autograd.grad(). This is currently not supported.")
        return self.needs.get(target) is not None


def can_checkpoint() -> bool:
    """Whether the pass that is running, and all that it was started inside of, go to all leaves: a reentrant checkpoint
    cannot keep to a choice of `inputs`."""
    task = LOCAL.graph_task
    while task is not None and task.runs is None:
        task = task.outer
    return task is None


def leaf_of(target: Any) -> Any:
    """The leaf that an AccumulateGrad stands for; every other node or leaf itself."""
    return target.variable if isinstance(target, AccumulateGrad) else target


def destination(tensor: Any) -> Edge:
    """The node (or leaf) and output number at which the gradient of a tensor or GradientEdge is found."""
    if isinstance(tensor, GradientEdge):
        return leaf_of(tensor.node), tensor.output_nr
    node = grad_fn_of(tensor)
    return (tensor, 0) if node is None else (node, tensor._output_nr)


def select(task: GraphTask, root: GraphRoot, inputs: Sequence[Any], accumulate: bool) -> None:
    """Say what a pass with `inputs` runs: the inputs if they are to accumulate, and all that is above one of them.

    As in PyTorch a node that is the only root is looked at even if nothing below it is wanted: its tensor's hooks run.
    """
    task.straight = False
    wanted = [destination(each) for each in inputs]
    targets = {target for target, _ in wanted}
    task.runs = reaching(root, targets)
    task.inputs = inputs
    if accumulate:
        task.runs |= targets
    else:
        task.captured = [None] * len(inputs)
        for index, (target, output_nr) in enumerate(wanted):
            task.captures.setdefault(target, []).append((output_nr, index))
    if len(root.next) == 1:
        task.captures.setdefault(leaf_of(root.next[0]), [])


def reaching(root: Node, targets: Container[Any]) -> set[Any]:
    """The nodes with one of the targets below them, found without recursion: a node is looked at twice, once to go
    down and once, when all below it is known, to decide."""
    found: set[Any] = set()
    seen: set[Any] = set()
    stack: list[tuple[Any, bool]] = [(root, False)]
    while stack:
        node, known = stack.pop()
        if known:
            if any(n in found or leaf_of(n) in targets for n in node.next):
                found.add(node)
        elif node not in seen:
            seen.add(node)
            stack.append((node, True))
            stack.extend([(n, False) for n in node.next if isinstance(n, Node) and n not in seen])
    return found


def count(task: GraphTask, root: Node) -> None:
    """How many gradients each node of this pass is going to receive."""
    needs, runs, captures, stack = task.needs, task.runs, task.captures, [root]
    while stack:
        for target in stack.pop().next:
            if target is None:
                continue
            n = needs.get(target, False)
            if n is False:
                leaf = target.variable if type(target) is AccumulateGrad else target
                if runs is not None and leaf not in runs and leaf not in captures:
                    needs[target] = None
                elif leaf is not target:
                    needs[target] = 0
                    needs[leaf] = (needs.get(leaf) or 0) - 1
                elif not isinstance(target, Node):
                    needs[target] = -1
                else:
                    needs[target] = 1
                    if runs is None or target in runs:
                        stack.append(target)
                    if target.outputs != 1:
                        task.pending[target] = [None] * target.outputs
            elif n is None:
                continue
            elif n > 0:
                needs[target] = n + 1
            else:
                leaf = leaf_of(target)
                needs[leaf] = (needs[leaf] or 0) - 1
