"""The way through the lessons: its stages have every lesson once, in the order in which they are read."""

from itertools import chain

from minigrad_lessons.path import STAGES, in_order
from tests.lessons.answers import KEYS


def test_the_stages_have_every_lesson_once_in_order() -> None:
    stages = list(chain.from_iterable(lessons for _, lessons in STAGES))
    assert stages == in_order(int(name[:2]) for name in KEYS)
