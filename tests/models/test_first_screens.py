"""What the first screen of a public model says, in a browser: without scrolling, in the numbers of PyTorch."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.groups import has_browser, has_models, installed, require

require("models", has_models(), "the extra `models` is not installed, or PyTorch is missing")
require("browser", has_browser() and installed("jupyterlab"), "chromium, playwright or jupyterlab is not installed")

from playwright.sync_api import Page
from torch import manual_seed

from minigrad_widgets import inspect
from tests.browser.fixtures import Opened
from tests.browser.notebooks.test_first_screens import unscrolled
from tests.comparison.models import MODELS, Case


def test_the_card_of_a_resnet_answers_without_scrolling(page: Page, opened: Opened) -> None:
    case = MODELS["resnet50"][1]()
    unscrolled(page, opened(inspect(case.model, *case.inputs, **case.loss)))


def norms(case: Case) -> dict[str, float]:
    """By module, the norm of the gradient of its output, as hooks of PyTorch get it in a pass of their own."""
    found: dict[str, float] = {}

    def keep_norm(name: str, given: Any) -> None:
        given.register_hook(lambda gradient: found.update({name: float(gradient.norm())}))

    hooks = [module.register_forward_hook(lambda _, inputs, output, name=name: keep_norm(name, output))
             for name, module in case.model.named_modules()
             if re.fullmatch(r"classifier|resnet\.embedder|resnet\.encoder\.stages\.\d", name)]
    case.model(*case.inputs, **case.loss).loss.backward()
    for hook in hooks:
        hook.remove()
    case.model.zero_grad()
    return found


def test_a_resnet_says_how_its_gradient_changes(opened: Opened) -> None:
    """In the norms that hooks of PyTorch get, which the first screen names at both ends and where they are least."""
    manual_seed(0)
    case = MODELS["resnet50"][1]()
    known = norms(case)
    said = opened(inspect(case.model, *case.inputs, **case.loss)).locator(".mg-overview dt:text-is('gradient') + dd")
    told = dict(re.findall(r"([\w.]+): ([\d.e-]+)\b", said.inner_text()))
    assert set(told) == {"classifier", "resnet.embedder", "encoder.stages.3"}
    for title, norm in told.items():
        [wanted] = [each for name, each in known.items() if name == title or name.endswith(f".{title}")]
        assert float(norm) == pytest.approx(wanted, rel=0.06), title
    fold = known["resnet.embedder"] / min(norm for name, norm in known.items() if name.endswith("encoder.stages.3"))
    [grown] = re.findall(r", then grows ([\d,]+)× to the input \(resnet", said.inner_text())
    assert float(grown.replace(",", "")) == pytest.approx(fold, rel=0.06)
