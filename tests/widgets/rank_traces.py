"""Traces of ranks made by hand, with times that are known."""

from __future__ import annotations

from typing import Any

from minigrad.recorder import Trace

W = {"name": "model.module.w", "shape": [2], "dtype": "float32", "requires_grad": True, "is_leaf": True, "node": None,
     "output_nr": 0, "parameter": True, "storage": 0, "bytes": 8, "value": 0, "version": 0}
NODE = {"name": "AccumulateGrad", "sequence_nr": None, "next": [], "inputs": [], "outputs": [], "saved": [], "file": 0,
        "line": 1, "variable": 0}


def rank_of(rank: int, began: float | None = 100.0, late: float = 0.0) -> Trace:
    """A pass from 1 to 6 ms; w is ready at 1.5 ms, its bucket is called at 2 ms, runs from 3 on, and is over at 5."""
    events: list[dict[str, Any]] = [
        {"kind": "backward_start", "roots": [], "needs": [], "create_graph": False, "retain_graph": False,
         "inputs": None, "time": 0.001 + late},
        {"kind": "run", "node": 0, "gradient": [0], "time": 0.0015 + late},
        {"kind": "accumulate", "node": 0, "tensor": 0, "gradient": 0, "grad": 0},
        {"kind": "collective_start", "call": 0, "op": "all_reduce", "label": "bucket 0: w", "size": 8, "bucket": 0,
         "parameters": ["w", "b"], "time": 0.002 + late},
        {"kind": "collective_wait", "call": 0, "time": 0.004 + late},
        {"kind": "collective_end", "call": 0, "time": 0.005 + late,
         "times": [0.002 + late, 0.003 + late, 0.005 + late]},
        {"kind": "backward_end", "time": 0.006 + late}]
    return Trace.from_dict({
        "format": "minigrad-trace", "version": 1, "library": "", "files": [{"name": "train.py", "lines": [""]}],
        "values": [{"shape": [2], "dtype": "float32", "data": [1.0, 2.0]}], "tensors": [W], "nodes": [NODE],
        "formulas": {}, "events": events, "layout": None, "process": {"rank": rank, "ranks": 8, "began": began}})
