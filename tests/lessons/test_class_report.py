"""What a teacher gets of a class's progress files: counts that are right, no names, and a line for each bad file."""

from __future__ import annotations

import importlib
import json
import re
import shutil
import zipfile
from collections.abc import Callable
from html import unescape
from pathlib import Path

import pytest

from minigrad_lessons import check, hint, notes, predict, recall, reveal
from minigrad_lessons.cli import main
from minigrad_lessons.teaching.course import lessons
from minigrad_lessons.teaching.students import read_class
from minigrad_lessons.teaching.tally import PAUSE, seconds, tally

predicting = importlib.import_module("minigrad_lessons.predict")
given = importlib.import_module("minigrad_lessons.hint")
Capture = pytest.CaptureFixture[str]
STUDENTS = ("ada", "ben", "cleo")


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Lets time pass; the tests need no real time."""
    now = [1_800_000_000]
    monkeypatch.setattr(notes.time, "time", lambda: now[0])

    def passes(seconds: int) -> None:
        now[0] += seconds

    return passes


@pytest.fixture
def folder(tmp_path: Path, clock: Callable[[int], None], monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> Path:
    """Three students at work on lesson 1. Ada knows it, Ben and Cleo hold the same belief; Cleo takes a break."""
    for name in STUDENTS:
        file = tmp_path / "class" / name / ".minigrad" / "progress.jsonl"
        file.parent.mkdir(parents=True)
        monkeypatch.setattr(notes, "FILE", file)
        for state, empty in ((notes, "_noted"), (predicting, "_said"), (predicting, "_revealed"), (given, "_given")):
            monkeypatch.setattr(state, empty, type(getattr(state, empty))())
        recall("q0.1", (2, 3))
        clock(60)
        predict("1.1", name == "ada")
        reveal("1.1", True, why="c" if name == "ada" else "b")
        clock(PAUSE + 1 if name == "cleo" else 120)
        if name != "ada":
            check.non_leaf(lambda w: w * 1)
            hint("non_leaf")
            clock(30)
        if name != "cleo":
            check.non_leaf(lambda w: w.t())
    capsys.readouterr()
    return tmp_path / "class"


def test_what_is_counted(folder: Path) -> None:
    students, errors = read_class(folder)
    assert [student.name for student in students] == list(STUDENTS) and errors == []
    counted = tally(lessons()[1], students)
    first = counted.predictions[0]
    assert (counted.students, first.id, first.right, first.open) == (3, "1.1", 1, 0)
    assert first.wrong == (("False", 2, "a leaf is a tensor that I want gradients for"),)
    assert "Is c a leaf?" in first.asked
    assert first.reasons == (("multiplying by a plain number is not counted as an operation", 2),)
    (tried,) = (each for each in counted.exercises if each.tried)
    assert (tried.name, tried.tried, tried.solved, tried.at_once, tried.hinted) == ("non_leaf", 3, 2, 1, 2)
    ((found, count),) = tried.failed
    assert count == 2 and found.startswith("multiplying by 1 or adding 0 is arithmetic too")
    assert counted.worst[0][:2] == ("prediction 1.1", "a leaf is a tensor that I want gradients for")
    assert all(each.answered == 0 for each in counted.predictions[1:])


def test_breaks_are_left_out_of_the_time(folder: Path) -> None:
    students, _ = read_class(folder)
    assert [seconds(student, 1) for student in students] == [60 + 120, 60 + 120 + 30, 60]
    assert seconds(students[0], 2) is None


@pytest.mark.parametrize("jump", [-3600, -400 * 24 * 3600, 20 * 365 * 24 * 3600])
def test_a_clock_that_jumps(tmp_path: Path, clock: Callable[[int], None], monkeypatch: pytest.MonkeyPatch,
                            jump: int) -> None:
    """As on a laptop that wakes up: answers count in the order in which they were given, and no time is negative."""
    monkeypatch.setattr(notes, "FILE", tmp_path / "ada" / ".minigrad" / "progress.jsonl")
    notes.FILE.parent.mkdir(parents=True)
    monkeypatch.setattr(notes, "_noted", [])
    notes.note("predict", "1.5", "same", "3")
    clock(60)
    notes.note("predict", "1.1", "differs", "False")
    clock(jump)
    monkeypatch.setattr(notes, "_noted", [])  # the kernel was restarted
    notes.note("predict", "1.5", "differs", "2")
    clock(30)
    notes.note("why", "1.5", "holds", "c")
    assert notes.kept()["predict", "1.5"] == "same"  # the first answer
    (student,), _ = read_class(tmp_path)
    assert seconds(student, 1) == 60 + 30


def test_recall_counts_for_the_lesson_that_it_is_about(folder: Path) -> None:
    students, _ = read_class(folder)
    (answers,) = tally(lessons()[0], students).recalled
    assert (answers.id, answers.right, answers.answered) == ("q0.1", 3, 3)
    assert tally(lessons()[0], students).students == 0  # nobody has begun lesson 0


def test_the_pages_hold_counts_and_pictures_and_no_names(folder: Path, tmp_path: Path, capsys: Capture) -> None:
    assert main(["lessons", "report", str(folder), "--to", str(tmp_path / "pages")]) == 0
    said = capsys.readouterr()
    assert said.out == f"3 students, 1 lesson: open {tmp_path / 'pages' / 'index.html'}\n" and said.err == ""
    assert {page.name for page in (tmp_path / "pages").iterdir()} == {"index.html", "01_tensors_and_leaves.html"}
    texts = {page.stem: page.read_text(encoding="utf-8") for page in (tmp_path / "pages").iterdir()}
    page = unescape(re.sub(r"\s+", " ", texts["01_tensors_and_leaves"]))
    assert page.count("<figure>") == page.count("<svg") == 3
    assert "1 of 3 predicted what happened." in page and "a leaf is a tensor that I want gradients for" in page
    assert "2 of 3 solved it, half of them within" in page and "2 students asked for a hint" in page
    assert "took less than 3 minutes; the lesson states 40." in page
    everything = "".join(texts.values())
    assert not any(re.search(rf"\b{name}\b", everything, re.IGNORECASE) for name in STUDENTS)
    assert not re.search(r'(?:src|href)="(?:https?:)?//', everything)
    assert main(["lessons", "report", str(folder), "--to", str(tmp_path / "pages"), "--names"]) == 0
    index = (tmp_path / "pages" / "index.html").read_text(encoding="utf-8")
    assert all(f"<td>{name}</td>" in index for name in STUDENTS) and "1 of 3" in index


def test_a_student_without_a_file_is_listed(folder: Path, tmp_path: Path, capsys: Capture) -> None:
    for name in ("dora/.minigrad", ".cache"):
        (folder / name).mkdir(parents=True)
    assert main(["lessons", "report", str(folder), "--to", str(tmp_path / "pages")]) == 0
    said = capsys.readouterr()
    assert said.err == "minigrad: dora: there is no progress file in this folder\n"
    assert said.out.startswith("3 students")


BAD = {
    "empty.jsonl": (b"", "empty.jsonl: left out, it is empty"),
    "other.jsonl": (b'{"a": 1}\nhello\n', "other.jsonl: left out, no line in it is a note of the lessons"),
    "bytes.jsonl": (b"\xff\xfe\x00", "bytes.jsonl: left out, it is not text in UTF-8"),
    "deep.jsonl": (b"[" * 5000, "deep.jsonl: left out, no line in it is a note of the lessons"),
}


def test_each_bad_file_costs_one_line_and_stops_nothing(folder: Path, tmp_path: Path, capsys: Capture) -> None:
    for name, (content, _) in BAD.items():
        (folder / name).write_bytes(content)
    (folder / "a folder.jsonl").mkdir()
    with (folder / "ben" / ".minigrad" / "progress.jsonl").open("ab") as file:
        file.write(b'\n{"kind": "check", "id"')
    assert main(["lessons", "report", str(folder), "--to", str(tmp_path / "pages")]) == 0
    said = capsys.readouterr()
    assert said.out.startswith("3 students, 1 lesson: open ")
    lines = said.err.splitlines()
    assert len(lines) == len(BAD) + 2
    for _, words in BAD.values():
        assert f"minigrad: {words}" in lines
    assert any(line.startswith("minigrad: a folder.jsonl: left out, it cannot be read (") for line in lines)
    assert any(re.search(r"ben.*: 1 of 7 lines cannot be read and were left out$", line) for line in lines)


def test_what_a_file_says_is_text_and_no_markup(folder: Path, tmp_path: Path) -> None:
    line = {"kind": "predict", "id": "1.1", "how": "differs", "said": "<script>alert(1)</script>", "at": 5}
    strange = {"kind": "check", "id": "no such check", "how": "no", "said": "x"}
    (folder / "mallory.jsonl").write_text(f"{json.dumps(line)}\n{json.dumps(strange)}\n", encoding="utf-8")
    assert main(["lessons", "report", str(folder), "--to", str(tmp_path / "pages")]) == 0
    page = (tmp_path / "pages" / "01_tensors_and_leaves.html").read_text(encoding="utf-8")
    assert "<script" not in page and "&lt;script&gt;alert(1)" in page


@pytest.mark.parametrize(("place", "words"), [
    ("nowhere", "There is no folder"), ("empty", "no progress file in"),
    ("bad", "No progress file could be used.\nx.jsonl: left out, it is empty"),
])
def test_nothing_to_report_on_is_said(tmp_path: Path, place: str, words: str, capsys: Capture) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "x.jsonl").touch()
    assert main(["lessons", "report", str(tmp_path / place), "--to", str(tmp_path / "pages")]) == 1
    assert words in capsys.readouterr().err and not (tmp_path / "pages").exists()


def test_a_folder_that_cannot_be_written_to_is_said(folder: Path, tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "pages").write_text("mine\n")
    assert main(["lessons", "report", str(folder), "--to", str(tmp_path / "pages")]) == 1
    assert "Name another folder with --to." in capsys.readouterr().err
    assert (tmp_path / "pages").read_text() == "mine\n"


def test_what_was_handed_in_is_collected_and_reported(folder: Path, tmp_path: Path, capsys: Capture) -> None:
    shutil.make_archive(str(folder / "dora"), "zip", folder / "ada")
    (folder / "emil").mkdir()
    (folder / "fred.zip").write_bytes(b"no archive")
    (tmp_path / "roster.txt").write_text("ada\nemil\ngina\n")
    target = tmp_path / "class-of-2026"
    assert main(["lessons", "collect", str(folder), "--to", str(target), "--roster", str(tmp_path / "roster.txt")]) == 0
    heard = capsys.readouterr()
    assert {each.name for each in (target / "progress").iterdir()} == {*STUDENTS, "dora"}
    for name in STUDENTS:
        collected = target / "progress" / name / "progress.jsonl"
        assert collected.read_bytes() == (folder / name / ".minigrad" / "progress.jsonl").read_bytes()
    ada, dora = (target / "progress" / name / "progress.jsonl" for name in ("ada", "dora"))
    assert dora.read_bytes() == ada.read_bytes()
    assert heard.err.splitlines() == [
        "minigrad: emil: there is no progress file in this folder",
        "minigrad: fred: this .zip cannot be read (File is not a zip file)", "minigrad: gina: handed nothing in"]
    assert f"4 students, 1 lesson: open {target / 'report' / 'index.html'}" in heard.out
    assert (target / "report" / "index.html").is_file()


def test_collecting_where_nothing_is_says_so(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "ada").mkdir()
    assert main(["lessons", "collect", str(tmp_path), "--to", str(tmp_path / "class")]) == 1
    assert "must have a folder or a .zip for each student" in capsys.readouterr().err
    assert not (tmp_path / "class").exists()
    assert main(["lessons", "collect", str(tmp_path / "nowhere")]) == 1
    assert "There is no folder" in capsys.readouterr().err


def _collected(handed_in: Path, target: Path, capsys: Capture) -> tuple[dict[str, str], str]:
    """What was collected of each student, and what was said about the others."""
    main(["lessons", "collect", str(handed_in), "--to", str(target)])
    files = target / "progress"
    return {each.name: (each / "progress.jsonl").read_text() for each in files.iterdir()} if files.exists() else {}, \
        capsys.readouterr().err


def _note(minute: int) -> str:
    return json.dumps({"kind": "recall", "id": "q0.1", "how": "right", "said": "", "at": minute}) + "\n"


def _zip(file: Path, **files: str | bytes) -> None:
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in files.items():
            archive.writestr(name.replace("__", "/") + (".jsonl" if isinstance(content, str) else ".zip"), content)


def test_a_folder_and_a_zip_of_one_name_are_one_student(tmp_path: Path, capsys: Capture) -> None:
    class_ = tmp_path / "handed-in"
    for name in ("ada", "ben"):
        (class_ / name).mkdir(parents=True)
        (class_ / name / "progress.jsonl").write_text(_note(1) + _note(2))
    _zip(class_ / "ada.zip", progress=_note(1))
    _zip(class_ / "ben.zip", progress=_note(3))
    held, said = _collected(class_, tmp_path / "class", capsys)
    assert held == {"ada": _note(1) + _note(2)}
    assert "ben: there are different progress files, ben/progress.jsonl and ben.zip/progress.jsonl. If" in said


def test_a_zip_in_a_students_folder_is_opened(tmp_path: Path, capsys: Capture) -> None:
    class_ = tmp_path / "handed-in"
    (class_ / "ada" / "submission").mkdir(parents=True)
    _zip(class_ / "ada" / "submission" / "mine.zip", **{"minigrad-lessons__.minigrad__progress": _note(1)})
    _zip(tmp_path / "inner.zip", progress=_note(2))
    _zip(class_ / "ben.zip", lessons=(tmp_path / "inner.zip").read_bytes())
    assert _collected(class_, tmp_path / "class", capsys) == ({"ada": _note(1), "ben": _note(2)}, "")


def test_a_file_is_known_by_its_name(tmp_path: Path, capsys: Capture) -> None:
    class_ = tmp_path / "handed-in"
    class_.mkdir()
    for name in ("ada.jsonl", "progress.jsonl", "ben.tar.gz"):
        (class_ / name).write_text(_note(1))
    held, said = _collected(class_, tmp_path / "class", capsys)
    assert held == {"ada": _note(1)}
    assert said.splitlines() == [
        "minigrad: ben.tar.gz: left out. If it is packed, unpack it into a folder with the student's name",
        "minigrad: progress.jsonl: left out, it does not say whose it is. Name it after the student"]


def test_one_zip_of_all_is_nobodys(tmp_path: Path, capsys: Capture) -> None:
    class_ = tmp_path / "handed-in"
    class_.mkdir()
    _zip(class_ / "all.zip", ada__progress=_note(1), ben__progress=_note(2))
    held, said = _collected(class_, tmp_path / "class", capsys)
    assert held == {} and "all: there are different progress files, all.zip/ada/progress.jsonl and all.zip/ben" in said
    assert "give each a folder of their own" in said
    held, said = _collected(class_ / "all.zip", tmp_path / "class", capsys)
    assert held == {} and "all.zip is a file. Unpack it, and name the folder" in said


def test_who_is_left_of_an_earlier_run_is_not_counted_again(tmp_path: Path, capsys: Capture) -> None:
    first, second, target = tmp_path / "first", tmp_path / "second", tmp_path / "class"
    for class_, names in ((first, ("ada", "ben")), (second, ("ada",))):
        class_.mkdir()
        for name in names:
            (class_ / f"{name}.jsonl").write_text(_note(1) if class_ == first else _note(1) + _note(2))
    assert _collected(first, target, capsys)[1] == ""
    held, said = _collected(second, target, capsys)
    assert held == {"ada": _note(1), "ben": _note(1)}, "nothing may be written"
    assert f"{target / 'progress'} has progress files of an earlier run, of ben, which would be counted too." in said
    shutil.rmtree(target / "progress" / "ben")
    assert _collected(second, target, capsys) == ({"ada": _note(1) + _note(2)}, "")
