"""One Chromium and one JupyterLab for all tests of a run, and one notebook in it that holds every inspector.

    MINIGRAD_SHOTS=folder python -m pytest tests/browser

keeps a picture of what each test saw last, `<test>.png`, in that folder, and of each lesson all of it, a screen at a
time, in both themes.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from shutil import copy
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page

from tests.browser.book import Book, make
from tests.browser.jupyter import Lab, chrome, lab, settings, switch
from tests.groups import chromium, require

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
LESSONS = sorted(path.name for path in NOTEBOOKS.glob("[0-9]*.ipynb"))
READ = Path(__file__).with_name("read.js")
SHOTS = os.environ.get("MINIGRAD_SHOTS")
AXE = Path(__file__).parents[2] / "widgets" / "frontend" / "node_modules" / "axe-core" / "axe.min.js"

RUN = "at => axe.run(document.querySelectorAll('.mg-root')[at], {resultTypes: ['violations']})"

WINDOWS = [(1280, 800), (1600, 1000)]
THEMES = [("JupyterLab Light", "true"), ("JupyterLab Dark", "false")]

Axe = Callable[..., list[Any]]
Opened = Callable[[Any], Locator]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Chromium."""
    with chrome(str(chromium())) as running:
        yield running


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A JupyterLab, which is also the server of Notebook 7."""
    with lab(tmp_path_factory.mktemp("notebooks"), tmp_path_factory.mktemp("home")) as running:
        yield running


@pytest.fixture(scope="module")
def lessons(server: Lab) -> Iterator[Lab]:
    """The server, with the lessons in its folder; JupyterLab keeps all cells in the page, to be looked at."""
    for name in LESSONS:
        copy(NOTEBOOKS / name, server.folder)
    setting = server.home / "settings" / "@jupyterlab" / "notebook-extension" / "tracker.jupyterlab-settings"
    setting.parent.mkdir(parents=True, exist_ok=True)
    setting.write_text(json.dumps({"windowingMode": "none"}))
    yield server
    setting.unlink()
    settings(server.home, "JupyterLab Light")


def context(browser: Browser, **options: Any) -> BrowserContext:
    """A window of its own, in which `read` tells what is shown."""
    made = browser.new_context(**options)
    made.add_init_script(path=READ)
    return made


@pytest.fixture(scope="session")
def read_book(browser: Browser, server: Lab) -> Iterator[Book]:
    window = context(browser, viewport={"width": 1500, "height": 1000})
    yield make(window.new_page(), server)
    window.close()


@pytest.fixture
def book(read_book: Book, request: pytest.FixtureRequest) -> Iterator[Book]:
    """The notebook with every inspector, run once; a test leaves its cells and its theme as they were."""
    yield read_book
    keep(read_book.page, request.node.name)


@pytest.fixture
def tab(browser: Browser, server: Lab, request: pytest.FixtureRequest) -> Iterator[Page]:
    """An empty page that reaches the server, for a notebook of a test's own."""
    window = context(browser, viewport={"width": 1500, "height": 1000})
    page = window.new_page()
    yield page
    keep(page, request.node.name)
    window.close()


@pytest.fixture
def page(browser: Browser, request: pytest.FixtureRequest) -> Iterator[Page]:
    """An empty page with the network cut: an error in it fails the test."""
    window = context(browser, viewport={"width": 1200, "height": 1000}, offline=True)
    made = window.new_page()
    errors: list[str] = []
    made.on("pageerror", lambda error: errors.append(str(error)))
    yield made
    keep(made, request.node.name)
    window.close()
    assert errors == []


@pytest.fixture
def opened(page: Page, tmp_path: Path) -> Opened:
    """Opens what an inspector's `to_html` writes, focused; the page asks for nothing but itself."""
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))

    def open_page(shown: Any) -> Locator:
        (tmp_path / "page.html").write_text(shown if isinstance(shown, str) else shown.to_html(), encoding="utf-8")
        asked.clear()
        page.goto((tmp_path / "page.html").as_uri())
        assert asked == [(tmp_path / "page.html").as_uri()]
        root = page.locator(".mg-root")
        root.focus()
        return root

    return open_page


@pytest.fixture(scope="session")
def axe() -> Axe:
    """What axe-core finds wrong inside a widget of a page, the first or another."""
    require("browser", AXE.exists(), "axe-core is not installed: npm ci in widgets/frontend")
    library = AXE.read_text(encoding="utf-8")

    def find(page: Page, at: int = 0) -> list[Any]:
        page.evaluate("library => { if (!window.axe) (0, eval)(library); }", library)
        found = page.evaluate(RUN, at)["violations"]
        return [(each["id"], [node["html"][:160] for node in each["nodes"]][:3]) for each in found]

    return find


def keep(page: Page | Locator, name: str) -> None:
    """Keeps a picture of a page, or of a part of it, where `MINIGRAD_SHOTS` says so."""
    if SHOTS:
        Path(SHOTS).mkdir(parents=True, exist_ok=True)
        file = re.sub(r"[^\w.-]+", "_", name).strip("_")
        page.screenshot(path=Path(SHOTS) / f"{file}.png")


@pytest.fixture(params=[(window, theme) for window in WINDOWS for theme in THEMES],
                ids=lambda each: f"{each[0][0]}x{each[0][1]}-{'light' if each[1][1] == 'true' else 'dark'}")
def seen(notebook: Page, request: pytest.FixtureRequest) -> Iterator[Page]:
    """The notebook in a window of a laptop's size and of a desktop's, in both themes."""
    (width, height), (theme, light) = request.param
    notebook.set_viewport_size({"width": width, "height": height})
    if light == "false":
        switch(notebook, theme, light)
    yield notebook
    keep(notebook, request.node.name)
    if light == "false":
        switch(notebook, *THEMES[0])
