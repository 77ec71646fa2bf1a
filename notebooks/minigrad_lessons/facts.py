"""Ten facts about the graph behind a loss, of minigrad or of PyTorch: for the capstone.

    facts_of(loss, model, data)

Everything is found by walking `next_functions` and by running; nothing is known of the library but PyTorch's names.
"""

from collections import Counter
from typing import Any

from minigrad_lessons.exercises.graph import nodes_of

FACTS = {
    "root": "the name of the loss's own node",
    "nodes": "how many nodes the graph has, accumulators included",
    "leaves": "how many AccumulateGrad nodes",
    "empty": "how many pairs (None, 0)",
    "shared": "how many nodes more than one edge leads to",
    "longest": "how many nodes the longest path has",
    "numbered": "how many edges have an integer other than 0",
    "without": "how many parameters have no .grad after backward",
    "again": "whether a second backward raises",
    "data": "whether the data has a .grad after backward",
}


def facts_of(loss: Any, model: Any, data: Any) -> dict[str, object]:
    """The ten facts, by their names in FACTS. It runs backward, and leaves every `.grad` that it fills empty.

    Raises:
        ValueError: if the loss has no graph.
    """
    if loss.grad_fn is None:
        raise ValueError("this loss has no grad_fn: nothing was recorded")
    order = nodes_of(loss.grad_fn)
    edges = [edge for node in order for edge in node.next_functions]
    arriving = Counter(below for below, _ in edges if below is not None)
    graph = {
        "root": loss.grad_fn.name(), "nodes": len(order), "leaves": sum(hasattr(node, "variable") for node in order),
        "empty": sum(below is None for below, _ in edges), "shared": sum(count > 1 for count in arriving.values()),
        "longest": _longest(order), "numbered": sum(integer != 0 for _, integer in edges)}
    return graph | _by_running(loss, list(model.parameters()), data)


def _by_running(loss: Any, parameters: list[Any], data: Any) -> dict[str, object]:
    tensors = [*parameters, data]
    for tensor in tensors:
        tensor.grad = None
    loss.backward()
    without = sum(p.grad is None for p in parameters)
    reached = data.grad is not None
    try:
        loss.backward()
        again = False
    except RuntimeError:
        again = True
    for tensor in tensors:
        tensor.grad = None
    return {"without": without, "again": again, "data": reached}


def _longest(order: list[Any]) -> int:
    lengths: dict[Any, int] = {}
    for node in reversed(order):
        lengths[node] = 1 + max((lengths[below] for below, _ in node.next_functions if below is not None), default=0)
    return lengths[order[0]]
