"""Everything that writes files, to be disturbed: each writes one of two versions, and says what there is damaged."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import minigrad
from minigrad.recorder import Trace, record, replace_file
from minigrad_lessons import notes
from minigrad_lessons.folder import fill, reset
from minigrad_lessons.release import student_set
from minigrad_widgets import Inspector, checkup

LESSON, MINE = "01_first.ipynb", "what the student wrote\n"


class Writer(NamedTuple):
    """A writer: `prepare` a folder, `write` version 0 or 1 into it, and say what in it is damaged, or None."""

    prepare: Callable[[Path], Any]
    write: Callable[[Path, int], Any]
    damage: Callable[[Path], str | None]


def of_file(make: Callable[[int], Callable[[Path], Any]], whole: Callable[[Path], object] | None = None,
            name: str = "file") -> Writer:
    """A writer of one file: `make(version)` gives what writes a version; `whole`: reads one that is never the same."""
    made = cache(make)

    @cache
    def versions(folder: Path) -> set[bytes]:
        found = set()
        for version in (1, 0):
            made(version)(folder / name)
            found.add((folder / name).read_bytes())
        return found

    def damage(folder: Path) -> str | None:
        if whole is not None:
            whole(folder / name)
        elif (folder / name).read_bytes() not in versions(folder):
            return f"{name} is neither the old nor the new one"
        return None

    return Writer(versions, lambda folder, version: made(version)(folder / name), damage)


def trace(version: int) -> Trace:
    x = minigrad.ones(2 + version, requires_grad=True)
    with record() as recorded:
        for _ in range(20):
            (x * x).sum().backward()
    return recorded


def profile(version: int) -> Callable[[Path], None]:
    with minigrad.autograd.profiler.profile() as seen:
        minigrad.ones(2) * 2
    return seen.export_chrome_trace


def report(version: int) -> Callable[[Path], Any]:
    layer = minigrad.nn.Linear(2, 1 + version)
    return checkup(lambda: layer(minigrad.ones(2)).sum().backward(), model=layer).to_html


def state(version: int) -> Callable[[Path], None]:
    return lambda path: minigrad.save({"x": minigrad.full((5000,), version)}, path)


def sources(folder: Path, version: int) -> dict[str, Path]:
    """Two lessons as a version of the package ships them; they lie beside the folder of the student."""
    home = folder.with_name(f"{folder.name}-shipped{version}")
    home.mkdir(exist_ok=True)
    found = {name: home / name for name in (LESSON, "02_second.ipynb", "03_third.ipynb")}
    for name, path in found.items():
        if not path.exists():
            path.write_text(f"{name} of version {version}\n" * 300)
    return found


def lessons_damage(folder: Path) -> str | None:
    """Each lesson is one that was shipped; the student's text is in the folder or in a backup."""
    shipped = [path.read_bytes() for version in (0, 1) for path in sources(folder, version).values()]
    for path in folder.glob("*.ipynb"):
        if path.read_bytes() not in (*shipped, MINE.encode()):
            return f"{path.name} is half a lesson"
    texts = [path.read_bytes() for path in (folder / LESSON, *folder.glob("backups/*.ipynb"))]
    return None if MINE.encode() in texts else "what the student wrote is lost"


def lessons_of_a_student(folder: Path) -> None:
    fill(folder, sources(folder, 0))
    sources(folder, 1)
    (folder / LESSON).write_text(MINE)


def put_back(folder: Path, version: int) -> None:
    replace_file(folder / LESSON, MINE)
    reset(folder, sources(folder, version), 1)


def progress(folder: Path) -> None:
    (folder / ".minigrad").mkdir(exist_ok=True)
    notes.FILE = folder / ".minigrad" / "progress.jsonl"
    notes.FILE.touch()
    noted(folder, 0)


def noted(folder: Path, version: int) -> None:
    notes._noted.clear()
    notes.note("recall", "one", "right")
    notes.note("why", f"two {version}", "holds", "an answer in some words " * 20)


def notes_damage(folder: Path) -> str | None:
    notes._noted.clear()
    return None if notes.kept().get(("recall", "one")) == "right" else "the first note is lost"


WRITERS: dict[str, Writer] = {
    "Trace.save": of_file(lambda version: trace(version).save),
    "Inspector.to_html": of_file(lambda version: Inspector(trace(version)).to_html),
    "checkup(...).to_html": of_file(report),
    "save": of_file(state),
    "save, safetensors": of_file(state, minigrad.load, "file.safetensors"),
    "export_chrome_trace": of_file(profile, lambda path: json.loads(path.read_text())),
    "minigrad lab, filling a folder": Writer(
        lessons_of_a_student, lambda folder, version: fill(folder, sources(folder, version)), lessons_damage),
    "minigrad lab --reset": Writer(lessons_of_a_student, put_back, lessons_damage),
    "minigrad lessons release": of_file(lambda version: lambda path: student_set(path.parent), name="requirements.txt"),
    "progress": Writer(progress, noted, notes_damage),
}
