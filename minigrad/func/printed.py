"""What a tensor shows inside of transforms: a frame for each level that it belongs to, as in PyTorch.

    BatchedTensor(lvl=1, bdim=0, value=
        tensor([[1., 2.],
                [3., 4.]])
    )
"""

import functools
import textwrap
from collections.abc import Callable
from typing import Any

from minigrad._base.tensor_data import tensor_repr
from minigrad.autograd.forward_ad import within
from minigrad.backends.batched import Level, batched_at
from minigrad.core import Tensor, edge_target, plain
from minigrad.func.batching import Leave
from minigrad.func.captured import is_captured
from minigrad.func.levels import STACK, AllTransforms
from minigrad.func.transforms import Reverse

__all__: list[str] = []

BATCH = "BatchedTensor(lvl={}, bdim={}, value=\n{}\n)"
TRACKED = "GradTrackingTensor(lvl={}, value=\n{}\n)"
NO_STORAGE = "Cannot access data pointer of Tensor that doesn't have storage"


def framed(tensor: Tensor, array: Any, depth: int, entered: bool = False) -> str:
    """A tensor, whose numbers are `array` there, in the frames of the first levels; `entered`: a level further in has
    been given it, so that what it shows is all its own."""
    for number in range(depth, 0, -1):
        level = STACK.levels[number - 1]
        if type(level) is Level:
            if batched_at(array, level):
                dim, source = next(((dim, source) for given, dim, source in level.given if given is array), (0, tensor))
                values = Leave.values(array, level, dim) if source is tensor else source.array
                inner = framed(source, values, number - 1, entered or source is not tensor)
                return BATCH.format(number, dim, textwrap.indent(inner, " " * 4))
        elif not is_captured(tensor, level):
            source = next((of for each, of in zip(level.inputs, getattr(level, "sources", ()), strict=False)
                           if each is tensor), tensor)
            values = array if source is tensor else source.array
            inner = framed(source, values, number - 1, source is not tensor)
            return TRACKED.format(number, textwrap.indent(inner, " " * 4))
    if depth == len(STACK.levels):
        return tensor_repr(tensor)
    with within(()):  # a tangent belongs to its level
        return tensor_repr(tensor if entered and array is tensor.array else outermost(tensor, array))


def outermost(tensor: Tensor, array: Any) -> Tensor:
    """A tensor with what those outside of all levels see of its graph."""
    made, outer = plain(array), next((each for each in STACK.levels if type(each) is Reverse), None)
    if tensor._requires_grad and edge_target(tensor) is not tensor and (outer is None or outer.reaches_out([tensor])):
        made._grad_fn, made._requires_grad = tensor.grad_fn, True
    return made


def printing(method: Callable[[Tensor], str]) -> Callable[[Tensor], str]:
    """`Tensor.__repr__` while transforms run."""
    @functools.wraps(method)
    def call(self: Tensor) -> str:
        return framed(self, self.array, len(STACK.levels)) if STACK.levels else method(self)

    return call


def with_storage(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method that needs the memory of a tensor. Raises PyTorch's RuntimeError for one that belongs to a level."""
    @functools.wraps(method)
    def call(self: Tensor, *args: Any, **options: Any) -> Any:
        for level in reversed(STACK.levels):
            if type(level) is Level:
                belongs = batched_at(self.array, level)
            else:
                belongs = not is_captured(self, level)
                if belongs and type(level) is Reverse and self._requires_grad and method.__name__ == "numpy":
                    break  # it says what to do
            if belongs:
                raise RuntimeError(NO_STORAGE)
        return method(self, *args, **options)

    return call


AllTransforms.changes.update({"__repr__": printing, **dict.fromkeys(("numpy", "data_ptr"), with_storage)})
