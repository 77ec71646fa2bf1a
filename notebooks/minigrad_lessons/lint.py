"""What makes a notebook a lesson, as rules that a program can check.

`python -m minigrad_lessons.lint notebooks/*.ipynb` prints what is against a rule. A lesson opens with a picture and
asks before it explains, so the order of its parts, its predictions and the size of its cells are not left to taste.
A workshop, in which the student builds something from the first cell to the last, recalls and predicts nothing, and
neither does the notebook of puzzles.
What a lesson prints is read from the executed copy that `minigrad_lessons.build` writes beside it.
"""

import re
import sys
from base64 import b64decode
from collections.abc import Callable, Iterator
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import nbformat
from matplotlib.image import imread

from minigrad_lessons.bank import PREDICTIONS, QUESTIONS, lesson_of
from minigrad_lessons.build import EXECUTED, KEPT, course, without_outputs
from minigrad_lessons.path import LEADS_ON, Course, place, with_way_on
from minigrad_lessons.questions import ANSWERS, CLAIMS, CONTRADICTS
from minigrad_lessons.questions import QUESTIONS as ASKED

Cell = Any
Complaint = str
Rule = Callable[[int, list[Cell]], Iterator[Complaint]]

ORDER = ("opening", "section:recall", "belief", "section:predict", "section:inspector", "worked", "faded", "open",
         "section:torch", "section:summary")
MOST_COLUMNS = 110  # more would be cut off in a page of the site
MOST_LINES, MOST_CELLS, MOST_WORDS, MOST_PNG, FEWEST_PREDICTIONS, RECALLS = 15, 48, 1500, 60_000, 4, 5
MOST_WORDS_OF_A_CELL, OPENS_WITHIN = 90, 5
GAPS = (1, 2, 4)
WORKSHOPS = frozenset({0, 16})  # built from the first cell to the last: nothing is recalled or predicted in them
PUZZLES, ALL_PUZZLES = frozenset({21}), 21  # the notebooks of puzzles, and how many each has
DOTS = re.compile(r"def line\([\w, ]+\):\n    (?:return )?\.\.\.\n\n\ncheck\.\w+\(line\)")
LISTED = {ANSWERS: frozenset(ASKED), CONTRADICTS: frozenset(CLAIMS)}
CALL = {word: re.compile(rf'^{word}\("([^"]+)"(?:, (.*))?\)$', re.MULTILINE)
        for word in ("predict", "reveal", "recall")}
FLOAT = re.compile(r"(?<![\w.])\d+\.\d+(?![\w.]*\.\d)")
STEP = re.compile(r"^\w+, (?:\d+ tensors, |step )(\d+) of (\d+)\b")  # how the text of an inspector says where it is
PRESSED = re.compile(r"\b(?:press|click|open)\s+\*\*([^*]+)\*\*", re.IGNORECASE)
BARE_ARROW = re.compile(r"\b(?:press|with|by)\s+[←→]", re.IGNORECASE)
UNSTABLE = re.compile(r"\b0x[0-9a-f]{6,}|(?:/home|/tmp|/root|/Users|/work)/|[A-Z]:\\")


def tags(cell: Cell) -> list[str]:
    """The tags of a cell."""
    return list(cell.metadata.get("tags", []))


def texts(cell: Cell) -> Iterator[str]:
    """What a cell has printed, as text; of an error its words."""
    for output in cell.get("outputs", []):
        yield output.get("text", "") or output.get("evalue", "")
        yield output.get("data", {}).get("text/plain", "")


def _code(cells: list[Cell]) -> list[Cell]:
    return [cell for cell in cells if cell.cell_type == "code"]


def parts_in_order(lesson: int, cells: list[Cell]) -> Iterator[Complaint]:
    """Opening, recall, belief, predict, inspector, worked, faded, open, PyTorch, summary: all there, in this order."""
    first: dict[str, int] = {}
    for i, cell in enumerate(cells):
        for tag in tags(cell):
            first.setdefault(tag, i)
    yield from (f"there is no cell with the tag {part}" for part in ORDER if part not in first)
    for part, later in pairwise(part for part in ORDER if part in first):
        if first[part] > first[later]:
            yield f"{cells[first[later]].id}: {later} comes before {part}"


def picture_first(lesson: int, cells: list[Cell]) -> Iterator[Complaint]:
    """An inspector within the first five cells, shown by the first cell of code, and not at its last step; nothing is
    asked before it.
    """
    opening = next((i for i, cell in enumerate(cells) if "opening" in tags(cell)), len(cells))
    if opening >= OPENS_WITHIN:
        yield f"no cell with the tag opening among the first {OPENS_WITHIN}"
        return
    yield from (f"{cell.id}: a cell of code before the first inspector, which one cell must show"
                for cell in _code(cells[:opening]))
    shown = [output.get("data", {}).get("image/png") for output in cells[opening].get("outputs", [])]
    if not any(shown):
        yield f"{cells[opening].id}: the opening cell shows no inspector"
    elif any(_blank(picture) for picture in shown if picture):
        yield f"{cells[opening].id}: the first step of its inspector draws nothing, so the still picture is empty"
    for where in filter(None, map(STEP.match, texts(cells[opening]))):
        if int(where[1]) == int(where[2]) > 0:
            yield f"{cells[opening].id}: its inspector starts at the last step, so nothing is left to step to"
    if "still" not in [cell.id for cell in cells[opening:opening + 2]]:
        yield f"{cells[opening].id}: the cell below it must be the one with its still picture"


def _blank(picture: str) -> bool:
    """Whether there is nothing in the middle of a picture, between its sentence and its note."""
    pixels = imread(BytesIO(b64decode(picture)))
    middle = pixels[len(pixels) // 4:len(pixels) * 3 // 4]
    return bool((middle == middle[0, 0]).all())


def predictions_above_reveals(lesson: int, cells: list[Cell]) -> Iterator[Complaint]:
    """At least four predictions; each is unanswered, in the bank, and directly above the cell that reveals it."""
    predicts = [i for i, cell in enumerate(cells) if "predict" in tags(cell)]
    if len(predicts) < FEWEST_PREDICTIONS:
        yield f"{len(predicts)} predictions; at least {FEWEST_PREDICTIONS} are needed"
    for i in predicts:
        asked = CALL["predict"].findall(cells[i].source)
        shown = CALL["reveal"].findall(cells[i + 1].source) if i + 1 < len(cells) else []
        if len(asked) != 1 or asked[0][1]:
            yield f"{cells[i].id}: a predict cell holds one predict(id), without an answer"
        elif not shown or "reveal" not in tags(cells[i + 1]) or shown[0][0] != asked[0][0]:
            yield f"{cells[i].id}: the next cell must be the one that reveals {asked[0][0]}"
        elif asked[0][0] not in PREDICTIONS or not asked[0][0].startswith(f"{lesson}."):
            yield f"{cells[i].id}: {asked[0][0]} is no prediction of lesson {lesson}"


def beliefs_refuted(lesson: int, cells: list[Cell]) -> Iterator[Complaint]:
    """Each belief is followed by a run that contradicts it."""
    for cell, after in zip(cells, [*cells[1:], None]):
        if "belief" in tags(cell) and (after is None or "refutation" not in tags(after) or not any(texts(after))):
            yield f"{cell.id}: a belief must be followed by a run that prints what contradicts it"


def recall_spaced(lesson: int, cells: list[Cell]) -> Iterator[Complaint]:
    """Five questions on the lessons 1, 2 and 4 back, as far as the bank has them; lesson 1 asks what it builds on."""
    asked = [(cell, id, answer) for cell in cells if "recall" in tags(cell)
             for id, answer in CALL["recall"].findall(cell.source)]
    if len(asked) != RECALLS:
        yield f"{len(asked)} recall questions; a lesson asks {RECALLS}"
    had = {lesson_of(id) for id in QUESTIONS}
    allowed = {place(lesson) - gap for gap in GAPS} & had if lesson > 1 else {0}
    for cell, id, answer in asked:
        if id not in QUESTIONS:
            yield f"{cell.id}: there is no question {id}"
        elif lesson_of(id) not in allowed:
            yield f"{cell.id}: {id} is about lesson {lesson_of(id)}; lesson {lesson} recalls {sorted(allowed)}"
        if answer:
            yield f"{cell.id}: {id} is answered"
    for missing in allowed - {lesson_of(id) for _, id, _ in asked if id in QUESTIONS}:
        yield f"no recall question is about lesson {missing}"


def short(lesson: int, cells: list[Cell]) -> Iterator[Complaint]:
    """Short cells of short lines, not many of them, not many words, but for the cell that leads on."""
    cells = [cell for cell in cells if cell.id != LEADS_ON]
    for cell in _code(cells):
        lines = cell.source.splitlines()
        if len(lines) > MOST_LINES and "answer" not in tags(cell):
            yield f"{cell.id}: {len(lines)} lines; a given cell has at most {MOST_LINES}"
        yield from (f"{cell.id}: a line of {len(line)} characters; at most {MOST_COLUMNS}" for line in lines
                    if len(line) > MOST_COLUMNS)
    if len(cells) > MOST_CELLS:
        yield f"{len(cells)} cells; a lesson has at most {MOST_CELLS}"
    words = {cell.id: len(cell.source.split()) for cell in cells if cell.cell_type == "markdown"}
    yield from (f"{id}: {count} words; a cell of prose has at most {MOST_WORDS_OF_A_CELL}"
                for id, count in words.items() if count > MOST_WORDS_OF_A_CELL)
    if sum(words.values()) > MOST_WORDS:
        yield f"{sum(words.values())} words; a lesson has at most {MOST_WORDS}"


def leads_on(lesson: int, cells: list[Cell], course: Course) -> Iterator[Complaint]:
    """The last cell leads to other lessons, and says what is said elsewhere of what belongs to this one."""
    name = next(name for name in course.titles if int(name[:2]) == lesson)
    wanted = with_way_on(SimpleNamespace(cells=list(cells)), name, course).cells[-1]
    if cells[-1].source != wanted.source:
        yield f"{cells[-1].id}: it does not lead on as it should; build the lesson again"


def _digits(number: str) -> int:
    whole, _, part = number.partition(".")
    return len((whole + part).strip("0")) if part.strip("0") else 0


def outputs_keep(lesson: int, cells: list[Cell]) -> Iterator[Complaint]:
    """Outputs that every viewer shows and every machine repeats: no widget view, no long float, no address."""
    for cell in _code(cells):
        for output in cell.outputs:
            for kind, value in output.get("data", {}).items():
                if kind not in KEPT:
                    yield f"{cell.id}: an output of the kind {kind}; kept are {', '.join(KEPT)}"
                elif kind == "image/png" and len(b64decode(value)) > MOST_PNG:
                    yield f"{cell.id}: a picture of {len(b64decode(value))} bytes; at most {MOST_PNG}"
            if output.output_type == "stream" and output.name == "stderr":
                yield f"{cell.id}: it prints a warning: {output.text.splitlines()[0]}"
        for text in texts(cell):
            yield from (f"{cell.id}: {number} is printed with more than 3 digits" for number in FLOAT.findall(text)
                        if _digits(number) > 3)
            yield from (f"{cell.id}: it prints {found}, which differs by machine" for found in UNSTABLE.findall(text))


def errors_meant(lesson: int, cells: list[Cell]) -> Iterator[Complaint]:
    """An error stands exactly where the lesson wants one."""
    for cell in _code(cells):
        raised = any(output.output_type == "error" for output in cell.outputs)
        if raised != ("raises-exception" in tags(cell)):
            yield f"{cell.id}: it {'raises' if raised else 'does not raise'}, and its tags say otherwise"


def checks_open(lesson: int, cells: list[Cell]) -> Iterator[Complaint]:
    """Each exercise calls a check and is handed out unanswered; code uses public names only."""
    for cell in _code(cells):
        if {"faded", "open"} & set(tags(cell)) and "check." not in cell.source:
            yield f"{cell.id}: an exercise ends with a check"
        if "check" in tags(cell) and ("..." not in cell.source or not any("not yet" in t for t in texts(cell))):
            yield f"{cell.id}: it must be handed out with dots, and its check must say: not yet"
        if private := re.search(r"\._[a-z]\w*", cell.source):
            yield f"{cell.id}: {private.group()} is no public name"


def questions_named(lesson: int, cells: list[Cell]) -> Iterator[Complaint]:
    """A tag that names a question or a claim names one that is listed, and stands on a cell that prints something."""
    for cell in cells:
        for tag in tags(cell):
            kind, colon, id = tag.partition(":")
            if kind + colon not in LISTED:
                continue
            if id not in LISTED[kind + colon]:
                yield f"{cell.id}: {tag} names nothing that is in minigrad_lessons.questions"
            if cell.cell_type != "code" or not any(texts(cell)):
                yield f"{cell.id}: {tag} stands on a cell that prints nothing; a run must show it"


def controls_named(cells: list[Cell], course: Course) -> Iterator[Complaint]:
    """A text calls a button of a picture by the name that is on it."""
    for cell in cells:
        if cell.cell_type != "markdown":
            continue
        yield from (f"{cell.id}: nothing in a picture is called {name}" for name in PRESSED.findall(cell.source)
                    if name not in course.controls)
        yield from (f"{cell.id}: no button is called {found[-1]}; write **next →** or **← back**"
                    for found in BARE_ARROW.findall(cell.source))


def ids_stable(lesson: int, cells: list[Cell]) -> Iterator[Complaint]:
    """Each cell has an id of its own, written by a person."""
    ids = [cell.get("id", "") for cell in cells]
    yield from (f"{id}: this id stands twice" for id in sorted({i for i in ids if ids.count(i) > 1}))
    yield from (f"{id or 'a cell'}: an id is made of words, by a person" for id in ids
                if not re.match(r"^[a-z][a-z0-9-]*$", id) or re.match(r"^[0-9a-f]{8}$", id))


def builds(lesson: int, cells: list[Cell]) -> Iterator[Complaint]:
    """A workshop has exercises."""
    if not any("check" in tags(cell) for cell in cells):
        yield "there is no exercise"


def one_line_each(lesson: int, cells: list[Cell]) -> Iterator[Complaint]:
    """A puzzle is a function whose body is dots and a check, with a text above it; there are 21."""
    puzzles = [i for i, cell in enumerate(cells) if "puzzle" in tags(cell)]
    if len(puzzles) != ALL_PUZZLES:
        yield f"{len(puzzles)} puzzles; there must be {ALL_PUZZLES}"
    for number, i in enumerate(puzzles, 1):
        if not DOTS.fullmatch(cells[i].source):
            yield f"{cells[i].id}: a puzzle is def line(…), dots in the place of one line, and its check"
        if f"### {number}. " not in cells[i - 1].source:
            yield f"{cells[i].id}: the cell above it must have the heading of puzzle {number}"


RULES: tuple[Rule, ...] = (parts_in_order, picture_first, predictions_above_reveals, beliefs_refuted, recall_spaced,
                           short, outputs_keep, errors_meant, checks_open, questions_named, ids_stable)
WORKSHOP_RULES: tuple[Rule, ...] = (picture_first, builds, short, outputs_keep, errors_meant, checks_open,
                                    questions_named, ids_stable)
PUZZLE_RULES: tuple[Rule, ...] = (*WORKSHOP_RULES, one_line_each)


def lint(given: Any, executed: Any, lesson: int, course: Course) -> list[Complaint]:
    """Everything against a rule in a lesson of a course: as it is handed out, and as its executed copy has it."""
    rules = WORKSHOP_RULES if lesson in WORKSHOPS else PUZZLE_RULES if lesson in PUZZLES else RULES
    found = [complaint for rule in rules for complaint in rule(lesson, executed.cells)]
    found += [*leads_on(lesson, executed.cells, course), *controls_named(executed.cells, course)]
    found += as_handed_out(given, executed)
    if "widgets" in executed.metadata or "widgets" in given.metadata:
        found.append("widget state is stored in the notebook's metadata")
    return found


def as_handed_out(given: Any, executed: Any) -> Iterator[Complaint]:
    """What a student opens has no outputs and no numbers of runs, and is else what was executed."""
    for cell in _code(given.cells):
        if cell.outputs:
            yield f"{cell.id}: it is handed out with outputs; nothing may look already run"
        if cell.execution_count is not None:
            yield f"{cell.id}: it is handed out with the number of a run"
    if without_outputs(given).cells != without_outputs(executed).cells:
        yield "the executed copy is of another lesson than this: build it again"


def main() -> int:
    """Lint the notebooks that are named as arguments."""
    failed = False
    for path in map(Path, sys.argv[1:]):
        given, executed = (nbformat.read(each, as_version=4) for each in (path, EXECUTED / path.name))
        for complaint in lint(given, executed, int(path.name[:2]), course()):
            failed = True
            print(f"{path.name}: {complaint}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
