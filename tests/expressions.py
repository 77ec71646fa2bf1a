"""Evaluates the expressions of a trace with NumPy, on the numbers that the trace shows."""

from __future__ import annotations

import functools
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

import minigrad  # noqa: F401 (it loads all ops)
from minigrad.backends.numpy import XP
from tests.parity.compare import arrays_of, leaves_of, outputs_of

OPERATORS = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.true_divide, "pow": XP.power,
             "remainder": np.remainder, "floor_divide": np.floor_divide, "and": np.bitwise_and, "or": np.bitwise_or,
             "neg": np.negative, "invert": np.invert, "lt": np.less, "le": np.less_equal, "gt": np.greater,
             "ge": np.greater_equal, "eq": np.equal, "ne": np.not_equal,
             "full": lambda shape, value, dtype: np.full(shape, value, dtype),
             "zeros": lambda shape, dtype: np.zeros(shape, dtype), "float": float, "text": str, "dtype": np.dtype,
             "tuple": lambda *parts: parts, "slice": slice, "ellipsis": lambda: ...,
             "output": lambda results, i: results[i],
             "array": lambda dtype, shape, *values: np.array(values, dtype).reshape(shape), "abs": np.abs}
REDUCTIONS = ("amax", "amin", "all", "any", "argmax", "argmin", "prod")  # of an array, dimensions, whether to keep them
QUOTED = ("float", "text", "dtype")  # their argument is a text, no operand
NUMBERS = {"nan": np.nan, "inf": np.inf, "-inf": -np.inf}


def evaluate(expression: Any, operands: dict[str, Any]) -> Any:
    """The value of an expression; `operands` are arrays by their names."""
    if isinstance(expression, str):
        return operands[expression]
    if not isinstance(expression, list):
        return expression
    name, *args = expression
    if name in QUOTED:
        return OPERATORS[name](*args)
    values = [evaluate(arg, operands) for arg in args]
    if name in OPERATORS:
        return OPERATORS[name](*values)
    if hasattr(XP, name):
        return getattr(XP, name)(*values)
    if name in REDUCTIONS:
        return getattr(np, name)(values[0], axis=values[1], keepdims=values[2])
    if hasattr(np, name):
        return getattr(np, name)(*values)
    cls = class_of(name)
    return cls.values(*values) if hasattr(cls, "values") else cls(*values)


@functools.cache
def class_of(name: str) -> Any:
    """The class of an op that formulas call, or of one of its arguments, by its name."""
    modules = [module for module in list(sys.modules) if module.startswith("minigrad.ops.")]
    found = {value for module in modules for value in vars(sys.modules[module]).values()
             if isinstance(value, type) and value.__name__ == name
             and (hasattr(value, "values") or hasattr(value, "_fields"))}
    only, = found
    return only


def array_of(trace: Any, index: int | None) -> Any:
    """A preview as an array; None if it holds no numbers."""
    if index is None or "data" not in trace.values[index]:
        return None
    value = trace.values[index]
    data = [NUMBERS.get(x, x) if isinstance(x, str) else x for x in value["data"]]
    return np.array(data, value["dtype"]).reshape(value["shape"])[()]


def operands_in(expression: Any) -> set[str]:
    """The names of the operands of an expression."""
    if isinstance(expression, str):
        return {expression}
    if not isinstance(expression, list) or expression[0] in QUOTED:
        return set()
    return set().union(*map(operands_in, expression[1:]))


def operands_of(trace: Any, number: int, received: list[int | None]) -> dict[str, Any]:
    """The operands of a node's expressions: what it received, and what it saved; those without numbers left out."""
    node = trace.nodes[number]
    operands = {name: array_of(trace, value) for name, _, value in node["saved"]}
    outputs = [trace.tensors[tensor] for tensor in node["outputs"]]
    for i, value in enumerate(received):
        zeros = np.zeros(outputs[i]["shape"], outputs[i]["dtype"]) if i < len(outputs) else None
        operands[f"grads[{i}]"] = zeros if value is None else array_of(trace, value)
    operands["grad"] = operands["grads[0]"]
    return {name: array for name, array in operands.items() if array is not None}


def line_recorded(lib: Any, recorder: Any, call: Any, inputs: Any, args: Any) -> Any:
    """The trace of a line of the op table and of a backward pass through its results; None if it has no gradient."""
    leaves = leaves_of(lib, inputs, arrays_of(inputs, "float64", seed=1))
    with recorder() as trace, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            made = [t for t in outputs_of(call(lib, *leaves, *args)) if t.requires_grad]
            sum([(t * t).real.sum() if t.is_complex() else (t * t).sum() for t in made]).backward()
        except (AttributeError, RuntimeError):  # no result, or one without a derivative: tests of ops see to these
            return None
    return trace


def check_line(trace: Any, name: str, tolerance: float) -> Counter[str]:
    """Hold the expressions of a trace to the gradients in it; gives how many were held, by node."""
    checked = Counter[str]()
    for node, expression, value, gradient in arithmetic(trace):
        assert np.shape(value) == gradient.shape, (name, node, expression)
        np.testing.assert_allclose(value, gradient, tolerance, tolerance, err_msg=f"{name} {node} {expression}")
        checked[node] += 1
    return checked


def arithmetic(trace: Any) -> Iterator[tuple[str, Any, Any, Any]]:
    """For each gradient that flowed: node, expression, its value by NumPy, the gradient; without those that a hook
    replaced, or whose operands have no numbers in the trace."""
    received: dict[int, list[int | None] | None] = {}
    for event in trace.events:
        if event["kind"] == "run":
            received[event["node"]] = event["gradient"]
        elif event["kind"] == "hook":  # one that is no post-hook may replace what the node receives
            received[event["node"]] = None
        elif event["kind"] == "flow" and received.get(event["node"]) is not None:
            node, gradient = trace.nodes[event["node"]], array_of(trace, event["gradient"])
            index = node["derivatives"][event["index"]] if "derivatives" in node else None
            if index is None or gradient is None:
                continue
            expression = trace.expressions[index]
            operands = operands_of(trace, event["node"], received[event["node"]] or [])
            if operands_in(expression) <= set(operands):
                with np.errstate(all="ignore"):
                    yield node["name"], expression, evaluate(expression, operands), gradient


def check_results(trace: Any, name: str, tolerance: float) -> Counter[str]:
    """Hold the expressions of results to what the ops of a trace made; gives how many were held, by op.

    Ops on tensors that are written to are left out: only who follows all writes knows what they hold.
    """
    checked = Counter[str]()
    written = {trace.tensors[event["tensor"]]["storage"] for event in trace.events if event["kind"] == "version"}

    def value(tensor: int) -> Any:
        record = trace.tensors[tensor]
        return None if record["storage"] in written else array_of(trace, record["value"])

    for event in trace.events:
        if event["kind"] != "forward" or "expressions" not in event or event["op"].endswith("_"):
            continue
        operands = {f"inputs[{i}]": value(t) for i, t in enumerate(event["inputs"]) if t is not None}
        operands |= {f"reads[{i}]": value(t) for i, t in enumerate(event.get("reads", ()))}
        operands = {key: array for key, array in operands.items() if array is not None}
        for index, output in zip(event["expressions"], event["outputs"], strict=False):
            expression, result = trace.expressions[index], value(output)
            if result is None or not operands_in(expression) <= set(operands):
                continue
            with np.errstate(all="ignore"):
                found = evaluate(expression, operands)
                np.testing.assert_allclose(found, result, tolerance, tolerance, err_msg=f"{name} {event['op']}")
            checked[event["op"]] += 1
    return checked
