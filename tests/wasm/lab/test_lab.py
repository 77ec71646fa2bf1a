"""The lessons in JupyterLite, from a server of files and with no other host reachable."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.groups import has_browser, installed, require

pytestmark = pytest.mark.browser
require("wasm", has_browser() and installed("jupyterlite-core"), "chromium, playwright or jupyterlite is not installed")

from playwright.sync_api import Browser, Page, expect

from tests.wasm import pyodide
from tests.wasm.lab.lite import FIRST, PATIENCE, SECOND, Lite, opened

require("wasm", not pyodide.why_not(), pyodide.why_not())

ROOT = Path(__file__).parents[3]
MOST_BYTES = 25_000_000


@pytest.fixture(scope="module")
def lite(browser: Browser, lab: Path) -> Iterator[Lite]:
    """A page of it, in which the first lesson was opened."""
    with opened(browser, lab) as page:
        page.open(FIRST)
        yield page


def test_a_lab_opened_from_a_folder_says_what_to_do(browser: Browser, lab: Path) -> None:
    page = browser.new_page()
    page.goto(f"{(lab / 'lab' / 'index.html').as_uri()}?path={FIRST}.ipynb")
    expect(page.locator("body")).to_contain_text("python -m http.server")
    page.close()


def raised(lesson: str) -> int:
    """How many cells of a lesson, unsolved, end in an error."""
    cells = json.loads((ROOT / "tests" / "lessons" / "executed" / f"{lesson}.ipynb").read_text("utf-8"))["cells"]
    return sum(output["output_type"] == "error" for cell in cells for output in cell.get("outputs", ()))


def test_the_first_lesson_is_a_small_download(lite: Lite) -> None:
    print(f"{FIRST}: an inspector after {lite.seconds:.1f} s, {lite.size() / 1e6:.1f} MB")
    assert 10_000_000 < lite.size() < MOST_BYTES
    assert not any("matplotlib-" in file.name or "scipy" in file.name for file in lite.files)


def test_every_cell_of_it_runs(lite: Lite) -> None:
    lite.run_all()
    assert len(lite.errors()) == raised(FIRST)
    assert lite.wrong == []


def test_another_lesson_and_what_was_changed_is_kept(lite: Lite) -> None:
    lite.open(SECOND)
    lite.run_all()
    assert len(lite.errors()) == raised(SECOND), lite.errors()
    card = lite.page.locator(".mg-question-card").first
    card.locator(".mg-field").fill("(2, 3)")
    card.locator(".mg-field").press("Enter")
    expect(card).to_contain_text("(2, 3): right.", timeout=PATIENCE)
    write_note(lite.page)
    lite.show(SECOND)
    expect(lite.page.locator(".jp-Notebook .jp-MarkdownCell").first).to_contain_text("my note", timeout=PATIENCE)
    assert lite.wrong == []


def write_note(page: Page) -> None:
    """Write into the first cell of a notebook, and save it."""
    cell, unsaved = page.locator(".jp-Notebook .jp-MarkdownCell").first, page.locator(".lm-TabBar-tab.jp-mod-dirty")
    cell.dblclick()
    cell.locator(".cm-content").press("ControlOrMeta+End")
    page.keyboard.type(" my note")
    expect(unsaved).to_have_count(1)
    page.keyboard.press("ControlOrMeta+s")
    expect(unsaved).to_have_count(0)
