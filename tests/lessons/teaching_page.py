"""Writes docs/teaching.md, and a page for each lesson in docs/teaching/. `python -m tests.lessons.pages`.

Sizes and times come from the notebooks, what a lesson answers from `minigrad_lessons.questions`, the common wrong
answers from the bank and from feedback.json (`python -m tests.lessons.wrong`). `test_questions.py` holds the pages to
what comes out here.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from minigrad_lessons.bank import PREDICTIONS, QUESTIONS, lesson_of
from minigrad_lessons.bank.kinds import Belief
from minigrad_lessons.questions import CLAIMS
from minigrad_lessons.questions import QUESTIONS as ASKED
from minigrad_lessons.teaching.course import Lesson, lessons
from minigrad_lessons.values import show
from tests.lessons.play import lesson as notebook
from tests.lessons.wrong import FEEDBACK

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "teaching.md"
HEAD = """# Teaching with the lessons

Each lesson is a notebook that asks before it shows, and that checks what students write. This page says what to hand
out and how long things take. Each lesson has a page of its own: what it is for, how its minutes are spent, and which
wrong answers to expect. The tables are made by `python -m tests.lessons.pages`.

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

`nbgrader` need not be on the path: `minigrad lessons release --nbgrader` ends with the command to type, which has the
path of the nbgrader beside its own Python, should that environment not be activated.

**Progress.** `progress()` shows a student how far they are. It is kept in `.minigrad/progress.jsonl` beside their
lessons, one line for each answer with its time, and nowhere else. Where there is no folder `.minigrad`, as in what
nbgrader hands out, it lasts until the kernel stops.

**What your class made of it.** Collect the students' `progress.jsonl`, with their consent, in a folder for each
student, and run `minigrad lessons report DIR`. It writes a page for each lesson that somebody has begun: how long it
took, which wrong predictions were given how often and the thought behind each, which exercises failed how, and what was
remembered later. The pages name nobody; `--names` adds a table by student. A file that cannot be read costs one line.

**Errors.** Where a cell raises, a lesson shows the student's lines and the line that raised. The frames of the library
in between are left out; `%debug` has them.

**Hints.** Each exercise has three: `hint("walk")` in a new cell gives the next one. `progress()` counts them.

## Show it to a class

Click an inspector and press s, or the button with the screen: the slide view fills the screen
with the step's sentence and its picture, in type that the last row can read. → or a presenter's clicker goes one step
on, ← one back; s or Escape leads back into the page. Ask mode works there too: let the class answer before you step.
It works in JupyterLab, in pages saved by `.to_html()` and on the site, so a lecture needs no kernel. Where a browser
does not give the screen, it fills the window.

## The lessons
"""
ORDER = """
A lesson recalls the lessons one, two and four before it, so take them in order. In class: ten minutes for recall and
the belief, fifteen for the predictions (collect them by show of hands before anybody runs the cell), five for the
inspector, the rest for the exercises, which go on at home.
"""

# These answer no question of the list.
PROJECTS = {
    0: "Afterwards a student has written automatic differentiation for single numbers, and knows what a parent, a "
       "slope and a gradient are. Nothing is assumed but Python and the derivative of a product.",
    13: "Afterwards a student can read the graph of a model that they have not seen before, and can give autograd an "
        "operation, with the tests that it must pass.",
    14: "Afterwards a student can say what data parallelism sends, when, and why copies that see different data stay "
        "equal; and has written it: hooks that average, buckets, accumulation with no_sync, a step on sharded rows, a "
        "hook that compresses.",
    16: "Afterwards a student has written the loop of a backward pass, and can say of a wrong one at which call it "
        "goes wrong: too early, too often, or with a part of the sum.",
    15: "Afterwards a student has read the program that a compiler makes of a training step, knows what it is checked "
        "against before each run and what cannot become a program, and has written two of the passes that shorten it.",
    21: "Afterwards a student has used 21 facts of autograd, each in a line of their own: what makes a gradient zero, "
        "NaN or None, in which order nodes run, what keeps memory, and what raises which error.",
}


def sizes() -> list[str]:
    """The table of all lessons."""
    lines = ["| lesson | minutes | cells | words | predictions | exercises | for teachers |",
             "|---|---|---|---|---|---|---|"]
    return lines + [
        f"| [{each.title}](../notebooks/{each.name}.ipynb) | {each.minutes} | {each.cells} | {each.words} | "
        f"{each.count('predictions')} | {each.count('exercises') + each.count('puzzles')} | "
        f"[{each.number}](teaching/{each.name}.md) |" for each in lessons().values()]


def times(lesson: Lesson) -> list[str]:
    """How the minutes of a lesson are spent."""
    return [f"About {lesson.minutes} minutes, split by what the parts hold:\n", "| part | minutes | holds |",
            "|---|---|---|", *(f"| {part.heading} | {part.time} | {part.told} |" for part in lesson.parts), ""]


def plain(*texts: str) -> str:
    """Lines for a cell of a table, as they are: nothing in them is markup."""
    return "<br>".join(re.sub(r"([*|_<\[\]`])", r"\\\1", text) for text in texts)


def goals(number: int) -> list[str]:
    """What a student can answer afterwards."""
    answered = [asked.text for asked in ASKED.values() if number in asked.lessons]
    if not answered:
        return [PROJECTS[number], ""]
    return ["Afterwards a student can answer, by running something:\n", *(f"- {text}" for text in answered), ""]


def said(beliefs: tuple[Belief, ...]) -> str:
    """Wrong answers, each with the thought that leads there."""
    return plain(*dict.fromkeys(f"{show(belief.answer())}: {belief.text}" for belief in beliefs))


def wrong_answers(lesson: Lesson) -> list[str]:
    """What students say who are wrong, in the words in which the lesson answers them."""
    lines = ["Common wrong answers, and the thought behind each:\n", "| asked | wrong answers |", "|---|---|"]
    lines += [f"| prediction {id}<br>{plain(*lesson.asked[id].splitlines())} | {said(entry.beliefs)} |"
              for id, entry in PREDICTIONS.items() if id.partition(".")[0] == str(lesson.number)]
    sentences = json.loads(FEEDBACK.read_text(encoding="utf-8"))[lesson.name]
    lines += [f"| {plain(heading)} | {plain(*dict.fromkeys(sentences[cell]))} |"
              for cell, heading in headings(lesson.name).items() if cell in sentences]
    lines += [f"| later, from memory: {plain(question.text)} | {said(question.beliefs)} |"
              for id, question in QUESTIONS.items() if lesson_of(id) == lesson.number]
    refuted = [claim.text for claim in CLAIMS.values() if claim.lesson == lesson.number]
    read = [f"\nCommon claims that this lesson disproves: {'; '.join(refuted)}."] * bool(refuted)
    return [*lines, *read]


def headings(name: str) -> dict[str, str]:
    """For each cell with a check, the heading under which it stands."""
    found, heading = {}, ""
    for cell in notebook(name).cells:
        if cell.cell_type == "markdown":
            heading = next(reversed(re.findall(r"^##+ (.+)$", cell.source, re.MULTILINE)), heading)
        elif "check" in cell.metadata.get("tags", []):
            found[cell.id] = heading
    return found


def page() -> str:
    """The page about all lessons."""
    return "\n".join([HEAD.rstrip("\n"), "", *sizes(), ORDER.rstrip("\n")]) + "\n"


def pages() -> dict[Path, str]:
    """Every page, by its file."""
    made = {PAGE: page()}
    for number, lesson in lessons().items():
        head = [f"# Teaching: {lesson.title}\n",
                f"The lesson: [{lesson.name}](../../notebooks/{lesson.name}.ipynb). All lessons: "
                "[Teaching with the lessons](../teaching.md).\n"]
        lines = [*head, *goals(number), *times(lesson), *wrong_answers(lesson)]
        made[PAGE.with_suffix("") / f"{lesson.name}.md"] = "\n".join(lines).replace(" | |", " |  |") + "\n"
    return made
