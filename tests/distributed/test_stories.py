"""What several ranks do, recorded with minigrad and with PyTorch, is the same story."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from minigrad.recorder import Trace
from tests.distributed.jobs import need_mpi, start_with
from tests.distributed.stories import DDP
from tests.groups import has_torch, require

need_mpi()
require("torch", has_torch(), "PyTorch 2.13 is not installed")

pytestmark = pytest.mark.torch
RANKS, STEPS = (0, 1), (0, 1)
USED = "which parameters were used"
Traces = dict[tuple[str, int, int], Trace]


def job(lib: str, folder: Path) -> Traces:
    """The traces of all stories, by name, step and rank."""
    done = start_with(lib, len(RANKS), "stories.py", folder)
    assert done.returncode == 0, done.stdout + done.stderr
    found: Traces = {}
    for path in folder.glob("*.json"):
        name, step, rank = path.stem.rsplit(".", 2)
        found[name, int(step), int(rank)] = Trace.load(path)
    return found


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Traces:
    return job("minigrad", tmp_path_factory.mktemp("ours"))


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> Traces:
    return job("torch", tmp_path_factory.mktemp("theirs"))


def told(trace: Trace) -> list[tuple[Any, ...]]:
    """What a trace says of gradients that were there, and of operations of several ranks; these count from 0."""
    found: list[tuple[Any, ...]] = []
    for event in trace.events:
        kind = event["kind"]
        if kind in ("backward_start", "backward_end"):
            found.append((kind,))
        elif kind == "accumulate":
            found.append((kind, trace.tensors[event["tensor"]]["name"].partition("module.")[2]))
        elif kind == "collective_start":
            found.append((kind, event["call"], event["op"], event["label"], event["size"], event.get("bucket"),
                          event.get("parameters"), event.get("depth", 0), event["line"]))
        elif kind.startswith("collective"):
            found.append((kind, event["call"], event.get("depth", 0), event["line"]))
    return found


def of_backward(story: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """What is told of the pass, with its calls counted from 0. Before it PyTorch sends the order of its buckets in two
    pieces."""
    first = story.index(("backward_start",))
    before = sum(each[0] == "collective_start" for each in story[:first])
    return [(each[0], each[1] - before, *each[2:]) if each[0].startswith("collective") else each
            for each in story[first:]]


def without_wait_for_used(story: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """PyTorch waits for this where it first has to know, minigrad before it waits for the buckets."""
    calls = [each[1] for each in story if each[0] == "collective_start" and each[3] == USED]
    return [each for each in story if each[0] not in ("collective_wait", "collective_end") or each[1] not in calls]


def starts(trace: Trace) -> list[Any]:
    """The calls of buckets."""
    return [event for event in trace.events if "bucket" in event]


@pytest.mark.parametrize("rank", RANKS)
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("name", DDP)
def test_backward_of_ddp(ours: Traces, theirs: Traces, name: str, step: int, rank: int) -> None:
    a, b = (without_wait_for_used(of_backward(told(each[name, step, rank]))) for each in (ours, theirs))
    assert a == b
    buckets = {"no_sync": [0, 0], "one bucket": [1, 1], "unused parameters": [4, 4]}.get(name, [1, 3])
    assert len(starts(theirs[name, step, rank])) == buckets[step]


@pytest.mark.parametrize("name", [*DDP, "hook"])
def test_a_bucket_starts_behind_its_gradients_and_ends_inside_of_the_pass(theirs: Traces, name: str) -> None:
    for rank in RANKS:
        for step in STEPS:
            story = told(theirs[name, step, rank])
            there = {each[1] for each in story if each[0] == "accumulate"}
            for at, each in enumerate(story):
                if each[0] == "collective_start" and each[5] is not None:
                    before = {e[1] for e in story[:at] if e[0] == "accumulate"}
                    assert before >= there.intersection(each[6])
                    ends = [i for i, e in enumerate(story) if e[:2] == ("collective_end", each[1])]
                    assert len(ends) == 1 and at < ends[0] < story.index(("backward_end",))


def test_calls_of_the_program(ours: Traces, theirs: Traces) -> None:
    for rank in RANKS:
        a, b = (told(each["calls", 0, rank]) for each in (ours, theirs))
        assert a == b
        assert [each[0] for each in a[-1:]] == ["collective_start"]  # the one that nobody waited for


def grads_at_the_end(trace: Trace) -> dict[str, Any]:
    """What the last frame shows as the `.grad` of each leaf, by its name."""
    grads = trace.frame(len(trace.events) - 1)["grads"]
    return {trace.tensors[int(tensor)]["name"]: trace.values[value] for tensor, value in grads.items()}


@pytest.mark.parametrize("lib", ["ours", "theirs"])
@pytest.mark.parametrize("name", DDP)
def test_the_last_frame_has_the_average_of_all_ranks(request: pytest.FixtureRequest, lib: str, name: str) -> None:
    traces = request.getfixturevalue(lib)
    for step in STEPS:
        first, second = (grads_at_the_end(traces[name, step, rank]) for rank in RANKS)
        assert len(first) == len(second) == (4 if (name, step) == ("unused parameters", 0) else 6)
        assert (first == second) is (name != "no_sync")


@pytest.mark.parametrize("lib", ["ours", "theirs"])
def test_what_other_ranks_have_written_is_there(request: pytest.FixtureRequest, lib: str) -> None:
    """A `.grad` that was summed, 1 + 2, and a tensor that had been used before, 1 + 2 as well."""
    for rank in RANKS:
        trace = request.getfixturevalue(lib)["sums", 0, rank]
        ends = [event for event in trace.events if event["kind"] == "collective_end"]
        [(leaf, grad)], [(tensor, value)] = ends[0]["grads"], ends[1]["written"]
        assert trace.tensors[leaf]["name"] == "w" and trace.values[grad]["data"] == [3.0, 3.0]
        assert trace.values[trace.tensors[tensor]["value"]]["data"] == [1.0 + rank] * 2
        assert trace.values[value]["data"] == [3.0, 3.0]
        assert grads_at_the_end(trace)["w"]["data"] == [6.0, 6.0]  # 3 from the sum, and 3 of the second pass


@pytest.mark.parametrize("lib", ["ours", "theirs"])
def test_what_a_part_of_the_ranks_calls_stands_alone(request: pytest.FixtureRequest, lib: str) -> None:
    traces = [request.getfixturevalue(lib)["sums", 0, rank] for rank in RANKS]
    for rank, trace in zip(RANKS, traces, strict=True):
        *before, last = [event for event in trace.events if event["kind"] == "collective_start"]
        assert last["group"] == [rank] and len(before) >= 2 and not any("group" in event for event in before)


def test_no_sync_calls_nothing(theirs: Traces) -> None:
    for rank in RANKS:
        assert not [e for e in theirs["no_sync", 0, rank].events if e["kind"].startswith("collective")]


def test_a_hook_of_the_program(theirs: Traces) -> None:
    """The buckets are those of DDP without it; what it calls is of its own line."""
    for rank in RANKS:
        trace, plain = theirs["hook", 1, rank], theirs["small buckets", 1, rank]
        assert [(e["bucket"], e["parameters"], e["size"]) for e in starts(trace)] == [
            (e["bucket"], e["parameters"], e["size"]) for e in starts(plain)]
        lines = {trace.files[e["file"]]["lines"][e["line"] - 1].strip() for e in starts(trace)}
        assert len(lines) == 1 and "dist.all_reduce(bucket.buffer(), async_op=True)" in lines.pop()


def test_what_is_not_seen_is_said(theirs: Traces) -> None:
    for rank in RANKS:
        sent = [e for e in theirs["backward alone", 1, rank].events if e["kind"] == "collective_start"]
        assert len(sent) == 3 and not any("bucket" in e or "parameters" in e for e in sent)
        assert {e["label"] for e in sent} == {"gradients of DistributedDataParallel: which ones is not known"}


def test_a_static_graph_sends_its_first_buckets_at_the_end_of_the_pass(theirs: Traces) -> None:
    for rank in RANKS:
        for step in STEPS:
            story = of_backward(told(theirs["static graph", step, rank]))
            kinds = [each[0] for each in story]
            assert kinds.count("backward_start") == kinds.count("backward_end") == 1 and kinds[-1] == "backward_end"
            sent = [each[5] for each in story if each[0] == "collective_start" and each[3] != USED]
            assert sent == [0]
            assert kinds.count("collective_end") == kinds.count("collective_wait") == kinds.count("collective_start")


def test_a_pass_that_ends_in_an_error(theirs: Traces) -> None:
    """Its calls have no end; what the program calls behind it is told as ever."""
    for rank in RANKS:
        trace = theirs["broken", 0, rank]
        first = next(i for i, event in enumerate(trace.events) if event["kind"] == "backward_start")
        events = [(e["kind"], e.get("bucket")) for e in trace.events[first:] if e["kind"][:5] in ("colle", "error")]
        assert events == [("collective_start", 0), ("collective_start", 1), ("error", None),
                          ("collective_start", None), ("collective_wait", None), ("collective_end", None)]


def times(trace: Trace) -> Iterable[tuple[float, list[Any]]]:
    return [(event["time"], event["times"]) for event in trace.events if event["kind"] == "collective_end"]


def test_times_and_ranks(theirs: Traces) -> None:
    for rank in RANKS:
        plain, timed = theirs["small buckets", 0, rank], theirs["small buckets", 1, rank]
        assert plain.process == {"rank": rank, "ranks": 2, "began": None}
        assert timed.process is not None and timed.process["began"] > 1e9
        assert not any("time" in event or "times" in event for event in plain.events)
        assert all(0 < called <= ended <= time + 1e-6 and begun is None
                   for time, (called, begun, ended) in times(timed))
        waits = [e["time"] for e in timed.events if e["kind"] in ("collective_wait", "collective_end")]
        assert len(waits) == 10 and waits == sorted(waits)
        assert {"time" in e for e in timed.events if e["kind"] in ("run", "backward_start", "backward_end")} == {True}
        assert len(timed.simulate(64, 1e-3, 1e-9).communications) == 5


def test_lanes_of_pytorch(theirs: Traces) -> None:
    inspect = importlib.import_module("minigrad_widgets").inspect
    lanes = inspect([theirs["small buckets", 1, rank] for rank in RANKS])
    assert lanes.text.splitlines()[0] == "RankLanes, 2 ranks"
    sums = [each for each in lanes.lanes["operations"] if each["bucket"] is not None]
    assert [each["bucket"] for each in sums] == [0, 1, 2]
    for each in sums:
        assert len(each["seen"]) == 2 and all(None not in seen["ready"] for seen in each["seen"])
        assert all(seen["called"] <= seen["begun"] <= seen["ended"] for seen in each["seen"])
