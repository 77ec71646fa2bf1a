"""The three runs of each lesson: unsolved, solved, and wrong, with every wrong answer that the key knows."""

import json
from collections.abc import Callable

import pytest

from tests.lessons.answers import KEYS
from tests.lessons.play import PROCESSES, Notebook, cell_with, lesson, write
from tests.lessons.wrong import FEEDBACK, said_to_wrong, wrong_reasons, wrong_run

Run = Callable[[Notebook], dict[str, str]]

LESSONS = sorted(KEYS)


@pytest.mark.parametrize("name", LESSONS)
def test_unsolved_it_runs_to_the_end_and_says_not_yet(name: str, run: Run) -> None:
    notebook, key = lesson(name), KEYS[name]
    printed = run(notebook)
    asked = [*key.exercises, *(cell_with(notebook, "predict", id) for id in key.predict),
             *(cell_with(notebook, "reveal", id) for id in key.predict)]
    assert asked
    for cell in asked:
        assert "not yet" in printed[cell], cell
    assert printed.get("recall", "").count("not yet") == len(key.recall)


@pytest.mark.parametrize("name", LESSONS)
def test_solved_everything_passes_and_every_reveal_agrees(name: str, run: Run) -> None:
    key = KEYS[name]
    notebook = write(lesson(name), key.recall | key.predict, key.why, key.exercises)
    printed = run(notebook)
    assert printed.get("recall", "").count(": right.") == len(key.recall)
    for id in key.predict:
        revealed = printed[cell_with(notebook, "reveal", id)]
        assert "The run agrees." in revealed and f"Reason {key.why[id]} holds" in revealed, revealed
    for cell in key.exercises:
        assert "passed." in printed[cell], printed[cell]
    assert not [cell for cell, text in printed.items() if "not yet" in text]


def test_the_walk_on_a_diamond_is_right_and_calls_too_often(run: Run) -> None:
    key = KEYS["03_next_functions"]
    printed = run(write(lesson("03_next_functions"), {}, {}, key.exercises))
    assert "not a tree: .grad is right too, after 6 calls for 4 nodes" in printed["faded"], printed["faded"]


@pytest.mark.parametrize("name", LESSONS)
def test_wrong_every_answer_is_rejected_by_its_name(name: str, run: Run) -> None:
    """All wrong answers in one run: where a cell holds an answer, there is one copy of it for each round."""
    key, given = KEYS[name], lesson(name)
    printed = run(wrong_run(name))
    for id, wrong in key.recall_wrong.items():
        for round, (_, words) in enumerate(wrong):
            assert words in printed[f"recall-{round}"], id
            assert ": right." not in printed[f"recall-{round}"]
    for id, wrong in key.predict_wrong.items():
        for round in range(max(len(wrong), 2)):  # there are two wrong reasons
            words, revealed = wrong[round % len(wrong)][1], printed[f"{cell_with(given, 'reveal', id)}-{round}"]
            assert "The run disagrees." in revealed and words in revealed, revealed
            assert f"Reason {wrong_reasons(key, round)[id]} does not hold" in revealed, revealed
    for cell, wrong in key.exercises_wrong.items():
        for round, (_, words) in enumerate(wrong):
            judged = printed[f"{cell}-{round}"]
            assert words in judged and "passed." not in judged, judged
    known = json.loads(FEEDBACK.read_text(encoding="utf-8"))[name]
    assert name[:2] in PROCESSES or said_to_wrong(name, printed) == known, (
        f"run `python -m tests.lessons.wrong {name[:2]}`, then `python -m tests.lessons.pages`")


@pytest.mark.parametrize("name", LESSONS)
def test_every_exercise_has_a_right_answer_and_two_wrong_ones(name: str) -> None:
    key, given = KEYS[name], lesson(name)
    exercises = {cell.id for cell in given.cells if "check" in cell.metadata.get("tags", [])}
    assert exercises == key.exercises.keys() == key.exercises_wrong.keys()
    assert all(len(set(wrong)) >= 2 for wrong in key.exercises_wrong.values())
    assert key.recall.keys() == key.recall_wrong.keys() and key.predict.keys() == key.predict_wrong.keys()
