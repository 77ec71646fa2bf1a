"""A compiled step in JupyterLab, of eleven statements and of hundreds: two windows and two themes."""

from __future__ import annotations

import json
from ast import literal_eval
from collections.abc import Iterator
from typing import Any

import pytest

from tests.groups import has_browser, installed, require

pytestmark = pytest.mark.browser
require("browser", has_browser() and installed("jupyterlab"), "chromium, playwright or jupyterlab is not installed")

from playwright.sync_api import BrowserContext, Locator, Page, expect

from tests.browser.fixtures import Axe, ran
from tests.browser.jupyter import Lab

NAME = "compiled.ipynb"
SMALL = """import minigrad as torch
from minigrad import nn
from minigrad_widgets import inspect
w = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
def step(x):
    w.grad = None
    loss = (torch.relu(x * w) * 2.0).sum()
    loss.backward()
    return loss
small = torch.compile(step, backend="numpy")
for _ in range(2):
    small(torch.tensor([1.0, -1.0, 2.0]))
shown0 = inspect(small)
shown0"""
LARGE = """model = nn.Sequential(*[nn.TransformerEncoderLayer(16, 4, 32, 0.0, batch_first=True) for _ in range(2)])
optimizer = torch.optim.Adam(model.parameters())
def train(x):
    optimizer.zero_grad()
    loss = (model(x) ** 2).mean()
    loss.backward()
    optimizer.step()
    return loss
large = torch.compile(train, backend="numpy")
for _ in range(2):
    large(torch.randn(2, 8, 16))
inspect(large)"""


@pytest.fixture(scope="module")
def notebook(pages: BrowserContext, server: Lab) -> Iterator[Page]:
    """A notebook with both, run."""
    with ran(pages, server, NAME, SMALL, LARGE, widgets=2) as page:
        yield page


def step_of(page: Page, number: int) -> Locator:
    """A widget, in view, at the program as it was traced, with nothing pointed at."""
    root = page.locator(".mg-root").nth(number)
    root.evaluate("root => root.scrollIntoView({block: 'start'})")
    page.mouse.move(0, 0)
    root.focus()
    root.press("Home")
    return root


def record(server: Lab) -> Any:
    """What Python gave the first widget."""
    return json.loads(literal_eval(server.evaluate(NAME, "__import__('json').dumps(shown0.compiled)")))


def written(server: Lab, name: str) -> list[str]:
    """The statements of the source that runs."""
    lines = literal_eval(server.evaluate(NAME, f"{name}.source")).splitlines()
    return [line.partition("  # ")[0].strip() for line in lines if "  # " in line]


def codes(root: Locator) -> Any:
    """The statements that are not struck out."""
    return root.locator("[data-statement]:not([data-change=removed]) > code:not(.mg-loop)").all_text_contents()


def wrong(page: Page, number: int, axe: Axe) -> dict[str, Any]:
    """What cannot be read, or not be used by everybody."""
    root = page.locator(".mg-root").nth(number)
    found = {name: root.evaluate(f"root => read.{name}(root)") for name in ("overlaps", "outside", "spilled", "faint")}
    return {name: what for name, what in {**found, "axe": axe(page, number)}.items() if what}


def test_a_compiled_step_can_be_read_by_everybody(seen: Page, axe: Axe) -> None:
    root = step_of(seen, 0)
    for _ in range(5):
        root.press("ArrowRight")
    root.press("ArrowDown")
    assert wrong(seen, 0, axe) == {}
    window, box = seen.viewport_size, root.bounding_box()
    assert window is not None and box is not None and box["height"] < 0.9 * window["height"]


def test_the_passes_are_those_of_python(notebook: Page, server: Lab) -> None:
    """By the keyboard: the sentence and the statements of each pass; the last is the source that runs."""
    root, found = step_of(notebook, 0), record(server)
    for at, step in enumerate(found["steps"]):
        assert root.get_attribute("data-step") == str(at)
        assert root.locator(".mg-text").inner_text() == step["sentence"]
        assert codes(root) == [found["statements"][place]["code"] for place in step["statements"]]
        root.press("ArrowRight")
    assert codes(root) == written(server, "small")


def test_hundreds_of_statements_can_be_read(notebook: Page, server: Lab, axe: Axe) -> None:
    root = step_of(notebook, 1)
    root.press("End")
    shown = codes(root)
    assert len(shown) > 300 and shown == written(server, "large")
    assert wrong(notebook, 1, axe) == {}


def test_what_is_pointed_at_lights_what_belongs_to_it(notebook: Page, server: Lab) -> None:
    root, found = step_of(notebook, 0), record(server)
    (relu,) = [at for at, op in enumerate(found["ops"]) if op["name"] == "ReluBackward0"]
    root.locator(f"[data-op='{relu}']").hover()
    lit = root.locator("[data-statement][data-look=lit]")
    expect(lit).to_have_count(2)
    assert lit.locator("> code").all_text_contents() == [
        each["code"] for each in (found["statements"][k] for k in found["steps"][0]["statements"])
        if relu in each["ops"]]
    expect(root.locator("[data-line][data-look=lit] code")).to_have_text(["    loss.backward()"])
    expect(root.locator("[data-line][data-look=kin] code")).to_have_text(["    loss = (torch.relu(x * w) * 2.0).sum()"])
    notebook.mouse.move(0, 0)
    expect(lit).to_have_count(0)


def test_a_list_is_gone_through_by_the_keyboard_and_the_others_follow(notebook: Page) -> None:
    """In hundreds of statements: what belongs to the chosen one is in view."""
    root = step_of(notebook, 1)
    root.press("End")
    lists = root.locator(".mg-list")
    lists.nth(1).focus()
    for _ in range(60):
        notebook.keyboard.press("ArrowDown")
    here = root.locator("[data-op][data-look=here]")
    expect(here).to_have_count(1)
    assert here.get_attribute("id") == lists.nth(1).get_attribute("aria-activedescendant")
    if root.locator("[data-statement][data-look=lit]").count() == 0:
        notebook.keyboard.press("ArrowDown")
    for item in (here, root.locator("[data-line][data-look=lit]").first):
        inside = item.evaluate("""item => {
          const [a, b] = [item.getBoundingClientRect(), item.closest(".mg-list").getBoundingClientRect()];
          return a.top >= b.top - 1 && a.bottom <= b.bottom + 1;
        }""")
        assert inside
