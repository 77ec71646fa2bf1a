"""A recording is handed on: as a page of its own, and as a link that the site's player page opens."""

from __future__ import annotations

import json
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from pathlib import Path
from zlib import DEFLATED, compressobj

import pytest

from tests.groups import has_browser, installed, require

pytestmark = pytest.mark.browser
require("browser", has_browser() and installed("jupyterlab"), "chromium, playwright or jupyterlab is not installed")

from playwright.sync_api import BrowserContext, Locator, Page

from minigrad.recorder import Trace
from minigrad_widgets import Inspector
from minigrad_widgets.widget.page import PLAYER, player_page
from tests.browser.fixtures import Axe, keep, ran
from tests.browser.jupyter import Lab
from tests.widgets import hostile, synthetic

NAME = "share.ipynb"
CELLS = ["import minigrad as torch\nfrom minigrad.recorder import record\nfrom minigrad_widgets import Inspector",
         "x = torch.tensor([1., 2.], requires_grad=True)\nwith record() as trace:\n    (x * x).sum().backward()\n"
         "Inspector(trace)",
         "y = torch.tensor(1.0, requires_grad=True)\nwith record() as long:\n    z = y\n    for _ in range(400):\n"
         "        z = z * 1.01\n    z.backward()\nInspector(long)"]


@pytest.fixture(scope="module")
def notebook(pages: BrowserContext, server: Lab) -> Iterator[Page]:
    """A notebook with a short recording and a long one, which may write to the clipboard."""
    with ran(pages, server, NAME, *CELLS, widgets=2) as page:
        yield page


def share(page: Page, number: int, name: str) -> tuple[str, str]:
    """Presses a button of "share"; gives what is in the clipboard then, and what the inspector says."""
    root = page.locator(".mg-root").nth(number)
    root.evaluate("root => root.closest('.jp-Cell').scrollIntoView({block: 'start'})")
    page.evaluate("navigator.clipboard.writeText('')")
    if root.locator(".mg-share[open]").count() == 0:
        root.locator(".mg-share > summary").click()
    root.locator(".mg-share button", has_text=name).click()
    said = root.locator(".mg-said:not(:empty)")
    said.wait_for()
    return str(page.evaluate("navigator.clipboard.readText()")), said.inner_text()


def opened(page: Page, folder: Path, text: str, fragment: str = "") -> Locator:
    """A page that was written to a file, opened at a fragment."""
    (folder / "page.html").write_text(text, encoding="utf-8")
    page.goto("about:blank")
    page.goto((folder / "page.html").as_uri() + fragment)
    return page.locator(".mg-root")


def test_a_page_and_a_link_show_the_recording_at_its_step(
        seen: Page, page: Page, axe: Axe, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    notebook = seen
    root = notebook.locator(".mg-root").first
    root.focus()
    root.press("Home")
    for _ in range(5):
        root.press("ArrowRight")
    sentence, step = root.locator("output.mg-text").inner_text(), root.get_attribute("data-step")
    copied, said = share(notebook, 0, "copy as page")
    assert said.startswith("Copied: a page of")
    keep(notebook, request.node.name)
    assert axe(notebook, 0) == []
    made = opened(page, tmp_path, copied)
    assert made.get_attribute("data-step") == step and made.locator("output.mg-text").inner_text() == sentence
    made.focus()
    made.press("ArrowRight")
    assert made.get_attribute("data-step") != step

    link, said = share(notebook, 0, "copy as link")
    address, _, fragment = link.partition("#")
    assert address == PLAYER and 500 < len(fragment) < 8192 and said.startswith("Copied: a link of")
    made = opened(page, tmp_path, player_page(), f"#{fragment}")
    assert made.locator("output.mg-text").inner_text() == sentence
    assert axe(page, 0) == []
    keep(page, f"{request.node.name}-player")


def test_a_recording_that_is_too_large_for_a_link_says_so(notebook: Page) -> None:
    link, said = share(notebook, 1, "copy as link")
    assert link == "" and "a link holds 8 KiB: copy it as a page" in said


def test_a_page_that_was_copied_can_be_copied_again(page: Page, tmp_path: Path) -> None:
    root = opened(page, tmp_path, Inspector(Trace.from_dict(synthetic.diamond())).to_html())
    sentence = root.locator("output.mg-text").inner_text()
    page.evaluate("() => { navigator.clipboard.writeText = async text => { window.copied = text; }; }")
    root.locator(".mg-share > summary").click()
    root.locator(".mg-share button", has_text="copy as page").click()
    page.wait_for_function("() => window.copied")
    again = opened(page, tmp_path, str(page.evaluate("() => window.copied")))
    assert again.locator("output.mg-text").inner_text() == sentence


def fragment_of(state: object) -> str:
    """A fragment as anybody could make one."""
    deflate = compressobj(9, DEFLATED, -15)
    packed = deflate.compress(json.dumps(state).encode()) + deflate.flush()
    return urlsafe_b64encode(packed).decode().rstrip("=")


def test_nothing_of_a_link_runs(page: Page, tmp_path: Path) -> None:
    """Names that are markup are shown as text; what is no trace is refused in words."""
    trace = hostile.renamed(hostile.MARKUP)
    root = opened(page, tmp_path, player_page(), f"#{fragment_of({'trace': trace, 'lens': 'all', 'step': 3})}")
    root.focus()
    for key in ["Home", *["ArrowRight"] * 12, "End"]:
        page.keyboard.press(key)
    assert hostile.MARKUP[:40] in (root.locator(".mg-source code").first.text_content() or "")
    assert page.evaluate("window.harmed") is None and page.locator("script").count() == 1
    assert page.locator("main img").count() == 0
    circle = next(at for at, node in enumerate(trace["nodes"]) if node["next"])
    trace["nodes"][circle]["next"] = [[circle, 0] for _ in trace["nodes"][circle]["next"]]
    for wrong in (fragment_of({"trace": trace}), fragment_of([]), "A" * 9000, "javascript:alert(1)", "%00"):
        root = opened(page, tmp_path, player_page(), f"#{wrong}")
        assert root.inner_text().startswith("This link cannot be shown: ")
    assert page.evaluate("window.harmed") is None


def test_the_player_page_runs_no_other_script(page: Page, tmp_path: Path) -> None:
    """Its policy lets its own script run, and nothing that could get into it."""
    opened(page, tmp_path, player_page())
    page.evaluate("""() => {
      const script = document.createElement("script");
      script.textContent = "window.harmed = 1";
      document.body.append(script);
    }""")
    assert page.evaluate("window.harmed") is None
    assert "is shown here" in page.locator("main").inner_text()
