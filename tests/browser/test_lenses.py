"""The checkpoint lens, the comparison, the memory pane and ask mode in a browser, from pages that play alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.groups import chromium, has_browser, require

pytestmark = pytest.mark.browser
require("browser", has_browser(), "chromium or playwright is not installed")

from playwright.sync_api import Browser, Locator, Page

import minigrad as torch
from minigrad.recorder import Trace, record
from minigrad.utils.checkpoint import checkpoint
from minigrad_widgets import Inspector, compare
from tests.browser.jupyter import chrome

AXE = Path(__file__).parents[2] / "widgets" / "frontend" / "node_modules" / "axe-core" / "axe.min.js"
WIDTHS = [480, 768, 1200, 1600]
OUTSIDE = """root => {
  const frame = root.getBoundingClientRect(), wrong = [];
  for (const part of root.querySelectorAll('.mg-foot *, .mg-row *, .mg-head *, .mg-ask *')) {
    const { left, right, width } = part.getBoundingClientRect();
    if (part.closest('.mg-chips, .mg-scroll, .mg-run')) continue;
    if (width > 0 && (left < frame.left - 1 || right > frame.right + 1)) wrong.push(part.className || part.tagName);
  }
  const words = [...root.querySelectorAll('.mg-kind, .mg-foot .mg-heading, .mg-event, .mg-who, .mg-counter, .mg-tab')];
  const boxes = words.map(each => each.getBoundingClientRect()).filter(box => box.width > 0);
  boxes.forEach((one, at) => boxes.slice(at + 1).forEach(two => {
    const beside = one.right <= two.left + 1 || two.right <= one.left + 1;
    const above = one.bottom <= two.top + 1 || two.bottom <= one.top + 1;
    if (!beside && !above) wrong.push(`${one.x},${one.y} overlaps ${two.x},${two.y}`);
  }));
  return wrong;
}"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chrome(str(chromium())) as running:
        yield running


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1200, "height": 1000})
    yield context.new_page()
    context.close()


def block(x: Any) -> Any:
    return x.sin().cos()


def program(way: bool | None) -> Trace:
    """Two blocks of a model, both checkpointed or none."""
    x = torch.ones(8, requires_grad=True)
    with record() as trace:
        out = x
        for _ in range(2):
            out = block(out) if way is None else checkpoint(block, out, use_reentrant=way)
        out.sum().backward()
    return trace


def opened(page: Page, folder: Path, html: str) -> Locator:
    """A page that plays alone, focused."""
    (folder / "page.html").write_text(html, encoding="utf-8")
    page.goto((folder / "page.html").as_uri())
    root = page.locator(".mg-root")
    root.focus()
    return root


def test_the_checkpoint_lens(page: Page, tmp_path: Path) -> None:
    trace = program(False)
    root = opened(page, tmp_path, Inspector(trace, lens="checkpoint").to_html())
    stops = [step for step, event in enumerate(trace.events) if event["kind"] == "early_stop"]
    drawn = root.locator(".mg-run[data-stop]").evaluate_all("runs => runs.map(run => Number(run.dataset.stop))")
    assert drawn == stops
    for step in range(len(trace.events)):
        frame = trace.frame(step)
        assert root.get_attribute("data-step") == str(step)
        assert root.get_attribute("data-ready") == " ".join(map(str, frame["ready"]))
        page.keyboard.press("ArrowRight")
    box = root.locator(".mg-chart").bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + box["width"] * (stops[0] + 0.5) / len(trace.events), box["y"] + 5)
    assert root.get_attribute("data-step") == str(stops[0])
    assert "stops early" in root.locator(".mg-text").inner_text()


def test_a_comparison(page: Page, tmp_path: Path) -> None:
    traces = {"plain": program(None), "reentrant": program(True), "non-reentrant": program(False)}
    root = opened(page, tmp_path, compare(traces).to_html())
    longest = max(len(trace.events) for trace in traces.values())
    for step in range(longest):
        held = [next(event["bytes"] for event in trace.events[min(step, len(trace.events) - 1)::-1] if "bytes" in event)
                if any("bytes" in event for event in trace.events[:step + 1]) else [0] for trace in traces.values()]
        drawn = root.locator(".mg-row").evaluate_all("rows => rows.map(row => Number(row.dataset.bytes))")
        assert drawn == [sum(each) for each in held]
        page.keyboard.press("ArrowRight")
    assert root.get_attribute("data-step") == str(longest - 1)


@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_leaves_the_frame_or_overlaps(page: Page, tmp_path: Path, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    for html in (Inspector(program(False), lens="checkpoint", step=20).to_html(),
                 compare({"plain": program(None), "reentrant": program(True)}, 9).to_html()):
        assert opened(page, tmp_path, html).evaluate(OUTSIDE) == []


@pytest.mark.parametrize("width", WIDTHS)
def test_the_memory_pane(page: Page, tmp_path: Path, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    trace = program(None)
    root = opened(page, tmp_path, Inspector(trace, lens="all").to_html())
    root.locator(".mg-toggle").press("Enter")
    names = ("parameters", "activations", "saved", "gradients")
    held = [0, 0, 0, 0]
    root.focus()
    for event in trace.events:
        held = event.get("bytes", held)
        tables = root.locator("[data-kind]")
        told = tables.evaluate_all("all => all.map(({dataset}) => [dataset.kind, +dataset.bytes])")
        assert told == [[name, count] for name, count in zip(names, held, strict=True) if count]
        page.keyboard.press("ArrowRight")
    assert root.evaluate(OUTSIDE) == []


@pytest.mark.parametrize("width", WIDTHS)
def test_ask_mode(page: Page, tmp_path: Path, width: int) -> None:
    """By keyboard alone: the first question is answered wrong, all others right."""
    page.set_viewport_size({"width": width, "height": 900})
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    w = torch.tensor([3.0, 4.0], requires_grad=True)
    with record() as trace:
        ((x * w) * x).sum().backward()
    inspector = Inspector(trace, ask=True)
    root = opened(page, tmp_path, inspector.to_html())
    for at, question in enumerate(inspector.ask):
        page.keyboard.press("End")
        assert int(root.get_attribute("data-step") or 0) < question["step"]
        assert root.locator(".mg-ask").get_attribute("data-asking") == question["kind"]
        assert root.evaluate(OUTSIDE) == []
        page.keyboard.press("ArrowRight")
        event = trace.events[question["step"]]
        answer(page, root, trace, event, right=at > 0)
        assert root.get_attribute("data-score") == f"{at}/{at + 1}"
        assert root.locator(".mg-verdict").inner_text().startswith("✓ Right" if at else "✗ Not so")
        assert root.evaluate(OUTSIDE) == []
    page.keyboard.press("End")
    assert root.get_attribute("data-step") == str(len(trace.events) - 1)


def answer(page: Page, root: Locator, trace: Trace, event: Any, right: bool) -> None:
    """Answers the question that has the focus."""
    if event["kind"] == "run":
        wanted = root.locator(f".mg-ask input[value='{event['node']}']")
        other = root.locator(f".mg-ask input:not([value='{event['node']}'])").first
        (wanted if right else other).check()
    elif not right:
        page.keyboard.type("[7, 7, 7]")
    else:
        value = trace.values[event["gradient" if event["kind"] == "flow" else "grad"]]
        page.keyboard.type(str(value["data"] if event["kind"] == "accumulate" else value["shape"]))
    page.keyboard.press("Enter")


@pytest.mark.skipif(not AXE.exists(), reason="axe-core is not installed: npm ci in widgets/frontend")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(page: Page, tmp_path: Path, scheme: Any) -> None:
    page.emulate_media(color_scheme=scheme)
    traces = {"plain": program(None), "non-reentrant": program(False)}
    pages = [compare(traces, 9).to_html(), Inspector(traces["non-reentrant"], lens="forward", step=2).to_html()]
    asking = [Inspector(traces["plain"], ask=[kind]).to_html() for kind in ("next", "shape")]
    for html in [*pages, Inspector(traces["non-reentrant"], lens="checkpoint", step=28).to_html(), *asking]:
        root = opened(page, tmp_path, html)
        page.keyboard.press("End")
        if root.locator(".mg-toggle").count():
            root.locator(".mg-toggle").click()
        page.evaluate(AXE.read_text(encoding="utf-8"))
        found = page.evaluate("axe.run('.mg-root', {resultTypes: ['violations']})")["violations"]
        assert [(each["id"], [node["html"][:160] for node in each["nodes"]][:3]) for each in found] == []
