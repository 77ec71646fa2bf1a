"""nbgrader grades the lessons: its own commands, in an environment of its own, on a right and a wrong submission."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import nbformat
import pytest

from minigrad_lessons.cli import main
from minigrad_lessons.release import POINTS
from tests.lessons.answers import KEYS
from tests.lessons.play import Notebook, write

LESSON = "03_next_functions"
KEY = KEYS[LESSON]

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def nbgrader(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """nbgrader in a new environment that also sees the packages of this one, so that little is to be installed."""
    folder = tmp_path_factory.mktemp("nbgrader")
    venv.create(folder, symlinks=os.name == "posix")
    python = folder / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    where = "import sysconfig; print(sysconfig.get_path('purelib'))"
    packages = Path(subprocess.run([python, "-c", where], capture_output=True, text=True, check=True).stdout.strip())
    (packages / "seen.pth").write_text(f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n")
    install = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "nbgrader>=0.9.6,<0.10"]
    done = subprocess.run(install, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return python.with_name("nbgrader")


@pytest.fixture(scope="module")
def course(nbgrader: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A course with one assignment, made by `minigrad lessons release` and nbgrader's own `generate_assignment`."""
    folder = tmp_path_factory.mktemp("class") / "course"
    assert main(["lessons", "release", "--to", str(folder), "--nbgrader"]) == 0
    call(nbgrader, folder, "generate_assignment", LESSON)
    return folder


def call(nbgrader: Path, course: Path, *arguments: str) -> None:
    environment = {**os.environ, "PATH": os.pathsep.join([str(nbgrader.parent), os.environ["PATH"]])}
    done = subprocess.run([nbgrader, *arguments], cwd=course, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def handed_out(course: Path) -> Notebook:
    return nbformat.read(course / "release" / LESSON / f"{LESSON}.ipynb", as_version=4)


def hand_in(course: Path, student: str, cells: dict[str, str]) -> None:
    target = course / "submitted" / student / LESSON / f"{LESSON}.ipynb"
    target.parent.mkdir(parents=True)
    nbformat.write(write(handed_out(course), {}, {}, cells), target)


def test_what_students_get_has_the_dots_and_no_answer(course: Path) -> None:
    sources = {cell.id: cell.source for cell in handed_out(course).cells}
    assert all("..." in sources[id] and sources[id] != answer for id, answer in KEY.exercises.items())
    assert not any("BEGIN SOLUTION" in source or "YOUR CODE HERE" in source for source in sources.values())


def test_nbgrader_gives_full_marks_to_the_right_and_none_to_the_wrong(nbgrader: Path, course: Path) -> None:
    wrong = {id: answers[0][0] for id, answers in KEY.exercises_wrong.items()}
    wrong["open1"] = wrong["open1"].replace("check.", "print('check.integers: passed.')\ncheck.")  # paints the word
    hand_in(course, "right", KEY.exercises)
    hand_in(course, "wrong", wrong)
    call(nbgrader, course, "autograde", LESSON)
    call(nbgrader, course, "export")
    with (course / "grades.csv").open(encoding="utf-8", newline="") as file:
        scores = {row["student_id"]: (float(row["score"]), float(row["max_score"])) for row in csv.DictReader(file)}
    whole = float(POINTS["faded"] + 2 * POINTS["open"])
    assert scores == {"right": (whole, whole), "wrong": (0.0, whole)}
    graded = nbformat.read(course / "autograded" / "wrong" / LESSON / f"{LESSON}.ipynb", as_version=4)
    (verdict,) = (cell for cell in graded.cells if cell.id == "faded-walk-graded")
    assert KEY.exercises_wrong["faded"][0][1] in verdict.outputs[0].evalue
