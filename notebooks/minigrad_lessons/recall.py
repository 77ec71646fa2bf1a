"""Recall: questions about earlier lessons, from memory. `recall("q1.3")` asks, `recall("q1.3", None)` answers."""

from __future__ import annotations

from dataclasses import replace

from minigrad_lessons import notes
from minigrad_lessons.bank import QUESTIONS
from minigrad_lessons.bank.beliefs import recognise
from minigrad_lessons.bank.kinds import Question
from minigrad_lessons.cards import Face, Line, Shown, refused
from minigrad_lessons.forms import Misfit, form_of, read
from minigrad_lessons.values import same, show, unanswered, unsure

OPEN = ("?", "I do not know")


def recall(id: str, answer: object = ...) -> None:
    """Ask a question of the bank, and judge the answer by running it. It may be answered as often as one likes.

    Raises:
        KeyError: if there is no question of this id.
    """
    if id not in QUESTIONS:
        raise KeyError(f"There is no question {id!r}. There are: {', '.join(sorted(QUESTIONS))}.")
    question = QUESTIONS[id]
    face = _asking(id, question)
    if unanswered(answer):
        Shown(face, lambda said: _judged(id, question, face, said), "recall").show()
    else:
        print(_judged(id, question, face, answer).plain)


def _asking(id: str, question: Question) -> Face:
    form = form_of(question)
    choices = tuple((value, value) for value in form.choices)
    return Face(id, "", question.text, choices=(*choices, OPEN), field="" if choices else form.asks,
                how=f'not yet. Answer with {form.asks}: recall("{id}", {form.choices[0] if choices else "…"})')


def _judged(id: str, question: Question, face: Face, answer: object) -> Face:
    """The card after an answer."""
    try:
        value = read(form_of(question), answer)
    except Misfit as misfit:
        return refused(replace(face, how=""), str(misfit))
    how, lines = verdict(question, value, question.run(), show(value))
    notes.note("recall", id, how, "" if unsure(value) else show(value))
    return replace(face, chosen=show(value), lines=lines, done=how == "right", how="")


def verdict(question: Question, value: object, right: object, shown: str) -> tuple[str, tuple[Line, ...]]:
    """Whether an answer is right, and what there is to be said to it; `shown` is how it was written."""
    look = ("quiet", f"To find out: {question.look}")
    if unsure(value):
        return "open", (look,)
    if same(value, right):
        return "right", (("good", f"{shown}: right."),)
    belief = recognise(value, question)
    thought = f"not what the run gives. You may be thinking: “{belief}”." if belief \
        else "not what the run gives."
    return "wrong", (("bad", f"{shown}: {thought}"), look)
