"""Times in a recording: there only where they were asked for, and never in what two recordings are compared by."""

from __future__ import annotations

import time

import minigrad as torch
from minigrad.recorder import Trace, record


def program(times: bool) -> Trace:
    """One slow Function between two quick ops, run backward twice."""
    class Slow(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x * 2
            time.sleep(0.02)
            return y

        @staticmethod
        def backward(ctx, grad):
            time.sleep(0.01)
            return grad * 2

    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with record(times=times) as trace:
        loss = (Slow.apply(x) * x).sum()
        loss.backward(retain_graph=True)
        loss.backward()
    return trace


def test_each_node_has_the_seconds_of_its_op_and_of_its_derivative() -> None:
    begun = time.perf_counter()
    trace = program(True)
    passed = time.perf_counter() - begun
    found = {node["name"]: node["seconds"] for node in trace.nodes}
    forward, backward = found["SlowBackward"]
    assert forward >= 0.02 and backward >= 0.02  # two passes
    for name, (before, after) in found.items():
        assert (before is None) == (name == "AccumulateGrad")
        assert after > 0 and (before is None or before > 0)
    assert sum(seconds or 0 for both in found.values() for seconds in both) < passed  # no time counts twice


def test_a_recording_that_was_not_asked_for_times_has_none() -> None:
    trace = program(False)
    assert not any("seconds" in node for node in trace.nodes)
    other = program(False)
    assert trace.text() == other.text() == program(True).text()


def test_times_are_kept_in_files() -> None:
    trace = program(True)
    assert Trace.from_json(trace.to_json()).nodes == trace.nodes
