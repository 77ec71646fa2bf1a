"""What a page without a kernel is given of a lesson's cards; `answers.json` holds the page's script to the same."""

from __future__ import annotations

import importlib
import json
import re
from base64 import b64decode
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from minigrad_lessons.bank import PREDICTIONS, QUESTIONS
from minigrad_lessons.cards import Face
from minigrad_lessons.forms import Misfit, form_of, misfit, read
from minigrad_lessons.values import show
from tests.lessons.answers import KEYS
from tests.lessons.play import lesson, need
from website.lessons import already_run
from website.sheets import SAID, digest, predict_sheet, recall_sheet, reveal_sheet

predicting = importlib.import_module("minigrad_lessons.predict")  # the package has the function under that name
recalling = importlib.import_module("minigrad_lessons.recall")
FILE = Path(__file__).parents[2] / "widgets" / "frontend" / "test" / "answers.json"
ASKS_TO_RUN = re.compile(r"\(Shift\+Enter\)|run the (first|second|next)|then\s+run\s+it|before\s+you\s+run|new\s+cell",
                         re.IGNORECASE)
TYPED = {
    "1.6": ("7", "3.0", " -2 ", "+4", "1e2", "many", "True", "?", "", "1 2", "0.7", "[3]", "'5'", "1_000", ".5", "007"),
    "3.3": ("[0, 1]", "(0,1)", "0, 1", "[0, 1,]", "[1]", "[0, 'x']", "[0, 1", "0"),
    "3.4": ("None", "none", "AccumulateGrad", "mulbackward0", "torch.Tensor", "7", "two words", "NONE",
            "torch::autograd::AccumulateGrad", "AccumulateGrad(x)", "<AccumulateGrad object at 0x7f3a>", "a::b c",
            "x()"),
    "4.3": ("[2, 4]", "[2.0, 4.0004]", "[2.001, 4]", "[[2], 4]"),
    "5.5": ("0.3", ".30", "0.7", "0.3334"),
    "8.4": ("error", "Error", "[2, 4]", "wrong"),
    "q0.1": ("(2, 3)", "[2,3]", "2, 3", "(2)", "(2,)", "()", "(2, 3.5)", "(True, 2)", "yes"),
    "q2.4": ("[True, False, True]", "[True, 0, True]", "True", "[true, false, true]"),
    "q3.1": ("[None, 0]", "['Tensor', 7]", "[AccumulateGrad, 0]", '["AccumulateGrad", 0]', "None"),
}


def golden() -> dict[str, Any]:
    """What Python reads in answers, and three cards with their sheets."""
    answers = []
    for id, texts in TYPED.items():
        form = form_of((PREDICTIONS | QUESTIONS)[id])  # type: ignore[operator]  # both have a form
        for typed in texts:
            try:
                value = read(form, typed)
            except Misfit:
                value = ...
            fits = value is not ...
            answers.append({"id": id, "form": {**asdict(form), "misfit": misfit(form, SAID)}, "typed": typed,
                            "digest": digest(id, value) if fits else None, "shown": show(value) if fits else None})
    recall = recalling._asking("q0.1", QUESTIONS["q0.1"])
    waiting = Face("1.3", "Prediction 1.3", "not yet: make your prediction in the cell above. What happened will "
                                            "appear here.")
    return {"answers": answers, "cards": {
        "recall": {"face": recall.to_dict(), "said": {}, "sheet": recall_sheet("q0.1")},
        "predict": {"face": predicting._asking("1.3").to_dict(), "said": {}, "sheet": predict_sheet("1.3")},
        "reveal": {"face": waiting.to_dict(), "said": {}, "sheet": reveal_sheet("1.3", 1)}}}


def written() -> str:
    """The golden file as text."""
    return json.dumps(golden(), indent=1, ensure_ascii=False) + "\n"


def test_the_page_is_held_to_what_python_says_today() -> None:
    assert FILE.read_text(encoding="utf-8") == written(), "python -m tests.lessons.test_sheets writes the file"


def verdicts(sheet: dict[str, Any]) -> dict[str, list[list[str]]]:
    found: dict[str, list[list[str]]] = json.loads(b64decode(sheet["sealed"]))["verdicts"]
    return found


def said(told: dict[str, list[list[str]]], id: str, answer: object) -> str:
    """The tone of what is said to an answer."""
    return told.get(digest(id, answer), told["other"])[0][0]


@pytest.mark.parametrize("name", sorted(KEYS))
def test_the_key_is_right_and_its_wrong_answers_are_not(name: str) -> None:
    need(name)
    key = KEYS[name]
    for id, right in key.recall.items():
        told = verdicts(recall_sheet(id))
        assert said(told, id, eval(right)) == "good", id
        for wrong, words in key.recall_wrong.get(id, ()):
            assert said(told, id, eval(wrong)) == "bad", (id, wrong)
            assert words in str(told.get(digest(id, eval(wrong)), told["other"])), (id, wrong)
    for id, right in key.predict.items():
        sheet = reveal_sheet(id, eval(right))
        told = verdicts(sheet)
        assert said(told, id, eval(right)) == "good", id
        assert {said(told, id, eval(wrong)) for wrong, _ in key.predict_wrong[id]} == {"bad"}, id
        reasons = json.loads(b64decode(sheet["sealed"]))["reasons"]
        assert [letter for letter, reason in reasons.items() if reason["holds"]] == [key.why[id]]


def test_no_sheet_has_an_answer_as_text() -> None:
    for id in QUESTIONS:
        sheet = {name: part for name, part in recall_sheet(id).items() if name != "form"}
        assert set(sheet) == {"kind", "id", "sealed"} and re.fullmatch(r"[A-Za-z0-9+/=]+", sheet["sealed"])
    assert set(predict_sheet("1.1")) == {"kind", "id", "form", "noted", "open"}


@pytest.mark.parametrize("name", sorted(KEYS))
def test_on_the_site_no_lesson_asks_to_run_what_has_run(name: str) -> None:
    """The site replaces some wordings; a lesson with another would ask to run a cell whose result is there, or to write
    into a new one, which a page does not have. What is written into a cell is to be run there, too."""
    texts = [already_run(cell.source) for cell in lesson(name).cells if cell.cell_type == "markdown"]
    assert [text for text in texts if ASKS_TO_RUN.search(text)] == []


def main() -> None:
    """Write the golden file."""
    FILE.write_text(written(), encoding="utf-8")


if __name__ == "__main__":
    main()
