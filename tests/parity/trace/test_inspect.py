"""`inspect` of what PyTorch made: the line that asked, either kind of tensor, graphs that were freed."""

from __future__ import annotations

import importlib

import pytest

pytestmark = pytest.mark.torch


@pytest.fixture
def inspect(torch):
    return importlib.import_module("minigrad_widgets").inspect  # it asks for PyTorch


def test_what_inspect_runs_itself_is_of_the_line_that_asked(torch, inspect):
    """As in minigrad's recordings; PyTorch's own lines are nobody's."""
    model, x = torch.nn.Linear(2, 2), torch.ones(1, 2)
    trace = inspect(model, x)._trace
    lines = {trace.files[event["file"]]["lines"][event["line"] - 1].strip() for event in trace.events}
    assert lines == {'trace = inspect(model, x)._trace'}


@pytest.mark.parametrize("lib", ["torch", "minigrad"])
def test_inspect_takes_either_kind_of_tensor(inspect, lib):
    m = importlib.import_module(lib)
    x = m.ones(3, requires_grad=True)
    x.grad = before = m.ones(3)
    inspector = inspect((x * 2).exp().sum())
    trace = inspector._trace
    assert inspector.lens == "backward" and trace.library.startswith(lib)
    assert trace.steps("forward") == []  # nobody has recorded it: the forward pane says so
    assert [trace.nodes[e["node"]]["name"] for e in trace.events if e["kind"] == "run"] == [
        "SumBackward0", "ExpBackward0", "MulBackward0", "AccumulateGrad"]
    inspector.lens = "traversal"
    assert "SumBackward0 #0: 1 of 1" in inspector.text
    assert x.grad is before and before.tolist() == [1, 1, 1]


@pytest.mark.parametrize("lib", ["torch", "minigrad"])
def test_inspect_shows_the_nodes_of_a_graph_that_was_freed(inspect, lib):
    m = importlib.import_module(lib)
    x = m.ones(3, requires_grad=True)
    loss = (x * x).sum()
    loss.backward()
    trace = inspect(loss)._trace
    assert {node["name"] for node in trace.nodes} == {"SumBackward0", "MulBackward0", "AccumulateGrad"}
    assert trace.events[-1]["kind"] == "error" and x.grad.tolist() == [2, 2, 2]


@pytest.mark.parametrize("lib", ["torch", "minigrad"])
def test_a_graph_of_the_call_is_freed_and_one_that_was_there_is_kept(inspect, lib):
    m = importlib.import_module(lib)
    x = m.ones(3, requires_grad=True)
    own = inspect(lambda: x.exp().exp().sum())._trace
    assert sum(event["kind"] == "release" for event in own.events) == 2 and own.notes == []
    there = x.exp()
    trace = inspect(lambda: there.exp().sum())._trace
    assert "release" not in {event["kind"] for event in trace.events}
    assert trace.notes[0]["text"].startswith("this pass kept the graph")
    there.sum().backward()
