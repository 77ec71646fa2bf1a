"""Healthy steps that look like faults, and beside each the fault that it looks like."""

from __future__ import annotations

import importlib
from typing import Any

import pytest

from minigrad_widgets import checkup
from tests.widgets.doctor.models import batch, models

LIBRARIES = ["minigrad", pytest.param("torch", marks=pytest.mark.torch)]


@pytest.fixture(params=LIBRARIES)
def torch(request: pytest.FixtureRequest) -> Any:
    pytest.importorskip(request.param)
    return importlib.import_module(request.param)


@pytest.mark.parametrize("healthy", [True, False])
def test_a_pass_that_fills_the_running_statistics(torch: Any, healthy: bool) -> None:
    nn = torch.nn
    model, (x, y) = nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.Linear(16, 3)), batch(torch)

    def step() -> None:
        model.train()
        with torch.no_grad():
            if healthy:
                model(x)
            else:
                scores = model(x)
                scores.argmax(1)
        model.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()

    rules = [each.rule for each in checkup(step, model=model).findings]
    assert rules == ([] if healthy else ["mode-mismatch"])


@pytest.mark.parametrize("healthy", [True, False])
def test_dropout_that_is_on_by_itself_in_a_model_in_eval_mode(torch: Any, healthy: bool) -> None:
    nn = torch.nn
    model, (x, y) = nn.Sequential(nn.Linear(8, 16), nn.Dropout(0.2), nn.Linear(16, 3)), batch(torch)

    def step() -> None:
        model.train()
        model.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        if healthy:
            model.eval()
            model[1].train()
        with torch.no_grad():
            scores = [model(x) for _ in range(3)]
            torch.stack(scores).std(0)

    rules = [each.rule for each in checkup(step, model=model).findings]
    assert rules == ([] if healthy else ["mode-mismatch"])


@pytest.mark.torch
def test_gradients_of_torch_func_that_the_step_puts_into_grad() -> None:
    torch = pytest.importorskip("torch")
    model, (x, y) = models(torch).MLP(), batch(torch)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step() -> None:
        def loss(parameters: Any) -> Any:
            return torch.nn.functional.cross_entropy(torch.func.functional_call(model, parameters, (x,)), y)

        gradients = torch.func.grad(loss)({name: p.detach() for name, p in model.named_parameters()})
        for name, parameter in model.named_parameters():
            parameter.grad = gradients[name]
        optimizer.step()

    assert checkup(step, model=model, optimizer=optimizer).findings == []


@pytest.mark.torch
@pytest.mark.parametrize("size", [1, 1e5])
def test_a_scaled_loss_has_scaled_gradients(size: float) -> None:
    torch = pytest.importorskip("torch")
    model, (x, y) = models(torch).MLP(), batch(torch)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu")

    def step() -> None:
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), y) * size
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()

    rules = [each.rule for each in checkup(step, model=model, optimizer=optimizer).findings]
    assert rules == ([] if size == 1 else ["learning-rate", "exploding-gradient"])


def test_a_backward_that_gives_none(torch: Any) -> None:
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return None

    model, (x, y) = models(torch).MLP(), batch(torch)

    def step() -> None:
        model.zero_grad()
        scores = Twice.apply(model(x))
        torch.nn.functional.cross_entropy(scores, y).backward()

    (found,) = checkup(step, model=model).findings
    assert found.rule == "cut-graph" and "whose backward gave None" in found.what
    assert found.where[0].source == "scores = Twice.apply(model(x))"


@pytest.mark.parametrize("healthy", [True, False])
def test_a_branch_that_is_scaled_to_nothing_beside_a_way_around(torch: Any, healthy: bool) -> None:
    nn = torch.nn
    first, branch, last, (x, y) = nn.Linear(8, 16), nn.Linear(16, 16), nn.Linear(16, 3), batch(torch)

    def step() -> None:
        for layer in (first, branch, last):
            layer.zero_grad()
        h = torch.tanh(first(x))
        h = (h if healthy else 0) + 1e-6 * torch.tanh(branch(h))
        nn.functional.cross_entropy(last(h) if healthy else last(1e6 * h.detach() + h), y).backward()

    rules = [each.rule for each in checkup(step, model=[first, branch, last]).findings]
    assert rules == ([] if healthy else ["vanishing-gradient"])


@pytest.mark.parametrize("healthy", [True, False])
def test_a_weight_at_both_ends_hides_no_gradient_that_fades_between(torch: Any, healthy: bool) -> None:
    nn = torch.nn
    words, tokens = nn.Embedding(20, 16), torch.arange(12).reshape(3, 4)
    layers = nn.ModuleList([nn.Linear(16, 16) for _ in range(12)])

    def step() -> None:
        words.zero_grad()
        layers.zero_grad()
        h = words(tokens)
        for layer in layers:
            h = h + torch.tanh(layer(h)) if healthy else torch.sigmoid(layer(h))
        scores = nn.functional.linear(h, words.weight)
        nn.functional.cross_entropy(scores.flatten(0, 1), tokens.roll(-1).flatten()).backward()

    rules = [each.rule for each in checkup(step, model=[words, layers]).findings]
    assert rules == ([] if healthy else ["vanishing-gradient"])


@pytest.mark.torch
@pytest.mark.parametrize("healthy", [True, False])
def test_the_logarithm_of_a_distance_that_only_chooses_a_bucket(healthy: bool) -> None:
    torch = pytest.importorskip("torch")
    nn = torch.nn
    bias, place = nn.Embedding(8, 1), torch.arange(6)

    def step() -> None:
        bias.zero_grad()
        far = torch.log((place[:, None] - place[None]).abs().float())
        bucket = torch.where(torch.isinf(far), 0, far.clamp(min=0).long())
        scores = bias(bucket).squeeze(-1) + (0 if healthy else far)
        scores.exp().sum().backward()

    rules = [each.rule for each in checkup(step, model=bias).findings]
    assert rules == ([] if healthy else ["nan-forward"])


def test_the_distances_between_positions_are_meant_as_a_table(torch: Any) -> None:
    bias, place = torch.nn.Embedding(7, 1), torch.arange(8)

    def step() -> None:
        bias.zero_grad()
        bucket = (place[:, None] - place).clamp(-3, 3) + 3
        (bias(bucket).squeeze(-1) - 1).square().mean().backward()

    assert checkup(step, model=bias).findings == []


@pytest.mark.parametrize("every", [2, 8])
def test_an_optimizer_that_steps_only_now_and_then(torch: Any, every: int) -> None:
    model, (x, y) = torch.nn.Linear(8, 3), batch(torch)
    optimizer, counted = torch.optim.SGD(model.parameters(), lr=0.1), iter(range(1, 100))

    def step() -> None:
        (torch.nn.functional.cross_entropy(model(x), y) / every).backward()
        if next(counted) % every == 0:
            optimizer.step()
            optimizer.zero_grad()

    found = checkup(step).findings
    assert [(each.rule, each.severity) for each in found] == ([("nothing-moves", "note")] if every == 8 else [])


@pytest.mark.parametrize("warmup", [2, 100])
def test_a_rate_that_begins_at_0(torch: Any, warmup: int) -> None:
    model, (x, y) = torch.nn.Linear(8, 3), batch(torch)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda at: at // warmup)

    def step() -> None:
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
        scheduler.step()

    found = checkup(step).findings
    assert [(each.rule, each.severity) for each in found] == ([("nothing-moves", "note")] if warmup == 100 else [])
    assert scheduler.last_epoch == 0
