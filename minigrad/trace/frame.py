"""Folds the events of a trace into frames, the state after each event, by the rules of docs/trace.md.

The front end has the same fold in `frontend/src/trace/frame.ts`; a golden test checks that both agree.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypedDict

from minigrad.trace.schema import EVENTS, PASS

__all__ = ["Fold", "Frame"]

SAVED = 2  # the kind of a holder that is a node which has saved a tensor


class Frame(TypedDict):
    """The state of the world after one event."""

    step: int
    kind: str
    file: int | None
    line: int | None
    depth: int
    lit: int | None
    status: dict[int, str]
    needs: dict[int, int]
    ready: list[int]
    pending: dict[int, list[int | None]]
    edges: dict[str, int | None]
    saved: dict[int, str]
    grads: dict[int, int | None]
    versions: dict[int, int]
    rebased: dict[int, int]
    recomputed: list[int]
    hooked: list[int]
    gradient: int | None
    bytes: list[int] | None


class Outer(NamedTuple):
    """The state of an outer pass, restored when a nested one is over."""

    depth: int
    status: dict[int, str]
    needs: dict[int, int]
    queue: dict[int, tuple[int, int]]
    pending: dict[int, list[int | None]]
    running: int | None


class Fold:
    """The state after `step`; `apply` advances it by one event."""

    def __init__(self, nodes: Sequence[Mapping[str, Any]], tensors: Sequence[Mapping[str, Any]]) -> None:
        self.nodes, self.tensors = nodes, tensors
        self.step = -1
        self.status: dict[int, str] = {}
        self.needs: dict[int, int] = {}
        self.queue: dict[int, tuple[int, int]] = {}  # ready node: its place in the order
        self.pending: dict[int, list[int | None]] = {}
        self.edges: dict[str, int | None] = {}
        self.saved: dict[int, str] = {}
        self.grads: dict[int, int | None] = {}
        self.versions: dict[int, int] = {}
        self.families: list[list[int]] = []  # by tensor: those with the same version counter
        self.rebased: dict[int, int] = {}
        self.recomputed: dict[int, None] = {}
        self.hooked: dict[int, None] = {}  # the nodes at which a hook of the program has run in this pass
        self.keeps: dict[int, int] = {}  # by node: how many storages it holds as saved
        self.again = 0  # how many functions run again, one inside the other
        self.bytes: list[int] | None = None
        self.running: int | None = None
        self.depth = 0  # that of the pass that this state describes
        self.outer: list[Outer] = []

    def apply(self, event: Mapping[str, Any]) -> None:
        """Fold in the next event."""
        self.step += 1
        self.bytes = event.get("bytes", self.bytes)
        kind = event["kind"]
        if kind in PASS:
            self.leave(event.get("depth", 0))
        rule = RULES.get(kind)
        if rule is not None:
            rule(self, event)
        for holders, more in (event.get("held", ()), 1), (event.get("dropped", ()), -1):
            for _, what, node in holders:
                if what == SAVED and node is not None:
                    self.keep(node, more)

    def keep(self, node: int, more: int) -> None:
        """A node holds one storage more or less; one that is gone has let go of all, without an event of its own."""
        self.keeps[node] = self.keeps.get(node, 0) + more
        if self.keeps[node] == 0 and self.saved.get(node) == "held":
            self.saved[node] = "released"

    def frame(self, event: Mapping[str, Any]) -> Frame:
        """Return the state, as a copy; `event` is the last one that was applied."""
        gradient = event.get("gradient")
        if event["kind"] in ("run", "hook", "call"):
            gradient = gradient[0] if gradient else None
        elif event["kind"] not in ("flow", "accumulate", "capture"):
            gradient = None
        return {
            "step": self.step, "kind": event["kind"], "file": event.get("file"), "line": event.get("line"),
            "depth": event.get("depth", 0), "lit": event.get("node"), "status": dict(self.status),
            "needs": dict(self.needs), "ready": sorted(self.queue, key=self.queue.__getitem__),
            "pending": {node: list(piled) for node, piled in self.pending.items()}, "edges": dict(self.edges),
            "saved": dict(self.saved), "grads": dict(self.grads), "versions": dict(self.versions),
            "rebased": dict(self.rebased), "recomputed": list(self.recomputed), "hooked": list(self.hooked),
            "gradient": gradient,
            "bytes": None if self.bytes is None else list(self.bytes)}

    # the rules, one per kind of event
    def forward(self, event: Mapping[str, Any]) -> None:
        node = event["node"]
        if node is None:
            return
        self.status[node] = "recorded"
        if self.again:
            self.recomputed[node] = None
        for tensor, _, after in event.get("rebased", ()):
            self.rebased[tensor] = after
            self.status.setdefault(after, "recorded")
        for edge in self.nodes[node]["next"]:
            if edge is not None and "variable" in self.nodes[edge[0]]:
                self.status.setdefault(edge[0], "recorded")

    def save(self, event: Mapping[str, Any]) -> None:
        self.saved[event["node"]] = "held"

    def release(self, event: Mapping[str, Any]) -> None:
        self.saved[event["node"]] = "released"

    def version(self, event: Mapping[str, Any]) -> None:
        if len(self.families) != len(self.tensors):
            self.families = families(self.tensors)
        for tensor in self.families[event["tensor"]]:
            self.versions[tensor] = event["version"]

    def recompute_begin(self, event: Mapping[str, Any]) -> None:
        self.again += 1

    def recompute_end(self, event: Mapping[str, Any]) -> None:
        self.again = max(0, self.again - 1)

    def backward_start(self, event: Mapping[str, Any]) -> None:
        depth = event.get("depth", 0)
        if depth > self.depth:
            self.outer.append(Outer(self.depth, dict(self.status), self.needs, self.queue, self.pending, self.running))
        self.depth, self.running = depth, None
        self.queue, self.pending, self.edges, self.hooked = {}, {}, {}, {}
        self.needs = dict(event["needs"])
        self.status = {**dict.fromkeys(self.status, "recorded"), **dict.fromkeys(self.needs, "waiting")}
        for node, output_nr, value in event["roots"]:
            self.pile(node, output_nr, value)
        for node in {root[0] for root in event["roots"]} & self.needs.keys():  # one has come: the one that is piled up
            self.needs[node] = max(0, self.needs[node] - 1)

    def ready(self, event: Mapping[str, Any]) -> None:
        node = event["node"]
        self.status[node] = "ready"
        self.needs.pop(node, None)
        newest = self.nodes[node]["sequence_nr"]
        self.queue[node] = (0, self.step) if newest is None else (1, -newest)

    def run(self, event: Mapping[str, Any]) -> None:
        self.queue.pop(event["node"], None)
        self.pending.pop(event["node"], None)
        self.call(event)

    def call(self, event: Mapping[str, Any]) -> None:
        self.finish()
        self.running = event["node"]
        self.status[event["node"]] = "running"

    def flow(self, event: Mapping[str, Any]) -> None:
        self.edges[f"{event['node']}:{event['index']}"] = event["gradient"]
        self.pile(event["to"], event["output_nr"], event["sum"])
        if event["to"] in self.needs:
            self.needs[event["to"]] -= 1

    def accumulate(self, event: Mapping[str, Any]) -> None:
        self.grads[event["tensor"]] = event["grad"]

    def grad(self, event: Mapping[str, Any]) -> None:
        self.grads[event["tensor"]] = event["grad"]
        if event["grad"] is None:
            del self.grads[event["tensor"]]

    def collective_end(self, event: Mapping[str, Any]) -> None:
        self.grads.update(event.get("grads", ()))

    def hook(self, event: Mapping[str, Any]) -> None:
        if event["hook"] != "retain_grad":
            self.hooked[event["node"]] = None
        elif event["tensor"] is not None:
            self.grads[event["tensor"]] = event.get("grad")

    def backward_end(self, event: Mapping[str, Any]) -> None:
        if self.outer and self.depth > self.outer[-1].depth:
            self.restore()
        else:
            self.finish()
            self.needs, self.queue, self.pending = {}, {}, {}

    # parts of the rules
    def pile(self, node: int, output_nr: int, value: int | None) -> None:
        piled = self.pending.setdefault(node, [])
        piled.extend([None] * (output_nr + 1 - len(piled)))
        piled[output_nr] = value

    def finish(self) -> None:
        if self.running is not None:
            self.status[self.running] = "done"
            self.running = None

    def leave(self, depth: int) -> None:
        """Return to an outer pass, of which this is an event: an error has ended the nested ones."""
        while self.outer and self.depth > depth:
            self.restore()

    def restore(self) -> None:
        outer = self.outer.pop()
        self.depth, self.needs, self.queue, self.pending, self.running = outer.depth, *outer[2:]
        self.status = {**dict.fromkeys(self.status, "recorded"), **outer.status}


def families(tensors: Sequence[Mapping[str, Any]]) -> list[list[int]]:
    """For each tensor, those with the same version counter: itself, its views, and what was detached from it."""
    found: list[list[int]] = []
    for index, record in enumerate(tensors):
        root = record.get("base", record.get("counter", index))
        found.append(found[root] if root < index else [])
        found[index].append(index)
    return found


RULES: dict[str, Callable[[Fold, Mapping[str, Any]], None]] = {
    kind: getattr(Fold, kind) for kind in EVENTS if hasattr(Fold, kind)}  # a rule has the name of its kind
