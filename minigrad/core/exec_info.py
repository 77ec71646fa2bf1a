"""Chooses what a pass with `inputs=` runs. Mirrors `GraphTask::init_to_execute` of PyTorch's `engine.cpp`.

Without `inputs` a pass runs every node that it reaches, and nothing here is called.
"""

from collections.abc import Container, Sequence
from typing import Any

from minigrad.core.grad_mode import LOCAL
from minigrad.core.graph import Node, edge_of
from minigrad.core.input_buffer import GraphTask

__all__ = ["inside_full_passes", "leaves_out", "select"]


def select(task: GraphTask, root: Node, inputs: Sequence[Any], accumulate_grad: bool) -> None:
    """Choose what a pass with `inputs` runs: all that leads to one of them, and the inputs if they are to accumulate.

    As in PyTorch a node that is the only root is looked at even if it leads to none of them: its tensor's hooks run.
    """
    edges = [edge_of(tensor) for tensor in inputs]
    nodes = {node for node, _ in edges}
    task.plain, task.inputs, task.runs = False, inputs, nodes_leading_to(nodes, root)
    task.left_out, task.captures = set(), {}
    if accumulate_grad:
        task.runs |= nodes
    else:
        task.captured = [None] * len(inputs)
        for index, (node, output_nr) in enumerate(edges):
            task.captures.setdefault(node, []).append((output_nr, index))
    if len(root.next) == 1:
        task.captures.setdefault(root.next[0], [])


def nodes_leading_to(targets: Container[Any], root: Node) -> set[Any]:
    """Return the nodes from which edges lead to one of the targets, over any number of nodes in between.

    It takes no recursion: each node is taken from the stack twice, first to put the next nodes there, and again, to
    decide, when they are decided.
    """
    leading: set[Any] = set()
    seen: set[Any] = set()
    stack: list[tuple[Any, bool]] = [(root, False)]
    while stack:
        node, decide = stack.pop()
        if decide:
            if any(following in leading or following in targets for following, _ in node.next_functions):
                leading.add(node)
        elif node not in seen:
            seen.add(node)
            stack.append((node, True))
            stack.extend([(following, False) for following, _ in node.next_functions
                          if following is not None and following not in seen])
    return leading


def leaves_out(task: GraphTask, node: Any) -> bool:
    """Whether a pass with `inputs` leaves a node out: it is not run, and its gradient not captured. Notes it if so."""
    left_out = task.runs is not None and node not in task.runs and node not in task.captures
    if left_out:
        task.left_out.add(node)
    return left_out


def inside_full_passes() -> bool:
    """Whether the pass that is running, and all that it was started inside of, go to all leaves.

    A reentrant checkpoint cannot keep to a choice of `inputs`.
    """
    task = LOCAL.graph_task
    while task is not None and task.runs is None:
        task = task.outer
    return task is None
