"""The panes of an inspector in JupyterLab: how a small and a large window are shared out, and how that is changed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.groups import has_browser, installed, require

pytestmark = pytest.mark.browser
require("browser", has_browser() and installed("jupyterlab"), "chromium, playwright or jupyterlab is not installed")

from playwright.sync_api import Locator

from tests.browser.book import Book
from tests.browser.fixtures import Axe
from tests.browser.jupyter import switch

WINDOWS = [(1280, 800), (1600, 1000)]
THEMES = [("JupyterLab Light", "true"), ("JupyterLab Dark", "false")]
AROUND = 12  # the bar between two panes, and the frame


@pytest.fixture(scope="module", params=WINDOWS, ids=lambda size: f"{size[0]}x{size[1]}")
def sized(read_book: Book, request: pytest.FixtureRequest) -> Iterator[Book]:
    """The book in a window of a laptop's size, and of a desktop's."""
    before = read_book.page.viewport_size
    width, height = request.param
    read_book.page.set_viewport_size({"width": width, "height": height})
    yield read_book
    assert before is not None
    read_book.page.set_viewport_size(before)


@pytest.fixture(scope="module", params=THEMES, ids=["light", "dark"])
def themed(sized: Book, request: pytest.FixtureRequest) -> Iterator[Book]:
    """The same in both themes."""
    theme, light = request.param
    if light == "false":
        switch(sized.page, theme, light)
    yield sized
    if light == "false":
        switch(sized.page, *THEMES[0])


def box(part: Locator) -> dict[str, float]:
    """Where an element lies in the window."""
    found = part.bounding_box()
    assert found is not None
    return dict(found)


def test_the_graph_has_two_thirds_of_the_width(themed: Book, axe: Axe) -> None:
    root = themed.widget("checkpoint")
    graph, panes = box(root.locator(".mg-graph")), box(root.locator(".mg-panes"))
    assert graph["width"] + AROUND >= panes["width"] * 2 / 3
    index = root.evaluate("root => [...document.querySelectorAll('.mg-root')].indexOf(root)")
    assert axe(themed.page, index) == []


def test_the_play_bar_is_in_the_window(sized: Book) -> None:
    """All of the checkpoint inspector fits into the notebook's part of the window."""
    root = sized.widget("checkpoint")
    notebook = box(sized.page.locator(".jp-WindowedPanel-outer:visible").first)
    assert box(root)["height"] <= notebook["height"]
    root.evaluate("root => root.scrollIntoView({block: 'end'})")
    play = box(root.locator(".mg-play"))
    assert 0 <= box(root)["y"] and play["y"] + play["height"] <= notebook["y"] + notebook["height"]


def test_a_long_line_of_the_source_goes_on_below_its_beginning(sized: Book) -> None:
    """Nothing of it is hidden at the right, and a line that has room stays one; the first one is not cut in half."""
    root = sized.widget("backward")
    assert root.evaluate("read.halved") == []
    lines = root.locator(".mg-line").evaluate_all("lines => lines.map(line => line.getBoundingClientRect().height)")
    assert len(lines) > 5 and lines.count(min(lines)) > len(lines) / 2
    assert root.locator(".mg-code").evaluate("code => code.scrollWidth <= code.clientWidth")


def test_the_bars_are_dragged_and_put_back(sized: Book) -> None:
    root, mouse = sized.widget("backward"), sized.page.mouse
    side, between = root.locator(".mg-bar").nth(1), root.locator(".mg-bar").nth(0)
    for bar, part, name, by in [(side, ".mg-graph", "width", (-90, 0)), (between, ".mg-source", "height", (0, 40))]:
        pane = root.locator(part)
        before, at = box(pane)[name], box(bar)
        x, y = at["x"] + at["width"] / 2, at["y"] + at["height"] / 2
        mouse.move(x, y)
        mouse.down()
        mouse.move(x + by[0] / 2, y + by[1] / 2)
        mouse.move(x + by[0], y + by[1])
        mouse.up()
        mouse.move(x, y)
        assert box(pane)[name] == pytest.approx(before + sum(by), abs=5)
        bar.dblclick()
        assert box(pane)[name] == pytest.approx(before, abs=1)


def test_one_key_fills_the_window(themed: Book) -> None:
    """The letter f fills the window, Escape leads back, and the notebook hears of neither."""
    root, page = themed.widget("all"), themed.page
    before, state = box(root), themed.state()
    page.keyboard.press("f")
    size = page.viewport_size
    assert size is not None
    assert box(root) == {"x": 0, "y": 0, **size}
    on_top = "root => root.contains(document.elementFromPoint(innerWidth / 2, 4))"
    assert root.evaluate(on_top)
    assert box(root.locator(".mg-panes"))["height"] > 0.6 * size["height"]
    step = root.get_attribute("data-step")
    page.keyboard.press("ArrowRight")
    assert root.get_attribute("data-step") != step
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Escape")
    after = box(root)
    assert (after["width"], after["height"]) == (before["width"], before["height"])
    assert root.evaluate("root => root === document.activeElement")
    root.locator(".mg-whole").click()
    assert box(root)["width"] == size["width"]
    root.locator(".mg-whole").click()
    assert box(root)["width"] == before["width"]
    assert themed.state() == state
