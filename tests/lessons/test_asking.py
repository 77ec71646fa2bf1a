"""What a student meets who answers out of turn, with something unknown, or with "?"."""

import importlib
from types import ModuleType

import pytest

from minigrad_lessons import check, hint, predict, recall, reveal, same_in_torch
from minigrad_lessons.build import transcribe
from minigrad_lessons.hint import hints_of
from tests.groups import has_torch, require

Capture = pytest.CaptureFixture[str]
same = importlib.import_module("minigrad_lessons.same_in_torch")  # the package's name `same_in_torch` is the function


def said(capture: Capture) -> str:
    return capture.readouterr().out


def test_a_reveal_shows_nothing_before_the_prediction(capsys: Capture) -> None:
    predict("1.5", ...)
    reveal("1.5", "the secret", why="c")
    text = said(capsys)
    assert "not yet" in text and "secret" not in text and "holds" not in text


def test_not_to_know_shows_the_run_and_asks_why(capsys: Capture) -> None:
    predict("1.5", "?")
    reveal("1.5", 3)
    text = said(capsys)
    assert "The run says: 3." in text and "You left it open" in text
    assert all(f"      {letter}  " in text for letter in "abc") and "holds" not in text


def test_a_prediction_can_be_taken_back(capsys: Capture) -> None:
    predict("1.5", 4)
    predict("1.5", ...)
    reveal("1.5", 3)
    assert "The run says" not in said(capsys)


def test_an_unknown_wrong_prediction_gets_a_hint_and_no_name(capsys: Capture) -> None:
    predict("1.5", 17)
    reveal("1.5", 3)
    text = said(capsys)
    assert "It differs." in text and "People say so" not in text and "Run the lines one by one" in text


@pytest.mark.parametrize("word", ["yes", "true", " True"])
def test_yes_is_true_and_no_is_false(word: str, capsys: Capture) -> None:
    predict("1.1", word)
    reveal("1.1", True)
    predict("1.2", "no")
    reveal("1.2", False)
    assert said(capsys).count("The same.") == 2


def test_a_letter_that_is_no_reason(capsys: Capture) -> None:
    predict("1.5", 3)
    reveal("1.5", 3, why="d")
    assert "d is none of the reasons: write one of a, b, c." in said(capsys)


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
    assert "that is not what the run gives" in text


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
    monkeypatch.setattr(same, "pytorch", lambda: None)

    @same_in_torch
    def program(torch: ModuleType) -> None:
        print(torch.ones(2))

    text = said(capsys)
    assert text.startswith("tensor([1., 1.])") and "there is nothing to compare it with" in text


def test_a_difference_is_shown(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    other = ModuleType("torch")
    other.__version__ = "0"  # type: ignore[attr-defined]  # a stand-in for PyTorch
    monkeypatch.setattr(same, "pytorch", lambda: other)

    @same_in_torch
    def program(torch: ModuleType) -> None:
        print("it is", torch.__name__)

    text = said(capsys)
    assert "minigrad prints:\nit is minigrad\n" in text and "PyTorch prints:\nit is torch\n" in text


def test_the_stored_transcripts_are_what_pytorch_prints() -> None:
    require("torch", has_torch(), "PyTorch 2.13 is not installed")
    library = same.pytorch()
    assert library is not None
    assert transcribe(library) == same.transcripts()
