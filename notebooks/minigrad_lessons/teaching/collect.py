"""`minigrad lessons collect HANDED-IN`: takes the progress files out of what students handed in, and nothing else.

Each student has handed in a folder, a .zip, or the progress file itself, under the student's name.
"""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO

from minigrad.recorder import replace_file
from minigrad_lessons.folder import LessonError
from minigrad_lessons.notes import FILE
from minigrad_lessons.teaching.students import MOST_BYTES

ARCHIVE = ".zip"
UNREADABLE = (OSError, RuntimeError, EOFError, zlib.error, zipfile.BadZipFile)  # RuntimeError: one with a password
TOO_LARGE = "the progress file is too large"
Found = tuple[str, bytes | None, str]  # where a progress file is, what it holds, or else why that is not known


def collect(handed_in: Path, target: Path, roster: Sequence[str] = ()) -> tuple[list[str], list[str]]:
    """Copy each student's progress file to `target`, in a folder for each; return their names, and a line for each
    student who has none and for each file that is nobody's.

    Args:
        handed_in: has for each student, by the student's name, a folder, a .zip, or the progress file.
        target: the folder, which is made; a file that was collected before is replaced.
        roster: names of students who must be there, whether they handed something in or not.

    Raises:
        LessonError: if there is no such folder, no progress file in it, or the target cannot be written or has files
            of others.
    """
    if handed_in.is_file():
        raise LessonError(f"{handed_in} is a file. Unpack it, and name the folder with what each student handed in.")
    if not handed_in.is_dir():
        raise LessonError(f"There is no folder {handed_in}.")
    works, lines = _by_student(handed_in, target)
    held: dict[str, bytes] = {}
    for name, work in works.items():
        content, trouble = _newest(work)
        if content is None:
            lines.append(f"{name}: {trouble}")
        else:
            held[name] = content
    if not held:
        raise LessonError(f"There is no progress file in {handed_in}, which must have a folder or a {ARCHIVE} for each "
                          "student.\n" + "\n".join(lines))
    _refuse_others(target, held)
    for name, content in held.items():
        place = target / name / FILE.name
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            replace_file(place, content)
        except OSError as error:
            raise LessonError(f"Cannot write to {target} ({error.strerror or error}). Name another folder with --to.") \
                from error
    return list(held), lines + [f"{name}: handed nothing in" for name in roster if name not in works]


def _by_student(handed_in: Path, target: Path) -> tuple[dict[str, list[Path]], list[str]]:
    """What each student handed in, and a line for each file that is nobody's."""
    works: dict[str, list[Path]] = {}
    lines = []
    for each in sorted(handed_in.iterdir()):
        if each.name[0] == "." or each.resolve() in target.resolve().parents:
            continue
        if each.name == FILE.name:
            lines.append(f"{each.name}: left out, it does not say whose it is. Name it after the student")
        elif each.is_dir() or each.suffix.lower() in (ARCHIVE, FILE.suffix):
            works.setdefault(each.name if each.is_dir() else each.stem, []).append(each)
        else:
            lines.append(f"{each.name}: left out. If it is packed, unpack it into a folder with the student's name")
    return works, lines


def _newest(work: Sequence[Path]) -> tuple[bytes | None, str]:
    """The progress file of a student, or why there is none. Progress is only ever added to, so of several files the
    longest is the newest, if it begins with the others.
    """
    found = [each for part in work for each in _files(part)]
    contents = [content for _, content, _ in found if content is not None]
    if not contents:
        kind = "folder" if work[0].is_dir() else ARCHIVE
        return None, next((why for _, _, why in found), f"there is no progress file in this {kind}")
    newest = max(contents, key=len)
    if all(newest.startswith(content) for content in contents):
        return newest, ""
    places = " and ".join(where for where, content, _ in found if content is not None)
    return None, (f"there are different progress files, {places}. If they are one student's, leave the right one; "
                  "if they are several students', give each a folder of their own")


def _files(work: Path) -> Iterator[Found]:
    """Each progress file of a folder and of the .zips in it, of a .zip, or the file itself."""
    if work.is_dir():
        for each in sorted(work.rglob("*")):
            if each.is_file() and (each.name == FILE.name or _packed(each.name)):
                yield from _files(each)
    elif _packed(work.name):
        yield from _unpacked(work.name, work)
    else:
        where = str(work.relative_to(work.parents[1]))
        try:
            yield where, *((work.read_bytes(), "") if work.stat().st_size <= MOST_BYTES else (None, TOO_LARGE))
        except OSError as error:
            yield where, None, f"the progress file cannot be read ({error.strerror or error})"


def _packed(name: str) -> bool:
    return name.lower().endswith(ARCHIVE) and name[0] != "."


def _unpacked(name: str, opened: Path | IO[bytes], inner: bool = False) -> Iterator[Found]:
    """Each progress file of a .zip, and of the .zips in it, but not of those in these."""
    try:
        with zipfile.ZipFile(opened) as archive:
            for each in archive.infolist():
                where, last = f"{name}/{each.filename}", each.filename.rpartition("/")[2]
                if last == FILE.name:
                    yield where, *((archive.read(each), "") if each.file_size <= MOST_BYTES else (None, TOO_LARGE))
                elif last and _packed(last) and not inner:
                    with archive.open(each) as file:
                        yield from _unpacked(where, file, inner=True)
    except UNREADABLE as error:
        yield name, None, f"this {ARCHIVE} cannot be read ({error})"


def _refuse_others(target: Path, held: Mapping[str, bytes]) -> None:
    """Raise a LessonError if the target has progress files that were not handed in now: a report would count them."""
    replaced = {target / name / FILE.name for name in held}
    others = sorted({file.relative_to(target).parts[0] for file in target.rglob(f"*{FILE.suffix}")
                     if file not in replaced})
    if others:
        raise LessonError(f"{target} has progress files of an earlier run, of {', '.join(others)}, which would be "
                          "counted too. Delete them, or name another folder with --to.")
