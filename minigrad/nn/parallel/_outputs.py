"""Inspects what a module returns: the tensors in it, and the parameters that they were computed from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from minigrad.autograd.function import Function
from minigrad.core import Tensor

__all__ = ["reached_from", "tensors_in", "through_sink"]


class Sink(Function):
    """Passes all outputs on, so that the parameters of one without influence on the loss still get a None."""

    @staticmethod
    def forward(ctx: Any, *outputs: Tensor) -> Any:
        ctx.set_materialize_grads(False)
        return tuple(output.clone() for output in outputs)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return grads


def through_sink(output: Any) -> Any:
    """Return an output whose tensors have gone through one Sink."""
    through = dict[int, Any]()
    inner = [each for each in tensors_in(output) if each.grad_fn is not None]
    if inner:
        through = dict(zip(map(id, inner), Sink.apply(*inner), strict=True))
    return rebuilt(output, through)


def rebuilt(output: Any, tensors: dict[int, Any]) -> Any:
    """Return a list, tuple, dict or tensor with its tensors replaced."""
    if isinstance(output, dict):
        return type(output)({key: rebuilt(each, tensors) for key, each in output.items()})
    if isinstance(output, list | tuple):
        parts = [rebuilt(each, tensors) for each in output]
        return type(output)(*parts) if hasattr(output, "_fields") else type(output)(parts)
    return tensors.get(id(output), output)


def tensors_in(output: Any) -> Iterator[Tensor]:
    """Yield the tensors in lists, tuples and dicts, at any depth."""
    if isinstance(output, Tensor):
        yield output
    elif isinstance(output, list | tuple | dict):
        for each in output.values() if isinstance(output, dict) else output:
            yield from tensors_in(each)


def reached_from(outputs: Iterable[Tensor], named: Sequence[tuple[str, Tensor]]) -> set[int]:
    """Return the indices of the parameters that the graph of these outputs reaches."""
    known, seen, outputs = {id(p): i for i, (_, p) in enumerate(named)}, set[Any](), list(outputs)
    found = {known[id(each)] for each in outputs if id(each) in known}
    stack = [each.grad_fn for each in outputs if each.grad_fn is not None]
    while stack:
        for node, _ in stack.pop().next_functions:
            if node is not None and node not in seen:
                seen.add(node)
                stack.append(node)
                if id(getattr(node, "variable", None)) in known:
                    found.add(known[id(node.variable)])
    return found
