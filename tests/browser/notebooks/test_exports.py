"""What nbconvert makes of a notebook that it ran shows every picture without a network, and says what is drawn.

HTML, slides and Markdown are made by nbconvert; a PDF as its `webpdf` makes one, by printing the HTML from Chromium.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import nbformat
import pytest

from tests.groups import has_browser, installed, require

pytestmark = pytest.mark.browser
require("browser", has_browser() and installed("jupyterlab"), "chromium, playwright or jupyterlab is not installed")

from nbclient import NotebookClient
from nbconvert import HTMLExporter, MarkdownExporter, SlidesExporter
from playwright.sync_api import Browser, expect

CELLS = [
    "import minigrad as torch\nfrom minigrad.recorder import record\nfrom minigrad_lessons import predict\n"
    "from minigrad_widgets import AliasView, Inspector, ParameterLedger",
    "x = torch.tensor([1., 2.], requires_grad=True)\nwith record() as trace:\n    (x * x).sum().backward()",
    "Inspector(trace)", "AliasView(trace)", "ParameterLedger(trace)", "predict('1.1')",
]
DRAWN = ["backward starts at SumBackward0 #2 with tensor(1.)", "mul(x, x) makes tensor 1", "x: .grad is now [2., 4.]"]


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A notebook with three pictures and a question, as nbconvert's `--execute` leaves it."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    folder = tmp_path_factory.mktemp("ran")
    NotebookClient(notebook, kernel_name="python3", resources={"metadata": {"path": folder}}).execute()
    return notebook


@pytest.mark.parametrize("made_by", [HTMLExporter(), HTMLExporter(template_name="classic"), SlidesExporter()],
                         ids=["html", "classic", "slides"])
def test_a_page_shows_its_pictures_without_a_network(ran: Any, made_by: Any, browser: Browser, tmp_path: Path) -> None:
    """Slides are then one long page, since nbconvert leaves reveal.js elsewhere."""
    (tmp_path / "made.html").write_text(made_by.from_notebook_node(ran)[0], encoding="utf-8")
    window = browser.new_context(offline=True)
    page = window.new_page()
    page.goto((tmp_path / "made.html").as_uri())
    images = page.locator("img[src^='data:image/png']")
    expect(images).to_have_count(3)
    for image in images.all():
        expect(image).to_be_visible()
        assert image.evaluate("image => image.decode().then(() => image.naturalWidth)") > 300
    expect(page.get_by_text("What do you expect?")).to_be_visible()
    assert page.pdf().count(b"/Subtype /Image") >= 3
    if made_by.template_name == "classic":  # nbconvert's other templates ask no picture for its text
        alts = images.evaluate_all("images => images.map(image => image.alt)")
        assert [drawn for drawn, alt in zip(DRAWN, alts, strict=True) if drawn not in alt] == []
    window.close()


def test_markdown_has_a_file_for_each_picture(ran: Any) -> None:
    made, resources = MarkdownExporter().from_notebook_node(ran)
    named = re.findall(r"!\[[^\]]*\]\(([^)]+)\)", made)
    assert len(named) == 3 and set(named) == set(resources["outputs"])
    assert all(png.startswith(b"\x89PNG") for png in resources["outputs"].values())
    assert "What do you expect?" in made
