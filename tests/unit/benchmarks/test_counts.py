"""The hot path calls no more functions, and holds no more memory, than it did, on a busy machine too."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from benchmarks import counts
from benchmarks.counts import BUILDS, COUNTS, calls, held, versions

AGAIN = "if it must be so: python -m benchmarks.counts --write"


@pytest.fixture(scope="module")
def found():
    """The counts of a fresh process: here, other tests may have left something on."""
    program = "import json\nfrom benchmarks.counts import counted\nprint(json.dumps(counted()))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True,
                          cwd=COUNTS.parents[2])
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def written():
    return json.loads(COUNTS.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", BUILDS)
def test_no_more_calls(found, written, name):
    assert found[name]["calls"] <= written["counts"][name]["calls"], AGAIN


@pytest.mark.parametrize("name", BUILDS)
def test_no_more_blocks(found, written, name):
    if written["versions"] != versions():
        pytest.skip(f"the blocks were counted with {written['versions']}")
    assert found[name]["blocks"] <= written["counts"][name]["blocks"], AGAIN


def test_they_can_grow():
    """The counts see a function more, and an array that is kept."""
    build, ops = counts.chain(30)

    def more():
        made = build()
        return made, [object() for _ in range(2 * ops)]

    build().backward()
    assert calls(lambda: build().backward()) > calls(build) > 0
    assert held(more) >= held(build) + 2 * ops
