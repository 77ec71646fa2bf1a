"""Runs a step eagerly and compiled from the same start, and compares all that it leaves behind."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import minigrad as torch

__all__ = ["Made", "compare", "equal", "loops_in_python"]

STEPS = 200
TOLERANCE = {"float64": 1e-10, "float32": 1e-4}


@dataclass
class Made:
    """A step, what it is called with, and the tensors that it changes."""

    step: Callable[..., Any]
    arguments: Callable[[int], tuple[Any, ...]]  # those of call number i
    watched: Sequence[Any]
    after: Callable[[int], None] = field(default=lambda i: None)  # what the program does between calls
    module: Any = None  # where not the step is compiled, but a module: the step takes it as its first argument


def loops_in_python(loops: Mapping[str, Any]) -> dict[str, Callable[..., None]]:
    """In the place of `machine_code.functions_of`: what numba would compile, run by Python.

    It needs no numba and no time to compile; small arrays are all that it is for.
    """
    def summed(a: Any, b: Any) -> Any:
        return a + b

    space = {"float32": np.float32, "float64": np.float64, "inf": np.inf, "nan": np.nan, "plus": summed,
             "select": lambda mask, a, b: a if mask else b, "exp64": np.exp, "tanh64": np.tanh,
             **{name: getattr(np, name) for name in ("maximum", "minimum", "exp", "tanh", "log", "sqrt")}}
    found = {}
    for name, loop in loops.items():
        own = dict(space)
        exec(loop.code, own)
        found[name] = own["loop"]
    return found


def equal(found: Any, expected: Any, what: str, tolerance: float) -> None:
    """Require numbers that are as close as rounding lets them be, NaN and infinities in the same places."""
    found, expected = np.asarray(found, np.float64), np.asarray(expected, np.float64)
    finite = expected[np.isfinite(expected)]
    scale = max(1.0, float(np.abs(finite).max()) if finite.size else 1.0)
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance * scale, err_msg=what)


def left_behind(make: Callable[[], Made], wrap: Callable[[Any], Any], steps: int) -> tuple[list[Any], Any]:
    torch.manual_seed(7)
    made = make()
    step, found = wrap(made.step if made.module is None else made.module), []
    for i in range(steps):
        arguments = made.arguments(i)
        result = step(*arguments) if made.module is None else made.step(step, *arguments)
        results = result if isinstance(result, tuple) else (result,)
        found.append([None if r is None else np.array(r.detach().numpy()) for r in results])
        made.after(i)
    tensors = [np.array(t.detach().numpy()) for t in made.watched]
    grads = [None if t.grad is None else np.array(t.grad.detach().numpy()) for t in made.watched]
    versions = [t._version for t in made.watched]
    return [found, tensors, grads, versions, torch.get_rng_state().numpy().tolist()], step


def compare(make: Callable[[], Made], steps: int = STEPS, dtype: str = "float64", backend: str = "numpy",
            programs: int | None = 1, tolerance: float | None = None) -> Any:
    """Require the same results, tensors, gradients, versions and random numbers; `programs`: how many are made (None:
    whatever)."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(getattr(torch, dtype))
    try:
        eager, _ = left_behind(make, lambda step: step, steps)
        compiled, step = left_behind(make, lambda step: torch.compile(step, backend=backend), steps)
    finally:
        torch.set_default_dtype(before)
    tolerance = TOLERANCE[dtype] if tolerance is None else tolerance
    for i, (one, other) in enumerate(zip(eager[0], compiled[0], strict=True)):
        for a, b in zip(one, other, strict=True):
            assert (a is None) == (b is None)
            if a is not None:
                equal(b, a, f"result of call {i}", tolerance)
    for name, k in (("tensor", 1), ("gradient", 2)):
        for i, (a, b) in enumerate(zip(eager[k], compiled[k], strict=True)):
            assert (a is None) == (b is None), f"{name} {i}"
            if a is not None:
                equal(b, a, f"{name} {i}", tolerance)
    assert eager[3] == compiled[3], "versions"
    assert eager[4] == compiled[4], "random numbers"
    if programs is not None:
        assert step.explain().variants == programs, step.why
        assert not step.explain().breaks
    return step
