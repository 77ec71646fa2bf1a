"""How the widgets look and whether everybody can use them: texts apart, contrast, keyboard, axe-core, less motion."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.groups import has_browser, installed, require

pytestmark = pytest.mark.browser
require("browser", has_browser() and installed("jupyterlab"), "chromium, playwright or jupyterlab is not installed")

from playwright.sync_api import Locator, Page, expect

import minigrad as torch
from minigrad.recorder import Trace
from minigrad_widgets import AliasView, Inspector, ParameterLedger, RankLanes, StateExplorer, compare, explore, inspect
from tests.browser import expected
from tests.browser.fixtures import Axe, Opened
from tests.widgets import synthetic
from tests.widgets.programs import WAYS, blocks, compiled, in_place, network, two_steps
from tests.widgets.rank_traces import rank_of

WIDTHS = (480, 768, 1200, 1600)
ROWS = """rows => rows.filter(row => row.dataset.box >= 0 && row.dataset.state !== 'unknown').map(row =>
  [row.dataset.box, row.getAttribute("aria-current"), row.cells[1].innerText.split(/, | [■□]/)[0],
   row.querySelector(".mg-pending").innerText])"""


def walked(lens: str, keys: str) -> Callable[[], Any]:
    """An inspector of checkpointed blocks, and the keys to press in it."""
    return lambda: (Inspector(blocks(False), lens=lens), keys)


def asking(kind: str) -> Callable[[], Any]:
    """An inspector that asks one kind of question, at the first of them."""
    return lambda: (Inspector(blocks(None), ask=[kind]), "End ArrowRight")


def by_hand() -> Any:
    """The traversal lens after two calls."""
    inspector = Inspector(Trace.from_dict(synthetic.diamond()), lens="traversal")
    inspector.calls = [3, 2]
    return inspector, ""


def folded() -> Any:
    """A network with every block folded."""
    inspector = network(6)
    inspector.collapsed = [at for at, scope in enumerate(inspector._data["scopes"]) if scope["parent"] == 0]
    return inspector, "ArrowRight " * 25


VIEWS: dict[str, Callable[[], Any]] = {
    "forward": walked("forward", "ArrowRight " * 3),
    "backward": walked("backward", "ArrowRight " * 9),
    "checkpoint": walked("checkpoint", "ArrowRight " * 26),
    "all": walked("all", "End"),
    "traversal": by_hand,
    "modules": lambda: (network(3), "ArrowRight " * 25),
    "folded": folded,
    "next": asking("next"),
    "shape": asking("shape"),
    "grad": asking("grad"),
    "comparison": lambda: (compare({name: blocks(way) for name, way in WAYS.items()}), "ArrowRight " * 12),
    "aliases": lambda: (AliasView(in_place()), "ArrowRight " * 4),
    "ledger": lambda: (ParameterLedger(two_steps()), "ArrowRight " * 6),
    "explorer": lambda: (StateExplorer(explore(torch)), ""),
    "compiled": lambda: (inspect(compiled(2)), "ArrowRight " * 6 + "ArrowDown " * 3),
    "lanes": lambda: (RankLanes([rank_of(rank, late=0.001 * rank) for rank in range(8)]), ""),
    "layers": lambda: (Inspector(Trace.from_dict(synthetic.layers(20))), "ArrowRight " * 30),
}


@pytest.fixture(scope="module", params=VIEWS)
def view(request: pytest.FixtureRequest) -> tuple[str, str]:
    """A view as a page, and the keys that lead to its state."""
    widget, keys = VIEWS[request.param]()
    return widget.to_html(), keys


@pytest.fixture
def shown(view: tuple[str, str], opened: Opened, page: Page) -> Locator:
    """The view, in its state."""
    page.emulate_media(reduced_motion="reduce")
    root = opened(view[0])
    for key in view[1].split():
        page.keyboard.press(key)
    return root


def painted(page: Page) -> None:
    """Waits until the page has been laid out and painted anew."""
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


def open_all(root: Locator) -> None:
    """Opens what can be opened: the bytes, the table."""
    for part in (".mg-toggle", ".mg-nodelist > summary >> nth=0",
                 ".mg-elsewhere > summary"):
        for button in root.locator(part).all():
            if button.is_visible():
                button.click()


def test_texts_are_apart_and_can_be_read(page: Page, shown: Locator, axe: Axe) -> None:
    """Shut and opened, at four widths: no texts touch or are small, nothing leaves the frame; in both themes none is
    faint.
    """
    wrong: dict[str, Any] = {}

    def look(where: str, *names: str) -> None:
        painted(page)
        wrong.update({f"{where}: {name}": shown.evaluate(f"root => read.{name}(root)") for name in names})

    for state in ("shut", "open"):
        if state == "open":
            open_all(shown)
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 1000})
            look(f"{state} {width}", "overlaps", "outside", "spilled", *["small"] * (state == "shut"))
        for scheme in ("dark", "light"):
            page.emulate_media(color_scheme=scheme)
            look(f"{state} {scheme}", "faint")
            wrong[f"{state} {scheme}: axe"] = axe(page) if state == "open" else []
    assert {where: found for where, found in wrong.items() if found} == {}


def test_everything_is_reached_by_tab_and_seen_there(page: Page, shown: Locator) -> None:
    wanted = shown.evaluate("root => read.controls(root)")
    shown.focus()
    reached: list[str] = []
    for _ in range(len(wanted) + 5):
        page.keyboard.press("Tab")
        at = page.evaluate("read.focus()")
        if not at["inside"]:
            break
        assert at["seen"], at["name"]
        reached.append(at["name"])
    assert set(wanted) <= set(reached)  # a browser adds what can be scrolled
    assert len(reached) >= len(wanted)


def test_the_table_says_what_the_drawing_says(page: Page, opened: Opened) -> None:
    inspector = network(1)
    root, trace = opened(inspector), inspector._trace
    root.locator(".mg-summary > summary").focus()
    page.keyboard.press("Enter")
    root.focus()
    rows = root.locator(".mg-summary tbody tr")
    expect(rows).not_to_have_count(0)  # the table is filled once the browser says that it is open
    for step in trace.steps("backward")[:40]:
        assert root.get_attribute("data-step") == str(step)
        wanted = expected.drawn(trace, "backward", step)
        told = rows.evaluate_all(ROWS)
        states = {row[0]: row[2] for row in told}
        assert states == {node: wanted["words"][node] or "recorded" for node in states}
        assert set(states) == {node for node, status in wanted["status"].items() if status != "unknown"}
        assert {row[0]: f"Σ {row[3]}" for row in told if row[3]} == wanted["piled"]
        assert [row[0] for row in told if row[1] == "step"] == wanted["marked"]
        page.keyboard.press("ArrowRight")
    op = root.locator('.mg-summary tr[data-box="3"]')
    op.locator(".mg-link").press("Enter")
    expect(root.locator(".mg-selected")).to_have_attribute("data-node", "3")


def test_the_keyboard_stays_inside_when_its_button_is_drawn_anew(page: Page, opened: Opened) -> None:
    root = opened(Inspector(blocks(None)))
    root.locator(".mg-find").fill("cos")
    page.keyboard.press("Enter")
    root.locator(".mg-details .mg-link").first.press("Enter")
    assert page.evaluate("read.focus().inside")


def test_less_motion_where_it_is_asked_for(page: Page, shown: Locator) -> None:
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.getAnimations().length") == 0


def test_gradients_flow_in_motion_elsewhere(page: Page, opened: Opened) -> None:
    root = opened(Inspector(blocks(None)))
    while root.locator(".mg-edge[data-flow=now]").count() == 0:
        page.keyboard.press("ArrowRight")
    assert page.evaluate("document.getAnimations().length") > 0


@pytest.mark.parametrize("name", ["backward", "traversal", "comparison", "aliases", "ledger"])
def test_every_step_is_said(page: Page, opened: Opened, name: str) -> None:
    """A live region tells what happened; the slider has the same as its value."""
    root = opened(VIEWS[name]()[0])
    live = root.locator("[aria-live=polite].mg-text")
    for key in ("Home", "ArrowRight", "ArrowRight", "End"):
        page.keyboard.press(key)
        said = live.inner_text()
        assert said
        assert root.locator("input[type=range]").get_attribute("aria-valuetext") == said
