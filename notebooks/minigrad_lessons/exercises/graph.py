"""Walks over a graph of nodes, without recursion, for the checks."""

from collections.abc import Callable
from typing import Any

import minigrad as torch


def nodes_of(root: Any) -> list[Any]:
    """Every node below `root`, it included, each one before those that it points to; of minigrad or of PyTorch.

    A node is known by its id, which stays its own as long as the walk holds it: it holds every one that it has seen.
    """
    seen: set[int] = set()
    order: list[Any] = []
    stack: list[tuple[Any, bool]] = [(root, False)]
    while stack:
        node, finished = stack.pop()
        if finished:
            order.append(node)
        elif id(node) not in seen:
            seen.add(id(node))
            stack.append((node, True))
            stack.extend((below, False) for below, _ in node.next_functions if below is not None)
    return order[::-1]


def paths_to(root: Any) -> dict[int, int]:
    """How many paths lead from `root` to each node, by the node's id: as often does a plain recursion call it."""
    nodes = nodes_of(root)
    paths = {id(node): 0 for node in nodes}
    paths[id(root)] = 1
    for node in nodes:
        for below, _ in node.next_functions:
            if below is not None:
                paths[id(below)] += paths[id(node)]
    return paths


def without_recording(make: Callable[[], Any]) -> Any:
    """What `make` gives while nothing is recorded."""
    with torch.no_grad():
        return make()


def grad_of(tensor: torch.Tensor) -> torch.Tensor:
    """The `.grad` of a tensor that a backward pass has reached."""
    if tensor.grad is None:
        raise ValueError("this tensor has no .grad")
    return tensor.grad


def takes(node: Any) -> int:
    """How many gradients a node takes when it is called: one for each output of its operation."""
    return int(node.outputs)
