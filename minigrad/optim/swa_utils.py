"""Averages of weights: mirrors `torch/optim/swa_utils.py`.

The mean of the weights that training passes through is often better than the last ones: all with equal weight (SWA,
Izmailov et al. 2018), or the later ones with more (EMA). This file has the model of such a mean, and its tools.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from typing import Any

import numpy as np

from minigrad.autograd.grad_mode import no_grad
from minigrad.core import Tensor, plain
from minigrad.nn.modules.batchnorm import _BatchNorm
from minigrad.nn.modules.module import Module
from minigrad.optim.lr_scheduler import LRScheduler, per_group
from minigrad.optim.optimizer import Optimizer

__all__ = ["SWALR", "AveragedModel", "get_ema_avg_fn", "get_ema_multi_avg_fn", "get_swa_avg_fn", "get_swa_multi_avg_fn",
           "update_bn"]

Average = Callable[[Tensor, Tensor, Any], Tensor]
MultiAverage = Callable[[Sequence[Tensor], Sequence[Tensor], Any], None]


def get_ema_avg_fn(decay: float = 0.999) -> Average:
    """Return the function decay · mean + (1 - decay) · new, for one parameter."""
    check_decay(decay)

    def ema_update(ema_param: Tensor, current_param: Tensor, num_averaged: Any) -> Tensor:
        with no_grad():
            return decay * ema_param + (1 - decay) * current_param

    return ema_update


def get_swa_avg_fn() -> Average:
    """Return the function mean + (new - mean) / (n + 1), for one parameter; n: how many were averaged before."""

    def swa_update(averaged_param: Tensor, current_param: Tensor, num_averaged: Any) -> Tensor:
        with no_grad():
            step: Tensor = (current_param - averaged_param) / (num_averaged + 1)
            return averaged_param + step

    return swa_update


def get_ema_multi_avg_fn(decay: float = 0.999) -> MultiAverage:
    """As `get_ema_avg_fn`, for lists of parameters of one dtype, in place."""
    check_decay(decay)

    def ema_update(ema_param_list: Sequence[Tensor], current_param_list: Sequence[Tensor], _: Any) -> None:
        with no_grad():
            for mean, new in zip(ema_param_list, current_param_list, strict=True):
                if mean.is_floating_point():
                    mean.lerp_(new, 1 - decay)
                else:
                    mean.copy_(mean * decay + new * (1 - decay))

    return ema_update


def get_swa_multi_avg_fn() -> MultiAverage:
    """As `get_swa_avg_fn`, for lists of parameters of one dtype, in place."""

    def swa_update(averaged_param_list: Sequence[Tensor], current_param_list: Sequence[Tensor],
                   num_averaged: Any) -> None:
        with no_grad():
            for mean, new in zip(averaged_param_list, current_param_list, strict=True):
                if mean.is_floating_point():
                    mean.lerp_(new, 1 / (int(num_averaged) + 1))
                else:
                    mean.add_((new - mean).div(num_averaged + 1, rounding_mode="trunc"))

    return swa_update


def check_decay(decay: float) -> None:
    """Raise PyTorch's error for a decay outside [0, 1]."""
    if decay < 0.0 or decay > 1.0:
        raise ValueError(f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.")


class AveragedModel(Module):
    """A copy of a model whose parameters are the mean of those that `update_parameters` has seen.

    `avg_fn` returns the new mean of one parameter, `multi_avg_fn` changes lists of them in place; without either, all
    count equally. Buffers are averaged too if `use_buffers`, else copied.
    """

    n_averaged: Tensor

    def __init__(self, model: Module, device: Any = None, avg_fn: Average | None = None,
                 multi_avg_fn: MultiAverage | None = None, use_buffers: bool = False) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", plain(np.array(0)))
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Return what the averaged model returns."""
        return self.module(*args, **kwargs)

    def update_parameters(self, model: Module) -> None:
        """Add the parameters of `model` to the average; the first ones are copied."""
        buffers: tuple[Any, Any] = (self.module.buffers(), model.buffers())
        ours, theirs = self.parameters(), model.parameters()
        if self.use_buffers:
            ours, theirs = itertools.chain(self.module.parameters(), buffers[0]), itertools.chain(theirs, buffers[1])
        pairs = [(mean.detach(), new.detach()) for mean, new in zip(ours, theirs)]
        if self.n_averaged.item() == 0:
            for mean, new in pairs:
                mean.copy_(new)
        elif self.avg_fn is not None:
            for mean, new in pairs:
                mean.copy_(self.avg_fn(mean, new, self.n_averaged))
        else:
            average = self.multi_avg_fn or get_swa_multi_avg_fn()
            for dtype in dict.fromkeys([mean.dtype for mean, _ in pairs]):
                same = [pair for pair in pairs if pair[0].dtype == dtype]
                average([mean for mean, _ in same], [new for _, new in same], self.n_averaged)
        if not self.use_buffers:
            for mean, new in zip(*buffers, strict=True):
                mean.detach().copy_(new.detach())
        self.n_averaged += 1


def update_bn(loader: Iterable[Any], model: Module, device: Any = None) -> None:
    """Recompute the means and variances of a model's BatchNorm layers, over all batches of `loader`.

    A batch is the input, or a list or tuple that begins with it. After averaging weights, the means from training are
    no longer right.
    """
    layers = {m: m.momentum for m in model.modules() if isinstance(m, _BatchNorm)}
    if not layers:
        return
    was_training = model.training
    model.train()
    for layer in layers:
        layer.reset_running_stats()
        layer.momentum = None  # then all batches count equally
    with no_grad():
        for batch in loader:
            x = batch[0] if isinstance(batch, (list, tuple)) else batch
            model(x if device is None else x.to(device))
    for layer, momentum in layers.items():
        layer.momentum = momentum
    model.train(was_training)


def linear(t: float) -> float:
    return t


def cosine(t: float) -> float:
    return (1 - math.cos(math.pi * t)) / 2


class SWALR(LRScheduler):
    """Goes from the learning rate of each group to `swa_lr` in `anneal_epochs` epochs, and stays there."""

    def __init__(self, optimizer: Optimizer, swa_lr: Any, anneal_epochs: Any = 10, anneal_strategy: str = "cos",
                 last_epoch: int = -1) -> None:
        for group, rate in zip(optimizer.param_groups, per_group("swa_lr", optimizer, swa_lr)):
            group["swa_lr"] = rate
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        self._set_anneal_func(anneal_strategy)
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    def _set_anneal_func(self, anneal_strategy: str) -> None:
        self._anneal_strategy = anneal_strategy
        self.anneal_func = cosine if anneal_strategy == "cos" else linear

    def _rates(self) -> list[Any]:
        """Return swa_lr · α(t) + lr₀ (1 - α(t)): t is the share of the epochs, lr₀ the rate implied for the start."""
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, now = [self.anneal_func(max(0, min(1, n / max(1, self.anneal_epochs)))) for n in (step - 1, step)]
        rates = []
        for group in self.optimizer.param_groups:
            swa_lr = group["swa_lr"]
            first_lr = swa_lr if before == 1 else (group["lr"] - before * swa_lr) / (1 - before)
            rates.append(swa_lr * now + first_lr * (1 - now))
        return rates

    def state_dict(self) -> dict[str, Any]:
        """Return the state of the schedule, except its optimiser and the function, which the strategy names."""
        return {key: value for key, value in super().state_dict().items() if key != "anneal_func"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load a state; the learning rates themselves are in the optimiser's."""
        super().load_state_dict(state_dict)
        self._set_anneal_func(self._anneal_strategy)
