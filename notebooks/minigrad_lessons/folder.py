"""A student's folder of lessons: filled, brought up to date, put back; never over what the student wrote.

`.minigrad/manifest.json` in the folder holds the digest of each lesson as it was given. A lesson whose digest differs
is the student's: it is told of, and left alone. Nothing here knows of JupyterLab.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from minigrad.recorder import replace_file

HIDDEN = ".minigrad"


class LessonError(Exception):
    """Something that the user can put right; the text says what, and that nothing was lost."""


@dataclass
class Report:
    """What filling a folder did, by file name."""

    added: list[str] = field(default_factory=list)
    updated: list[str] = field(default_factory=list)
    edited: list[str] = field(default_factory=list)
    newer: list[str] = field(default_factory=list)


def shipped() -> dict[str, Path]:
    """The lessons that came with this version, by file name, in order: from the wheel or from a source tree."""
    package = Path(__file__).resolve().parent
    home = package / "notebooks" if (package / "notebooks").is_dir() else package.parent
    lessons = {path.name: path for path in sorted(home.glob("[0-9][0-9]_*.ipynb"))}
    if not lessons:
        raise LessonError("This installation holds no lessons; install minigrad-kit again.")
    return lessons


def fill(folder: Path, lessons: dict[str, Path]) -> Report:
    """Add the missing lessons to the folder and renew those that nobody changed.

    Every other lesson is the student's. `edited` names it, and `newer` too if this version has a newer one.
    """
    with _explained(folder):
        return _fill(folder, lessons)


def _fill(folder: Path, lessons: dict[str, Path]) -> Report:
    _open(folder)
    given, report = _read_manifest(folder), Report()
    for name, source in lessons.items():
        target, fresh = folder / name, _digest(source)
        if not target.exists():
            _copy(source, target)
            report.added.append(name)
        elif (here := _digest(target)) == fresh:
            pass
        elif here == given.get(name):
            _copy(source, target)
            report.updated.append(name)
        else:
            report.edited.append(name)
            if name in given and given[name] != fresh:
                report.newer.append(name)
            continue
        given[name] = fresh
    _write_manifest(folder, given)
    return report


def reset(folder: Path, lessons: dict[str, Path], number: int) -> tuple[str, Path | None]:
    """Put one lesson back as it was given. What stood there is kept in `backups/`: its path, or None if unchanged."""
    name = find(lessons, number)
    with _explained(folder):
        return name, _put_back(folder, lessons, name)


def _put_back(folder: Path, lessons: dict[str, Path], name: str) -> Path | None:
    if not any(place.exists() for place in (_manifest(folder), *(folder / lesson for lesson in lessons))):
        raise LessonError(
            f"There are no lessons in {folder}; nothing was changed. "
            "Go to where your folder is, or name it with --to."
        )
    _open(folder)
    # Read before anything is written, so that what cannot be read stops this in time.
    given, target, backup = _read_manifest(folder), folder / name, None
    if target.exists() and _digest(target) != _digest(lessons[name]):
        backup = _keep(target, folder / "backups")
    if backup or not target.exists():
        _copy(lessons[name], target)
    _write_manifest(folder, {**given, name: _digest(lessons[name])})
    return backup


def find(lessons: dict[str, Path], number: int) -> str:
    """The file name of a lesson, from its number."""
    for name in lessons:
        if int(name[:2]) == number:
            return name
    numbers = ", ".join(name[:2] for name in lessons)
    raise LessonError(f"There is no lesson {number:02d}. There are: {numbers}.")


@contextmanager
def _explained(folder: Path) -> Iterator[None]:
    """Say what the system refused. Nothing of the student's is written over before its backup stands."""
    try:
        yield
    except OSError as error:
        path, reason = error.filename or folder, error.strerror or error
        raise LessonError(f"Cannot use {path} ({reason}); nothing of yours was changed.") from error


def _open(folder: Path) -> None:
    """Make the folder if need be, and see that it can be written to."""
    if folder.exists() and not folder.is_dir():
        raise LessonError(f"{folder} is a file, not a folder; it was left as it is. Choose another folder with --to.")
    try:
        (folder / HIDDEN).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise LessonError(f"Cannot use the folder {folder} ({error.strerror}). Choose another with --to.") from error
    if not (os.access(folder, os.W_OK) and os.access(folder / HIDDEN, os.W_OK)):
        raise LessonError(f"Cannot write to the folder {folder}; nothing was changed. Choose another with --to.")


def _keep(target: Path, backups: Path) -> Path:
    """Copy a lesson to `backups/`, under the first number that is free, also where two commands do so at once."""
    backups.mkdir(exist_ok=True)
    content = target.read_bytes()
    for number in count(1):
        backup = backups / f"{target.stem}.{number}.ipynb"
        try:
            backup.touch(exist_ok=False)  # the number is ours from here on
        except FileExistsError:
            continue
        try:
            replace_file(backup, content)
        except OSError:
            backup.unlink()
            raise
        return backup
    raise AssertionError("there is always another number")


def _copy(source: Path, target: Path) -> None:
    _write(target, source.read_bytes())


def _write(target: Path, content: bytes) -> None:
    """Write whole or not at all: an interruption leaves the old file."""
    try:
        replace_file(target, content)
    except OSError as error:
        raise LessonError(f"Cannot write {target} ({error.strerror}); what was there is unchanged.") from error


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _manifest(folder: Path) -> Path:
    return folder / HIDDEN / "manifest.json"


def _read_manifest(folder: Path) -> dict[str, str]:
    """The digests of the lessons as they were given; a lost or damaged manifest makes every changed file 'edited'."""
    try:
        read = json.loads(_manifest(folder).read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError, RecursionError):  # the last of brackets in thousands of brackets
        return {}
    given = read.get("given") if isinstance(read, dict) else None
    return {str(name): str(digest) for name, digest in given.items()} if isinstance(given, dict) else {}


def _write_manifest(folder: Path, given: dict[str, str]) -> None:
    text = json.dumps({"about": "The lessons as they were given, by SHA-256.", "given": given}, indent=2)
    _write(_manifest(folder), text.encode())
