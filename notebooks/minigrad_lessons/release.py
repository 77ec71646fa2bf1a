"""What a teacher hands out: a folder for students, and the same lessons as a course for nbgrader or for marimo.

Neither holds a solution: the package has none. A lesson's exercise is handed out with dots, and its check runs what the
student writes in their place.
"""

import ast
import copy
import importlib.util
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from nbformat.v4 import new_code_cell

import minigrad
from minigrad.recorder import replace_file
from minigrad_lessons.folder import LessonError, Report, fill, shipped
from minigrad_lessons.lint import tags

Notebook = Any
POINTS = {"puzzle": 1, "faded": 1, "open": 2}  # by the first of these tags that a cell has
REQUIREMENTS = "# What the lessons need.\nminigrad-kit[lessons]=={version}\n"
CONFIG = '''"""nbgrader's configuration for the lessons of minigrad."""

import os
import sys

# nbgrader calls alembic by its name: it is beside this Python, also where that environment is not activated.
os.environ["PATH"] = os.pathsep.join([os.path.dirname(sys.executable), os.environ.get("PATH", "")])
os.environ["MINIGRAD_LIVE"] = "1"  # a graded cell shows an error as an error, as where a person runs it
c = get_config()  # noqa: F821 (nbgrader gives it)
c.CourseDirectory.course_id = "minigrad"
# The exercises are handed out with dots in them, and the source holds no solution that would have to be taken out.
c.ClearSolutions.enabled = False
'''


def student_set(folder: Path) -> Report:
    """Fill a folder with the lessons as students get them, and with the requirements to install.

    A folder that was filled before is brought up to date; what was changed in it stays.
    """
    report = fill(folder, shipped())
    replace_file(folder / "requirements.txt", REQUIREMENTS.format(version=minigrad.__version__))
    return report


def nbgrader_course(folder: Path) -> list[str]:
    """Write `nbgrader_config.py` and `source/LESSON/LESSON.ipynb` for every lesson; the names of the assignments."""
    _check_new(folder)
    names = []
    for path in shipped().values():
        target = folder / "source" / path.stem / path.name
        target.parent.mkdir(parents=True)
        nbformat.write(nbgrader_version(nbformat.read(path, as_version=4)), target)
        names.append(path.stem)
    replace_file(folder / "nbgrader_config.py", CONFIG)
    return names


def _check_new(folder: Path) -> None:
    if folder.exists() and any(folder.iterdir()):
        raise LessonError(f"{folder} is not empty, and nothing was written. Name a new folder with --to.")


def marimo_set(folder: Path) -> list[str]:
    """Write every lesson as a program for marimo, converted by marimo itself, and requirements.txt; the programs'
    names. Raises LessonError if marimo is not installed, if it refuses a lesson, or if the folder is not empty."""
    _check_new(folder)
    if importlib.util.find_spec("marimo") is None:
        raise LessonError(f"marimo is not installed: {shlex.join([sys.executable, '-m', 'pip', 'install', 'marimo'])}")
    programs = {}
    with tempfile.TemporaryDirectory() as made:
        for path in shipped().values():
            source, target = Path(made, path.name), Path(made, f"{path.stem}.py")
            nbformat.write(with_pictures(nbformat.read(path, as_version=4)), source)
            command = [sys.executable, "-m", "marimo", "convert", str(source), "-o", str(target)]
            done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
            if done.returncode:
                raise LessonError(f"marimo did not convert {path.name}, and nothing was written: {done.stderr.strip()}")
            programs[target.name] = target.read_bytes()
    folder.mkdir(parents=True, exist_ok=True)
    for name, program in programs.items():
        (folder / name).write_bytes(program)
    replace_file(folder / "requirements.txt", REQUIREMENTS.format(version=minigrad.__version__) + "marimo\n")
    return list(programs)


def with_pictures(notebook: Notebook) -> Notebook:
    """A notebook in which the pictures that are attached to its texts stand in the texts: marimo leaves out the
    attachments."""
    made = copy.deepcopy(notebook)
    for cell in made.cells:
        for name, kinds in cell.pop("attachments", {}).items():
            [(kind, data)] = kinds.items()
            cell.source = cell.source.replace(f"(attachment:{name})", f"(data:{kind};base64,{data})")
    return made


def nbgrader_command() -> str | None:
    """What to write to run nbgrader; None if it is not installed.

    It is looked for beside the Python that runs this first, so that its environment need not be activated: then it is
    not found by its name, and is called by its path.
    """
    beside = os.pathsep.join([str(Path(sys.executable).parent), sysconfig.get_path("scripts")])
    here, by_name = shutil.which("nbgrader", path=beside), shutil.which("nbgrader")
    if here is None or by_name == here:
        return None if by_name is None else "nbgrader"
    return shlex.quote(here)


def nbgrader_version(notebook: Notebook) -> Notebook:
    """A lesson in which each exercise is an answer cell of nbgrader, with a locked cell below it that grades it."""
    made = copy.deepcopy(notebook)
    made.cells = []
    for cell in copy.deepcopy(notebook.cells):
        made.cells.append(cell)
        if "check" in tags(cell):
            cell.metadata["nbgrader"] = _marks(cell.id, solution=True)
            for name, call in _checks(cell.source):
                made.cells.append(_test_cell(cell, name, call))
    return made


def _checks(source: str) -> list[tuple[str, str]]:
    """The checks that a cell calls, as pairs of a name and the text of the call."""
    calls = [line.value for line in ast.parse(source).body if isinstance(line, ast.Expr)]
    return [(call.func.attr, ast.unparse(call)) for call in calls if isinstance(call, ast.Call)
            and isinstance(call.func, ast.Attribute) and ast.unparse(call.func.value) == "check"]


def _test_cell(exercise: Any, name: str, call: str) -> Any:
    source = ("# Graded: the check runs once more on what stands above.\n"
              f"from minigrad_lessons import check\nfrom minigrad_lessons.grade import graded\n\n"
              f'graded("{name}", lambda: {call})')
    id = f"{exercise.id}-{name.replace('_', '-')}-graded"
    points = next(points for tag, points in POINTS.items() if tag in tags(exercise))
    return new_code_cell(source, id=id, metadata={"nbgrader": _marks(id, grade=True, points=points)})


def _marks(id: str, *, solution: bool = False, grade: bool = False, points: int = 0) -> dict[str, Any]:
    marks = {"schema_version": 3, "grade_id": id, "grade": grade, "solution": solution, "locked": grade, "task": False}
    return {**marks, "points": points} if grade else marks
