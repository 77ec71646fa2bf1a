"""Whole training scripts, as courses write them: with the same seed both libraries print the same lines.

`scripts/` holds plain PyTorch scripts; for minigrad only the imports change.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import minigrad
from tests.parity.runner import difference
from tests.parity.test_seeds import run, with_minigrad

pytestmark = pytest.mark.torch
SCRIPTS = sorted((Path(__file__).parent / "scripts").glob("*.py"))


@pytest.fixture(autouse=True)
def default_dtypes(torch):
    """A script that ends early leaves no default dtype behind."""
    yield
    for lib in (minigrad, torch):
        lib.set_default_dtype(lib.float32)
        lib.set_printoptions(profile="default")


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_a_script_prints_the_same(torch, global_flags, path):
    source = path.read_text()
    mine, reference = run(with_minigrad(source)), run(source)
    assert reference[2] == "", "the script ends as it should"
    assert mine[2] == ""
    assert difference(reference[0], mine[0]) == ""
    assert mine[1] == reference[1]
    assert reference[0].count("\n") > 5
