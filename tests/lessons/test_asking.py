"""What a student meets who answers out of turn, with something unknown, or with "?"."""

import importlib
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import ModuleType

import pytest

from minigrad_lessons import check, hint, notes, predict, recall, reveal, same_in_torch
from minigrad_lessons.bank import PREDICTIONS, QUESTIONS
from minigrad_lessons.bank.beliefs import answers_to
from minigrad_lessons.build import transcribe
from minigrad_lessons.forms import form_of, read
from minigrad_lessons.hint import hints_of
from minigrad_lessons.values import same
from tests.groups import has_torch, require
from tests.lessons.answers import KEYS
from tests.lessons.answers.kinds import Key
from tests.lessons.play import ROOT

Capture = pytest.CaptureFixture[str]
torch_side = importlib.import_module("minigrad_lessons.same_in_torch")  # in the package that name is the function
predicting = importlib.import_module("minigrad_lessons.predict")  # likewise


def said(capture: Capture) -> str:
    return capture.readouterr().out


def test_a_reveal_shows_nothing_before_the_prediction(capsys: Capture) -> None:
    predict("1.5")
    reveal("1.5", "the secret", why="c")
    text = said(capsys)
    assert "not yet" in text and "secret" not in text and "holds" not in text


def test_not_to_know_shows_the_run_and_asks_why(capsys: Capture) -> None:
    predict("1.5", "?")
    reveal("1.5", 3)
    text = said(capsys)
    assert "The run says 3." in text and "You left it open" in text
    assert all(f"      {letter}  " in text for letter in "abc") and "holds" not in text


def test_a_prediction_can_be_changed_before_the_run(capsys: Capture) -> None:
    predict("1.5", 4)
    predict("1.5", 3)
    reveal("1.5", 3)
    assert "You said 3. The run agrees." in said(capsys)


def test_an_unknown_wrong_prediction_gets_a_hint_and_no_name(capsys: Capture) -> None:
    predict("3.1", 17)
    reveal("3.1", 2)
    text = said(capsys)
    assert "The run disagrees." in text and "You may be thinking" not in text and "Run the lines one by one" in text


@pytest.fixture(autouse=True)
def nothing_said() -> None:
    """Each test is a student who has not begun."""
    predicting._said.clear()
    predicting._waiting.clear()
    predicting._revealed.clear()


@pytest.mark.parametrize("word", ["yes", "true", " True"])
def test_yes_is_true_and_no_is_false(word: str, capsys: Capture) -> None:
    predict("1.1", word)
    reveal("1.1", True)
    predict("1.2", "no")
    reveal("1.2", False)
    assert said(capsys).count("The run agrees.") == 2


def test_a_letter_that_is_no_reason(capsys: Capture) -> None:
    predict("1.5", 3)
    reveal("1.5", 3, why="d")
    assert "d is none of the reasons: choose one of a, b, c." in said(capsys)


@pytest.mark.parametrize(("id", "answer", "asks"), [
    ("1.1", 7, "True or False"), ("1.1", "maybe", "True or False"), ("1.1", None, "True or False"),
    ("3.1", True, "a number, such as 7"), ("3.1", [1], "a number, such as 7"), ("3.1", "many", "a number, such as 7"),
    ("1.3", 3, "one of 0, 1, 2"), ("4.5", "error", "a number, such as 7, or None"),
    ("4.3", [1, 2, 3], "a list, such as [7, 7]"), ("4.3", 2, "a list, such as [7, 7]"),
    ("2.1", [1, 2], "a list of 2, each True or False"), ("8.4", "None", "a list, such as [7, 7], or error"),
    ("3.4", 7, "the name of a class, such as Tensor, or None"), ("q0.1", 6, "a shape, such as (4, 5)"),
    ("q0.1", [True], "a shape, such as (4, 5)"), ("q2.1", 7, "True or False"),
])
def test_what_does_not_fit_is_refused_and_not_noted(id: str, answer: object, asks: str, capsys: Capture) -> None:
    before = notes.kept()
    ask = recall if id.startswith("q") else predict
    ask(id, answer)
    assert f"does not fit this question. It asks for {asks}." in said(capsys)
    if ask is predict:
        assert id not in predicting._said
    assert notes.kept() == before


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
def test_every_answer_of_the_keys_fits_its_question(key: Key) -> None:
    wrong = {id: [answer for answer, _ in answers] for id, answers in (key.predict_wrong | key.recall_wrong).items()}
    for id, right in (key.predict | key.recall).items():
        form = form_of(PREDICTIONS[id] if id in PREDICTIONS else QUESTIONS[id])
        for answer in (right, *wrong[id]):
            assert same(read(form, eval(answer)), read(form, answer)), (id, answer)
        assert all(not same(read(form, eval(right)), example) for example in (form.asks.rpartition("such as ")[2],))


def rooms_of(work: Callable[[], object]) -> list[str]:
    """The folders of this project whose functions a piece of work calls: one entry for each call."""
    called: list[str] = []
    sys.setprofile(lambda frame, event, _: called.append(frame.f_code.co_filename) if event == "call" else None)
    try:
        work()
    finally:
        sys.setprofile(None)
    paths = [Path(path).relative_to(ROOT).parts[:2] for path in called if path.startswith(str(ROOT))]
    return ["/".join(path) for path in paths if path[0] in ("minigrad", "widgets", "notebooks")]


def test_to_note_a_prediction_and_to_tell_what_happened_runs_no_engine() -> None:
    for id, right in {id: right for key in KEYS.values() for id, right in key.predict.items()}.items():
        for answer in (eval(right), *answers_to(id)):
            noted, told = rooms_of(partial(predict, id, answer)), rooms_of(partial(reveal, id, eval(right)))
            assert len(noted) <= 120 and len(told) <= 120, (id, len(noted), len(told))
            assert set(noted + told) <= {"notebooks/minigrad_lessons", "minigrad/_base"}, id
            predicting._said.clear()


@pytest.mark.parametrize("ask", [lambda: predict("9.9", 1), lambda: recall("q9.9", 1)])
def test_an_id_that_is_not_there_names_those_that_are(ask: object) -> None:
    with pytest.raises(KeyError, match=r"There are: .*1\.1"):
        ask()  # type: ignore[operator]  # a lambda, given as a parameter


def test_recall_tells_how_to_find_out_and_never_the_answer(capsys: Capture) -> None:
    recall("q0.4", "?")
    recall("q0.4", 8)
    recall("q0.4", 1234)
    text = said(capsys)
    assert text.count("To find out: measure it") == 3 and "24" not in text
    assert "1234: not what the run gives." in text


@pytest.mark.parametrize("name", check.__all__)
def test_a_check_has_three_hints(name: str, capsys: Capture) -> None:
    assert len(set(hints_of(name))) == 3
    for number in (1, 2, 3, 3):
        hint(name)
        assert said(capsys) == f"check.{name}, hint {number} of 3: {hints_of(name)[number - 1]}\n"


def test_a_hint_for_something_unknown_names_the_checks() -> None:
    with pytest.raises(KeyError, match=r"no check 'jog'.*walk"):
        hint("jog")


def test_twelve_means_all_twelve(capsys: Capture) -> None:
    for answers in ({}, {"torch.ones(2)": True}, None):
        check.twelve(answers)
        text = said(capsys)
        assert "not yet" in text and "It asks for the twelve expressions" in text and "passed" not in text


def test_a_program_that_was_changed_needs_pytorch(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch_side, "pytorch", lambda: None)

    @same_in_torch
    def program(torch: ModuleType) -> None:
        print(torch.ones(2))

    text = said(capsys)
    assert text.startswith("tensor([1., 1.])") and "there is nothing to compare it with" in text


def test_a_difference_is_shown(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    other = ModuleType("torch")
    other.__version__ = "0"  # type: ignore[attr-defined]  # a stand-in for PyTorch
    monkeypatch.setattr(torch_side, "pytorch", lambda: other)

    @same_in_torch
    def program(torch: ModuleType) -> None:
        print("it is", torch.__name__)

    text = said(capsys)
    assert "minigrad prints:\nit is minigrad\n" in text and "PyTorch prints:\nit is torch\n" in text


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated")  # by PyTorch's own jvp, as it loads
def test_the_stored_transcripts_are_what_pytorch_prints() -> None:
    require("torch", has_torch(), "PyTorch 2.13 is not installed")
    library = torch_side.pytorch()
    assert library is not None
    assert transcribe(library) == torch_side.transcripts()
