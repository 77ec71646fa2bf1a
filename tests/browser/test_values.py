"""The lens "values" in a page without a network: dragged, stepped by mouse and by keys, and turned into the graph."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest

from tests.groups import has_browser, require

pytestmark = pytest.mark.browser
require("browser", has_browser(), "chromium or playwright is not installed")

from playwright.sync_api import Browser, Page, expect

import minigrad as torch
from minigrad.recorder import record
from minigrad_widgets import Inspector
from tests.browser.fixtures import READ, context

TEXTS = """root => [...root.querySelectorAll('.mg-values text, .mg-growing *, .mg-text, .mg-values p')]
  .filter(each => each.textContent && each.checkVisibility())
  .map(each => parseFloat(getComputedStyle(each).fontSize)
       * (each.getScreenCTM ? Math.hypot(each.getScreenCTM().a, each.getScreenCTM().b) : 1))"""


def page_of(browser: Browser, folder: Path, width: int = 1280, large: bool = False) -> Page:
    with record() as trace:
        a = torch.tensor(2.0, requires_grad=True)
        b = torch.tensor([[-3.0, 1.0], [0.5, 2.0]] if large else -3.0, requires_grad=True)
        d = ((a * b + a).tanh() ** 2).sum() if large else a * b + a
        d.backward()
    path = folder / f"values{width}{large}.html"
    Inspector(trace, lens="values", parts=[]).to_html(path)
    page = browser.new_page(viewport={"width": width, "height": 800})
    page.goto(path.as_uri())
    page.locator(".mg-calculation").wait_for()
    return page


def test_a_number_is_dragged_at_once_and_everything_follows(browser: Browser, tmp_path: Path) -> None:
    page = page_of(browser, tmp_path)
    result, a, b = page.locator(".mg-result"), *map(page.locator, (f'.mg-value[data-tensor="{at}"]' for at in (0, 1)))
    expect(result).to_have_text("d = −4")
    before, beside = a.bounding_box(), b.bounding_box()
    assert before is not None
    page.mouse.move(before["x"] + 40, before["y"] + 20)
    page.mouse.down()
    page.mouse.move(before["x"] + 80, before["y"] + 20)
    expect(result).to_have_text("d = −8")
    assert b.bounding_box() == beside  # the picture stands still under the finger
    page.mouse.up()
    for _ in range(3):
        page.get_by_role("button", name="next →").click()
    expect(page.locator('.mg-value[data-tensor="1"] .mg-entrygradient')).to_have_text("4")
    page.get_by_role("button", name="reset").click()
    expect(result).to_have_text("d = −4")
    page.close()


def test_the_keys_do_what_the_mouse_does(browser: Browser, tmp_path: Path) -> None:
    page = page_of(browser, tmp_path)
    b = page.get_by_role("spinbutton", name="b")
    b.focus()
    page.keyboard.press("ArrowUp")
    expect(b).to_have_attribute("aria-valuenow", "-2.9")
    expect(page.locator(".mg-result")).to_have_text("d = −3.8")
    page.keyboard.press("ArrowRight")
    expect(page.locator(".mg-text")).to_contain_text("step 2 of 5")
    page.close()


def test_it_becomes_the_graph_and_comes_back(browser: Browser, tmp_path: Path) -> None:
    page = page_of(browser, tmp_path)
    root = page.locator(".mg-root")
    page.get_by_role("button", name="show the operations as a graph").click()
    expect(page.locator(".mg-turning")).to_be_visible()  # signs and boxes on their way
    expect(page.locator(".mg-turning")).to_have_count(0)
    expect(root).to_have_attribute("data-lens", "backward")
    expect(page.locator(".mg-node")).to_have_count(4)
    for hidden in (".mg-tabs", ".mg-source", ".mg-tools", ".mg-memory", ".mg-queue"):
        expect(page.locator(hidden)).to_be_hidden()
    page.get_by_role("button", name="more").click()
    for shown in (".mg-tabs", ".mg-source", ".mg-tools", ".mg-queue"):
        expect(page.locator(shown)).to_be_visible()
    page.get_by_role("button", name="show the numbers").click()
    expect(page.locator(".mg-turning")).to_have_count(0)
    expect(page.locator(".mg-calculation")).to_be_visible()
    page.close()


@pytest.mark.parametrize("width", [800, 1280, 1600])
@pytest.mark.parametrize("large", [False, True])
def test_no_text_is_smaller_than_11_pixels(browser: Browser, tmp_path: Path, width: int, large: bool) -> None:
    page = page_of(browser, tmp_path, width, large)
    for _ in range(4):
        page.get_by_role("button", name="next →").click()
    expect(page.locator(".mg-text")).to_contain_text("step 5")
    sizes = page.locator(".mg-root").evaluate(TEXTS)
    assert len(sizes) > 10
    assert min(sizes) >= 11
    page.close()


def test_a_picture_wider_than_its_pane_fades_where_it_goes_on(browser: Browser, tmp_path: Path) -> None:
    """Lesson 17: there is no scroll bar in some browsers. What is said below the picture is in sight."""
    with record() as trace:
        m, c = torch.ones(2, 3), torch.tensor([[1.0], [2.0]], requires_grad=True)
        b = torch.tensor([10.0, 20.0, 30.0], requires_grad=True)
        ((m + b) * c).sum().backward()
    Inspector(trace, lens="values", parts=[]).to_html(tmp_path / "wide.html")
    page = browser.new_page(viewport={"width": 896, "height": 720})
    page.goto((tmp_path / "wide.html").as_uri())
    pane = page.locator(".mg-values")
    expect(pane).to_have_attribute("data-more", "right")
    assert pane.evaluate("pane => getComputedStyle(pane).maskImage") != "none"
    assert pane.evaluate("pane => pane.scrollHeight <= pane.clientHeight")
    pane.evaluate("pane => pane.scrollTo({left: pane.scrollWidth / 8, behavior: 'instant'})")
    expect(pane).to_have_attribute("data-more", "leftright")
    pane.evaluate("pane => pane.scrollTo({left: pane.scrollWidth, behavior: 'instant'})")
    expect(pane).to_have_attribute("data-more", "left")
    page.set_viewport_size({"width": 1500, "height": 720})
    expect(page.locator(".mg-values[data-more]")).to_have_count(0)
    page.close()


def test_the_source_alone_has_the_room_of_both_panes(browser: Browser, tmp_path: Path) -> None:
    with record() as trace:
        (torch.tensor(2.0, requires_grad=True) * 3).backward()
    Inspector(trace, parts=["source"]).to_html(tmp_path / "source.html")
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.goto((tmp_path / "source.html").as_uri())
    source, panes = (page.locator(part).bounding_box() for part in (".mg-source", ".mg-panes"))
    assert source is not None and panes is not None and source["height"] > 0.95 * panes["height"]
    expect(page.get_by_role("separator", name="height of the source")).to_be_hidden()
    page.get_by_role("button", name="more").click()
    expect(page.get_by_role("separator", name="height of the source")).to_be_visible()
    page.close()


def test_a_gradient_that_is_nan_can_be_read_in_the_dark(browser: Browser, tmp_path: Path) -> None:
    with record() as trace:
        x = torch.zeros(2, requires_grad=True)
        (x.sqrt() * 0).sum().backward()
    Inspector(trace, step=len(trace.events) - 1).to_html(tmp_path / "nan.html")
    window = context(browser, viewport={"width": 1280, "height": 800}, color_scheme="dark")
    page = window.new_page()
    page.goto((tmp_path / "nan.html").as_uri())
    expect(page.locator(".mg-grad[data-broken] .mg-tray-text")).to_contain_text("nan")
    assert page.locator(".mg-graph").evaluate("graph => read.faint(graph)") == []
    window.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_button_that_waits_can_be_read(browser: Browser, tmp_path: Path, scheme: Literal["light", "dark"]) -> None:
    """Before the first step there is no way back; the word on the button is still there to be read."""
    page = page_of(browser, tmp_path)
    page.emulate_media(color_scheme=scheme)
    page.add_script_tag(path=READ)
    expect(page.get_by_role("button", name="← back")).to_have_attribute("aria-disabled", "true")
    assert page.locator(".mg-growing").first.evaluate("bar => read.faint(bar)") == []
    page.close()
