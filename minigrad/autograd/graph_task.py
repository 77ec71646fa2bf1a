"""What one backward pass waits for: mirrors PyTorch's `graph_task.h`.

A pass begins by counting: how many gradients is each node going to receive? Lesson 4 shows the counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from minigrad.autograd.grad_mode import LOCAL
from minigrad.autograd.graph import GradientEdge, Node
from minigrad.autograd.saved import REGISTRY
from minigrad.autograd.views import grad_fn_of
from minigrad.backends.numpy import WORDS

__all__ = ["GraphRoot", "GraphTask", "captures_of", "count", "destination", "reaching"]


class GraphRoot(Node, number=None):
    """The node above all roots of a pass: its edges are the roots, its gradients the ones that the user gave."""

    __slots__ = ()

    def __init__(self, edges: Iterable[tuple[Any, int]]) -> None:
        self.next, self.output_nrs = zip(*edges, strict=True)
        self.saved, self.versions, self.const, self.fit, self.rare = (), None, (), None, None


class GraphTask:
    """One pass: what each node waits for, and what has arrived.

    `needs`: gradients still to come, above zero for nodes, below for leaves, 0 for an AccumulateGrad (its leaf is
    counted), None for what this pass leaves out; `pending`: what has piled up; `owned`: whose pile may be added to in
    place (NOTE 3); `captures`: for a node or leaf the (output_nr, index) of those `inputs` whose gradients are found
    there, and go into `captured`; `runs`: the nodes that have a captured one below them, None for all; `node`: where
    the pass is, which is known in anomaly mode only.
    """

    __slots__ = ("__weakref__", "captured", "captures", "due", "first_order", "inputs", "keep", "needs", "node",
                 "observer", "owned", "pending", "runs", "total", "xp")

    def __init__(self, create_graph: bool, keep: bool) -> None:
        self.first_order = not create_graph
        self.xp = REGISTRY.words if create_graph else WORDS
        self.keep = keep
        self.observer = LOCAL.observer
        self.needs: dict[Any, int | None] = {}
        self.pending: dict[Any, Any] = {}
        self.owned: set[Any] = set()
        self.due: list[tuple[Any, Any, bool]] = []
        self.captures: Mapping[Any, Sequence[tuple[int, int]]] | None = None
        self.inputs: Sequence[Any] = ()
        self.captured: list[Any] = []
        self.runs: set[Any] | None = None
        self.total: Any = None
        self.node: Node | None = None

    def wrapped(self, grad: Any) -> Any:
        """A gradient as a tensor, for user code and for `.grad`."""
        return REGISTRY.tensor(grad) if self.first_order and grad is not None else grad

    def unwrapped(self, grad: Any) -> Any:
        """A gradient as this pass handles it."""
        return grad.array if self.first_order and grad is not None else grad

    def will_run(self, node: Node | None) -> bool:
        """Whether a node is among those that this pass runs."""
        target = getattr(node, "variable", node)
        if self.captured and target is not node and target in (self.captures or ()):
            raise RuntimeError("A leaf node was passed to _will_engine_execute_node but we are currently running "
                               "autograd.grad(). This is currently not supported.")
        return self.needs.get(target) is not None


def destination(tensor: Any) -> tuple[Any, int]:
    """The node (or leaf) and output number at which the gradient of a tensor or GradientEdge is found."""
    if isinstance(tensor, GradientEdge):
        return getattr(tensor.node, "variable", tensor.node), tensor.output_nr
    node = grad_fn_of(tensor)
    return (tensor, 0) if node is None else (node, tensor._output_nr)


def captures_of(inputs: Sequence[Any]) -> dict[Any, list[tuple[int, int]]]:
    """Where the gradients of the inputs are found: by node or leaf, (output number, index of the input)."""
    captures: dict[Any, list[tuple[int, int]]] = {}
    for index, tensor in enumerate(inputs):
        node, output_nr = destination(tensor)
        captures.setdefault(node, []).append((output_nr, index))
    return captures


def reaching(root: Node, captures: Mapping[Any, Any]) -> set[Any]:
    """The nodes with a captured node or leaf below them, found without recursion: a node is looked at twice, once to
    go down and once, when all below it is known, to decide."""
    found: set[Any] = set()
    seen: set[Any] = set()
    stack: list[tuple[Any, bool]] = [(root, False)]
    while stack:
        node, known = stack.pop()
        if known:
            if any(n in captures or n in found or getattr(n, "variable", None) in captures for n in node.next):
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
                leaf = target if not isinstance(target, Node) else getattr(target, "variable", None)
                if runs is not None and target not in runs and captures is not None \
                        and target not in captures and leaf not in captures:
                    needs[target] = None
                elif leaf is not None:
                    needs[target] = 0
                    needs[leaf] = (needs.get(leaf) or 0) - 1
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
                leaf = target if n else target.variable
                needs[leaf] = (needs[leaf] or 0) - 1
