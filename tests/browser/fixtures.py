"""One Chromium and one JupyterLab for all tests of a run, and one notebook in it that holds every inspector.

    MINIGRAD_SHOTS=folder python -m pytest tests/browser

keeps a picture of what each test saw last, `<test>.png`, in that folder, and of each lesson all of it, a screen at a
time, in both themes.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import copy
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page

from tests.browser.book import Book, await_widgets, make
from tests.browser.jupyter import WHOLE, Lab, await_idle, chrome, lab, open_notebook, run_all, settings, switch
from tests.groups import chromium, require

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
LESSONS = sorted(path.name for path in NOTEBOOKS.glob("[0-9]*.ipynb"))
READ = Path(__file__).with_name("read.js")
SHOTS = os.environ.get("MINIGRAD_SHOTS")
AXE = Path(__file__).parents[2] / "widgets" / "frontend" / "node_modules" / "axe-core" / "axe.min.js"

RUN = "at => axe.run(document.querySelectorAll('.mg-root')[at], {resultTypes: ['violations']})"

# The boxes that do not lie in the frame of the map, and the texts on it of less than 11 pixels.
CUT = """root => {
  const frame = root.querySelector('.mg-svg').getBoundingClientRect();
  return [...root.querySelectorAll('.mg-node .mg-box')].filter(box => {
    const { left, right, top, bottom } = box.getBoundingClientRect();
    return left < frame.left || right > frame.right || top < frame.top || bottom > frame.bottom;
  }).length;
}"""
SMALL = """root => [...root.querySelectorAll('.mg-node text')]
  .filter(text => text.textContent && text.checkVisibility())
  .map(text => parseFloat(getComputedStyle(text).fontSize) * text.getScreenCTM().a).filter(size => size < 10.95)"""

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
    setting.write_text(WHOLE)
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


@pytest.fixture(scope="session")
def pages(browser: Browser) -> Iterator[BrowserContext]:
    """Where the pages of all notebooks are opened, so that JupyterLab's programs are read and translated once."""
    window = context(browser, viewport={"width": 1500, "height": 1000},
                     permissions=["clipboard-read", "clipboard-write"])
    yield window
    window.close()


@contextmanager
def ran(pages: BrowserContext, server: Lab, name: str, *cells: str, widgets: int) -> Iterator[Page]:
    """A notebook of these cells, run, with so many widgets; its kernel and its theme end with it."""
    page = pages.new_page()
    server.write(name, *cells)
    open_notebook(page, server, name)
    run_all(page, server, name)
    await_widgets(page, widgets)
    session = await_idle(page, server, name)
    yield page
    page.close()
    server.ask(f"api/sessions/{session['id']}", "DELETE")
    settings(server.home, THEMES[0][0])


@pytest.fixture
def tab(pages: BrowserContext, server: Lab, request: pytest.FixtureRequest) -> Iterator[Page]:
    """An empty page that reaches the server, for a notebook of a test's own."""
    page = pages.new_page()
    yield page
    keep(page, request.node.name)
    page.close()


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


def whole(root: Locator) -> None:
    """All boxes are in sight, and all texts on them are legible."""
    assert root.evaluate(CUT) == 0
    assert root.evaluate(SMALL) == []


def keep(page: Page | Locator, name: str) -> None:
    """Keeps a picture of a page, or of a part of it, where `MINIGRAD_SHOTS` says so."""
    if SHOTS:
        Path(SHOTS).mkdir(parents=True, exist_ok=True)
        file = re.sub(r"[^\w.-]+", "_", name).strip("_")
        page.screenshot(path=Path(SHOTS) / f"{file}.png")


def arrange(page: Page, window: tuple[int, int], theme: tuple[str, str]) -> None:
    """Gives a notebook's page this size and this theme; a theme that it has already is not chosen again."""
    page.set_viewport_size({"width": window[0], "height": window[1]})
    if page.locator("body").get_attribute("data-jp-theme-name") != theme[0]:
        switch(page, *theme)


@pytest.fixture(scope="module", params=[(window, theme) for theme in THEMES for window in WINDOWS],
                ids=lambda each: f"{each[0][0]}x{each[0][1]}-{'light' if each[1][1] == 'true' else 'dark'}")
def arranged(notebook: Page, request: pytest.FixtureRequest) -> Page:
    """A module's notebook in a window of a laptop's size and of a desktop's, in both themes: all tests of a module see
    the one before it is changed into the next, since choosing a theme takes JupyterLab a second or two."""
    arrange(notebook, *request.param)
    return notebook


@pytest.fixture
def seen(arranged: Page, request: pytest.FixtureRequest) -> Iterator[Page]:
    """The same for each test, of which a picture is kept."""
    yield arranged
    keep(arranged, request.node.name)
