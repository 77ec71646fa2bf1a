"""What each misconception of the bank would make somebody answer: data, learned when the lessons are built.

To find it out takes the engine, at times the recorder or a compiled step. `python -m minigrad_lessons.build` does that
once and writes `beliefs.json`, with each answer as Python writes it, so whoever asks a question or reads an answer runs
nothing. What is right stands nowhere: a lesson's own run tells it. A test learns all of it again and compares.
"""

import ast
import json
from functools import cache
from pathlib import Path

from minigrad_lessons.bank import PREDICTIONS, QUESTIONS
from minigrad_lessons.bank.kinds import Prediction, Question
from minigrad_lessons.values import same

FILE = Path(__file__).with_name("beliefs.json")


def learn() -> dict[str, list[str]]:
    """What the misconceptions about each question would give, found out by running them."""
    entries: dict[str, Prediction | Question] = {**PREDICTIONS, **QUESTIONS}
    return {id: [repr(belief.answer()) for belief in entry.beliefs] for id, entry in entries.items()}


def write() -> None:
    """Learn all answers, and write them down."""
    FILE.write_text(json.dumps(learn(), indent=1) + "\n", encoding="utf-8")
    answers_to.cache_clear()


@cache
def answers_to(id: str) -> tuple[object, ...]:
    """What each belief about a question would answer, in their order.

    Raises:
        KeyError: if the lessons were not built since the question was written.
    """
    return tuple(map(ast.literal_eval, _kept()[id]))


def _kept() -> dict[str, list[str]]:
    read: dict[str, list[str]] = json.loads(FILE.read_text(encoding="utf-8"))
    return read


def recognise(said: object, entry: Prediction | Question) -> str | None:
    """The text of the first belief that would give this answer; None if none would."""
    return next((belief.text for belief, answer in zip(entry.beliefs, answers_to(entry.id), strict=True)
                 if same(said, answer)), None)
