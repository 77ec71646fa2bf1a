"""Numbers that are typed and dragged in JupyterLab, in two windows and two themes, and in a page without a network."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.groups import has_browser, installed, require

pytestmark = pytest.mark.browser
require("browser", has_browser() and installed("jupyterlab"), "chromium, playwright or jupyterlab is not installed")

from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

import minigrad
from minigrad.recorder import Trace, record
from minigrad_widgets import Inspector
from tests.browser.book import turn
from tests.browser.fixtures import Axe, context, ran
from tests.browser.jupyter import Lab
from tests.browser.test_gradients import go_to, inspector

NAME = "numbers.ipynb"
IMPORTS = "import minigrad as torch\nfrom minigrad.recorder import record\nfrom minigrad_widgets import Inspector"
SQUARES = """x = torch.tensor([3., 1.], requires_grad=True)
w = torch.tensor([[2., 0.], [1., -1.]], requires_grad=True)
with record() as trace:
    y = w @ x
    loss = (y * y).sum()
    loss.backward()
Inspector(trace, live=True)"""
READS = """a = torch.tensor(2., requires_grad=True)
with record() as other:
    b = a * 3
    b.register_hook(lambda grad: torch.tensor(2 * grad.item()))
    c = b * b if b > 1 else b
    (c * torch.ones(101, 100)).mean().backward()
Inspector(other)"""

LARGE = """torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(16, 24), torch.nn.Tanh(), torch.nn.Linear(24, 5))
batch = torch.randn(8, 16)
with record() as large:
    loss = torch.nn.functional.cross_entropy(net(batch), torch.arange(8) % 5)
    loss.backward()
large.save("large.json")
Inspector(large)"""


@pytest.fixture(scope="module")
def notebook(pages: BrowserContext, server: Lab) -> Iterator[Page]:
    """A notebook with the two programs, run."""
    with ran(pages, server, NAME, IMPORTS, SQUARES, READS, LARGE, widgets=3) as page:
        yield page


def field(root: Locator, name: str) -> Locator:
    return root.get_by_label(name, exact=True)


def labels(root: Locator) -> list[str]:
    """The gradients that are drawn as live."""
    found: list[str] = root.locator(".mg-labels [data-live=live]").evaluate_all(
        "texts => texts.map(text => text.textContent)")
    return found


def back(root: Locator) -> None:
    """Puts the recorded numbers back."""
    root.locator(".mg-reset").click()
    expect(root.locator(".mg-livebar")).to_be_hidden()


def test_a_number_that_is_typed_moves_all_that_follow(seen: Page, axe: Axe) -> None:
    root = inspector(seen, 0)
    root.press("End")
    field(root, "x[0]").fill("2")
    bar = root.locator(".mg-livebar")
    expect(bar).to_contain_text("Changed: x[0] = 2 (it was 3).")
    assert "[18., -2.]" in labels(root)
    root.focus()
    root.press("ArrowLeft")
    expect(root.locator("output.mg-text")).to_contain_text("x.grad becomes tensor([18., -2.])")
    assert "2., 1." in root.locator(".mg-details").inner_text()
    boxes = [part.bounding_box() for part in (root, root.locator(".mg-numbers .mg-nodelist-body"))]
    assert boxes[0] and boxes[1] and boxes[1]["x"] + boxes[1]["width"] <= boxes[0]["x"] + boxes[0]["width"]
    assert axe(seen, 0) == []
    back(root)


def left_edges(root: Locator) -> list[float]:
    """Where the boxes of the nodes begin, in pixels: one look, for in another size all are drawn anew."""
    found: list[float] = root.evaluate(
        "root => [...root.querySelectorAll('.mg-node > .mg-box')].map(box => box.getBoundingClientRect().left)")
    return found


def test_the_graph_makes_room_for_an_open_panel(seen: Page) -> None:
    root = inspector(seen, 0)
    panel = root.locator(".mg-numbers .mg-nodelist-body").bounding_box()
    assert panel
    beside = left_edges(root)
    assert min(beside) > panel["x"] + panel["width"]
    summary = root.locator(".mg-numbers > summary")
    summary.click()
    expect(root.locator(".mg-numbers .mg-nodelist-body")).to_be_hidden()
    first, drawn = "root.querySelector('.mg-node > .mg-box').getBoundingClientRect().left", root.element_handle()
    seen.wait_for_function(f"([root, left]) => {first} < left", arg=[drawn, beside[0]])
    assert min(left_edges(root)) < panel["x"] + panel["width"]
    summary.click()
    expect(root.locator(".mg-numbers .mg-nodelist-body")).to_be_visible()
    seen.wait_for_function(f"([root, left]) => Math.abs({first} - left) < 1", arg=[drawn, beside[0]])


def test_the_keyboard_and_the_pointer_change_numbers(seen: Page) -> None:
    root = inspector(seen, 0)
    box = field(root, "w[1, 1]")
    box.focus()
    box.press("ArrowUp")
    expect(root.locator(".mg-livesaid")).to_have_text("Changed: w[1, 1] = -0.9 (it was -1).")
    handle = root.locator(".mg-handle", has_text="w[0, 0]")
    handle.hover(position={"x": 5, "y": 5})  # scrolls there, and waits until nothing moves or covers it
    at = handle.bounding_box()
    assert at
    seen.mouse.down()
    seen.mouse.move(at["x"] + 25, at["y"] + 5, steps=4)
    seen.mouse.up()
    expect(field(root, "w[0, 0]")).to_have_value("3")
    expect(root.locator(".mg-livesaid")).to_contain_text("w[0, 0] = 3 (it was 2)")
    back(root)


def test_what_cannot_follow_says_so(seen: Page, axe: Axe) -> None:
    root = inspector(seen, 1)
    turn(root.locator(".mg-numbers"))
    expect(root.locator(".mg-limits")).to_contain_text("the hook <lambda>: it is a function of Python")
    expect(root.locator(".mg-limits")).to_contain_text("an array of more than 10,000 elements is not computed here")
    root.focus()
    root.press("End")
    field(root, "a").fill("-4")
    notes = root.locator(".mg-livenotes")
    expect(notes).to_contain_text("the hook <lambda> keeps its recorded numbers")
    expect(notes).to_contain_text("The program has read the result of gt in cell 1, line 5")
    expect(notes).to_contain_text("by “if”, item() or numpy()")
    go_to(inspector(seen, 1), "MulBackward0 runs")
    assert axe(seen, 1) == []
    back(root)
    turn(root.locator(".mg-numbers"))


def test_one_number_is_followed_through_large_tensors(seen: Page, axe: Axe, server: Lab) -> None:
    trace = Trace.load(server.folder / "large.json")
    weight = next(t for t in trace.tensors if t["name"] == "net.0.weight")
    root = inspector(seen, 2)
    root.press("End")
    turn(root.locator(".mg-follow"))
    for dim, index in ((0, 3), (1, 5)):
        field(root, f"index of net.0.weight along dimension {dim}").fill(str(index))
    rows = root.locator(".mg-follow tbody tr").evaluate_all(
        "rows => rows.map(row => [...row.cells].map(cell => cell.innerText.trim()))")
    assert [row[:2] for row in rows] == [
        ["net.0.weight", "[3, 5]"], ["T", "[5, 3]"], ["Addmm", "[0, 3] of 8"], ["Tanh", "[0, 3] of 8"],
        ["Addmm", "[0, 0] of 40"], ["LogSoftmax", "[0, 0] of 40"], ["loss", ""]]
    numbers = trace.values[weight["value"]]["entries"]
    assert float(rows[0][2]) == pytest.approx(numbers[3 * 16 + 5], abs=5e-5)
    passed = [float(row[3]) for row in rows]
    assert passed[0] == passed[1] and passed[-1] == 1 and all(passed)
    marked = root.locator(".mg-node[data-followed] .mg-title").all_text_contents()
    assert "TanhBackward0" in marked and "AccumulateGrad" in marked
    root.locator(".mg-follow").get_by_role("button", name="Tanh").click()
    told = root.locator(".mg-entry-line").inner_text().split("\n")
    assert told[0] == "at [0, 3]" and told[1].startswith(f"{passed[3]:.3g}".rstrip("0")[:5]) and "·" in told[1]
    assert float(told[-1]) == passed[2]
    assert axe(seen, 2) == []
    root.locator(".mg-unpin").click()
    turn(root.locator(".mg-follow"))


def program(x: list[float]) -> Trace:
    """What the page shows."""
    leaf = minigrad.tensor(x, requires_grad=True)
    with record({"x": leaf}) as trace:
        (leaf.exp() * leaf).sum().backward()
    return trace


def test_a_page_without_a_network_gives_what_python_gives(browser: Browser, tmp_path: Path) -> None:
    path, step = tmp_path / "page.html", len(program([1., 2.])) - 2
    Inspector(program([1., 2.]), step=step, live=True).to_html(path)
    window = context(browser, viewport={"width": 1280, "height": 800}, offline=True)
    page = window.new_page()
    page.goto(path.as_uri())
    field(page.locator(".mg-root"), "x[1]").fill("0.5")
    wanted: Any = program([1., .5])
    given = wanted.values[wanted.events[step]["grad"]]["data"]
    shown = f"tensor([{', '.join(f'{number:.4f}' for number in given)}])"
    expect(page.locator("output.mg-text")).to_contain_text(shown)
    window.close()
