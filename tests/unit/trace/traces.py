"""Traces written by hand, for tests of what is made of traces."""

from __future__ import annotations

from minigrad.recorder import Trace


def node(name, sequence_nr, *targets, inputs=(), outputs=(), saved=()):
    """A node record; each target is a node id."""
    return {"name": name, "sequence_nr": sequence_nr, "next": [[t, 0] for t in targets], "inputs": list(inputs),
            "outputs": list(outputs), "saved": list(saved), "file": None, "line": None}


def accumulator(tensor):
    """The record of a leaf's AccumulateGrad."""
    return {**node("AccumulateGrad", None), "variable": tensor}


def tensor(name, node_id, value_id):
    """The record of a scalar."""
    return {"name": name, "shape": [], "dtype": "float32", "requires_grad": True, "is_leaf": node_id is None,
            "node": node_id, "output_nr": 0, "parameter": False, "storage": value_id, "bytes": 4, "value": value_id}


def value(data, shape):
    """A preview."""
    return {"shape": shape, "dtype": "float32", "data": data}


def trace_of(events, nodes, tensors=(), values=()):
    """A trace of these events; where no values are given there are three."""
    trace = Trace("by hand 1")
    trace.events.extend(events)
    trace.nodes.extend(nodes)
    trace.tensors.extend(tensors or [tensor("x", None, 0)])
    trace.values.extend(values or [value([float(i)], []) for i in range(3)])
    return trace


def diamond():
    """m = mul(x); e = exp(m); y = m + e, backward from y. Nodes: 0 AccumulateGrad, 1 mul, 2 exp, 3 add."""
    nodes = [accumulator(0), node("MulBackward0", 0, 0, inputs=[0], outputs=[2], saved=[["self", 0, 2]]),
             node("ExpBackward0", 1, 1, outputs=[3]), node("AddBackward0", 2, 1, 2, outputs=[1])]
    tensors = [tensor("x", None, 2), tensor("y", 3, 2), tensor(None, 1, 2), tensor(None, 2, 2)]
    values = [value([1.0], []), value([1.0], []), value([2.0], []), value([3.0], [])]
    forward = {"kind": "forward", "op": "mul", "inputs": [0, 0], "outputs": [2]}
    events = [
        {**forward, "node": 1, "bytes": [0, 8, 0, 0]}, {"kind": "save", "node": 1, "bytes": [0, 4, 4, 0]},
        {**forward, "op": "exp", "node": 2, "inputs": [2], "outputs": [3], "bytes": [0, 8, 4, 0]},
        {"kind": "mode", "mode": "grad", "on": True},
        {**forward, "op": "add", "node": 3, "inputs": [2, 3], "outputs": [1]},
        {"kind": "backward_start", "roots": [[3, 0, 0]], "needs": [[3, 1], [1, 2], [2, 1], [0, 1]],
         "create_graph": False, "retain_graph": False, "inputs": None},
        {"kind": "ready", "node": 3}, {"kind": "run", "node": 3, "gradient": [0]},
        {"kind": "flow", "node": 3, "index": 0, "to": 1, "output_nr": 0, "gradient": 1, "sum": 1},
        {"kind": "flow", "node": 3, "index": 1, "to": 2, "output_nr": 0, "gradient": 1, "sum": 1},
        {"kind": "ready", "node": 2}, {"kind": "run", "node": 2, "gradient": [1]},
        {"kind": "flow", "node": 2, "index": 0, "to": 1, "output_nr": 0, "gradient": 1, "sum": 2},
        {"kind": "ready", "node": 1}, {"kind": "run", "node": 1, "gradient": [2]}, {"kind": "release", "node": 1},
        {"kind": "flow", "node": 1, "index": 0, "to": 0, "output_nr": 0, "gradient": 3, "sum": 3},
        {"kind": "run", "node": 0, "gradient": [3]},
        {"kind": "accumulate", "node": 0, "tensor": 0, "gradient": 3, "grad": 3, "bytes": [0, 8, 0, 4]},
        {"kind": "backward_end"}]
    return trace_of(events, nodes, tensors, values)


def frames(trace):
    """What stands at each step of a trace."""
    return [trace.frame(step) for step in range(len(trace.events))]
