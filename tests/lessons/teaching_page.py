"""Writes docs/teaching.md: what a teacher needs to know of each lesson. `python -m tests.lessons.pages`.

Sizes come from the notebooks, what a lesson answers from `minigrad_lessons.questions`, the common wrong answers from
the bank and the keys. `test_questions.py` holds the page to what comes out here.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import nbformat

from minigrad_lessons.bank import PREDICTIONS, QUESTIONS, lesson_of
from minigrad_lessons.lint import tags
from minigrad_lessons.questions import CLAIMS
from minigrad_lessons.questions import QUESTIONS as ASKED
from tests.lessons.answers import KEYS

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "teaching.md"
HEAD = """# Teaching with the lessons

Each lesson is a notebook that asks before it shows, and that checks what students write. This page says what to hand
out, how long things take, what a lesson is for, and which wrong answers to expect. The tables are made by
`python -m tests.lessons.pages`.

## Hand out

| for | do |
|---|---|
| students on their own machines | `pip install "minigrad-kit[lessons]"`, then `minigrad lab` |
| a folder, a repository, a shared disk | `minigrad lessons release --to DIR`: the lessons, and what to install |
| a hub | the link in [A class on JupyterHub](jupyterhub.md) |
| grades | `minigrad lessons release --to DIR --nbgrader`: a course for [nbgrader](https://nbgrader.readthedocs.io) |

No answer is in any of these, nor in what pip installs: checks judge by running. The answer keys are in the repository
and in the source distribution, under `tests/lessons/answers/`.

A room without a network: with one, run `pip download --only-binary :all: --dest wheels "minigrad-kit[lessons]"`, on the
same system and Python; carry the folder `wheels` over, and there
`pip install --no-index --find-links wheels "minigrad-kit[lessons]"`.

**nbgrader.** After `pip install nbgrader`, in the course's folder:

| command | what it does |
|---|---|
| `nbgrader generate_assignment 03_next_functions` | the students' version, in `release/03_next_functions/` |
| | what a student hands in goes to `submitted/STUDENT/03_next_functions/`, under the same name |
| `nbgrader autograde 03_next_functions` | grades all that came in; a notebook takes some seconds |
| `nbgrader generate_feedback 03_next_functions` | a page for each student, in `feedback/` |
| `nbgrader export` | all points, in `grades.csv` |

Below each exercise stands a locked cell that runs the exercise's check again on what the student wrote: it looks at
what the program did, at gradients and traces, never at a widget or at what is printed. A faded example or a puzzle
gives 1 point, an open exercise 2. Predictions and recall are not graded, and should not be: who fears a wrong
prediction does not learn from it. The grader's Python needs `minigrad-kit[lessons]` too.

**Progress.** `progress()` shows a student how far they are. It is kept in `.minigrad/progress.jsonl` beside their
lessons, one line for each answer, and nowhere else. Where there is no folder `.minigrad`, as in what nbgrader hands
out, it lasts until the kernel stops.

**Errors.** Where a cell raises, a lesson shows the student's lines and the line that raised. The frames of the library
in between are left out; `%debug` has them.

**Hints.** Each exercise has three: `hint("walk")` in a new cell gives the next one. `progress()` counts them.

## The lessons
"""
ORDER = """
A lesson recalls the lessons one, two and four before it, so take them in order. In class: ten minutes for recall and
the belief, fifteen for the predictions (collect them by show of hands before anybody runs the cell), five for the
inspector, the rest for the exercises, which go on at home.
"""

OPENING = 4  # cells: the title, the first inspector, its still picture and how long the lesson takes

# These answer no question of the list.
PROJECTS = {
    0: "Afterwards a student has written automatic differentiation for single numbers, and knows what a parent, a "
       "slope and a gradient are. Nothing is assumed but Python and the derivative of a product.",
    13: "Afterwards a student can read the graph of a model that they have not seen before, and can give autograd an "
        "operation, with the tests that it must pass.",
    16: "Afterwards a student has written the loop of a backward pass, and can say of a wrong one at which call it "
        "goes wrong: too early, too often, or with a part of the sum.",
    21: "Afterwards a student has used 21 facts of autograd, each in a line of their own: what makes a gradient zero, "
        "NaN or None, in which order nodes run, what keeps memory, and what raises which error.",
}


def lessons() -> dict[int, tuple[str, Any]]:
    """The name and the notebook of each lesson that has a key, by number."""
    return {int(name[:2]): (name, nbformat.read(ROOT / "notebooks" / f"{name}.ipynb", as_version=4)) for name in KEYS}


def sizes() -> list[str]:
    """The table of all lessons."""
    lines = ["| lesson | minutes | cells | words | predictions | exercises |", "|---|---|---|---|---|---|"]
    for name, notebook in lessons().values():
        title = notebook.cells[0].source
        minutes = re.search(r"[Aa]bout (\d+) minutes", "\n".join(cell.source for cell in notebook.cells[:OPENING]))
        words = sum(len(cell.source.split()) for cell in notebook.cells if cell.cell_type == "markdown")
        count = {tag: sum(tag in tags(cell) for cell in notebook.cells) for tag in ("predict", "check")}
        lines.append(f"| [{heading(title)}](../notebooks/{name}.ipynb) | {minutes[1] if minutes else ''} | "
                     f"{len(notebook.cells)} | {words} | {count['predict']} | {count['check']} |")
    return lines


def heading(title: str) -> str:
    first = title.splitlines()[0].removeprefix("# ")
    return first.removeprefix("Lesson ").replace(": ", ". ", 1) if first.startswith("Lesson ") else first


def plain(*texts: str) -> str:
    """Words for a cell of a table, as they are: nothing in them is markup. Each stands once."""
    return "<br>".join(dict.fromkeys(re.sub(r"([*|_<\[\]`])", r"\\\1", text) for text in texts))


def goals(number: int) -> list[str]:
    """What a student can answer afterwards."""
    answered = [asked.text for asked in ASKED.values() if number in asked.lessons]
    if not answered:
        return [PROJECTS[number], ""]
    return ["Afterwards a student can answer, by running something:\n", *(f"- {text}" for text in answered), ""]


def wrong_answers(number: int, name: str) -> list[str]:
    """What students say who are wrong, in the words in which the lesson answers them."""
    key = KEYS[name]
    lines = ["Common wrong answers, and what somebody thinks who gives them:\n", "| asked | thought |", "|---|---|"]
    lines += [f"| prediction {id} | {plain(*(belief.text for belief in entry.beliefs))} |"
              for id, entry in PREDICTIONS.items() if id.partition(".")[0] == str(number)]
    lines += [f"| exercise `{cell}` | {plain(*(words for _, words in wrong))} |"
              for cell, wrong in key.exercises_wrong.items()]
    lines += [f"| later, from memory: {plain(question.text)} | {plain(*(belief.text for belief in question.beliefs))} |"
              for id, question in QUESTIONS.items() if lesson_of(id) == number]
    refuted = [claim.text for claim in CLAIMS.values() if claim.lesson == number]
    said = [f"\nWhat they may have read, and what the lesson shows not to be so: {'; '.join(refuted)}."] * bool(refuted)
    return [*lines, *said]


def page() -> str:
    """The whole page."""
    lines = [HEAD.rstrip("\n"), "", *sizes(), ORDER.rstrip("\n")]
    for number, (name, notebook) in lessons().items():
        lines += [f"\n### {heading(notebook.cells[0].source)}\n", *goals(number), *wrong_answers(number, name)]
    return "\n".join(lines).replace(" | |", " |  |") + "\n"
