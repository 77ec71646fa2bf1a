"""Traces made by hand: a tiny engine on numbers writes what docs/trace.md says, for graphs of any size.

It lets the inspector be tested, and timed at 20, 200 and 2,000 nodes, without the library that it will show.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import Any

Json = dict[str, Any]


class Builder:
    """Writes one program: leaves and ops on single numbers, then one backward pass."""

    def __init__(self) -> None:
        self.values: list[Json] = []
        self.index: dict[float, int] = {}
        self.tensors: list[Json] = []
        self.nodes: list[Json] = []
        self.events: list[Json] = []
        self.lines: list[str] = []
        self.accumulators: dict[int, int] = {}
        self.factors: list[tuple[float, ...]] = []

    def value(self, number: float) -> int:
        if number not in self.index:
            self.index[number] = len(self.values)
            self.values.append({"shape": [], "dtype": "float32", "data": [number]})
        return self.index[number]

    def tensor(self, name: str | None, number: float, node: int | None, leaf: bool, grad: bool) -> int:
        record = {"name": name, "shape": [], "dtype": "float32", "requires_grad": grad, "is_leaf": leaf, "node": node}
        memory = {"output_nr": 0, "parameter": leaf, "storage": len(self.tensors), "bytes": 4}
        self.tensors.append({**record, **memory, "value": self.value(number)})
        return len(self.tensors) - 1

    def leaf(self, name: str, number: float, grad: bool = True) -> int:
        self.lines.append(f"{name} = torch.tensor({number}, requires_grad={grad})")
        return self.tensor(name, number, None, True, grad)

    def number(self, tensor: int) -> float:
        return float(self.values[self.tensors[tensor]["value"]]["data"][0])

    def edge(self, tensor: int) -> list[int] | None:
        record = self.tensors[tensor]
        if not record["requires_grad"]:
            return None
        if not record["is_leaf"]:
            return [record["node"], 0]
        if tensor not in self.accumulators:
            self.accumulators[tensor] = len(self.nodes)
            node = {"name": "AccumulateGrad", "sequence_nr": None, "next": [], "inputs": [], "outputs": [], "saved": []}
            self.nodes.append({**node, "variable": tensor})
            self.factors.append(())
        return [self.accumulators[tensor], 0]

    def op(self, kind: str, name: str, *inputs: int) -> int:
        """Records an op: `Add` or `Mul` of two, or `Tanh`-like ops of one with the factor a half."""
        numbers = [self.number(each) for each in inputs]
        result = {"Add": sum(numbers), "Mul": numbers[0] * numbers[-1]}.get(kind, numbers[0] / 2)
        factors = {"Add": (1.0, 1.0), "Mul": (numbers[-1], numbers[0])}.get(kind, (0.5,))
        nexts = [self.edge(each) for each in inputs]
        output = self.tensor(name, round(result, 4), len(self.nodes), False, True)
        saved = [["self", inputs[0], self.tensors[inputs[0]]["value"]]] if kind == "Mul" else []
        if len(saved) and len(inputs) > 1:
            saved.append(["other", inputs[1], self.tensors[inputs[1]]["value"]])
        self.lines.append(f"{name} = {kind.lower()}({', '.join(str(self.tensors[each]['name']) for each in inputs)})")
        place = {"file": 0, "line": len(self.lines)}
        node = {"name": f"{kind}Backward0", "sequence_nr": len(self.nodes), "next": nexts, "inputs": list(inputs)}
        self.nodes.append({**node, "outputs": [output], "saved": saved, **place})
        self.factors.append(factors)
        event = {"kind": "forward", "op": kind.lower(), "node": len(self.nodes) - 1, "inputs": list(inputs)}
        self.events.append({**event, "outputs": [output], **place, "bytes": [4, 4 * len(self.nodes), 0, 0]})
        if saved:
            self.events.append({"kind": "save", "node": len(self.nodes) - 1, **place})
        return output

    def backward(self, tensor: int) -> None:
        self.lines.append(f"{self.tensors[tensor]['name']}.backward()")
        Pass(self, self.tensors[tensor]["node"], {"file": 0, "line": len(self.lines)}).run()

    def trace(self) -> Json:
        head = {"format": "minigrad-trace", "version": 1, "library": "made by hand"}
        formulas = {"MulBackward0": "    def backward(self, xp, g, a, b):\n        return g * b, g * a\n"}
        body = {"values": self.values, "tensors": self.tensors, "nodes": self.nodes, "formulas": formulas}
        files = [{"name": "cell 1", "lines": self.lines}]
        return {**head, "files": files, **body, "events": self.events, "layout": None}


class Pass:
    """One backward pass in the engine's order, each thing that happens written as an event."""

    def __init__(self, builder: Builder, root: int, place: Json) -> None:
        self.builder, self.root, self.place = builder, root, place
        self.needs = self.count()
        self.sums: dict[int, float] = {root: 1.0}
        self.heap: list[tuple[float, int, int]] = []

    def count(self) -> dict[int, int]:
        needs = {self.root: 0}
        stack = [self.root]
        while stack:
            for edge in self.builder.nodes[stack.pop()]["next"]:
                if edge is not None and edge[0] not in needs:
                    needs[edge[0]] = 0
                    stack.append(edge[0])
                if edge is not None:
                    needs[edge[0]] += 1
        return needs

    def say(self, kind: str, **fields: Any) -> None:
        self.builder.events.append({"kind": kind, **fields, **self.place})

    def run(self) -> None:
        one = self.builder.value(1.0)
        flags = {"create_graph": False, "retain_graph": False, "inputs": None}
        needs = [[node, count] for node, count in self.needs.items()]
        self.say("backward_start", roots=[[self.root, 0, one]], needs=needs, **flags)
        left = dict(self.needs)
        self.ready(self.root)
        while self.heap:
            self.step(heappop(self.heap)[2], left)
        self.say("backward_end")

    def ready(self, node: int) -> None:
        number = self.builder.nodes[node]["sequence_nr"]
        heappush(self.heap, (float("-inf") if number is None else -number, len(self.builder.events), node))
        self.say("ready", node=node)

    def step(self, node: int, left: dict[int, int]) -> None:
        builder, record, gradient = self.builder, self.builder.nodes[node], self.sums.pop(node)
        self.say("run", node=node, gradient=[builder.value(gradient)])
        if "variable" in record:
            grad = builder.value(gradient)
            self.say("accumulate", node=node, tensor=record["variable"], gradient=grad, grad=grad)
            return
        if record["saved"]:
            self.say("release", node=node)
        for index, (edge, factor) in enumerate(zip(record["next"], builder.factors[node], strict=False)):
            if edge is None:
                continue
            flowed = round(gradient * factor, 4)
            self.sums[edge[0]] = round(self.sums.get(edge[0], 0.0) + flowed, 4)
            where = {"node": node, "index": index, "to": edge[0], "output_nr": edge[1]}
            self.say("flow", **where, gradient=builder.value(flowed), sum=builder.value(self.sums[edge[0]]))
            left[edge[0]] -= 1
            if left[edge[0]] == 0:
                self.ready(edge[0])


def diamond() -> Json:
    """x * x, then a sum with another path: the smallest graph where order matters."""
    builder = Builder()
    x, w = builder.leaf("x", 2.0), builder.leaf("w", 3.0)
    c = builder.leaf("c", 5.0, grad=False)
    square = builder.op("Mul", "square", x, x)
    scaled = builder.op("Mul", "scaled", w, square)
    shifted = builder.op("Mul", "shifted", scaled, c)
    builder.backward(builder.op("Add", "loss", shifted, square))
    return builder.trace()


def layers(size: int) -> Json:
    """A long network of about `size` nodes: h = tanh(w * h + b), with a shortcut every second layer."""
    builder = Builder()
    h, at = builder.leaf("x", 1.0), 0
    while len(builder.nodes) < size - 4:
        w, b = builder.leaf(f"w{at}", 1.5), builder.leaf(f"b{at}", 0.5)
        before = h
        h = builder.op("Tanh", f"h{at}", builder.op("Add", f"z{at}", builder.op("Mul", f"p{at}", w, h), b))
        if at % 2:
            h = builder.op("Add", f"r{at}", h, before)
        at += 1
    builder.backward(h)
    return builder.trace()


def fan(width: int) -> Json:
    """One leaf used by `width` ops, whose results are summed in pairs."""
    builder = Builder()
    x = builder.leaf("x", 1.0)
    level = [builder.op("Tanh", f"t{at}", x) for at in range(width)]
    while len(level) > 1:
        twos = zip(level[::2], level[1::2], strict=False)
        pairs = [builder.op("Add", f"s{len(builder.nodes)}", a, b) for a, b in twos]
        level = pairs + level[len(pairs) * 2 :]
    builder.backward(level[0])
    return builder.trace()


def chain(length: int) -> Json:
    """`length` ops in a row."""
    builder = Builder()
    h = builder.leaf("x", 1.0)
    for at in range(length):
        h = builder.op("Tanh", f"h{at}", h)
    builder.backward(h)
    return builder.trace()
