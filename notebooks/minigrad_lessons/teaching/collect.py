"""`minigrad lessons collect HANDED-IN`: takes the progress files out of what students handed in, and nothing else.

Each student has handed in a folder or a .zip.
"""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from pathlib import Path

from minigrad.recorder import replace_file
from minigrad_lessons.folder import LessonError
from minigrad_lessons.notes import FILE
from minigrad_lessons.teaching.students import MOST_BYTES

ARCHIVE = ".zip"


def collect(handed_in: Path, target: Path, roster: Sequence[str] = ()) -> tuple[list[str], list[str]]:
    """Copy each student's progress file to `target`, in a folder for each; return their names, and a line for each
    student who has none.

    Args:
        handed_in: has a folder or a .zip for each student, by the student's name.
        target: the folder, which is made; a file that was collected before is replaced.
        roster: names of students who must be there, whether they handed something in or not.

    Raises:
        LessonError: if there is no such folder, no progress file in it, or the target cannot be written.
    """
    if not handed_in.is_dir():
        raise LessonError(f"There is no folder {handed_in}.")
    names, missing = [], []
    works = {each.stem if each.suffix.lower() == ARCHIVE else each.name: each for each in sorted(handed_in.iterdir())
             if each.is_dir() and each.name[0] != "." or each.suffix.lower() == ARCHIVE}
    for name, work in works.items():
        content, trouble = _from_archive(work) if work.is_file() else _from_folder(work)
        if content is None:
            missing.append(f"{name}: {trouble}")
            continue
        place = target / name / FILE.name
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            replace_file(place, content)
        except OSError as error:
            raise LessonError(f"Cannot write to {target} ({error.strerror or error}). Name another folder with --to.") \
                from error
        names.append(name)
    if not names:
        raise LessonError(f"There is no progress file in {handed_in}, which must have a folder or a {ARCHIVE} for each "
                          "student.\n" + "\n".join(missing))
    return names, missing + [f"{name}: handed nothing in" for name in roster if name not in works]


def _from_folder(work: Path) -> tuple[bytes | None, str]:
    """The progress file of a folder, or why there is none."""
    found = sorted(work.rglob(FILE.name), key=lambda file: (len(file.parts), file))
    if not found:
        return None, "there is no progress file in this folder"
    try:
        return (found[0].read_bytes(), "") if found[0].stat().st_size <= MOST_BYTES else (None, "it is too large")
    except OSError as error:
        return None, f"the progress file cannot be read ({error.strerror or error})"


def _from_archive(work: Path) -> tuple[bytes | None, str]:
    """The progress file of a .zip, or why there is none."""
    try:
        with zipfile.ZipFile(work) as archive:
            found = [each for each in archive.infolist() if each.filename.rpartition("/")[2] == FILE.name]
            if not found:
                return None, f"there is no progress file in this {ARCHIVE}"
            first = min(found, key=lambda each: (each.filename.count("/"), each.filename))
            return (archive.read(first), "") if first.file_size <= MOST_BYTES else (None, "it is too large")
    except (OSError, RuntimeError, zipfile.BadZipFile) as error:  # RuntimeError: one with a password
        return None, f"this {ARCHIVE} cannot be read ({error})"
