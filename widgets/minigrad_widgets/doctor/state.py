"""What a step changes, kept before it runs and put back afterwards."""

from __future__ import annotations

import copy
import random
from collections.abc import Sequence
from typing import Any

import numpy as np

from minigrad_widgets.doctor.library import Library, Named

__all__ = ["State"]


class State:
    """The values, gradients and flags of tensors and modules, the state of optimizers, and random states."""

    def __init__(self, library: Library, models: Sequence[Named], optimizers: Sequence[Named],
                 tensors: Sequence[Any]) -> None:
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
        self.states = [(optimizer, copy.deepcopy(optimizer.state_dict())) for _, optimizer in optimizers]
        self.random = random.getstate(), np.random.get_state()
        self.generator = library.package.get_rng_state()

    def keep(self, tensor: Any) -> None:
        """Keep the values of a tensor, and its `.grad` with the values of that."""
        if id(tensor) not in self.tensors and not tensor.is_inference():
            grad = tensor.grad
            self.tensors[id(tensor)] = (tensor, tensor.detach().clone(), grad,
                                        None if grad is None else grad.detach().clone(), tensor.requires_grad)

    def restore(self) -> None:
        """Put everything back as it was; versions go on counting."""
        with self.library.package.no_grad():
            for tensor, values, grad, grad_values, requires_grad in self.tensors.values():
                if tensor.shape == values.shape:
                    tensor.data.copy_(values)
                if grad is not None:
                    grad.data.copy_(grad_values)
                tensor.grad = grad
                if tensor.is_leaf:
                    tensor.requires_grad_(requires_grad)
        for module, training in self.modes:
            module.training = training
        for optimizer, state in self.states:
            optimizer.load_state_dict(state)
        random.setstate(self.random[0])
        np.random.set_state(self.random[1])
        self.library.package.set_rng_state(self.generator)
