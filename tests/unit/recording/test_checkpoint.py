"""What a recorder tells of checkpoints: their runs, what is there again, where they stop, and which bytes are held."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

import minigrad
from minigrad import nn
from minigrad.recorder import Trace, record
from minigrad.utils.checkpoint import checkpoint, checkpoint_sequential
from tests.unit.recording.observed import check

WAYS = [True, False]


def layers(n: int = 8, width: int = 64) -> nn.Sequential:
    minigrad.manual_seed(0)
    return nn.Sequential(*[layer for _ in range(n) for layer in (nn.Linear(width, width), nn.Tanh())])


def recorded(how: bool | None, segments: int = 4) -> Trace:
    """A step of eight layers; all segments are checkpointed, or none."""
    net, x = layers(), minigrad.randn(32, 64, requires_grad=True)
    size = len(net) // segments

    def loss() -> Any:
        if how is None:
            return net(x).sum()
        out = x
        for start in range(0, len(net), size):
            out = checkpoint(net[start:start + size], out, use_reentrant=how)
        return out.sum()

    with record() as trace:
        loss().backward()
    return trace


def kinds(trace: Trace) -> Counter[str]:
    return Counter([event["kind"] for event in trace.events])


def held_between(trace: Trace) -> int:
    """The bytes that are held, parameters apart, when the first pass begins; but the loss and its gradient."""
    held = [0, 0, 0, 0]
    for event in trace.events:
        held = event.get("bytes", held)
        if event["kind"] == "backward_start":
            break
    parameters, activations, saved, gradients = held
    assert parameters == 8 * (64 * 64 + 64) * 4
    return activations - 4 + saved + gradients - 4


@pytest.mark.parametrize(("how", "bytes_held"), [(None, 73_728), (True, 32_768), (False, 32_768)])
def test_the_bytes_between_forward_and_backward(how: bool | None, bytes_held: int) -> None:
    assert held_between(recorded(how)) == bytes_held


@pytest.mark.parametrize("how", WAYS)
def test_every_op_of_a_block_runs_at_most_twice(how: bool) -> None:
    ops = Counter([event["op"] for event in recorded(how).events if event["kind"] == "forward"])
    assert 8 < ops["tanh"] <= 16 and 8 < ops["addmm"] <= 16
    assert ops["sum"] == 1


@pytest.mark.parametrize("how", WAYS)
def test_both_runs_are_told(how: bool) -> None:
    trace = recorded(how)
    found = kinds(trace)
    assert found["checkpoint_begin"] == found["checkpoint_end"] == found["recompute_begin"] == 4
    assert found["recompute_end"] == 4 and found["early_stop"] == (0 if how else 4)
    calls = [event["call"] for event in trace.events if event["kind"] == "recompute_begin"]
    assert calls == [3, 2, 1, 0]
    begin = next(event for event in trace.events if event["kind"] == "checkpoint_begin")
    assert begin["name"] == "Sequential" and begin["reentrant"] is how
    assert trace.files[begin["file"]]["name"] == "test_checkpoint.py"


def test_what_is_there_again_is_told_and_held() -> None:
    x = minigrad.ones(3, requires_grad=True)
    with record() as trace:
        checkpoint(lambda t: t.sin().exp(), x, use_reentrant=False).sum().backward()
    filled = [(event["index"], trace.values[event["value"]]["data"]) for event in trace.events
              if event["kind"] == "holder_filled"]
    assert [index for index, _ in filled] == [0, 1]
    assert filled[1][1] == pytest.approx([2.319777] * 3)
    kept = [event for event in trace.events if event["kind"] == "forward" and event.get("depth")]
    assert [event["op"] for event in kept] == ["sin"] and kept[0]["depth"] == 2
    assert "checkpoint 0 has all that is needed and stops early" in trace.text()


@pytest.mark.parametrize("how", WAYS)
def test_nested_calls_are_deeper(how: bool) -> None:
    x = minigrad.ones(3, requires_grad=True)

    def inner(t: Any) -> Any:
        return t.sin().cos()

    def outer(t: Any) -> Any:
        return checkpoint(inner, t.exp(), use_reentrant=False).exp()

    with record() as trace:
        checkpoint(outer, x, use_reentrant=how).sum().backward()
    check(trace)
    depths = [(event["call"], event.get("depth", 0)) for event in trace.events if event["kind"] == "recompute_begin"]
    assert len(depths) == 2
    assert all(depth >= 1 for _, depth in depths)
    assert kinds(trace)["recompute_begin"] == kinds(trace)["recompute_end"]


def test_an_error_in_a_run_ends_it() -> None:
    runs: list[Any] = []

    def function(t: Any) -> Any:
        runs.append(t)
        if len(runs) > 1:
            raise ValueError("no")
        return t.sin()

    x = minigrad.ones(3, requires_grad=True)
    with record() as trace:
        with pytest.raises(ValueError, match="no"):
            checkpoint(function, x, use_reentrant=False).sum().backward()
        (x * 2).sum().backward()
    assert [event["kind"] for event in trace.events if event["kind"].startswith(("recompute", "error"))] == [
        "recompute_begin", "recompute_end", "error"]
    assert trace.events[-1]["kind"] == "backward_end" and not trace.events[-1].get("depth")


def test_nothing_is_held_when_all_is_over() -> None:
    net = layers(4, 8)
    with record() as trace:
        checkpoint_sequential(net, 2, minigrad.randn(2, 8, requires_grad=True), use_reentrant=False).sum().backward()
        minigrad.ones(1)
    last = next(event["bytes"] for event in reversed(trace.events) if "bytes" in event)
    assert last[2] == 0
    assert Trace.from_dict(trace.to_dict()).text() == trace.text()
