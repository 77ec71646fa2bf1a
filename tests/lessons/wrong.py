"""All wrong answers of a key in one run of its lesson, and what the lesson says to each.

`python -m tests.lessons.wrong 04` runs lesson 4 so and notes in feedback.json what its checks say to wrong answers,
for the pages for teachers; without a number it runs all lessons. `test_three_runs.py` holds the file to what they say.
"""

import copy
import json
import re
import sys
import tempfile
from itertools import groupby
from pathlib import Path
from typing import Any

import nbformat

from tests.groups import has_mpi
from tests.lessons.answers import KEYS
from tests.lessons.answers.kinds import Key, Wrong
from tests.lessons.play import PROCESSES, Notebook, lesson, write
from tests.lessons.player import play, player

FEEDBACK = Path(__file__).with_name("feedback.json")  # by lesson and cell: what is said to each wrong answer, in order
NAMED = re.compile(r"^check\.\w+: (?:not right yet: |not yet\. )?")


def wrong_run(name: str) -> Notebook:
    """A lesson with all wrong answers: where a cell holds an answer, there is one copy of it for each round."""
    key, given = KEYS[name], lesson(name)
    return interleave(given, [write(given, values(key, round), wrong_reasons(key, round), sources(key, round))
                              for round in range(rounds_of(key))])


def rounds_of(key: Key) -> int:
    """How many rounds it takes until each wrong answer was given."""
    return max(len(wrong) for wrong in (*key.exercises_wrong.values(), *key.recall_wrong.values(),
                                        *key.predict_wrong.values()))


def nth(wrong: dict[str, tuple[Wrong, ...]], round: int) -> dict[str, Wrong]:
    """One wrong answer to each question: the next one in each round."""
    return {id: answers[round % len(answers)] for id, answers in wrong.items()}


def values(key: Key, round: int) -> dict[str, str]:
    """The wrong recalls and predictions of a round."""
    return {id: answer for id, (answer, _) in (nth(key.recall_wrong, round) | nth(key.predict_wrong, round)).items()}


def sources(key: Key, round: int) -> dict[str, str]:
    """The wrong exercise cells of a round."""
    return {cell: source for cell, (source, _) in nth(key.exercises_wrong, round).items()}


def wrong_reasons(key: Key, round: int) -> dict[str, str]:
    """For each prediction one of its two wrong reasons."""
    return {id: [letter for letter in "abc" if letter != right][round % 2] for id, right in key.why.items()}


def interleave(given: Notebook, rounds: list[Notebook]) -> Notebook:
    """One notebook in which each run of answer cells stands once for each round, before the lesson goes on.

    A round that would only repeat the answers of an earlier one is left out, and so is the comparison with PyTorch,
    which no answer changes.
    """
    cells: list[Any] = []
    answers = [i for i, cell in enumerate(given.cells) if "answer" in cell.metadata.get("tags", [])]
    for is_answer, group in groupby(range(len(given.cells)), lambda i: i in answers):
        places = list(group)
        if not is_answer:
            cells.extend(given.cells[i] for i in places if "torch" not in given.cells[i].metadata.get("tags", []))
            continue
        sources = [[wrong.cells[i].source for i in places] for wrong in rounds]
        for round, wrong in enumerate(rounds):
            for i in places if sources.index(sources[round]) == round else []:
                cell = copy.deepcopy(wrong.cells[i])
                cell.id = f"{cell.id}-{round}"
                cells.append(cell)
    return nbformat.v4.new_notebook(cells=cells, metadata=given.metadata)


def sentence(printed: str, words: str) -> str:
    """The line of a check in which these words stand, without the name of the check."""
    line = next((line.strip() for line in printed.splitlines() if words in line), words)
    return NAMED.sub("", line)


def said_to_wrong(name: str, printed: dict[str, str]) -> dict[str, list[str]]:
    """What the checks of a lesson say to the wrong answers, by cell, from what each cell has printed."""
    return {cell: [sentence(printed[f"{cell}-{round}"], words) for round, (_, words) in enumerate(wrong)]
            for cell, wrong in KEYS[name].exercises_wrong.items()}


def main(numbers: list[str]) -> None:
    """Run these lessons, or all, and write down what they say."""
    found = json.loads(FEEDBACK.read_text(encoding="utf-8")) if FEEDBACK.exists() else {}
    with player() as server, tempfile.TemporaryDirectory() as folder:
        for name in sorted(KEYS):
            if (numbers and name[:2] not in numbers) or (name[:2] in PROCESSES and not has_mpi()):
                continue
            code = [(cell.id, cell.source) for cell in wrong_run(name).cells if cell.cell_type == "code"]
            found[name] = said_to_wrong(name, {each.id: each.text for each in play(server, code, Path(folder))})
    FEEDBACK.write_text(json.dumps(found, indent=1, ensure_ascii=False, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
