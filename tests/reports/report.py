"""What a public report is here: an address, what it says, and a small program that shows it.

The programs run under both libraries and must come to the same end: values, flags, errors, warnings. PyTorch 2.13 has
mended most of what was reported. Where it has not, `still` says what it does, and minigrad does the same, since a
program must not notice which library it runs under. Where minigrad answers otherwise, `differs` says why.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from tests.parity.outcome import Program


@dataclass(frozen=True)
class Report:
    """One report: where it is on GitHub, what it says, and the program that shows it."""

    place: str
    said: str
    program: Program
    still: str = ""  # what PyTorch 2.13 does all the same
    differs: str = ""  # why minigrad answers otherwise

    @property
    def name(self) -> str:
        """What the program is called."""
        return self.program.__name__.replace("_", " ")

    @property
    def address(self) -> str:
        """Where to read the report."""
        return f"https://github.com/{self.place}"


class Reports:
    """The reports of a family; `@reports(place, said)` adds the program below it."""

    def __init__(self) -> None:
        self.all: list[Report] = []

    def __call__(self, place: str, said: str, *, still: str = "", differs: str = "") -> Callable[[Program], Program]:
        """Add a report; the decorated function is its program."""
        def register(program: Program) -> Program:
            self.all.append(Report(place, said, program, still, differs))
            return program
        return register

    def __iter__(self) -> Iterator[Report]:
        return iter(self.all)


def same(mine: Any, theirs: Any) -> bool:
    """Whether two ends are equal but for rounding: to 4 in 100,000, and NaN is NaN."""
    if isinstance(mine, float) and isinstance(theirs, float):
        return math.isclose(mine, theirs, rel_tol=4e-5, abs_tol=1e-6) or (math.isnan(mine) and math.isnan(theirs))
    if isinstance(mine, dict) and isinstance(theirs, dict):
        return same([*mine.items()], [*theirs.items()])
    if isinstance(mine, list | tuple) and isinstance(theirs, list | tuple):
        return len(mine) == len(theirs) and all(map(same, mine, theirs))
    return bool(mine == theirs)
