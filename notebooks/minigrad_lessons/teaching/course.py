"""What a teacher asks about a lesson before it is taught: its parts, how long each takes, what its questions are."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import Any

import nbformat

from minigrad_lessons.folder import shipped
from minigrad_lessons.lint import CALL, tags
from minigrad_lessons.path import LEADS_ON, in_order

MINUTES = re.compile(r"[Aa]bout (\d+) minutes")
OPENING = 4  # cells: how long a lesson takes stands in one of them
WORDS_A_MINUTE = 150
# How long a cell of code takes, in minutes, by its tags; any other is run, and what it prints is read.
TAKES = {"opening": 3.0, "inspector": 3.0, "recall": 4.0, "predict": 1.0, "reveal": 1.0, "puzzle": 4.0, "faded": 5.0,
         "long": 20.0, "open": 7.0}
OTHER = 0.4
COUNTED = {"recall": "recall", "predict": "predictions", "puzzle": "puzzles", "faded": "exercises", "long": "exercises",
           "open": "exercises"}


@dataclass
class Part:
    """What stands under one heading: minutes, how many there are of each kind of question, and whether it runs code and
    shows an inspector.
    """

    heading: str
    minutes: int = 0
    holds: dict[str, int] = field(default_factory=dict)
    runs: bool = False
    inspector: bool = False

    @property
    def time(self) -> str:
        """The minutes, in words."""
        return str(self.minutes) if self.minutes else "under 1"

    @property
    def told(self) -> str:
        """What it holds, in words: "2 exercises"."""
        one = {"predictions": "prediction", "exercises": "exercise", "puzzles": "puzzle"}
        return ", ".join("recall" if kind == "recall" else f"{count} {one[kind] if count == 1 else kind}"
                         for kind, count in self.holds.items())


@dataclass(frozen=True)
class Lesson:
    """A lesson as its notebook has it. `asked` has the text of each prediction, by its id."""

    number: int
    name: str
    title: str
    minutes: int
    parts: tuple[Part, ...]
    asked: dict[str, str]
    cells: int
    words: int

    def count(self, kind: str) -> int:
        """How many predictions, exercises or puzzles there are."""
        return sum(part.holds.get(kind, 0) for part in self.parts)


def lessons() -> dict[int, Lesson]:
    """Every lesson that came with this version, by its number, in the order in which they are read."""
    found = {int(name[:2]): path for name, path in shipped().items()}
    return {number: read(found[number]) for number in in_order(found)}


def read(path: Path) -> Lesson:
    """What stands in a notebook."""
    cells: list[Any] = [cell for cell in nbformat.read(path, as_version=4).cells if cell.id != LEADS_ON]
    prose = [cell.source for cell in cells if cell.cell_type == "markdown"]
    stated = MINUTES.search("\n".join(prose[:OPENING]))
    if stated is None:
        raise ValueError(f"{path.name} does not say how long it takes: about … minutes")
    minutes = int(stated[1])
    return Lesson(int(path.name[:2]), path.stem, _title(prose[0]), minutes, _parts(cells, minutes),
                  dict(pair for cell in cells if "predict" in tags(cell) for pair in _asked(cell.source)),
                  len(cells), sum(len(text.split()) for text in prose))


def _title(text: str) -> str:
    """The heading of a lesson: "3. grad_fn and next_functions"."""
    first = text.splitlines()[0].removeprefix("# ")
    return first.removeprefix("Lesson ").replace(": ", ". ", 1) if first.startswith("Lesson ") else first


def _asked(source: str) -> list[tuple[str, str]]:
    comments = [line.removeprefix("#").removeprefix(" ") for line in source.splitlines() if line.startswith("#")]
    return [(id, "\n".join(comments)) for id, _ in CALL["predict"].findall(source)]


def _parts(cells: list[Any], minutes: int) -> tuple[Part, ...]:
    """The parts by their headings; the stated minutes are split over them by what they hold, to whole minutes."""
    parts, takes = [Part("Opening")], [0.0]
    for cell in cells:
        if cell.cell_type == "markdown":
            headings = re.findall(r"^## (.+)$", cell.source, re.MULTILINE)
            if headings:
                parts.append(Part(headings[-1]))
                takes.append(0.0)
            takes[-1] += len(cell.source.split()) / WORDS_A_MINUTE
            continue
        parts[-1].runs, parts[-1].inspector = True, parts[-1].inspector or "inspector" in tags(cell)
        kind = next((tag for tag in TAKES if tag in tags(cell)), "")
        takes[-1] += TAKES.get(kind, OTHER)
        if kind in COUNTED:
            parts[-1].holds[COUNTED[kind]] = parts[-1].holds.get(COUNTED[kind], 0) + 1
    until = [round(minutes * so_far / sum(takes)) for so_far in accumulate(takes)]
    for part, before, after in zip(parts, [0, *until], until):
        part.minutes = after - before
    return tuple(parts)
