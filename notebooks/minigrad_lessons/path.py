"""The way through the lessons: the order in which they are read, and the cell at the end of each that leads on.

A lesson keeps its number for good; one that was written later stands where it belongs. The last cell of a lesson, which
`minigrad_lessons.build` adds, leads to the lessons before and after it, to its puzzles, its terms, and the questions
that it answers.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from nbformat.v4 import new_markdown_cell

from minigrad_lessons.questions import ANSWERS, IN_SHORT, QUESTIONS

# The way through the course: what a stage is about, and its lessons.
STAGES = (
    ("Begin", (0, 1, 2)),
    ("The graph, and how it is walked", (3, 17, 4, 5)),
    ("Look inside: hooks, modes, memory", (6, 7, 8, 18)),
    ("Make it your own", (9, 10)),
    ("Train, and differentiate again", (11, 19, 12, 22, 20, 13)),
    ("Beyond one process and one engine", (14, 15, 16, 21)),
)
ORDER = [number for _, lessons in STAGES for number in lessons]
LEADS_ON = "leads-on"  # the id of the last cell
PUZZLES = 21  # the number of the notebook of puzzles
# The lesson whose ideas solve a puzzle, by the puzzle's number.
BELONGS = {1: 1, 2: 7, 3: 17, 4: 19, 5: 4, 6: 4, 7: 3, 8: 3, 9: 4, 10: 4, 11: 8, 12: 11, 13: 2, 14: 7, 15: 9, 16: 4,
           17: 7, 18: 8, 19: 8, 20: 6, 21: 12}
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
PUZZLE = re.compile(r"^#* ?### ((\d+)\. .+)$", re.MULTILINE)
TERM = re.compile(r"^- (\*\*.+?\*\*: .+?) Lessons? ([\d, and]+)[.;]", re.MULTILINE)


def in_order(numbers: Iterable[int]) -> list[int]:
    """Put the numbers of lessons in the order in which they are read."""
    return sorted(numbers, key=ORDER.index)


def place(number: int) -> int:
    """Return the number that a lesson would have if all were numbered in the order in which they are read."""
    def keeps(at: int) -> bool:  # no lesson that is read later has a lower number
        return ORDER[at] == min(ORDER[at:])

    at = ORDER.index(number)
    return number if keeps(at) else 1 + max(ORDER[before] for before in range(at) if keeps(before))


@dataclass(frozen=True)
class Course:
    """What a lesson can speak of: the title of every lesson by its file name without the ending, the text of the
    notebook of puzzles, that of the page of terms, and what buttons and lists are called in the pictures.
    """

    titles: dict[str, str]
    puzzles: str
    glossary: str
    controls: frozenset[str]


def with_way_on(notebook: Any, name: str, course: Course) -> Any:
    """Put the cell that leads on from the lesson `name` at the end of its notebook, in the place of an older one."""
    notebook.cells = [cell for cell in notebook.cells if cell.id != LEADS_ON]
    notebook.cells.append(_way_on(name, notebook.cells, course))
    return notebook


def _way_on(name: str, cells: list[Any], course: Course) -> Any:
    number, titles = int(name[:2]), course.titles
    parts = [_neighbours(name, titles)]
    if theirs := [f"[{puzzle}]({_notebook(PUZZLES, titles)}.ipynb#{anchor(puzzle)})"
                  for puzzle, which in PUZZLE.findall(course.puzzles) if BELONGS[int(which)] == number]:
        parts.append(f"**Puzzles** that this lesson prepares you for: {', '.join(theirs)}.")
    if terms := [text for text, lessons in _terms(course.glossary) if number in lessons]:
        parts.append(_folded("The terms of this lesson", terms))
    if answers := [f"[{QUESTIONS[id].text}](#{anchor(heading)}) {IN_SHORT[id]}" for id, heading in _answers(cells)]:
        parts.append(_folded("Questions that this lesson answers", answers))
    return new_markdown_cell("\n\n".join(parts), id=LEADS_ON)


def anchor(heading: str) -> str:
    """The name under which JupyterLab finds a heading."""
    return heading.replace("`", "").replace(" ", "-")


def _notebook(number: int, titles: dict[str, str]) -> str:
    return next(name for name in titles if int(name[:2]) == number)


def _neighbours(name: str, titles: dict[str, str]) -> str:
    order = [_notebook(number, titles) for number in in_order(int(each[:2]) for each in titles)]
    at = order.index(name)
    before = [f"← [{titles[each]}]({each}.ipynb)" for each in order[:at][-1:]]
    after = [f"[{titles[each]}]({each}.ipynb) →" for each in order[at + 1:][:1]]
    return "<br>\n".join([*before, *after])


def _terms(glossary: str) -> list[tuple[str, set[int]]]:
    """Each term with what it means, and the numbers of the lessons that show it."""
    joined = re.sub(r"\n  +", " ", glossary)
    return [(text, {int(number) for number in re.findall(r"\d+", lessons)}) for text, lessons in TERM.findall(joined)]


def _answers(cells: list[Any]) -> list[tuple[str, str]]:
    """The questions that cells answer, each with the heading it stands under."""
    found: dict[str, str] = {}
    heading = ""
    for cell in cells:
        if cell.cell_type == "markdown":
            heading = (HEADING.findall(cell.source) or [heading])[-1]
        for tag in cell.metadata.get("tags", []):
            if tag.startswith(ANSWERS) and tag.removeprefix(ANSWERS) in QUESTIONS:
                found.setdefault(tag.removeprefix(ANSWERS), heading)
    return list(found.items())


def _folded(head: str, lines: list[str]) -> str:
    """A list that opens by a click. The empty lines make it Markdown inside of HTML."""
    return "\n".join([f"<details><summary>{head}</summary>", "", *(f"- {line}" for line in lines), "", "</details>"])
