"""Traces that somebody made to do harm, or that hold what no program should."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.widgets import synthetic

Json = dict[str, Any]
MARKUP = "<img src=x onerror='window.harmed = 1'></script><script>window.harmed = 1</script><b>${harm}</b>&amp;‮"
LONG = "long " * 200_000
XP = ("name", "module", "op", "hook", "type", "message", "mode", "dtype", "library")


def renamed(word: str) -> Json:
    """A program with scopes, a hook, a checkpoint and an error, in which every name is this word."""
    trace = synthetic.diamond()
    trace["scopes"] = [{"name": "net", "module": "Linear", "parent": None}]
    trace["nodes"][0]["scope"] = trace["nodes"][-1]["scope"] = 0
    place = {"file": 0, "line": 1}
    begin = {"kind": "checkpoint_begin", "call": 0, "name": "block", "reentrant": False, **place}
    hook = {"kind": "hook", "node": 1, "hook": "post", "name": "hook", "gradient": [], "tensor": None, **place}
    error = {"kind": "error", "type": "ValueError", "message": "no", **place}
    mode = {"kind": "mode", "mode": "grad", "on": False, **place}
    trace["events"] = [begin, *trace["events"], hook, mode, {"kind": "checkpoint_end", "call": 0}, error]
    trace["formulas"] = {word: word}
    trace["expressions"] = [[word, word, ["mul", word, ["text", word]]]]
    for node in trace["nodes"]:
        node["derivatives"] = [0 for _ in node["next"]]
    for file in trace["files"]:
        file["lines"] = [word for _ in file["lines"]]
    rename(trace, word)
    return trace


def rename(part: Any, word: str) -> None:
    """Puts the word wherever a name stands, in place."""
    if isinstance(part, list):
        for each in part:
            rename(each, word)
    elif isinstance(part, dict):
        for key, value in part.items():
            if key in XP and isinstance(value, str):
                part[key] = word
            else:
                rename(value, word)


def strange_numbers() -> Json:
    """Gradients that are no numbers, tensors of no dimension and of no element."""
    trace = synthetic.diamond()
    strange = [{"shape": [], "data": ["nan"]}, {"shape": [2], "data": ["inf", "-inf"]}, {"shape": [0], "data": []},
               {"shape": [0, 3], "data": []}, {"shape": [], "data": [1e300]},
               {"shape": [9, 9], "stats": {"min": None, "max": None, "mean": None, "norm": None, "nan": 81, "inf": 0}}]
    for at in range(len(trace["values"])):
        trace["values"][at] = {"dtype": "float32", **strange[at % len(strange)]}
    return trace


def broken(how: Callable[[Json], Any]) -> Json:
    """A trace in which one thing is wrong."""
    trace = synthetic.diamond()
    how(trace)
    return trace


BROKEN: dict[str, Callable[[Json], Any]] = {
    "another version": lambda trace: trace.update(version=2),
    "another format": lambda trace: trace.update(format="something"),
    "no events": lambda trace: trace.pop("events"),
    "no nodes": lambda trace: trace.update(nodes=None),
    "an edge to nowhere": lambda trace: trace["nodes"][-1].update(next=[[99, 0]]),
    "an event of a node that is not there": lambda trace: trace["events"][-2].update(node=99),
    "a value that is not there": lambda trace: trace["events"][-2].update(gradient=[99]),
    "a scope inside of itself": lambda trace: (trace.update(scopes=[{"name": "a", "module": "A", "parent": 0}]),
                                               trace["nodes"][0].update(scope=0)),
    "words for numbers": lambda trace: trace["nodes"][0].update(next="x"),
    "positions that are none": lambda trace: trace.update(layout={"nodes": {"0": ["a", None]}, "size": [0, 0]}),
}
