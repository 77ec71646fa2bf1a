"""Walks through nested containers keep their kinds, and what these have beside their entries."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, namedtuple
from typing import Any

import pytest

from minigrad._base.nested import leaves, mapped

Pair = namedtuple("Pair", "a b")
TREES: list[Any] = [3, [1, (2, [3])], {"a": 1, "b": {"c": (2,)}}, Pair(1, [2]), OrderedDict(b=1, a=2), (), {}]


@pytest.mark.parametrize("tree", TREES, ids=str)
def test_a_tree_of_the_same_kinds_comes_back(tree: Any) -> None:
    done = mapped(lambda value: value + 10, tree)
    assert type(done) is type(tree)
    assert list(leaves(done)) == [value + 10 for value in leaves(tree)]
    assert mapped(lambda value: value - 10, done) == tree


def test_a_defaultdict_keeps_its_factory_and_is_not_changed_itself() -> None:
    tree = defaultdict(list, a=[1])
    done = mapped(lambda value: value + 1, tree)
    assert (done, done.default_factory, tree) == ({"a": [2]}, list, {"a": [1]})
