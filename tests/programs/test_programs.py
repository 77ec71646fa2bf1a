"""Programs that nobody here wrote the like of before: each prints the same under minigrad and PyTorch.

They were drawn from what tutorials, examples, courses and packages do, before it was known what minigrad makes of them.
`DIFFERS` lists those that do not agree, each with the reason; one that is mended has to leave the list. A name that is
missing says what to do instead.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

import minigrad
from tests.parity.runner import difference
from tests.parity.test_scripts import default_dtypes
from tests.parity.test_seeds import run, with_minigrad

__all__ = ["default_dtypes"]
pytestmark = pytest.mark.torch
FOLDER = Path(__file__).parent
PROGRAMS = {f"{path.parent.name}/{path.stem}": path for path in sorted(FOLDER.glob("*/*.py"))}
DIFFERS = {  # by name: a part of the difference, or of the error that ends it
    "tensors/broadcasting_distances": "has no attribute 'pdist'",
    "tensors/cumulative_ops": "has no attribute 'segment_reduce'",
    "tensors/pca_two_ways": "has no attribute 'pca_lowrank'",
    "tensors/statistics_summary": "has no attribute 'histogram'",
}


@pytest.fixture(autouse=True)
def flags(torch, default_dtypes):
    """What a program switches on or off is set back."""
    yield
    for lib in (minigrad, torch):
        lib.set_grad_enabled(True)
        lib.autograd.set_detect_anomaly(False)


def compared(path: Path) -> str:
    """How a program's output differs under minigrad; empty: not at all."""
    source = path.read_text(encoding="utf-8")
    (theirs, warned, ended), (mine, own_warned, own_ended) = run(source), run(with_minigrad(source))
    assert ended == "", "under PyTorch it ends as it should"
    assert theirs.count("\n") > 3, "it shows something"
    if own_ended:
        return own_ended
    return difference(theirs, mine) or ("" if warned == own_warned else f"warnings: {own_warned} for {warned}")


@pytest.mark.parametrize("name", [name for name in PROGRAMS if name not in DIFFERS])
def test_a_program_prints_the_same(torch, name):
    assert compared(PROGRAMS[name]) == ""


@pytest.mark.parametrize("name", DIFFERS)
def test_a_listed_program_differs_as_the_list_says(torch, name):
    found = compared(PROGRAMS[name])
    assert DIFFERS[name] in found
    assert "has no attribute" not in found or "Run this part with PyTorch itself" in found


def test_there_are_many_of_many_kinds():
    assert len(PROGRAMS) >= 120
    assert len(Counter(name.split("/")[0] for name in PROGRAMS)) >= 8
    assert len(DIFFERS) <= len(PROGRAMS) // 20


def test_each_says_what_it_stands_for():
    assert [name for name, path in PROGRAMS.items() if not path.read_text(encoding="utf-8").startswith('"""')] == []
