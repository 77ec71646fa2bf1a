"""The slide view: by a key and by a button, large enough for the last row, in both windows and themes, and back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.groups import has_browser, installed, require

pytestmark = pytest.mark.browser
require("browser", has_browser() and installed("jupyterlab"), "chromium, playwright or jupyterlab is not installed")

from playwright.sync_api import Browser, Locator, Page, expect

from minigrad_widgets import Inspector
from tests.browser.book import Book
from tests.browser.fixtures import WINDOWS, Axe, context, keep
from tests.browser.test_look import VIEWS
from tests.widgets.programs import blocks

SHOWN = ("forward", "backward", "checkpoint", "traversal", "modules", "comparison", "aliases", "ledger", "explorer")
LARGE = 24  # pixels, for the sentence; the picture's smallest text is 13 pixels high before it is enlarged
READABLE = 14
SIZE = "element => parseFloat(getComputedStyle(element).fontSize)"
SMALLEST = """root => Math.min(...[...root.querySelectorAll('.mg-title, .mg-word, td, th, .mg-owner, .mg-call')]
  .filter(each => each.checkVisibility() && each.textContent.trim())
  .map(each => parseFloat(getComputedStyle(each).fontSize) * (each.getScreenCTM?.().a ?? each.currentCSSZoom ?? 1)))"""


@pytest.fixture(scope="module")
def window(browser: Browser) -> Iterator[Page]:
    """One page for all views, with the network cut."""
    made = context(browser, offline=True, reduced_motion="reduce")
    yield made.new_page()
    made.close()


def show(window: Page, folder: Path, widget: Any, keys: str = "") -> Locator:
    (folder / "page.html").write_text(widget.to_html(), encoding="utf-8")
    window.goto((folder / "page.html").as_uri())
    root = window.locator(".mg-root")
    root.focus()
    for key in keys.split():
        window.keyboard.press(key)
    return root


@pytest.mark.parametrize("name", SHOWN)
def test_the_last_row_can_read_it(window: Page, tmp_path: Path, axe: Axe, name: str) -> None:
    root = show(window, tmp_path, *VIEWS[name]())
    for (width, height), scheme in ((WINDOWS[0], "light"), (WINDOWS[0], "dark"), (WINDOWS[1], "dark")):
        window.set_viewport_size({"width": width, "height": height})
        window.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
        window.keyboard.press("s")
        expect(root).to_have_attribute("data-slide", "")
        window.wait_for_function("() => document.fullscreenElement !== null")
        sentence = root.locator(".mg-text")
        long = sentence.get_attribute("data-long") is not None
        assert sentence.evaluate(SIZE) >= (0.7 if long else 1) * LARGE
        assert sentence.evaluate("each => each.scrollHeight <= each.clientHeight + 1"), sentence.inner_text()
        assert root.evaluate(SMALLEST) >= READABLE
        assert root.bounding_box() == {"x": 0, "y": 0, "width": width, "height": height}
        assert root.evaluate("root => read.faint(root)") == []
        keep(window, f"slide-{name}-{width}-{scheme}")
        assert width < 1600 or axe(window) == []
        window.keyboard.press("s")
        expect(root).not_to_have_attribute("data-slide", "")
        window.wait_for_function("() => document.fullscreenElement === null")


def test_one_key_for_each_step_and_escape_leads_back(window: Page, tmp_path: Path) -> None:
    window.set_viewport_size({"width": 1280, "height": 800})
    root = show(window, tmp_path, Inspector(blocks(None)))
    before, scale = root.bounding_box(), "world => new DOMMatrix(getComputedStyle(world).transform).a"
    small = root.locator(".mg-world").evaluate(scale)
    root.get_by_role("button", name="slide view").click()
    window.wait_for_function("() => document.fullscreenElement !== null")
    assert root.locator(".mg-world").evaluate(scale) >= 1.4 > small
    steps = [root.get_attribute("data-position")]
    for key in ("ArrowRight", "PageDown", "PageUp", "ArrowLeft"):
        window.keyboard.press(key)
        steps.append(root.get_attribute("data-position"))
        lit = root.locator(".mg-lit")
        if lit.count():
            box = lit.bounding_box()
            assert box is not None and box["y"] >= 0 and box["y"] + box["height"] <= 800
    assert steps == ["0", "1", "2", "1", "0"]
    assert not root.locator(".mg-details, .mg-source, .mg-tabs, .mg-zoom").filter(visible=True).count()
    window.keyboard.press("Escape")
    expect(root).not_to_have_attribute("data-slide", "")
    assert root.bounding_box() == before
    assert root.locator(".mg-world").evaluate(scale) == small
    assert root.evaluate("root => root === document.activeElement")
    window.keyboard.press("PageDown")
    assert root.get_attribute("data-position") == "0"  # the page scrolls again


def test_a_window_that_was_filled_before_is_filled_again(window: Page, tmp_path: Path) -> None:
    root = show(window, tmp_path, Inspector(blocks(None)), "f s Escape")
    expect(root).to_have_attribute("data-whole", "")
    window.keyboard.press("Escape")
    expect(root).not_to_have_attribute("data-whole", "")
    window.wait_for_function("() => document.fullscreenElement === null")


def test_where_the_screen_is_not_given_the_window_is_filled(window: Page, tmp_path: Path) -> None:
    root = show(window, tmp_path, Inspector(blocks(None)))
    window.evaluate("void (Element.prototype.requestFullscreen = () => Promise.reject(new TypeError('not here')))")
    window.keyboard.press("s")
    size = window.viewport_size
    assert size is not None and root.bounding_box() == {"x": 0, "y": 0, **size}
    window.keyboard.press("Escape")
    expect(root).not_to_have_attribute("data-slide", "")


def test_a_question_is_asked_in_the_slide_view_too(window: Page, tmp_path: Path) -> None:
    root = show(window, tmp_path, Inspector(blocks(None), ask=["next"]), "s End ArrowRight")
    assert root.locator(".mg-question").bounding_box() is not None
    assert root.locator(".mg-option").first.evaluate("each => parseFloat(getComputedStyle(each).fontSize) * 1.7") >= 20
    window.keyboard.press("Space")
    root.locator(".mg-answer").click()
    assert root.get_attribute("data-score") is not None and root.get_attribute("data-slide") == ""


def test_the_notebook_hears_of_no_key(book: Book) -> None:
    root, page = book.widget("backward"), book.page
    root.press("Home")
    state, before = book.state(), root.bounding_box()
    assert before is not None
    page.keyboard.press("s")
    page.wait_for_function("() => document.fullscreenElement !== null")
    assert root.evaluate("root => root.contains(document.elementFromPoint(innerWidth / 2, 4))")
    step = root.get_attribute("data-step")
    page.keyboard.press("PageDown")
    expect(root).not_to_have_attribute("data-step", step or "")
    keep(page, "slide-notebook")
    page.keyboard.press("PageUp")
    page.keyboard.press("Escape")
    expect(root).not_to_have_attribute("data-slide", "")
    after = root.bounding_box()
    assert after is not None and (after["width"], after["height"]) == (before["width"], before["height"])
    assert book.state() == state
