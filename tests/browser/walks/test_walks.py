"""What the walks found, held: a student with the keyboard alone answers every question of a lesson, and saves it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest

from tests.groups import has_browser, installed, require

pytestmark = pytest.mark.browser
require("browser", has_browser() and installed("jupyterlab"), "chromium, playwright or jupyterlab is not installed")

from playwright.sync_api import Browser, Page, expect

from tests.browser.fixtures import context
from tests.browser.jupyter import PATIENCE, Lab, open_notebook
from tests.browser.walks.student import FAR, Keyboard, Mouse, Student
from tests.browser.walks.walk import Walk

FIRST, ASKS = "00_build_it_yourself", "17_broadcasting"


@pytest.fixture
def window(browser: Browser, lessons: Lab) -> Iterator[Page]:
    """A laptop's window; its kernels end with it."""
    opened = context(browser, viewport={"width": 1280, "height": 800})
    yield opened.new_page()
    opened.close()
    for session in lessons.ask("api/sessions"):
        lessons.ask(f"api/sessions/{session['id']}", "DELETE")


def outputs(file: Path, cell: str) -> int:
    """How many outputs of a cell the file holds."""
    try:
        return sum(len(each.outputs) for each in nbformat.read(file, as_version=4).cells if each.id == cell)
    except nbformat.reader.NotJSONError:  # it is being written
        return 0


def saves(page: Page, file: Path, cell: str) -> bool:
    """Whether Ctrl+S, pressed where the keyboard is, puts the outputs of this cell into the file."""
    end = time.monotonic() + PATIENCE
    while outputs(file, cell) == 0 and time.monotonic() < end:
        page.keyboard.press("ControlOrMeta+s")
        page.wait_for_timeout(500)
    return outputs(file, cell) > 0


def test_every_question_is_answered_by_keys_alone_and_the_lesson_saved_meanwhile(window: Page, lessons: Lab) -> None:
    """The first picture, the questions from memory, and three predictions, their runs and reasons: half a minute, since
    it is one sitting. After each answer the keyboard is where the next is given, one sees where, and what was said is
    in the window. Texts are read, and the width is measured, at each stage."""
    open_notebook(window, lessons, f"{ASKS}.ipynb")
    student, file = Keyboard(window, ASKS), lessons.folder / f"{ASKS}.ipynb"
    student.run_through("setup")
    root = student.cell("setup").locator(".mg-root")
    expect(root).to_be_focused(timeout=FAR)
    assert saves(window, file, "setup") and root.get_attribute("data-slide") is None
    student.run_through("recall")
    card = student.card("recall")
    window.wait_for_function("card => card.contains(document.activeElement)", arg=card.element_handle())
    assert card.get_attribute("data-done") is None and saves(window, file, "recall")
    assert window.evaluate("document.activeElement.closest('.mg-question-card') !== null")
    student.cell("setup").locator(".jp-InputArea-prompt").click()
    walk = Walk(student)
    walk.through("r3")
    assert walk.found == []
    assert student.page.locator(".mg-question-card:not([data-done])").count() == 0


@pytest.mark.parametrize("name", ["03_next_functions", "08_inplace_and_versions", "18_writing_into_tensors",
                                  "22_the_other_direction"])
def test_questions_are_answered_by_the_mouse_alone(window: Page, lessons: Lab, name: str) -> None:
    """Wrongly and rightly. The script, walk.py, goes on to the end, and through all lessons."""
    open_notebook(window, lessons, f"{name}.ipynb")
    walk = Walk(Mouse(window, name))
    walk.through("r3")
    assert walk.found == []
    assert window.locator(".mg-question-card:not([data-done])").count() == 0


@pytest.mark.parametrize("way", [Mouse, Keyboard])
def test_two_actions_lead_to_a_number_that_is_dragged(window: Page, lessons: Lab, way: type[Student]) -> None:
    """Shift+Enter twice, or the button that runs: then lesson 0 has a number under the hand, which everything follows,
    and its still picture has given way."""
    open_notebook(window, lessons, f"{FIRST}.ipynb")
    began, student = time.monotonic(), way(window, FIRST)
    still = student.cell("still").locator("img")
    expect(still).to_be_visible()
    student.run_one()
    student.run_one()
    root = student.cell("setup").locator(".mg-root")
    a, result = root.locator("svg [aria-label=a]"), root.locator(".mg-result")
    expect(result).to_have_text("d = −4", timeout=FAR)
    box = a.bounding_box()
    assert box is not None and box["y"] + box["height"] < 800
    if way is Keyboard:
        expect(root).to_be_focused()
        while window.evaluate("document.activeElement.ariaLabel") != "a":
            window.keyboard.press("Tab")
        window.keyboard.press("ArrowUp")
    else:
        window.mouse.move(box["x"] + 40, box["y"] + 20)
        window.mouse.down()
        window.mouse.move(box["x"] + 80, box["y"] + 20, steps=4)
        window.mouse.up()
    expect(result).not_to_have_text("d = −4")
    print(f"{time.monotonic() - began:.1f} s from the open lesson to a number moved")
    expect(still).to_be_hidden()
