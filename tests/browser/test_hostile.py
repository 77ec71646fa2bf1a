"""Traces that somebody made to do harm: all of it is shown as text, or refused in words; nothing is executed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.groups import has_browser, installed, require

pytestmark = pytest.mark.browser
require("browser", has_browser() and installed("jupyterlab"), "chromium, playwright or jupyterlab is not installed")

from playwright.sync_api import Locator, Page

from minigrad.recorder import Trace
from minigrad_widgets import Inspector, compare
from minigrad_widgets.widget.page import write_page
from tests.browser.fixtures import Opened
from tests.widgets import hostile, synthetic

FOREIGN = "img, script, iframe, object, embed, a, b:not(.mg-kind b), link, form:not(.mg-question)"
LENSES = ("forward", "backward", "traversal", "checkpoint", "all")


def harmless(page: Page, root: Locator) -> None:
    """Nothing ran, and no element came out of a name."""
    assert page.evaluate("window.harmed") is None
    assert root.locator(FOREIGN).count() == 0
    assert page.locator("script").count() == 2  # the state, which is data, and the player
    assert page.locator("img").count() == 0


def look_around(page: Page, root: Locator) -> None:
    """Steps through everything, opens everything, points at everything."""
    for summary in root.locator("summary, .mg-toggle").all():
        if summary.is_visible():
            summary.click()
    root.focus()
    for key in ["Home", *["ArrowRight"] * 30, "ArrowDown", "ArrowUp", "Enter", "End"]:
        page.keyboard.press(key)
    for part in root.locator(".mg-title, .mg-run, .mg-chip, .mg-line").all()[:8]:
        if part.is_visible():
            part.hover(force=True)


@pytest.mark.parametrize("lens", LENSES)
def test_markup_is_shown_as_text(page: Page, opened: Opened, lens: str) -> None:
    inspector = Inspector(Trace.from_dict(hostile.renamed(hostile.MARKUP)), lens=lens, ask=["grad"])
    root = opened(inspector)
    look_around(page, root)
    harmless(page, root)
    start = hostile.MARKUP[:48]
    for part in (".mg-title", ".mg-details", ".mg-nodelist"):
        assert start in (root.locator(part).first.text_content() or "")
    if lens != "traversal":
        assert hostile.MARKUP in [line.text_content() for line in root.locator(".mg-source code").all()]


def test_markup_in_a_comparison(page: Page, opened: Opened) -> None:
    trace = Trace.from_dict(hostile.renamed(hostile.MARKUP))
    root = opened(compare({hostile.MARKUP: trace, "other": trace}))
    look_around(page, root)
    harmless(page, root)
    assert root.locator(".mg-who h3").first.text_content() == hostile.MARKUP


@pytest.mark.parametrize("lens", ["forward", "backward"])
def test_names_of_a_megabyte(page: Page, opened: Opened, lens: str) -> None:
    """They are cut for display; what can be stepped through is as quick as ever."""
    root = opened(Inspector(Trace.from_dict(hostile.renamed(hostile.LONG)), lens=lens))
    look_around(page, root)
    assert root.evaluate("root => read.outside(root)") == []
    assert root.evaluate("root => root.textContent.length") < 100_000
    took = root.evaluate("""root => {
      const start = performance.now();
      root.dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowLeft', bubbles: true}));
      root.getBoundingClientRect();
      return performance.now() - start;
    }""")
    assert took < 300


def test_values_that_are_no_numbers(page: Page, opened: Opened) -> None:
    root = opened(Inspector(Trace.from_dict(hostile.strange_numbers()), lens="all"))
    seen = ""
    for _ in range(40):
        seen += (root.locator(".mg-text").text_content() or "") + (root.locator(".mg-details").text_content() or "")
        page.keyboard.press("ArrowRight")
    for text in ("tensor(nan)", "tensor([inf, -inf])", "tensor([])", "1.00e300", "81 nan"):
        assert text in seen
    assert "undefined" not in seen
    assert "object Object" not in seen


@pytest.mark.parametrize("how", hostile.BROKEN)
def test_what_is_no_trace_is_refused_in_words_or_shown(page: Page, opened: Opened, how: str) -> None:
    """In Python by an error of its own; a page that was written all the same says that it cannot show it."""
    trace = hostile.broken(hostile.BROKEN[how])
    with pytest.raises(ValueError, match=r"^this (is not a|trace has)"):
        Trace.from_dict(trace)
    page_of = {"trace": json.dumps(trace), "lens": "backward", "step": 3, "collapsed": None, "ask": [], "answers": []}
    root = opened(write_page(page_of, None))
    if root.get_attribute("role") == "alert":
        assert "cannot show this" in root.inner_text()
    else:
        look_around(page, root)


def test_another_version_is_named(opened: Opened) -> None:
    state: dict[str, Any] = {"trace": json.dumps({**synthetic.diamond(), "version": 2}), "lens": "all", "step": 0}
    said = opened(write_page(state, None)).inner_text()
    assert "reads minigrad-trace version 1, not minigrad-trace version 2" in said


@pytest.mark.parametrize("end", [1, 100, -1])
def test_a_cut_off_trace_is_refused(opened: Opened, end: int) -> None:
    written = json.dumps(synthetic.diamond())[:end]
    with pytest.raises(ValueError, match="not a whole trace"):
        Trace.from_json(written)
    root = opened(write_page({"trace": written, "lens": "all", "step": 0}, None))
    assert root.get_attribute("role") == "alert"
    assert "The inspector cannot show this" in root.inner_text()
