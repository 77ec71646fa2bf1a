"""How long a checkup takes beside the plain steps, for two models of PyTorch on the CPU.

    python -m benchmarks.doctor

prints for each model the processor time of three plain steps, of a checkup of three, and their ratio: the median of
several rounds, in which the two take turns.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from minigrad_widgets.doctor import checkup

__all__ = ["main", "seconds"]

LIMIT = 30  # a checkup takes at most so many times as long as the steps


class Residual(nn.Module):
    """Two convolutions with batch norm, and the way around them."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.a, self.b = (nn.Conv2d(width, width, 3, padding=1, bias=False) for _ in range(2))
        self.norm_a, self.norm_b = nn.BatchNorm2d(width), nn.BatchNorm2d(width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x + self.norm_b(self.b(torch.relu(self.norm_a(self.a(x))))))


def resnet() -> tuple[nn.Module, torch.Tensor, torch.Tensor]:
    """A residual network of eight convolutions, and 32 images of 16 × 16."""
    model = nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(),
                          *[Residual(32) for _ in range(4)], nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10))
    return model, torch.randn(32, 3, 16, 16), torch.arange(32) % 10


def transformer() -> tuple[nn.Module, torch.Tensor, torch.Tensor]:
    """An encoder of six layers, and 16 sequences of 64."""
    layer = nn.TransformerEncoderLayer(64, 4, 256, dropout=0.1, batch_first=True)
    model = nn.Sequential(nn.Linear(16, 64), nn.TransformerEncoder(layer, 6, enable_nested_tensor=False),
                          nn.Flatten(), nn.Linear(64 * 64, 10))
    return model, torch.randn(16, 64, 16), torch.arange(16) % 10


def seconds(work: Callable[[], Any]) -> float:
    """The processor time that something takes."""
    start = time.process_time()
    work()
    return time.process_time() - start


def measured(make: Callable[[], tuple[nn.Module, torch.Tensor, torch.Tensor]], rounds: int) -> tuple[float, float]:
    """The median time of three plain steps and of a checkup of three."""
    torch.manual_seed(0)
    model, x, y = make()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

    def step() -> None:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()

    def steps() -> None:
        for _ in range(3):
            step()

    def check() -> None:
        report = checkup(step, model=model, optimizer=optimizer)
        assert report.ok, str(report)

    steps()
    times = [(seconds(steps), seconds(check)) for _ in range(rounds)]
    return statistics.median(plain for plain, _ in times), statistics.median(checked for _, checked in times)


def main(arguments: list[str] | None = None) -> int:
    """Print the table; 1 if a checkup takes longer than it may."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args(arguments)
    ratios = []
    for make in (resnet, transformer):
        plain, checked = measured(make, given.rounds)
        ratios.append(checked / plain)
        print(f"{make.__name__:12} three steps {plain:.2f} s, checkup {checked:.2f} s: {ratios[-1]:.1f} times as long")
    return int(max(ratios) > LIMIT)


if __name__ == "__main__":
    raise SystemExit(main())
