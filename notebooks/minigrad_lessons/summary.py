"""Tables that a lesson ends with. They are made by running, so they cannot be out of date."""

from collections.abc import Mapping, Sequence
from typing import Any

import minigrad as torch


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows of words under a head, in columns."""
    widths = [max(len(row[i]) for row in (head, *rows)) for i in range(len(head))]
    for row in (head, ["-" * width for width in widths], *rows):
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())


def node_name(node: object) -> str:
    """The name of a node's class, such as AccumulateGrad; "None" where there is no node."""
    return "None" if node is None else type(node).__name__


def _called(node: Any, names: Mapping[str, torch.Tensor]) -> str:
    """A node's name; that of an accumulator says for which of the named leaves it is."""
    leaf = getattr(node, "variable", None)
    of = "".join(f" of {name}" for name, tensor in names.items() if leaf is not None and tensor is leaf)
    return node_name(node) + of


def state_table(tensors: Mapping[str, torch.Tensor]) -> None:
    """Print what each tensor says of itself: is_leaf, requires_grad, grad_fn."""
    head = ["made by", "is_leaf", "requires_grad", "grad_fn"]
    table(head, [[made, str(t.is_leaf), str(t.requires_grad), node_name(t.grad_fn)]
                        for made, t in tensors.items()])


def edge_table(tensors: Mapping[str, torch.Tensor]) -> None:
    """Print, for each tensor, its node and the pairs in the node's next_functions; leaves by their names."""
    rows = []
    for made, tensor in tensors.items():
        edges = [] if tensor.grad_fn is None else tensor.grad_fn.next_functions
        pairs = "  ".join(f"({_called(node, tensors)}, {integer})" for node, integer in edges)
        rows.append([made, node_name(tensor.grad_fn), pairs])
    table(["expression", "its node", "next_functions"], rows)
