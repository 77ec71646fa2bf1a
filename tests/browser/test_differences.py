"""Two recordings side by side in JupyterLab, with what differs marked: detach, zero_grad, a checkpoint."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.groups import has_browser, installed, require

pytestmark = pytest.mark.browser
require("browser", has_browser() and installed("jupyterlab"), "chromium, playwright or jupyterlab is not installed")

from playwright.sync_api import BrowserContext, Locator, Page

from tests.browser.fixtures import Axe, ran
from tests.browser.jupyter import Lab

NAME = "differences.ipynb"
STEPS = """import minigrad as torch
from minigrad.recorder import record
from minigrad.utils.checkpoint import checkpoint
from minigrad_widgets import compare

def run(detach=False, zero=False, again=False):
    w = torch.tensor([2., 3.], requires_grad=True)
    with record() as trace:
        for _ in range(2):
            h = checkpoint(torch.sin, w, use_reentrant=False) if again else torch.sin(w)
            if detach:
                h = h.detach()
            (h * w).sum().backward()
            if zero:
                w.grad = None
    return trace"""
WAYS = ("detach", "zero", "again")


@pytest.fixture(scope="module")
def notebook(pages: BrowserContext, server: Lab) -> Iterator[Page]:
    """A notebook with the three comparisons, run."""
    cells = [f'compare({{"plain": run(), "{way}": run({way}=True)}})' for way in WAYS]
    with ran(pages, server, NAME, STEPS, *cells, widgets=len(WAYS)) as page:
        yield page


def rows(root: Locator) -> list[list[str]]:
    """The rows that differ: their kind, and what stands on both sides."""
    return root.locator(".mg-differences tr[data-kind]").evaluate_all(
        "rows => rows.map(row => [row.dataset.kind, ...[...row.cells].slice(1).map(cell => cell.innerText)])")


def test_what_differs_is_marked(seen: Page, axe: Axe) -> None:
    found = []
    for number, way in enumerate(WAYS):
        root = seen.locator(".mg-root").nth(number)
        root.evaluate("root => root.closest('.jp-Cell').scrollIntoView({block: 'start'})")
        assert root.locator(".mg-differences caption").inner_text().startswith(f"plain against {way}: ")
        found.append(rows(root))
        assert axe(seen, number) == []
    detach, zero, again = found
    assert ["first", "SinBackward0 runs with tensor([2., 3.])", ""] in detach
    assert [side[0] for side in zero].count("second") == 2 and zero[0][2] == "w.grad is now None"
    assert any("checkpoint 0 runs its function again" in second for _, _, second in again)
    assert all(kind == "second" for kind, *_ in again)


def test_a_row_leads_to_its_step(seen: Page) -> None:
    root = seen.locator(".mg-root").first
    root.evaluate("root => root.closest('.jp-Cell').scrollIntoView({block: 'start'})")
    button = root.locator(".mg-differences tr[data-kind] button").first
    text = button.inner_text()
    button.click()
    shown = root.locator(".mg-row .mg-event").first.inner_text()
    assert re.sub(r" #\d+", "", shown) == text  # the same node has another number in each recording
    colours = root.locator(".mg-differences tr[data-kind]").evaluate_all(
        "rows => Object.fromEntries(rows.map(row => [row.dataset.kind, getComputedStyle(row).backgroundColor]))")
    assert len(set(colours.values())) == len(colours) > 1


def marked(root: Locator, side: int) -> dict[str, list[str]]:
    """The nodes of a graph that differ, by the sign that stands at them."""
    found: dict[str, list[str]] = root.locator(f".mg-side[data-side='{side}']").evaluate("""side => {
      const found = {};
      for (const sign of side.querySelectorAll(".mg-node[data-differs] .mg-sign")) {
        const title = sign.parentElement.querySelector(".mg-title").textContent;
        (found[sign.textContent] ??= []).push(title);
      }
      return found;
    }""")
    return {sign: sorted(titles) for sign, titles in found.items()}


def test_the_graphs_stand_side_by_side(seen: Page) -> None:
    """With and without `detach`, `zero_grad` and checkpoint: what differs has a sign in both graphs."""
    found = []
    for number in range(len(WAYS)):
        root = seen.locator(".mg-root").nth(number)
        root.evaluate("root => root.querySelector('.mg-graphs').scrollIntoView({block: 'start'})")
        root.focus()
        root.press("End")
        left, right = (root.locator(f".mg-side[data-side='{side}'] .mg-graph").bounding_box() for side in (0, 1))
        assert left and right and left["y"] == right["y"] and abs(left["width"] - right["width"]) < 2
        found.append([marked(root, side) for side in (0, 1)])
        assert root.locator(".mg-graphs .mg-kinds").inner_text().startswith("≠")
    detach, zero, again = found
    both = {"≠": ["AccumulateGrad", "SinBackward0", "SinBackward0"]}
    assert detach == [both, both] and zero == [{"≠": ["AccumulateGrad"]}] * 2
    assert again == [{"≠": ["SinBackward0", "SinBackward0"]}] * 2
    cut = seen.locator(".mg-root").first.locator(".mg-side[data-side='0'] .mg-edge[data-differs='only']")
    assert cut.count() == 2
    said = seen.locator(".mg-root").first.locator(".mg-side .mg-event").all_text_contents()
    assert [text.partition(": ")[2] for text in said] == ["backward ends"] * 2


def test_a_node_is_chosen_in_both_graphs(seen: Page) -> None:
    root = seen.locator(".mg-root").first
    root.locator(".mg-side[data-side='1'] .mg-node[data-node]", has_text="SinBackward0").first.dispatch_event("click")
    chosen = root.locator(".mg-side .mg-selected .mg-title").all_text_contents()
    assert chosen == ["SinBackward0", "SinBackward0"]
    root.locator(".mg-side[data-side='1'] .mg-svg").dispatch_event("click")
    assert root.locator(".mg-selected").count() == 0
