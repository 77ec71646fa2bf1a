"""The linter: the committed lessons keep its rules, and each rule finds an example that is against it."""

import copy
import re
from base64 import b64encode
from collections.abc import Callable
from typing import Any

import pytest
from matplotlib.figure import Figure
from nbformat.v4 import new_code_cell, new_markdown_cell, new_output

from minigrad_lessons.build import course
from minigrad_lessons.lint import lint
from minigrad_widgets.pictures.canvas import Chart
from minigrad_widgets.pictures.sketch import to_png
from tests.lessons.answers import KEYS
from tests.lessons.play import ROOT, Notebook, executed, lesson

FIRST = "01_tensors_and_leaves"
COURSE = course(ROOT)  # of the checkout: the lessons may be installed elsewhere, without their sources


def only_words() -> str:
    """A picture with a sentence above and a note below, as of an inspector that draws nothing yet."""
    figure = Figure(figsize=(4, 4))
    figure.text(0.05, 0.92, "step 0: grad mode is off")
    figure.text(0.05, 0.03, "This is a saved picture.")
    return b64encode(to_png(Chart(figure).image())).decode()


EMPTY = only_words()


@pytest.mark.parametrize("name", sorted(KEYS))
def test_the_committed_lessons_keep_the_rules(name: str) -> None:
    assert lint(lesson(name), executed(name), int(name[:2]), COURSE) == []


def place(notebook: Notebook, id: str) -> int:
    return next(i for i, cell in enumerate(notebook.cells) if cell.id == id)


def cell(notebook: Notebook, id: str) -> Any:
    return notebook.cells[place(notebook, id)]


def move(notebook: Notebook, id: str, to: int) -> None:
    notebook.cells.insert(to, notebook.cells.pop(place(notebook, id)))


def prints(notebook: Notebook, text: str) -> None:
    cell(notebook, "two-tensors").outputs.append(new_output("stream", name="stdout", text=text))


def shows(notebook: Notebook, kind: str, value: str) -> None:
    cell(notebook, "two-tensors").outputs.append(new_output("display_data", {kind: value}))


def replace(notebook: Notebook, id: str, old: str, new: str) -> None:
    assert old in cell(notebook, id).source
    cell(notebook, id).source = cell(notebook, id).source.replace(old, new)


def tag(notebook: Notebook, id: str, added: str) -> None:
    cell(notebook, id).metadata.setdefault("tags", []).append(added)


def opens_with(notebook: Notebook, text: str) -> None:
    cell(notebook, "setup").outputs[-1].data["text/plain"] = text


def drop_predictions(notebook: Notebook) -> None:
    for id in ("p1", "p2", "p3"):
        del notebook.cells[place(notebook, id)]


AGAINST: dict[str, tuple[Callable[[Notebook], object], str]] = {
    "faded before worked": (lambda n: move(n, "faded", place(n, "worked")), "faded comes before worked"),
    "summary before PyTorch": (lambda n: move(n, "summary-intro", 3), "section:summary comes before"),
    "no inspector": (lambda n: n.cells.pop(place(n, "inspector-intro")), "no cell with the tag section:inspector"),
    "a picture late": (lambda n: move(n, "setup", 5), "no cell with the tag opening among the first 5"),
    "a quiz first": (lambda n: move(n, "recall", 1), "recall: a cell of code before the first inspector"),
    "no picture": (lambda n: cell(n, "setup").outputs.clear(), "setup: the opening cell shows no inspector"),
    "an empty picture": (lambda n: cell(n, "setup").outputs[-1].data.update({"image/png": EMPTY}),
                         "setup: the first step of its inspector draws nothing"),
    "a picture at its end": (lambda n: opens_with(n, "Inspector, step 20 of 20, cell 1:10"),
                             "setup: its inspector starts at the last step"),
    "a ledger at its end": (lambda n: opens_with(n, "ParameterLedger, 1 tensors, 5 of 5 moments"),
                            "setup: its inspector starts at the last step"),
    "no still": (lambda n: move(n, "still", 9), "the cell below it must be the one with its still picture"),
    "another lesson": (lambda n: replace(n, "worked", "reason", "because"), "the executed copy is of another lesson"),
    "too few predictions": (drop_predictions, "3 predictions; at least 4"),
    "a cell between": (lambda n: n.cells.insert(place(n, "r2"), new_markdown_cell("Well?", id="between")),
                       "p2: the next cell must be the one that reveals 1.2"),
    "another reveal": (lambda n: replace(n, "r1", '"1.1"', '"1.2"'), "must be the one that reveals 1.1"),
    "predicted already": (lambda n: replace(n, "p1", '"1.1"', '"1.1", True'), "p1: a predict cell holds one predict("),
    "not in the bank": (lambda n: (replace(n, "p1", "1.1", "1.9"), replace(n, "r1", "1.1", "1.9")),
                        "1.9 is no prediction of lesson 1"),
    "belief unrefuted": (lambda n: n.cells.pop(place(n, "belief-wanted-run")), "a belief must be followed by a run"),
    "recall of itself": (lambda n: replace(n, "recall", '"q0.1"', '"q1.1"'), "q1.1 is about lesson 1; lesson 1"),
    "recall answered": (lambda n: replace(n, "recall", '"q0.2"', '"q0.2", 9'), "q0.2 is answered"),
    "recall unknown": (lambda n: replace(n, "recall", '"q0.1"', '"q0.7"'), "there is no question q0.7"),
    "four recalls": (lambda n: replace(n, "recall", 'recall("q0.5")', ""), "4 recall questions; a lesson asks 5"),
    "a long cell": (lambda n: replace(n, "worked", "def", "\n" * 15 + "def"), "worked: 25 lines"),
    "a long line": (lambda n: replace(n, "worked", "def", "#" * 111 + "\ndef"), "worked: a line of 111 characters"),
    "many cells": (lambda n: n.cells.extend(new_code_cell("1", id=f"more-{i}") for i in range(9)), "at most 48"),
    "many words": (lambda n: n.cells.append(new_markdown_cell("word " * 1500, id="words")), "at most 1500"),
    "an end that leads nowhere": (lambda n: n.cells.pop(), "it does not lead on as it should"),
    "a long text": (lambda n: replace(n, "rule", "You may", "word " * 60 + "You may"), "words; a cell of prose has at"),
    "a long float": (lambda n: prints(n, "0.1234"), "0.1234 is printed with more than 3 digits"),
    "an address": (lambda n: prints(n, "<Node at 0x7f00450bbb20>"), "0x7f00450bbb20, which differs by machine"),
    "a path": (lambda n: prints(n, "/tmp/x.py"), "which differs by machine"),
    "a warning": (lambda n: cell(n, "p1").outputs.append(new_output("stream", name="stderr", text="UserWarning: x")),
                  "p1: it prints a warning: UserWarning: x"),
    "a widget view": (lambda n: shows(n, "application/vnd.jupyter.widget-view+json", "{}"), "+json; kept are"),
    "a vector picture": (lambda n: shows(n, "image/svg+xml", "<svg/>"), "image/svg+xml; kept are"),
    "a big picture": (lambda n: shows(n, "image/png", b64encode(bytes(60_001)).decode()), "a picture of 60001 bytes"),
    "widget state": (lambda n: n.metadata.update(widgets={}), "widget state is stored"),
    "an error unmeant": (lambda n: cell(n, "error").metadata.tags.clear(), "error: it raises"),
    "an error missing": (lambda n: cell(n, "error").outputs.clear(), "error: it does not raise"),
    "an exercise solved": (lambda n: replace(n, "open1", "...", "w.t()"), "open1: it must be handed out with dots"),
    "an exercise unchecked": (lambda n: replace(n, "open1", "check.non_leaf(build)", "build(w)"), "an exercise ends"),
    "a private name": (lambda n: replace(n, "worked", "t.grad_fn is", "t._grad_fn is"), "._grad_fn is no public name"),
    "a question unknown": (lambda n: tag(n, "card", "answers:row99"), "answers:row99 names nothing"),
    "a claim unknown": (lambda n: tag(n, "card", "contradicts:row1"), "contradicts:row1 names nothing"),
    "an answer in words": (lambda n: tag(n, "rule", "answers:row1"), "answers:row1 stands on a cell that prints no"),
    "an answer unprinted": (lambda n: (tag(n, "two-tensors", "answers:row1"), cell(n, "two-tensors").outputs.clear()),
                            "answers:row1 stands on a cell that prints no"),
    "a button unknown": (lambda n: replace(n, "title", "**next →**", "**onward**"),
                         "title: nothing in a picture is called onward"),
    "a bare arrow": (lambda n: replace(n, "title", "**next →**", "→"), "title: no button is called →"),
    "an id twice": (lambda n: cell(n, "r1").update(id="p1"), "p1: this id stands twice"),
    "an id by chance": (lambda n: cell(n, "worked").update(id="e2ae9f81"), "e2ae9f81: an id is made of words"),
}


@pytest.mark.parametrize("example", sorted(AGAINST))
def test_the_linter_finds(example: str) -> None:
    spoil, complaint = AGAINST[example]
    notebook = copy.deepcopy(executed(FIRST))
    spoil(notebook)
    found = lint(lesson(FIRST), notebook, 1, COURSE)
    assert any(complaint in line for line in found), found


def test_the_linter_finds_what_is_missing_in_a_workshop() -> None:
    notebook = copy.deepcopy(executed("00_build_it_yourself"))
    for each in notebook.cells:
        each.metadata["tags"] = [tag for tag in each.metadata.get("tags", []) if tag != "check"]
    cell(notebook, "setup").outputs.clear()
    found = lint(lesson("00_build_it_yourself"), notebook, 0, COURSE)
    assert "there is no exercise" in found and "setup: the opening cell shows no inspector" in found, found


PUZZLES: dict[str, tuple[Callable[[Notebook], object], str]] = {
    "two lines": (lambda n: replace(n, "twin", "return ...", "return ...\n    ..."), "twin: a puzzle is def line("),
    "a line": (lambda n: replace(n, "twin", "return ...", "return w.detach()  # ..."), "twin: a puzzle is def line("),
    "twenty": (lambda n: n.cells.pop(place(n, "twin")), "20 puzzles; there must be 21"),
    "no heading": (lambda n: replace(n, "twin-intro", "### 11. A twin", "A twin"), "the heading of puzzle 11"),
}


@pytest.mark.parametrize("example", sorted(PUZZLES))
def test_the_linter_finds_in_the_puzzles(example: str) -> None:
    spoil, complaint = PUZZLES[example]
    notebook = copy.deepcopy(executed("21_puzzles"))
    spoil(notebook)
    found = lint(lesson("21_puzzles"), notebook, 21, COURSE)
    assert any(complaint in line for line in found), found


HANDED_OUT: dict[str, tuple[Callable[[Notebook], object], str]] = {
    "outputs": (lambda n: cell(n, "rule-run").outputs.append(new_output("stream", name="stdout", text="True")),
                "rule-run: it is handed out with outputs"),
    "a number": (lambda n: cell(n, "rule-run").update(execution_count=7), "rule-run: it is handed out with the number"),
    "another text": (lambda n: replace(n, "rule", "rule", "law"), "the executed copy is of another lesson"),
}


@pytest.mark.parametrize("example", sorted(HANDED_OUT))
def test_the_linter_finds_in_what_is_handed_out(example: str) -> None:
    spoil, complaint = HANDED_OUT[example]
    notebook = copy.deepcopy(lesson(FIRST))
    spoil(notebook)
    assert any(complaint in line for line in lint(notebook, executed(FIRST), 1, COURSE))


@pytest.mark.parametrize(("id", "complaint"), [
    ("q1.1", "no recall question is about lesson 2"), ("q0.1", "q0.1 is about lesson 0; lesson 3 recalls [1, 2]"),
])
def test_recall_is_spaced(id: str, complaint: str) -> None:
    notebook = copy.deepcopy(executed("03_next_functions"))
    asked = cell(notebook, "recall")
    asked.source = re.sub(r"recall\(\"q2\.\d\"", f'recall("{id}"', asked.source)
    found = lint(lesson("03_next_functions"), notebook, 3, COURSE)
    assert any(complaint in line for line in found), found


@pytest.mark.parametrize(("text", "wrong"), [
    ("tensor([1., 2.])", False), ("2.13.0", False), ("0.125", False), ("0.00123", False), ("403.43", True),
    ("1234.", False), ("-0.12345", True), ("100.0", False), ("1.0005", True),
])
def test_three_digits_are_counted_as_people_count_them(text: str, wrong: bool) -> None:
    notebook = copy.deepcopy(executed(FIRST))
    prints(notebook, text)
    assert bool(lint(lesson(FIRST), notebook, 1, COURSE)) is wrong
