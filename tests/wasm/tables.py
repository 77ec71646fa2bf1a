"""What every line of the op tables gives, in words and numbers that can be compared across processes and platforms."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

import minigrad
from tests.parity.compare import arrays_of, described, leaves_of, numbers, outputs_of
from tests.parity.tables import all_cases, all_plain

__all__ = ["close", "outcomes"]

TOLERANCE = 1e-3  # two builds of BLAS add in different orders, and a second derivative multiplies what that makes


def shown(value: Any) -> Any:
    """What is said of a result: of a tensor its dtype, its shape, its place in the graph and its values."""
    return [str(described(value)), numbers(value).tolist()] if hasattr(value, "grad_fn") else str(value)


def outcome(call: Any, inputs: Any) -> list[Any]:
    """The results of a case, and the gradients of its leaves to the second order; or its error."""
    minigrad.manual_seed(0)
    leaves = leaves_of(minigrad, inputs, arrays_of(inputs, "float32", seed=len(inputs)))
    wanted = [leaf for leaf in leaves if leaf.requires_grad]
    try:
        results = outputs_of(call(minigrad, *leaves))
        found = [shown(result) for result in results]
        for _ in range(2):
            results = [v for v in results if getattr(v, "requires_grad", False)]
            if results:
                total = sum([(v * v * v).sum() for v in results])
                results = list(minigrad.autograd.grad(total, wanted, create_graph=True, allow_unused=True))
                found += [shown(result) for result in results]
        return found
    except (RuntimeError, TypeError, ValueError, IndexError) as error:
        return [f"{type(error).__name__}: {error}"]


def outcomes() -> dict[str, list[Any]]:
    """By case: what it gives here."""
    cases = all_cases() | {f"{name}, plain": case for name, case in all_plain().items()}
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return {name: outcome(*case[:2]) for name, case in cases.items()}


def close(a: Any, b: Any) -> bool:
    """Whether two outcomes are equal, floats up to rounding."""
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(close, a, b))
    if isinstance(a, float) and isinstance(b, float):
        return a == b or (a != a and b != b) or math.isclose(a, b, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    return bool(a == b)
