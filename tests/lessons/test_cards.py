"""Predictions and recalls as a student clicks them: refused, noted, judged and stored, and the same in words."""

from __future__ import annotations

import builtins
import importlib
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from minigrad_lessons import notes, predict, recall, reveal
from minigrad_lessons.bank import PREDICTIONS, QUESTIONS
from minigrad_lessons.bank.beliefs import answers_to
from minigrad_lessons.forms import form_of, read
from minigrad_lessons.values import show
from tests.lessons.answers import KEYS
from tests.lessons.play import need

predicting = importlib.import_module("minigrad_lessons.predict")
cards = importlib.import_module("minigrad_lessons.cards")
Capture = pytest.CaptureFixture[str]


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[list[Any]]:
    """The widgets that a notebook would display, for a student who has not begun; the notes go into a new folder."""
    displayed: list[Any] = []
    (tmp_path / ".minigrad").mkdir()
    monkeypatch.setattr(notes, "FILE", tmp_path / ".minigrad" / "progress.jsonl")
    monkeypatch.setattr(notes, "_noted", [])
    for kept in ("_said", "_waiting"):
        monkeypatch.setattr(predicting, kept, {})
    monkeypatch.setattr(predicting, "_revealed", set())
    monkeypatch.setattr(builtins, "get_ipython", lambda: None, raising=False)
    monkeypatch.setattr("IPython.display.display", displayed.append)
    yield displayed


def click(widget: Any, answer: str) -> dict[str, Any]:
    """What stands on a card after an answer, which is sent as the browser sends it."""
    widget.said = {"answer": answer, "number": widget.said.get("number", 0) + 1}
    return dict(widget.face)


def tones(face: dict[str, Any]) -> list[str]:
    return [tone for tone, _ in face["lines"]]


def stored() -> list[dict[str, str]]:
    """The notes in the file, each without its time, which it must have."""
    lines = notes.FILE.read_text().split("\n") if notes.FILE.exists() else []
    found = [json.loads(line) for line in lines if line]
    assert all(note.pop("at") > 0 for note in found)
    return found


def test_a_prediction_is_clicked_revealed_and_given_a_reason(shown: list[Any]) -> None:
    predict("1.1")
    face = shown[0].face
    assert [value for value, _ in face["choices"]] == ["True", "False", "?"] and face["field"] == ""
    face = click(shown[0], "False")
    assert face["chosen"] == "False" and face["done"] and not face["locked"] and stored() == []
    reveal("1.1", True)
    face = shown[1].face
    assert tones(face) == ["bad", "", "ask"] and "a leaf is a tensor that I want" in face["lines"][1][1]
    assert [value for value, _ in face["choices"]] == ["a", "b", "c"]
    face = click(shown[1], "a")
    assert tones(face)[3:] == ["bad", "code", "quiet"] and not face["done"] and face["chosen"] == "a"
    face = click(shown[1], "c")
    assert tones(face)[3] == "good" and face["done"]
    assert stored() == [{"kind": "predict", "id": "1.1", "how": "differs", "said": "False"},
                        {"kind": "why", "id": "1.1", "how": "fails", "said": "a"},
                        {"kind": "why", "id": "1.1", "how": "holds", "said": "c"}]


def test_a_field_refuses_what_does_not_fit_and_takes_what_does(shown: list[Any]) -> None:
    predict("3.3")
    assert shown[0].face["field"] == "a list, such as [7, 7]"
    for answer in ("7", "True", "one, two", "[1, 2, 3]"):
        face = click(shown[0], answer)
        assert tones(face) == ["refused"] and not face["done"] and "3.3" not in predicting._said
    assert click(shown[0], "[1, 2]")["done"] and predicting._said["3.3"] == [1, 2]


def test_a_run_before_the_prediction_shows_nothing_until_there_is_one(shown: list[Any]) -> None:
    reveal("1.1", True)
    assert "True" not in json.dumps(shown[0].face)
    predict("1.1")
    click(shown[1], "True")
    assert shown[0].face["lines"][0] == ["good", "You said True. The run agrees."]


def test_after_the_run_the_prediction_stands(shown: list[Any]) -> None:
    predict("1.1")
    click(shown[0], "False")
    reveal("1.1", True)
    assert click(shown[0], "True")["chosen"] == "False" and shown[0].face["locked"]
    predict("1.1")
    assert shown[2].face["chosen"] == "False" and shown[2].face["locked"]


def test_a_recall_may_be_answered_again_until_it_is_right(shown: list[Any]) -> None:
    recall("q0.4")
    assert tones(click(shown[0], "yes")) == ["refused"] and stored() == []
    assert tones(click(shown[0], "8")) == ["bad", "quiet"] and not shown[0].face["done"]
    assert tones(click(shown[0], "24")) == ["good"] and shown[0].face["done"]
    assert [line["how"] for line in stored()] == ["wrong", "right"]


RIGHT = {id: said for key in KEYS.values() for id, said in (key.recall | key.predict).items()}
UNFIT = {"number": "often", "yes-no": "7", "list": "7", "shape": "7", "name": "[7]"}


@pytest.mark.parametrize("id", sorted(PREDICTIONS))
def test_every_prediction_refuses_judges_and_stores(shown: list[Any], id: str) -> None:
    need(id)
    right, key = RIGHT[id], next(key for key in KEYS.values() if id in key.predict)
    wrong = key.predict_wrong[id][0][0]
    for said, how, tone in ((wrong, "differs", "bad"), (right, "same", "good")):
        predict(id)
        face = click(shown[-1], UNFIT[form_of(PREDICTIONS[id]).kind])
        assert tones(face) == ["refused"] and not face["done"] and id not in predicting._said
        assert click(shown[-1], said)["done"]
        reveal(id, eval(right))
        assert shown[-1].face["lines"][0][0] == tone
        face = click(shown[-1], key.why[id])
        assert "good" in tones(face) and face["done"]
        assert [(each["kind"], each["how"]) for each in stored()[-2:]] == [("predict", how), ("why", "holds")]
        assert stored()[-2]["said"] == show(read(form_of(PREDICTIONS[id]), said))
        for kept in (predicting._said, predicting._revealed, notes._noted):
            kept.clear()


@pytest.mark.parametrize("id", sorted(QUESTIONS))
def test_every_recall_refuses_judges_and_stores(shown: list[Any], id: str) -> None:
    recall(id)
    face = click(shown[0], UNFIT[form_of(QUESTIONS[id]).kind])
    assert tones(face) == ["refused"] and not face["done"] and stored() == []
    belief = answers_to(id)[0]
    assert tones(click(shown[0], str(belief) if isinstance(belief, list) else show(belief))) == ["bad", "quiet"]
    face = click(shown[0], str(QUESTIONS[id].run()))
    assert tones(face) == ["good"] and face["done"]
    assert [(line["id"], line["how"]) for line in stored()] == [(id, "wrong"), (id, "right")]


def test_a_notebook_without_widgets_shows_the_text(shown: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cards, "optional", lambda name, extra: missing(name) or importlib.import_module(name))
    monkeypatch.setattr("IPython.display.display", lambda data, raw: shown.append((data, raw)))
    predict("1.1")
    assert shown == [({"text/plain": predicting._asking("1.1").plain}, True)]


def missing(name: str) -> None:
    if name.startswith("minigrad_widgets"):
        raise cards.MissingExtra("there are no widgets")


def test_not_to_know_is_an_answer(shown: list[Any]) -> None:
    recall("q0.4")
    assert tones(click(shown[0], "?")) == ["quiet"]
    predict("1.1")
    assert click(shown[1], "?")["done"]
    reveal("1.1", True)
    assert shown[2].face["lines"][0][1].startswith("You left it open.") and "bad" not in tones(shown[2].face)


@pytest.mark.parametrize("ask", [lambda: predict("1.1"), lambda: recall("q0.4"), lambda: reveal("1.1", True)])
def test_where_nothing_can_be_clicked_the_same_is_printed(shown: list[Any], ask: Callable[[], None], capsys: Capture,
                                                          monkeypatch: pytest.MonkeyPatch) -> None:
    ask()
    monkeypatch.delattr(builtins, "get_ipython")
    ask()
    assert capsys.readouterr().out.strip() == repr(shown[0]).strip() and "not yet" in repr(shown[0])


@pytest.mark.parametrize("in_notebook", [True, False])
def test_in_marimo_a_card_joins_the_output_of_its_cell(shown: list[Any], in_notebook: bool, capsys: Capture,
                                                       monkeypatch: pytest.MonkeyPatch) -> None:
    """marimo has no `display`; its module is also imported by programs that run in no notebook."""
    marimo = SimpleNamespace(running_in_notebook=lambda: in_notebook, output=SimpleNamespace(append=shown.append))
    monkeypatch.setitem(sys.modules, "marimo", marimo)
    monkeypatch.delattr(builtins, "get_ipython")
    predict("1.1")
    assert len(shown) == in_notebook and ("What do you expect" in capsys.readouterr().out) != in_notebook
    if in_notebook:
        assert click(shown[0], "False")["chosen"] == "False"
