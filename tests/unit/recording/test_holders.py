"""Who holds what: the storages that a trace names are those that there are, and add up to its bytes."""

from __future__ import annotations

import gc
from typing import Any

import pytest

import minigrad
from minigrad import memory, nn
from minigrad.memory import Account
from minigrad.recorder import Trace, record
from minigrad.utils.checkpoint import checkpoint
from tests.parity.trace.programs_traced import PROGRAMS

KINDS = ("parameters", "activations", "saved", "gradients", "optimizer")


def sums(trace: Trace, step: int) -> list[int]:
    """The bytes of each kind, added up storage by storage."""
    return [sum(each["bytes"] for each in trace.held(step) if each["kind"] == kind) for kind in KINDS]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_storages_add_up_to_the_account(program: Any) -> None:
    minigrad.manual_seed(0)
    with record() as trace:
        program(minigrad)
    account = Account(trace)
    steps = range(0, len(trace), max(1, len(trace) // 40))
    for step in [*steps, *reversed(steps)]:
        held = trace.held(step)
        assert sums(trace, step) == list(account.steps[step]) == [*(trace.frame(step)["bytes"] or [0, 0, 0, 0]), 0][:5]
        assert len({each["storage"] for each in held}) == len(held)
        assert all(each["holders"] for each in held)


@pytest.mark.parametrize("way", [None, True, False])
def test_what_the_trace_holds_is_what_the_process_holds(way: bool | None) -> None:
    gc.collect()
    x = minigrad.ones(40, 30, requires_grad=True)
    already = memory.held().total - x.array.nbytes
    model = nn.Sequential(nn.Linear(30, 30), nn.Tanh(), nn.Linear(30, 30), nn.Tanh())
    found = []
    with record() as trace:
        y = model(x) if way is None else checkpoint(model, x, use_reentrant=way, preserve_rng_state=False)
        loss = y.sum()
        found.append((len(trace.events) - 1, memory.held().total - already))
        loss.backward()
        found.append((len(trace.events) - 1, memory.held().total - already))
    for step, total in found:
        assert sum(each["bytes"] for each in trace.held(step)) == pytest.approx(total, abs=8)


def test_activations_are_named_one_by_one_with_what_made_them() -> None:
    model = nn.Sequential(nn.Linear(3, 4, bias=False), nn.ReLU())
    x = minigrad.ones(2, 3)
    with record() as trace:
        hidden = model[0](x)
        out = model[1](hidden)
        loss = out.sum()
        loss.backward()
    start = trace.steps("backward")[0]
    lines = trace.held_text(start).splitlines()
    assert "    hidden, 32 bytes, made by mm in model.0: hidden" in lines
    assert any(line.startswith("    out, 32 bytes, made by relu in model.1: out, saved by Relu") for line in lines)
    assert any(line.startswith("    x, 24 bytes: x, saved by MmBackward0") for line in lines)
    assert lines[-2:] == ["gradients 4 bytes", f"    a gradient, 4 bytes: waits at SumBackward0 #{lines[-1][-1]}"]
    last = trace.held_text(len(trace) - 1)
    assert "saved" not in last
    assert "model.0.weight.grad" in last
    with pytest.raises(IndexError, match="no step"):
        trace.held(len(trace))


def test_modules_without_a_graph_are_named_too() -> None:
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh())
    with record() as trace, minigrad.no_grad():
        out = model(minigrad.ones(2, 3))
    assert ", made by tanh in model.1: out" in trace.held_text(len(trace) - 1)
    assert out.shape == (2, 4)


def test_a_long_list_is_cut() -> None:
    with record() as trace:
        x = minigrad.ones(8)
        kept = [x + i for i in range(12)]
    assert "    5 more, 160 bytes" in trace.held_text(len(trace) - 1)
    assert len(kept) == 12
