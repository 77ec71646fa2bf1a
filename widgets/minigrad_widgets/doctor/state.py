"""What a step changes, saved before it runs and restored afterwards."""

from __future__ import annotations

import copy
import random
from collections.abc import Sequence
from typing import Any

import numpy as np

from minigrad_widgets.doctor.library import Library, Named

__all__ = ["State"]


class State:
    """The values, gradients and flags of tensors and modules, the state of optimizers, random states, and whether
    gradients and anomaly mode are on. `helpers` are learning rate schedules and gradient scalers."""

    def __init__(self, library: Library, models: Sequence[Named], optimizers: Sequence[Named],
                 tensors: Sequence[Any], helpers: Sequence[Any] = ()) -> None:
        self.library, self.models, self.optimizers = library, models, optimizers
        self.tensors: dict[int, tuple[Any, Any, Any, Any, bool]] = {}
        for _, model in models:
            for tensor in [*model.parameters(), *model.buffers()]:
                self.keep(tensor)
        for _, optimizer in optimizers:
            for group in optimizer.param_groups:
                for tensor in group["params"]:
                    self.keep(tensor)
        for tensor in tensors:
            if tensor.is_leaf:
                self.keep(tensor)
        self.modes = [(module, module.training) for _, model in models for module in model.modules()]
        self.groups = [(optimizer, [list(group["params"]) for group in optimizer.param_groups])
                       for _, optimizer in optimizers]
        self.states = [(each, copy.deepcopy(each.state_dict())) for each in [*(o for _, o in optimizers), *helpers]]
        self.switches = library.package.is_grad_enabled(), *self.anomaly()
        self.random = random.getstate(), np.random.get_state()
        self.generator = library.package.get_rng_state()

    def anomaly(self) -> tuple[bool, bool]:
        """Return whether anomaly mode is on, and whether it checks for NaN."""
        package = self.library.package
        return package.is_anomaly_enabled(), package.is_anomaly_check_nan_enabled()

    def keep(self, tensor: Any) -> None:
        """Save the values of a tensor, and its `.grad` with its values."""
        if id(tensor) not in self.tensors and not tensor.is_inference():
            grad = tensor.grad
            self.tensors[id(tensor)] = (tensor, tensor.detach().clone(), grad,
                                        None if grad is None else grad.detach().clone(), tensor.requires_grad)

    def moved(self) -> set[int]:
        """Return the id() of each parameter of the optimizers whose values may be others than before; of a meta tensor
        nothing is known."""
        package = self.library.package
        held = {id(p): p for _, groups in self.groups for group in groups for p in group if id(p) in self.tensors}
        with package.no_grad():
            return {key for key, p in held.items() if p.device.type == "meta"
                    or p.shape != self.tensors[key][1].shape or not package.equal(p, self.tensors[key][1])}

    def restore(self) -> None:
        """Restore everything; versions are not restored but keep counting."""
        with self.library.package.no_grad():
            for tensor, values, grad, grad_values, requires_grad in self.tensors.values():
                if tensor.shape == values.shape and tensor.dtype == values.dtype:
                    if all(step or size < 2 for step, size in zip(tensor.stride(), tensor.shape)):  # else expanded
                        tensor.data.copy_(values)
                else:  # the step has given it another array
                    tensor.data = values
                if grad is not None:
                    grad.data.copy_(grad_values)
                tensor.grad = grad
                if tensor.is_leaf:
                    tensor.requires_grad_(requires_grad)
        for module, training in self.modes:
            module.training = training
        for optimizer, groups in self.groups:
            del optimizer.param_groups[len(groups):]  # those that the step has added
            for group, parameters in zip(optimizer.param_groups, groups):
                group["params"] = parameters
        for each, state in self.states:
            each.load_state_dict(state)
        random.setstate(self.random[0])
        np.random.set_state(self.random[1])
        self.library.package.set_rng_state(self.generator)
        grad, anomaly, check_nan = self.switches
        self.library.package.set_grad_enabled(grad)
        if (anomaly, check_nan) != self.anomaly():
            self.library.package.autograd.set_detect_anomaly(anomaly, check_nan)
