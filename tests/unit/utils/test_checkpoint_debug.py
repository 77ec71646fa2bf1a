"""The long error of `checkpoint(debug=True)`: the ops of both runs, with the user's lines.

PyTorch says the same in a process of its own; under pytest its log raises a TypeError, so the text is held here.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

import minigrad
from minigrad.utils.checkpoint import CheckpointError, checkpoint, set_checkpoint_debug_enabled


def run(then: Callable[[Any], Any], **options: Any) -> Any:
    """A function that does something else when it is run again: its gradient, or its error."""
    x, runs = minigrad.arange(1.0, 4.0, dtype=minigrad.float64).requires_grad_(), []

    def function(t: Any) -> Any:
        runs.append(t)
        return (t.sin() * t).cos() if len(runs) == 1 else then(t)

    checkpoint(function, x, use_reentrant=False, **options).sum().backward()
    return x.grad


def ops(text: str) -> list[str]:
    """The ops that are listed, without their numbers."""
    lines = [line.partition("   (")[0].strip() for line in text.splitlines()]
    return [re.sub(r"\$\d+", "$", line) for line in lines if "torch._ops." in line and ".detach." not in line]


def test_both_runs_are_listed() -> None:
    with pytest.raises(CheckpointError) as caught:
        run(lambda t: (t * 2).sin(), debug=True)
    sin, mul, cos, twice = (f"$: f64[3] = torch._ops.aten.{op}" for op in (
        "sin.default($)", "mul.Tensor($, $)", "cos.default($)", "mul.Tensor($, 2)"))
    assert ops(str(caught.value)) == [sin, mul, cos, twice, sin] * 2
    assert "test_checkpoint_debug.py:" in str(caught.value)


def test_nothing_is_said_where_both_runs_are_the_same() -> None:
    plain = run(lambda t: (t.sin() * t).cos())
    assert minigrad.equal(run(lambda t: (t.sin() * t).cos(), debug=True), plain)


@pytest.mark.parametrize(("enabled", "debug", "long"), [
    (True, False, True), (True, True, True), (False, True, False), (False, False, False), (None, True, True),
    (None, False, False)])
def test_a_block_says_it_for_all(enabled: bool | None, debug: bool, long: bool) -> None:
    with set_checkpoint_debug_enabled(enabled), pytest.raises(CheckpointError) as caught:
        run(lambda t: (t * 2).sin(), debug=debug)
    assert bool(ops(str(caught.value))) is long
