"""Every lesson in a real JupyterLab: all cells run, no error but those that are meant, every inspector steps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.groups import has_browser, installed, require
from tests.lessons.play import executed

pytestmark = pytest.mark.browser
require("browser", has_browser() and installed("jupyterlab"), "chromium, playwright or jupyterlab is not installed")

from playwright.sync_api import Locator, Page

from tests.browser.fixtures import LESSONS, SHOTS, keep
from tests.browser.jupyter import PATIENCE, Lab, open_notebook, run_all, saved, switch

MOST_BYTES = 3_000_000  # of a lesson that is saved with the state of its widgets
THEMES = {"JupyterLab Light": "true", "JupyterLab Dark": "false"}
# What is ours on each screen of a lesson, from the top to the end: of its texts and outputs those that are too faint or
# too small. The colours of code and of tracebacks are IPython's.
WRONG = """(panel, tops) => read.reachable(() => tops.flatMap((top, at) => {
  panel.scrollTop = top;
  const screen = panel.getBoundingClientRect();
  const parts = [...panel.querySelectorAll(".jp-RenderedMarkdown, .jp-OutputArea-output")].filter(part => {
    const { top, bottom } = part.getBoundingClientRect();
    const theirs = part.matches("[data-mime-type='application/vnd.jupyter.stderr']");
    return !theirs && bottom >= screen.top && top <= screen.bottom;
  });
  const wrong = [...read.faint(parts, screen), ...read.small(parts, 11, screen)];
  return wrong.map(each => `screen ${at}: ${each}`);
}))"""


def inspectors(notebook: Any) -> list[str]:
    """The models of the inspectors that the cells show; the student's progress is a widget of another kind."""
    state = notebook.metadata.widgets["application/vnd.jupyter.widget-state+json"]["state"]
    views = [output.get("data", {}).get("application/vnd.jupyter.widget-view+json")
             for cell in notebook.cells for output in cell.get("outputs", [])]
    models = [view["model_id"] for view in views if view]
    return [model for model in models if state[model]["model_module"] == "anywidget"]


def pictures(notebook: Any) -> list[str]:
    """The cells that show a picture."""
    return [cell.id for cell in notebook.cells
            if any("image/png" in output.get("data", {}) for output in cell.get("outputs", []))]


def steps(root: Locator) -> bool:
    """Whether an inspector goes on by the keyboard; one that is called by hand is asked for every step first."""
    for every_step in root.locator("[data-lens=all]:visible").all():
        every_step.click()
    root.focus()
    root.press("Home")
    before = root.get_attribute("data-step")
    root.press("ArrowRight")
    return root.get_attribute("data-step") != before


def looked_at(page: Page, name: str) -> list[str]:
    """Texts that are too faint or have less than 11 pixels, on a laptop's screen, in both themes, all the way down a
    lesson; a picture of each screen is kept.
    """
    page.set_viewport_size({"width": 1280, "height": 800})
    panel, found = page.locator(".jp-NotebookPanel .jp-WindowedPanel-outer"), []
    now = page.locator("body").get_attribute("data-jp-theme-name")  # as the lesson before has left it
    for theme, light in sorted(THEMES.items(), key=lambda each: each[0] != now):
        if theme != now:
            switch(page, theme, light)
        screen, end = panel.evaluate("""panel => [panel.clientHeight, panel.scrollTop +
          [...panel.querySelectorAll('.jp-Cell')].at(-1).getBoundingClientRect().bottom]""")
        tops = list(range(0, int(end), screen - 60))
        found += [f"{theme}, {each}" for each in panel.evaluate(WRONG, tops)]
        for at, top in enumerate(tops if SHOTS else []):
            panel.evaluate("(panel, top) => { panel.scrollTop = top; }", top)
            keep(panel, f"{Path(name).stem}-{theme.split()[1].lower()}-{at:02}")
    return found


@pytest.mark.parametrize("name", LESSONS)
def test_a_lesson(tab: Page, lessons: Lab, name: str) -> None:
    open_notebook(tab, lessons, name)
    run_all(tab, lessons, name)
    notebook = saved(tab, lessons, name, 4 * PATIENCE)
    for cell in notebook.cells:
        raised = [output for output in cell.get("outputs", []) if output.output_type == "error"]
        assert bool(raised) == ("raises-exception" in cell.metadata.get("tags", [])), (cell.id, raised)
    assert pictures(notebook) == pictures(executed(Path(name).stem))
    shown = inspectors(notebook)
    roots = tab.locator(".mg-root")
    roots.nth(len(shown) - 1).wait_for(timeout=PATIENCE * 1000)
    assert roots.count() == len(shown) > 0
    assert tab.locator(".mg-error").count() == 0
    for root in tab.locator(".mg-root[data-step]").all():
        assert steps(root)
    assert looked_at(tab, name) == []
    assert (lessons.folder / name).stat().st_size < MOST_BYTES
    session = lessons.session(name, idle=False)
    assert session is not None
    lessons.ask(f"api/sessions/{session['id']}", "DELETE")
