"""Cells that are run in a lesson's page, from a server of files and with no other host reachable."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest

from tests.groups import has_browser, installed, require

pytestmark = pytest.mark.browser
require("wasm", has_browser() and installed("sphinx") and installed("jupyterlite-core"),
        "chromium, playwright, sphinx or jupyterlite is not installed")

from playwright.sync_api import Browser, Locator, expect

from tests.wasm import pyodide
from tests.wasm.lab.lite import PATIENCE, Lite, opened
from website import cells as in_page

require("wasm", not pyodide.why_not(), pyodide.why_not())

ROOT = Path(__file__).parents[3]
LESSON = "01_tensors_and_leaves"
EXECUTED = ROOT / "tests" / "lessons" / "executed" / f"{LESSON}.ipynb"
MOST_BYTES = 10_500_000
PAST = re.compile("^(ran|raised an error)$")
NO_END = "\nwhile True:\n    pass"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, lab: Path) -> Path:
    """The page of a lesson, made as the site makes it, and the lab."""
    source, target = tmp_path_factory.mktemp("source"), lab.parent
    (source / "lessons").mkdir()
    notebook = nbformat.read(EXECUTED, as_version=4)
    in_page.add_cells(notebook)
    nbformat.write(notebook, source / "lessons" / EXECUTED.name)
    (source / "index.md").write_text(f"# Lessons\n\n```{{toctree}}\nlessons/{LESSON}\n```\n", encoding="utf-8")
    subprocess.run([sys.executable, "-m", "sphinx", "-b", "html", "-c", str(ROOT / "website"), "-Q", str(source),
                    str(target)], check=True, cwd=ROOT)
    in_page.complete(target)
    return target


@pytest.fixture(scope="module")
def lite(browser: Browser, site: Path) -> Iterator[Lite]:
    """The page, in a browser that has nothing."""
    with opened(browser, site) as page:
        page.page.goto(f"{page.address}/lessons/{LESSON}.html")
        yield page


def cells(lite: Lite) -> Locator:
    """Its cells of code."""
    return lite.page.locator("div.cell:has(.cell-bar)")


def run(cell: Locator, added: str = "") -> None:
    """Add to a cell's code, and run it by the keyboard."""
    field = cell.locator(".cell-field")
    field.press("ControlOrMeta+End")
    cell.page.keyboard.insert_text(added)
    field.press("Shift+Enter")


def ended(cell: Locator) -> None:
    """Wait until a cell has run."""
    expect(cell.locator(".cell-status")).to_have_text(PAST, timeout=PATIENCE)


def code_cells() -> list[Any]:
    """The code cells of the executed lesson."""
    found = json.loads(EXECUTED.read_text("utf-8"))["cells"]
    return [cell for cell in found if cell["cell_type"] == "code"]


def test_the_first_run_says_how_much_it_fetches_and_that_is_little(lite: Lite, site: Path) -> None:
    opened_with = set(lite.files)
    run(cells(lite).first)
    ended(cells(lite).first)
    expect(cells(lite).first.locator(".mg-root[data-ready] svg").first).to_be_visible()
    icon = site / "_static" / "favicon.svg"  # of the page: a browser fetches it whenever it likes
    fetched = {file for file in lite.files - opened_with - {icon} if file.is_file()}
    assert fetched | {site / "_static" / "cells.js"} == {site / file for file in in_page.first_cell(site)}
    size = sum(map(in_page.sent, fetched))
    print(f"a first cell: {size / 1e6:.2f} MB")
    assert 5_000_000 < size < MOST_BYTES
    assert lite.page.locator(".cells-note").inner_text().endswith(f"({size / 1e6:.0f} MB).")


def test_a_cell_runs_those_above_it_and_shows_what_the_lesson_shows(lite: Lite) -> None:
    last = cells(lite).last
    run(last)
    ended(last)
    executed = code_cells()
    assert cells(lite).count() == len(executed)
    for at, cell in enumerate(executed):
        shown = cells(lite).nth(at).locator(".cell_output")
        printed = "".join("".join(out["text"]) for out in cell["outputs"] if out.get("name") == "stdout")
        assert "".join(shown.locator(".stream").all_text_contents()) == printed, cell["source"]
        raised = [f"{out['ename']}: {out['evalue']}" for out in cell["outputs"] if out["output_type"] == "error"]
        assert shown.locator(".traceback strong").all_text_contents() == raised
    assert "pyodide" not in " ".join(lite.page.locator(".traceback").all_text_contents())
    assert lite.wrong == []


def test_python_judges_the_answer_on_a_card(lite: Lite) -> None:
    cards = lite.page.locator(".mg-question-card")
    names = cards.evaluate_all("cards => cards.map(card => card.getAttribute('aria-labelledby'))")
    assert len(names) == len(set(names)) > 5  # each widget has a copy of the script
    card = cards.first
    card.locator(".mg-field").fill("(2, 3)")
    card.locator(".mg-field").press("Enter")
    expect(card).to_contain_text("(2, 3): right.", timeout=PATIENCE)


def test_a_cell_is_edited_stopped_and_put_back(lite: Lite) -> None:
    cell = cells(lite).nth(2)
    before = cell.locator(".cell_input pre").text_content()
    run(cell, "\nprint(y.sum())")
    expect(cell.locator(".cell_output")).to_contain_text("tensor(9., grad_fn=<SumBackward0>)", timeout=PATIENCE)
    run(cell, NO_END)
    stop = cell.get_by_role("button", name="Stop cell 3")
    expect(cell.locator(".cell_output")).to_contain_text("tensor(9.")
    stop.click()
    expect(cell.locator(".cell-status")).to_contain_text("begins at the top")
    expect(stop).to_be_hidden()
    cell.get_by_role("button", name="Reset cell 3").click()
    expect(cell.locator(".cell_output")).not_to_contain_text("tensor(9.")
    assert cell.locator(".cell_input pre").text_content() == before
    run(cell, "\n1 / 0")
    ended(cell)
    assert cell.locator(".traceback strong").text_content() == "ZeroDivisionError: division by zero"
    assert lite.wrong == []


def test_cells_run_in_a_page_that_was_opened_from_a_folder(browser: Browser, site: Path) -> None:
    """With no server and no network: a picture, packages that the lesson does not import, and a second start."""
    context = browser.new_context(offline=True)
    page, wrong = context.new_page(), []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.goto((site / "lessons" / f"{LESSON}.html").as_uri())
    expect(page.locator(".cells-note")).to_contain_text("python -m http.server")
    cell = page.locator("div.cell:has(.cell-bar)").first
    run(cell)
    ended(cell)
    expect(cell.locator(".mg-root[data-ready] svg").first).to_be_visible()
    run(cell, "\nfrom sklearn.datasets import load_digits\nimport matplotlib\nprint(len(load_digits().data))")
    expect(cell.locator(".cell_output")).to_contain_text("1797", timeout=PATIENCE)
    run(cell, NO_END)
    cell.get_by_role("button", name="Stop cell 1").click()
    cell.get_by_role("button", name="Reset cell 1").click()
    run(cell, "\nprint(6 * 7)")
    expect(cell.locator(".cell_output")).to_contain_text("42", timeout=PATIENCE)
    assert wrong == []
    context.close()
