"""Schedules in cycles: mirrors part of `torch/optim/lr_scheduler.py`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from minigrad.optim.lr_scheduler.base import LRScheduler, Values, check_optimizer, each_group, set_value
from minigrad.optim.lr_scheduler.functions import state_of
from minigrad.optim.optimizer import Optimizer

__all__ = ["CosineAnnealingWarmRestarts", "CyclicLR", "OneCycleLR"]

MODES = ("triangular", "triangular2", "exp_range")


class MomentumLR(LRScheduler):
    """A schedule that can move the momentum too, against the rate: `momentum`, or the first of `betas`."""

    cycle_momentum: bool
    use_beta1: bool

    def _begin_momentum(self, optimizer: Optimizer, low: Any, high: Any, last_epoch: int) -> tuple[Values, Values]:
        """The lowest and the highest momentum of each group, which begins with the highest."""
        if not {"momentum", "betas"} & optimizer.defaults.keys():
            raise ValueError("optimizer must support momentum or beta1 with `cycle_momentum` option enabled")
        self.use_beta1 = "betas" in optimizer.defaults
        highs, lows = each_group("max_momentum", optimizer, high), each_group("base_momentum", optimizer, low)
        if last_epoch == -1:
            for high, low, group in zip(highs, lows, optimizer.param_groups):
                self._set_momentum(group, high)
                group["max_momentum"], group["base_momentum"] = high, low
        return lows, highs

    def _set_momentum(self, group: dict[str, Any], value: Any) -> None:
        if self.use_beta1:
            group["betas"] = (value, *group["betas"][1:])
        else:
            group["momentum"] = value


class CyclicLR(MomentumLR):
    """From `base_lr` up to `max_lr` in `step_size_up` steps, and down in `step_size_down`, again and again.

    `mode`: "triangular" in cycles alike, "triangular2" each half as high as the one before, "exp_range" by
    `gamma^iterations`; or `scale_fn`, a function of the number of the cycle or of the steps (`scale_mode`).
    """

    def __init__(self, optimizer: Optimizer, base_lr: float | list[float], max_lr: float | list[float],
                 step_size_up: int = 2000, step_size_down: int | None = None, mode: str = "triangular",
                 gamma: float = 1.0, scale_fn: Callable[[float], float] | None = None, scale_mode: str = "cycle",
                 cycle_momentum: bool = True, base_momentum: float = 0.8, max_momentum: float = 0.9,
                 last_epoch: int = -1) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        base_lrs = each_group("base_lr", optimizer, base_lr)
        if last_epoch == -1:
            for lr, group in zip(base_lrs, optimizer.param_groups):
                set_value(group, "lr", lr)
        self.max_lrs = each_group("max_lr", optimizer, max_lr)
        up = float(step_size_up)
        self.total_size = up + (up if step_size_down is None else float(step_size_down))
        self.step_ratio = up / self.total_size
        if mode not in MODES and scale_fn is None:
            raise ValueError("mode is invalid and scale_fn is None")
        self.mode, self.gamma, self._scale_fn_custom = mode, gamma, scale_fn
        by_mode = "iterations" if mode == "exp_range" else "cycle"
        self.scale_mode = by_mode if scale_fn is None else scale_mode
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.base_momentums, self.max_momentums = self._begin_momentum(
                optimizer, base_momentum, max_momentum, last_epoch)
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

    def scale_fn(self, x: float) -> float:
        """How high a cycle is, from 0 to 1, by its number or by that of the step."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        if self.mode == "exp_range":
            return float(self.gamma**x)
        return 1.0 if self.mode == "triangular" else 1 / (2.0 ** (x - 1))

    def get_lr(self) -> Values:
        """The rates of `last_epoch`; sets the momentum too."""
        self._warn_unless_in_step()
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1.0 + self.last_epoch / self.total_size - cycle
        height = x / self.step_ratio if x <= self.step_ratio else (x - 1) / (self.step_ratio - 1)
        scale = self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            for low, high, group in zip(self.base_momentums, self.max_momentums, self.optimizer.param_groups):
                self._set_momentum(group, high - (high - low) * height * scale)
        return [low + (high - low) * height * scale for low, high in zip(self.base_lrs, self.max_lrs)]

    def state_dict(self) -> dict[str, Any]:
        """The state; of a `scale_fn` of one's own the attributes, if it is an object."""
        custom = self._scale_fn_custom
        return {**super().state_dict(), "_scale_fn_custom": None if custom is None else state_of(custom)}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over a state; a `scale_fn` stays, with other attributes if it is an object."""
        super().load_state_dict({key: value for key, value in state_dict.items() if key != "_scale_fn_custom"})
        if state_dict["_scale_fn_custom"] is not None:
            self._scale_fn_custom.__dict__.update(state_dict["_scale_fn_custom"])


class CosineAnnealingWarmRestarts(LRScheduler):
    """Down to `eta_min` along a cosine in `T_0` epochs, then from the top again, `T_mult` times as long each time."""

    T_cur: float

    def __init__(self, optimizer: Optimizer, T_0: int, T_mult: int = 1, eta_min: float = 0.0,
                 last_epoch: int = -1) -> None:
        if T_0 <= 0 or not isinstance(T_0, int):
            raise ValueError(f"Expected positive integer T_0, but got {T_0}")
        if T_mult < 1 or not isinstance(T_mult, int):
            raise ValueError(f"Expected integer T_mult >= 1, but got {T_mult}")
        if not isinstance(eta_min, (float, int)):
            raise ValueError(f"Expected float or int eta_min, but got {eta_min} of type {type(eta_min)}")
        self.T_0 = self.T_i = T_0
        self.T_mult, self.eta_min, self.T_cur = T_mult, eta_min, last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> Values:
        """The rates at `T_cur` of the `T_i` epochs of this cycle."""
        self._warn_unless_in_step()
        bracket = 1 + math.cos(math.pi * self.T_cur / self.T_i)
        return [self.eta_min + (lr - self.eta_min) * bracket / 2 for lr in self.base_lrs]

    def step(self, epoch: float | None = None) -> None:
        """Go to the next epoch, or to this one, which may be a fraction: `epoch + batch / batches`."""
        if epoch is None and self.last_epoch >= 0:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur %= self.T_i
                self.T_i *= self.T_mult
        else:
            epoch = epoch or 0
            if epoch < 0:
                raise ValueError(f"Expected non-negative epoch, but got {epoch}")
            self._go_to(epoch)
        self.last_epoch = math.floor(epoch)
        with self._while("_get_lr_called_within_step"):
            self._set_lrs(self.get_lr())

    def _go_to(self, epoch: float) -> None:
        """Find the cycle of an epoch: the n-th begins at T_0 (T_multⁿ - 1) / (T_mult - 1)."""
        if epoch < self.T_0:
            self.T_i, self.T_cur = self.T_0, epoch
        elif self.T_mult == 1:
            self.T_cur = epoch % self.T_0
        else:
            n = int(math.log(epoch / self.T_0 * (self.T_mult - 1) + 1, self.T_mult))
            self.T_cur = epoch - self.T_0 * (self.T_mult**n - 1) / (self.T_mult - 1)
            self.T_i = self.T_0 * self.T_mult**n


class OneCycleLR(MomentumLR):
    """Up to `max_lr` in the first `pct_start` of all steps, then down to far below the start.

    The rate begins at `max_lr / div_factor` and ends at that over `final_div_factor`; with `three_phase` it comes back
    to where it began, in as many steps as it rose, before it goes on down. Steps are `total_steps`, or `epochs` times
    `steps_per_epoch`; `anneal_strategy` is "cos" or "linear".
    """

    total_steps: int

    def __init__(self, optimizer: Optimizer, max_lr: float | list[float], total_steps: int | None = None,
                 epochs: int | None = None, steps_per_epoch: int | None = None, pct_start: float = 0.3,
                 anneal_strategy: str = "cos", cycle_momentum: bool = True,
                 base_momentum: float | list[float] = 0.85, max_momentum: float | list[float] = 0.95,
                 div_factor: float = 25.0, final_div_factor: float = 1e4, three_phase: bool = False,
                 last_epoch: int = -1) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        self.total_steps = steps_in_all(total_steps, epochs, steps_per_epoch)
        self._schedule_phases = phases_of(pct_start, self.total_steps, three_phase)
        if pct_start < 0 or pct_start > 1 or not isinstance(pct_start, float):
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        self._anneal_func_type, self.cycle_momentum = anneal_strategy, cycle_momentum
        max_lrs = each_group("max_lr", optimizer, max_lr)
        if last_epoch == -1:
            for lr, group in zip(max_lrs, optimizer.param_groups):
                group["initial_lr"], group["max_lr"] = lr / div_factor, lr
                group["min_lr"] = group["initial_lr"] / final_div_factor
        if cycle_momentum:
            self._begin_momentum(optimizer, base_momentum, max_momentum, last_epoch)
        super().__init__(optimizer, last_epoch)

    def _anneal_func(self, start: Any, end: Any, pct: float) -> Any:
        """Between two values, at a part of the way."""
        if self._anneal_func_type == "linear":
            return (end - start) * pct + start
        return end + (start - end) / 2.0 * (math.cos(math.pi * pct) + 1)

    def get_lr(self) -> Values:
        """The rates of `last_epoch`; sets the momentum too. A ValueError after the last step."""
        self._warn_unless_in_step()
        step, begin = self.last_epoch, 0.0
        if step > self.total_steps:
            raise ValueError(f"Tried to step {step} times. The specified number of total steps is {self.total_steps}")
        for phase in self._schedule_phases:
            end = phase["end_step"]
            if step <= end or phase is self._schedule_phases[-1]:
                break
            begin = end
        part = (step - begin) / (end - begin)
        lrs = []
        for group in self.optimizer.param_groups:
            lrs.append(self._anneal_func(group[phase["start_lr"]], group[phase["end_lr"]], part))
            if self.cycle_momentum:
                ends = group[phase["start_momentum"]], group[phase["end_momentum"]]
                self._set_momentum(group, self._anneal_func(*ends, part))
        return lrs


def steps_in_all(total_steps: int | None, epochs: int | None, steps_per_epoch: int | None) -> int:
    """The steps of the one cycle."""
    if total_steps is None and (epochs is None or steps_per_epoch is None):
        raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
    given: dict[str, Any] = {"epochs": epochs, "steps_per_epoch": steps_per_epoch}
    if total_steps is not None:
        given = {"total_steps": total_steps}
    for name, value in given.items():
        if value <= 0 or not isinstance(value, int):
            raise ValueError(f"Expected positive integer {name}, but got {value}")
    return math.prod(given.values())


def phases_of(pct_start: float, total_steps: int, three_phase: bool) -> list[dict[str, Any]]:
    """Where each phase ends, and between which options of a group it goes."""
    ends = [(float(pct_start * total_steps) - 1, "initial_lr", "max_lr", "max_momentum", "base_momentum")]
    if three_phase:
        ends += [(float(2 * pct_start * total_steps) - 2, "max_lr", "initial_lr", "base_momentum", "max_momentum"),
                 (total_steps - 1, "initial_lr", "min_lr", "max_momentum", "max_momentum")]
    else:
        ends += [(total_steps - 1, "max_lr", "min_lr", "base_momentum", "max_momentum")]
    names = ("end_step", "start_lr", "end_lr", "start_momentum", "end_momentum")
    return [dict(zip(names, end)) for end in ends]
