"""Walks through nested tuples, lists and dicts, such as the arguments and the outputs of a function."""

from collections.abc import Callable, Iterator
from copy import copy
from typing import Any


def leaves(tree: Any) -> Iterator[Any]:
    """Yield the values in tuples, lists and dicts, at any depth, in order."""
    if isinstance(tree, (tuple, list, dict)):
        for each in tree.values() if isinstance(tree, dict) else tree:
            yield from leaves(each)
    else:
        yield tree


def mapped(function: Callable[[Any], Any], tree: Any) -> Any:
    """The same tuples, lists and dicts, with the result of a function in place of each value."""
    if isinstance(tree, dict):
        same = copy(tree)  # with what its class keeps beside the entries, such as the factory of a defaultdict
        same.update({key: mapped(function, each) for key, each in tree.items()})
        return same
    if isinstance(tree, (tuple, list)):
        parts = [mapped(function, each) for each in tree]
        return type(tree)(*parts) if hasattr(tree, "_fields") else type(tree)(parts)
    return function(tree)
