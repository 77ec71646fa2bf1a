"""The graph pane in a page that plays alone, with the network cut: folding, search, map, at four widths and 20 to 2,000
nodes.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from tests.groups import chromium, has_browser, require

pytestmark = pytest.mark.browser
require("browser", has_browser(), "chromium or playwright is not installed")

from playwright.sync_api import Browser, Locator, Page

import minigrad as torch
from minigrad import nn
from minigrad_widgets import Inspector, inspect
from tests.browser.jupyter import chrome

AXE = Path(__file__).parents[2] / "widgets" / "frontend" / "node_modules" / "axe-core" / "axe.min.js"
TOUCHING = """root => {
  const tools = '.mg-outline > summary, .mg-find, .mg-zoom button, .mg-map, .mg-legend span';
  const parts = [...root.querySelectorAll(tools)];
  const shown = parts.map(part => [part, part.getBoundingClientRect()]).filter(([, box]) => box.width > 0);
  const wrong = [];
  shown.forEach(([one, a], at) => shown.slice(at + 1).forEach(([other, b]) => {
    const apart = a.right <= b.left || b.right <= a.left || a.bottom <= b.top || b.bottom <= a.top;
    if (!apart) wrong.push(`${one.className || one.textContent} on ${other.className || other.textContent}`);
  }));
  const frame = root.querySelector('.mg-graph').getBoundingClientRect();
  for (const [part, box] of shown) if (box.left < frame.left || box.right > frame.right) wrong.push(part.className);
  for (const node of root.querySelectorAll('.mg-node')) {
    const box = node.querySelector('.mg-box').getBoundingClientRect();
    for (const text of node.querySelectorAll('.mg-title, .mg-caption, .mg-word')) {
      const { left, right, width } = text.getBoundingClientRect();
      if (width > 0 && (left < box.left || right > box.right)) wrong.push(text.textContent);
    }
  }
  return wrong;
}"""
UNFOLDED = """root => {
  const times = [];
  for (let at = 0; at < 6; at++) {
    const rows = [...root.querySelectorAll('.mg-outline-list [aria-expanded=false]')];
    if (rows.length === 0) break;
    const start = performance.now();
    rows[Math.min(at, rows.length - 1)].click();
    root.querySelector('.mg-svg').getBoundingClientRect();
    times.push(performance.now() - start);
  }
  return times;
}"""


class Block(nn.Module):
    """Two layers of a list that is itself never called, and a shortcut around them."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 4), nn.Linear(4, 4)])
        self.act = nn.ReLU()

    def forward(self, x: Any) -> Any:
        h = x
        for layer in self.layers:
            h = self.act(layer(h))
        return x + h


def network(blocks: int) -> Inspector:
    """The inspector of a network of 11 nodes for each block."""
    torch.manual_seed(0)
    net = nn.Sequential(*[Block() for _ in range(blocks)])
    return inspect(lambda: net(torch.ones(1, 4)).sum())


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chrome(str(chromium())) as running:
        yield running


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1200, "height": 900}, offline=True)
    yield context.new_page()
    context.close()


def opened(page: Page, folder: Path, inspector: Inspector) -> Locator:
    """The page that an inspector writes, open, with every request noted that it makes."""
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: pytest.fail(str(error)))
    inspector.to_html(folder / "page.html")
    page.goto((folder / "page.html").as_uri())
    root = page.locator(".mg-root")
    root.wait_for()
    assert asked == [(folder / "page.html").as_uri()]
    return root


def boxes(root: Locator) -> int:
    return root.locator(".mg-node").count()


def test_an_export_steps_with_the_network_cut(page: Page, tmp_path: Path) -> None:
    inspector = network(2)
    root = opened(page, tmp_path, inspector)
    first = inspector.step
    root.focus()
    for _ in range(12):
        page.keyboard.press("ArrowRight")
    frame = inspector._trace.frame(first + 12)
    assert root.get_attribute("data-step") == str(first + 12)
    assert root.get_attribute("data-ready") == " ".join(map(str, frame["ready"]))
    drawn = root.locator("[data-node]").evaluate_all("all => all.map(each => [each.dataset.node, each.dataset.status])")
    assert {int(node): status for node, status in drawn if status != "unknown"} == frame["status"]


def test_modules_fold_by_mouse_and_by_keyboard(page: Page, tmp_path: Path) -> None:
    inspector = network(2)
    root = opened(page, tmp_path, inspector)
    whole = len(inspector._trace.nodes)
    assert boxes(root) == whole
    root.locator(".mg-outline > summary").click()
    root.locator(".mg-outline-row", has_text="fold all").first.click()
    assert boxes(root) == 2
    root.locator(".mg-node[data-scope]").click()
    assert boxes(root) == 3
    page.keyboard.press("Tab")
    row = root.locator(".mg-outline-list [aria-expanded=false]").first
    row.focus()
    page.keyboard.press("Enter")
    assert boxes(root) > 3
    assert root.locator(".mg-outline-list button:focus").get_attribute("aria-expanded") == "true"
    root.locator(".mg-outline-row", has_text="unfold all").click()
    assert boxes(root) == whole


def test_search_goes_from_one_match_to_the_next(page: Page, tmp_path: Path) -> None:
    root = opened(page, tmp_path, network(20))
    root.locator(".mg-find").fill("layers.1 addmm")
    page.keyboard.press("Enter")
    one = root.locator(".mg-selected").get_attribute("data-node")
    page.keyboard.press("Enter")
    assert root.locator(".mg-found").inner_text() == "2 of 20"
    assert root.locator(".mg-selected").get_attribute("data-node") != one
    seen, frame = root.locator(".mg-selected .mg-box").bounding_box(), root.locator(".mg-svg").bounding_box()
    assert seen is not None
    assert frame is not None
    assert frame["y"] < seen["y"] < frame["y"] + frame["height"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [480, 768, 1200, 1600])
def test_nothing_touches(page: Page, tmp_path: Path, width: int, scheme: Any) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=scheme)
    root = opened(page, tmp_path, network(6))
    root.focus()
    for _ in range(20):
        page.keyboard.press("ArrowRight")
    page.wait_for_timeout(300)
    assert root.evaluate(TOUCHING) == []
    root.locator(".mg-outline > summary").click()
    root.locator(".mg-outline-row", has_text="fold all").first.click()
    root.locator(".mg-node[data-scope]").dispatch_event("click")
    assert root.evaluate(TOUCHING) == []


@pytest.mark.skipif(not AXE.exists(), reason="axe-core is not installed: npm ci in widgets/frontend")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(page: Page, tmp_path: Path, scheme: Any) -> None:
    page.emulate_media(color_scheme=scheme)
    root = opened(page, tmp_path, network(2))
    root.locator(".mg-outline > summary").click()
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate("axe.run('.mg-root', {resultTypes: ['violations']})")["violations"]
    assert [(each["id"], [node["target"] for node in each["nodes"]][:3]) for each in found] == []


def test_a_graph_of_2000_nodes_opens_folded_and_is_quick(page: Page, tmp_path: Path) -> None:
    inspector = network(180)
    root = opened(page, tmp_path, inspector)
    paint = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
    assert len(inspector._trace.nodes) > 1_900
    assert boxes(root) <= 500
    root.locator(".mg-outline > summary").click()
    times = root.evaluate(UNFOLDED)
    print(f"\n{len(inspector._trace.nodes)} nodes: first paint {paint:.0f} ms; "
          f"to unfold a module among {boxes(root)} boxes {median(times):.0f} ms")
    assert median(times) < 1_000
