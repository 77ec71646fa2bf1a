"""Writes docs/questions.md: which cell answers which question. `python -m tests.lessons.pages`.

The questions stand in `minigrad_lessons.questions`; the cells name them in their tags. `test_questions.py` holds the
page to what comes out here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import nbformat

from minigrad_lessons.lint import tags
from minigrad_lessons.questions import ANSWERS, CLAIMS, CONTRADICTS, IN_SHORT, IN_TEXTS, ROWS, Asked

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "questions.md"
HEAD = """# Questions

Questions that people ask about autograd, each with its answer in one sentence, and the cell of the course that runs and
shows it. Then claims that PyTorch 2.13 contradicts. This page is generated from the tags of the cells by
`python -m tests.lessons.pages`.
"""

# Until then such a cell says "not yet", on the site too.
WAITS = {"reveal": " (after your prediction)", "check": " (after your answer)"}


@cache
def cells() -> dict[str, list[tuple[str, str, str]]]:
    """For each tag `answers:ID` or `contradicts:ID`, the cells that carry it: the notebook's name, the cell's id, and
    what it waits for."""
    found = defaultdict(list)
    for path in sorted((ROOT / "notebooks").glob("[0-9]*.ipynb")):
        for cell in nbformat.read(path, as_version=4).cells:
            for tag in tags(cell):
                if tag.startswith((ANSWERS, CONTRADICTS)):
                    waits = "".join(said for kind, said in WAITS.items() if kind in tags(cell))
                    found[tag].append((path.stem, str(cell.id), waits))
    return dict(found)


def unanswered() -> set[str]:
    """The questions that one of their lessons does not answer, and the claims that no cell contradicts."""
    answered = {(tag, int(name[:2])) for tag, places in cells().items() for name, _, _ in places}
    questions = {asked.id for asked in (*ROWS, *IN_TEXTS)
                 if not all((ANSWERS + asked.id, lesson) in answered for lesson in asked.lessons)}
    return questions | {id for id in CLAIMS if CONTRADICTS + id not in cells()}


def places(tag: str, lessons: tuple[int, ...]) -> str:
    """Links to the cells with a tag, by lesson; the lessons that are still to come, by number."""
    found = [f"[lesson {int(name[:2])}](../notebooks/{name}.ipynb), `{id}`{waits}"
             for name, id, waits in cells().get(tag, [])]
    there = {int(name[:2]) for name, _, _ in cells().get(tag, [])}
    return "; ".join([*found, *(f"lesson {lesson}, to come" for lesson in lessons if lesson not in there)])


def asked_in(source: str, questions: tuple[Asked, ...]) -> Iterator[str]:
    """The table of the questions of one source; with none, of those that are asked in many places."""
    many = source == "many places"
    yield f"\n## Asked in {source}\n"
    yield ("| question | answer | asked in | shown by |\n|---|---|---|---|" if many else
           "| question | answer | shown by |\n|---|---|---|")
    for asked in questions:
        where = f"{asked.source} | " if many else ""
        yield f"| {asked.text} | {IN_SHORT[asked.id]} | {where}{places(ANSWERS + asked.id, asked.lessons)} |"


def page() -> str:
    """The whole page."""
    lines = [HEAD.rstrip("\n"), *asked_in("many places", ROWS)]
    for source in dict.fromkeys(asked.source for asked in IN_TEXTS):
        lines += asked_in(source, tuple(asked for asked in IN_TEXTS if asked.source == source))
    lines.append("\n## Claims that PyTorch 2.13 contradicts\n")
    for source in dict.fromkeys(claim.source for claim in CLAIMS.values()):
        lines += [f"\nIn {source}:\n", "| claim | what happens | shown by |\n|---|---|---|"]
        lines += [f"| {claim.text} | {claim.found} | {places(CONTRADICTS + claim.id, (claim.lesson,))} |"
                  for claim in CLAIMS.values() if claim.source == source]
    return "\n".join(lines) + "\n"
