"""Works out what is known after nodes were called by hand, from the flows of a trace's first pass.

The traversal lens of an inspector plays this game, and lesson 3 sets it as an exercise. The rules are in docs/trace.md
("Lenses"); the front end has the same rules in `frontend/src/trace/traverse.ts`.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypedDict

from minigrad.trace.schema import Parts

__all__ = ["Traversal", "traverse"]

Flow = Mapping[str, Any]


class Pile(TypedDict):
    """What is at a node: how many gradients arrived in full, of how many, and their sum if it is known."""

    arrived: int
    of: int
    gradient: int | None


class Traversal(TypedDict):
    """What is known after some calls. `early`: those that were called too early, with more gradients to come."""

    calls: list[int]
    pending: dict[int, Pile]
    grads: dict[int, int | None]
    early: list[int]
    python: list[str]


class Arrival(NamedTuple):
    """A gradient that arrived at a node: its recorded flow (None for a root's), its value, and how Python names it."""

    flow: Flow | None
    gradient: int | None
    output_nr: int
    expression: str


class Pass:
    """What the first pass of a trace says about its graph."""

    def __init__(self, trace: Parts) -> None:
        at = next((i for i, e in enumerate(trace.events) if e["kind"] == "backward_start"), None)
        if at is None:
            raise ValueError("no backward pass was recorded: there is no root to start calling from")
        self.start = trace.events[at]
        self.needs: dict[int, int] = dict(self.start["needs"])
        self.leaving: dict[int, list[Flow]] = {}
        self.arriving: dict[int, list[Flow]] = {}
        self.grads: dict[int, int | None] = {}
        self.inputs: dict[int, int] = {}  # how many gradients a node takes
        for event in trace.events[at + 1:]:
            if event.get("depth", 0) != self.start.get("depth", 0):
                continue
            if event["kind"] in ("backward_end", "backward_start"):
                break
            if event["kind"] == "flow":
                self.leaving.setdefault(event["node"], []).append(event)
                self.arriving.setdefault(event["to"], []).append(event)
            elif event["kind"] == "accumulate":
                self.grads[event["node"]] = event["grad"]
            elif event["kind"] == "run":
                self.inputs[event["node"]] = len(event["gradient"])


class Walk:
    """The state of the game; `call` makes one call."""

    def __init__(self, trace: Parts, library: str) -> None:
        self.trace, self.recorded = trace, Pass(trace)
        self.calls: list[int] = []
        self.early: list[int] = []
        self.grads: dict[int, int | None] = {}
        self.arrived: dict[int, list[Arrival]] = {}
        self.names: dict[int, str] = {}  # node: how Python reaches it
        self.python = ["import torch" if library.startswith("torch") else "import minigrad as torch"]
        for node, output_nr, value in self.recorded.start["roots"]:
            tensor = self.root(node, output_nr)
            self.arrived.setdefault(node, []).append(Arrival(None, value, output_nr, self.gradient(tensor, value)))
        self.roots = {node: len(found) for node, found in self.arrived.items()}
        self.finished: set[int] = set()  # all their gradients have arrived, and were passed on

    def call(self, node: int) -> None:
        """Call a node with what has arrived there; if nothing has, do nothing."""
        here = self.arrived.pop(node, None)
        if here is None:
            return
        pile = self.pile(node, here)
        early = pile["arrived"] < pile["of"]
        known = not early and node not in self.calls and pile["gradient"] is not None
        if early and node not in self.early:
            self.early.append(node)
        self.calls.append(node)
        self.write_call(node, here)
        for flow in self.recorded.leaving.get(node, ()):
            many = len(self.trace.nodes[node]["next"]) > 1
            expression = f"r{len(self.calls)}[{flow['index']}]" if many else f"r{len(self.calls)}"
            self.names.setdefault(flow["to"], f"{self.names[node]}.next_functions[{flow['index']}][0]")
            self.arrived.setdefault(flow["to"], []).append(
                Arrival(flow, flow["gradient"] if known else None, flow["output_nr"],
                        "" if flow["gradient"] is None else expression))
        variable = self.trace.nodes[node].get("variable")
        if variable is not None:
            self.grads[variable] = None
        self.finish(node)

    def finish(self, node: int) -> None:
        """Note that nothing more will come through a node, nor through those that it was the last to feed.

        A backward pass is linear in its gradients: what passed through a node in parts adds up to what the engine
        passes on at once.
        """
        left = [node]
        while left:
            node = left.pop()
            if node in self.finished or node in self.arrived or node not in self.calls or not self.is_complete(node):
                continue
            self.finished.add(node)
            variable = self.trace.nodes[node].get("variable")
            if variable is not None:
                self.grads[variable] = self.recorded.grads.get(node)
            if node in self.early:
                self.early.remove(node)
            left += [flow["to"] for flow in self.recorded.leaving.get(node, ())]

    def arrivals(self, node: int) -> tuple[int, int]:
        """Return how many gradients have arrived at a node in full, of how many."""
        flows, roots = self.recorded.arriving.get(node, ()), self.roots.get(node, 0)
        return sum(flow["node"] in self.finished for flow in flows) + roots, max(1, self.recorded.needs.get(node, 1))

    def is_complete(self, node: int) -> bool:
        """Return whether nothing more will come to a node."""
        arrived, of = self.arrivals(node)
        return arrived >= of

    def pile(self, node: int, here: Sequence[Arrival]) -> Pile:
        """Return what is at a node, as `traverse` returns it."""
        arrived, of = self.arrivals(node)
        return {"arrived": arrived, "of": of, "gradient": self.sum(node, here)}

    def sum(self, node: int, here: Sequence[Arrival]) -> int | None:
        """Return the value of the sum at a node, where the trace holds this very sum."""
        recorded = self.recorded.arriving.get(node, [])
        if recorded and node not in self.calls and self.is_complete(node):
            return self.total(recorded)
        if any(a.gradient is None for a in here):
            return None
        if len(here) == 1:
            return here[0].gradient
        flows = [a.flow for a in here if a.flow is not None]
        if not flows or len(here) - len(flows) != self.roots.get(node, 0):
            return None
        if all(f is r for f, r in zip(flows, recorded, strict=False)):
            return self.total(recorded[: len(flows)])
        return None

    @staticmethod
    def total(flows: Sequence[Flow]) -> int | None:
        """Return the recorded sum after these flows, the first ones that arrived at a node."""
        total: int | None = flows[-1]["sum"]
        return total

    # the same calls in Python
    def root(self, node: int, output_nr: int) -> str:
        """Return the name of the tensor whose node a pass starts from; the node is then reached from it."""
        record = self.trace.nodes[node]
        found = [record["variable"]] if "variable" in record else [
            i for i, t in enumerate(self.trace.tensors) if t["node"] == node and t["output_nr"] == output_nr]
        names = [name for i in found if (name := self.trace.tensors[i]["name"])]
        name = names[0] if names else f"tensor_{found[0] if found else node}"
        if not names:
            self.python.append(f"# {name} stands for the tensor that backward() was called on: it has no name")
        leaf = "variable" in record  # a leaf's AccumulateGrad can be reached through a view
        self.names.setdefault(node, f"{name}.view_as({name}).grad_fn.next_functions[0][0]" if leaf
                              else f"{name}.grad_fn")
        return name

    def gradient(self, tensor: str, value: int | None) -> str:
        """Return the Python expression of a root's gradient."""
        if value is None:
            return "None"
        shown = self.trace.values[value]
        data = shown.get("data", [shown["stats"]["min"], shown["stats"]["max"]] if "stats" in shown else [])
        if all(x == 1 for x in data):
            return f"torch.ones_like({tensor})"
        if len(set(map(str, data))) == 1 and not isinstance(data[0], str):
            return f"torch.full_like({tensor}, {data[0]!r})"
        if "data" not in shown:
            name = "gradient_of_" + re.sub(r"\W", "_", tensor)
            self.python.append(f"# {name} stands for the gradient that backward() was given: "
                               "it is too large to be written here")
            return name
        numbers = ", ".join(f"float({x!r})" if isinstance(x, str) else repr(x) for x in data)
        return f"torch.tensor([{numbers}], dtype=torch.{shown['dtype']}).reshape({tuple(shown['shape'])})"

    def write_call(self, node: int, here: Sequence[Arrival]) -> None:
        """Write the line of Python that makes this call."""
        record = self.trace.nodes[node]
        if self.names[node] != f"n{node}":
            self.python.append(f"n{node} = {self.names[node]}  # {record['name']}")
            self.names[node] = f"n{node}"
        arguments = []
        for output_nr in range(self.recorded.inputs.get(node, max(1, len(record["outputs"])))):
            parts = [a.expression for a in here if a.output_nr == output_nr and a.expression]
            arguments.append(" + ".join(parts) or "None")
        result = "" if "variable" in record else f"r{len(self.calls)} = "
        self.python.append(f"{result}n{node}({', '.join(arguments)})")


def traverse(trace: Parts, library: str, calls: Sequence[int]) -> Traversal:
    """Return what is known after calling these nodes by hand, in this order. Raises ValueError if no backward pass was
    recorded, or there is no such node."""
    walk = Walk(trace, library)
    for node in calls:
        if not 0 <= node < len(trace.nodes):
            raise ValueError(f"there is no node {node}: this trace has {len(trace.nodes)} nodes")
        walk.call(node)
    return {"calls": walk.calls, "pending": {n: walk.pile(n, here) for n, here in walk.arrived.items()},
            "grads": walk.grads, "early": walk.early, "python": walk.python}
