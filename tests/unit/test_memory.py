"""The account of memory: against what Python's tracemalloc counts, and against what can be worked out by hand."""

from __future__ import annotations

import gc
import tracemalloc

import numpy as np
import pytest

import minigrad as torch
from minigrad import memory, nn
from minigrad.memory import Account
from minigrad.recorder import record
from minigrad.utils.checkpoint import checkpoint

KIB = 1024
WAYS = ("plain", "reentrant", "non-reentrant")


def blocks(count, width):
    return nn.Sequential(*[nn.Sequential(nn.Linear(width, width), nn.Tanh()) for _ in range(count)])


def forward(model, x, way, segments):
    """The loss; every segment is checkpointed."""
    if way == "plain":
        return model(x).sum()
    size = len(model) // segments
    for start in range(0, len(model), size):
        x = checkpoint(model[start:start + size], x, use_reentrant=way == "reentrant")
    return x.sum()


def arrays():
    """What NumPy has asked for and not given back, by tracemalloc."""
    gc.collect()
    traces = tracemalloc.take_snapshot().filter_traces([
        tracemalloc.DomainFilter(inclusive=True, domain=np.lib.tracemalloc_domain)])
    return sum(trace.size for trace in traces.traces)


@pytest.fixture
def traced():
    gc.collect()
    tracemalloc.start()
    yield
    tracemalloc.stop()


@pytest.mark.parametrize(("way", "between"), [("plain", 73_728), ("reentrant", 32_768), ("non-reentrant", 32_768)])
def test_between_forward_and_backward(way, between):
    """8 × (Linear 64, tanh), batch 32: what a graph holds, parameters and the loss's 4 bytes apart."""
    model, x = blocks(8, 64), torch.randn(32, 64).requires_grad_()
    with record() as trace:
        loss = forward(model, x, way, 4)
        loss.backward()
    held = Account(trace).at_backward()
    assert held.extra - held.gradients - loss.array.nbytes == between


@pytest.mark.parametrize("way", WAYS)
def test_what_is_held_agrees_with_tracemalloc(traced, way):
    """To 1 in 1,000 of the arrays: before, between forward and backward, and after."""
    already, at_first = arrays(), memory.memory_allocated()
    model, x = blocks(6, 128), torch.randn(256, 128).requires_grad_()
    found = []
    for moment in ("before", "between", "after"):
        if moment == "between":
            loss = forward(model, x, way, 3)
        elif moment == "after":
            loss.backward()
        found.append((memory.memory_allocated() - at_first, arrays() - already))
    assert all(abs(ours - theirs) <= theirs / 1000 for ours, theirs in found), found
    assert found[0] < found[2] < found[1] or way != "plain"


def test_bytes_are_counted_while_the_error_of_a_pass_is_kept():
    """As a notebook keeps the last error, with all that its frames hold."""
    x, at_first = torch.ones(1000), memory.memory_allocated()
    with pytest.raises(RuntimeError, match="does not require grad") as kept:
        x.sum().backward()
    assert memory.memory_allocated() >= at_first and kept.tb is not None


@pytest.mark.parametrize("way", WAYS)
def test_the_recorder_agrees_with_tracemalloc(traced, way):
    """When the pass begins and at the end of a step, to 1 in 20: the recorder's previews are arrays too."""
    model, x = blocks(6, 128), torch.randn(512, 128).requires_grad_()
    already, found = arrays() - x.array.nbytes, []
    with record() as trace:
        loss = forward(model, x, way, 3)
        found.append(arrays() - already)
        loss.backward()
        found.append(arrays() - already)
    account = Account(trace)
    assert [account.at_backward().extra, account.current.extra] == pytest.approx(found, rel=0.05)
    assert account.current.saved == 0


@pytest.mark.parametrize(("way", "more"), [("plain", 0.1), ("reentrant", 1.4), ("non-reentrant", 0.7)])
def test_peak(way, more):
    """The most at once: never less than the least that there must be, nor much more; checkpoints make it less.

    A pass holds no gradient longer than the node runs that was given it: each such would be an activation `more`. A
    checkpoint needs at most one, since tanh's derivative is not written over its gradient; the reentrant kind also
    holds its output and the gradient of it.
    """
    gc.collect()
    model, x = blocks(12, 64), torch.randn(1024, 64).requires_grad_()
    activation, weights = 1024 * 64 * 4, 64 * 64 * 4
    try:
        memory.reset_peak_memory_stats()
        before = memory.memory_allocated()
        forward(model, x, way, 4).backward()
        peak = memory.max_memory_allocated() - before
    finally:
        tracemalloc.stop()
    least = 13 * activation + weights if way == "plain" else 7 * activation + weights
    assert least <= peak <= least + more * activation


def test_peak_that_nobody_counted():
    """Nothing can be said of it."""
    with pytest.raises(RuntimeError, match="reset_peak_memory_stats"):
        memory.max_memory_allocated()


def test_another_device():
    """PyTorch's error for a device that is not here."""
    with pytest.raises(AssertionError, match="Torch not compiled with CUDA enabled"):
        memory.memory_allocated("cuda")
    assert memory.memory_allocated("cpu") == memory.memory_allocated()


def test_snapshot():
    """Each storage once, with all that hold it."""
    x = torch.ones(1000, 7, requires_grad=True)
    y = (x * 3).t()
    z = y.exp()
    rows = sorted((row.kind, row.bytes, row.shapes, row.nodes) for row in memory.snapshot()
                  if any(sorted(shape) == [7, 1000] for shape in row.shapes))
    assert rows == [("activation", 28_000, ((7, 1000), (1000, 7)), ()), ("activation", 28_000, ((1000, 7),), ()),
                    ("saved", 28_000, ((7, 1000),), ("ExpBackward0",))]
    z.sum().backward()
    assert memory.held().gradients >= 28_000


def test_ops_and_modules():
    """Who made and who saved how much; what several saved counts for the first."""
    model = nn.Sequential(nn.Linear(4, 8, bias=False), nn.Tanh())
    x = torch.ones(16, 4)
    with record() as trace:
        loss = model(x).sum()
        loss.backward()
    account = Account(trace)
    ops = account.per_op()
    assert ops["tanh"] == (1, 512, 512)
    assert ops["mm"] == (1, 512, 256)
    assert ops["t"] == (1, 0, 0) and ops["sum"] == (1, 4, 0)
    assert account.per_module()["model.1"] == (1, 512, 512)
    assert sum(of.saved for of in account.per_module().values()) == 768
    assert "per module" in account.text() and "tanh" in account.text()


def test_modules_without_a_graph():
    """What runs without grad mode, as the first run of a reentrant checkpoint, belongs to its module too."""
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh())
    with record() as trace, torch.no_grad():
        model(torch.ones(16, 4)).sum()
    of = Account(trace).per_module()
    assert {name: (part.made, part.saved) for name, part in of.items()} == {
        "model.0": (512, 0), "model.1": (512, 0), "": (4, 0)}


def test_plot():
    """Bytes over the steps, as matplotlib's figure."""
    pytest.importorskip("matplotlib")
    x = torch.ones(64, 64, requires_grad=True)
    with record() as trace:
        (x * 2).exp().sum().backward()
    account = Account(trace)
    figure = account.plot()
    (axes,) = figure.axes
    assert [text.get_text() for text in axes.get_legend().get_texts()] == [
        "parameters", "saved", "activations", "gradients"]
    assert len(axes.collections) == 4
    tops = max(path.vertices[:, 1].max() for each in axes.collections for path in each.get_paths())
    assert tops == pytest.approx(account.peak.total / 2**20)
