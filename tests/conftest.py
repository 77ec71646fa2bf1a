"""What holds for every test: its mark, and a Jupyter that is not the user's own."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

MARKS = {"parity": "torch", "browser": "browser", "frontend": "node"}
PRIVATE = ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR", "MPLCONFIGDIR")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of a folder by what they need, so that `-m "not browser"` leaves them out."""
    here = Path(__file__).parent
    for item in items:
        folder = item.path.relative_to(here).parts[0] if item.path.is_relative_to(here) else ""
        if folder in MARKS:
            item.add_marker(MARKS[folder])


@pytest.fixture(autouse=True, scope="session")
def private_jupyter(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Kernels and servers that tests start read and write none of the user's settings."""
    home = tmp_path_factory.mktemp("jupyter")
    os.environ.update({name: str(home / name.lower()) for name in PRIVATE}, MPLBACKEND="Agg")
