"""The student's progress: what is noted, where it is kept, and what becomes of it when things go wrong."""

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import minigrad_lessons
from minigrad_lessons import check, hint, notes, predict, progress, recall, reveal

shown = importlib.import_module("minigrad_lessons.progress")  # the package's name `progress` is the function
given = importlib.import_module("minigrad_lessons.hint")
WRITER = """
import sys
from minigrad_lessons import notes
for i in range(300):
    notes.note("recall", f"{sys.argv[1]}.{i}", "right")
"""


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of lessons with nothing noted so far; the file of notes in it."""
    (tmp_path / ".minigrad").mkdir()
    file = tmp_path / ".minigrad" / "progress.jsonl"
    monkeypatch.setattr(notes, "FILE", file)
    monkeypatch.setattr(notes, "_noted", [])
    monkeypatch.setattr(notes, "_trouble", "")
    monkeypatch.setattr(given, "_given", {})
    return file


def work() -> None:
    """A student at work on lesson 1."""
    recall("q0.1", (2, 3))
    recall("q0.2", 0)
    predict("1.5", 3)
    reveal("1.5", 3, why="c")
    predict("1.1", False)
    reveal("1.1", True, why="a")
    hint("non_leaf")
    hint("non_leaf")
    check.non_leaf(lambda w: w * 1)
    check.non_leaf(lambda w: w.t())


def restarted(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel was restarted: only the file is left."""
    monkeypatch.setattr(notes, "_noted", [])


EXPECTED = """\
lesson  predicted  right   reasons  exercises  hints  recalled
0       -          -       -        0 of 7     0      1 of 2
1       2 of 6     1 of 2  1 of 6   1 of 3     2      -
Kept in .minigrad/progress.jsonl."""


def test_it_is_shown_as_text_and_outlives_the_kernel(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert repr(progress()) == "Nothing so far. Kept in .minigrad/progress.jsonl."
    work()
    assert repr(progress()) == EXPECTED
    restarted(monkeypatch)
    assert repr(progress()) == EXPECTED
    package = Path(minigrad_lessons.__file__).parent
    assert kept.exists() and not list(package.rglob("progress.jsonl"))


def test_the_first_prediction_counts_and_the_best_reason_and_exercise(
    kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for answer, why in ((4, "a"), (3, "c"), (4, "b")):
        predict("1.5", answer)
        reveal("1.5", 3, why=why)
    for build in (lambda w: w.t(), lambda w: w * 1):
        check.non_leaf(build)
    for _ in range(2):
        assert notes.kept() == {("predict", "1.5"): "differs", ("why", "1.5"): "holds", ("check", "non_leaf"): "passed"}
        restarted(monkeypatch)


def test_the_same_note_is_written_once(kept: Path) -> None:
    for _ in range(50):
        recall("q0.1", (2, 3))
    assert len(kept.read_text(encoding="utf-8").split("\n")) == 2


def test_two_notebooks_may_note_at_once(kept: Path) -> None:
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, name], cwd=kept.parent.parent) for name in "ab"]
    assert [writer.wait() for writer in writers] == [0, 0]
    assert notes.kept().keys() == {("recall", f"{name}.{i}") for name in "ab" for i in range(300)}


@pytest.mark.parametrize("damage", [
    b'\n{"kind": "recall", "id": "q0', b"\n\xff\xfe\x00", b"\n[1]\n{}\nnull", b'\n{"kind": ["recall"], "id": 1}',
    b'\n{"kind": "hint", "id": "walk", "how": "x"}', b'\n{"kind": "check", "id": "none such", "how": "passed"}',
    b"\n" + b"[" * 5000,
])
def test_what_cannot_be_read_is_passed_over(kept: Path, damage: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    recall("q0.2", 0)
    with kept.open("ab") as file:
        file.write(damage)
    work()
    restarted(monkeypatch)
    assert repr(progress()) == EXPECTED


def test_what_cannot_be_written_costs_the_file_only(kept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept.mkdir()  # a folder in the place of the file: like a disk that is full or read-only
    work()
    table, _, said = repr(progress()).rpartition("\n")
    assert table == EXPECTED.rpartition("\n")[0] and said.startswith("Not kept: progress.jsonl cannot be written (")
    kept.rmdir()
    recall("q0.3", (3,))
    assert repr(progress()).endswith("Kept in .minigrad/progress.jsonl.") and kept.exists()


def test_with_no_folder_of_lessons_nothing_is_written(kept: Path) -> None:
    kept.parent.rmdir()
    work()
    assert not kept.parent.exists()
    assert repr(progress()) == EXPECTED.replace("Kept in .minigrad/progress.jsonl.",
                                                "Kept until this kernel stops: there is no folder .minigrad here.")


def test_the_widget_keeps_up(kept: Path) -> None:
    bundle = progress()._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in bundle
    assert bundle["text/plain"].startswith("Nothing so far.") and "Nothing so far." in bundle["text/html"]
    recall("q0.1", (2, 3))
    assert "1 of 1" in shown._shown[-1].value and "width:100%" in shown._shown[-1].value


def test_without_widgets_the_table_is_there(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    work()
    bundle = progress()._repr_mimebundle_()
    assert bundle.keys() == {"text/plain", "text/html"} and "2 of 6" in bundle["text/html"]
