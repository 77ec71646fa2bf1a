"""Steps that hypothesis draws: ops on a few tensors, a backward pass, an update; compiled as they run eagerly.

`MINIGRAD_DRAWN=500` draws 500 of them, in the place of the few that a run of all tests has time for.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import minigrad as torch
from minigrad.compiler import compiled, variant
from tests.unit.compiler.steps import loops_in_python

EXAMPLES = int(os.environ.get("MINIGRAD_DRAWN", "25"))
ONE = {
    "relu": torch.relu, "tanh": torch.tanh, "sigmoid": torch.sigmoid, "exp": lambda x: torch.exp(-x * x),
    "square": lambda x: x * x, "softmax": lambda x: x.softmax(-1),
    "norm": lambda x: torch.layer_norm(x, (x.shape[-1],)),
    "scale": lambda x: x / 3 + 0.5, "turn": lambda x: x.T.contiguous().T, "sum": lambda x: x + x.sum(0),
    "mean": lambda x: x - x.mean(1, keepdim=True), "halves": lambda x: torch.cat([x[:, 1:], x[:, :1]], 1),
    "largest": lambda x: x - x.amax(1, keepdim=True).detach(), "clamp": lambda x: x.clamp(-0.5, 0.8),
    "add_": lambda x: (x * 1).add_(1), "part": lambda x: written(x), "detach": lambda x: x + x.detach()}
TWO = {
    "add": lambda x, y: x + y, "mul": lambda x, y: x * y, "sub": lambda x, y: x - y, "max": torch.maximum,
    "where": lambda x, y: torch.where(x > y, x, y * 0), "product": lambda x, y: x @ (y.T @ y) / 8,
    "row": lambda x, y: x + y[:1], "column": lambda x, y: x * y[:, :1]}


def written(x: Any) -> Any:
    """A part of a copy is written."""
    x = x.clone()
    x[1:] *= 2
    return x


Step = Sequence[tuple[str, int, int]]
ops = st.tuples(st.sampled_from([*ONE, *TWO]), st.integers(0, 30), st.integers(0, 30))
steps = st.lists(ops, min_size=1, max_size=9)


def made(drawn: Step, momentum: bool) -> tuple[Any, list[Any]]:
    """A step of training of what was drawn: each op works on one or two of the values before it."""
    rng = np.random.default_rng(0)
    parameters = [torch.tensor(rng.standard_normal(shape), requires_grad=True) for shape in ((3, 4), (3, 4), (4,))]
    optimizer = torch.optim.SGD(parameters, lr=0.05, momentum=0.5 if momentum else 0)

    def step(x: Any) -> Any:
        optimizer.zero_grad()
        values = [x, parameters[0], parameters[1] * parameters[2]]
        for name, i, j in drawn:
            x, y = values[-1 - i % len(values)], values[-1 - j % len(values)]
            values.append(ONE[name](x) if name in ONE else TWO[name](x, y))
        loss = sum(v.mean() for v in values)
        loss.backward()
        optimizer.step()
        return loss

    return step, parameters


def outside(drawn: Step) -> tuple[Any, list[Any]]:
    """What was drawn as a function of tensors that keeps its graph, and what it is called with."""
    rng = np.random.default_rng(0)
    parameters = [torch.tensor(rng.standard_normal(shape), requires_grad=True) for shape in ((3, 4), (3, 4), (4,))]

    def function(x: Any) -> Any:
        values = [x, parameters[0], parameters[1] * parameters[2]]
        for name, i, j in drawn:
            x, y = values[-1 - i % len(values)], values[-1 - j % len(values)]
            values.append(ONE[name](x) if name in ONE else TWO[name](x, y))
        return values[2:]

    return function, parameters


def training(function: Any, parameters: list[Any]) -> Any:
    """A step around a function: some of its results take no part in the loss, and its input requires grad."""
    def step(x: Any) -> Any:
        x = (x * 1).requires_grad_()
        results = function(x)
        loss = sum((k + 1) * r.square().mean() for k, r in enumerate(results) if k % 3 != 1)
        loss.backward()
        with torch.no_grad():
            for p in parameters:
                if p.grad is not None:
                    p.sub_(0.01 * p.grad)
        return loss + (x.grad.sum() if x.grad is not None else 0)
    return step


def left(step: Any, parameters: list[Any]) -> list[Any]:
    rng = np.random.default_rng(1)
    losses = [step(torch.tensor(rng.standard_normal((3, 4)))).item() for _ in range(4)]
    return [np.array(losses), *[p.detach().numpy().copy() for p in parameters],
            *[None if p.grad is None else p.grad.numpy().copy() for p in parameters]]


def require_alike(expected: list[Any], backend: str, function: Any, step_of: Any, parameters: list[Any]) -> None:
    """Compile a function, and require of the step around it what was left by an eager one."""
    loops = SimpleNamespace(functions_of=loops_in_python)
    with mock.patch.object(variant, "optional", lambda name, extra: loops), mock.patch.object(
            compiled, "optional", lambda name, extra: None), warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)  # a break would compare an eager step with itself
        function = torch.compile(function, backend=backend)
        found = left(step_of(function), parameters)
    assert function.explain().variants == 1
    for a, b in zip(found, expected, strict=True):
        assert (a is None) == (b is None)
        if a is not None:
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("backend", ["numpy", "numba"])
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True,
          database=None)
@given(drawn=steps, momentum=st.booleans())
def test_drawn_steps(backend: str, drawn: Step, momentum: bool) -> None:
    step, parameters = made(drawn, momentum)
    expected = left(step, parameters)
    step, parameters = made(drawn, momentum)
    require_alike(expected, backend, step, lambda compiled: compiled, parameters)


@pytest.mark.parametrize("backend", ["numpy", "numba"])
@settings(max_examples=max(1, EXAMPLES // 2), deadline=None, suppress_health_check=[HealthCheck.too_slow],
          derandomize=True, database=None)
@given(drawn=steps)
def test_drawn_functions_with_the_loss_outside(backend: str, drawn: Step) -> None:
    """What an eager pass gives no gradient at all, since it is in no loss, gets zeros."""
    function, parameters = outside(drawn)
    expected = left(training(function, parameters), parameters)
    function, parameters = outside(drawn)
    zeros = [np.zeros_like(p.detach().numpy()) if e is None else e for p, e in zip(
        parameters, expected[1 + len(parameters):], strict=True)]
    expected = [*expected[:1 + len(parameters)], *zeros]
    for p in parameters:
        p.grad = torch.zeros_like(p)
    require_alike(expected, backend, function, lambda compiled: training(compiled, parameters), parameters)
