"""Schedules by formula: mirrors part of `torch/optim/lr_scheduler.py`.

Each is written twice, as in PyTorch. By a factor from epoch to epoch, so that schedules of one optimiser can be
chained and a rate changed by hand stays changed; and in closed form, for a step to an epoch by its number.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable

from minigrad.optim.lr_scheduler.base import LRScheduler, Values, values_of
from minigrad.optim.optimizer import Optimizer

__all__ = ["ConstantLR", "CosineAnnealingLR", "ExponentialLR", "LinearLR", "MultiStepLR", "PolynomialLR", "StepLR"]


class FactorLR(LRScheduler):
    """A schedule that is one factor for all groups: a subclass writes `_factor` and `_closed_factor`."""

    def _factor(self) -> float | None:
        """From the rate of the epoch before to that of `last_epoch`; None where it stays."""
        raise NotImplementedError

    def _closed_factor(self) -> float:
        """From the first rate to that of `last_epoch`."""
        raise NotImplementedError

    def get_lr(self) -> Values:
        """The rate of the epoch before, times a factor."""
        self._warn_unless_in_step()
        factor = self._factor()
        if factor is None:
            return values_of(self.optimizer, "lr")
        return [group["lr"] * factor for group in self.optimizer.param_groups]

    def _get_closed_form_lr(self) -> Values:
        factor = self._closed_factor()
        return [lr * factor for lr in self.base_lrs]


class StepLR(FactorLR):
    """`gamma` times the rate every `step_size` epochs: lr = lr₀ · gamma^⌊epoch / step_size⌋."""

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float | None:
        return None if self.last_epoch == 0 or self.last_epoch % self.step_size else self.gamma

    def _closed_factor(self) -> float:
        return self.gamma ** (self.last_epoch // self.step_size)


class MultiStepLR(FactorLR):
    """`gamma` times the rate at each milestone: lr = lr₀ · gamma^(milestones up to epoch)."""

    def __init__(self, optimizer: Optimizer, milestones: Iterable[int], gamma: float = 0.1,
                 last_epoch: int = -1) -> None:
        self.milestones, self.gamma = Counter(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float | None:
        return self.gamma ** self.milestones[self.last_epoch] if self.last_epoch in self.milestones else None

    def _closed_factor(self) -> float:
        return self.gamma ** bisect_right(sorted(self.milestones.elements()), self.last_epoch)


class ConstantLR(FactorLR):
    """`factor` times the rate until epoch `total_iters`, then the rate itself."""

    def __init__(self, optimizer: Optimizer, factor: float = 1.0 / 3, total_iters: int = 5,
                 last_epoch: int = -1) -> None:
        if factor > 1.0 or factor < 0:
            raise ValueError("Constant multiplicative factor expected to be between 0 and 1.")
        self.factor, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float | None:
        if self.last_epoch == 0:
            return self.factor
        return 1.0 / self.factor if self.last_epoch == self.total_iters else None

    def _closed_factor(self) -> float:
        return self.factor + (self.last_epoch >= self.total_iters) * (1 - self.factor)


class LinearLR(FactorLR):
    """From `start_factor` to `end_factor` times the rate in a straight line of `total_iters` epochs."""

    def __init__(self, optimizer: Optimizer, start_factor: float = 1.0 / 3, end_factor: float = 1.0,
                 total_iters: int = 5, last_epoch: int = -1) -> None:
        if start_factor > 1.0 or start_factor <= 0:
            raise ValueError("Starting multiplicative factor expected to be greater than 0 and less or equal to 1.")
        if end_factor > 1.0 or end_factor < 0:
            raise ValueError("Ending multiplicative factor expected to be between 0 and 1.")
        self.start_factor, self.end_factor, self.total_iters = start_factor, end_factor, total_iters
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float | None:
        if self.last_epoch == 0:
            return self.start_factor
        if self._is_initial or self.last_epoch > self.total_iters:
            return None
        rise = self.end_factor - self.start_factor
        return 1.0 + rise / (self.total_iters * self.start_factor + (self.last_epoch - 1) * rise)

    def _closed_factor(self) -> float:
        rise = self.end_factor - self.start_factor
        return self.start_factor + rise * min(self.total_iters, self.last_epoch) / self.total_iters


class ExponentialLR(FactorLR):
    """`gamma` times the rate every epoch: lr = lr₀ · gamma^epoch."""

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float | None:
        return None if self._is_initial else self.gamma

    def _closed_factor(self) -> float:
        return self.gamma**self.last_epoch


class PolynomialLR(FactorLR):
    """To zero in `total_iters` epochs: lr = lr₀ · (1 - epoch / total_iters)^power."""

    def __init__(self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1) -> None:
        self.total_iters, self.power = total_iters, power
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float | None:
        if self._is_initial or self.last_epoch > self.total_iters:
            return None
        now, before = 1.0 - self.last_epoch / self.total_iters, 1.0 - (self.last_epoch - 1) / self.total_iters
        return (now / before) ** self.power  # type: ignore[no-any-return]  # int ** int may be any

    def _closed_factor(self) -> float:
        left = 1.0 - min(self.total_iters, self.last_epoch) / self.total_iters
        return left**self.power  # type: ignore[no-any-return]  # int ** int may be any


class CosineAnnealingLR(LRScheduler):
    """Down to `eta_min` in `T_max` epochs, and up again: lr = eta_min + (lr₀ - eta_min) (1 + cos(π epoch / T_max)) / 2.

    From epoch to epoch the distance to `eta_min` is multiplied by the ratio of two such brackets.
    """

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> Values:
        """The rates of `last_epoch`."""
        self._warn_unless_in_step()
        if self._is_initial:
            return values_of(self.optimizer, "lr")
        if self._step_count == 1 and self.last_epoch > 0:
            return self._get_closed_form_lr()
        groups, low = self.optimizer.param_groups, self.eta_min
        if (self.last_epoch - 1 - self.T_max) % (2 * self.T_max) == 0:  # the epoch before was at the bottom
            rise = 1 - math.cos(math.pi / self.T_max)
            return [group["lr"] + (lr - low) * rise / 2 for lr, group in zip(self.base_lrs, groups)]
        ratio = self._bracket(self.last_epoch) / self._bracket(self.last_epoch - 1)
        return [ratio * (group["lr"] - low) + low for group in groups]

    def _bracket(self, epoch: int) -> float:
        return 1 + math.cos(math.pi * epoch / self.T_max)

    def _get_closed_form_lr(self) -> Values:
        return [self.eta_min + (lr - self.eta_min) * self._bracket(self.last_epoch) / 2 for lr in self.base_lrs]
