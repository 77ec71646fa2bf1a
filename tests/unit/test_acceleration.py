"""The comparison with numba and numexpr runs, where they are installed, and writes what the page reads."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("numba")
pytest.importorskip("numexpr")

from benchmarks import acceleration


@pytest.mark.slow
def test_a_quick_run(tmp_path):
    out = tmp_path / "acceleration.json"
    assert acceleration.main(["--quick", "--out", str(out)]) == 0
    written = json.loads(out.read_text(encoding="utf-8"))
    assert len(written["rows"]) == 6 and set(written["versions"]) == {"numba", "numexpr", "numpy"}
    for row in written["rows"]:
        assert row["ratios"]["numpy"] == 1 and row["times"]["numba"] > 0
