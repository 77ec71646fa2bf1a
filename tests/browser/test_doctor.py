"""The doctor in a real JupyterLab: the card of `%%explain`, its button, and the report of a checkup."""

from __future__ import annotations

import pytest

from tests.groups import has_browser, installed, require

pytestmark = pytest.mark.browser
require("browser", has_browser() and installed("jupyterlab"), "chromium, playwright or jupyterlab is not installed")

from playwright.sync_api import Page, expect

from tests.browser.jupyter import PATIENCE, Lab, await_idle, first_inspector, open_notebook, run_all

CELLS = [
    "import minigrad as torch\nfrom minigrad_widgets import checkup, explain",
    "%%explain\nh = torch.sigmoid(torch.ones(3, requires_grad=True))\nh += 1\nloss = h.sum()\nloss.backward()",
    "w = torch.ones(3, requires_grad=True)\noptimizer = torch.optim.SGD([w], lr=0.1)\n\n"
    "def step():\n    (w * w).sum().backward()\n    optimizer.step()\n\ncheckup(step)",
]


def test_the_card_the_button_and_the_report(tab: Page, server: Lab) -> None:
    name = server.write("doctor.ipynb", *CELLS)
    open_notebook(tab, server, name)
    run_all(tab, server, name)
    card = tab.locator(".mgd").first
    expect(card.locator(".mgd-rule")).to_have_text("error: inplace-on-saved", timeout=PATIENCE * 1000)
    expect(card.locator(".mgd-where tr").first).to_contain_text("h += 1")
    await_idle(tab, server, name)
    report = tab.locator(".mgd").last
    expect(report.locator("h3")).to_contain_text("checkup of 3 steps: 1 error")
    expect(report.locator(".mgd-rule")).to_have_text("error: grad-accumulates")
    tab.get_by_role("button", name="Open the inspector here").click()
    root = first_inspector(tab)
    expect(root.locator(".mg-current")).to_contain_text("h += 1")
