"""What the recorder tells of real programs: every event of the right form, in the right order, errors too."""

from __future__ import annotations

import sys
import warnings

import pytest

import minigrad as mg
from minigrad import nn
from minigrad.core.grad_mode import LOCAL, UNUSUAL
from minigrad.recorder import record
from tests.unit.recording.observed import (
    PROGRAMS,
    check,
    kinds,
    leaf,
    of_kind,
    program_before_the_recording,
    program_calls,
    program_edges,
    program_hooks,
    program_nested_pass,
    program_saved_hooks,
    program_second_order,
)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_the_schema_holds_for_every_event(program):
    with warnings.catch_warnings(), record() as trace:
        warnings.simplefilter("ignore")
        program()
    check(trace)
    assert len(trace.events) > 3
    assert not UNUSUAL.modes and LOCAL.observer is None


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_text_is_the_same_for_every_run(program):
    texts = []
    for _ in range(2):
        with warnings.catch_warnings(), record() as trace:
            warnings.simplefilter("ignore")
            program()
        texts.append(trace.text())
    assert texts[0] == texts[1]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_every_pass_ends_with_nothing_pending(program):
    with warnings.catch_warnings(), record() as trace:
        warnings.simplefilter("ignore")
        program()
    for step, event in enumerate(trace.events):
        if event["kind"] == "backward_end" and not event.get("depth"):
            frame = trace.frame(step)
            assert frame["needs"] == {} and frame["ready"] == [] and frame["pending"] == {}
            assert "running" not in frame["status"].values() and "waiting" not in frame["status"].values()


# ---- what the events say
def test_the_story_of_one_product():
    a, b = leaf(2.0), leaf(3.0)
    with record() as trace:
        c = a * b
        c.backward()
    assert kinds(trace) == ["forward", "save", "backward_start", "ready", "run", "release", "flow", "ready", "flow",
                            "ready", "run", "accumulate", "run", "accumulate", "backward_end"]
    assert [t["name"] for t in trace.tensors] == ["a", "b", "c"]
    mul = trace.tensors[2]["node"]
    assert trace.nodes[mul]["name"] == "MulBackward0"
    assert [trace.nodes[n]["variable"] for n, _ in trace.nodes[mul]["next"]] == [0, 1]
    assert trace.nodes[mul]["saved"] == [["self", 0, 0], ["other", 1, 1]]
    assert trace.events[0]["op"] == "mul"
    assert [trace.values[e["grad"]]["data"] for e in of_kind(trace, "accumulate")] == [[3.0], [2.0]]
    assert "def backward" in trace.formulas["MulBackward0"]
    assert trace.library == f"minigrad {mg.__version__}"
    line = sys._getframe().f_lineno
    assert trace.files[0]["name"] == "test_observer.py"
    assert "c = a * b" in trace.files[0]["lines"][trace.events[0]["line"] - 1] and trace.events[0]["line"] < line
    assert all("c.backward()" in trace.files[0]["lines"][e["line"] - 1] for e in trace.events[2:])


def test_a_node_is_told_once_although_a_pack_hook_looked_at_its_result():
    with record() as trace:
        program_saved_hooks()
    assert [n["name"] for n in trace.nodes].count("ExpBackward0") == 1
    assert trace.events[-1]["kind"] == "backward_end"
    assert trace.frame(len(trace.events) - 1)["bytes"][2] == 0  # nothing is saved any more


def test_a_tensor_of_inference_mode_has_no_version_to_tell():
    class Write(mg.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x.add_(1)

    with record() as trace, mg.inference_mode():
        Write.apply(mg.ones(2)).mul_(2)
    check(trace)
    assert "version" not in kinds(trace)


def test_inputs_of_a_pass_are_those_that_are_tensors():
    with record() as trace:
        program_edges()
    (start,) = of_kind(trace, "backward_start")
    assert [trace.tensors[t]["name"] for t in start["inputs"]] == ["x"] and len(of_kind(trace, "capture")) == 1


def test_a_formula_that_is_a_lambda_is_shown_as_it_stands(monkeypatch):
    x = leaf(2.0)
    y = x.sin()
    monkeypatch.setattr(type(y.grad_fn), "backward", lambda self, xp, g, a: g * xp.cos(a))
    with record() as trace:
        y.sin()
    assert "lambda self" in trace.formulas["SinBackward0"]


def test_a_number_is_an_input_without_a_tensor():
    x = leaf(2.0)
    with record() as trace:
        _ = x * 3 + 1
    assert trace.events[0]["inputs"] == [0, None]
    assert len(trace.tensors) == 3


def test_edges_name_the_output_that_they_go_to():
    a = leaf([[1.0, 2.0], [3.0, 4.0]])
    with record() as trace:
        second = a.unbind(0)[1]
        (second * 2).sum().backward()
    flow = next(e for e in of_kind(trace, "flow") if trace.nodes[e["to"]]["name"] == "UnbindBackward0")
    assert flow["output_nr"] == 1
    run = next(e for e in of_kind(trace, "run") if trace.nodes[e["node"]]["name"] == "UnbindBackward0")
    assert run["gradient"][0] is None and trace.values[run["gradient"][1]]["data"] == [2.0, 2.0]
    assert [t["output_nr"] for t in trace.tensors[1:3]] == [0, 1]


def test_a_graph_from_before_the_recording_is_known_at_the_start_of_the_pass():
    y = program_before_the_recording()
    with record() as trace:
        y.backward()
    check(trace)
    assert [n["name"] for n in trace.nodes if "variable" not in n] == ["ExpBackward0", "MulBackward0"]
    assert kinds(trace)[0] == "backward_start"
    assert len(trace.frame(0)["status"]) == 3


def test_a_deep_graph_from_before_the_recording():
    x = y = leaf(1.0)
    for _ in range(20_000):
        y = y * 1.0
    with record() as trace:
        y.backward()
    assert len(trace.nodes) == 20_001
    assert trace.values[of_kind(trace, "accumulate")[0]["grad"]]["data"] == [1.0]
    assert x.grad.item() == 1.0


def test_modes_that_the_user_switched_and_no_others():
    x = leaf(2.0)
    with record() as trace:
        with mg.no_grad():
            _ = x * 2
        (x * 2).backward()
    assert [(e["mode"], e["on"]) for e in of_kind(trace, "mode")] == [("grad", False), ("grad", True)]
    assert of_kind(trace, "forward")[0]["node"] is None


def test_versions():
    y = mg.zeros(2)
    with record() as trace:
        y.add_(1)
        y.mul_(2)
    assert [e["version"] for e in of_kind(trace, "version")] == [1, 2]
    assert trace.frame(len(trace.events) - 1)["versions"] == {0: 2}
    assert all(e["outputs"] == [0] for e in of_kind(trace, "forward"))


def test_parameters_are_named_by_their_module():
    model = nn.Linear(2, 1)
    with record() as trace:
        model(mg.ones(1, 2))
    names = {t["name"]: t["parameter"] for t in trace.tensors if t["parameter"]}
    assert names == {"model.weight": True, "model.bias": True}


def test_retain_grad_and_hooks_are_told_in_the_engines_order():
    with record() as trace:
        program_hooks()
    hooks = [e["hook"] for e in of_kind(trace, "hook")][:6]
    assert hooks == ["tensor", "retain_grad", "pre", "post", "tensor", "post_accumulate"]
    kept = [e for e in of_kind(trace, "hook") if e["hook"] == "retain_grad"]
    assert [trace.values[e["gradient"][0]]["data"] for e in kept] == [[3.0, 3.0], [3.0, 3.0]]
    assert [trace.values[e["grad"]]["data"] for e in kept] == [[3.0, 3.0], [6.0, 6.0]]
    assert trace.frame(len(trace.events) - 1)["grads"][kept[1]["tensor"]] == kept[1]["grad"]


def test_an_op_inside_a_pass_is_deeper():
    with record() as trace:
        program_second_order()
    inside = [e for e in of_kind(trace, "forward") if e.get("depth") == 1]
    assert inside and all(e.get("depth") is None for e in of_kind(trace, "backward_start"))


def test_a_pass_inside_a_pass_is_deeper():
    with record() as trace:
        program_nested_pass()
    assert [e.get("depth", 0) for e in of_kind(trace, "backward_start")] == [0, 1]
    assert [e.get("depth", 0) for e in of_kind(trace, "backward_end")] == [1, 0]
    last = trace.frame(len(trace.events) - 1)
    assert sorted(trace.values[v]["data"][0] for v in last["grads"].values()) == [10.0, 36.0]


def test_calls_by_hand_are_told_and_write_grads():
    with record() as trace:
        program_calls()
    calls = of_kind(trace, "call")
    assert [trace.nodes[e["node"]]["name"] for e in calls] == ["ExpBackward0", "MulBackward0", "AccumulateGrad"]
    last = trace.frame(len(trace.events) - 1)
    assert len(last["grads"]) == 1 and trace.steps("backward")[0] > 0


# ---- errors
def test_an_exception_is_the_last_event_and_passes_through():
    with pytest.raises(ZeroDivisionError), record() as trace:
        _ = leaf(1.0) * 2
        _ = 1 / 0
    assert trace.events[-1]["kind"] == "error" and trace.events[-1]["type"] == "ZeroDivisionError"
    assert LOCAL.observer is None and not UNUSUAL.modes
    check(trace)


def test_an_error_in_a_pass_is_told_once():
    x = leaf(1.0)
    y = (x * x).exp()
    with pytest.raises(RuntimeError, match="second time"), record() as trace:
        y.backward()
        y.backward()
    assert kinds(trace).count("error") == 1 and kinds(trace)[-1] == "error"
    check(trace)


def test_an_error_in_a_nested_pass_that_the_hook_survives():
    x = leaf(1.0)
    other = leaf(1.0) * 2
    other.backward()

    def hook(g):
        with pytest.raises(RuntimeError):
            (other * leaf([1.0, 2.0])).backward()

    y = x * 3
    y.register_hook(hook)
    with record() as trace:
        (y * y).backward()
        (x * 2).backward()
    check(trace)
    assert [e.get("depth", 0) for e in of_kind(trace, "backward_end")] == [0, 0]


def test_a_recorder_in_a_recorder_is_refused():
    with record() as trace:
        with pytest.raises(RuntimeError, match="on already in this thread"), record():
            pass
        _ = leaf(1.0) * 2
    assert kinds(trace) == ["forward"] or kinds(trace) == ["forward", "save"]
    recorder = record()
    with pytest.raises(RuntimeError, match="is not on"):
        recorder.__exit__(None, None, None)


def test_the_trace_can_be_looked_at_while_it_grows():
    x = leaf(2.0)
    with record() as trace:
        y = x * x
        early = len(trace.events)
        assert trace.frame(early - 1)["kind"] == "save"
        y.backward()
    assert len(trace.events) > early
    check(trace)


def test_an_op_in_place_has_its_name():
    with record() as trace:
        x = mg.ones(2, requires_grad=True) * 2
        x.tan_()
        nn.functional.leaky_relu_(x)
    assert [e["op"] for e in trace.events if e["kind"] == "forward"] == ["mul", "tan_", "leaky_relu_"]
