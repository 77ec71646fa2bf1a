"""Everything that writes files, on full disks, on disks that can only be read, killed, and three at once.

A part of what `python -m tests.reliability` tries.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

pytest.importorskip("nbformat", reason="the lessons need Jupyter")
pytest.importorskip("safetensors", reason="save and load need the extra io")
if not hasattr(os, "fork"):
    pytest.skip("this system has no fork", allow_module_level=True)

from tests.reliability.together import fills
from tests.reliability.writers import WRITERS, Writer
from tests.reliability.writes import disturbed, killed

pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")


@pytest.mark.parametrize("name", WRITERS)
def test_a_write_that_fails_leaves_what_was_there(name: str) -> None:
    assert set(disturbed(WRITERS[name])) == {None}


@pytest.mark.parametrize("name", WRITERS)
def test_a_killed_writer_leaves_what_was_there(name: str) -> None:
    assert set(killed(WRITERS[name], 5, 1)) == {None}


def test_three_commands_fill_one_folder_at_once() -> None:
    assert set(fills(3)) == {None}


def test_a_careless_writer_is_found() -> None:
    def write(folder: Path, version: int) -> None:
        with (folder / "file").open("w") as file:
            for _ in range(100):
                file.write("ab"[version] * 1000)
                file.flush()

    def damage(folder: Path) -> str | None:
        return None if (folder / "file").read_text() in ("a" * 100_000, "b" * 100_000) else "half a file"

    careless = Writer(lambda folder: write(folder, 0), write, damage)
    assert "half a file" in set(disturbed(careless))
    assert "half a file" in set(killed(careless, 30, 1))
