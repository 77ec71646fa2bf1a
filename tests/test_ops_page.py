"""The page of ops is what its command makes of the source; every op on it has a test."""

from __future__ import annotations

import functools

import pytest

from tests import ops_page


@functools.cache
def listed():
    """All ops with their nodes and their lines."""
    return ops_page.completed()


def test_the_page_is_what_the_command_makes():
    assert ops_page.PAGE.read_text(encoding="utf-8") == ops_page.page(), "run `python -m tests.ops_page`"


def test_every_op_is_touched_by_a_test():
    assert [op.name for op in listed() if not op.lines] == []


@pytest.mark.parametrize(("name", "node", "formula"), [
    ("exp", "ExpBackward0", "g * y"), ("mul", "MulBackward0", "None if b is None else g * b"),
    ("relu", "ReluBackward0", "threshold_backward"), ("sum", "SumBackward1", "broadcast_to"),
    ("linalg.inv", "LinalgInvExBackward0", "")])
def test_an_op_has_its_node_and_its_derivative(name, node, formula):
    (op,) = [each for each in listed() if each.name == name]
    formulas = [ops_page.formula(cls) for cls in op.nodes if cls.__name__ == node]
    assert any(formula in each for each in formulas)
