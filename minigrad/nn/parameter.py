"""Parameters: mirrors `torch/nn/parameter.py`."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from minigrad.core import Tensor, plain
from minigrad.ops.tensor.properties import make_subclass
from minigrad.ops.tensor.storage import rebuild, rebuild_args

__all__ = ["Buffer", "Parameter"]


class Parameter(Tensor):
    """A leaf that a Module finds by itself when it is assigned to one; requires grad unless told otherwise."""

    def __new__(cls, data: Tensor | None = None, requires_grad: bool = True) -> Parameter:
        data = plain(np.zeros(0, np.float32)) if data is None else data
        return cast(Parameter, make_subclass(cls, data, requires_grad))

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Everything is done in `__new__`."""

    def __deepcopy__(self, memo: dict[int, Any]) -> Parameter:
        """A Parameter with a copy of the data; its gradient and attributes stay behind, as in PyTorch."""
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.data.clone(), self.requires_grad)
        return cast(Parameter, memo[id(self)])

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        """What `copy.copy` and `pickle` ask for; hooks stay behind without a word, as in PyTorch."""
        return rebuild, rebuild_args(self), self.__dict__ or None


class Buffer(Tensor):
    """A tensor that a Module keeps as a buffer when it is assigned to one.

    `persistent`: whether it is part of the module's `state_dict()`. PyTorch gives a plain Tensor with a mark, of which
    `isinstance(buffer, Buffer)` is true; so it is here, but `type(buffer)` is Buffer.
    """

    persistent: bool

    def __new__(cls, data: Tensor | None = None, *, persistent: bool = True) -> Buffer:
        data = plain(np.zeros(0, np.float32)) if data is None else data
        buffer = cast(Buffer, make_subclass(cls, data.detach(), data.requires_grad))
        buffer.persistent = persistent
        return buffer

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Everything is done in `__new__`."""

    def __format__(self, format_spec: str) -> str:
        return format(self.data, format_spec)
