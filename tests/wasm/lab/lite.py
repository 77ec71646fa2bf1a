"""Opens lessons in a lab that `python -m website.lab DIR` has written, with no other host reachable.

`python -m tests.wasm.lab.lite DIR` prints the seconds to the first inspector, and how many bytes that took: of the
first lesson, in a browser that has nothing, and of the next one.
"""

from __future__ import annotations

import gzip
import json
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

from playwright.sync_api import Browser, Page, expect

from tests.browser.jupyter import chrome
from tests.groups import chromium

FIRST = "00_build_it_yourself"
SECOND = "01_tensors_and_leaves"
PATIENCE = 150_000
# JupyterLab asks for these in every place: where a file of a traceback is, and a picture before it is looked up in its
# cell. A browser asks for an icon.
EXPECTED = ("/api/contents/lib/", "attachment:", "/favicon.ico")


class Quiet(SimpleHTTPRequestHandler):
    """Serves files, as `python -m http.server` does, and says nothing."""

    def log_message(self, *args: object) -> None:
        """Nothing."""


class Lite:
    """A page of a browser, and what it asked for."""

    def __init__(self, page: Page, folder: Path, address: str) -> None:
        self.page, self.folder, self.address = page, folder, address
        self.seconds = 0.0
        """How long it took to open a lesson."""
        self.files: set[Path] = set()
        self.wrong: list[str] = []
        """Requests to other hosts, errors of the page, and requests that failed though they should not."""
        dialog = page.locator(".jp-Dialog", has_text="Select Kernel")  # it comes where the list of kernels comes late
        page.add_locator_handler(dialog, lambda: dialog.locator(".jp-mod-accept").click())
        page.context.route("**/*", lambda route: route.continue_() if self._is_ours(route.request.url)
                           else route.abort())
        page.context.on("request", lambda asked: self._note(asked.url))
        page.context.on("response", lambda answer: answer.ok or answer.status == 304 or self._fault(answer.url))
        page.context.on("requestfailed", lambda asked: self._fault(asked.url))
        page.on("pageerror", lambda error: self.wrong.append(str(error)))
        page.on("console", lambda said: self._said(said.type, said.text))

    def _is_ours(self, url: str) -> bool:
        return url.startswith((self.address, "data:", "blob:"))

    def _note(self, url: str) -> None:
        if url.startswith(self.address):
            self.files.add(self.folder / urlsplit(url).path.lstrip("/"))
        elif not url.startswith(("data:", "blob:")):
            self._fault(url)

    def _fault(self, url: str) -> None:
        if not any(word in url for word in EXPECTED):
            self.wrong.append(url)

    def _said(self, kind: str, text: str) -> None:
        if kind == "error" and not text.startswith("Failed to load resource"):  # requests are looked at by themselves
            self.wrong.append(text)

    def size(self) -> int:
        """The bytes of all files that were asked for so far, as a host sends them: compressed by gzip."""
        return sum(len(gzip.compress(file.read_bytes(), 6)) for file in self.files if file.is_file())

    def show(self, lesson: str) -> None:
        """Show a lesson."""
        self.page.goto(f"{self.address}/lab/index.html?path={lesson}.ipynb")

    def open(self, lesson: str) -> None:
        """Open a lesson and run its first cell, until an inspector is drawn."""
        start = time.monotonic()
        self.show(lesson)
        expect(self.page.locator(".jp-Toolbar-kernelName")).to_have_text("Python (Pyodide)", timeout=PATIENCE)
        cell = self.page.locator(".jp-Notebook .jp-CodeCell").first
        cell.locator(".cm-content").click(timeout=PATIENCE)
        self.page.keyboard.press("Shift+Enter")
        expect(cell.locator(".mg-root[data-ready] svg").first).to_be_visible(timeout=PATIENCE)
        self.seconds = time.monotonic() - start

    def run_all(self) -> None:
        """Run all cells by the menu, and wait until the last has run."""
        self.page.locator(".lm-MenuBar-itemLabel:text-is('Run')").click()
        self.page.locator("li[data-command='runmenu:run-all']").click()
        self.page.wait_for_function("""() => {
          const cells = [...document.querySelectorAll('.jp-Notebook .jp-CodeCell')]
            .filter(cell => cell.querySelector('.cm-content')?.textContent.trim());
          const numbers = cells.map(cell => cell.querySelector('.jp-InputPrompt').textContent);
          return cells.length > 3 && numbers.every(number => /[0-9]/.test(number));
        }""", timeout=PATIENCE)

    def errors(self) -> list[str]:
        """The last line of each traceback in the notebook."""
        shown = self.page.locator(".jp-RenderedText[data-mime-type='application/vnd.jupyter.error'], "
                                  ".jp-RenderedText[data-mime-type='application/vnd.jupyter.stderr']")
        return [text.strip().splitlines()[-1] for text in shown.all_inner_texts()]


def keep_all_cells(folder: Path) -> None:
    """Let JupyterLab keep all cells in the page, to be looked at."""
    file = folder / "jupyter-lite.json"
    config = json.loads(file.read_text(encoding="utf-8"))
    overrides = config["jupyter-config-data"].setdefault("settingsOverrides", {})
    overrides.setdefault("@jupyterlab/notebook-extension:tracker", {})["windowingMode"] = "none"
    file.write_text(json.dumps(config), encoding="utf-8")


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address of a server of the files in a folder."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@contextmanager
def opened(browser: Browser, folder: Path) -> Iterator[Lite]:
    """A page in a browser that has nothing stored yet."""
    context = browser.new_context(viewport={"width": 1400, "height": 1000})
    with served(folder) as address:
        yield Lite(context.new_page(), folder, address)
        context.close()


if __name__ == "__main__":
    with chrome(str(chromium())) as running, opened(running, Path(sys.argv[1]).resolve()) as lite:
        for lesson in (FIRST, SECOND):
            lite.open(lesson)
            print(f"{lesson}: an inspector after {lite.seconds:.1f} s; {lite.size() / 1e6:.1f} MB in all")
