"""The recorder keeps nothing alive and counts bytes honestly; what `traverse` says is what calling by hand does."""

from __future__ import annotations

import gc
import json
import random
import sys
import threading
import time
import weakref

import numpy as np
import pytest

import minigrad as mg
from minigrad import nn
from minigrad.recorder import Trace, record
from tests.unit.recording.observed import leaf, of_kind, program_function, program_products


# ---- nothing is kept alive
@pytest.mark.parametrize("looked", [False, True])
def test_recording_keeps_no_tensor_and_no_node_alive(looked):
    gc.disable()
    try:
        x = leaf([1.0, 2.0])
        with record() as trace:
            y = x * x
            z = y.exp()
            gone = [weakref.ref(y), weakref.ref(y.grad_fn), weakref.ref(z.grad_fn)]
            if looked:
                assert trace.events
            z.sum().backward()
            gradient = weakref.ref(x.grad)
            del y, z
            assert [r() for r in gone] == [None, None, None]
            x.grad = None
            assert gradient() is None
        kept = weakref.ref(x)
        del x
        assert kept() is None
        assert trace.events
    finally:
        gc.enable()


def test_a_dropped_trace_leaves_nothing_to_the_garbage_collector():
    gc.collect()
    gc.disable()
    try:
        with record() as trace:
            program_products()
        alive = weakref.ref(trace)
        del trace
        assert alive() is None
    finally:
        gc.enable()


def test_variables_of_a_function_die_when_they_should():
    def inside():
        x = leaf(1.0)
        with record():
            y = x * 2
        died = weakref.ref(y)
        del y
        return died()

    assert inside() is None


def test_the_callers_own_locals_dict_is_left_alone():
    x = leaf(1.0)
    mine = locals()
    with record():
        _ = x * 2
    assert mine["x"] is x


def test_the_garbage_collectors_threshold_comes_back():
    usual = gc.get_threshold()
    try:
        with record():
            raised = gc.get_threshold()
            done = threading.Thread(target=recorded_elsewhere)
            done.start()
            done.join()
            assert gc.get_threshold() == raised > usual
        assert gc.get_threshold() == usual
        with record():
            gc.set_threshold(123)
        assert gc.get_threshold()[0] == 123
    finally:
        gc.set_threshold(*usual)


def recorded_elsewhere():
    with record() as trace:
        _ = leaf(1.0) * 2
    assert trace.events


def test_a_recorder_hears_its_own_thread_only():
    with record() as trace:
        other = threading.Thread(target=lambda: leaf(1.0) * 2)
        other.start()
        other.join()
    assert trace.events == []


# ---- bytes
def test_bytes_of_a_small_mlp_counted_by_hand():
    batch, wide, hidden = 5, 3, 4
    model = nn.Sequential(nn.Linear(wide, hidden), nn.ReLU(), nn.Linear(hidden, 1))
    x = mg.ones(batch, wide)
    with record() as trace:
        out = model(x)
        loss = out.sum()
        loss.backward()
    parameters = 4 * (wide * hidden + hidden + hidden + 1)
    held = [e["bytes"] for e in trace.events if "bytes" in e]
    assert max(b[0] for b in held) == parameters
    before = trace.frame(trace.steps("backward")[0])["bytes"]
    # x for the first weight; relu's result, which is also what the second weight's gradient needs
    assert before[2] == 4 * (batch * wide + batch * hidden)
    # out and loss are held by variables; the first Linear's result was nobody's any more
    assert before[1] == 4 * (batch + 1)
    assert before[3] == 4  # the root's gradient
    after = trace.frame(len(trace.events) - 1)["bytes"]
    assert after == [parameters, 4 * (batch * wide + batch + 1), 0, parameters]


def test_views_share_their_storage():
    a = mg.ones(6)
    with record() as trace:
        b = a.view(2, 3)
        c = b.t()
    assert {t["storage"] for t in trace.tensors} == {0}
    assert trace.frame(len(trace.events) - 1)["bytes"] == [0, 24, 0, 0]
    assert c.shape == (3, 2)


def test_activations_die_with_their_tensors():
    a = mg.ones(100)
    with record() as trace:
        b = a * 2
        del b
        c = a * 3
    assert [e["bytes"][1] for e in of_kind(trace, "forward") if "bytes" in e] == [800]
    assert trace.frame(1)["bytes"] == [0, 800, 0, 0]
    assert c.shape == (100,)


def test_saved_tensors_of_a_dropped_graph_are_let_go():
    a = leaf([1.0] * 10)
    with record() as trace:
        b = a.exp()
        assert b.requires_grad
        del b
        c = a.detach() * 2
    assert trace.frame(1)["bytes"] == [0, 40, 40, 0]
    assert trace.frame(len(trace.events) - 1)["bytes"] == [0, 80, 0, 0]
    assert c.shape == (10,)


def test_a_scalar_that_becomes_an_array_is_still_one_storage():
    x = leaf(1.0)
    with record() as trace:
        y = x.exp()
        with mg.no_grad():
            z = y.view(1)
    assert trace.frame(1)["bytes"] == [0, 4, 4, 0]
    assert trace.frame(len(trace.events) - 1)["bytes"] == [0, 4, 4, 0]
    assert z.shape == (1,)


def test_a_grad_set_to_none_is_no_longer_counted():
    x = leaf([1.0, 2.0])
    with record() as trace:
        (x * 2).sum().backward()
        held = trace.frame(len(trace.events) - 1)["bytes"][3]
        x.grad = None
        y = x * 2
    assert held == 8 and trace.frame(len(trace.events) - 1)["bytes"][3] == 0
    assert y.shape == (2,)


def test_a_long_trace_stays_small():
    x = mg.ones(64)
    with record() as trace:
        for i in range(5_000):
            x = x + i
    large = sum("stats" in value for value in trace.values)
    assert large > 1_000 and sum(len(v.get("data", ())) for v in trace.values) <= 200_000 + 64
    assert len(trace.to_json()) < 12_000_000


def test_ten_thousand_ops_on_eight_values_stay_under_ten_megabytes():
    with record() as trace:
        chain(10_000)()
    text = trace.to_json()
    assert len(text) < 7_000_000
    assert json.loads(text)["numbers"]
    assert Trace.from_json(text).values == trace.values


def chain(length):
    """Products of 8 values, and a backward pass through them."""
    x, ones = mg.full((8,), 0.5, requires_grad=True), mg.ones(8)

    def run():
        y = x
        for _ in range(length):
            y = y * x
        y.backward(ones)

    return run


def recorded(run):
    def recording():
        with record() as trace:
            run()
        return trace

    return recording


def test_recording_costs_about_ten_times():
    """The least processor time of several turns each, taken in turns: what else runs on the machine adds to both.

    Another program takes caches from one and not from the other, so there are more turns where these say too much.

    The same code took from 8.2 to 11.7 times as long in processes of one machine, where a plain op took 3.5 to 4.8 µs.
    The limit of 10 is that of docs/performance.md, measured without other programs; this one is for mistakes.
    """
    run = chain(300)
    times = {run: [], recorded(run): []}
    for turn in range(1, 101):
        for each, found in times.items():
            start = time.process_time()
            kept = each()
            found.append(time.process_time() - start)
            del kept
        off, on = map(min, times.values())
        if turn >= 25 and on < 15 * off:
            break
    assert on < 15 * off, on / off


# ---- by hand
def tree():
    a, b = leaf(2.0), leaf(3.0)
    return (a * b).exp() + b.exp(), {"a": a, "b": b}


def diamond():
    x = leaf([0.5, 2.0])
    m = x * x
    return (m.exp() * m).sum(), {"x": x}


def engine_order(trace):
    return [e["node"] for e in of_kind(trace, "run")]


@pytest.mark.parametrize("build", [tree, diamond], ids=["tree", "diamond"])
def test_traverse_says_what_calling_by_hand_does(build):
    with record() as trace:
        loss, leaves = build()
        loss.backward(retain_graph=True)
    by_engine = {name: t.grad.tolist() for name, t in leaves.items()}
    for t in leaves.values():
        t.grad = None
    told = trace.traverse(engine_order(trace))
    assert told["early"] == [] and told["pending"] == {}
    assert sorted(np.ravel([trace.values[v]["data"] for v in told["grads"].values()])) == pytest.approx(
        sorted(np.ravel(list(by_engine.values()))))
    names = {"loss": loss}
    exec("\n".join(told["python"]), names)
    for name, t in leaves.items():
        assert t.grad.tolist() == pytest.approx(by_engine[name])


def test_traverse_too_early_adds_up_to_the_same_when_all_is_called_again():
    with record() as trace:
        loss, leaves = diamond()
        loss.backward(retain_graph=True)
    x = leaves["x"]
    whole, x.grad = x.grad.tolist(), None
    sum_, product, exp, square, end = engine_order(trace)
    order = [sum_, product, square, end, exp, square, end]
    told = trace.traverse(order)
    assert told["calls"] == order and told["early"] == []
    (grad,) = told["grads"].values()
    assert trace.values[grad]["data"] == pytest.approx(np.ravel(whole))
    exec("\n".join(told["python"]), {"loss": loss})
    assert x.grad.tolist() == pytest.approx(whole)
    early = trace.traverse(order[:3])
    assert early["early"] == [square]
    assert early["pending"][end]["gradient"] is None
    exec("\n".join(trace.traverse(order[:4])["python"]), {"loss": loss})
    assert x.grad.tolist() != pytest.approx(whole)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("build", [tree, diamond], ids=["tree", "diamond"])
def test_traverse_knows_a_gradient_exactly_when_the_numbers_are_whole(build, seed):
    """Random calls, many of them too early: `.grad` is known when the same calls in Python give the engine's."""
    with record() as trace:
        loss, leaves = build()
        loss.backward(retain_graph=True)
    whole = {name: t.grad.tolist() for name, t in leaves.items()}
    draw, calls = random.Random(seed), []
    while pending := list(trace.traverse(calls)["pending"]):
        calls.append(draw.choice(pending))
        told = trace.traverse(calls)
        for t in leaves.values():
            t.grad = None
        exec("\n".join(told["python"]), {"loss": loss})
        for tensor, value in told["grads"].items():
            data = trace.values[trace.tensors[tensor]["value"]]["data"]
            name = next(name for name, t in leaves.items() if np.ravel(t.tolist()).tolist() == data)
            same = leaves[name].grad.tolist() == pytest.approx(whole[name])
            assert same == (value is not None)
    assert told["early"] == [] and None not in told["grads"].values()


def test_formulas_of_custom_functions_are_the_users():
    with record() as trace:
        program_function()
    assert "return g * 2" in trace.formulas["TwiceBackward"]


def calls_of_recording(layers):
    """How many functions run while parameters, each with a version counter of its own, are seen first."""
    model, calls = nn.Sequential(*[nn.Linear(2, 2) for _ in range(layers)]), 0

    def count(frame, event, argument):
        nonlocal calls
        calls += event == "call"

    with record():
        sys.setprofile(count)
        try:
            model(mg.ones(1, 2))
        finally:
            sys.setprofile(None)
    return calls


def test_a_parameter_costs_as_much_in_a_large_model_as_in_a_small_one():
    small, large = calls_of_recording(40), calls_of_recording(160)
    assert large < 4.4 * small


def test_tensors_that_share_a_version_counter_are_found():
    x = leaf([1.0, 2.0])
    with record() as trace:
        y = x * 2
        parts = [x.detach(), y.detach(), y.detach()]
    sources = [each.get("counter") for each in trace.tensors]
    assert len(parts) == 3 and sorted(each for each in sources if each is not None) == [0, 1, 1]
