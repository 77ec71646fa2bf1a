"""Times in recordings of PyTorch: of each node, how long its op and its derivative took."""

from __future__ import annotations

import importlib
import time

import pytest

pytestmark = pytest.mark.torch


def test_the_reader_takes_the_time_of_ops_and_derivatives(torch):
    reader = importlib.import_module("minigrad_widgets.torch_reader")

    class Slow(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            time.sleep(0.02)
            return grad * 2

    x = torch.tensor([1.0, 2.0], requires_grad=True)
    a = torch.ones(400, 400, requires_grad=True)
    begun = time.perf_counter()
    with reader.record(times=True) as trace:
        loss = (Slow.apply(x) * x).sum() + (a @ a).sum()
        loss.backward()
    passed = time.perf_counter() - begun
    found = {node["name"]: node["seconds"] for node in trace.nodes}
    assert found["SlowBackward"][1] >= 0.02
    assert found["MmBackward0"][0] > 0 and found["MulBackward0"][0] > 0
    assert sum(seconds or 0 for both in found.values() for seconds in both) < passed  # no time counts twice
    assert found["AccumulateGrad"][0] is None and found["AccumulateGrad"][1] > 0
    with reader.record() as plain:
        (x * x).sum().backward()
    assert not any("seconds" in node for node in plain.nodes)
