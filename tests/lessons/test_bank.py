"""The bank: no answer is stored, every misconception differs from what the engine does, one reason survives."""

import json
from ast import literal_eval
from pathlib import Path
from typing import Any

import pytest

import minigrad as torch
from minigrad_lessons import check
from minigrad_lessons.bank import PREDICTIONS, QUESTIONS, beliefs, lesson_of
from minigrad_lessons.bank.beliefs import answers_to, recognise
from minigrad_lessons.lint import GAPS
from minigrad_lessons.values import same
from tests.lessons.answers import KEYS
from tests.lessons.answers.lesson01 import TWELVE
from tests.lessons.play import need

RECALL = {id: value for key in KEYS.values() for id, value in key.recall.items()}
PREDICT = {id: value for key in KEYS.values() for id, value in key.predict.items()}
WHY = {id: letter for key in KEYS.values() for id, letter in key.why.items()}


def test_every_entry_of_the_bank_is_asked_and_has_a_key() -> None:
    """A recall question may wait only for a lesson that is not written yet."""
    written = {int(name[:2]) for name in KEYS}
    for id in QUESTIONS.keys() - RECALL.keys():
        assert {lesson_of(id) + gap for gap in GAPS} - written, f"{id} is never asked"
    assert RECALL.keys() <= QUESTIONS.keys()
    assert PREDICT.keys() == PREDICTIONS.keys() == WHY.keys()


@pytest.mark.parametrize("id", sorted(QUESTIONS))
def test_a_question_tells_its_misconceptions_from_the_answer(id: str) -> None:
    question = QUESTIONS[id]
    found = question.run()
    assert id not in RECALL or same(eval(RECALL[id]), found)
    assert question.beliefs
    for belief, answer in zip(question.beliefs, answers_to(id), strict=True):
        assert not same(answer, found), belief.text
        assert recognise(answer, question) == belief.text


def stale(kept: dict[str, list[str]], now: dict[str, list[str]]) -> set[str]:
    """The questions to which the beliefs on file give other answers than running them does."""
    def read(texts: list[str]) -> list[object]:
        return [literal_eval(text) for text in texts]

    return kept.keys() ^ now.keys() | {
        id for id in kept.keys() & now.keys()
        if [type(answer) for answer in read(kept[id])] != [type(answer) for answer in read(now[id])]
        or not same(read(kept[id]), read(now[id]))}


def test_the_beliefs_on_file_are_what_running_them_gives() -> None:
    kept, now = json.loads(beliefs.FILE.read_text(encoding="utf-8")), beliefs.learn()
    assert stale(kept, now) == set(), "python -m minigrad_lessons.build writes the file"
    assert stale(kept | {"5.1": ["3"]}, now) == stale(kept | {"5.1": ["2", "3"]}, now) == {"5.1"}
    lists = [repr(list(literal_eval(text))) for text in kept["q0.1"]]
    assert stale(kept | {"q0.1": lists}, now) == {"q0.1"}  # a list is no shape
    assert stale(kept | {"9.9": ["3"]}, now) == {"9.9"}


@pytest.mark.parametrize("id", sorted(PREDICTIONS))
def test_a_prediction_tells_its_misconceptions_from_the_answer(id: str) -> None:
    entry = PREDICTIONS[id]
    assert entry.beliefs
    for belief, answer in zip(entry.beliefs, answers_to(id), strict=True):
        assert not same(answer, eval(PREDICT[id])), belief.text
        assert recognise(answer, entry) == belief.text


@pytest.mark.parametrize("id", sorted(PREDICTIONS))
def test_one_reason_survives_and_the_engine_contradicts_the_others(id: str) -> None:
    need(id)
    why = PREDICTIONS[id].why
    assert set(why.reasons) == set("abc")
    assert [letter for letter in why.reasons if why.tried(letter)[-1].agrees] == [WHY[id]]
    assert [trial.code for trial in why.tried(WHY[id])] == list(why.cases)


def test_right_reasons_are_not_always_the_same_letter() -> None:
    for key in KEYS.values():
        assert not key.why or len(set(key.why.values())) == 3


@pytest.mark.parametrize(("answer", "found", "agree"), [
    (True, True, True), (1, True, False), (True, 1, False), ("None", None, True), ("none ", None, True),
    ((2, 3), [2, 3], True), ((2,), (2, 3), False), (24, 24.0, True), (23.9, 24.0, False), ("x", 1, False),
    ([1, 2], (1, 2), True), ({"a": 1}, {"a": 1}, True), ("AccumulateGrad", "accumulategrad", True),
])
def test_answers_are_compared_as_a_reader_would(answer: object, found: object, agree: bool) -> None:
    assert same(answer, found) is agree


@pytest.mark.parametrize("result", ["w[...]", "w[..., 0]", "w.expand(2, 2)", "w.expand_as(torch.ones(2, 2))", "w.t()"])
def test_numbers_that_only_move_are_no_arithmetic(result: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
                                                  ) -> None:
    source = f"def build(w):\n    return {result}\n"
    (tmp_path / "answer.py").write_text(source)
    names: dict[str, Any] = {"torch": torch}
    exec(compile(source, str(tmp_path / "answer.py"), "exec"), names)
    check.non_leaf(names["build"])
    assert "check.non_leaf: passed." in capsys.readouterr().out


def test_what_is_no_function_and_what_is_open_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    check.non_leaf(torch.ones(2))
    check.walk(None)
    check.twelve({})
    check.twelve(dict.fromkeys(TWELVE, "?"), w=torch.ones(2, 2), data=torch.ones(2), layer=torch.nn.Linear(2, 2),
                 x=torch.ones(2))
    said = capsys.readouterr().out
    assert "pass the function itself: check.non_leaf(build)" in said
    assert "pass the function itself: check.walk(walk)" in said
    assert "It asks for the twelve expressions" in said and "You left 12 of 12 open" in said
    assert "passed" not in said
