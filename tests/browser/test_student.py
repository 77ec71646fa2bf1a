"""A student at work on a lesson, in a window of 1,280 × 800: by the keyboard alone, and by the mouse alone.

The first inspector, a question from memory, two predictions, their runs and the reasons; answers that do not fit,
wrong ones and right ones. `MINIGRAD_SHOTS=folder` keeps a picture of each stage.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.groups import has_browser, installed, require

pytestmark = pytest.mark.browser
require("browser", has_browser() and installed("jupyterlab"), "chromium, playwright or jupyterlab is not installed")

from playwright.sync_api import Browser, expect

from minigrad_lessons.bank import PREDICTIONS
from minigrad_lessons.bank.kinds import Prediction
from tests.browser.fixtures import context
from tests.browser.jupyter import Lab, open_notebook, settings
from tests.browser.walks.student import FAR, Keyboard, Mouse, Student
from tests.lessons.answers import KEYS

BUILT = {"00_build_it_yourself": "slopes", "21_puzzles": "zeros"}  # lessons that ask nothing, and their first exercise
WALKED = ("01_tensors_and_leaves", "03_next_functions", "10_checkpoint")
THEMES = {"mouse": "JupyterLab Light", "keyboard": "JupyterLab Dark"}


@pytest.fixture(params=[Mouse, Keyboard], ids=["mouse", "keyboard"])
def student(request: pytest.FixtureRequest, browser: Browser, lessons: Lab) -> Iterator[Callable[[str], Student]]:
    """Opens a lesson: by the mouse in the light theme, by the keyboard in the dark one."""
    settings(lessons.home, THEMES[request.param.__name__.lower()])
    window = context(browser, viewport={"width": 1280, "height": 800})
    page = window.new_page()

    def opens(name: str) -> Student:
        open_notebook(page, lessons, f"{name}.ipynb")
        return request.param(page, name)

    yield opens
    for session in lessons.ask("api/sessions"):
        lessons.ask(f"api/sessions/{session['id']}", "DELETE")
    window.close()
    settings(lessons.home, "JupyterLab Light")


def wrong_of(entry: Prediction, right: str) -> str:
    return next(letter for letter in entry.why.reasons if letter != right)


def stepped(at_work: Student) -> None:
    """Run the first cell, and take a step in its inspector."""
    at_work.run_through("setup")
    root = at_work.cell("setup").locator(".mg-root")
    root.wait_for(timeout=FAR)
    before = root.get_attribute("data-step")
    at_work.step(root)
    expect(root).not_to_have_attribute("data-step", before or "")
    at_work.shot("1-stepped")


@pytest.mark.parametrize("name", WALKED)
def test_a_student_begins_a_lesson(student: Callable[[str], Student], name: str) -> None:
    """Look, step, remember, predict, run and reason; a wrong prediction first, then a right one."""
    at_work, key = student(name), KEYS[name]
    at_work.shot("0-opened")
    stepped(at_work)
    recalls(at_work, key.recall, {id: wrong[0][0] for id, wrong in key.recall_wrong.items()})
    first, second = list(key.predict)[:2]
    wrong = key.predict_wrong[first][0][0]
    assert key.predict[first] != wrong
    predicted(at_work, 1, wrong, f"You said {wrong}. The run disagrees.")
    reasoned(at_work, first, key.why[first])
    right = key.predict[second]
    predicted(at_work, 2, right, f"You said {right}. The run agrees.")


@pytest.mark.parametrize("name", BUILT)
def test_a_student_writes_an_exercise(student: Callable[[str], Student], name: str) -> None:
    """Look, step, and write: an answer that is wrong, and says so at once, then the right one."""
    at_work, key, id = student(name), KEYS[name], BUILT[name]
    stepped(at_work)
    while at_work.at() < at_work.ids.index(id):
        at_work.run_one()
    wrong, words = key.exercises_wrong[id][0]
    for source, said in ((wrong, words), (key.exercises[id], "passed.")):
        at_work.write(id, source)
        expect(at_work.cell(id).locator(".jp-OutputArea")).to_contain_text(said, timeout=FAR)
        at_work.cell(id).locator(".jp-OutputArea").scroll_into_view_if_needed()
        at_work.shot(f"2-{said.strip('.')[:6]}")


def test_two_actions_lead_to_the_first_picture(student: Callable[[str], Student]) -> None:
    """Twice Shift+Enter, or twice the button that runs: within a minute the inspector of lesson 1 is there."""
    at_work = student("01_tensors_and_leaves")
    for _ in range(2):
        at_work.run_one()
    root = at_work.cell("setup").locator(".mg-root")
    root.wait_for(timeout=60_000)
    before = root.get_attribute("data-step")
    at_work.step(root)
    expect(root).not_to_have_attribute("data-step", before or "")


def recalls(at_work: Student, right: dict[str, str], wrong: dict[str, str]) -> None:
    """The first question from memory: a wrong answer, then the right one."""
    at_work.run_through("recall")
    id, card = next(iter(right)), at_work.card("recall")
    for answers, tone in ((wrong, "bad"), (right, "good")):
        answer = str(eval(answers[id]))
        if card.locator(".mg-field").count():
            at_work.type(card, "no idea")
            expect(card.locator("[data-tone=refused]")).to_be_visible(timeout=FAR)
            at_work.type(card, answer)
        else:
            at_work.choose(card, answer)
        expect(card.locator(f"[data-tone={tone}]")).to_be_visible(timeout=FAR)
        at_work.shot(f"2-recalled-{tone}")
    expect(card).to_have_attribute("data-done", "true")


def predicted(at_work: Student, number: int, answer: str, told: str) -> None:
    """A prediction, and its run, which says whether it holds."""
    asked, run = f"p{number}", f"r{number}"
    at_work.run_through(asked)
    card = at_work.card(asked)
    if card.locator(".mg-field").count():
        at_work.type(card, "a word or two")
        expect(card.locator("[data-tone=refused]")).to_be_visible(timeout=FAR)
        at_work.shot(f"3-refused-{number}")
        at_work.type(card, answer)
    else:
        at_work.shot(f"3-asked-{number}")
        at_work.choose(card, answer)
    expect(card).to_have_attribute("data-done", "true", timeout=FAR)
    at_work.run_through(run)
    expect(at_work.card(run)).to_contain_text(told, timeout=FAR)
    at_work.shot(f"4-revealed-{number}")


def reasoned(at_work: Student, id: str, right: str) -> None:
    """A reason that does not hold, then the one that does."""
    card = at_work.card("r1")
    at_work.choose(card, wrong_of(PREDICTIONS[id], right))
    expect(card.locator("[role=status] [data-tone=bad]")).to_be_visible(timeout=FAR)
    at_work.shot("5-wrong-reason")
    at_work.choose(card, right)
    expect(card.locator("[role=status] [data-tone=good]")).to_be_visible(timeout=FAR)
    at_work.shot("6-right-reason")
    assert at_work.page.evaluate("document.activeElement.closest('.jp-Cell')") is not None
    assert at_work.at() > at_work.ids.index("r1") or isinstance(at_work, Mouse)
