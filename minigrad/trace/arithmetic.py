"""Writes in lines what a step of a backward pass computes: its formula with names, with numbers, and the result."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from minigrad.trace.expression import expression_text
from minigrad.trace.format import Names

__all__ = ["arithmetic"]

Trace = Mapping[str, Sequence[Any]]  # the lists of a trace, as its dict has them
OUTPUT = re.compile(r"grads\[(\d+)\]$")
INPUT = re.compile(r"inputs\[(\d+)\]$")


def arithmetic(trace: Trace, step: int, value: Callable[[Any], str]) -> list[str]:
    """Return the lines of a step, none if nothing is computed or no expression known. `value(i)` writes a preview."""
    event = trace["events"][step]
    lines = []
    if event["kind"] == "run":
        nodes = trace["nodes"]
        lines = [Derivative(trace, step, index, value).line() for index in range(len(nodes[event["node"]]["next"]))]
    elif event["kind"] == "flow":
        lines = [Derivative(trace, step, event["index"], value).line(event["gradient"]), met(trace, step, value)]
    elif event["kind"] == "accumulate":
        lines = [accumulated(trace, step, value)]
    return [line for line in lines if line]


def tensor_name(trace: Trace, tensor: int | None, otherwise: str) -> str:
    return otherwise if tensor is None else trace["tensors"][tensor]["name"] or otherwise


class Derivative:
    """What the derivative of a node computes for one of its inputs."""

    def __init__(self, trace: Trace, step: int, index: int, value: Callable[[Any], str]) -> None:
        self.trace, self.index, self.value = trace, index, value
        self.number_of_node = trace["events"][step]["node"]
        self.node = trace["nodes"][self.number_of_node]
        self.gradient, self.replaced = received(trace, step)

    def line(self, result: int | None = None) -> str:
        """`grad of a = grad · b = [1, 1] · [5, 6] = [5, 6]`; empty where the trace has no expression for it."""
        given = self.node.get("derivatives", ())[self.index:self.index + 1]
        if not given or given[0] is None or self.node["next"][self.index] is None:
            return ""
        expression = self.trace["expressions"][given[0]]
        sides = [expression_text(expression, self.name)]
        if self.gradient is not None:
            sides.append(expression_text(expression, self.number))
        if result is not None and not self.replaced:
            sides.append(self.value(result))
        different = [side for at, side in enumerate(sides) if at == 0 or side != sides[at - 1]]
        return " = ".join([f"grad {self.whose()}", *different])

    def whose(self) -> str:
        """Return the input whose gradient this is: its name, or the node that made it."""
        inputs = self.node["inputs"]
        tensor = inputs[self.index] if len(inputs) == len(self.node["next"]) else None
        name = tensor_name(self.trace, tensor, "")
        return f"of {name}" if name else f"for {Names(self.trace).node(self.node['next'][self.index][0])}"

    def saved(self, operand: str) -> tuple[int | None, int | None]:
        """Return the tensor and the value of an operand that is not a gradient."""
        at = INPUT.match(operand)
        if at and int(at[1]) < len(self.node["inputs"]):
            tensor = self.node["inputs"][int(at[1])]
            return tensor, None if tensor is None else held_for(self.trace, self.number_of_node, tensor)
        tensor, value = next(((t, value) for name, t, value in self.node["saved"] if name == operand), (None, None))
        if tensor is None or value is None:
            return tensor, value
        return tensor, held_for(self.trace, self.number_of_node, tensor, value)

    def name(self, operand: str) -> str:
        return tensor_name(self.trace, self.saved(operand)[0], operand)

    def number(self, operand: str) -> str:
        output = OUTPUT.match(operand)
        if operand == "grad" or output:
            given = self.gradient or ()
            at = int(output[1]) if output else 0
            return self.value(given[at]) if at < len(given) and given[at] is not None else "0"
        value = self.saved(operand)[1]
        return self.name(operand) if value is None else self.value(value)


def held_for(trace: Trace, node: int, tensor: int, saved: int | None = None) -> int:
    """Return what a tensor held for the derivative of a node: the node keeps the tensor, which may be overwritten.

    `saved`: what it held when it was saved; without it the tensor is an operand, which may be overwritten earlier, too.
    """
    events = trace["events"]
    recorded = next((at for at, e in enumerate(events) if e["kind"] == "forward" and e["node"] == node), len(events))
    ran = max([recorded, *[at for at, e in enumerate(events) if e["kind"] == "run" and e["node"] == node]])
    found = int(trace["tensors"][tensor]["value"] if saved is None else saved)
    for event in events[0 if saved is None else recorded + 1:ran + 1]:
        new = [entry for name in ("found", "others", "written") for entry in event.get(name, ())]
        if event["kind"] == "version" and event.get("value") is not None:
            new.append((event["tensor"], event["value"]))
        found = next((value for each, value in new if each == tensor), found)
    return found


def received(trace: Trace, step: int) -> tuple[Sequence[int | None] | None, bool]:
    """Return what the derivative of a step's node received, and whether a hook has replaced what it returned."""
    events = trace["events"]
    node, depth = events[step]["node"], events[step].get("depth", 0)
    gradient: Sequence[int | None] | None = None
    replaced = False
    for at in range(step, -1, -1):
        event = events[at]
        if event.get("node") != node or event.get("depth", 0) != depth:
            continue
        if event["kind"] == "hook":
            replaced = replaced or event["hook"] == "post"
            gradient = event["gradient"] if gradient is None and event["hook"] != "post" else gradient
        elif event["kind"] == "run":
            return event["gradient"] if gradient is None else gradient, replaced
    return None, False


def met(trace: Trace, step: int, value: Callable[[Any], str]) -> str:
    """Write the sum where a gradient meets others."""
    event = trace["events"][step]
    if event["sum"] in (None, event["gradient"]):
        return ""
    for at in range(step - 1, -1, -1):
        before = trace["events"][at]
        if before["kind"] == "flow" and (before["to"], before["output_nr"]) == (event["to"], event["output_nr"]):
            parts = [value(before["sum"]), value(event["gradient"]), value(event["sum"])]
            return f"the gradients meet: {parts[0]} + {parts[1]} = {parts[2]}" if before["sum"] is not None else ""
        if before["kind"] == "backward_start":
            return ""
    return ""


def accumulated(trace: Trace, step: int, value: Callable[[Any], str]) -> str:
    """Write what is added to a `.grad`."""
    event = trace["events"][step]
    for at in range(step - 1, -1, -1):
        before = trace["events"][at]
        if before["kind"] in ("accumulate", "grad") and before["tensor"] == event["tensor"]:
            if before["grad"] is None:
                return ""
            name = tensor_name(trace, event["tensor"], "the tensor")
            return f"{name}.grad = {value(before['grad'])} + {value(event['gradient'])} = {value(event['grad'])}"
    return ""
