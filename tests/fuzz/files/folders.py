"""A student's folder: damaged progress files and manifests, and commands that run in it at once."""

from __future__ import annotations

import json
import tempfile
from contextlib import suppress
from pathlib import Path
from random import Random

from minigrad_lessons import notes
from minigrad_lessons.folder import LessonError, fill, reset
from tests.reliability.together import together

NAMES = ("01_first.ipynb", "02_second.ipynb", "03_third.ipynb")


def shipped(home: Path, version: int) -> dict[str, Path]:
    """Three lessons, as a version of the package ships them."""
    found = {name: home / f"shipped {version}" / name for name in NAMES}
    for name, path in found.items():
        path.parent.mkdir(exist_ok=True)
        if not path.exists():
            path.write_text(f"{name} of version {version}\n")
    return found


def progress() -> list[bytes]:
    """A file of notes."""
    lines = [{"kind": "recall", "id": "a", "how": "right"}, {"kind": "hint", "id": "b", "how": "2"},
             {"kind": "why", "id": "c", "how": "holds", "said": "because"}]
    return [b"".join(b"\n" + json.dumps(line).encode() for line in lines)]


def use_progress(data: bytes) -> None:
    """Read notes, and add one to them, which is read then."""
    with tempfile.TemporaryDirectory() as name:
        before, notes.FILE = notes.FILE, Path(name, ".minigrad", "progress.jsonl")
        notes.FILE.parent.mkdir()
        notes.FILE.write_bytes(data)
        try:
            notes.kept()
            notes._noted.clear()
            notes.note("check", "mine", "passed")
            notes._noted.clear()
            assert notes.kept()["check", "mine"] == "passed", "the new note is lost"
        finally:
            notes.FILE = before


def manifests() -> list[bytes]:
    """What stands in the manifest of a folder that was filled."""
    with tempfile.TemporaryDirectory() as name:
        fill(Path(name, "mine"), shipped(Path(name), 0))
        return [Path(name, "mine", ".minigrad", "manifest.json").read_bytes()]


def use_manifest(data: bytes) -> None:
    """Fill a folder whose manifest is damaged, and in which a student wrote."""
    with tempfile.TemporaryDirectory() as name:
        home, folder = Path(name), Path(name, "mine")
        fill(folder, shipped(home, 0))
        (folder / NAMES[0]).write_text("what the student wrote")
        (folder / ".minigrad" / "manifest.json").write_bytes(data)
        fill(folder, shipped(home, 1))
        assert (folder / NAMES[0]).read_text() == "what the student wrote", "it is written over"
        reset(folder, shipped(home, 1), 1)
        kept = [path.read_text() for path in folder.glob("backups/*")]
        assert kept == ["what the student wrote"], "it is not kept"


def plan(random: Random, data: bytes) -> bytes:
    """Rounds of what a student writes, and of the commands that then run at once."""
    rounds = [{"write": [random.randrange(3) for _ in range(random.randrange(3))],
               "manifest": random.choice([None, None, "gone", "damaged"]),
               "commands": [random.choice(["fill 0", "fill 1", "fill 1", "reset 1", "reset 2", "reset 3"])
                            for _ in range(random.choice([1, 2, 3, 5]))]} for _ in range(random.choice([1, 2, 4]))]
    return json.dumps(rounds).encode()


def use_plan(data: bytes) -> None:
    """Carry out a plan; all that the student wrote is still somewhere, and no lesson is half a lesson."""
    with tempfile.TemporaryDirectory() as name:
        home, folder = Path(name), Path(name, "my lessons")
        shipped(home, 1)  # written now: two commands at once would read what the other has half written
        fill(folder, shipped(home, 0))
        written: list[str] = []  # what must be somewhere
        ever: set[str] = set()
        for at, each in enumerate(json.loads(data)):
            for number in each["write"]:
                written.append(f"round {at}: {number} by the student, {len(written)}")
                ever.add(written[-1])
                here = (folder / NAMES[number]).read_text()
                (folder / NAMES[number]).write_text(written[-1])
                if here in written:
                    written.remove(here)  # the student wrote over it
            manifest = folder / ".minigrad" / "manifest.json"
            if each["manifest"] == "gone":
                manifest.unlink(missing_ok=True)
            elif each["manifest"]:
                manifest.write_text('{"given": [')
            together(*[lambda command=command: run(command, home, folder) for command in each["commands"]])
            look(home, folder, written, ever)


def run(command: str, home: Path, folder: Path) -> None:
    """One command, as `minigrad lab` runs it, which may refuse with an error that explains itself."""
    what, number = command.split()
    with suppress(LessonError):
        if what == "fill":
            fill(folder, shipped(home, int(number)))
        else:
            reset(folder, shipped(home, 1), int(number))


def look(home: Path, folder: Path, written: list[str], ever: set[str]) -> None:
    """Nothing is lost, half written or left behind."""
    given = [path.read_text() for version in (0, 1) for path in shipped(home, version).values()]
    found = [path.read_text() for path in (*folder.glob("*.ipynb"), *folder.glob("backups/*.ipynb"))]
    assert set(found) <= {*given, *ever}, "there is half a lesson"
    assert set(written) <= set(found), f"lost: {set(written) - set(found)}"
    assert not list(folder.rglob("*.tmp")), "an unfinished file is left behind"
