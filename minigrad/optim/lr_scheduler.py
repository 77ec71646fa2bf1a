"""Learning rate schedules: mirrors `torch/optim/lr_scheduler.py`.

A schedule changes `group["lr"]` of an optimiser's groups each time its `step()` is called, after the optimiser's. Most
are written twice, as in PyTorch: by a factor from epoch to epoch, so that schedules of one optimiser can be chained and
a rate changed by hand stays changed, and in closed form, for a step to a given epoch.
"""

import math
import types
import warnings
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, SupportsFloat

from minigrad._base.contexts import contextmanager
from minigrad.core import Tensor
from minigrad.optim.optimizer import Optimizer

__all__ = ["ChainedScheduler", "ConstantLR", "CosineAnnealingLR", "CosineAnnealingWarmRestarts", "CyclicLR",
           "ExponentialLR", "LRScheduler", "LambdaLR", "LinearLR", "MultiStepLR", "MultiplicativeLR", "OneCycleLR",
           "PolynomialLR", "ReduceLROnPlateau", "SequentialLR", "StepLR", "_LRScheduler"]

EPOCH_DEPRECATION_WARNING = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where possible. Please use "
    "`scheduler.step()` to step the scheduler. During the deprecation, if epoch is different from None, the closed "
    "form is used instead of the new chainable form, where available. Please open an issue if you are unable to "
    "replicate your use case: https://github.com/pytorch/pytorch/issues/new/choose.")
HOW_TO = "https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate"
OVERRIDDEN = (
    "Seems like `optimizer.step()` has been overridden after learning rate scheduler initialization. Please, make sure "
    f"to call `optimizer.step()` before `lr_scheduler.step()`. See more details at {HOW_TO}")
TOO_EARLY = (
    "Detected call of `lr_scheduler.step()` before `optimizer.step()`. In PyTorch 1.1.0 and later, you should call "
    "them in the opposite order: `optimizer.step()` before `lr_scheduler.step()`.  Failure to do this will result in "
    f"PyTorch skipping the first value of the learning rate schedule. See more details at {HOW_TO}")
NOT_RESUMED = (
    "param 'initial_lr' is not specified in param_groups[{}] when resuming scheduler with last_epoch >= 0.\n"
    "This typically happens when:\n"
    "1. You're trying to resume training from a checkpoint but haven't properly loaded the optimizer state\n"
    "2. You're using last_epoch >= 0 for a fresh training run (not recommended)")
Function = Callable[[int], float]
MODES = ("triangular", "triangular2", "exp_range")
Values = list[Any]  # one per group: a number, or a tensor if the group has one


def copy_of(value: Any) -> Any:
    """Return a copy of a tensor, since schedules fill the tensors of a group in place; return a number unchanged."""
    return value.clone() if isinstance(value, Tensor) else value


def values_of(optimizer: Optimizer, key: str) -> Values:
    """Return an option of each group."""
    return [copy_of(group[key]) for group in optimizer.param_groups]


def set_value(group: dict[str, Any], key: str, value: Any) -> None:
    """Set an option of a group; a tensor is filled."""
    if isinstance(group[key], Tensor):
        group[key].fill_(value.item() if isinstance(value, Tensor) else value)
    else:
        group[key] = value


def per_group(name: str, optimizer: Optimizer, value: Any) -> Values:
    """Return one value for each group, from a list, or from one value for all."""
    count = len(optimizer.param_groups)
    values: Sequence[Any] = value if isinstance(value, (list, tuple)) else [value] * count
    if len(values) != count:
        raise ValueError(f"{name} must have the same length as optimizer.param_groups. {name} has {len(values)} "
                         f"values, param_groups has {count}.")
    return [copy_of(value) for value in values]


def check_optimizer(optimizer: Any) -> None:
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")


def step_function(optimizer: Optimizer) -> Any:
    """Return the function behind `optimizer.step`, to check whether it was replaced."""
    return getattr(optimizer.step, "__func__", optimizer.step)


def watch(optimizer: Any) -> None:
    """Make the optimiser note its next step, so that a schedule can tell whether that comes first."""
    optimizer._scheduled_step = step_function(optimizer)
    if not getattr(optimizer, "_opt_called", False):
        def note(stepped: Any, args: Any, kwargs: Any) -> None:
            stepped._opt_called = True
            handle.remove()

        handle = optimizer.register_step_pre_hook(note)


def with_last(state: dict[str, Any], name: str, value: Any) -> dict[str, Any]:
    """A state with this at its end, where PyTorch has what it does not keep as it is."""
    return {**{key: each for key, each in state.items() if key != name}, name: value}


class LRScheduler:
    """A schedule: `step()` sets the learning rates of the next epoch, which a subclass computes in `get_lr()`.

    `last_epoch`: -1 to begin, else the epoch after which to continue; the groups must then have an `initial_lr`.
    """

    optimizer: Optimizer
    last_epoch: int
    base_lrs: Values
    _last_lr: Values
    _get_lr_called_within_step = False
    _is_initial = False

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        check_optimizer(optimizer)
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", copy_of(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(NOT_RESUMED.format(i))
        self.optimizer = optimizer
        self.base_lrs, self.last_epoch = values_of(optimizer, "initial_lr"), last_epoch
        watch(optimizer)
        self._initial_step()

    def _initial_step(self) -> None:
        self._step_count = 0
        with self._while("_is_initial"):
            self.step()

    @contextmanager
    def _while(self, flag: str) -> Iterator[None]:
        """A block in which a flag is set."""
        try:
            setattr(self, flag, True)
            yield
        finally:
            setattr(self, flag, False)

    def state_dict(self) -> dict[str, Any]:
        """Return the whole state of the schedule, except its optimiser."""
        return {key: value for key, value in self.__dict__.items() if key != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load a state; the learning rates themselves are in the optimiser's."""
        self.__dict__.update(state_dict)

    def get_last_lr(self) -> Values:
        """Return the learning rates that the last step set."""
        return self._last_lr

    def get_lr(self) -> Values:
        """Return the learning rates of `last_epoch`, for `step`; other callers use `get_last_lr`."""
        rates = self._rates()
        if not self._get_lr_called_within_step:
            warnings.warn("To get the last learning rate computed by the scheduler, please use `get_last_lr()`.",
                          UserWarning, stacklevel=2)
        return rates

    def _rates(self) -> Values:
        """Compute what `get_lr` returns, in the schedules of this package."""
        raise NotImplementedError

    def step(self, epoch: int | None = None) -> None:
        """Go to the next epoch, or (deprecated) to `epoch`."""
        if self._step_count == 1:
            optimizer: Any = self.optimizer
            if step_function(optimizer) is not getattr(optimizer, "_scheduled_step", None):
                warnings.warn(OVERRIDDEN, UserWarning, stacklevel=2)
            elif not getattr(optimizer, "_opt_called", False):
                warnings.warn(TOO_EARLY, UserWarning, stacklevel=2)
        self._step_count += 1
        if epoch is not None:
            warnings.warn(EPOCH_DEPRECATION_WARNING, UserWarning, stacklevel=2)
        self._update_lr(epoch)

    def _update_lr(self, epoch: int | None = None) -> None:
        """Set the rates of the next epoch, or of `epoch`: in closed form, if there is one."""
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        closed = None if epoch is None else getattr(self, "_get_closed_form_lr", None)
        with self._while("_get_lr_called_within_step"):
            self._set_lrs((closed or self.get_lr)())

    def _set_lrs(self, values: Values) -> None:
        for group, lr in zip(self.optimizer.param_groups, values, strict=True):
            set_value(group, "lr", lr)
        self._last_lr = values_of(self.optimizer, "lr")


class _LRScheduler(LRScheduler):
    """The name that subclasses written for early PyTorch use."""


def state_of(function: Any) -> dict[str, Any] | None:
    """Return what a state dict keeps of a callable: the attributes of an object, nothing of a plain function."""
    return None if isinstance(function, types.FunctionType) else function.__dict__.copy()


class FunctionLR(LRScheduler):
    """A schedule by a function of the epoch, one for all groups or one for each."""

    lr_lambdas: list[Function]
    must_be_functions = False  # whether other objects raise a TypeError

    def __init__(self, optimizer: Optimizer, lr_lambda: Function | list[Function], last_epoch: int = -1) -> None:
        count = len(optimizer.param_groups)
        functions = list(lr_lambda) if isinstance(lr_lambda, (list, tuple)) else [lr_lambda] * count
        if len(functions) != count:
            raise ValueError(f"Expected {count} lr_lambdas, but got {len(functions)}")
        for function in functions:
            if self.must_be_functions and not callable(function):
                raise TypeError(f"lr_lambda should be a function, but got {type(function).__name__}")
        self.lr_lambdas = functions
        super().__init__(optimizer, last_epoch)

    def state_dict(self) -> dict[str, Any]:
        """Return the state; of the functions, only the attributes of those that are objects."""
        return with_last(super().state_dict(), "lr_lambdas", [state_of(function) for function in self.lr_lambdas])

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load a state; the functions stay, but those that are objects get other attributes."""
        super().load_state_dict({key: value for key, value in state_dict.items() if key != "lr_lambdas"})
        for function, state in zip(self.lr_lambdas, state_dict["lr_lambdas"]):
            if state is not None:
                function.__dict__.update(state)


class LambdaLR(FunctionLR):
    """Multiplies the first rate by a function: lr = lr₀ · lr_lambda(epoch)."""

    def _rates(self) -> Values:
        return [lr * function(self.last_epoch) for function, lr in zip(self.lr_lambdas, self.base_lrs, strict=True)]


class MultiplicativeLR(FunctionLR):
    """Multiplies the rate by a function in each epoch: lr = lr₀ · lr_lambda(1) · … · lr_lambda(epoch)."""

    must_be_functions = True

    def _rates(self) -> Values:
        if self._is_initial:
            return values_of(self.optimizer, "lr")
        return [group["lr"] * function(self.last_epoch)
                for function, group in zip(self.lr_lambdas, self.optimizer.param_groups, strict=True)]


class FactorLR(LRScheduler):
    """A schedule with one factor for all groups: a subclass defines `_factor` and `_closed_factor`."""

    def _factor(self) -> float | None:
        """Return the factor from the previous epoch's rate to that of `last_epoch`; None if the rate stays."""
        raise NotImplementedError

    def _closed_factor(self) -> float:
        """Return the factor from the first rate to that of `last_epoch`."""
        raise NotImplementedError

    def _rates(self) -> Values:
        factor = self._factor()
        if factor is None:
            return values_of(self.optimizer, "lr")
        return [group["lr"] * factor for group in self.optimizer.param_groups]

    def _get_closed_form_lr(self) -> Values:
        factor = self._closed_factor()
        return [lr * factor for lr in self.base_lrs]


class StepLR(FactorLR):
    """Multiplies the rate by `gamma` every `step_size` epochs: lr = lr₀ · gamma^⌊epoch / step_size⌋."""

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float | None:
        return None if self.last_epoch == 0 or self.last_epoch % self.step_size else self.gamma

    def _closed_factor(self) -> float:
        return self.gamma ** (self.last_epoch // self.step_size)


class MultiStepLR(FactorLR):
    """Multiplies the rate by `gamma` at each milestone: lr = lr₀ · gamma^(milestones up to epoch)."""

    def __init__(self, optimizer: Optimizer, milestones: Iterable[int], gamma: float = 0.1,
                 last_epoch: int = -1) -> None:
        self.milestones, self.gamma = Counter(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float | None:
        return self.gamma ** self.milestones[self.last_epoch] if self.last_epoch in self.milestones else None

    def _closed_factor(self) -> float:
        return self.gamma ** bisect_right(sorted(self.milestones.elements()), self.last_epoch)


class ConstantLR(FactorLR):
    """Multiplies the rate by `factor` until epoch `total_iters`, then restores it."""

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
    """Goes linearly from `start_factor` to `end_factor` times the rate in `total_iters` epochs."""

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
    """Multiplies the rate by `gamma` every epoch: lr = lr₀ · gamma^epoch."""

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float | None:
        return None if self._is_initial else self.gamma

    def _closed_factor(self) -> float:
        return self.gamma**self.last_epoch


class PolynomialLR(FactorLR):
    """Goes to zero in `total_iters` epochs: lr = lr₀ · (1 - epoch / total_iters)^power."""

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

    def _rates(self) -> Values:
        if self._is_initial:
            return values_of(self.optimizer, "lr")
        if self._step_count == 1 and self.last_epoch > 0:
            return self._get_closed_form_lr()
        groups, low = self.optimizer.param_groups, self.eta_min
        if (self.last_epoch - 1 - self.T_max) % (2 * self.T_max) == 0:  # the previous epoch was at the bottom
            rise = 1 - math.cos(math.pi / self.T_max)
            return [group["lr"] + (lr - low) * rise / 2 for lr, group in zip(self.base_lrs, groups)]
        ratio = self._bracket(self.last_epoch) / self._bracket(self.last_epoch - 1)
        return [ratio * (group["lr"] - low) + low for group in groups]

    def _bracket(self, epoch: int) -> float:
        return 1 + math.cos(math.pi * epoch / self.T_max)

    def _get_closed_form_lr(self) -> Values:
        return [self.eta_min + (lr - self.eta_min) * self._bracket(self.last_epoch) / 2 for lr in self.base_lrs]


class MomentumLR(LRScheduler):
    """A schedule that can also move the momentum, opposite to the rate: `momentum`, or the first of `betas`."""

    cycle_momentum: bool
    use_beta1: bool

    def _begin_momentum(self, optimizer: Optimizer, low: Any, high: Any, last_epoch: int) -> tuple[Values, Values]:
        """Return the lowest and the highest momentum of each group; a new schedule begins with the highest."""
        if not {"momentum", "betas"} & optimizer.defaults.keys():
            raise ValueError("optimizer must support momentum or beta1 with `cycle_momentum` option enabled")
        self.use_beta1 = "betas" in optimizer.defaults
        highs, lows = per_group("max_momentum", optimizer, high), per_group("base_momentum", optimizer, low)
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

    `mode`: "triangular" for equal cycles, "triangular2" for each half as high as the one before, "exp_range" for
    `gamma^iterations`; or `scale_fn`, a function of the number of the cycle or of the step (`scale_mode`).
    """

    def __init__(self, optimizer: Optimizer, base_lr: float | list[float], max_lr: float | list[float],
                 step_size_up: int = 2000, step_size_down: int | None = None, mode: str = "triangular",
                 gamma: float = 1.0, scale_fn: Callable[[float], float] | None = None, scale_mode: str = "cycle",
                 cycle_momentum: bool = True, base_momentum: float = 0.8, max_momentum: float = 0.9,
                 last_epoch: int = -1) -> None:
        check_optimizer(optimizer)
        base_lrs = per_group("base_lr", optimizer, base_lr)
        if last_epoch == -1:
            for lr, group in zip(base_lrs, optimizer.param_groups):
                set_value(group, "lr", lr)
        self.max_lrs = per_group("max_lr", optimizer, max_lr)
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
        """Return how high a cycle is, from 0 to 1, by its number or that of the step."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        if self.mode == "exp_range":
            return float(self.gamma**x)
        return 1.0 if self.mode == "triangular" else 1 / (2.0 ** (x - 1))

    def _rates(self) -> Values:
        """Return the rates of `last_epoch`, and set the momentum."""
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1.0 + self.last_epoch / self.total_size - cycle
        height = x / self.step_ratio if x <= self.step_ratio else (x - 1) / (self.step_ratio - 1)
        scale = self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            for low, high, group in zip(self.base_momentums, self.max_momentums, self.optimizer.param_groups):
                self._set_momentum(group, high - (high - low) * height * scale)
        return [low + (high - low) * height * scale for low, high in zip(self.base_lrs, self.max_lrs)]

    def state_dict(self) -> dict[str, Any]:
        """Return the state; of a custom `scale_fn`, the attributes if it is an object."""
        custom = self._scale_fn_custom
        return with_last(super().state_dict(), "_scale_fn_custom", None if custom is None else state_of(custom))

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load a state; a `scale_fn` stays, with other attributes if it is an object."""
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

    def _rates(self) -> Values:
        """Return the rates at `T_cur` of the `T_i` epochs of this cycle."""
        bracket = 1 + math.cos(math.pi * self.T_cur / self.T_i)
        return [self.eta_min + (lr - self.eta_min) * bracket / 2 for lr in self.base_lrs]

    def step(self, epoch: float | None = None) -> None:
        """Go to the next epoch, or to `epoch`, which may be fractional: `epoch + batch / batches`."""
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

    The rate begins at `max_lr / div_factor` and ends at that over `final_div_factor`; with `three_phase` it returns to
    where it began, in as many steps as it rose, before it goes further down. The number of steps is `total_steps`, or
    `epochs` times `steps_per_epoch`; `anneal_strategy` is "cos" or "linear".
    """

    total_steps: int

    def __init__(self, optimizer: Optimizer, max_lr: float | list[float], total_steps: int | None = None,
                 epochs: int | None = None, steps_per_epoch: int | None = None, pct_start: float = 0.3,
                 anneal_strategy: str = "cos", cycle_momentum: bool = True,
                 base_momentum: float | list[float] = 0.85, max_momentum: float | list[float] = 0.95,
                 div_factor: float = 25.0, final_div_factor: float = 1e4, three_phase: bool = False,
                 last_epoch: int = -1) -> None:
        check_optimizer(optimizer)
        self.total_steps = number_of_steps(total_steps, epochs, steps_per_epoch)
        self._schedule_phases = phases_of(pct_start, self.total_steps, three_phase)
        if pct_start < 0 or pct_start > 1 or not isinstance(pct_start, float):
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        self._anneal_func_type, self.cycle_momentum = anneal_strategy, cycle_momentum
        max_lrs = per_group("max_lr", optimizer, max_lr)
        if last_epoch == -1:
            for lr, group in zip(max_lrs, optimizer.param_groups):
                group["initial_lr"], group["max_lr"] = lr / div_factor, lr
                group["min_lr"] = group["initial_lr"] / final_div_factor
        if cycle_momentum:
            self._begin_momentum(optimizer, base_momentum, max_momentum, last_epoch)
        super().__init__(optimizer, last_epoch)

    def _anneal_func(self, start: Any, end: Any, pct: float) -> Any:
        if self._anneal_func_type == "linear":
            return (end - start) * pct + start
        return end + (start - end) / 2.0 * (math.cos(math.pi * pct) + 1)

    def _rates(self) -> Values:
        """Return the rates of `last_epoch`, and set the momentum. Raises ValueError after the last step."""
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


def number_of_steps(total_steps: int | None, epochs: int | None, steps_per_epoch: int | None) -> int:
    if total_steps is None and (epochs is None or steps_per_epoch is None):
        raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
    factors: dict[str, Any] = {"epochs": epochs, "steps_per_epoch": steps_per_epoch}
    if total_steps is not None:
        factors = {"total_steps": total_steps}
    for name, value in factors.items():
        if value <= 0 or not isinstance(value, int):
            raise ValueError(f"Expected positive integer {name}, but got {value}")
    return math.prod(factors.values())


def phases_of(pct_start: float, total_steps: int, three_phase: bool) -> list[dict[str, Any]]:
    """Return where each phase ends, and between which options of a group it moves."""
    ends = [(float(pct_start * total_steps) - 1, "initial_lr", "max_lr", "max_momentum", "base_momentum")]
    if three_phase:
        ends += [(float(2 * pct_start * total_steps) - 2, "max_lr", "initial_lr", "base_momentum", "max_momentum"),
                 (total_steps - 1, "initial_lr", "min_lr", "max_momentum", "max_momentum")]
    else:
        ends += [(total_steps - 1, "max_lr", "min_lr", "base_momentum", "max_momentum")]
    names = ("end_step", "start_lr", "end_lr", "start_momentum", "end_momentum")
    return [dict(zip(names, end)) for end in ends]


class ReduceLROnPlateau(LRScheduler):
    """Multiplies the rate by `factor` when a metric has not improved for more than `patience` epochs.

    In mode "min", improved means less than `best · (1 - threshold)` for "rel", or than `best - threshold` for "abs"; in
    mode "max" it means greater, with the signs reversed. After a reduction, `cooldown` epochs do not count. No rate
    goes below `min_lr`, and changes of at most `eps` are skipped.
    """

    best: float

    def __init__(self, optimizer: Optimizer, mode: str = "min", factor: float = 0.1, patience: int = 10,
                 threshold: float = 1e-4, threshold_mode: str = "rel", cooldown: int = 0,
                 min_lr: list[float] | float = 0, eps: float = 1e-8) -> None:
        if factor >= 1.0:
            raise ValueError("Factor should be < 1.0.")
        check_optimizer(optimizer)
        self.factor, self.optimizer = factor, optimizer
        count = len(optimizer.param_groups)
        if isinstance(min_lr, (list, tuple)):
            if len(min_lr) != count:
                raise ValueError(f"expected {count} min_lrs, got {len(min_lr)}")
            self.default_min_lr, self.min_lrs = None, list(min_lr)
        else:
            self.default_min_lr, self.min_lrs = min_lr, [min_lr] * count
        self.patience, self.cooldown, self.eps, self.last_epoch = patience, cooldown, eps, 0
        self._last_lr = values_of(optimizer, "lr")
        self._init_is_better(mode, threshold, threshold_mode)
        self._reset()

    def _init_is_better(self, mode: str, threshold: float, threshold_mode: str) -> None:
        if mode not in ("min", "max"):
            raise ValueError("mode " + mode + " is unknown!")
        if threshold_mode not in ("rel", "abs"):
            raise ValueError("threshold mode " + threshold_mode + " is unknown!")
        self.mode_worse = math.inf if mode == "min" else -math.inf
        self.mode, self.threshold, self.threshold_mode = mode, threshold, threshold_mode

    def _reset(self) -> None:
        self.best, self.cooldown_counter, self.num_bad_epochs = self.mode_worse, 0, 0

    def step(self, metrics: SupportsFloat, epoch: int | None = None) -> None:  # type: ignore[override]  # as PyTorch's
        """Note the metric of this epoch; lower the rates if it is time to."""
        current = float(metrics)
        if epoch is not None:
            warnings.warn(EPOCH_DEPRECATION_WARNING, UserWarning, stacklevel=2)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if self._is_better(current, self.best):
            self.best, self.num_bad_epochs = current, 0
        else:
            self.num_bad_epochs += 1
        if self.in_cooldown:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self._reduce_lr(self.last_epoch)
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
        self._last_lr = values_of(self.optimizer, "lr")

    @property
    def in_cooldown(self) -> bool:
        """Whether bad epochs currently do not count."""
        return self.cooldown_counter > 0

    def _is_better(self, a: float, best: float) -> bool:
        sign = 1.0 if self.mode == "max" else -1.0
        least = best * (1.0 + sign * self.threshold) if self.threshold_mode == "rel" else best + sign * self.threshold
        return a > least if self.mode == "max" else a < least

    def _reduce_lr(self, epoch: int) -> None:
        groups = self.optimizer.param_groups
        if len(groups) != len(self.min_lrs):
            if self.default_min_lr is None:
                raise RuntimeError(
                    f"The number of param groups in the `optimizer` ({len(groups)}) differs from when "
                    f"`ReduceLROnPlateau` was initialized ({len(self.min_lrs)}), usually due to a new param group "
                    "being added to the optimizer. Please modify the `min_lrs` field to match the length of the "
                    "`optimizer` param groups.")
            self.min_lrs = [self.default_min_lr] * len(groups)
        for group, least in zip(groups, self.min_lrs):
            old = float(group["lr"])
            new = max(old * self.factor, least)
            if old - new > self.eps:
                set_value(group, "lr", new)

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        super().load_state_dict(state_dict)
        self._init_is_better(self.mode, self.threshold, self.threshold_mode)


class CombinedLR(LRScheduler):
    """Several schedules of one optimiser."""

    _schedulers: Sequence[Any]

    def _check(self, optimizer: Optimizer, schedulers: Sequence[Any]) -> None:
        """Refuse schedules that do not fit together."""
        name = type(self).__name__
        for i, scheduler in enumerate(schedulers):
            if not hasattr(scheduler, "optimizer"):
                raise TypeError(f"{name} at index {i} should have `optimizer` as its attribute.")
            if isinstance(scheduler, ReduceLROnPlateau):
                raise ValueError(
                    f"{name} does not support `ReduceLROnPlateau` scheduler as it requires additional kwargs to be "
                    f"specified when calling `step`, but got one at index {i} in the given schedulers sequence.")
            if optimizer is not scheduler.optimizer:
                raise ValueError(
                    f"{name} expects all schedulers to belong to the same optimizer, but got scheduler "
                    f"{type(scheduler).__name__} at index {i} has {scheduler.optimizer}, which is different from "
                    f"{type(optimizer).__name__}.")

    def state_dict(self) -> dict[str, Any]:
        """Return the state, which includes those of the schedules."""
        states = [scheduler.state_dict() for scheduler in self._schedulers]
        return with_last(super().state_dict(), "_schedulers", states)

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        super().load_state_dict({key: value for key, value in state_dict.items() if key != "_schedulers"})
        for scheduler, state in zip(self._schedulers, state_dict["_schedulers"]):
            scheduler.load_state_dict(state)


class SequentialLR(CombinedLR):
    """One schedule after the other: at each milestone the next one begins, at its epoch 0."""

    def __init__(self, optimizer: Optimizer, schedulers: list[LRScheduler], milestones: list[int],
                 last_epoch: int = -1) -> None:
        if len(schedulers) < 1:
            raise ValueError(f"{type(self).__name__} expects at least one scheduler, but got no scheduler.")
        self._check(optimizer, schedulers)
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(
                "Sequential Schedulers expects number of schedulers provided to be one more than the number of "
                f"milestone points, but got number of schedulers {len(schedulers)} and the number of milestones to be "
                f"equal to {len(milestones)}")
        self._schedulers, self._milestones = schedulers, milestones
        self.last_epoch, self.optimizer = last_epoch + 1, optimizer
        for group in optimizer.param_groups:  # as if none of the schedules had made its first step
            set_value(group, "lr", group["initial_lr"])
        self.recursive_undo()
        first = schedulers[bisect_right(milestones, 0)]
        first._initial_step()
        self._last_lr = first.get_last_lr()

    def recursive_undo(self, sched: Any = None) -> None:
        """Undo the first step of all schedules, also of those inside schedules."""
        scheduler = self if sched is None else sched
        if hasattr(scheduler, "_schedulers"):
            for inner in scheduler._schedulers:
                self.recursive_undo(inner)
        elif hasattr(scheduler, "last_epoch"):
            scheduler.last_epoch -= 1

    def step(self) -> None:  # type: ignore[override]  # it takes no epoch, as in PyTorch
        """Go to the next epoch, in the schedule whose turn it is."""
        self.last_epoch += 1
        which = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[which]
        if which and self._milestones[which - 1] == self.last_epoch:
            scheduler._update_lr(0)
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()


class ChainedScheduler(CombinedLR):
    """Several schedules at once: each step makes a step of each of them, in order."""

    def __init__(self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None) -> None:
        if len(schedulers) < 1:
            raise ValueError(f"{type(self).__name__} expects at least one scheduler to be chained, but got no "
                             "scheduler.")
        optimizer = optimizer or schedulers[0].optimizer
        self._check(optimizer, schedulers)
        self._schedulers, self.optimizer = schedulers, optimizer
        self._last_lr = values_of(optimizer, "lr")

    def step(self) -> None:  # type: ignore[override]  # it takes no epoch, as in PyTorch
        """Go to the next epoch in all of them."""
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = values_of(self.optimizer, "lr")
