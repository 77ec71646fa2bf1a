"""Reads the progress files of a class: one file is one student. A file that cannot be used costs one line of error."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from minigrad_lessons.folder import HIDDEN, LessonError
from minigrad_lessons.notes import FILE, Note, read_line

MOST_BYTES = 20_000_000


@dataclass(frozen=True)
class Student:
    """The notes of one student, in the order in which they were made; the name is that of the folder or the file."""

    name: str
    notes: tuple[Note, ...]


def read_class(folder: Path) -> tuple[list[Student], list[str]]:
    """Every student below a folder, and one line for each file or part of a file that cannot be used, and for each
    student's folder without a file.

    A progress file is called `progress.jsonl`, as where `minigrad lab` keeps it, or has any name that ends in `.jsonl`.

    Raises:
        LessonError: if there is no such folder, or no such file in it.
    """
    if not folder.is_dir():
        raise LessonError(f"There is no folder {folder}.")
    files = sorted(folder.rglob("*.jsonl"))
    if not files:
        raise LessonError(f"There is no progress file in {folder}. Each student has one, {HIDDEN}/{FILE.name} beside "
                          "their lessons: collect them there, in a folder for each student.")
    students, errors = [], []
    for file in files:
        name = _name(file, folder)
        found, error = _notes(file)
        if error:
            errors.append(f"{file.relative_to(folder)}: {error}")
        if found:
            students.append(Student(name, tuple(found)))
    missing = [each for each in sorted(folder.iterdir()) if each.is_dir() and each.name[0] != "."
               and not any(each in (file, *file.parents) for file in files)]
    errors += [f"{each.name}: there is no progress file in this folder" for each in missing]
    return students, errors


def _name(file: Path, folder: Path) -> str:
    place = file.relative_to(folder)
    parts = [part for part in place.parent.parts if part != HIDDEN]
    if file.name != FILE.name:
        parts.append(file.stem)
    return "/".join(parts) or folder.name


def _notes(file: Path) -> tuple[list[Note], str]:
    """The notes of a file, and what is wrong with it; empty if nothing is."""
    try:
        if file.stat().st_size > MOST_BYTES:
            return [], f"left out, {file.stat().st_size} bytes: a progress file has far less than {MOST_BYTES}"
        text = file.read_bytes().decode()
    except OSError as error:
        return [], f"left out, it cannot be read ({error.strerror or error})"
    except UnicodeDecodeError:
        return [], "left out, it is not text in UTF-8"
    lines = [line for line in text.splitlines() if line.strip()]
    notes = [note for note in map(read_line, lines) if note is not None]
    if not lines:
        return [], "left out, it is empty"
    if not notes:
        return [], "left out, no line in it is a note of the lessons"
    lost = len(lines) - len(notes)
    return notes, f"{lost} of {len(lines)} lines cannot be read and were left out" if lost else ""
