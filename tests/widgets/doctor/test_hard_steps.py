"""`checkup` of steps that are not plain functions, that change switches, and that raise errors of odd classes."""

from __future__ import annotations

import functools
import importlib
from typing import Any

import pytest

from minigrad_widgets import checkup
from tests.widgets.doctor.models import batch, models

LIBRARIES = ["minigrad", pytest.param("torch", marks=pytest.mark.torch)]


def parts(torch: Any) -> Any:
    """A model, its optimizer and a batch."""
    model = models(torch).MLP()
    return model, torch.optim.SGD(model.parameters(), lr=0.1), *batch(torch)


@pytest.fixture(params=LIBRARIES)
def torch(request: pytest.FixtureRequest) -> Any:
    pytest.importorskip(request.param)
    return importlib.import_module(request.param)


def train(model: Any, optimizer: Any, loss: Any, x: Any, y: Any) -> None:
    optimizer.zero_grad()
    loss(model(x), y).backward()
    optimizer.step()


def test_what_a_partial_was_given_is_known(torch: Any) -> None:
    model, optimizer, x, y = parts(torch)
    before = model.first.weight.tolist()
    report = checkup(functools.partial(train, model, optimizer, torch.nn.functional.cross_entropy, x, y=y))
    assert report.ok and not report.notes and list(report.gradients)[-1] == "model.first.weight"
    assert model.first.weight.tolist() == before


def test_an_object_that_can_be_called(torch: Any) -> None:
    class Trainer:
        def __init__(self) -> None:
            self.model, self.optimizer, self.x, self.y = parts(torch)

        def __call__(self) -> None:
            self.optimizer.zero_grad()
            torch.nn.functional.cross_entropy(self.model(self.x), self.y).backward()
            self.optimizer.step()

    report = checkup(Trainer())
    assert report.ok and not report.notes


def test_a_backward_pass_that_starts_at_a_leaf(torch: Any) -> None:
    model, optimizer, x, y = parts(torch)

    def step() -> None:
        optimizer.zero_grad()
        value = torch.nn.functional.cross_entropy(model(x), y).item()
        loss = torch.tensor(value, requires_grad=True)
        loss.backward()
        optimizer.step()

    found = checkup(step, model=model, optimizer=optimizer).findings
    assert [each.rule for each in found] == ["leaf-loss"] and "cut by .item()" in found[0].what
    assert found[0].where[0].source.startswith("value = ")


def test_switches_and_groups_are_as_before_after_an_error(torch: Any) -> None:
    model, optimizer, _, _ = parts(torch)
    before = model.first.weight.tolist()

    def step() -> None:
        torch.autograd.set_detect_anomaly(True, check_nan=False)
        torch.set_grad_enabled(False)
        optimizer.param_groups[0]["lr"] = 7.0
        optimizer.add_param_group({"params": [torch.nn.Parameter(torch.zeros(2))]})
        model.first.weight.data = torch.zeros(2, 9)
        raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        checkup(step, model=model, optimizer=optimizer)
    assert model.first.weight.tolist() == before
    assert [group["lr"] for group in optimizer.param_groups] == [0.1]
    assert torch.is_grad_enabled() and not torch.is_anomaly_enabled() and torch.is_anomaly_check_nan_enabled()


def test_a_schedule_of_the_learning_rate_is_as_before(torch: Any) -> None:
    model, optimizer, x, y = parts(torch)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 10)

    def step() -> None:
        train(model, optimizer, torch.nn.functional.cross_entropy, x, y)
        schedule.step()

    assert checkup(step, model=model, optimizer=optimizer).ok
    assert (schedule.last_epoch, schedule.get_last_lr(), optimizer.param_groups[0]["lr"]) == (0, [0.1], 0.1)


def test_an_error_that_takes_no_attributes_goes_on_too(torch: Any) -> None:
    class Frozen(Exception):
        def __setattr__(self, name: str, value: Any) -> None:
            raise AttributeError("frozen")

    def step() -> None:
        raise Frozen("mine")

    with pytest.warns(UserWarning, match="this error is the step's own"), pytest.raises(Frozen, match="mine"):
        checkup(step)


def test_the_mode_of_a_module_is_that_of_the_call(torch: Any) -> None:
    norm, layer = torch.nn.BatchNorm1d(8), torch.nn.Linear(8, 3)
    x, y = batch(torch)

    def step() -> None:
        norm.train()
        layer.zero_grad()
        norm.zero_grad()
        torch.nn.functional.cross_entropy(layer(norm(x)), y).backward()
        norm.eval()
        with torch.no_grad():
            layer(norm(x))

    assert "mode-mismatch" not in [each.rule for each in checkup(step, model=[norm, layer]).findings]
