"""What schedules share: mirrors `LRScheduler` of `torch/optim/lr_scheduler.py`. A subclass writes `get_lr`."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from minigrad.core.tensor import Tensor
from minigrad.optim.optimizer import Optimizer

__all__ = ["EPOCH_DEPRECATION_WARNING", "LRScheduler", "check_optimizer", "each_group", "set_value", "values_of"]

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
Values = list[Any]  # one per group: a number, or a tensor where the group has one


def own(value: Any) -> Any:
    """A value that later changes of a group leave alone: tensors are filled in place."""
    return value.clone() if isinstance(value, Tensor) else value


def values_of(optimizer: Optimizer, key: str) -> Values:
    """An option of each group."""
    return [own(group[key]) for group in optimizer.param_groups]


def set_value(group: dict[str, Any], key: str, value: Any) -> None:
    """Set an option of a group; a tensor is filled."""
    if isinstance(group[key], Tensor):
        group[key].fill_(value.item() if isinstance(value, Tensor) else value)
    else:
        group[key] = value


def each_group(name: str, optimizer: Optimizer, given: Any) -> Values:
    """One value for each group out of a list, or out of one for all."""
    count = len(optimizer.param_groups)
    values: Sequence[Any] = given if isinstance(given, (list, tuple)) else [given] * count
    if len(values) != count:
        raise ValueError(f"{name} must have the same length as optimizer.param_groups. {name} has {len(values)} "
                         f"values, param_groups has {count}.")
    return [own(value) for value in values]


def check_optimizer(optimizer: Any) -> None:
    """Refuse what is no optimiser."""
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")


def step_function(optimizer: Optimizer) -> Any:
    """The function behind `optimizer.step`, to see whether somebody replaced it."""
    return getattr(optimizer.step, "__func__", optimizer.step)


def watch(optimizer: Any) -> None:
    """Have the optimiser note its next step, so that a schedule can tell whether it comes first."""
    optimizer._scheduled_step = step_function(optimizer)
    if not getattr(optimizer, "_opt_called", False):
        def note(stepped: Any, args: Any, kwargs: Any) -> None:
            stepped._opt_called = True
            handle.remove()

        handle = optimizer.register_step_pre_hook(note)


class LRScheduler:
    """A schedule: `step()` sets the learning rates of the next epoch, which a subclass computes in `get_lr()`.

    `last_epoch`: -1 to begin, else the epoch to go on after; the groups then know their `initial_lr`.
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
                group.setdefault("initial_lr", own(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(NOT_RESUMED.format(i))
        self.optimizer, self.last_epoch = optimizer, last_epoch
        self.base_lrs = values_of(optimizer, "initial_lr")
        watch(optimizer)
        self._initial_step()

    def _initial_step(self) -> None:
        self._step_count = 0
        with self._while("_is_initial"):
            self.step()

    @contextmanager
    def _while(self, flag: str) -> Iterator[None]:
        """A flag that is up in a `with` block."""
        setattr(self, flag, True)
        try:
            yield
        finally:
            setattr(self, flag, False)

    def state_dict(self) -> dict[str, Any]:
        """All that the schedule knows, but for its optimiser."""
        return {key: value for key, value in self.__dict__.items() if key != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over a state; the learning rates themselves are in the optimiser's."""
        self.__dict__.update(state_dict)

    def get_last_lr(self) -> Values:
        """The learning rates that the last step set."""
        return self._last_lr

    def get_lr(self) -> Values:
        """The learning rates of `last_epoch`, as `step` asks for them; others ask `get_last_lr`."""
        raise NotImplementedError

    def _warn_unless_in_step(self) -> None:
        if not self._get_lr_called_within_step:
            warnings.warn("To get the last learning rate computed by the scheduler, please use `get_last_lr()`.",
                          UserWarning, stacklevel=3)

    def step(self, epoch: int | None = None) -> None:
        """Go to the next epoch, or (not asked for any more) to this one."""
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
        """Set the rates of the next epoch, or those of this one: by their closed form, where there is one."""
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        closed = None if epoch is None else getattr(self, "_get_closed_form_lr", None)
        with self._while("_get_lr_called_within_step"):
            self._set_lrs((closed or self.get_lr)())

    def _set_lrs(self, values: Values) -> None:
        for group, lr in zip(self.optimizer.param_groups, values, strict=True):
            set_value(group, "lr", lr)
        self._last_lr = values_of(self.optimizer, "lr")


class _LRScheduler(LRScheduler):
    """The name that subclasses of early PyTorch know."""
