"""Every lesson, solved, with a GPU as the default device: the stand-in. No cell fails, every check passes."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.lessons.answers import KEYS
from tests.lessons.play import lesson, write
from tests.lessons.player import play, player

ON_THE_DEVICE = """import minigrad
from minigrad.backends import registry
from tests.device.standin import StandIn
registry.install(StandIn())
minigrad.set_default_device("cuda")
print(minigrad.ones(1).device)"""


@pytest.fixture(scope="module")
def server() -> Iterator[subprocess.Popen[str]]:
    """Runs the cells."""
    with player() as started:
        yield started


COMPILED = {"15_compiler"}  # what it compiles is a program of NumPy, and the lesson counts its statements
PROCESSES = {"14_many_processes"}  # its ranks are processes of their own, on the CPU


@pytest.mark.parametrize("name", sorted(KEYS.keys() - COMPILED - PROCESSES))
def test_a_lesson_runs_on_the_device(server, tmp_path: Path, name: str) -> None:
    solved(server, tmp_path, name, ON_THE_DEVICE)


def solved(server: subprocess.Popen[str], folder: Path, name: str, setup: str) -> None:
    """A lesson with its answers, after a first cell: every cell does what it should."""
    key = KEYS[name]
    notebook = write(lesson(name), key.recall | key.predict, key.why, key.exercises)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    first, *ran = play(server, [("device", setup), *[(cell.id, cell.source) for cell in code]], folder)
    assert first.text.strip() == "cuda:0"
    for cell, each in zip(code, ran, strict=True):
        assert bool(each.error) is ("raises-exception" in cell.metadata.get("tags", [])), f"{cell.id}: {each.text}"
    printed = {each.id: each.text for each in ran}
    assert [cell for cell in key.exercises if "passed." not in printed[cell]] == []
    assert [cell for cell, text in printed.items() if "not yet" in text] == []
