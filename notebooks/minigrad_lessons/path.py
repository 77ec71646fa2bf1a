"""The order in which the lessons are read. A lesson keeps its number for good; one that was written later says where it
belongs.
"""

from collections.abc import Iterable

AFTER = {17: 3, 18: 8, 22: 12}  # lessons that are not read in the order of the numbers, and the one before each


def in_order(numbers: Iterable[int]) -> list[int]:
    """Put the numbers of lessons in the order in which they are read."""
    return sorted(numbers, key=lambda number: (AFTER.get(number, number), number))


def place(number: int) -> int:
    """Return the number that a lesson would have if all were numbered in the order in which they are read."""
    return AFTER[number] + 1 if number in AFTER else number
