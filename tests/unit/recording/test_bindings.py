"""Which tensors names hold on which lines, while a program is recorded."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import minigrad as torch
from minigrad.recorder import Trace, record
from minigrad.recording.bindings import MOST


def held(trace: Trace, name: str) -> list[int | None]:
    """The tensors that a name has held, one after the other."""
    return [tensor for row in trace.bindings for each, tensor in row["names"] if each == name]


def results(trace: Trace) -> list[int]:
    """What the ops made."""
    return [event["outputs"][0] for event in trace.events if event["kind"] == "forward"]


def test_a_name_that_is_assigned_again_holds_one_tensor_after_the_other():
    x = torch.ones(2, requires_grad=True)
    with record() as trace:
        h = x * 2
        h = h.exp()
        h = h.sum()
        h.backward()
    assert held(trace, "h") == results(trace)
    lines = [row["line"] - trace.bindings[0]["line"] for row in trace.bindings]
    assert lines == [0, 1, 2, 3]
    starts = [row["step"] for row in trace.bindings]
    assert [trace.events[step]["kind"] for step in starts] == ["forward"] * 3 + ["backward_start"]


def test_a_loop_of_one_line_is_followed_turn_by_turn():
    h = torch.ones(2, requires_grad=True)
    with record() as trace:
        for _ in range(3):
            h = h * h
    assert held(trace, "h") == [0, *results(trace)]


def test_each_call_of_a_function_has_its_own_names():
    def twice(x: torch.Tensor) -> torch.Tensor:
        y = x * 2
        return y + x

    x = torch.ones(2, requires_grad=True)
    with record() as trace:
        y = twice(x)
        y = twice(y)
    assert held(trace, "y") == [1, 2, 3, 4]
    assert [row["call"] for row in trace.bindings] == [0, 1, 1, 0, 2, 2, 0]


def test_a_name_that_holds_no_tensor_any_more_says_so():
    x = torch.ones(2, requires_grad=True)
    with record() as trace:
        y = x * 2
        z = y * 3
        y = None
        z.sum().backward()
    assert held(trace, "y") == [1, None] and y is None


def test_nothing_is_kept_alive():
    def run() -> bool:
        x = torch.ones(2, requires_grad=True)
        y = x * 2
        gone = weakref.ref(y)
        z = y + 1
        del y
        z = z + 1
        gc.collect()
        return gone() is None

    with record():
        assert run()


def test_a_long_program_is_followed_up_to_a_bound():
    h: Any = torch.ones(1)
    with record() as trace:
        for _ in range(MOST + 10):
            h = h * 1
    assert len(trace.bindings) == MOST


def test_bindings_are_kept_in_files(tmp_path: Any):
    x = torch.ones(2, requires_grad=True)
    with record() as trace:
        y = x * 2
        y.sum().backward()
    trace.save(tmp_path / "trace.json")
    assert Trace.load(tmp_path / "trace.json").bindings == trace.bindings != []
