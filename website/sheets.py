"""What a page without a kernel needs to go on with the cards of a lesson: a sheet for each card that is on display.

The site runs a lesson, asks for its sheets in one more cell (`show_sheets`), and puts each beside its card. The page's
script reads an answer as `forms.read` does and finds by its digest what there is to be said to it. An answer that is
only compared stands there as a digest. What a run gave has to be told in the end, so that is only sealed: base64, which
keeps it from being read by accident and from nobody who wants to know.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable
from dataclasses import asdict
from math import floor, isfinite
from typing import Any

from IPython.display import display

from minigrad_lessons.bank import PREDICTIONS, QUESTIONS
from minigrad_lessons.bank.beliefs import answers_to
from minigrad_lessons.bank.kinds import Prediction, Question
from minigrad_lessons.cards import Line, Shown, displayed
from minigrad_lessons.forms import Form, form_of, misfit
from minigrad_lessons.predict import STANDS, in_words
from minigrad_lessons.predict import judged as judge_reason
from minigrad_lessons.predict import verdict as predict_verdict
from minigrad_lessons.recall import verdict as recall_verdict
from minigrad_lessons.values import UNSURE, plain, show

SHEETS = "application/vnd.minigrad.sheets+json"
SAID = "{said}"  # where the page writes what the student said
Sheet = dict[str, Any]
Verdict = Callable[[object, str], tuple[str, tuple[Line, ...]]]


def canonical(value: object) -> str:
    """A value as the text of which the digest is taken: thousandths for numbers, so that rounding does not matter."""
    value = plain(value)
    if isinstance(value, list):
        return f"[{', '.join(map(canonical, value))}]"
    if isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value):
        return str(floor(value * 1000 + 0.5))
    return str(value).lower()


def digest(id: str, value: object) -> str:
    """A short digest (FNV-1a, 32 bits) of an answer to a question; the page computes the same."""
    found = 0x811C9DC5
    for byte in f"{id} {canonical(value)}".encode():
        found = (found ^ byte) * 0x01000193 & 0xFFFFFFFF
    return f"{found:08x}"


def sealed(value: object) -> str:
    """A value as base64 of its JSON."""
    return b64encode(json.dumps(value).encode()).decode()


def show_sheets() -> None:
    """Display the sheets of all cards that this kernel has put on display, by the ids of their widgets."""
    found = {model: _sheet(shown) for model, shown in displayed.items()}
    display({SHEETS: found}, raw=True)  # type: ignore[no-untyped-call]  # IPython has no types


def _sheet(shown: Shown) -> Sheet:
    id = shown.face.head
    if shown.kind == "predict":
        return predict_sheet(id)
    return reveal_sheet(id, shown.found) if shown.kind == "reveal" else recall_sheet(id)


def _form(form: Form) -> Sheet:
    return {**asdict(form), "misfit": misfit(form, SAID)}


def predict_sheet(id: str) -> Sheet:
    """The sheet of a prediction: any answer that fits is noted."""
    return {"kind": "predict", "id": id, "form": _form(form_of(PREDICTIONS[id])),
            "noted": STANDS.format(said=SAID), "open": STANDS.format(said=in_words(UNSURE))}


def reveal_sheet(id: str, found: object) -> Sheet:
    """The sheet of what a run gave: what to say to each prediction, and to each reason."""
    entry, why = PREDICTIONS[id], PREDICTIONS[id].why
    judged = {key: judge_reason(why, key) for key in why.reasons}
    return {"kind": "reveal", "id": id, "sealed": sealed({
        "text": f"The run says {show(found)}.", "ask": why.text,
        "choices": [[key, reason.text] for key, reason in why.reasons.items()],
        "reasons": {key: {"holds": holds, "lines": lines} for key, (holds, lines) in judged.items()},
        "verdicts": _verdicts(id, entry, found, lambda said, as_: predict_verdict(entry, said, found, as_))})}


def recall_sheet(id: str) -> Sheet:
    """The sheet of a question from memory."""
    question, right = QUESTIONS[id], QUESTIONS[id].run()
    verdicts = _verdicts(id, question, right, lambda said, as_: recall_verdict(question, said, right, as_))
    return {"kind": "recall", "id": id, "form": _form(form_of(question)),
            "sealed": sealed({"verdicts": verdicts})}


def _verdicts(id: str, entry: Prediction | Question, right: object, verdict: Verdict) -> dict[str, tuple[Line, ...]]:
    """What is said to an answer, by its digest: to the right one, to those of known beliefs, to any other, to none."""
    known = [right, *answers_to(id)]
    told = {digest(id, value): verdict(value, SAID)[1] for value in known}
    return {**told, "other": verdict(SAID, SAID)[1], "open": verdict(UNSURE, SAID)[1]}
