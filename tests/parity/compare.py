"""One call under two libraries: values, dtypes, the whole graph, and gradients up to the third."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np

TOLERANCE = {"float16": 5e-3, "float32": 3e-5, "float64": 1e-9}


@dataclass(frozen=True)
class Input:
    """A leaf of a case: its shape, and where it matters its dtype (None: the run's), its range and its memory."""

    shape: tuple[int, ...]
    dtype: str | None = None
    positive: bool = False
    grad: bool = True
    layout: str = "plain"  # or another of LAYOUTS


def leaf(*shape: int) -> Input:
    """A leaf of values in ±[0.3, 1.7], in the dtype of the run."""
    return Input(shape)


def positive(*shape: int) -> Input:
    """A leaf of values in [0.3, 1.7]."""
    return Input(shape, positive=True)


def double(*shape: int) -> Input:
    """A leaf that is float64 in every run."""
    return Input(shape, "float64")


def frozen(*shape: int) -> Input:
    """Values that want no gradient."""
    return Input(shape, grad=False)


def integers(*shape: int) -> Input:
    """Integers from -2 to 2, without 0."""
    return Input(shape, "int64", grad=False)


LAYOUTS = ("plain", "turned", "gaps", "expanded")


def laid_out(values: np.ndarray, layout: str) -> np.ndarray:
    """The values as they lie in a memory of this kind; where they are expanded, those of one dimension are one."""
    if layout == "plain" or values.size < 2:
        return values
    if layout == "turned":
        return np.asfortranarray(values)
    if layout == "gaps":
        wide = np.zeros((*values.shape[:-1], 2 * values.shape[-1]), values.dtype)
        wide[..., ::2] = values
        return wide[..., ::2]
    dim = next(i for i, n in enumerate(values.shape) if n > 1)
    one = values.take([0], dim)
    return np.lib.stride_tricks.as_strided(one, values.shape, (*one.strides[:dim], 0, *one.strides[dim + 1:]))


def copied(array: np.ndarray) -> np.ndarray:
    """A copy with the same strides, in memory of its own."""
    if array.flags.c_contiguous:
        return array.copy()
    span = 1 + sum([(n - 1) * stride for n, stride in zip(array.shape, array.strides)]) // array.itemsize
    memory = np.lib.stride_tricks.as_strided(array, (span,), (array.itemsize,)).copy()
    return np.lib.stride_tricks.as_strided(memory, array.shape, array.strides)


def arrays_of(inputs: list[Input], dtype: str, seed: int) -> list[np.ndarray]:
    """The values of the leaves; nobody writes into them."""
    return drawn_arrays(tuple(inputs), dtype, seed)


@functools.lru_cache(4)  # the same for both libraries and for all orders
def drawn_arrays(inputs: tuple[Input, ...], dtype: str, seed: int) -> list[np.ndarray]:
    """The values of the leaves."""
    random = np.random.RandomState(seed)
    out = []
    for spec in inputs:
        values = random.uniform(0.3, 1.7, spec.shape)
        if not spec.positive:
            values = values * random.choice([-1.0, 1.0], spec.shape)
        kind = spec.dtype or dtype
        if kind not in TOLERANCE:
            values = np.sign(values) * np.ceil(abs(values))
        out.append(laid_out(np.asarray(values).astype(kind), spec.layout))
    return out


def leaves_of(lib: ModuleType, inputs: list[Input], arrays: list[np.ndarray]) -> list[Any]:
    """Fresh leaves around copies of the values."""
    return [lib.from_numpy(copied(array)).requires_grad_(spec.grad) for spec, array in zip(inputs, arrays, strict=True)]


def outputs_of(result: Any) -> list[Any]:
    """What a case returned, as a list."""
    return list(result) if isinstance(result, (tuple, list)) else [result]


def graph_of(tensor: Any, leaves: list[Any]) -> list[str]:
    """The graph above a tensor, one line per edge, in an order that both libraries share."""
    if tensor.grad_fn is None:
        return ["no graph"]
    lines: list[str] = [f"root {tensor.grad_fn.name()} output {tensor.output_nr}"]
    numbers = {tensor.grad_fn: 0}
    queue = [tensor.grad_fn]
    for node in queue:
        for index, (other, output_nr) in enumerate(node.next_functions):
            if other is None:
                lines.append(f"{numbers[node]} {node.name()}[{index}] -> None {output_nr}")
                continue
            if other not in numbers:
                numbers[other] = len(numbers)
                queue.append(other)
            leaf_number = [i for i, v in enumerate(leaves) if getattr(other, "variable", None) is v]
            lines.append(f"{numbers[node]} {node.name()}[{index}] -> {numbers[other]} {other.name()} {output_nr} "
                         f"{leaf_number}")
    return lines


def described(value: Any) -> Any:
    """What is compared exactly: everything about a tensor but its values."""
    if not hasattr(value, "grad_fn"):
        return value
    return (str(value.dtype), tuple(value.shape), value.requires_grad, value.is_leaf, value.output_nr)


def numbers(value: Any) -> np.ndarray:
    """A tensor's values, as float64 or integers."""
    array = np.asarray(value.detach().numpy(force=True))  # PyTorch has zeros without memory
    return array.astype(np.float64) if array.dtype.kind == "f" else array


def weighted_sum(lib: ModuleType, tensors: list[Any], seed: int) -> Any:
    """A number that depends on all elements differently."""
    total = 0.0
    for index, tensor in enumerate(tensors):
        weights = weights_of(tuple(tensor.shape), str(tensor.dtype).split(".")[-1], seed + index)
        total = total + (tensor * lib.from_numpy(weights).to(tensor.device)).sum()
    return total


@functools.lru_cache(100)
def weights_of(shape: tuple[int, ...], dtype: str, seed: int) -> np.ndarray:
    """Numbers in [0.5, 1.5]."""
    return np.asarray(np.random.RandomState(seed).uniform(0.5, 1.5, shape)).astype(dtype)


def derivatives(lib: ModuleType, results: list[Any], leaves: list[Any], order: int) -> list[Any]:
    """Gradients of a weighted sum, then those of the gradients' sum, up to an order; None for no gradient."""
    out: list[Any] = []
    current = [v for v in results if v.requires_grad]
    wanted = [v for v in leaves if v.requires_grad]
    for level in range(order):
        if not current:
            break
        grads = lib.autograd.grad(weighted_sum(lib, current, level), wanted, create_graph=level + 1 < order,
                                  allow_unused=True)
        out.append(grads)
        current = [g for g in grads if g is not None and g.requires_grad]
    return out
