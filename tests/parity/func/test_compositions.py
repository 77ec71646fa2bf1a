"""Random compositions of transforms against PyTorch's, and those that were wrong once.

`python -m tests.fuzz transforms --programs 10000` tries more.
"""

from __future__ import annotations

import pytest

import minigrad
from tests.fuzz.transforms import Composition, compared, drawn

pytestmark = pytest.mark.torch

MENDED = {  # by what was wrong
    "a nested batch in memory order": Composition(("gelu",), ("vmap of a factor", "jacrev")),
    "a rolled gradient of a nested batch": Composition(("in place",), ("vmap", "vmap of pieces", "vjp")),
    "a stack of batches of several levels": Composition(
        ("product", "sorted"), ("vmap of columns", "jvp and value", "jvp with what is outside", "jacfwd")),
    "a tangent that gets more examples": Composition(
        ("written view", "cube"), ("grad", "jacfwd", "vmap of the same", "jvp and value")),
    "one in a part": Composition(("in pieces",), ("jacfwd of the same", "vmap of pieces", "grad")),
    "a module that is converted": Composition(("module",), ("vmap of the same",)),
    "no_grad in two levels of forward mode": Composition(("no grad",), ("jvp", "jvp", "vjp")),
    "no_grad in columns of columns": Composition(("no grad",), ("jacfwd", "jvp", "jacrev")),
    "a tangent in the order of columns": Composition(
        ("written view",), ("jvp and value", "vmap of columns", "jacfwd")),
    "a gradient that is replaced in part": Composition(("detached", "written view"), ("jacrev", "vmap")),
    "a gradient that goes to other places": Composition(("sorted",), ("jacrev", "vmap")),
    "nested axes": Composition(("cube",), ("vmap", "jacrev", "vmap of a factor", "jvp")),
    "nested products": Composition(("matrix",), ("jacfwd", "vmap of a factor", "jacrev", "vmap")),
}


@pytest.mark.parametrize("name", MENDED)
def test_mended(torch, name):
    assert compared(MENDED[name], torch, minigrad).kind == "equal"


@pytest.mark.parametrize("first", range(0, 60, 10))
def test_random(torch, first):
    found = {seed: compared(drawn(seed), torch, minigrad) for seed in range(first, first + 10)}
    assert {seed: outcome for seed, outcome in found.items()
            if outcome.kind not in ("equal", "refused", "PyTorch is alone")} == {}
    assert sum(outcome.kind == "equal" for outcome in found.values()) >= 5
