"""`minigrad lessons report DIR`: a page for each lesson that a class has begun, made of the students' progress files.

The pages hold counts and no names. They are files of their own, with the pictures in them, and ask no host.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from minigrad._base.optional import optional
from minigrad.recorder import replace_file
from minigrad_lessons import check, notes
from minigrad_lessons.folder import LessonError
from minigrad_lessons.teaching import plots
from minigrad_lessons.teaching.course import lessons
from minigrad_lessons.teaching.students import Student, read_class
from minigrad_lessons.teaching.tally import Tally, tally


@dataclass(frozen=True)
class Written:
    """Where the first page is, how many students and lessons are in the pages, and what could not be read."""

    index: Path
    students: int
    lessons: int
    errors: tuple[str, ...]


def write(folder: Path, target: Path, names: bool = False) -> Written:
    """Write the pages into `target`. `names` adds a table with a row for each student.

    Raises:
        LessonError: if no progress file can be used, or the pages cannot be written; the text has every reason.
    """
    students, errors = read_class(folder)
    if not students:
        raise LessonError("No progress file could be used.\n" + "\n".join(errors))
    tallies = [counted for lesson in lessons().values() if (counted := tally(lesson, students)).students]
    try:
        target.mkdir(parents=True, exist_ok=True)
        for counted in tallies:
            _put(target / f"{counted.lesson.name}.html", _page(counted))
        _put(target / "index.html", _index(tallies, students, names))
    except OSError as error:
        raise LessonError(f"Cannot write to {target} ({error.strerror or error}). Name another folder with --to.") \
            from error
    return Written(target / "index.html", len(students), len(tallies), tuple(errors))


def _put(page: Path, text: str) -> None:
    replace_file(page, text.encode())


def _render(template: str, **values: object) -> str:
    """A page; what comes from students' files is escaped."""
    jinja = optional("jinja2", "lessons")
    environment = jinja.Environment(loader=jinja.FileSystemLoader(Path(__file__).with_name("templates")),
                                    autoescape=True, trim_blocks=True, lstrip_blocks=True,
                                    undefined=jinja.StrictUndefined)
    return str(environment.get_template(template).render(**values))


def _page(counted: Tally) -> str:
    return _render("lesson.html.j2", tally=counted, lesson=counted.lesson, pictures={
        "predictions": plots.predictions(counted), "exercises": plots.exercises(counted),
        "minutes": plots.minutes(counted)})


def _index(tallies: Sequence[Tally], students: Sequence[Student], names: bool) -> str:
    rows = [(student.name, [_solved(student, counted.lesson.number) for counted in tallies]) for student in students]
    return _render("index.html.j2", tallies=tallies, students=len(students), rows=rows if names else [])


def _solved(student: Student, number: int) -> str:
    """How many exercises of a lesson a student has solved: "2 of 3"."""
    how = notes.standing(list(student.notes))
    of = [name for name in check.__all__ if check.lesson_of(name) == number]
    return f"{sum(how.get(('check', name)) == 'passed' for name in of)} of {len(of)}"
