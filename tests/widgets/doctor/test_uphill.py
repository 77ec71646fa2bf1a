"""Losses that are maximised, told by the gradients that reach them, and beside them what only looks like that."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from minigrad_widgets import checkup
from tests.widgets.doctor.models import batch

Loss = Callable[[Any, Any, Any], Any]


def rising(torch: Any, loss: Loss, maximize: bool = False) -> list[str]:
    """The first lines of the findings of `loss-rises` in steps of a classifier; `loss` takes scores and labels."""
    model, (x, y) = torch.nn.Linear(8, 3), batch(torch)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, maximize=maximize)

    def step() -> None:
        optimizer.zero_grad()
        loss(torch, model(x), y).backward()
        optimizer.step()

    found = checkup(step, model=model, optimizer=optimizer).findings
    return [each.where[0].source for each in found if each.rule == "loss-rises"]


def entropy(torch: Any, s: Any, y: Any) -> Any:
    return torch.nn.functional.cross_entropy(s, y)


def penalty(torch: Any, s: Any, y: Any) -> Any:
    return torch.nn.functional.cross_entropy(s, y) + 0.01 * s.square().sum()


def chosen(torch: Any, s: Any, y: Any) -> Any:
    return torch.log_softmax(s, 1).gather(1, y[:, None]).squeeze(1)


UPHILL: dict[str, Loss] = {
    "factor": lambda torch, s, y: entropy(torch, s, y) * -1,
    "difference": lambda torch, s, y: 1 - entropy(torch, s, y),
    "divisor": lambda torch, s, y: entropy(torch, s, y) / -2,
    "negative of a sum": lambda torch, s, y: -(entropy(torch, s, y) + 0.01 * s.square().sum()),
    "of two losses": lambda torch, s, y: -entropy(torch, s, y) - 0.1 * torch.nn.functional.mse_loss(s, s.detach() + 1),
    "scaled": lambda torch, s, y: torch.tensor(64.0) * -entropy(torch, s, y),
    "a likelihood": lambda torch, s, y: 0.5 * chosen(torch, s, y).mean(),
}
DOWNHILL: dict[str, Loss] = {
    "twice": lambda torch, s, y: -1 * -entropy(torch, s, y),
    "penalty": penalty,
    "to confuse": lambda torch, s, y: s.square().mean() - 0.1 * entropy(torch, s, y),
    "task against task": lambda torch, s, y: entropy(torch, s, y) - 0.1 * torch.nn.functional.mse_loss(s, s * 0 + 1),
    "advantage": lambda torch, s, y: (
        torch.nn.functional.cross_entropy(s, y, reduction="none") * (torch.arange(16.0) - 20)).mean(),
    "cost": lambda torch, s, y: (chosen(torch, s, y) * (torch.arange(16.0) + 1)).mean(),
    "likelihood": lambda torch, s, y: -chosen(torch, s, y).mean(),
    "bonus": lambda torch, s, y: entropy(torch, s, y) + 0.01 * (s.softmax(1) * torch.log_softmax(s, 1)).sum(1).mean(),
}


@pytest.mark.parametrize("name", UPHILL)
def test_a_loss_that_is_turned_round(torch: Any, name: str) -> None:
    [line] = rising(torch, UPHILL[name])
    assert line.startswith(f'"{name}": ')


@pytest.mark.parametrize("name", DOWNHILL)
def test_a_loss_that_is_minimised(torch: Any, name: str) -> None:
    assert rising(torch, DOWNHILL[name]) == []


@pytest.mark.parametrize("loss", [entropy, penalty, DOWNHILL["likelihood"]])
def test_what_is_maximised(torch: Any, loss: Loss) -> None:
    made = "optimizer = torch.optim.SGD(model.parameters(), lr=0.1, maximize=maximize)"
    assert rising(torch, loss, maximize=True) == [made]
    assert rising(torch, lambda torch, s, y: -loss(torch, s, y), maximize=True) == []


def added(torch: Any, p: Any, rate: float) -> None:
    p += rate * p.grad


def with_alpha(torch: Any, p: Any, rate: float) -> None:
    p.add_(p.grad, alpha=rate)


def subtracted(torch: Any, p: Any, rate: float) -> None:
    p -= -rate * p.grad


@pytest.mark.parametrize("wide", [3, 40])  # the trace has all entries of the one, and the extremes of the other
@pytest.mark.parametrize("update", [added, with_alpha, subtracted])
def test_an_update_by_hand(torch: Any, update: Any, wide: int) -> None:
    w, x = torch.zeros(8, wide, requires_grad=True), torch.randn(16, 8)
    y, rate = x @ torch.randn(8, wide), [0.0]

    def step() -> None:
        torch.nn.functional.mse_loss(x @ w, y).backward()
        with torch.no_grad():
            update(torch, w, rate[0])
        w.grad = None

    for rate[0], count in ((0.01, 1), (-0.01, 0)):
        found = [each for each in checkup(step).findings if each.rule == "loss-rises"]
        assert len(found) == count
        assert [each.where[0].role for each in found] == ["adds the gradient"] * count


def test_an_input_that_is_changed_to_mislead_a_model(torch: Any) -> None:
    model, (x, y) = torch.nn.Linear(8, 3), batch(torch)
    noise = torch.zeros(16, 8, requires_grad=True)
    optimizer = torch.optim.SGD([noise], lr=0.1)

    def step() -> None:
        optimizer.zero_grad()
        (-torch.nn.functional.cross_entropy(model(x + noise), y)).backward()
        optimizer.step()

    assert "loss-rises" not in [each.rule for each in checkup(step, model=model, optimizer=optimizer).findings]
