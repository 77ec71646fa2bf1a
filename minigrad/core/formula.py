"""The formula of a node, called on arrays: mirrors the `apply` methods that PyTorch generates for its nodes.

A first-order pass takes out what a node saved, checked against in-place changes, and calls `backward`. `by_formula`
does this for every node. The others are the same in straight code for what most ops save (nothing, one input, two
inputs, one result), as long as nothing unusual was noted; a class of nodes gets the one that fits when it is made.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from minigrad.core.saved import arrays

__all__ = ["by_formula", "fitting", "of_numbers"]

Formula = Callable[[Any, Any, Any], Any]


def by_formula(node: Any, xp: Any, g: Any) -> Any:
    """The gradients of a node's inputs from that of its result, arrays both."""
    return node.backward(xp, g, *arrays(node), *node.const)


def of_nothing(node: Any, xp: Any, g: Any) -> Any:
    """`by_formula` where nothing was saved."""
    if node.saved or node.saved is None:
        return by_formula(node, xp, g)
    return node.backward(xp, g, *node.const) if node.const else node.backward(xp, g)


def of_result(node: Any, xp: Any, g: Any) -> Any:
    """`by_formula` where the result was saved: bare data, changed or packed only where `rare` is set."""
    if node.saved is None or node.rare is not None or node.const:
        return by_formula(node, xp, g)
    (result,) = node.saved
    return node.backward(xp, g, result)


def of_numbers(node: Any, xp: Any, g: Any) -> Any:
    """`by_formula` where Python numbers were saved, which nobody can change."""
    if node.saved is None or node.rare is not None:
        return by_formula(node, xp, g)
    return node.backward(xp, g, *node.saved, *node.const)


def of_input(node: Any, xp: Any, g: Any) -> Any:
    """`by_formula` where one input was saved, which has no version yet."""
    if node.saved is None or node.rare is not None or (node._notes is not None and node._notes.versions is not None):
        return by_formula(node, xp, g)
    (a,) = node.saved
    if a._rare is not None:
        return by_formula(node, xp, g)
    return node.backward(xp, g, a.array, *node.const) if node.const else node.backward(xp, g, a.array)


def of_inputs(node: Any, xp: Any, g: Any) -> Any:
    """`by_formula` where two inputs were saved, or None for one of them, and neither has a version yet."""
    if node.saved is None or node.rare is not None or (node._notes is not None and node._notes.versions is not None):
        return by_formula(node, xp, g)
    a, b = node.saved
    if (a is not None and a._rare is not None) or (b is not None and b._rare is not None):
        return by_formula(node, xp, g)
    x, y = None if a is None else a.array, None if b is None else b.array
    return node.backward(xp, g, x, y, *node.const) if node.const else node.backward(xp, g, x, y)


def fitting(saves: Sequence[str]) -> Formula:
    """The way that fits the names of what a class of nodes saves (`Node.saves`)."""
    if not saves:
        return of_nothing
    if list(saves) == ["result"]:
        return of_result
    if any(name.startswith("result") for name in saves) or len(saves) > 2:
        return by_formula
    return of_input if len(saves) == 1 else of_inputs
