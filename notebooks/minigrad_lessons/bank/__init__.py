"""The question bank: every recall question and every prediction of the course, by id.

`q1.3` is the third recall question about lesson 1 (asked in later lessons; lesson 0 is what a student brings
along). `1.3` is the third prediction of lesson 1.
"""

from minigrad_lessons.bank import (
    lesson00,
    lesson01,
    lesson02,
    lesson03,
    lesson04,
    lesson05,
    lesson06,
    lesson07,
    lesson08,
    lesson09,
    lesson10,
    lesson11,
    lesson12,
    lesson13,
    lesson14,
    lesson15,
    lesson17,
    lesson18,
    lesson19,
    lesson20,
    lesson22,
)
from minigrad_lessons.bank.kinds import Prediction, Question

LESSONS = (lesson00, lesson01, lesson02, lesson03, lesson04, lesson05, lesson06, lesson07, lesson08, lesson09, lesson10,
           lesson11, lesson12, lesson13, lesson14, lesson15, lesson17, lesson18, lesson19,
           lesson20, lesson22)
QUESTIONS: dict[str, Question] = {q.id: q for module in LESSONS for q in module.QUESTIONS}
PREDICTIONS: dict[str, Prediction] = {p.id: p for module in LESSONS for p in getattr(module, "PREDICTIONS", ())}


def lesson_of(question_id: str) -> int:
    """The lesson that a recall question is about: 1 for `q1.3`."""
    return int(question_id.removeprefix("q").split(".")[0])
