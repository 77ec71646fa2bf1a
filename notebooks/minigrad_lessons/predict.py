"""Predict, then run: `predict` asks what the student expects, `reveal` shows what happened and asks why.

In a notebook both are cards to click on: `predict("1.1")`, and below it the program, which ends in
`reveal("1.1", c.is_leaf)`. The same calls take answers: `predict("1.1", True)` and `reveal("1.1", c.is_leaf, why="c")`
print what the cards would say. A terminal, an exercise sheet for nbgrader and the tests answer like this.
"""

from __future__ import annotations

from dataclasses import replace

from minigrad_lessons import notes
from minigrad_lessons.bank import PREDICTIONS
from minigrad_lessons.bank.beliefs import recognise
from minigrad_lessons.bank.kinds import Prediction, Why
from minigrad_lessons.cards import Face, Line, Shown, refused
from minigrad_lessons.forms import Misfit, form_of, read
from minigrad_lessons.values import same, show, unanswered, unsure

OPEN = ("?", "I do not know")
OPENS = "What do you expect?"
STANDS = "You said {said}. The cell below says what happened."
_said: dict[str, object] = {}
_waiting: dict[str, tuple[object, Shown]] = {}  # what a run gave before there was a prediction, and its empty card
_revealed: set[str] = set()


def predict(id: str, answer: object = ...) -> None:
    """Ask for a prediction, or note one that is given: `"?"` means: I do not know, show me.

    Raises:
        KeyError: if there is no prediction of this id.
    """
    if id not in PREDICTIONS:
        raise KeyError(f"There is no prediction {id!r}. There are: {', '.join(sorted(PREDICTIONS))}.")
    if unanswered(answer):
        face = _asking(id)
        Shown(face, lambda said: _take(id, face, said), "predict").show()
    else:
        _revealed.discard(id)
        print(_take(id, _asking(id), answer).plain)


def _asking(id: str) -> Face:
    form = form_of(PREDICTIONS[id])
    choices = tuple((value, value) for value in form.choices)
    field = "" if choices else form.asks
    if choices and form.word:
        choices = (*choices, (form.word, form.word))
    face = Face(id, f"Prediction {id}", choices=(*choices, OPEN), field=field)
    if id in _said:
        return _noted(id, face)
    example = form.choices[0] if form.choices else "…"
    return replace(face, text=OPENS, how=f'not yet. Answer with {form.asks}: predict("{id}", {example})')


def _take(id: str, face: Face, answer: object) -> Face:
    """The card after an answer."""
    try:
        value = read(form_of(PREDICTIONS[id]), answer)
    except Misfit as misfit:
        return refused(replace(face, text=OPENS, how=""), str(misfit))
    if id not in _revealed:
        _said[id] = value
    face = _noted(id, face)
    if id in _waiting:
        found, shown = _waiting.pop(id)
        shown.put(_told(id, found))
        face = _noted(id, face)  # the cell below has told what happened: the answer stands now
    return face


def _noted(id: str, face: Face) -> Face:
    said = _said[id]
    if id in _revealed:
        line = STANDS.format(said=in_words(said))
    else:
        line = f"Noted: {'you do not know' if unsure(said) else show(said)}. Now run the next cell."
    return replace(face, text=line, chosen=show(said), locked=id in _revealed, how="", lines=(), done=True)


def in_words(said: object) -> str:
    """An answer as a part of a sentence."""
    return "that you do not know" if unsure(said) else show(said)


def reveal(id: str, found: object, why: object = ...) -> None:
    """Show what the run gave, beside the prediction; then ask why, and judge the reason by running it."""
    if id not in _said:
        face = Face(id, f"Prediction {id}", "not yet: make your prediction in the cell above. What happened will "
                                            "appear here.")
        waiting = Shown(face, lambda letter: _because(id, found, letter), "reveal", found)
        _waiting[id] = found, waiting
        waiting.show()
    elif unanswered(why):
        Shown(_told(id, found), lambda letter: _because(id, found, letter), "reveal", found).show()
    else:
        print(_because(id, found, why).plain)


def _told(id: str, found: object) -> Face:
    """What happened, and the question why."""
    entry = PREDICTIONS[id]
    _revealed.add(id)
    return Face(id, f"Prediction {id}", f"The run says {show(found)}.", stacked=True,
                choices=tuple((letter, reason.text) for letter, reason in entry.why.reasons.items()),
                lines=(*_verdict(id, entry, found), ("ask", entry.why.text)),
                how=f'Choose a reason: reveal("{id}", …, why="a"), "b" or "c".')


def _verdict(id: str, entry: Prediction, found: object) -> tuple[Line, ...]:
    said = _said[id]
    how, lines = verdict(entry, said, found, show(said))
    notes.note("predict", id, how, "" if unsure(said) else show(said))
    return lines


def verdict(entry: Prediction, said: object, found: object, shown: str) -> tuple[str, tuple[Line, ...]]:
    """How a prediction fits what the run gave, and what there is to be said to it; `shown` is how it was written."""
    if unsure(said):
        return "open", (("", "You left it open. Now you know what happens; find out why."),)
    if same(said, found):
        return "same", (("good", f"You said {shown}. The run agrees."),)
    belief = recognise(said, entry)
    look = f"You may be thinking: “{belief}”." if belief else entry.look
    return "differs", (("bad", f"You said {shown}. The run disagrees."), ("", look))


def _because(id: str, found: object, letter: object) -> Face:
    """The card after a reason."""
    face, question = _told(id, found), PREDICTIONS[id].why
    key = str(letter).strip(" .)").lower()
    if key not in question.reasons:
        return replace(face, lines=(*face.lines, ("refused", f"{show(letter)} is none of the reasons: choose one of "
                                                              f"{', '.join(question.reasons)}.")))
    holds, lines = judged(question, key)
    notes.note("why", id, "holds" if holds else "fails", key)
    return replace(face, chosen=key, lines=(*face.lines, *lines), done=holds, how="")


def judged(question: Why, key: str) -> tuple[bool, tuple[Line, ...]]:
    """Whether a reason holds on every case, and what there is to be said of it."""
    reason, trials = question.reasons[key], question.tried(key)
    if trials[-1].agrees:
        width = max(map(len, question.cases))
        return True, (("good", f"Reason {key} holds: {reason.text}. It was tried on:"),
                      *(("code", f"{trial.code.ljust(width)}  gives {show(trial.found)}") for trial in trials),
                      *(("quiet", note) for note in question.notes(*question.cases)))
    code, expected, found = trials[-1]
    return False, (("bad", f"Reason {key} does not hold: “{reason.text}”"),
                   ("code", f"{code}  would then give {show(expected)}; the run gives {show(found)}"),
                   *(("quiet", note) for note in question.notes(code)))
