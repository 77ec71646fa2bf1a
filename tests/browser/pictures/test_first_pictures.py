"""What the first picture of a lesson shows before anything is clicked: all of it, in the middle, nothing on another."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.groups import has_browser, require

pytestmark = pytest.mark.browser
require("browser", has_browser(), "chromium or playwright is not installed")

from playwright.sync_api import Page

import minigrad as torch
from minigrad import nn
from minigrad.recorder import record
from minigrad_widgets import Inspector
from tests.browser.fixtures import Opened

CLEAR = "...read.overlaps(root), ...read.small(root), ...read.halved(root)"
SIDES = """root => {
  const frame = root.querySelector(".mg-stage").getBoundingClientRect();
  const drawn = [...root.querySelectorAll(".mg-node:not([data-status=unknown]) .mg-box")];
  const boxes = drawn.map(each => each.getBoundingClientRect());
  const [left, right] = [Math.min(...boxes.map(b => b.left)), Math.max(...boxes.map(b => b.right))];
  const [tools] = [...root.querySelectorAll(".mg-tools > *")].map(each => each.getBoundingClientRect().bottom);
  const shown = [...root.querySelectorAll(".mg-node:not([data-status=unknown]) :is(.mg-box, .mg-badge, .mg-grad)")];
  const parts = shown.map(each => each.getBoundingClientRect()).filter(each => each.height > 0);
  const over = tools - Math.min(...parts.map(b => b.top));
  const below = Math.max(...parts.map(b => b.bottom)) - frame.bottom;
  const under = root.getBoundingClientRect().bottom - innerHeight;
  return {off: (left + right) / 2 - (frame.left + frame.right) / 2, hidden: Math.max(over, below, under)};
}"""


# Of each step of a lens, the sentence whose last line lies below what is shown of it.
CUT = """root => {
  const [text, range, cut] = [root.querySelector(".mg-text"), document.createRange(), []];
  const press = key => root.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true}));
  press("Home");
  for (let before = null; before !== text.textContent;) {
    range.selectNodeContents(text);
    const lines = [...range.getClientRects()].map(line => (line.top + line.bottom) / 2);
    if (Math.max(...lines) > text.getBoundingClientRect().bottom) cut.push(text.textContent);
    before = text.textContent;
    press("ArrowRight");
  }
  return cut;
}"""


def twice() -> None:
    """Lesson 5: the node of the second round is not there yet."""
    w = torch.tensor(2.0, requires_grad=True)
    for _ in range(2):
        loss = w * 3
        loss.backward()


def written() -> None:
    """Lesson 18: five layers, links, and badges beside each other."""
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    buffer = torch.zeros(3)
    buffer[1] = x[0] * x[2]
    buffer.sum().backward()


def chain() -> None:
    """Lesson 15: five layers."""
    w = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    (torch.relu(torch.ones(3) * w) * 2.0).sum().backward()


def beside() -> None:
    """Lesson 13: a layer, and a path around it."""
    layer, batch = nn.Linear(2, 2), torch.ones(1, 2)
    hidden = layer(batch)
    (hidden + batch).sum().backward()


def slope() -> None:
    """Lesson 12: a second pass runs through nodes that the first one recorded."""
    x = torch.tensor(2.0, requires_grad=True)
    slope, = torch.autograd.grad(x ** 3, x, create_graph=True)
    slope.backward()


def passes() -> None:
    """Lesson 5: the whole graph of three passes is wider than a pane, what there is at first is not."""
    w = torch.tensor(2.0, requires_grad=True)
    for factor in (w, 3, 2):
        (w * factor).backward()


def recorded(page: Page, program: Callable[[], None], size: tuple[int, int]) -> Inspector:
    """An inspector of the program, for a window of this size."""
    page.set_viewport_size({"width": size[0], "height": size[1]})
    with record() as trace:
        program()
    return Inspector(trace)


@pytest.mark.parametrize("program", [twice, written, chain, beside, slope, passes])
@pytest.mark.parametrize("size", [(900, 800), (1280, 800), (1280, 720)])
def test_the_whole_graph_is_seen_in_the_middle(page: Page, opened: Opened, program: Callable[[], None],
                                               size: tuple[int, int]) -> None:
    """At first and at the last step no box lies behind the tools above it, nor below the picture or the window."""
    root = opened(recorded(page, program, size))
    page.wait_for_timeout(500)  # the drawing fits itself into the window
    found = root.evaluate(SIDES)
    assert abs(found["off"]) < 30 and found["hidden"] <= 0, found
    assert root.evaluate(f"root => [{CLEAR}, ...read.faint(root)]") == []
    page.keyboard.press("End")
    assert root.evaluate(SIDES)["hidden"] <= 0
    assert root.evaluate(f"root => [{CLEAR}]") == []


def length() -> None:
    """Lesson 19: the length of a vector of zeros."""
    x = torch.zeros(2, requires_grad=True)
    (x * x).sum().sqrt().backward()


def fourth() -> None:
    """Lesson 22: a square of a square."""
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    b = a * a
    (b * b).sum().backward()


@pytest.mark.parametrize("program", [length, fourth])
@pytest.mark.parametrize("size", [(412, 800), (412, 640), (900, 640), (1280, 640)])
def test_a_gradient_stands_beside_a_number_where_layers_are_close(page: Page, opened: Opened,
                                                                  program: Callable[[], None],
                                                                  size: tuple[int, int]) -> None:
    """In a notebook of 800 pixels "[nan, nan]" covered half of the output_nr of its edge."""
    root = opened(recorded(page, program, size))
    page.wait_for_timeout(500)  # the drawing fits itself into the window
    page.keyboard.press("End")
    assert root.evaluate("read.overlaps") == []


@pytest.mark.parametrize("lens", ["forward", "backward", "all"])
@pytest.mark.parametrize("width", [720, 896])
def test_what_a_step_says_is_not_cut(page: Page, opened: Opened, lens: str, width: int) -> None:
    """Beside JupyterLab's list of files a picture has 848 pixels: "recorded as MulBackward0" was out of sight there."""
    with record() as trace:
        w = torch.tensor([1.0, 2.0], requires_grad=True)
        y = w * 3
        (y / y.detach().sum() + w.exp()).sum().backward()
    page.set_viewport_size({"width": width, "height": 720})
    assert opened(Inspector(trace, lens=lens)).evaluate(CUT) == []


SAID = "root => read.texts(root).map(({words}) => words).join(' ')"


def test_words_that_a_lesson_has_not_explained_are_behind_a_button(page: Page, opened: Opened) -> None:
    """In the graph, below it, and in the sentence of any step: of a leaf there is the name."""
    with record() as trace:
        a, b = (torch.tensor(number, requires_grad=True) for number in (2.0, 3.0))
        (a * b + a).backward()
    root, unexplained = opened(Inspector(trace, parts=["source"])), ("AccumulateGrad", "output_nr", "waits")
    page.keyboard.press("Home")
    forward = root.get_by_role("button", name="next →")
    while forward.get_attribute("aria-disabled") != "true":
        forward.click()
        said = root.evaluate(SAID)
        assert "MulBackward0" in said and not [word for word in unexplained if word in said], said
    page.keyboard.press("Home")
    root.get_by_role("button", name="more").click()
    assert [word for word in unexplained if word in root.evaluate(SAID)] == list(unexplained)


@pytest.mark.parametrize("width", [848, 1280])
def test_a_map_says_no_norms_before_they_are_asked_for(page: Page, opened: Opened, width: int) -> None:
    """Lesson 20 asks how much of the gradient is left at the first layer."""
    page.set_viewport_size({"width": width, "height": 800})
    net = nn.Sequential(*(part for _ in range(6) for part in (nn.Linear(8, 8), nn.Sigmoid())))
    with record() as trace:
        net(torch.ones(4, 8)).sum().backward()
    root = opened(Inspector(trace, parts=["details", "tools"]))
    assert "‖∇‖ " not in root.evaluate(SAID) and "shrinks" not in root.evaluate(SAID)
    root.get_by_role("button", name="more").click()
    assert "‖∇‖ " in root.evaluate(SAID) and "shrinks" in root.evaluate(SAID)


def test_an_edge_to_nothing_is_at_the_side_of_its_input(opened: Opened) -> None:
    """`next_functions` of CopySlices is ((None, 0), (MulBackward0, 0)): what was there before comes first."""
    with record() as trace:
        written()
    root = opened(Inspector(trace))
    [node] = [at for at, each in enumerate(trace.to_dict()["nodes"]) if each["name"] == "CopySlices"]
    nothing, edge = root.locator(".mg-stub-end").first, root.locator(f"[data-edge='{node}:1']")
    left, right = nothing.bounding_box(), edge.bounding_box()
    assert left and right and left["x"] < right["x"]


def test_long_lines_of_the_source_are_wrapped(opened: Opened) -> None:
    with record() as trace:
        weight_of_the_first_layer = torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0], dtype=torch.float64, requires_grad=True)  # noqa: E501  # a long line is the test
        weight_of_the_first_layer.sum().backward()
    root = opened(Inspector(trace, parts=["source"]))
    assert root.locator(".mg-code").evaluate("code => code.scrollWidth <= code.clientWidth")
