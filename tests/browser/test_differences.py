"""Two recordings side by side in JupyterLab, with what differs marked: detach, zero_grad, a checkpoint."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.groups import has_browser, installed, require

pytestmark = pytest.mark.browser
require("browser", has_browser() and installed("jupyterlab"), "chromium, playwright or jupyterlab is not installed")

from playwright.sync_api import Browser, Locator, Page

from tests.browser.book import await_widgets
from tests.browser.fixtures import Axe, context, keep
from tests.browser.jupyter import Lab, await_idle, open_notebook, run_all, switch

NAME = "differences.ipynb"
STEPS = """import minigrad as torch
from minigrad.recorder import record
from minigrad.utils.checkpoint import checkpoint
from minigrad_widgets import compare

def run(detach=False, zero=False, again=False):
    w = torch.tensor([2., 3.], requires_grad=True)
    with record() as trace:
        for _ in range(2):
            h = checkpoint(torch.sin, w, use_reentrant=False) if again else torch.sin(w)
            if detach:
                h = h.detach()
            (h * w).sum().backward()
            if zero:
                w.grad = None
    return trace"""
WAYS = ("detach", "zero", "again")
WINDOWS = [(1280, 800), (1600, 1000)]
THEMES = [("JupyterLab Light", "true"), ("JupyterLab Dark", "false")]


@pytest.fixture(scope="module")
def notebook(browser: Browser, server: Lab) -> Iterator[Page]:
    """A notebook with the three comparisons, run."""
    window = context(browser, viewport={"width": 1280, "height": 800})
    page = window.new_page()
    server.write(NAME, STEPS, *[f'compare({{"plain": run(), "{way}": run({way}=True)}})' for way in WAYS])
    open_notebook(page, server, NAME)
    run_all(page, server, NAME)
    await_widgets(page, len(WAYS))
    await_idle(page, server, NAME)
    yield page
    window.close()


@pytest.fixture(params=[(window, theme) for window in WINDOWS for theme in THEMES],
                ids=lambda each: f"{each[0][0]}x{each[0][1]}-{'light' if each[1][1] == 'true' else 'dark'}")
def seen(notebook: Page, request: pytest.FixtureRequest) -> Iterator[Page]:
    """The notebook in two windows and two themes."""
    (width, height), (theme, light) = request.param
    notebook.set_viewport_size({"width": width, "height": height})
    if light == "false":
        switch(notebook, theme, light)
    yield notebook
    keep(notebook, request.node.name)
    if light == "false":
        switch(notebook, *THEMES[0])


def rows(root: Locator) -> list[list[str]]:
    """The rows that differ: their kind, and what stands on both sides."""
    return root.locator(".mg-differences tr[data-kind]").evaluate_all(
        "rows => rows.map(row => [row.dataset.kind, ...[...row.cells].slice(1).map(cell => cell.innerText)])")


def test_what_differs_is_marked(seen: Page, axe: Axe) -> None:
    found = []
    for number, way in enumerate(WAYS):
        root = seen.locator(".mg-root").nth(number)
        root.evaluate("root => root.closest('.jp-Cell').scrollIntoView({block: 'start'})")
        assert root.locator(".mg-differences caption").inner_text().startswith(f"plain against {way}: ")
        found.append(rows(root))
        assert axe(seen, number) == []
    detach, zero, again = found
    assert ["first", "SinBackward0 runs; it received tensor([2., 3.])", ""] in detach
    assert [side[0] for side in zero].count("second") == 2 and zero[0][2] == "w.grad is None again"
    assert any("checkpoint 0 runs its function again" in second for _, _, second in again)
    assert all(kind == "second" for kind, *_ in again)


def test_a_row_leads_to_its_step(seen: Page) -> None:
    root = seen.locator(".mg-root").first
    button = root.locator(".mg-differences tr[data-kind] button").first
    text = button.inner_text()
    button.click()
    assert root.locator(".mg-row .mg-event").first.inner_text() == text
    colours = root.locator(".mg-differences tr[data-kind]").evaluate_all(
        "rows => Object.fromEntries(rows.map(row => [row.dataset.kind, getComputedStyle(row).backgroundColor]))")
    assert len(set(colours.values())) == len(colours) > 1
