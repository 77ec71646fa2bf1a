"""The map of a model in a page of its own: it fills the window, nothing overlaps, nothing is cut, no text is small."""

from __future__ import annotations

from itertools import combinations

import pytest

from tests.groups import has_browser, installed, require

pytestmark = pytest.mark.browser
require("browser", has_browser() and installed("jupyterlab"), "chromium, playwright or jupyterlab is not installed")

from playwright.sync_api import Locator, Page, expect

from minigrad_widgets import Inspector
from tests.browser.fixtures import Opened
from tests.widgets.test_model_map import Model, trained

SIZES = [(800, 900), (1280, 800), (1440, 900), (2560, 1440)]
# The sides of each element, in pixels of the window.
SIDES = """elements => elements.map(element => element.getBoundingClientRect()).filter(({ width }) => width > 0)
  .map(({ left, right, top, bottom }) => [left, right, top, bottom])"""
# The size of each text on the map that is shown, in pixels of the window.
LETTERS = """texts => texts.filter(text => text.textContent && text.getClientRects().length && text.checkVisibility())
  .map(text => parseFloat(getComputedStyle(text).fontSize) * text.getScreenCTM().a)"""
SETTLED = """root => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"""
Sides = list[list[float]]


@pytest.fixture(params=["light", "dark"])
def scheme(page: Page, request: pytest.FixtureRequest) -> None:
    page.emulate_media(color_scheme=request.param)


def mapped(opened: Opened, blocks: int = 12) -> Locator:
    root = opened(Inspector(trained(Model(blocks))))
    expect(root.locator(".mg-node").filter(has_text="loss")).to_be_visible()
    root.evaluate(SETTLED)
    return root


def overlap(one: list[float], other: list[float]) -> bool:
    """Whether two parts of the page lie over each other, by more than the rounding of a pixel."""
    return min(one[1], other[1]) - max(one[0], other[0]) > 1 and min(one[3], other[3]) - max(one[2], other[2]) > 1


@pytest.mark.parametrize(("width", "height"), SIZES)
@pytest.mark.usefixtures("scheme")
def test_the_map_is_whole_and_legible(page: Page, opened: Opened, width: int, height: int) -> None:
    page.set_viewport_size({"width": width, "height": height})
    root = mapped(opened)
    [frame] = root.locator(".mg-svg").evaluate_all(SIDES)
    boxes: Sides = root.locator(".mg-box").evaluate_all(SIDES)
    assert 8 <= len(boxes) <= 30
    for left, right, top, bottom in boxes:
        assert frame[0] <= left and right <= frame[1] and frame[2] <= top and bottom <= frame[3]
    assert not [pair for pair in combinations(boxes, 2) if overlap(*pair)]
    tools: Sides = root.locator(".mg-tools summary, .mg-zoom, .mg-legend").evaluate_all(SIDES)
    assert not [(box, tool) for box in boxes for tool in tools if overlap(box, tool)]
    assert min(root.locator(".mg-world text").evaluate_all(LETTERS)) >= 11
    titles: Sides = root.locator(".mg-title").evaluate_all(SIDES)
    assert len(titles) == len(boxes)
    assert all(any(box[0] <= title[0] and title[1] <= box[1] for box in boxes) for title in titles)


@pytest.mark.parametrize(("width", "height"), SIZES)
def test_the_map_fills_its_window(page: Page, opened: Opened, width: int, height: int) -> None:
    """A page of its own, and then the whole window."""
    page.set_viewport_size({"width": width, "height": height})
    root = mapped(opened)
    [sides] = root.evaluate_all(SIDES)
    assert sides[3] - sides[2] > 0.9 * height
    root.press("f")
    expect(root).to_have_attribute("data-whole", "")
    root.evaluate(SETTLED)
    [frame] = root.locator(".mg-svg").evaluate_all(SIDES)
    boxes: Sides = root.locator(".mg-box").evaluate_all(SIDES)
    wide = max(box[1] for box in boxes) - min(box[0] for box in boxes)
    high = max(box[3] for box in boxes) - min(box[2] for box in boxes)
    assert wide > 0.6 * (frame[1] - frame[0]) or high > 0.6 * (frame[3] - frame[2])


def test_columns_follow_the_window(page: Page, opened: Opened) -> None:
    """A low window has several columns, a high one has one; the step stays."""
    page.set_viewport_size({"width": 1280, "height": 640})
    root = mapped(opened)
    count = "boxes => new Set(boxes.map(box => box.getBoundingClientRect().top | 0)).size"
    rows = root.locator(".mg-box").evaluate_all(count)
    root.press("ArrowRight")
    said = root.locator("output.mg-text").inner_text()
    page.set_viewport_size({"width": 1280, "height": 1900})
    page.wait_for_function(f"rows => ({count})([...document.querySelectorAll('.mg-box')]) > rows", arg=rows)
    expect(root.locator("output.mg-text")).to_have_text(said)
    expect(root.locator(".mg-lit")).to_have_count(1)


def test_a_row_of_blocks_opens_into_its_blocks(page: Page, opened: Opened) -> None:
    root = mapped(opened)
    root.locator(".mg-node[data-scope]").filter(has_text="×11").locator(".mg-title").click()
    titles = root.locator(".mg-node[data-scope] .mg-title")
    expect(titles.filter(has_text="h.11")).to_have_count(1)
    assert {f"h.{at}" for at in range(1, 12)} <= set(titles.all_text_contents())
