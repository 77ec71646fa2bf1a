"""Targets that learn: what the graph shows of them, whatever they are called, beside programs in which it is meant."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from minigrad_widgets import checkup


def net(torch: Any, outputs: int = 1) -> Any:
    nn = torch.nn
    return nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, outputs))


def found(torch: Any, parts: list[Any], loss: Callable[[], Any]) -> list[tuple[str, str]]:
    """The rules that find something in steps on a loss, and their first lines."""
    optimizer = torch.optim.Adam([p for each in parts for p in each.parameters()], lr=0.01)

    def step() -> None:
        optimizer.zero_grad()
        loss().backward()
        optimizer.step()

    findings = checkup(step, model=parts, optimizer=optimizer).findings
    return [(each.rule, each.where[0].source) for each in findings if each.severity != "note"]


def test_a_copy_that_only_the_comparison_trains(torch: Any) -> None:
    F, first, x = torch.nn.functional, net(torch), torch.randn(16, 8)
    second = copy.deepcopy(first)

    def loss(cut: bool, more: bool) -> Any:
        b = second(x) * 0.9
        return F.mse_loss(first(x), b.detach() if cut else b) + (F.mse_loss(second(x), x[:, :1]) if more else 0)

    assert found(torch, [first, second], lambda: loss(False, False)) == [("not-detached", "b = second(x) * 0.9")]
    assert found(torch, [first, second], lambda: loss(True, True)) == []
    assert found(torch, [first, second], lambda: loss(False, True)) == []  # it learns from data, too


def test_the_weights_of_the_prediction_make_what_it_is_compared_with(torch: Any) -> None:
    F, body, x = torch.nn.functional, net(torch, 4), torch.randn(16, 8)

    def alone() -> Any:
        other = body(x.roll(1, 0))
        return F.mse_loss(body(x), other)

    def held_apart() -> Any:
        one, other = body(x), body(x.roll(1, 0))
        return F.mse_loss(one, other) + torch.relu(1 - one.std(0)).mean() + torch.relu(1 - other.std(0)).mean()

    def estimate() -> Any:
        q = x[:, :4] + 0.9 * body(x.roll(1, 0))
        return F.smooth_l1_loss(body(x), q) + 1e-4 * sum((p * p).sum() for p in body.parameters())

    assert found(torch, [body], alone) == [("not-detached", "other = body(x.roll(1, 0))")]
    assert found(torch, [body], held_apart) == []
    assert found(torch, [body], estimate) == [("not-detached", "q = x[:, :4] + 0.9 * body(x.roll(1, 0))")]


def test_a_name_alone_says_nothing(torch: Any) -> None:
    F, body, centres, x = torch.nn.functional, net(torch, 4), torch.nn.Embedding(3, 4), torch.randn(16, 8)
    y = torch.arange(16) % 3

    def follow() -> Any:  # centres that follow their features
        target = centres(y)
        return F.mse_loss(body(x), target) + F.cross_entropy(body(x), y)

    def gate() -> Any:
        advantage = torch.sigmoid(body(x))
        return -(torch.log_softmax(body(x), 1) * advantage).mean()

    assert found(torch, [body, centres], follow) == [] == found(torch, [body], gate)


def test_the_weight_of_log_probabilities_by_another_name(torch: Any) -> None:
    actor, critic, x = net(torch, 2), net(torch), torch.randn(16, 8)

    def loss(cut: bool) -> Any:
        chosen = torch.log_softmax(actor(x), 1)[:, :1]
        delta = x[:, :1] - critic(x)
        return -(chosen * (delta.detach() if cut else delta)).mean() + (delta * delta).mean()

    assert found(torch, [actor, critic], lambda: loss(False)) == [("not-detached", "delta = x[:, :1] - critic(x)")]
    assert found(torch, [actor, critic], lambda: loss(True)) == []


@pytest.mark.parametrize("held", [True, False])
def test_weights_that_nobody_trains_may_let_gradients_through(torch: Any, held: bool) -> None:
    F, body, features, x = torch.nn.functional, net(torch, 8), net(torch, 4), torch.randn(16, 8)
    optimizer = torch.optim.Adam([*body.parameters(), *(features.parameters() if held else ())], lr=0.01)

    def step() -> None:
        optimizer.zero_grad()
        wanted = features(x)
        F.mse_loss(features(body(x)), wanted).backward()
        optimizer.step()
        features.zero_grad()

    rules = {each.rule for each in checkup(step, model=body, optimizer=optimizer).findings}
    assert ("not-detached" in rules) == held
