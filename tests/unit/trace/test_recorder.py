"""Traces as data: the rules of the fold one by one, and the lenses. No engine is needed."""

from __future__ import annotations

import pytest

import minigrad as torch
from minigrad.recorder import Trace, record
from minigrad.trace.frame import Fold
from tests.unit.trace.traces import accumulator, diamond, frames, node, trace_of, value


# ---- the fold, rule by rule
def test_forward_makes_its_node_and_its_leaves_known():
    trace = diamond()
    assert trace.frame(0)["status"] == {1: "recorded", 0: "recorded"}
    assert trace.frame(1)["saved"] == {1: "held"}
    assert trace.frame(4)["status"] == dict.fromkeys(range(4), "recorded")


def test_backward_start_sets_the_counts_and_the_root_gradient():
    trace = diamond()
    frame = trace.frame(5)
    assert frame["needs"] == {3: 0, 2: 1, 1: 2, 0: 1}
    assert set(frame["status"].values()) == {"waiting"}
    assert frame["pending"] == {3: [0]}
    assert frame["ready"] == [] and frame["edges"] == {}


def test_a_node_of_needs_becomes_known_and_every_other_is_recorded_again():
    nodes = [node("A", 0), node("B", 1)]
    again = {"kind": "backward_start", "roots": [[1, 0, 0]], "needs": [[1, 1]], "create_graph": False,
             "retain_graph": False, "inputs": None}
    trace = trace_of([{**again, "roots": [[0, 0, 0]], "needs": [[0, 1]]}, {"kind": "run", "node": 0, "gradient": [0]},
                      {"kind": "backward_end"}, again], nodes)
    assert trace.frame(2)["status"] == {0: "done"}
    assert trace.frame(3)["status"] == {0: "recorded", 1: "waiting"}


def test_flow_sets_the_edge_piles_up_and_counts_down():
    frame = diamond().frame(8)
    assert frame["edges"] == {"3:0": 1}
    assert frame["pending"] == {1: [1]}
    assert frame["needs"] == {2: 1, 1: 1, 0: 1}
    assert frame["gradient"] == 1 and frame["lit"] == 3


def test_pending_is_as_long_as_the_output_number_needs():
    flow = {"kind": "flow", "node": 1, "index": 0, "to": 0, "output_nr": 2, "gradient": 0, "sum": 0}
    trace = trace_of([flow, {**flow, "output_nr": 0, "gradient": None, "sum": None}], [node("A", 0), node("B", 1)])
    assert trace.frame(0)["pending"] == {0: [None, None, 0]}
    assert trace.frame(1)["pending"] == {0: [None, None, 0]}
    assert trace.frame(1)["edges"] == {"1:0": None}


def test_ready_puts_accumulators_first_and_then_the_newest():
    nodes = [node("Old", 3), accumulator(0), node("New", 8), accumulator(1)]
    trace = trace_of([{"kind": "ready", "node": n} for n in (0, 3, 2, 1)], nodes)
    assert trace.frame(3)["ready"] == [3, 1, 2, 0]
    assert trace.frame(3)["status"] == dict.fromkeys(range(4), "ready")


def test_run_takes_from_queue_and_pending_and_finishes_the_one_before():
    trace = diamond()
    frame = trace.frame(7)
    assert frame["status"][3] == "running" and frame["ready"] == [] and frame["pending"] == {}
    frame = trace.frame(11)
    assert frame["status"][3] == "done" and frame["status"][2] == "running"


def test_release_accumulate_version_and_bytes():
    trace = diamond()
    last = trace.frame(len(trace.events) - 1)
    assert last["saved"] == {1: "released"}
    assert last["grads"] == {0: 3}
    assert last["bytes"] == [0, 8, 0, 4]
    assert trace.frame(0)["bytes"] == [0, 8, 0, 0] and trace.frame(3)["bytes"] == [0, 8, 4, 0]
    versions = trace_of([{"kind": "version", "tensor": 0, "version": 2}], [])
    assert versions.frame(0)["versions"] == {0: 2} and versions.frame(0)["bytes"] is None


def test_backward_end_empties_the_pass():
    trace = diamond()
    last = trace.frame(len(trace.events) - 1)
    assert last["needs"] == {} and last["ready"] == [] and last["pending"] == {}
    assert set(last["status"].values()) == {"done"}
    assert last["edges"] == {"3:0": 1, "3:1": 1, "2:0": 1, "1:0": 3}


def test_retain_grad_writes_grads_and_other_hooks_do_not():
    hook = {"kind": "hook", "node": 0, "name": "", "gradient": [1], "tensor": 0}
    trace = trace_of([{**hook, "hook": "tensor"}, {**hook, "hook": "retain_grad", "grad": 2}], [node("A", 0)])
    assert trace.frame(0)["grads"] == {} and trace.frame(0)["gradient"] == 1
    assert trace.frame(1)["grads"] == {0: 2}


def test_a_hook_of_the_program_marks_its_node_until_the_next_pass():
    hook = {"kind": "hook", "node": 0, "name": "", "gradient": [1], "tensor": 0, "grad": 2}
    start = {"kind": "backward_start", "roots": [[1, 0, 0]], "needs": [[1, 1], [0, 1]]}
    hooks = [{**hook, "hook": kind} for kind in ("retain_grad", "pre")]
    trace = trace_of([start, *hooks, start], [node("A", 0), node("B", 1)])
    assert [trace.frame(step)["hooked"] for step in range(4)] == [[], [], [0], []]


def test_a_node_that_is_gone_has_let_go_of_what_it_had_saved():
    """Once the last of its storages is dropped; what a checkpoint held (None) says nothing of a node."""
    save = {"kind": "save", "node": 0, "held": [[0, 2, 0], [1, 2, 0], [2, 2, None]]}
    dropped = [2, 2, None], [0, 2, 0], [1, 2, 0]
    drops = [{"kind": "grad", "tensor": 0, "grad": None, "dropped": [each]} for each in dropped]
    trace = trace_of([save, *drops], [node("A", 0)])
    assert [trace.frame(step)["saved"][0] for step in range(4)] == ["held", "held", "held", "released"]


@pytest.mark.parametrize("kept", [False, True])
def test_the_graph_of_a_first_derivative_lives_as_long_as_the_program_keeps_it(kept):
    x = torch.tensor(2.0, requires_grad=True)
    with record() as trace:
        cube = x ** 3
        slope, = torch.autograd.grad(cube, x, create_graph=True)
        if not kept:
            del cube
        slope.backward()
    first = next(id for id, each in enumerate(trace.nodes) if each["name"] == "PowBackward0")
    assert trace.frame(len(trace.events) - 1)["saved"][first] == ("held" if kept else "released")


def test_call_makes_its_node_running_and_leaves_pending_alone():
    call = {"kind": "call", "gradient": [1], "result": [2]}
    trace = trace_of([{"kind": "flow", "node": 1, "index": 0, "to": 0, "output_nr": 0, "gradient": 0, "sum": 0},
                      {**call, "node": 0}, {**call, "node": 1}], [node("A", 0), node("B", 1)])
    assert trace.frame(1)["status"] == {0: "running"} and trace.frame(1)["pending"] == {0: [0]}
    assert trace.frame(2)["status"] == {0: "done", 1: "running"}


def nested(ending):
    start = {"kind": "backward_start", "create_graph": False, "retain_graph": False, "inputs": None}
    return trace_of([
        {**start, "roots": [[0, 0, 0]], "needs": [[0, 1], [2, 1]]},
        {"kind": "run", "node": 0, "gradient": [0]},
        {"kind": "forward", "op": "mul", "node": 1, "inputs": [], "outputs": [], "depth": 1},
        {**start, "roots": [[1, 0, 0]], "needs": [[1, 1]], "depth": 1},
        {"kind": "run", "node": 1, "gradient": [0], "depth": 1},
        {"kind": ending, "depth": 1, "type": "RuntimeError", "message": ""},
        {"kind": "flow", "node": 0, "index": 0, "to": 2, "output_nr": 0, "gradient": 0, "sum": 0},
    ], [node("A", 0), node("B", 5), node("C", 1)])


def test_a_nested_pass_gives_back_the_outer_one():
    trace = nested("backward_end")
    assert trace.frame(4)["status"] == {0: "recorded", 2: "recorded", 1: "running"}
    assert trace.frame(4)["needs"] == {1: 0} and trace.frame(4)["depth"] == 1
    assert trace.frame(5)["status"] == {0: "running", 2: "waiting", 1: "recorded"}
    assert trace.frame(5)["needs"] == {0: 0, 2: 1}
    assert trace.frame(6)["status"][0] == "running" and trace.frame(6)["needs"] == {0: 0, 2: 0}


def test_an_error_changes_nothing_until_the_outer_pass_goes_on():
    trace = nested("error")
    assert trace.frame(5)["status"][1] == "running"
    assert trace.frame(6)["status"] == {0: "running", 2: "waiting", 1: "recorded"}


def test_an_unknown_kind_is_passed_over():
    trace = trace_of([{"kind": "device_copy"}], [])
    assert trace.frame(0)["kind"] == "device_copy" and "device_copy: an event of a kind" in trace.text()


def test_a_frame_does_not_depend_on_the_order_of_asking():
    trace = diamond()
    forth = frames(trace)
    back = [trace.frame(step) for step in reversed(range(len(trace.events)))]
    assert forth == back[::-1]
    forth[6]["status"].clear()
    forth[8]["pending"][1].append(7)
    assert frames(trace)[6] == back[-7] and frames(trace)[8] == back[-9]


def test_all_frames_in_order_fold_each_event_once(monkeypatch):
    folded = []
    apply = Fold.apply
    monkeypatch.setattr(Fold, "apply", lambda self, event: (folded.append(event), apply(self, event)))
    trace = diamond()
    frames(trace)
    assert folded == trace.events


def test_there_is_no_other_step():
    trace = diamond()
    for step in (-1, len(trace.events)):
        with pytest.raises(IndexError, match="no step"):
            trace.frame(step)
    with pytest.raises(IndexError, match="no step 0"):
        Trace().frame(0)


# ---- lenses
def test_steps_of_the_lenses():
    trace = diamond()
    assert trace.steps("all") == list(range(len(trace.events)))
    assert trace.steps("backward") == list(range(5, len(trace.events)))
    called = trace_of([{"kind": "call", "node": 0, "gradient": [], "result": []}], [node("A", 0)])
    assert called.steps("backward") == [0]
    with pytest.raises(ValueError, match="no lens 'sideways'"):
        trace.steps("sideways")


def test_traverse_in_the_engines_order():
    found = diamond().traverse([3, 2, 1, 0])
    assert found["calls"] == [3, 2, 1, 0] and found["early"] == []
    assert found["grads"] == {0: 3} and found["pending"] == {}


def test_traverse_counts_what_has_arrived():
    trace = diamond()
    assert trace.traverse([])["pending"] == {3: {"arrived": 1, "of": 1, "gradient": 0}}
    assert trace.traverse([3])["pending"] == {1: {"arrived": 1, "of": 2, "gradient": 1},
                                              2: {"arrived": 1, "of": 1, "gradient": 1}}
    assert trace.traverse([3, 2])["pending"] == {1: {"arrived": 2, "of": 2, "gradient": 2}}


def test_traverse_too_early_gives_partial_sums_that_nobody_knows():
    found = diamond().traverse([3, 1, 0])
    assert found["early"] == [1, 0]
    assert found["grads"] == {0: None}
    assert found["pending"] == {2: {"arrived": 1, "of": 1, "gradient": 1}}


@pytest.mark.parametrize("calls", [[3, 1, 2, 1, 0], [3, 1, 0, 2, 1, 0]], ids=["together", "one after the other"])
def test_traverse_knows_the_gradient_once_the_rest_has_come(calls):
    rest = diamond().traverse(calls[:-1])
    assert list(rest["grads"].items()) == [(0, None)] * (calls.count(0) - 1)
    whole = diamond().traverse(calls)
    assert whole["early"] == [] and whole["pending"] == {} and whole["grads"] == {0: 3}


def test_traverse_counts_what_comes_in_parts_once():
    """Node 1 is called before node 2 has fed it: at 0 lies a part, then all of it."""
    part = diamond().traverse([3, 1])["pending"]
    assert part[0] == {"arrived": 0, "of": 1, "gradient": None}
    rest = diamond().traverse([3, 1, 2])["pending"]
    assert rest[1] == {"arrived": 2, "of": 2, "gradient": 1}
    both = diamond().traverse([3, 1, 2, 1])["pending"]
    assert both == {0: {"arrived": 1, "of": 1, "gradient": 3}}


def test_traverse_leaves_out_what_cannot_be_called():
    found = diamond().traverse([0, 3, 3])
    assert found["calls"] == [3] and found["early"] == []


def test_traverse_refuses_what_is_not_there():
    with pytest.raises(ValueError, match="no node 9"):
        diamond().traverse([9])
    with pytest.raises(ValueError, match="no backward pass"):
        Trace().traverse([])


def test_python_of_a_root_gradient():
    trace = diamond()
    trace.values[0] = value([0.5, float("2")], [2])
    assert "torch.tensor([0.5, 2.0], dtype=torch.float32).reshape((2,))" in trace.traverse([3])["python"][2]
    trace.values[0] = value([3.0], [])
    assert "torch.full_like(y, 3.0)" in trace.traverse([3])["python"][2]
    trace.tensors[1]["name"] = None
    assert trace.traverse([3])["python"][1].startswith("# tensor_1 stands for")
