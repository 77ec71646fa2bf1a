"""Lanes of several ranks: what is drawn where, from traces whose times are known."""

from __future__ import annotations

from typing import Any

import pytest

from minigrad.recorder import Trace
from minigrad_widgets.rank_lanes import WAIT, lane_of, rank_lanes


def trace_of(rank: int, began: float | None = 100.0, late: float = 0.0) -> Trace:
    """A pass from 1 to 4 ms; one bucket, called at 2 ms, which runs from 3 ms on and is over at 5 ms."""
    events: list[dict[str, Any]] = [
        {"kind": "backward_start", "roots": [], "needs": [], "create_graph": False, "retain_graph": False,
         "inputs": None, "time": 0.001 + late},
        {"kind": "collective_start", "call": 0, "op": "all_reduce", "label": "bucket 0: w", "size": 8, "bucket": 0,
         "parameters": ["w"], "time": 0.002 + late},
        {"kind": "collective_wait", "call": 0, "time": 0.004 + late},
        {"kind": "collective_end", "call": 0, "time": 0.005 + late,
         "times": [0.002 + late, 0.003 + late, 0.005 + late]},
        {"kind": "backward_end", "time": 0.006 + late}]
    lists: dict[str, Any] = {key: [] for key in ("files", "values", "tensors", "nodes")}
    return Trace.from_dict({"format": "minigrad-trace", "version": 1, "library": "", **lists, "formulas": {},
                            "events": events, "layout": None,
                            "process": {"rank": rank, "ranks": 8, "began": began}})


def test_a_lane_has_passes_waits_and_operations_on_the_common_axis() -> None:
    lane = lane_of(trace_of(3))
    assert lane.rank == 3
    assert lane.passes == [pytest.approx((100.001, 100.006))]
    assert lane.waits == [pytest.approx((100.004, 100.005))]
    (operation,) = lane.operations
    assert (operation.label, operation.bucket) == ("bucket 0: w", 0)
    assert operation[2:] == pytest.approx((100.002, 100.003, 100.005))


@pytest.mark.parametrize("ranks", [2, 8])
def test_a_lane_for_each_rank_in_order(ranks: int) -> None:
    figure = rank_lanes([trace_of(rank, late=0.001 * rank) for rank in reversed(range(ranks))])
    (axes,) = figure.axes
    assert [label.get_text() for label in axes.get_yticklabels()] == [f"rank {rank}" for rank in range(ranks)]
    waits = [each for each in axes.collections if each.get_facecolor()[0].tolist() == pytest.approx(rgba(WAIT))]
    begins = [each.get_paths()[0].vertices[:, 0].min() for each in waits]
    assert begins == pytest.approx([3 + rank for rank in range(ranks)], abs=1e-3)  # 0 is where rank 0's pass begins
    assert [text.get_text() for text in axes.texts] == [" 0"] * ranks


def rgba(color: str) -> list[float]:
    return [int(color[at:at + 2], 16) / 255 for at in (1, 3, 5)] + [1]


def test_what_cannot_be_drawn_is_refused() -> None:
    with pytest.raises(ValueError, match=r"does not say which rank it is of, and when\n\nRecord with record"):
        rank_lanes([trace_of(0, began=None)])
    for traces in ([], [trace_of(0), trace_of(0)]):
        with pytest.raises(ValueError, match="takes one trace of each rank"):
            rank_lanes(traces)
