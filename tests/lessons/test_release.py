"""What a teacher hands out: no answer is in it, and the cells that grade tell right answers from wrong ones."""

import copy
import importlib.util
import os
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from unittest.mock import MagicMock

import nbformat
import pytest

from minigrad_lessons.cli import main
from minigrad_lessons.folder import shipped
from minigrad_lessons.release import CONFIG, nbgrader_command, nbgrader_version, with_pictures
from tests.lessons.answers import KEYS
from tests.lessons.play import Notebook, lesson, write

Run = Callable[[Notebook], dict[str, str]]


def grades(cell: Notebook) -> bool:
    return bool(cell.metadata.get("nbgrader", {}).get("grade"))


@pytest.mark.parametrize("name", sorted(KEYS))
def test_what_grades_an_exercise_tells_right_from_wrong(name: str, run: Run) -> None:
    """Each exercise stands twice, with its grades: solved, and then wrong, where each grade must raise."""
    key = KEYS[name]
    wrong = {id: answers[0] for id, answers in key.exercises_wrong.items()}
    made = nbgrader_version(write(lesson(name), {}, {}, key.exercises))
    cells, expected = [], {}
    for cell in made.cells:
        if "torch" in cell.metadata.get("tags", []):
            continue  # it compares with PyTorch, and grades nothing
        cells.append(cell)
        if grades(cell) and (following := copy.deepcopy(cell)):
            exercise = cells[-2].id
            following.id += "-wrong"
            following.metadata["tags"] = ["raises-exception"]
            source = re.sub(r"^check\..*", "", wrong[exercise][0], flags=re.MULTILINE)  # it is called by the next cell
            cells += [nbformat.v4.new_code_cell(source, id=f"{exercise}-wrong"), following]
            expected[cell.id], expected[following.id] = "passed.", wrong[exercise][1]
    made.cells = cells
    printed = run(made)
    assert len(expected) == 2 * len(key.exercises)
    for id, words in expected.items():
        assert words in printed[id], printed[id]


def test_marks_are_whole_and_the_cells_that_grade_are_locked() -> None:
    for path in shipped().values():
        made = nbgrader_version(nbformat.read(path, as_version=4))
        nbformat.validate(made)
        marks = [cell.metadata["nbgrader"] for cell in made.cells if "nbgrader" in cell.metadata]
        assert len({mark["grade_id"] for mark in marks}) == len(marks)
        assert all(mark["locked"] and mark["points"] > 0 for mark in marks if mark["grade"])
        assert all("widget" not in cell.source and "inspect" not in cell.source for cell in made.cells if grades(cell))


def test_the_set_for_students_is_the_lessons_and_what_to_install(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "class"
    assert main(["lessons", "release", "--to", str(folder)]) == 0
    assert f"{len(shipped())} added" in capsys.readouterr().out
    assert {path.name for path in folder.iterdir()} == {*shipped(), ".minigrad", "requirements.txt"}
    assert "minigrad-kit[lessons]==" in (folder / "requirements.txt").read_text()
    text = "\n".join(path.read_text(encoding="utf-8") for path in folder.glob("*.ipynb"))
    answers = [answer for key in KEYS.values() for answer in key.exercises.values()]
    assert answers and not [answer for answer in answers if repr(answer)[1:-1] in text or answer in text]


def test_a_course_for_nbgrader_is_written_into_a_new_folder_only(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["lessons", "release", "--to", str(tmp_path / "course"), "--nbgrader"]) == 0
    assert {path.stem for path in tmp_path.glob("course/source/*/*.ipynb")} == {name[:-6] for name in shipped()}
    assert main(["lessons", "release", "--to", str(tmp_path / "course"), "--nbgrader"]) == 1
    assert "is not empty, and nothing was written" in capsys.readouterr().err


@pytest.mark.parametrize("name", list(shipped()))
def test_the_pictures_of_a_lesson_for_marimo_stand_in_its_text(name: str) -> None:
    given = nbformat.read(shipped()[name], as_version=4)
    attached = [kinds for cell in given.cells for kinds in cell.get("attachments", {}).values()]
    pictures = [data for kinds in attached for data in kinds.values()]
    made = with_pictures(given)
    texts = "".join(cell.source for cell in made.cells if cell.cell_type == "markdown")
    assert pictures and all(f"(data:image/png;base64,{data.strip()})" in texts for data in pictures)
    assert "attachment:" not in texts and not any("attachments" in cell for cell in made.cells)


def test_lessons_for_marimo_are_programs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Where marimo is not installed, which is as a rule where this runs, it is said how to install it."""
    status = main(["lessons", "release", "--to", str(tmp_path / "set"), "--marimo"])
    if importlib.util.find_spec("marimo") is None:
        assert status == 1 and not (tmp_path / "set").exists()
        assert "-m pip install marimo" in capsys.readouterr().err
        return
    assert status == 0
    for name in shipped():
        program = (tmp_path / "set" / name).with_suffix(".py").read_text(encoding="utf-8")
        compile(program, name, "exec")
        assert "marimo.App" in program and "data:image/png;base64," in program
    assert "marimo" in (tmp_path / "set" / "requirements.txt").read_text()
    assert main(["lessons", "release", "--to", str(tmp_path / "set"), "--marimo"]) == 1


CONVERTS = "import pathlib, sys; pathlib.Path(sys.argv[4]).write_text(pathlib.Path(sys.argv[2]).read_text())"
REFUSES = "import sys; '05_' in sys.argv[2] and sys.exit('this is no notebook')"


@pytest.mark.parametrize(("program", "status"), [(CONVERTS, 0), (f"{REFUSES}\n{CONVERTS}", 1)])
def test_a_set_for_marimo_is_whole_or_not_there(
    program: str, status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In place of marimo a program that copies what it is given, or refuses the sixth lesson."""
    package = tmp_path / "packages" / "marimo"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "__main__.py").write_text(program)
    monkeypatch.syspath_prepend(package.parent)
    monkeypatch.setenv("PYTHONPATH", str(package.parent))
    folder = tmp_path / "set"
    assert main(["lessons", "release", "--to", str(folder), "--marimo"]) == status
    told = capsys.readouterr()
    if status:
        assert "05_accumulation.ipynb" in told.err and "this is no notebook" in told.err
        assert not folder.exists()
    else:
        assert {path.stem for path in folder.glob("*.py")} == {name[:-6] for name in shipped()}
        assert "-m marimo edit" in told.out and "attachment:" not in (folder / "05_accumulation.py").read_text()


def test_a_course_finds_what_is_beside_its_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """nbgrader runs alembic, and looks for it on the path."""
    program = tmp_path / ("alembic.exe" if os.name == "nt" else "alembic")
    program.touch(0o755)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(sys, "executable", str(program.with_name("python")))
    exec(CONFIG, {"get_config": MagicMock()})
    assert shutil.which("alembic") == str(program)


def test_nbgrader_is_found_beside_the_python_that_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                                       capsys: pytest.CaptureFixture[str]) -> None:
    """In an environment that is not activated, on the path, and nowhere."""
    program = tmp_path / "an environment" / ("nbgrader.exe" if os.name == "nt" else "nbgrader")
    program.parent.mkdir()
    program.touch(0o755)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(sys, "executable", str(program.with_name("python")))
    assert nbgrader_command() == f"'{program}'"
    assert main(["lessons", "release", "--to", str(tmp_path / "course"), "--nbgrader"]) == 0
    assert f"  '{program}' generate_assignment 00_build_it_yourself\n" in capsys.readouterr().out
    monkeypatch.setenv("PATH", str(program.parent))
    assert nbgrader_command() == "nbgrader"
    program.unlink()
    assert nbgrader_command() is None
    assert main(["lessons", "release", "--to", str(tmp_path / "other"), "--nbgrader"]) == 0
    assert "-m pip install nbgrader" in capsys.readouterr().out
