"""Checks of derivatives without PyTorch: against differences of values, and against numbers made by hand.

The calls are the lines of the table of ops (tests/parity/tables) and, for nodes that no line reaches, the few in MORE.
A line belongs to the folder of minigrad/ops that defines the node of its result: `lines_of("pointwise")` are those of
tests/unit/ops/pointwise. test_every_derivative.py holds that every derivative of a folder runs in one of its lines.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import minigrad
from minigrad.autograd import gradcheck, gradgradcheck
from minigrad.core.graph import Node
from minigrad.nn.utils.weight_norm import WeightNorm
from tests.parity.compare import arrays_of, leaf, leaves_of, outputs_of, positive
from tests.parity.tables import all_cases, all_not_comparable

Call = Callable[..., Any]
Line = tuple[Call, list[Any]]
Numbers = list[Any] | float
ByHand = tuple[Call, list[Numbers], list[Numbers]]  # the call, its leaves, the gradients of the sum of its results

PACKED = minigrad.tensor([0, 2, 1, 1])
MORE: dict[str, Line] = {
    "attention of heads": (lambda m, q, k, v: m.nn.functional.scaled_dot_product_attention(q, k, v),
                           [leaf(1, 1, 2, 2), leaf(1, 1, 3, 2), leaf(1, 1, 3, 2)]),
    "batch_norm": (lambda m, a, w, b: m.nn.functional.batch_norm(a, None, None, w, b, training=True),
                   [leaf(3, 2), leaf(2), leaf(2)]),
    "cdist": (lambda m, a, b: m.cdist(a, b, p=3.0), [leaf(3, 2), leaf(2, 2)]),
    "cholesky_inverse of a triangle": (lambda m, a: m.cholesky_inverse(a.tril()), [positive(3, 3)]),
    "cholesky_solve of a triangle": (lambda m, b, a: m.cholesky_solve(b, a.tril()), [leaf(3, 1), positive(3, 3)]),
    "ctc_loss": (lambda m, a: m.nn.functional.ctc_loss(a.log_softmax(-1), m.tensor([[1, 2]]), (4,), (2,)),
                 [leaf(4, 1, 3)]),
    "eigh of a symmetric matrix": (lambda m, a: [v.abs() for v in m.linalg.eigh(a + a.mT)], [leaf(3, 3)]),
    "embedding_bag": (lambda m, w: m.nn.functional.embedding_bag(PACKED, w, m.tensor([0, 2])), [leaf(3, 2)]),
    "embedding_bag weighted": (
        lambda m, w, s: m.nn.functional.embedding_bag(PACKED, w, m.tensor([0, 2]), mode="sum", per_sample_weights=s),
        [leaf(3, 2), leaf(4)]),
    "group_norm": (lambda m, a, w, b: m.nn.functional.group_norm(a, 2, w, b), [leaf(2, 4, 3), leaf(4), leaf(4)]),
    "hardsigmoid": (lambda m, a: m.nn.functional.hardsigmoid(a), [leaf(5)]),
    "instance_norm": (lambda m, a: m.nn.functional.instance_norm(a), [leaf(2, 2, 3)]),
    "layer_norm": (lambda m, a, w, b: m.nn.functional.layer_norm(a, (3,), w, b), [leaf(2, 3), leaf(3), leaf(3)]),
    "logcumsumexp": (lambda m, a: a.logcumsumexp(0), [leaf(4)]),
    "multi_margin_loss": (lambda m, a: m.nn.functional.multi_margin_loss(a, m.tensor([0, 2])), [leaf(2, 3)]),
    "multilabel_margin_loss": (
        lambda m, a: m.nn.functional.multilabel_margin_loss(a, m.tensor([[0, 2, -1], [1, -1, 0]])), [leaf(2, 3)]),
    "weight_norm": (lambda m, v, g: WeightNorm("w", 0).compute_weight(SimpleNamespace(w_v=v, w_g=g)),
                    [leaf(2, 3), leaf(2, 1)]),
}


# Their second derivative is not implemented, as in PyTorch.
ONCE = ("attention of heads", "cdist", "ctc_loss", "embedding_bag", "embedding_bag weighted", "hardsigmoid",
        "multi_margin_loss", "multilabel_margin_loss")


def lines_of(family: str) -> list[str]:
    """The lines that belong to a folder of minigrad/ops, and those of others without which a node would not run."""
    return [name for name in comparable() if family in _families()[name]]


@cache
def comparable() -> dict[str, Line]:
    """The lines of which differences of values say something."""
    lines = all_cases() | MORE
    return {name: lines[name] for name in sorted(lines.keys() - all_not_comparable().keys())}


@cache
def _families() -> dict[str, set[str]]:
    """The folders to which each line belongs."""
    results = {name: recorded(*line)[0] for name, line in comparable().items()}
    found = {name: {family_of(type(result.grad_fn)) for result in results[name]} for name in results}
    reached = {node for name in results for node in nodes_of(results[name]) if family_of(node) in found[name]}
    for name in results:
        for node in nodes_of(results[name]) - reached:
            found[name].add(family_of(node))
            reached.add(node)
    return found


def nodes_of(results: list[Any]) -> set[type[Node]]:
    """The classes of the nodes behind some results."""
    waiting = [result.grad_fn for result in results]
    seen: set[Node] = set()
    while waiting:
        node = waiting.pop()
        if node is not None and node not in seen:
            seen.add(node)
            waiting += [below for below, _ in node.next_functions]
    return {type(node) for node in seen}


def family_of(node: type[Node]) -> str:
    """The folder of minigrad/ops that defines a node; empty for a node of another package."""
    parts = node.__module__.split(".")
    return parts[2] if parts[:2] == ["minigrad", "ops"] else ""


def recorded(call: Call, specs: list[Any]) -> tuple[list[Any], list[Any]]:
    """The results of a call that have a graph, and its leaves, in float64."""
    leaves = leaves_of(minigrad, specs, arrays_of(specs, "float64", seed=3))
    return [t for t in floats(call)(*leaves) if t.requires_grad], leaves


def floats(call: Call) -> Callable[..., list[Any]]:
    """A call's results without the integers."""
    return lambda *args: [t for t in outputs_of(call(minigrad, *args)) if t.is_floating_point()]


def check(name: str) -> None:
    """Hold the first derivative of a line, and the second where there is one, to differences of values."""
    call, specs = comparable()[name]
    results, leaves = recorded(call, specs)
    assert gradcheck(floats(call), leaves) and gradcheck(floats(call), leaves, fast_mode=True)
    if results and name not in ONCE:
        assert gradgradcheck(floats(call), leaves)


def check_by_hand(call: Call, inputs: list[Numbers], expected: list[Numbers]) -> None:
    """Hold the gradients of the sum of the results to these numbers."""
    results, leaves = run_by_hand(call, inputs)
    sum(result.sum() for result in results).backward()
    for tensor, numbers in zip(leaves, expected, strict=True):
        np.testing.assert_allclose(tensor.grad.numpy(), numbers, rtol=1e-6, atol=1e-12)


def run_by_hand(call: Call, inputs: list[Numbers]) -> tuple[list[Any], list[Any]]:
    """The results of a call, and its leaves in float64."""
    leaves = [minigrad.tensor(values, dtype=minigrad.float64, requires_grad=True) for values in inputs]
    return outputs_of(call(*leaves)), leaves


def derivative_tests(family: str, by_hand: dict[str, ByHand]) -> tuple[Any, Any]:
    """The two tests of a folder: its lines against differences, and calls against numbers made by hand."""

    @pytest.mark.parametrize("name", lines_of(family))
    def test_against_differences(name: str) -> None:
        check(name)

    @pytest.mark.parametrize("name", by_hand)
    def test_by_hand(name: str) -> None:
        check_by_hand(*by_hand[name])

    return test_against_differences, test_by_hand
