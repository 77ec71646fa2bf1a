"""Lanes of several ranks: what is drawn where, from traces whose times are known."""

from __future__ import annotations

from typing import Any

import pytest

from minigrad.recorder import Trace
from minigrad_widgets import RankLanes, inspect
from minigrad_widgets.lenses.rank_lanes import MOST_ROWS, in_rows, lane_of
from minigrad_widgets.pictures.rank_lanes import WAIT
from tests.widgets.rank_traces import rank_of


def test_a_lane_has_passes_and_operations_on_the_common_axis() -> None:
    lane = lane_of(rank_of(3))
    assert lane.rank == 3
    assert lane.passes == [pytest.approx((100.001, 100.006))]
    (operation,) = lane.operations
    assert (operation.label, operation.bucket, operation.size) == ("bucket 0: w", 0, 8)
    assert operation[-3:] == pytest.approx((100.002, 100.003, 100.005))
    assert operation.wait == pytest.approx((100.004, 100.005))


def test_a_gradient_is_ready_when_its_node_runs() -> None:
    (operation,) = lane_of(rank_of(0)).operations
    assert operation.parameters == ["w", "b"]
    assert operation.ready == [pytest.approx(100.0015), None]  # nothing was added to the gradient of b


def test_the_same_operation_of_all_ranks_is_one() -> None:
    lanes = inspect([rank_of(rank, late=0.001 * rank) for rank in (1, 0)])
    assert isinstance(lanes, RankLanes)
    (operation,) = lanes.lanes["operations"]
    assert [seen["called"] for seen in operation["seen"]] == pytest.approx([1.0, 2.0])  # since rank 0's pass began
    assert [seen["ready"] for seen in operation["seen"]] == [[0.5, None], [1.5, None]]
    assert lanes.lanes["span"] == pytest.approx(6.0)
    assert lanes.text == "RankLanes, 2 ranks\nrank 0: bucket 0: w\nrank 1: bucket 0: w"


def test_what_two_parts_of_the_ranks_call_is_two_operations() -> None:
    traces = [rank_of(rank) for rank in range(4)]
    for rank, trace in enumerate(traces):
        start = next(event for event in trace.events if event["kind"] == "collective_start")
        start["group"] = [0, 2] if rank % 2 == 0 else [1, 3]
    found = RankLanes(traces).lanes["operations"]
    assert [each["label"] for each in found] == ["bucket 0: w of ranks 0, 2", "bucket 0: w of ranks 1, 3"]
    assert [[seen["lane"] for seen in each["seen"]] for each in found] == [[0, 2], [1, 3]]


def test_a_step_is_one_of_the_operations() -> None:
    lanes = RankLanes([rank_of(0)], step=7)
    assert lanes.step == 0


def test_operations_that_are_under_way_together_have_rows_of_their_own() -> None:
    def operation(called: float, ended: float) -> dict[str, Any]:
        return {"seen": [{"called": called, "ended": ended}]}

    apart = [operation(0, 3), operation(1, 4), operation(3, 5)]
    assert (in_rows(apart), [each["row"] for each in apart]) == (2, [0, 1, 0])
    many = [operation(0, 9 - at) for at in range(MOST_ROWS + 1)]
    assert (in_rows(many), many[-1]["row"]) == (MOST_ROWS, MOST_ROWS - 1)  # over the one that is over first


@pytest.mark.parametrize("ranks", [2, 8])
def test_the_still_picture_has_a_lane_for_each_rank_in_order(ranks: int) -> None:
    figure = RankLanes([rank_of(rank, late=0.001 * rank) for rank in reversed(range(ranks))]).picture().figure
    (axes,) = figure.axes
    assert [label.get_text() for label in axes.get_yticklabels()] == [f"rank {rank}" for rank in range(ranks)]
    waits = [each for each in axes.collections if each.get_facecolor()[0].tolist() == pytest.approx(rgba(WAIT))]
    begins = [each.get_paths()[0].vertices[:, 0].min() for each in waits]
    assert begins == pytest.approx([3 + rank for rank in range(ranks)], abs=1e-3)
    assert [text.get_text() for text in axes.texts] == [" 0"] * ranks


def rgba(color: str) -> list[float]:
    return [int(color[at:at + 2], 16) / 255 for at in (1, 3, 5)] + [1]


def test_what_cannot_be_drawn_is_refused() -> None:
    with pytest.raises(ValueError, match=r"does not say which rank it is of, and when\n\nRecord with record"):
        inspect([rank_of(0, began=None)])
    for traces in ([], [rank_of(0), rank_of(0)]):
        with pytest.raises(ValueError, match="take one trace of each rank"):
            RankLanes(traces)
    idle: Any = Trace.from_dict({**rank_of(0).to_dict(), "events": []})
    with pytest.raises(ValueError, match="the trace of rank 0 has no backward pass, and no operation of several ranks"):
        RankLanes([idle])
