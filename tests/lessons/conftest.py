"""One server for all runs of lessons."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.lessons.play import Notebook, need
from tests.lessons.player import play, player

Run = Callable[[Notebook], dict[str, str]]


@pytest.fixture(scope="session")
def server() -> Iterator[subprocess.Popen[str]]:
    with player() as started:
        yield started



@pytest.fixture
def run(server: subprocess.Popen[str], tmp_path: Path, request: pytest.FixtureRequest) -> Run:
    """Runs a notebook: what each code cell prints, by its id. Errors must be meant."""
    if hasattr(request.node, "callspec"):
        need(str(request.node.callspec.params.get("name", "")))

    def runs(notebook: Notebook) -> dict[str, str]:
        code = [cell for cell in notebook.cells if cell.cell_type == "code"]
        ran = play(server, [(cell.id, cell.source) for cell in code], tmp_path)
        for cell, each in zip(code, ran, strict=True):
            tags = cell.metadata.get("tags", [])
            assert bool(each.error) is ("raises-exception" in tags), f"{cell.id}: {each.text}"
        return {each.id: each.text for each in ran}

    return runs
