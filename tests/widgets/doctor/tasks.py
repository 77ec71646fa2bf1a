"""Small tasks that a model learns in a few dozen steps, and how far a model is from having learned one.

A program of the corpus that fails to learn returns such a measure as its third value: 0 is perfect.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["distance", "line", "misses", "net", "rows", "words"]


def rows(torch: Any, size: int = 48, classes: int = 3) -> Any:
    """Rows of 8 features, and a class that is linear in them, or for one class the target 0 or 1 of shape (N, 1)."""
    x = torch.randn(size, 8)
    scores = x @ torch.randn(8, classes)
    return (x, (scores > 0).float()) if classes == 1 else (x, scores.argmax(1))


def line(torch: Any, size: int = 48) -> Any:
    """Rows of 8 features, and a target of shape (N, 1) that is linear in them."""
    x = torch.randn(size, 8)
    return x, x @ (torch.randn(8, 1) / 3) + 0.5


def words(torch: Any, size: int = 8, length: int = 7) -> Any:
    """Sentences over 10 words in which each word follows from the one before: the next in a fixed order."""
    begin = torch.randint(0, 9, (size, 1))
    return (begin + 3 * torch.arange(length)) % 9 + 1


def net(torch: Any, outputs: int = 3, inputs: int = 8) -> Any:
    """A model with one hidden layer."""
    nn = torch.nn
    return nn.Sequential(nn.Linear(inputs, 16), nn.Tanh(), nn.Linear(16, outputs))


def misses(scores: Callable[[], Any], y: Any) -> Callable[[], float]:
    """The share of rows whose largest score is not that of the class; of one score, whose sign is not that of y - ½."""
    def measure() -> float:
        found = scores().detach()
        wrong = (found > 0) != (y > 0.5) if found.shape == y.shape else found.argmax(-1) != y
        return float(wrong.float().mean())
    return measure


def distance(predictions: Callable[[], Any], y: Any) -> Callable[[], float]:
    """The mean square of the errors, over the variance of the target."""
    def measure() -> float:
        return float(((predictions().detach() - y) ** 2).mean() / y.var())
    return measure
