"""Schedules by a function of one's own: mirrors part of `torch/optim/lr_scheduler.py`."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

from minigrad.optim.lr_scheduler.base import LRScheduler, Values, values_of
from minigrad.optim.optimizer import Optimizer

__all__ = ["LambdaLR", "MultiplicativeLR", "state_of"]

Function = Callable[[int], float]


def state_of(function: Any) -> dict[str, Any] | None:
    """What a state dict keeps of a callable: the attributes of an object, of a plain function nothing."""
    return None if isinstance(function, types.FunctionType) else function.__dict__.copy()


class FunctionLR(LRScheduler):
    """A schedule by one function of the epoch for all groups, or one for each."""

    lr_lambdas: list[Function]

    def __init__(self, optimizer: Optimizer, lr_lambda: Any, last_epoch: int = -1) -> None:
        count = len(optimizer.param_groups)
        functions = list(lr_lambda) if isinstance(lr_lambda, (list, tuple)) else [lr_lambda] * count
        if len(functions) != count:
            raise ValueError(f"Expected {count} lr_lambdas, but got {len(functions)}")
        self._check(functions)
        self.lr_lambdas = functions
        super().__init__(optimizer, last_epoch)

    def _check(self, functions: list[Any]) -> None:
        """Refuse what this schedule cannot call."""

    def state_dict(self) -> dict[str, Any]:
        """The state; of functions only the attributes of those that are objects."""
        return {**super().state_dict(), "lr_lambdas": [state_of(function) for function in self.lr_lambdas]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over a state; the functions stay, those that are objects with other attributes."""
        super().load_state_dict({key: value for key, value in state_dict.items() if key != "lr_lambdas"})
        for function, state in zip(self.lr_lambdas, state_dict["lr_lambdas"]):
            if state is not None:
                function.__dict__.update(state)


class LambdaLR(FunctionLR):
    """The first rate times a function: lr = lr₀ · lr_lambda(epoch)."""

    def __init__(self, optimizer: Optimizer, lr_lambda: Function | list[Function], last_epoch: int = -1) -> None:
        super().__init__(optimizer, lr_lambda, last_epoch)

    def get_lr(self) -> Values:
        """The rates of `last_epoch`."""
        self._warn_unless_in_step()
        return [lr * function(self.last_epoch) for function, lr in zip(self.lr_lambdas, self.base_lrs, strict=True)]


class MultiplicativeLR(FunctionLR):
    """The rate times a function, epoch for epoch: lr = lr₀ · lr_lambda(1) · … · lr_lambda(epoch)."""

    def __init__(self, optimizer: Optimizer, lr_lambda: Function | list[Function], last_epoch: int = -1) -> None:
        super().__init__(optimizer, lr_lambda, last_epoch)

    def _check(self, functions: list[Any]) -> None:
        for function in functions:
            if not callable(function):
                raise TypeError(f"lr_lambda should be a function, but got {type(function).__name__}")

    def get_lr(self) -> Values:
        """The rates of `last_epoch`."""
        self._warn_unless_in_step()
        if self._is_initial:
            return values_of(self.optimizer, "lr")
        return [group["lr"] * function(self.last_epoch)
                for function, group in zip(self.lr_lambdas, self.optimizer.param_groups, strict=True)]
