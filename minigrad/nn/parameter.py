"""Parameters: mirrors `torch/nn/parameter.py`."""

from __future__ import annotations

from typing import Any

import numpy as np

from minigrad._tensor import Tensor, owned
from minigrad.autograd.saved import counter_of

__all__ = ["Parameter"]


class Parameter(Tensor):
    """A leaf that a Module finds by itself when it is assigned to one; requires grad unless told otherwise."""

    def __new__(cls, data: Tensor | None = None, requires_grad: bool = True) -> Parameter:
        made = super().__new__(cls)
        if data is not None and data.array.dtype.kind != "f" and requires_grad:
            raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
        made.array = np.zeros(0, np.float32) if data is None else owned(data)
        made._requires_grad = requires_grad
        made._grad = made._grad_fn = made._rare = None
        made._version_counter = None if data is None else counter_of(data)  # one memory, one counter
        made._output_nr = 0
        return made

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Everything is done in `__new__`."""

