"""A training loop to observe: its models by the names that its step has for them, its optimizers, and the step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn

__all__ = ["Loop", "supervised"]


@dataclass
class Loop:
    """`models`: by the name of the variable that holds each; `close`: what is to be done after the last step."""

    models: dict[str, nn.Module]
    optimizers: list[torch.optim.Optimizer]
    step: Callable[[], Any]
    close: Callable[[], None] = field(default=lambda: None)


def supervised(model: nn.Module, loss: Callable[[nn.Module], torch.Tensor], lr: float = 1e-3) -> Loop:
    """The usual loop: zero the gradients, compute the loss, run backward, update."""
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=lr)

    def step() -> torch.Tensor:
        optimizer.zero_grad()
        result = loss(model)
        result.backward()
        optimizer.step()
        return result.detach()

    return Loop({"model": model.train()}, [optimizer], step)
