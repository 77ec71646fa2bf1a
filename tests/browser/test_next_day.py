"""A notebook that was run, saved and closed shows its pictures and answers when it is opened again, without running it.

In JupyterLab and in Notebook 7, with the settings that `minigrad lab` ships and with none at all; also if the kernel
was restarted before it was saved. Without any kernel JupyterLab itself restores no widgets, and goes on loading them.
"""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Iterator

import nbformat
import pytest

from tests.groups import has_browser, installed, require

pytestmark = pytest.mark.browser
require("browser", has_browser() and installed("jupyterlab") and installed("notebook"),
        "chromium, playwright, jupyterlab or notebook is not installed")

from playwright.sync_api import Locator, Page, Route, expect

from tests.browser.book import await_widgets
from tests.browser.fixtures import THEMES
from tests.browser.jupyter import PATIENCE, Lab, await_idle, run_all, saved, settings

INSPECT = """import minigrad as torch
from minigrad.recorder import record
from minigrad_lessons import predict
from minigrad_widgets import Inspector, ParameterLedger

x = torch.tensor([1., 2.], requires_grad=True)
with record() as trace:
    (x * x).sum().backward()
Inspector(trace)"""
CELLS = [INSPECT, "Inspector(trace, lens='forward')", "ParameterLedger(trace)", "predict('1.1')"]
LAB, NOTEBOOK = "lab/tree/{}?reset", "notebooks/{}"
WAYS = [
    (LAB, "shipped settings", "a new kernel"),
    (LAB, "no settings", "after a restart"),
    (NOTEBOOK, "shipped settings", "after a restart"),
    (NOTEBOOK, "no settings", "a new kernel"),
]
FAR = PATIENCE * 1000
UNTIL_RESTORED = "while (!this.restoredStatus) await new Promise(later => setTimeout(later, 100))"


@pytest.fixture
def own(server: Lab, request: pytest.FixtureRequest) -> Iterator[None]:
    """The settings of the server's user."""
    if request.param == "no settings":
        shutil.rmtree(server.home / "settings")
    yield
    shutil.rmtree(server.home / "settings", ignore_errors=True)
    settings(server.home, THEMES[0][0])


@pytest.mark.parametrize(("address", "own", "later"), WAYS, indirect=["own"], ids=lambda each: each.split("/")[0])
@pytest.mark.usefixtures("own")
def test_a_notebook_is_the_same_the_next_day(tab: Page, server: Lab, address: str, later: str) -> None:
    name = server.write("next_day.ipynb", *CELLS)
    visit(tab, server, address.format(name))
    await_idle(tab, server, name)
    run_all(tab, server, name)
    await_widgets(tab, 4)
    answer(tab.locator(".mg-question-card"))
    shown = contents(tab)
    while shown != (shown := contents(tab)):
        tab.wait_for_timeout(300)
    if later == "after a restart":
        tab.wait_for_timeout(1000)  # as long as a person needs to find the menu
        server.ask(f"api/kernels/{await_idle(tab, server, name)['kernel']['id']}/restart", "POST")
        await_idle(tab, server, name)
    notebook = saved(tab, server, name)
    states = notebook.metadata.widgets["application/vnd.jupyter.widget-state+json"]["state"].values()
    scripts = [each["state"]["_esm"] for each in states if "_esm" in each["state"]]
    assert len(scripts) == 4 and sum(len(script) > 1000 for script in scripts) == 2  # the inspector's and the card's

    server.ask(f"api/sessions/{await_idle(tab, server, name)['id']}", "DELETE")
    tab.goto("about:blank")
    visit(tab, server, address.format(name))
    await_widgets(tab, 4)
    deadline = time.monotonic() + PATIENCE
    while contents(tab) != shown and time.monotonic() < deadline:
        tab.wait_for_timeout(100)
    assert contents(tab) == shown
    assert tab.locator(".jp-Notebook").get_by_text("Error displaying widget").count() == 0
    assert nbformat.read(server.folder / name, as_version=4).cells == notebook.cells  # nothing ran


def test_widgets_that_were_found_too_late_are_drawn(tab: Page, server: Lab) -> None:
    """JupyterLab looks for a model for two seconds and not once more at their end; here it never looks, and waits."""
    name = server.write("too_late.ipynb", *CELLS)
    visit(tab, server, LAB.format(name))
    run_all(tab, server, name)
    await_widgets(tab, 4)
    saved(tab, server, name)
    server.ask(f"api/sessions/{await_idle(tab, server, name)['id']}", "DELETE")
    tab.goto("about:blank")
    blind: list[int] = []

    def look_too_late(route: Route) -> None:
        answer = route.fetch()
        script, never = re.subn(r"Date\.now\(\)-\w+<2e3", "false", answer.text())
        script, waits = re.subn(r'(throw Error\("widget model not found"\))', f"{UNTIL_RESTORED};\\1", script)
        blind.append(min(never, waits))
        route.fulfill(response=answer, body=script)

    tab.route("**/@jupyter-widgets/jupyterlab-manager/static/*.js*", look_too_late)
    visit(tab, server, LAB.format(name))
    tab.get_by_text("Error displaying widget").first.wait_for(timeout=FAR)
    await_widgets(tab, 4)
    assert sum(blind) == 1 and tab.get_by_text("Error displaying widget").count() == 0


def visit(page: Page, server: Lab, address: str) -> None:
    page.goto(server.address(address), wait_until="domcontentloaded")
    page.locator(".jp-NotebookPanel .jp-Cell").first.wait_for(timeout=FAR)


def answer(card: Locator) -> None:
    card.locator(".mg-choice").first.click()
    card.locator(".mg-choice[aria-pressed='true']").wait_for(timeout=FAR)


def contents(page: Page) -> list[str]:
    """What the pictures and the card show, each scrolled into view: its words, or the answer that is chosen."""
    seen = []
    for root in page.locator(".mg-root").all():
        root.evaluate("root => root.closest('.jp-Cell').scrollIntoView({block: 'center'})")
        expect(root).not_to_have_text("", use_inner_text=True)  # the notebook draws a cell once it is in view
        seen.append(root.inner_text())
    return [*seen, page.locator(".mg-choice[aria-pressed='true']").inner_text()]
