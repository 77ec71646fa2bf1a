"""The way through the lessons: its stages have every lesson once, in the order in which they are read."""

import re
from itertools import chain

from minigrad_lessons.path import PUZZLES, STAGES, in_order, place
from tests.lessons.answers import KEYS
from tests.lessons.play import lesson


def test_the_stages_have_every_lesson_once_in_order() -> None:
    stages = list(chain.from_iterable(lessons for _, lessons in STAGES))
    numbers = [int(name[:2]) for name in KEYS]
    assert stages == in_order(numbers) and sorted(stages) == sorted(numbers)


def test_a_lesson_that_was_written_later_has_the_place_after_the_one_before_it() -> None:
    moved = {number: place(number) for number in (int(name[:2]) for name in KEYS) if place(number) != number}
    assert moved == {17: 4, 18: 9, 19: 12, 20: 13, 22: 13}


def test_every_lesson_leads_on() -> None:
    """To its neighbours; but for the puzzles, which use what others taught, to its terms; and some to the puzzles."""
    order = in_order(int(name[:2]) for name in KEYS)
    puzzles = []
    for name in KEYS:
        text, number = lesson(name).cells[-1].source, int(name[:2])
        assert ("←" in text) == (number != order[0]) and ("→" in text) == (number != order[-1]), name
        assert ("The terms of this lesson" in text) == (number != PUZZLES), name
        puzzles += re.findall(r"\[(\d+)\. [^]]+\]\(21_puzzles\.ipynb#", text)
    assert sorted(map(int, puzzles)) == list(range(1, 22))
