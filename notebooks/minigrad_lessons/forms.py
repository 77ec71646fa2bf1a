"""What kind of answer fits a question: True or False, a number, a list, a shape, a name.

The kind is that of the answers which the known misconceptions give (`beliefs.json`), so it gives nothing away.
`read` turns what a student clicked or typed into a value, and refuses at once what does not fit: a 7 for a question of
True or False, or a word where a number is asked for.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import product
from typing import Any

from minigrad_lessons.bank.beliefs import answers_to
from minigrad_lessons.bank.kinds import Prediction, Question
from minigrad_lessons.values import meant, plain, unsure

YES_NO, NUMBER, LIST, SHAPE, NAME = "yes-no", "number", "list", "shape", "name"
ASKS = {YES_NO: "True or False", NUMBER: "a number, such as 7", LIST: "a list, such as {example}",
        SHAPE: "a shape, such as (4, 5)", NAME: "the name of a class, such as Tensor"}
# How a class is printed: Name, torch::autograd::Name, Name(x), <Name object at 0x7f>
PRINTED = re.compile(r"<?(?:\w+::)*(\w+)(?:\(\w*\)| object at \w+)?>?")


class Misfit(ValueError):
    """An answer of a kind that does not fit; the text says what would."""


@dataclass(frozen=True)
class Form:
    """What is asked for: the kind, the answers to click (none: there is a field to type in), and a word that fits too.

    `length` is that of a list, `truths` whether a list holds True and False, `named` whether it begins with a name.
    """

    kind: str
    choices: tuple[str, ...] = ()
    word: str = ""
    length: int = 0
    truths: bool = False
    named: bool = False

    @property
    def asks(self) -> str:
        """What fits, in words: "a number, such as 7, or None"."""
        if self.kind == NUMBER and self.choices:
            return f"one of {', '.join((*self.choices, *filter(None, [self.word])))}"
        if self.truths:  # an example would look like an answer
            return f"a list of {self.length}, each True or False"
        example = ["Tensor", 7] if self.named else [7] * self.length
        return ASKS[self.kind].format(example=example) + (f", or {self.word}" if self.word else "")


def form_of(entry: Prediction | Question) -> Form:
    """The form of a question."""
    answers = answers_to(entry.id)
    values = [plain(answer) for answer in answers if answer is not None and answer != entry.word]
    first = values[0] if values else 0
    kind = _kind(first, any(isinstance(answer, tuple) for answer in answers))
    choices = entry.choices or (("True", "False") if kind == YES_NO else ())
    if not isinstance(first, list) or kind == SHAPE:
        return Form(kind, choices, entry.word)
    truths = all(isinstance(item, bool) for item in first)
    if truths and len(first) == 2:
        choices = tuple(str(list(pair)) for pair in product((True, False), repeat=2))
    return Form(kind, choices, entry.word, len(first), truths, isinstance(first[0], str))


def _kind(value: object, is_shape: bool) -> str:
    if isinstance(value, bool):
        return YES_NO
    if isinstance(value, list):
        return SHAPE if is_shape else LIST
    return NUMBER if isinstance(value, int | float) else NAME


def read(form: Form, answer: Any) -> Any:
    """The answer as a value; "?" stays "?".

    Raises:
        Misfit: if it is not of the kind that is asked for.
    """
    if isinstance(answer, str):
        answer = answer.strip().strip("'\"")
    if unsure(answer):
        return "?"
    if form.kind == NAME:
        answer = _name(answer)
    value: Any = meant(answer) if isinstance(answer, str) else plain(answer)
    word = "None" if value is None else value
    if form.word and isinstance(word, str) and word.lower() == form.word.lower():
        return form.word
    if not _fits(form, value):
        shown = answer if isinstance(answer, str) else repr(answer)
        raise Misfit(misfit(form, shown))
    if form.kind == NAME:
        return "None" if value is None else str(answer)
    return tuple(value) if form.kind == SHAPE else value


def _name(answer: Any) -> Any:
    """The name of a class, as `type(node).__name__` gives it; `node.name()` may put namespaces before it."""
    written = PRINTED.fullmatch(answer.strip()) if isinstance(answer, str) else None
    return written[1] if written else answer


def misfit(form: Form, shown: str) -> str:
    """What is said to an answer that does not fit; `shown` is how it was written."""
    return f"{shown} does not fit this question. It asks for {form.asks}."


def _fits(form: Form, value: Any) -> bool:
    if form.kind == NAME:
        return value is None or (isinstance(value, str) and value.replace(".", "").replace("_", "").isalnum())
    if form.kind == YES_NO:
        return isinstance(value, bool)
    if form.kind == NUMBER:
        return isinstance(value, int | float) and not isinstance(value, bool) \
            and (not form.choices or str(value) in form.choices)
    if not isinstance(value, list):
        return False
    if form.kind == SHAPE:
        return all(isinstance(item, int) and not isinstance(item, bool) for item in value)
    return len(value) == form.length and (not form.truths or all(isinstance(item, bool) for item in value))
