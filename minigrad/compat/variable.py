"""Defines `Variable`, the deprecated alias of `Tensor`. Mirrors `torch/autograd/variable.py`.

A Variable used to be a tensor that takes part in autograd. Today every tensor does, and `Variable(tensor)` returns one.
Still in use is `Variable._execution_engine.queue_callback`, which calls a function at the end of a backward pass.
"""

import warnings
from abc import ABC
from operator import index
from typing import Any, ClassVar

import numpy as np

from minigrad._base.type_name import type_name
from minigrad.autograd import _api
from minigrad.core import Tensor, plain
from minigrad.core.reentrant import queue_callback as queue


class ImperativeEngine:
    """The engine as an object."""

    queue_callback = staticmethod(queue)
    run_backward = staticmethod(_api.run_backward)


class Variable(ABC):  # noqa: B024 (every Tensor is registered as one)
    """Every tensor is a Variable; calling this returns a tensor with the same data, outside the graph.

    Raises TypeError if `data` is not a tensor, or `_grad_fn` is given, ValueError for both `volatile` and
    `requires_grad`, and RuntimeError for `requires_grad` with a dtype that is not floating point.
    """

    __module__ = "minigrad.autograd.variable"

    _execution_engine: ClassVar[ImperativeEngine] = ImperativeEngine()

    def __new__(cls, data: Tensor | None = None, requires_grad: bool = False,  # type: ignore[misc]  # not a Variable
                volatile: bool = False, _grad_fn: Any = None) -> Tensor:
        if volatile:
            warnings.warn("volatile was removed and now has no effect. Use `with torch.no_grad():` instead.",
                          UserWarning, stacklevel=2)
        if volatile and requires_grad:
            raise ValueError("Variable can't be volatile and require_grad at the same time!")
        if _grad_fn is not None:
            raise TypeError(f"_grad_fn has to be a Function object or None, but got {type_name(_grad_fn)}")
        if data is not None and not isinstance(data, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type_name(data)}")
        result = plain(np.empty(0, np.float32)) if data is None else data.detach()
        if index(requires_grad):
            if not result.is_floating_point():
                raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
            result.requires_grad = True
        return result


Variable.register(Tensor)
