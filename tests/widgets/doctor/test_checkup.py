"""`checkup`: what it puts back, what it says to bad input, and its report."""

from __future__ import annotations

import ast
import importlib
import random
import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minigrad
from minigrad.recorder import record
from minigrad.trace.format import memory_text
from minigrad_widgets import checkup
from minigrad_widgets.doctor import source
from tests.widgets.doctor.models import batch, images, models

LIBRARIES = ["minigrad", pytest.param("torch", marks=pytest.mark.torch)]


def program(torch: Any) -> Any:
    """A step that changes all that a step can change."""
    model, (x, y) = models(torch).CNN(), images(torch)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)

    def step() -> None:
        model.train()
        optimizer.zero_grad()
        noise = torch.randn(8, 1, 8, 8) + random.random() + float(np.random.rand())
        torch.nn.functional.cross_entropy(model(x + noise), y).backward()
        optimizer.step()

    return step, model, optimizer


def state(torch: Any, model: Any, optimizer: Any) -> Any:
    return ([t.detach().numpy().copy().tolist() for t in [*model.parameters(), *model.buffers()]],
            [None if p.grad is None else p.grad.tolist() for p in model.parameters()],
            [p.requires_grad for p in model.parameters()], [m.training for m in model.modules()],
            str(optimizer.state_dict()), torch.get_rng_state().tolist(), random.getstate(),
            np.random.get_state()[1].tolist())


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("warm", [False, True])
def test_all_is_as_before(library: str, warm: bool) -> None:
    pytest.importorskip(library)
    torch = importlib.import_module(library)
    step, model, optimizer = program(torch)
    if warm:
        step()
    model.eval()
    before = state(torch, model, optimizer)
    assert checkup(step, model=model, optimizer=optimizer).ok
    assert state(torch, model, optimizer) == before


@pytest.mark.parametrize("library", LIBRARIES)
def test_the_step_is_kept_if_asked(library: str) -> None:
    pytest.importorskip(library)
    torch = importlib.import_module(library)
    step, model, optimizer = program(torch)
    before = state(torch, model, optimizer)[0]
    checkup(step, model=model, optimizer=optimizer, keep=True)
    assert state(torch, model, optimizer)[0] != before


def test_models_and_optimizers_are_found_by_name() -> None:
    step, model, _ = program(minigrad)
    report = checkup(step)
    assert report.ok and not report.notes
    assert list(report.gradients) == [f"model.{name}.weight" for name in ("head", "conv2", "conv1")]
    del model


def test_an_error_of_its_own_goes_on() -> None:
    x = minigrad.ones(3, requires_grad=True)
    calls = []

    def step() -> None:
        calls.append(x.sum().backward())
        if len(calls) == 2:
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine") as raised:
        checkup(step)
    assert raised.value.report.steps == 1 and raised.value.report.findings[0].rule == "own-error"
    assert "this error is the step's own" in raised.value.__notes__[0]


def test_a_step_without_backward() -> None:
    model, (x, _) = models(minigrad).MLP(), batch(minigrad)
    report = checkup(lambda: model(x).sum(), model=model)
    assert [(f.rule, f.severity) for f in report.findings] == [("no-backward", "warning")]
    assert "never ran a backward pass" in str(report) and not report.ok


def test_another_model_than_the_one_that_is_trained() -> None:
    step, _, _ = program(minigrad)
    report = checkup(step, model=models(minigrad).MLP())
    assert "None of the model's parameters took part" in report.findings[0].what


def test_no_model_is_said() -> None:
    x = minigrad.ones(3, requires_grad=True)

    def step() -> None:
        x.grad = None
        (x * 2).sum().backward()

    assert "No model was given" in str(checkup(step))


@pytest.mark.torch
def test_a_batch_on_another_device() -> None:
    torch = pytest.importorskip("torch")
    model, x = torch.nn.Linear(3, 1), torch.ones(2, 3, device="meta")
    report = checkup(lambda: model(x).sum().backward(), model=model)
    assert [f.rule for f in report.findings] == ["other-device"]


@pytest.mark.parametrize(("given", "error", "text"), [
    ((None,), TypeError, "takes a function that does one training step, not NoneType"),
    ((lambda x: x,), TypeError, "calls step.. without arguments: missing a required argument: 'x'"),
])
def test_what_is_no_step(given: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        checkup(*given)


def test_what_is_no_model_and_no_number_of_steps() -> None:
    with pytest.raises(TypeError, match="model must be a module, or a list of them, not int"):
        checkup(lambda: None, model=3)
    with pytest.raises(TypeError, match="optimizer must be an optimizer, or a list of them, not str"):
        checkup(lambda: None, optimizer="Adam")
    with pytest.raises(ValueError, match="steps must be at least 1, not 0"):
        checkup(lambda: None, steps=0)


def test_the_report_as_text_and_as_a_page(tmp_path: Path) -> None:
    model, (x, y) = models(minigrad).MLP(), batch(minigrad)
    optimizer = minigrad.optim.SGD(model.parameters(), lr=0.1)

    def step() -> None:
        minigrad.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()

    report = checkup(step, model=model, optimizer=optimizer)
    assert str(report).startswith("checkup of 3 steps: 1 error\nerror: grad-accumulates\n")
    assert "norm of the gradient, from the loss down:\n  model.last.weight" in str(report)
    assert sum(report.held.values()) == max(sum(e["bytes"]) for e in report.trace.events if "bytes" in e)
    peak = memory_text(sum(report.held.values()))
    assert str(report).splitlines()[-1].startswith(f"at the peak, {peak} were held: parameters ")
    page = report.to_html(tmp_path / "report.html")
    assert "<h4>Norm of the gradient, from the loss down (logarithmic, in the last step)</h4>" in page
    assert f"<h4>Bytes held at the peak, {peak} in all</h4>" in page and "at most" not in page
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == page
    assert page.index("grad-accumulates") < page.index("Norm of the gradient") < page.index("Bytes held")
    assert set(re.findall(r"(\S+)http", page)) == {"href='"}  # of the lesson: it is requested by who follows it


def test_a_recorder_that_is_on_already() -> None:
    with record(), pytest.raises(RuntimeError, match="a recorder is on already"):
        checkup(lambda: minigrad.ones(3))


def test_a_file_is_parsed_once_whatever_the_rules_ask_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    step, model, optimizer = program(minigrad)
    parsed: Counter[str] = Counter()
    parse = ast.parse

    def counted(text: str, *args: Any, **kwargs: Any) -> Any:
        parsed[text] += 1
        return parse(text, *args, **kwargs)

    source.parsed.cache_clear()
    monkeypatch.setattr(ast, "parse", counted)
    for _ in range(2):
        checkup(step, model=model, optimizer=optimizer)
    assert parsed[Path(__file__).read_text(encoding="utf-8")] == 1
