"""Pruning: masks, states, gradients and errors as in PyTorch."""

from __future__ import annotations

import pytest

import minigrad
from tests.parity.nn.utils.names import result_of

pytestmark = pytest.mark.torch

PROGRAMS = """\
one = prune.l1_unstructured(linear(), "weight", 0.3)
result = (facts(one), step(one, 2, 3), list(one.named_buffers()))

one = prune.l1_unstructured(linear(), "weight", 2)
prune.l1_unstructured(one, "weight", 2)
result = (facts(one), len(one._forward_pre_hooks))
prune.remove(one, "weight")
result = (result, facts(one))

one = prune.random_unstructured(linear(), "weight", 0.5)
result = facts(one)

one = prune.random_structured(linear(4, 3), "weight", 0.5, 1)
result = facts(one)

one = prune.ln_structured(linear(4, 3), "weight", 2, 2, 1)
prune.l1_unstructured(one, "weight", 0.5)
prune.ln_structured(one, "weight", 1, 1, 0)
result = facts(one)

one = prune.ln_structured(linear(4, 3), "weight", 0, 2, -1)
result = facts(one)

one = prune.identity(linear(), "bias")
result = (facts(one), prune.is_pruned(one), prune.is_pruned(nn.Sequential(linear(), one)), prune.is_pruned(linear()))

one = prune.custom_from_mask(linear(), "weight", m.eye(3))
result = facts(one)

one = prune.custom_from_mask(linear(), "weight", m.eye(2))

one = linear(3, 3)
two = linear(3, 2)
prune.global_unstructured([(one, "weight"), (two, "weight")], prune.L1Unstructured, amount=0.4)
result = (facts(one), facts(two))

one = linear(3, 3)
two = linear(3, 2)
prune.global_unstructured([(one, "weight"), (two, "bias")], prune.RandomUnstructured, amount=4)
result = (facts(one), facts(two))

prune.global_unstructured([(linear(), "weight")], prune.LnStructured, amount=1, n=2)

prune.global_unstructured(3, prune.L1Unstructured)

prune.global_unstructured([(linear(), "weight")], prune.L1Unstructured, [], amount=1)

prune.l1_unstructured(linear(), "weight", -1)

prune.l1_unstructured(linear(), "weight", 1.5)

prune.l1_unstructured(linear(), "weight", "x")

one = linear()
prune.l1_unstructured(one, "weight", 50)

one = linear()
result = []
try:
    prune.l1_unstructured(one, "weight", 50)
except ValueError:
    result = facts(one)

prune.ln_structured(linear(), "bias", 1, 2, 0)

prune.ln_structured(linear(), "weight", 1, 2, 5)

prune.remove(linear(), "weight")

method = prune.L1Unstructured(amount=2)
result = (method.prune(m.tensor([1.0, -3, 2, 0.5])), method.prune(m.ones(4), importance_scores=m.arange(4.0)))

prune.L1Unstructured(amount=2).prune(m.ones(4), importance_scores=m.arange(3.0))

prune.l1_unstructured(linear(), "weight", 1, importance_scores=m.ones(2))

one = prune.l1_unstructured(linear(), "weight", 0.3, importance_scores=m.arange(9.0).view(3, 3))
result = facts(one)
"""


@pytest.mark.parametrize("source", PROGRAMS.strip().split("\n\n"))
def test_program(torch, source):
    assert result_of(minigrad, source) == result_of(torch, source)
