"""What an optimizer remembers is counted as its state, not as activations: in both recorders and in the doctor."""

from __future__ import annotations

import gc
import importlib
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

import minigrad
from minigrad import memory
from minigrad.recorder import Trace, record
from minigrad_widgets import Inspector, checkup

pytestmark = pytest.mark.torch
KINDS = ("parameters", "activations", "saved", "gradients", "optimizer")
SIZE = 4 * 50 * 50  # the bytes of the parameter

MAKERS: dict[str, tuple[int, Callable[[Any, Any], Any]]] = {  # how often the parameter's size, and what
    "sgd": (0, lambda lib, p: lib.optim.SGD(p, lr=0.1)),
    "momentum": (1, lambda lib, p: lib.optim.SGD(p, lr=0.1, momentum=0.9)),
    "momentum, foreach": (1, lambda lib, p: lib.optim.SGD(p, lr=0.1, momentum=0.9, foreach=True)),
    "momentum, fused": (1, lambda lib, p: lib.optim.SGD(p, lr=0.1, momentum=0.9, fused=True)),
    "adam": (2, lambda lib, p: lib.optim.Adam(p, foreach=False)),
    "adam, foreach": (2, lambda lib, p: lib.optim.Adam(p, foreach=True)),
    "adam, fused": (2, lambda lib, p: lib.optim.Adam(p, fused=True)),
    "amsgrad": (3, lambda lib, p: lib.optim.AdamW(p, amsgrad=True)),
    "rmsprop": (1, lambda lib, p: lib.optim.RMSprop(p)),
    "adagrad": (1, lambda lib, p: lib.optim.Adagrad(p)),
}


@pytest.fixture(params=["minigrad", "torch"])
def lib(request: pytest.FixtureRequest, torch: ModuleType) -> Any:
    return torch if request.param == "torch" else minigrad


def recorder(lib: Any) -> Any:
    return record() if lib is minigrad else importlib.import_module("minigrad_widgets.torch_reader").record()


def step(lib: Any, model: Any, optimizer: Any) -> None:
    optimizer.zero_grad()
    model(lib.ones(1, 50)).square().mean().backward()
    optimizer.step()


def held_at_the_end(trace: Trace) -> dict[str, int]:
    return dict(zip(KINDS, [e["bytes"] for e in trace.events if "bytes" in e][-1]))


@pytest.mark.parametrize("name", MAKERS)
def test_state_is_an_account_of_its_own(lib, name) -> None:
    times, make = MAKERS[name]
    model = lib.nn.Linear(50, 50, bias=False)
    optimizer = make(lib, model.parameters())
    with recorder(lib) as trace:
        for _ in range(2):
            step(lib, model, optimizer)
        lib.ones(1) * 2  # what the last step has computed is gone by now
    held = held_at_the_end(trace)
    assert times * SIZE <= held.get("optimizer", 0) <= times * SIZE + 8  # besides, a count of steps
    assert (held["parameters"], held["gradients"]) == (SIZE, SIZE)
    assert held["activations"] < SIZE / 10
    for at in range(len(trace)):  # who holds what says the same
        sums = [sum(each["bytes"] for each in trace.held(at) if each["kind"] == kind) for kind in KINDS]
        assert sums == [*(trace.frame(at)["bytes"] or [0, 0, 0, 0]), 0][:5]
    assert type(trace).from_json(trace.to_json()) == trace
    if times:
        inspector = Inspector(trace, lens="checkpoint", step=len(trace) - 1)
        assert "optimizer " in inspector.text
        assert inspector.to_svg()
        assert "optimizer state of model.weight" in trace.held_text(len(trace) - 1)


@pytest.mark.parametrize("steps", [0, 1])
def test_state_that_was_loaded(lib, steps) -> None:
    model = lib.nn.Linear(50, 50, bias=False)
    before, optimizer = (lib.optim.Adam(model.parameters()) for _ in range(2))
    step(lib, model, before)
    with recorder(lib) as trace:
        optimizer.load_state_dict(before.state_dict())
        for _ in range(steps):
            step(lib, model, optimizer)
        model(lib.ones(1, 50))
    held = held_at_the_end(trace)
    assert 2 * SIZE <= held["optimizer"] <= 2 * SIZE + 8
    assert held["activations"] < SIZE


def test_state_that_is_dropped_is_no_longer_held(lib) -> None:
    model = lib.nn.Linear(50, 50, bias=False)
    optimizer = lib.optim.Adam(model.parameters())
    with recorder(lib) as trace:
        step(lib, model, optimizer)
        optimizer.state.clear()
        model(lib.ones(1, 50))
    assert held_at_the_end(trace).get("optimizer", 0) == 0


@pytest.mark.parametrize("name", ["momentum", "adam"])
def test_a_checkup_counts_it(lib, name) -> None:
    times, make = MAKERS[name]
    model = lib.nn.Linear(50, 50, bias=False)
    optimizer = make(lib, model.parameters())
    report = checkup(lambda: step(lib, model, optimizer), model=model, optimizer=optimizer)
    assert times * SIZE <= report.held["optimizer"] <= times * SIZE + 8
    assert report.held["activations"] < 4 * SIZE  # what the rule computes: in minigrad three times the parameter's size
    assert "optimizer " in str(report) and "optimizer" in report.to_html()


def test_memory_counts_it_without_a_recorder() -> None:
    gc.collect()  # what earlier tests left in cycles would be freed between the two counts
    before = memory.held()
    model = minigrad.nn.Linear(50, 50, bias=False)
    optimizer = minigrad.optim.Adam(model.parameters())
    step(minigrad, model, optimizer)
    now = memory.held()
    assert now.optimizer - before.optimizer == 2 * SIZE + 4
    assert now.activations - before.activations < SIZE
    kinds = [each.kind for each in memory.snapshot() if each.shapes == ((50, 50),)]
    assert {"parameter", "gradient", "optimizer"} <= set(kinds)
