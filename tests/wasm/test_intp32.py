"""Every op gives the same where NumPy's `intp` has 32 bits: indices are int64 there too."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.parity.tables import all_cases, all_plain
from tests.wasm import intp32
from tests.wasm.tables import close, outcomes

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def both():
    """The outcomes here, and those of the stand-in."""
    done = subprocess.run([sys.executable, "-m", "tests.wasm.intp32"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return outcomes(), json.loads(done.stdout)


def test_every_line_of_the_tables(both):
    here, there = both
    assert here.keys() == there.keys() and len(here) == len(all_cases()) + len(all_plain())
    assert {name: (here[name], there[name]) for name in here if not close(here[name], there[name])} == {}


def test_the_stand_in_gives_what_such_a_platform_gives():
    x = np.array([3, 1, 2])
    assert intp32.call(np.argsort, x).dtype == intp32.call(x.argmax).dtype == np.int32
    assert intp32.call(np.sum, x > 1).dtype == intp32.call(np.add.reduce, x > 1).dtype == np.int32
    assert intp32.call(np.sum, x).dtype == intp32.call(np.cumsum, x > 1, dtype=np.int64).dtype == np.int64
    assert intp32.call(np.arange, 3).dtype == intp32.call(np.array, [1, 2]).dtype == np.int32
    assert intp32.call(np.array, [2**40]).dtype == np.int64
    with pytest.raises(TypeError, match="Cannot cast array data"):
        intp32.call(x.take, x)


def test_the_comparison_sees_a_dtype_and_a_value():
    assert close(["int64", [1.0, float("nan")]], ["int64", [1.00001, float("nan")]])
    assert not close(["int64", [1]], ["int32", [1]]) and not close([1.0], [1.1]) and not close([1], [1, 2])
