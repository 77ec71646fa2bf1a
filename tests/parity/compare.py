"""One call under two libraries: values, dtypes, the whole graph, and gradients up to the third."""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np

TOLERANCE = {"float16": 5e-3, "float32": 3e-5, "float64": 1e-9}


@dataclass(frozen=True)
class Input:
    """A leaf of a case: its shape, and where it matters its dtype (None: the run's) and its range."""

    shape: tuple[int, ...]
    dtype: str | None = None
    positive: bool = False
    grad: bool = True


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


def arrays_of(inputs: list[Input], dtype: str, seed: int) -> list[np.ndarray]:
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
        out.append(np.asarray(values).astype(kind))
    return out


def leaves_of(lib: ModuleType, inputs: list[Input], arrays: list[np.ndarray]) -> list[Any]:
    """Fresh leaves around copies of the values."""
    return [lib.from_numpy(array.copy()).requires_grad_(spec.grad) for spec, array in zip(inputs, arrays, strict=True)]


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
    random = np.random.RandomState(seed)
    total = 0.0
    for tensor in tensors:
        weights = random.uniform(0.5, 1.5, tuple(tensor.shape)).astype(str(tensor.dtype).split(".")[-1])
        total = total + (tensor * lib.from_numpy(np.asarray(weights))).sum()
    return total


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
