"""Notebooks of students in JupyterLab and Notebook 7: keys, themes, a kernel that is gone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.groups import has_browser, installed, require

pytestmark = pytest.mark.browser
require("browser", has_browser() and installed("jupyterlab"), "chromium, playwright or jupyterlab is not installed")

from playwright.sync_api import Locator, Page

from minigrad.recorder import Trace
from tests.browser import expected
from tests.browser.book import INSPECTORS, Book, await_widgets
from tests.browser.fixtures import Axe
from tests.browser.jupyter import Lab, await_idle, run_all, switch

SMALL = [
    "import minigrad as torch\nfrom minigrad.recorder import record\nfrom minigrad_widgets import Inspector",
    "x = torch.tensor([1., 2.], requires_grad=True)\nw = torch.tensor([3., 4.], requires_grad=True)\n"
    "with record() as trace:\n    y = x * w\n    loss = (y * y + x).sum()\n    loss.backward()\n"
    "trace.save('small.json')",
    "Inspector(trace)",
]
LETTERS = "abcdffhijklmorxyz0123"  # f twice: an inspector fills the window, and goes back


def walk(root: Locator, trace: Trace, steps: int) -> None:
    """So many steps by keyboard, from where the inspector stands, each compared with Python's frame."""
    first = int(root.get_attribute("data-step") or 0)
    root.locator(".mg-text").click()
    for step in range(first, min(first + steps, len(trace.events))):
        drawn, wanted = root.evaluate("read.drawn"), expected.drawn(trace, "backward", step)
        assert {name: drawn[name] for name in wanted} == wanted
        root.press("ArrowRight")


@pytest.mark.parametrize("name", INSPECTORS)
def test_no_key_gets_out(book: Book, name: str) -> None:
    """Wherever the keyboard is in a widget, JupyterLab does not hear it; cells stay what and where they were."""
    root, press = book.widget(name), book.page.keyboard.press
    before = book.state()
    book.page.evaluate("window.leaked === undefined ? read.listen() : window.leaked.length = 0")
    for key in [*LETTERS, "d", "d", "Shift+M", "ArrowDown", "ArrowUp", "Enter", "Delete"]:
        press(key)
    assert book.state() == before
    for _ in range(30):
        for key in ("b", "d", "d", "m"):
            press(key)
        press("Tab")
        if not root.evaluate("root => root.contains(document.activeElement)"):
            break
    assert set(book.page.evaluate("window.leaked")) <= {"Tab", "Shift"}
    root.focus()
    assert book.state() == before
    for field in root.locator(".mg-find").all():
        field.fill("")


def test_shift_enter_leads_to_the_next_cell(book: Book) -> None:
    """As from any cell, but what is in a widget has run already: nothing runs, and no cell is new."""
    root = book.widget("forward")
    before = book.state()
    root.press("Shift+Enter")
    book.page.wait_for_function("at => document.querySelectorAll('.jp-Notebook .jp-Cell')[at]"
                                ".classList.contains('jp-mod-active')", arg=active(before) + 1)
    after = book.state()
    assert [[kind, *rest] for kind, _, *rest in after] == [[kind, *rest] for kind, _, *rest in before]
    assert active(after) == active(before) + 1


def active(state: list[Any]) -> int:
    """The place of the active cell."""
    return [is_active for _, is_active, *_ in state].index(True)


@pytest.fixture
def dark(book: Book) -> Iterator[Book]:
    """The notebook in JupyterLab's dark theme; light again afterwards."""
    switch(book.page, "JupyterLab Dark", "false")
    yield book
    switch(book.page, "JupyterLab Light", "true")


def looks(book: Book, axe: Axe) -> dict[str, Any]:
    """What is wrong with the looks of each widget."""
    found: dict[str, Any] = {}
    for at, name in enumerate(INSPECTORS):
        root = book.widget(name)
        found[f"{name}: axe"] = axe(book.page, at)
        for what in ("faint", "overlaps", "outside"):
            found[f"{name}: {what}"] = root.evaluate(f"root => read.{what}(root)")
    return {where: wrong for where, wrong in found.items() if wrong}


def test_light(book: Book, axe: Axe) -> None:
    assert looks(book, axe) == {}


def test_the_theme_is_switched(dark: Book, axe: Axe) -> None:
    assert looks(dark, axe) == {}


@pytest.mark.parametrize("name", ["aliases", "ledger"])
def test_the_small_widgets_step(book: Book, name: str) -> None:
    """They say what Python says; by keyboard and by mouse."""
    root = book.widget(name)
    book.page.keyboard.press("Home")
    said = [root.locator(".mg-text").inner_text()]
    for key in ("ArrowRight", "ArrowRight", "End"):
        book.page.keyboard.press(key)
        said.append(root.locator(".mg-text").inner_text())
    assert len(set(said)) > 1
    root.locator(".mg-first").click()
    assert root.locator(".mg-text").inner_text() == said[0]
    book.page.wait_for_timeout(400)
    assert book.evaluate(f"{name}.step") == root.get_attribute("data-step")


def test_notebook_7_and_a_kernel_that_is_gone(tab: Page, server: Lab) -> None:
    require("browser", installed("notebook"), "notebook is not installed")
    name = server.write("small.ipynb", *SMALL)
    tab.goto(server.address(f"notebooks/{name}"), wait_until="domcontentloaded")
    tab.locator(".jp-NotebookPanel .jp-Cell").first.wait_for(timeout=90_000)
    await_idle(tab, server, name)
    run_all(tab, server, name)
    await_widgets(tab, 1)
    session = await_idle(tab, server, name)
    await_prompts(tab)
    trace, root = Trace.load(server.folder / "small.json"), tab.locator(".mg-root")
    walk(root, trace, 10)
    server.ask(f"api/sessions/{session['id']}", "DELETE")
    tab.wait_for_timeout(1000)
    for dialog in tab.locator(".jp-Dialog button.jp-mod-accept").all():
        dialog.click()
    walk(root, trace, len(trace.events))
    assert root.get_attribute("data-step") == str(len(trace.events) - 1)


def await_prompts(page: Page) -> None:
    """Waits until every cell has its number: the page then leaves the focus where it is put."""
    page.wait_for_function("""() => [...document.querySelectorAll('.jp-CodeCell .jp-InputPrompt')]
      .every(prompt => /[0-9]/.test(prompt.textContent))""", timeout=90_000)
