"""Programs to record, and the schema of docs/trace.md as a check of what comes out."""

from __future__ import annotations

import json

import numpy as np

import minigrad as mg
from minigrad import nn
from minigrad.recorder import Trace

COUNT, TEXT, FLAG = "count", "text", "flag"
FIELDS = {  # of each kind of event: field and what it must be; a trailing ? allows None
    "forward": {"op": TEXT, "node": "nodes?", "inputs": ["tensors?"], "outputs": ["tensors"]},
    "save": {"node": "nodes"},
    "version": {"tensor": "tensors", "version": COUNT, "value": "values?"},
    "mode": {"mode": TEXT, "on": FLAG},
    "backward_start": {"roots": list, "needs": list, "create_graph": FLAG, "retain_graph": FLAG, "inputs": "list?"},
    "ready": {"node": "nodes"},
    "run": {"node": "nodes", "gradient": ["values?"]},
    "hook": {"node": "nodes", "hook": TEXT, "name": TEXT, "gradient": ["values?"], "tensor": "tensors?"},
    "release": {"node": "nodes"},
    "flow": {"node": "nodes", "index": COUNT, "to": "nodes", "output_nr": COUNT, "gradient": "values?",
             "sum": "values?"},
    "grad": {"tensor": "tensors", "grad": "values?"},
    "accumulate": {"node": "nodes", "tensor": "tensors", "gradient": "values", "grad": "values"},
    "capture": {"tensor": "tensors", "gradient": "values?"},
    "backward_end": {},
    "call": {"node": "nodes", "gradient": ["values?"], "result": ["values?"]},
    "checkpoint_begin": {"call": COUNT, "name": TEXT, "reentrant": FLAG},
    "checkpoint_end": {"call": COUNT},
    "recompute_begin": {"call": COUNT},
    "holder_filled": {"call": COUNT, "index": COUNT, "value": "values?"},
    "early_stop": {"call": COUNT},
    "recompute_end": {"call": COUNT},
    "collective_start": {"call": COUNT, "op": TEXT, "label": TEXT, "size": COUNT},
    "collective_wait": {"call": COUNT},
    "collective_end": {"call": COUNT},
    "error": {"type": TEXT, "message": TEXT},
}
ANYWHERE = {"kind", "file", "line", "depth", "bytes", "held", "dropped", "time"}


def check_field(trace, value, wanted):
    if isinstance(wanted, list):
        assert isinstance(value, list)
        for entry in value:
            check_field(trace, entry, wanted[0])
    elif wanted in (COUNT, TEXT, FLAG):
        assert type(value) is {COUNT: int, TEXT: str, FLAG: bool}[wanted]
    elif wanted is list:
        assert isinstance(value, list)
    elif wanted.endswith("?") and value is None:
        return
    elif wanted == "list?":
        assert isinstance(value, list)
    else:
        assert type(value) is int and 0 <= value < len(getattr(trace, wanted.rstrip("?")))


def check_records(trace):
    for record_ in trace.tensors:
        shared = {"base", "counter", "version", "offset", "strides", "read", "unexplained", "tangent"}
        assert set(record_) - shared == {"name", "shape", "dtype", "requires_grad", "is_leaf", "node", "output_nr",
                                         "parameter", "storage", "bytes", "value"}
        assert ("offset" in record_) == ("strides" in record_) and not {"base", "counter"} <= set(record_)
        assert len(record_.get("strides", record_["shape"])) == len(record_["shape"])
        assert trace.values[record_["value"]]["shape"] == record_["shape"]
        check_field(trace, record_["node"], "nodes?")
    for number, record_ in enumerate(trace.nodes):
        assert set(record_) - {"variable", "scope", "derivatives", "parameters"} == {
            "name", "sequence_nr", "next", "inputs", "outputs", "saved", "file", "line"}
        assert record_.get("scope", 0) in range(max(1, len(trace.scopes)))
        leaf = record_["name"] == "AccumulateGrad"
        assert leaf == ("variable" in record_) == (record_["sequence_nr"] is None)
        for edge in record_["next"]:
            assert edge is None or edge[0] != number and trace.nodes[edge[0]]
        for name, tensor, value in record_["saved"]:
            assert isinstance(name, str)
            check_field(trace, tensor, "tensors?")
            check_field(trace, value, "values?")


def check(trace):
    """The schema of docs/trace.md, and that the trace survives JSON and can be folded and told."""
    check_records(trace)
    before = None
    for event in trace.events:
        fields = FIELDS[event["kind"]]
        extra = {"grad"} if event["kind"] == "hook" and event["hook"] == "retain_grad" else set()
        extra |= set(event) & {"scope", "rebased", "expressions", "reads"} if event["kind"] == "forward" else set()
        assert set(event) - ANYWHERE == set(fields) | extra
        assert ("file" in event) == ("line" in event)
        for name, wanted in fields.items():
            check_field(trace, event[name], wanted)
        assert event.get("depth", 1) > 0
        if "bytes" in event:
            assert len(event["bytes"]) == 4 and min(event["bytes"]) >= 0 and event["bytes"] != before
            before = event["bytes"]
    again = Trace.from_json(trace.to_json())
    assert again == trace
    for step in range(len(trace.events)):
        assert json.loads(json.dumps(trace.frame(step))) == json.loads(json.dumps(again.frame(step)))
        assert trace.text(step)
    return trace


def kinds(trace):
    return [event["kind"] for event in trace.events]


def of_kind(trace, kind):
    return [event for event in trace.events if event["kind"] == kind]


def leaf(data):
    return mg.tensor(data, requires_grad=True)


# ---- programs, each of which must give a whole trace
def program_products():
    a, b = leaf([2.0, 3.0]), leaf([4.0, 5.0])
    (a * b + a.exp() * 2).sum().backward()


def program_module():
    mg.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
    loss = nn.functional.mse_loss(model(mg.ones(5, 3)), mg.zeros(5, 1))
    loss.backward()


def program_many_outputs():
    a = leaf([[1.0, 2.0], [3.0, 4.0]])
    first, second = a.unbind(0)
    (first * second + first).sum().backward()


def program_second_order():
    x = leaf(3.0)
    g, = mg.autograd.grad(x * x * x, x, create_graph=True)
    g.backward()


def program_hooks():
    x = leaf([1.0, 2.0])
    y = x * 2
    y.retain_grad()
    y.register_hook(lambda g: g * 3)
    y.grad_fn.register_prehook(lambda gs: None)
    y.grad_fn.register_hook(lambda gi, go: None)
    x.register_hook(lambda g: None)
    x.register_post_accumulate_grad_hook(lambda t: None)
    y.sum().backward(retain_graph=True)
    y.sum().backward()


def program_modes_and_in_place():
    x, y = leaf([1.0, 2.0]), mg.ones(2)
    with mg.no_grad():
        y.add_(x)
        y.mul_(2)
    (x * y).sum().backward()
    x.grad.zero_()


def program_nested_pass():
    x, z = leaf(2.0), leaf(5.0)

    def hook(g):
        with mg.enable_grad():
            (z * z).backward()

    y = x * 3
    y.register_hook(hook)
    (y * y).backward()


def program_function():
    class Twice(mg.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    Twice.apply(leaf([1.0, 2.0])).sum().backward()


def program_odd_values():
    x = leaf([float("nan"), float("inf"), 1.0])
    (x * mg.tensor([float("-inf"), 0.0, 2.0])).sum().backward()
    mg.zeros(0, 3).sum()
    (leaf(2.0) * leaf(3.0)).backward()
    (mg.arange(200) * 2).sum()
    mg.tensor([True, False]).sum()
    (leaf(np.ones(100).tolist()) * 2).sum().backward()


def program_capture():
    x, y = leaf(2.0), leaf(3.0)
    mg.autograd.grad(x * y, [x, y])


def program_edges():
    x = leaf([2.0, 3.0])
    y = x * 2
    edge = mg.autograd.graph.get_gradient_edge(y)
    mg.autograd.grad(y.exp().sum(), [edge, x])


def program_saved_hooks():
    x = leaf([1.0, 2.0])
    with mg.autograd.graph.saved_tensors_hooks(lambda t: t * 1, lambda t: t):
        y = (x * x).exp()
    y.sum().backward()


def program_calls():
    x = leaf(2.0)
    y = (x * x).exp()
    g = y.grad_fn(mg.ones(()))
    parts = y.grad_fn.next_functions[0][0](g)
    y.grad_fn.next_functions[0][0].next_functions[0][0](parts[0] + parts[1])


def program_before_the_recording():
    return (leaf(2.0) * 3).exp()


PROGRAMS = [program_products, program_module, program_many_outputs, program_second_order, program_hooks,
            program_modes_and_in_place, program_nested_pass, program_function, program_odd_values, program_capture,
            program_calls, program_edges, program_saved_hooks]
