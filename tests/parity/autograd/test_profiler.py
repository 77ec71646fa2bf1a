"""The profiler: the events, their sums and the table are PyTorch's, but for the times and for what has no node."""

from __future__ import annotations

import importlib
import json
import re
import threading
import warnings

import pytest

import minigrad
from tests.parity.outcome import Programs, outcome

pytestmark = pytest.mark.torch


def profiler(m):
    return importlib.import_module(f"{m.__name__}.profiler")


def step(m):
    """A step through a small network."""
    x, w = m.ones(4, 3, requires_grad=True), m.ones(3, 2, requires_grad=True)
    y = (x @ w).relu().exp().sum()
    y.backward()


OPS = {"aten::mm", "aten::relu", "aten::exp", "aten::sum"}


@pytest.mark.parametrize("how", ["autograd.profiler", "profiler"])
def test_ops_and_nodes_are_counted_as_in_pytorch(torch, how):
    found = []
    for m in (minigrad, torch):
        step(m)
        with importlib.import_module(f"{m.__name__}.{how}").profile() as p:
            step(m)
        nodes = {e.key: e.count for e in p.key_averages() if "evaluate_function" in e.key}
        ops = {e.key for e in p.key_averages()} & OPS
        events = p.events() if how == "profiler" else p.function_events
        forward = [e.name for e in events if e.name in OPS and e.cpu_parent is None or e.name == "aten::mm"]
        found.append((nodes, ops, sorted(set(forward))))
    assert found[0] == found[1]
    assert len(found[0][0]) == 5 and found[0][1] == OPS


def test_times_add_up():
    with minigrad.autograd.profiler.profile(record_shapes=True) as p, minigrad.profiler.record_function("outer"):
        x = minigrad.ones(200, 200, requires_grad=True)
        with minigrad.profiler.record_function("inner"):
            y = x @ x
        y.sum().backward()
    events = {e.name: e for e in p.function_events}
    outer, inner, product = events["outer"], events["inner"], events["aten::mm"]
    assert inner.cpu_parent is outer and product.cpu_parent is inner and inner in outer.cpu_children
    assert product.input_shapes == [[200, 200], [200, 200]]
    assert outer.cpu_time_total > inner.cpu_time_total > product.cpu_time_total > 0
    assert inner.self_cpu_time_total == pytest.approx(inner.cpu_time_total - product.cpu_time_total)
    assert p.self_cpu_time_total == pytest.approx(outer.cpu_time_total)
    assert outer.time_range.start <= product.time_range.start <= product.time_range.end <= outer.time_range.end
    total = p.total_average()
    assert total.count == len(p.function_events) and total.self_cpu_time_total == pytest.approx(outer.cpu_time_total)


def test_the_table_is_laid_out_as_in_pytorch(torch):
    tables = []
    for m in (minigrad, torch):
        x = m.ones(3, requires_grad=True)
        x.sin()
        with m.autograd.profiler.profile() as p:
            x.sin()
        table = p.key_averages().table(sort_by="self_cpu_time_total")
        rows = re.sub(r" *[\d.]+(us|ms|s) *$", "", table.strip().replace(" 100.00%", "   1.00%"))
        tables.append([re.sub(r"\S", "x", row) if "aten" not in row else "aten::sin" in row and len(row)
                       for row in rows.split("\n")])
        assert "Self CPU time total" in table and "# of Calls" in table
    assert tables[0] == tables[1]


@pytest.mark.parametrize(("microseconds", "text"), [(0.5, "0.500us"), (999.9, "999.900us"), (1000, "1.000ms"),
                                                    (2.5e6, "2.500s")])
def test_times_in_words(torch, microseconds, text):
    util = importlib.import_module("torch.autograd.profiler_util")
    assert minigrad.autograd.profiler_util.in_words(microseconds) == util._format_time(microseconds) == text


PROGRAMS = Programs()


@PROGRAMS
def steps_of_a_schedule(m):
    p = profiler(m)
    plan = p.schedule(wait=1, warmup=1, active=2, repeat=2, skip_first=1)
    ready = []

    def handed_on(prof):
        ready.append((prof.step_num, sorted(e.key for e in prof.key_averages() if "Step" in e.key)))

    x = m.ones(2)
    with p.profile(activities=[p.ProfilerActivity.CPU], schedule=plan, on_trace_ready=handed_on) as prof:
        for _ in range(12):
            x.sin()
            prof.step()
    return ready, [plan(i).name for i in range(12)]


@PROGRAMS
def a_decorated_function(m):
    @profiler(m).record_function("named")
    def function(x):
        return x.exp()

    outside = function(m.zeros(1))
    with m.autograd.profiler.profile() as p:
        inside = function(m.zeros(1))
    return outside, inside, [e.count for e in p.key_averages() if e.key == "named"]


@PROGRAMS
def before_the_end(m):
    p = m.autograd.profiler.profile()
    return repr(p), p.table()


@PROGRAMS
def entered_twice(m):
    p = m.autograd.profiler.profile()
    with p:
        p.__enter__()


@PROGRAMS
def cycles_are_kept(m):
    p = profiler(m)
    with p.profile(schedule=p.schedule(wait=0, warmup=1, active=1), acc_events=True) as prof:
        for _ in range(4):
            m.ones(2).sin()
            prof.step()
    return sum(e.count for e in prof.key_averages() if e.key == "aten::sin")


@PROGRAMS
def not_enabled(m):
    with m.autograd.profiler.profile(enabled=False) as p:
        m.ones(2).sin()
    return p.function_events


@PROGRAMS
def on_a_gpu_that_is_not_there(m):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for options in ({"use_cuda": True}, {"use_cuda": False}, {"use_device": "cuda"}):
            with m.autograd.profiler.profile(**options) as p:
                m.ones(2).sin()
    return [(each.category, str(each.message)) for each in caught], "aten::sin" in [e.key for e in p.key_averages()]


@PROGRAMS
def of_the_gpu_alone(m):
    m.autograd.profiler.profile(use_cpu=False)


@PROGRAMS
def a_schedule_that_is_none(m):
    profiler(m).schedule(wait=1, warmup=1, active=0)


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(torch, name):
    mine, theirs = (outcome(PROGRAMS[name], lib) for lib in (minigrad, torch))
    assert mine == theirs


def test_a_file_for_a_viewer(tmp_path):
    handler = minigrad.profiler.tensorboard_trace_handler(str(tmp_path), "me")
    with minigrad.profiler.profile(on_trace_ready=handler) as p:
        step(minigrad)
    (path,) = tmp_path.iterdir()
    events = json.loads(path.read_text())["traceEvents"]
    assert path.name.startswith("me.") and path.name.endswith(".pt.trace.json")
    assert [e["name"] for e in events] == [e.name for e in p.events()]
    assert all(e["ph"] == "X" and e["dur"] >= 0 for e in events)


def test_ops_in_another_thread_are_seen():
    with minigrad.autograd.profiler.profile() as p:
        thread = threading.Thread(target=lambda: minigrad.ones(2).exp())
        thread.start()
        thread.join()
    (event,) = p.function_events
    assert event.name == "aten::exp" and event.thread != threading.get_native_id()


def test_what_is_not_measured_is_said():
    with pytest.warns(UserWarning, match="measures time alone: profile_memory changes nothing"):
        minigrad.autograd.profiler.profile(profile_memory=True)


def test_an_error_leaves_no_wrapper():
    before = minigrad.Tensor.__add__
    with pytest.raises(ZeroDivisionError), minigrad.autograd.profiler.profile() as p:
        assert minigrad.Tensor.__add__ is not before
        (minigrad.ones(2) + 1).sum()
        raise ZeroDivisionError
    assert minigrad.Tensor.__add__ is before
    assert [e.name for e in p.function_events] == ["aten::add", "aten::sum"]
    with warnings.catch_warnings(), minigrad.autograd.profiler.profile():
        pass
