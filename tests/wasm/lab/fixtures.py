"""What all tests of lessons in a browser use."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.wasm.lab.lite import keep_all_cells
from website.lab import build_lab, why_no_lab


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The lab, as the site has it."""
    assert why_no_lab() == ""
    target = tmp_path_factory.mktemp("site") / "lab"
    build_lab(target)
    keep_all_cells(target)
    return target
