"""The question card: what is clicked is judged, what is shown is the new face, and the text is always there."""

from __future__ import annotations

from typing import Any

from minigrad_widgets.widget.question_card import QuestionCard


def judge(answer: str) -> dict[str, Any]:
    return {"plain": f"you said {answer}", "chosen": answer}


def test_an_answer_is_judged_and_brings_a_new_face() -> None:
    card = QuestionCard({"plain": "Yes or no?", "chosen": ""}, judge)
    assert repr(card) == "Yes or no?"
    card.said = {"answer": "yes", "number": 1}
    assert card.face == {"plain": "you said yes", "chosen": "yes"} and repr(card) == "you said yes"


def test_the_same_answer_may_be_given_twice() -> None:
    heard: list[str] = []
    card = QuestionCard({"plain": "?"}, lambda answer: {"plain": str(heard.append(answer))})
    for number in (1, 2):
        card.said = {"answer": "no", "number": number}
    assert heard == ["no", "no"]


def test_the_bundle_has_the_text_beside_the_widget() -> None:
    data, _ = QuestionCard({"plain": "Yes or no?"}, judge)._repr_mimebundle_()
    assert data["text/plain"] == "Yes or no?" and "application/vnd.jupyter.widget-view+json" in data


def test_many_cards_are_light_enough_for_one_notebook() -> None:
    """Where something else than the page saves a notebook, it has each card's script and the style of all widgets."""
    state = QuestionCard({"plain": "?"}, judge).get_state()
    assert 0 < sum(len(value) for value in state.values() if isinstance(value, str)) < 75_500
