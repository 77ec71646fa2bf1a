"""Who holds what, versions and nodes that give way to others: the same of PyTorch as of minigrad."""

from __future__ import annotations

import importlib
from typing import Any

import pytest

import minigrad
from minigrad.recorder import Trace, record

pytestmark = pytest.mark.torch
KINDS = ("parameters", "activations", "saved", "gradients")


def views(lib: Any) -> None:
    x = lib.ones(3, 4, requires_grad=True)
    y = x * 2
    row = y[1]
    row.mul_(3)
    column = y[:, 0]
    column.add_(x[0, 0])
    y.exp_()
    y.sum().backward()


def recorded(lib: Any, recorder: Any) -> Trace:
    with recorder() as trace:
        views(lib)
    return trace


def rebased(trace: Trace) -> list[Any]:
    nodes = trace.nodes
    return [[(b is not None and nodes[b]["name"], nodes[a]["name"]) for _, b, a in e["rebased"]]
            for e in trace.events if "rebased" in e]


def test_views_that_are_written_to(torch: Any) -> None:
    reader = importlib.import_module("minigrad_widgets.torch_reader")
    ours, theirs = recorded(minigrad, record), recorded(torch, reader.record)
    assert rebased(ours) == rebased(theirs)
    assert len(rebased(ours)) == 3
    frames = [trace.frame(len(trace) - 1) for trace in (ours, theirs)]
    assert sorted(frames[0]["versions"].values()) == sorted(frames[1]["versions"].values()) == [3, 3, 3]
    assert frames[0]["bytes"] == frames[1]["bytes"]
    assert ours.held_text(len(ours) - 1).splitlines()[1:] == theirs.held_text(len(theirs) - 1).splitlines()[1:]
    for step in range(len(theirs)):
        held = theirs.held(step)
        sums = [sum(each["bytes"] for each in held if each["kind"] == kind) for kind in KINDS]
        assert sums == (theirs.frame(step)["bytes"] or [0, 0, 0, 0])
