"""The way through the lessons: its stages have every lesson once, in the order in which they are read."""

from itertools import chain

from minigrad_lessons.path import STAGES, in_order, place
from tests.lessons.answers import KEYS


def test_the_stages_have_every_lesson_once_in_order() -> None:
    stages = list(chain.from_iterable(lessons for _, lessons in STAGES))
    numbers = [int(name[:2]) for name in KEYS]
    assert stages == in_order(numbers) and sorted(stages) == sorted(numbers)


def test_a_lesson_that_was_written_later_has_the_place_after_the_one_before_it() -> None:
    moved = {number: place(number) for number in (int(name[:2]) for name in KEYS) if place(number) != number}
    assert moved == {17: 4, 18: 9, 19: 12, 20: 13, 22: 13}
