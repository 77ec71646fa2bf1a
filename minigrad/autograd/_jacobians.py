"""Computes Jacobians by finite differences and by backward passes, for `gradcheck` to compare.

Mirrors the middle part of `torch/autograd/gradcheck.py`. Here a Jacobian is a matrix with a row per element of the
input and a column per element of the output.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minigrad.autograd._api import grad
from minigrad.autograd._gradcheck_texts import PERTURBED
from minigrad.autograd.functional import units
from minigrad.backends.registry import device_like
from minigrad.core import Tensor, materialized, plain

__all__ = ["analytical", "as_tuple", "difference", "numerical", "unit_vectors"]

Tensors = tuple[Tensor, ...]


def as_tuple(given: Any) -> tuple[Any, ...]:
    """Return what a function takes or returns, as a tuple."""
    return tuple(given) if isinstance(given, (tuple, list)) else (given,)


def difference(func: Callable[..., Any], inputs: Sequence[Any], memory: Any, step: Any, eps: float,
               where: str = "") -> Tensors:
    """Return (f(x + step) - f(x - step)) / 2 eps for each output, flat, where x is `memory`, part of an input's memory.

    The memory itself is changed, bypassing the version counters, and restored whatever happens: `func` is called with
    the very tensors that the user passed, so that it can use their graph (as `gradgradcheck` does).

    Raises:
        AssertionError: if the shape or the dtype of an output changes on the way.
    """
    before = memory.copy()
    try:
        memory[...] = before - step
        low = [o.clone() for o in as_tuple(func(*inputs))]
        memory[...] = before + step
        high = [o.clone() for o in as_tuple(func(*inputs))]
    finally:
        memory[...] = before
    for a, b in zip(low, high):
        if a.shape != b.shape:
            raise AssertionError(PERTURBED.format("shape", where, eps, a.shape, b.shape))
        if a.dtype != b.dtype:
            raise AssertionError(PERTURBED.format("dtype", where, eps, a.dtype, b.dtype))
    return tuple([((b - a) / (2 * eps)).detach().reshape(-1) for a, b in zip(low, high)])


def numerical(func: Callable[..., Any], inputs: Sequence[Any], x: Tensor, outputs: dict[int, Tensor],
              eps: float) -> list[Tensor]:
    """Return the Jacobians of some outputs (by number) for the input `x`: each of its elements is moved a little."""
    made = {i: np.zeros((x.numel(), o.numel()), o.array.dtype, like=device_like(o.array)) for i, o in outputs.items()}
    memory = materialized(x)
    for row, index in enumerate(np.ndindex(memory.shape)):
        found = difference(func, inputs, memory[(*index, ...)], eps, eps, f"on index {index} ")
        for i, jacobian in made.items():
            jacobian[row] = found[i].array
    return [plain(jacobian) for jacobian in made.values()]


def analytical(output: Tensor, inputs: Tensors, vectors: Sequence[Tensor]) -> list[Tensor]:
    """Return the Jacobians of `output` for each input, times each of these vectors: a backward pass per column."""
    made = [np.zeros((x.numel(), len(vectors)), x.array.dtype, like=device_like(x.array)) for x in inputs]
    for column, v in enumerate(vectors):
        for jacobian, g in zip(made, grad(output, inputs, v, retain_graph=True, allow_unused=True), strict=True):
            if g is not None:
                jacobian[:, column] = g.array.reshape(-1)
    return [plain(jacobian) for jacobian in made]


def unit_vectors(output: Tensor) -> list[Tensor]:
    """Return the vectors with which `analytical` returns the whole Jacobian."""
    return [unit for unit, in units((output,))]
