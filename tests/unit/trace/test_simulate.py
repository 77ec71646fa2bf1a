"""The alpha-beta model: what a recorded step would take on other ranks, worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest

import minigrad as torch
from minigrad.recorder import Trace, record
from minigrad.trace.simulation import all_reduce_seconds, simulate


def start(call: int, time: float, size: int) -> dict[str, Any]:
    return {"kind": "collective_start", "call": call, "time": time, "size": size, "label": f"bucket {call}", "op": ""}


# Two buckets; the rank waits 1 s for the first one and 2 s for the second: 10 s of computing are 7.
STEP = [
    {"kind": "backward_start", "time": 1.0}, start(0, 2.0, 1000), start(1, 4.0, 3000),
    {"kind": "collective_wait", "call": 0, "time": 5.0}, {"kind": "collective_end", "call": 0, "time": 6.0},
    {"kind": "collective_wait", "call": 1, "time": 6.0}, {"kind": "collective_end", "call": 1, "time": 8.0},
    {"kind": "backward_end", "time": 10.0}, {"kind": "forward"},
]


def test_a_ring_sends_each_part_twice() -> None:
    assert all_reduce_seconds(1000, 1, 5.0, 5.0) == 0
    assert all_reduce_seconds(1000, 2, 0.25, 0.001) == pytest.approx(2 * 0.25 + 1.0)
    assert all_reduce_seconds(1000, 4, 0.25, 0.001) == pytest.approx(6 * 0.25 + 1.5)


def test_one_rank_computes_alone() -> None:
    found = simulate(STEP, 1, 1.0, 1.0)
    assert (found.seconds, found.computing, found.exposed) == (7.0, 7.0, 0.0)


def test_what_backward_hides_costs_nothing() -> None:
    found = simulate(STEP, 2, 0.0, 0.0003)  # 0.3 s and 0.9 s; the second is over when backward waits for it
    assert found.exposed == 0 and found.seconds == 7.0
    assert [(each.label, each.called, each.begun) for each in found.communications] == [
        ("bucket 0", 2.0, 2.0), ("bucket 1", 4.0, 4.0)]


def test_operations_go_one_after_the_other_and_the_rest_is_waited_for() -> None:
    found = simulate(STEP, 2, 0.0, 0.004)  # 4 s and 12 s: until 6 s and 18 s; computing alone would wait at 5 s
    assert [(each.begun, each.ended) for each in found.communications] == [(2.0, 6.0), (6.0, 18.0)]
    assert found.exposed == pytest.approx(13.0)
    assert found.seconds == pytest.approx(20.0)


@pytest.mark.parametrize("arguments", [(0, 1.0, 1.0), (2, -1.0, 1.0), (2, 1.0, -1.0)])
def test_numbers_without_sense_are_refused(arguments: tuple[int, float, float]) -> None:
    with pytest.raises(ValueError, match="ranks is 1 or more, alpha and beta are seconds"):
        simulate(STEP, *arguments)


def test_a_recording_of_one_process_is_refused() -> None:
    with record(times=True) as trace:
        torch.ones(2, requires_grad=True).sum().backward()
    assert isinstance(trace, Trace) and trace.process is None
    with pytest.raises(ValueError, match=r"says nothing of several ranks and of time\n\nRecord a step"):
        trace.simulate(2, 1e-5, 1e-9)
