"""Counts what a class did in a lesson: which wrong predictions were given how often, which exercises failed how, and
how long it took. Nothing here names a student.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median

from minigrad_lessons import check, notes
from minigrad_lessons.bank import PREDICTIONS, QUESTIONS, lesson_of
from minigrad_lessons.bank.beliefs import recognise
from minigrad_lessons.bank.kinds import Prediction, Question
from minigrad_lessons.forms import Misfit, form_of, read
from minigrad_lessons.notes import Note
from minigrad_lessons.teaching.course import Lesson
from minigrad_lessons.teaching.students import Student

PAUSE = 600  # seconds: a longer time without a note is a break, and not counted
Wrong = tuple[str, int, str]  # an answer, how many students gave it, and the thought that leads there


@dataclass(frozen=True)
class Answers:
    """The first answers of a class to one question, and the reasons that did not hold."""

    id: str
    asked: str
    right: int
    open: int
    wrong: tuple[Wrong, ...]
    reasons: tuple[tuple[str, int], ...] = ()

    @property
    def answered(self) -> int:
        """How many students answered."""
        return self.right + self.open + sum(count for _, count, _ in self.wrong)


@dataclass(frozen=True)
class Exercise:
    """How an exercise went: how many tried it, solved it, solved it at once, asked for hints; and how it failed."""

    name: str
    tried: int
    solved: int
    at_once: int
    hinted: int
    tries: float
    failed: tuple[tuple[str, int], ...]


@dataclass
class Tally:
    """What a class made of one lesson. `minutes` has one number for each student whose notes have times."""

    lesson: Lesson
    students: int = 0
    minutes: list[float] = field(default_factory=list)
    predictions: list[Answers] = field(default_factory=list)
    exercises: list[Exercise] = field(default_factory=list)
    recalled: list[Answers] = field(default_factory=list)

    @property
    def median_minutes(self) -> float | None:
        """The time that half of the students stayed below; None where no times are known."""
        return median(self.minutes) if self.minutes else None

    @property
    def worst(self) -> list[tuple[str, str, int]]:
        """The misconceptions that most students had: where, the thought, and how many."""
        found = [(f"prediction {each.id}", thought, count) for each in self.predictions
                 for _, count, thought in each.wrong if thought]
        found += [(f"check.{each.name}", text, count) for each in self.exercises for text, count in each.failed]
        return sorted(found, key=lambda each: -each[2])[:5]


def tally(lesson: Lesson, students: Iterable[Student]) -> Tally:
    """Count what the students did in a lesson."""
    worked = [(student, _of_lesson(student, lesson.number)) for student in students]
    begun = [(student, its) for student, its in worked if any(note.kind != "recall" for note in its)]
    counted = Tally(lesson, len(begun))
    counted.minutes = [spent / 60 for student, _ in begun if (spent := seconds(student, lesson.number)) is not None]
    all_notes = [its for _, its in worked]
    ids = [id for id in PREDICTIONS if int(id.partition(".")[0]) == lesson.number]
    counted.predictions = [_prediction(PREDICTIONS[id], lesson.asked.get(id, ""), all_notes) for id in ids]
    counted.exercises = [_exercise(name, all_notes) for name in check.__all__
                         if check.lesson_of(name) == lesson.number]
    counted.recalled = [answers for question in QUESTIONS.values() if lesson_of(question.id) == lesson.number
                        if (answers := _recall(question, all_notes)).answered]
    return counted


def _lesson(note: Note) -> int | None:
    """The lesson that a note is about; None for something that this version does not have."""
    if note.kind in ("predict", "why"):
        return int(note.id.partition(".")[0]) if note.id in PREDICTIONS else None
    if note.kind == "recall":
        return lesson_of(note.id) if note.id in QUESTIONS else None
    return check.lesson_of(note.id) if note.id in check.__all__ else None


def _of_lesson(student: Student, number: int) -> list[Note]:
    return [note for note in student.notes if _lesson(note) == number]


def seconds(student: Student, number: int) -> int | None:
    """How long a student was at work on a lesson, breaks left out; None where fewer than two times are known.

    Recall questions are about earlier lessons: their time counts for the lesson in which the next other note is made.
    """
    within: list[tuple[int, int | None]] = []
    now: int | None = None
    for note in reversed(student.notes):
        now = now if note.kind == "recall" else _lesson(note)
        if note.at:
            within.append((note.at, now))
    within.sort(key=lambda each: each[0])
    of = [at for at, lesson in within if lesson == number]
    if len(of) < 2:
        return None
    gaps = [at - before for (before, one), (at, other) in pairwise(within) if one == other == number]
    return sum(gap for gap in gaps if gap <= PAUSE)


def _firsts(kind: str, id: str, all_notes: list[list[Note]]) -> list[Note]:
    """The first note of each student of this kind and id."""
    firsts = (next((note for note in its if (note.kind, note.id) == (kind, id)), None) for its in all_notes)
    return [note for note in firsts if note is not None]


def _counted(given: list[Note], good: str, entry: Prediction | Question) -> tuple[int, int, tuple[Wrong, ...]]:
    wrong = Counter(note.said for note in given if note.how not in (good, "open"))
    return (sum(note.how == good for note in given), sum(note.how == "open" for note in given),
            tuple((said or "(not noted)", count, _thought(entry, said)) for said, count in wrong.most_common()))


def _thought(entry: Prediction | Question, said: str) -> str:
    """The misconception that an answer comes from; empty if none is known."""
    try:
        return recognise(read(form_of(entry), said), entry) or ""
    except Misfit:
        return ""


def _prediction(entry: Prediction, asked: str, all_notes: list[list[Note]]) -> Answers:
    right, unsure, wrong = _counted(_firsts("predict", entry.id, all_notes), notes.GOOD["predict"], entry)
    failed = Counter(note.said for its in all_notes for note in dict.fromkeys(
        Note("why", entry.id, note.how, note.said) for note in its if (note.kind, note.id) == ("why", entry.id))
        if note.how == "fails")
    reasons = tuple((entry.why.reasons[letter].text, count) for letter, count in failed.most_common()
                    if letter in entry.why.reasons)
    return Answers(entry.id, asked, right, unsure, wrong, reasons)


def _recall(question: Question, all_notes: list[list[Note]]) -> Answers:
    right, unsure, wrong = _counted(_firsts("recall", question.id, all_notes), notes.GOOD["recall"], question)
    return Answers(question.id, question.text, right, unsure, wrong)


def _exercise(name: str, all_notes: list[list[Note]]) -> Exercise:
    tries = [[note for note in its if (note.kind, note.id) == ("check", name)] for its in all_notes]
    tries = [its for its in tries if its]
    solved = [its for its in tries if any(note.how == "passed" for note in its)]
    counts = [next(at for at, note in enumerate(its, 1) if note.how == "passed") for its in solved]
    failed = Counter(said for its in tries for said in dict.fromkeys(note.said for note in its if note.how == "no"))
    hinted = sum(any((note.kind, note.id) == ("hint", name) for note in its) for its in all_notes)
    return Exercise(name, len(tries), len(solved), counts.count(1), hinted, median(counts) if counts else 0.0,
                    tuple((said or "(not noted)", count) for said, count in failed.most_common()))
