"""Recorded programs that several tests of the widgets look at."""

from __future__ import annotations

from typing import Any

import minigrad as torch
from minigrad import nn
from minigrad.recorder import Trace, record
from minigrad.utils.checkpoint import checkpoint
from minigrad_widgets import Inspector, inspect

WAYS: dict[str, bool | None] = {"plain": None, "reentrant": True, "non-reentrant": False}


def block(x: Any) -> Any:
    return x.sin().cos()


def blocks(way: bool | None) -> Trace:
    """Two blocks of a model, both checkpointed in one way, or none (None)."""
    x = torch.ones(8, requires_grad=True)
    with record() as trace:
        out = x
        for _ in range(2):
            out = block(out) if way is None else checkpoint(block, out, use_reentrant=way)
        out.sum().backward()
    return trace


class Residual(nn.Module):
    """Two layers of a list that is itself never called, and a shortcut around them."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 4), nn.Linear(4, 4)])
        self.act = nn.ReLU()

    def forward(self, x: Any) -> Any:
        h = x
        for layer in self.layers:
            h = self.act(layer(h))
        return x + h


def network(blocks: int) -> Inspector:
    """The inspector of a network of 11 nodes for each block."""
    torch.manual_seed(0)
    net = nn.Sequential(*[Residual() for _ in range(blocks)])
    return inspect(lambda: net(torch.ones(1, 4)).sum())


def in_place() -> Trace:
    """A view and an in-place op that a backward pass would notice, and one that it does."""
    x = torch.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
    with record() as trace:
        base = x * 2
        view = base[1:3]
        view.mul_(3)
        saved = base.exp()
        loss = saved.sum()
        loss.backward()
    return trace


def two_steps() -> Trace:
    """Two steps of an optimizer on two parameters."""
    w = torch.tensor([1.0, -1.0], requires_grad=True)
    b = torch.tensor(0.5, requires_grad=True)
    optimizer = torch.optim.SGD([w, b], lr=0.1)
    with record() as trace:
        for _ in range(2):
            optimizer.zero_grad()
            ((w * w).sum() * b).backward()
            optimizer.step()
    return trace


def compiled(length: int = 1, backend: str = "numpy") -> Any:
    """A compiled step with so many products and a ReLU, called twice."""
    w = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)

    def step(x: Any) -> Any:
        w.grad = None
        for _ in range(length):
            x = x * w
        loss = torch.relu(x * 0.5).sum()
        loss.backward()
        return loss

    made = torch.compile(step, backend=backend)
    for _ in range(2):
        made(torch.tensor([1.0, -1.0, 2.0]))
    return made
