"""Chooses what a pass with `inputs=` runs. Mirrors `GraphTask::init_to_execute` of PyTorch's `engine.cpp`.

Without `inputs` a pass runs every node that it reaches, and calls nothing from this file.
"""

from collections.abc import Container, Sequence
from typing import Any

from minigrad.core.grad_mode import LOCAL
from minigrad.core.graph import AccumulateGrad, GradientEdge, Node, edge_target, target_of
from minigrad.core.input_buffer import GraphTask
from minigrad.core.tensor import Tensor

__all__ = ["inside_full_passes", "is_left_out", "select_nodes_to_run", "will_run"]


def select_nodes_to_run(task: GraphTask, root: Node, inputs: Sequence[Any], accumulate_grad: bool) -> None:
    """Choose what a pass with `inputs` runs: all that leads to one of them, and the inputs if they are to accumulate.

    As in PyTorch a sole root is visited even if it leads to none of them: it does not run, but its tensor's hooks do.
    """
    edges = [target_and_output_nr(tensor) for tensor in inputs]
    leading = nodes_leading_to({target for target, _ in edges}, root)
    edges = [(None, 0) if is_replaced(tensor, leading, root) else edge for tensor, edge in zip(inputs, edges)]
    targets = {target for target, _ in edges} - {None}
    task.fast_path, task.inputs, task.nodes_to_run = False, inputs, nodes_leading_to(targets, root)
    task.left_out, task.captures = set(), {}
    if accumulate_grad:
        task.nodes_to_run |= targets
    else:
        task.captured = [None] * len(inputs)
        for index, (target, output_nr) in enumerate(edges):
            task.captures.setdefault(target, []).append((output_nr, index))
    if len(root.next) == 1:
        task.captures.setdefault(root.next[0], [])  # an empty list captures nothing, but the root is visited


def target_and_output_nr(tensor: Any) -> tuple[Any, int]:
    """Return where the gradient of a tensor or of a GradientEdge arrives: a node or a leaf, and the output number.

    For a view that no gradient goes through it is the view itself: nothing leads there.
    """
    if isinstance(tensor, GradientEdge):
        return target_of(tensor.node), tensor.output_nr
    target = edge_target(tensor)
    return tensor if target is None else target, tensor._output_nr


def is_replaced(tensor: Any, leading: set[Any], root: Node) -> bool:
    """Return whether all edges to a leaf are older than its AccumulateGrad, as after `set_`: no gradient goes there."""
    replaced_at = tensor._extras.replaced_at if isinstance(tensor, Tensor) and tensor._extras is not None else 0
    return replaced_at > 0 and tensor.is_leaf and not any(
        target is tensor for node in leading if node is root or node.sequence_nr > replaced_at for target in node.next)


def nodes_leading_to(targets: Container[Any], root: Node) -> set[Any]:
    """Return the nodes from which edges lead to one of the targets, over any number of nodes in between.

    It does not recurse: each node is popped twice, first to push its successors, then to be decided once they are.
    """
    leading: set[Any] = set()
    seen: set[Any] = set()
    stack: list[tuple[Any, bool]] = [(root, False)]
    while stack:
        node, decide = stack.pop()
        if decide:
            if any(target in leading or target in targets for target in node.next):
                leading.add(node)
        elif node not in seen:
            seen.add(node)
            stack.append((node, True))
            stack.extend([(target, False) for target in node.next if isinstance(target, Node) and target not in seen])
    return leading


def is_left_out(task: GraphTask, target: Any) -> bool:
    """Return whether a pass with `inputs` neither runs what an edge leads to nor captures its gradient.

    If so, it is added to `task.left_out`.
    """
    left_out = task.nodes_to_run is not None and target not in task.nodes_to_run and target not in task.captures
    if left_out:
        task.left_out.add(target)
    return left_out


def will_run(task: GraphTask, node: Node) -> bool:
    """Return whether a node is among those that a pass evaluates; as in PyTorch, the only root is not. Raises
    RuntimeError for a leaf whose gradient `autograd.grad` returns."""
    if task.captured and isinstance(node, AccumulateGrad) and node.variable in task.captures:
        raise RuntimeError("A leaf node was passed to _will_engine_execute_node but we are currently running "
                           "autograd.grad(). This is currently not supported.")
    target = target_of(node)
    return target in task.dependencies and (len(task.roots) > 1 or target is not task.roots[0])


def inside_full_passes() -> bool:
    """Return whether the running pass, and every pass inside which it was started, goes to all leaves.

    A reentrant checkpoint cannot limit itself to chosen `inputs`.
    """
    task = LOCAL.graph_task
    while task is not None and task.nodes_to_run is None:
        task = task.outer
    return task is None
