"""What the inspector draws of transforms: tangents that run up the edges, a frame, and the stack of a batch."""

from __future__ import annotations

import pytest

from tests.groups import has_browser, require

pytestmark = pytest.mark.browser
require("browser", has_browser(), "chromium or playwright is not installed")

from playwright.sync_api import Page

import minigrad as torch
from minigrad.recorder import record
from minigrad_widgets import Inspector
from tests.browser.fixtures import Opened

WINDOWS = [(800, "light"), (1280, "dark")]
FLOWS = "root => [...root.querySelectorAll('[data-flow]')].map(each => each.dataset.flow).filter(it => it != 'none')"
UP = "root => [...root.querySelectorAll('.mg-tangent')].map(each => each.textContent)"
CLEAR = "root => [...read.overlaps(root), ...read.small(root), ...read.faint(root)]"
OUTSIDE = """root => {
  const around = [...root.querySelectorAll('[data-transform] > .mg-frame')].at(-1).getBoundingClientRect();
  return [...root.querySelectorAll('.mg-node .mg-box')].map(each => each.getBoundingClientRect()).filter(box =>
    box.left < around.left || box.right > around.right || box.top < around.top || box.bottom > around.bottom).length;
}"""


def arrange(page: Page, width: int, theme: str) -> None:
    page.set_viewport_size({"width": width, "height": 1000})
    page.emulate_media(color_scheme="dark" if theme == "dark" else "light")


@pytest.mark.parametrize(("width", "theme"), WINDOWS)
def test_tangents_run_forward_along_the_edges(page: Page, opened: Opened, width: int, theme: str) -> None:
    """One step after the other, each along the edges of its op, from the arguments to the result."""
    arrange(page, width, theme)
    with record() as trace:
        torch.func.jvp(lambda x, w: torch.relu(x * w) + w, (torch.tensor(3.0), torch.tensor(2.0)),
                       (torch.tensor(0.0), torch.tensor(1.0)))
    root = opened(Inspector(trace, lens="forward", step=trace.steps("forward")[0]))
    arrived = [root.evaluate(UP)]
    rising = []
    for _ in range(len(trace.steps("forward"))):
        page.keyboard.press("ArrowRight")
        page.wait_for_timeout(200)
        flows = root.evaluate(FLOWS)
        assert set(flows) <= {"rises", "risen"}  # no gradient has come back
        rising.append(flows.count("rises"))
        arrived.append(root.evaluate(UP))
    assert arrived[0] == [] and [len(each) for each in arrived] == sorted(len(each) for each in arrived)
    assert sorted(arrived[-1]) == ["↑ 0.", "↑ 1.", "↑ 1.", "↑ 3.", "↑ 3."]
    assert {1, 2} <= set(rising)  # along the one edge of relu, and both of the product
    assert root.locator("[data-transform='jvp']").count() == 1
    assert root.evaluate(CLEAR) == []


@pytest.mark.parametrize(("width", "theme"), WINDOWS)
def test_a_batch_is_a_stack_of_frames(page: Page, opened: Opened, width: int, theme: str) -> None:
    """Around the nodes of one graph, with the gradient's way back; its picture says so in words."""
    arrange(page, width, theme)
    with record() as trace:
        of_one = torch.func.grad(lambda w, x: (w * x).sin().sum())
        torch.vmap(of_one, in_dims=(None, 0))(torch.ones(2), torch.ones(4, 2))
    shown = Inspector(trace, lens="all", step=len(trace.events) - 1)
    root = opened(shown)
    page.wait_for_timeout(500)
    stack = root.locator("[data-transform='vmap ×4 › grad']")
    assert stack.locator(".mg-frame").count() == 3  # two cards behind the first
    assert stack.get_attribute("aria-label") == "what vmap ×4 › grad runs"
    assert root.evaluate(OUTSIDE) == 0 and root.locator(".mg-node").count() == 4
    assert root.evaluate(CLEAR) == []
    data, metadata = shown._repr_mimebundle_()
    assert "vmap ×4 › grad: a frame around what it runs" in metadata["image/png"]["alt"] and "image/png" in data
