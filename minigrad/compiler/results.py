"""What a step returns: values that its program computes, tensors from outside, and views of both."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import numpy as np

from minigrad._base.dtype import BFLOAT16, Size
from minigrad.compiler.program import Memory, View
from minigrad.compiler.source import view
from minigrad.compiler.tracer import Trace, Traced
from minigrad.compiler.world import PLAIN, leaves_of
from minigrad.core import Node, Tensor
from minigrad.core.tensor import extras_of, plain
from minigrad.history.views import MANY

__all__ = ["Results"]


class Results:
    """What a step returns: the views of `tensors`, which the program computes; those with the indices `live` keep
    their graph. `maker` gives a function that makes the same of (the tensors from outside, `tensors`)."""

    def __init__(self, inputs: Sequence[Tensor], trace: Trace) -> None:
        self.trace, self.views = trace, list[View]()
        self.tensors, self.live = list[Tensor](), list[int]()
        self.inputs = inputs
        self.known: dict[int, Any] = {}
        self.shown: dict[Memory, tuple[Tensor, Any]] = {}  # by memory: the first tensor that shows it, and its maker
        self.shared: list[Memory] = []  # what each result shows

    def maker(self, result: Any) -> Any:
        """What makes the same result of another run."""
        for i, t in enumerate(self.inputs):
            self.known[id(t._grad)] = lambda tensors, results, i=i: tensors[i]._grad
        for i, t in enumerate(self.inputs):
            self.known[id(t)] = found = lambda tensors, results, i=i: tensors[i]
            if isinstance(t.array, Traced):
                self.shown.setdefault(t.array.memory, (t, found))
        leaves_of(result, leaves := list[Tensor](), [])
        self.shared = [t.array.memory for t in {id(t): t for t in leaves}.values() if isinstance(t.array, Traced)]
        make = self.look(result)
        self.shown.clear()  # no result is held
        return make

    def look(self, value: Any) -> Any:
        if isinstance(value, Tensor):
            if id(value) not in self.known:
                self.known[id(value)] = self.tensor(value)
            return self.known[id(value)]
        kind = type(value)
        if kind in (list, tuple, Size):
            parts = [self.look(part) for part in value]
            return lambda tensors, results: kind([make(tensors, results) for make in parts])
        if kind in (dict, OrderedDict):
            found = [(k, self.look(v)) for k, v in value.items()]
            return lambda tensors, results: kind([(k, make(tensors, results)) for k, make in found])
        if not isinstance(value, PLAIN) or kind.__name__ == "TracedFloat":
            self.trace.stop(f"a result is a {kind.__name__}")
        return lambda tensors, results: value

    def tensor(self, value: Tensor) -> Any:
        """A result that is computed, or a view of an input or of another result."""
        if vars(value) or value.retains_grad:
            self.trace.stop("a result has attributes, or keeps its gradient")
        if value.array.dtype is BFLOAT16:  # the trace was stopped where it was made
            return lambda tensors, results: value
        if not isinstance(value.array, Traced):
            value.array = self.trace.outside(np.asarray(value.array))
        memory, base = value.array.memory, value._base
        if base is not None and extras_of(value).view.creation == MANY and memory.kind != "input":
            return self.computed(value)  # as in PyTorch the parts that `chunk` gives are no views then
        if memory not in self.shown and base is not None and self.shared.count(memory) > 1:
            self.known[id(base)] = self.tensor(base)  # several results are its views: it becomes a result, too
        return self.view(value, *self.shown[memory]) if memory in self.shown else self.computed(value)

    def computed(self, value: Tensor) -> Any:
        """A result that the program computes."""
        array, index, live = value.array, len(self.views), value._requires_grad and not used_up(value)
        if live and value._current_grad_fn is None:
            self.trace.stop("a result is a leaf that the function makes")
        self.live += [index] if live else []
        self.tensors.append(value if live else plain(array.value.copy()))
        self.views.append(array.view_of())
        def found(tensors: Sequence[Tensor], results: Sequence[Tensor]) -> Tensor:
            return results[index]

        if self.views[index].whole:
            self.shown[array.memory] = value, found
        return found

    def view(self, value: Tensor, other: Tensor, make: Any) -> Any:
        """A result that shows the memory of another tensor, outside of the graph: a view, or as `detach` gives it."""
        where, start, tracked = value.array.view_of(), other.array.view_of(), value._is_view()
        if where.dtype != start.dtype or (value._requires_grad and not tracked and not used_up(value)) or (
                tracked and value._base is not other and value._base is not other._base):
            self.trace.stop("a result shares memory with an input, or another result, and is no view of it")
        offset, itemsize = where.offset - start.offset, where.dtype.itemsize
        steps = [s // itemsize for s in where.strides]

        def viewed(tensors: Sequence[Tensor], results: Sequence[Tensor]) -> Any:
            shown = make(tensors, results) if tracked else make(tensors, results).detach()
            if tracked:
                shown = shown.as_strided(where.shape, steps, shown.storage_offset() + offset // itemsize)
            else:
                shown.array = view(shown.array, where.shape, where.strides, offset, where.dtype)
            return shown
        return viewed


def used_up(tensor: Tensor) -> bool:
    """Whether a backward pass has been through the graph of a tensor."""
    stack, seen = [tensor._current_grad_fn], set()
    while stack:
        node = stack.pop()
        if isinstance(node, Node) and id(node) not in seen:
            seen.add(id(node))
            if node.saved is None:
                return True
            stack.extend(node.next)
    return False
