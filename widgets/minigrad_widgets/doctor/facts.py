"""Makes a recording easy to query: what made each tensor, what became of it, which parameters a backward pass reached.

NOTE (what nobody kept). In `torch.tanh(x).detach()` nobody keeps the result of tanh. PyTorch's reader reports an op
when the next thing happens, and the result is gone by then: its record has no node, and the `detach` has no operand.
The operand is the result of the op before it.
"""

from __future__ import annotations

import inspect
import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from minigrad_widgets.doctor.findings import Place, line_at
from minigrad_widgets.doctor.library import Loose, Named
from minigrad_widgets.doctor.recording import Recording
from minigrad_widgets.doctor.watch import At, Call

__all__ = ["Cut", "Facts", "Pass", "at_of", "finite"]

Event = dict[str, Any]
LIKE_CONSTANTS = frozenset({"zeros_like", "ones_like", "empty_like", "full_like", "rand_like", "randn_like", "shape",
                            "size"})


class Cut(NamedTuple):
    """A place where values left their graph: by an op, or by a call that took them out."""

    op: str
    at: At | None
    sources: tuple[int, ...]
    results: tuple[int, ...]
    order: int  # the number of the first result, or how many tensors there were


class Pass(NamedTuple):
    """A backward pass that the user asked for."""

    step: int  # the index of its first event
    end: int  # the index of its last one
    iteration: int
    at: At | None
    roots: tuple[int, ...]  # nodes
    needs: frozenset[int]  # nodes
    retain: bool
    create: bool


class Facts:
    """A recording, with what the doctor was given: `models`, `optimizers`, the program and its variables."""

    def __init__(self, recording: Recording, models: Sequence[Named] = (), optimizers: Sequence[Named] = (),
                 names: dict[str, Any] | None = None, program: Any = None) -> None:
        self.recording, self.models, self.optimizers = recording, models, optimizers
        self.names, self.program = {} if names is None else names, program
        self.trace, self.calls = recording.trace, recording.calls
        self.events, self.nodes, self.tensors = self.trace.events, self.trace.nodes, self.trace.tensors
        self.moved: set[int] = set()  # the id() of each parameter that has other values than before
        self.loose: list[Loose] = []
        self.required: dict[int, bool] = {}  # by id() of each parameter, whether it required grad before

    # time
    def iteration(self, step: int) -> int:
        """Return the iteration in which an event happened."""
        return max(sum(start <= step for start in self.recording.starts) - 1, 0)

    @cached_property
    def forwards(self) -> list[tuple[int, Event]]:
        """The ops of the user's code, outside passes, with their steps."""
        found: list[tuple[int, Event]] = []
        for i, e in enumerate(self.events):
            if e["kind"] == "forward" and not e.get("depth"):
                if e["op"] == "detach" and e["inputs"] == [None] and found:
                    e = {**e, "inputs": found[-1][1]["outputs"][:1]}  # NOTE (what nobody kept)
                found.append((i, e))
        return found

    @cached_property
    def passes(self) -> list[Pass]:
        """The backward passes, in order; those inside others are left out."""
        found: list[Pass] = []
        for i, e in enumerate(self.events):
            if e["kind"] == "backward_start" and not e.get("depth"):
                end = next((j for j in range(i, len(self.events)) if self.events[j]["kind"] in ("backward_end", "error")
                            and not self.events[j].get("depth")), len(self.events) - 1)
                found.append(Pass(i, end, self.iteration(i), at_of(e), tuple(r[0] for r in e["roots"]),
                                  frozenset(n for n, _ in e["needs"]), e["retain_graph"], e["create_graph"]))
        return found

    # tensors
    @cached_property
    def made_by(self) -> dict[int, tuple[int, Event]]:
        """By tensor, the op that made it; for one that in-place ops have changed, still the first."""
        found: dict[int, tuple[int, Event]] = {}
        for step, event in self.forwards:
            for tensor in event["outputs"]:
                if tensor not in event["inputs"]:
                    found.setdefault(tensor, (step, event))
        return found

    @cached_property
    def moves(self) -> tuple[dict[int, set[int]], dict[int, set[int]]]:
        """Which tensors were computed from which, and the reverse, whether inside a graph or not."""
        forth: dict[int, set[int]] = defaultdict(set)
        back: dict[int, set[int]] = defaultdict(set)
        pairs = [(e["inputs"], e["outputs"]) for _, e in self.forwards]
        pairs += [(cut.sources, cut.results) for cut in self.cuts if cut.results]
        pairs += [((call.tensor,), (call.result,)) for call in self.of_kind("flow")]
        for given, made in pairs:
            for source in given:
                for result in made:
                    if source is not None and source != result:
                        forth[source].add(result)
                        back[result].add(source)
        return forth, back

    def reached_from(self, tensors: Iterable[int], graph_only: bool = False) -> set[int]:
        """Return the tensors that were computed from these, including these; `graph_only`: by recorded ops only."""
        if graph_only:
            return closure(tensors, self.graph_moves)
        return closure(tensors, self.moves[0])

    def sources_of(self, tensors: Iterable[int]) -> set[int]:
        """Return the tensors that these were computed from, including these."""
        return closure(tensors, self.moves[1])

    @cached_property
    def graph_moves(self) -> dict[int, set[int]]:
        """Which tensors were computed from which by recorded ops, with gradients flowing between the two."""
        found: dict[int, set[int]] = defaultdict(set)
        for _, event in self.forwards:
            if event["node"] is not None:
                made = [t for t in event["outputs"] if self.in_graph(t)]
                for source in event["inputs"]:
                    if source is not None and self.in_graph(source):
                        found[source].update(t for t in made if t != source)
        return found

    def in_graph(self, tensor: int) -> bool:
        """Return whether a tensor takes part in a graph."""
        record = self.tensors[tensor]
        return bool(record["requires_grad"]) or record["node"] is not None or tensor in self.recorded_first

    @cached_property
    def recorded_first(self) -> set[int]:
        """The first results of recorded ops, including results that nobody kept."""
        return {e["outputs"][0] for _, e in self.forwards if e["node"] is not None and e["outputs"]}

    def outputs_of(self, node: int) -> list[int]:
        """Return the tensors that a node has made."""
        return [t for t in self.nodes[node]["outputs"] if t is not None]

    def name(self, tensor: int) -> str:
        """Return what a tensor is called: by its model, else by the trace."""
        known = self.parameter_names.get(tensor) or self.tensors[tensor]["name"]
        return known or f"a tensor of shape {tuple(self.tensors[tensor]['shape'])}"

    def value(self, index: int | None) -> dict[str, Any] | None:
        """Return the preview of an array."""
        return None if index is None else self.trace.values[index]

    @cached_property
    def not_finite(self) -> set[int | None]:
        """The indices of the values with an entry that is not finite."""
        return {index for index, value in enumerate(self.trace.values) if not finite(value)}

    @cached_property
    def callers(self) -> dict[Place, list[Place]]:
        """The user's lines that led to a line of an installed package, by that line, all without a role."""
        return {place: [each for at in users for each in line_at(self.trace, at, "")]
                for package, users in self.recording.callers.items() for place in line_at(self.trace, package, "")}

    # parameters
    @cached_property
    def parameters(self) -> dict[str, Any]:
        """The parameters of the models that require grad, by name; a shared one has its first name."""
        found: dict[int, tuple[str, Any]] = {}
        for name, model in self.models:
            for path, parameter in model.named_parameters():
                if parameter.requires_grad:
                    found.setdefault(id(parameter), (f"{name}.{path}", parameter))
        return dict(found.values())

    @cached_property
    def parameter_names(self) -> dict[int, str]:
        """The names of the parameters, by their numbers in the trace."""
        numbers = self.recording.numbers
        return {numbers[id(p)]: name for name, p in [
            *((each.name, each.tensor) for each in self.loose), *self.parameters.items()] if id(p) in numbers}

    @cached_property
    def leaves_with_gradient(self) -> set[int]:
        """The leaves that got a gradient, or whose gradient `autograd.grad` returned."""
        found = {e["tensor"] for e in self.events if e["kind"] in ("accumulate", "capture") and e["tensor"] is not None}
        return found | {self.nodes[n]["variable"] for p in self.passes for n in p.needs
                        if "variable" in self.nodes[n] and n not in self.without_gradient}

    @cached_property
    def without_gradient(self) -> set[int]:
        """The nodes that ran without ever receiving a gradient: a backward above them returned None."""
        runs = [e for e in self.events if e["kind"] == "run"]
        return {e["node"] for e in runs} - {e["node"] for e in runs if any(g is not None for g in e["gradient"])}

    @cached_property
    def trained(self) -> set[int]:
        """The id() of each parameter that an optimizer holds."""
        return {id(p) for _, optimizer in self.optimizers for group in optimizer.param_groups for p in group["params"]}

    @cached_property
    def functions(self) -> list[Any]:
        """The functions whose text is that of the step: itself, those that it mentions, and those of its object."""
        found = [self.program, *(value for value in self.names.values() if inspect.isroutine(value))]
        return found + [each for each in vars(type(self.names.get("self"))).values() if inspect.isfunction(each)]

    # cuts
    @cached_property
    def cuts(self) -> list[Cut]:
        """Where values left their graph, in order."""
        found = []
        for _, event in self.forwards:
            given = tuple(t for t in event["inputs"] if t is not None and self.in_graph(t))
            made = tuple(t for t in event["outputs"] if t not in event["inputs"])
            if event["node"] is None and given and made and event["op"] not in LIKE_CONSTANTS:
                found.append(Cut(event["op"], at_of(event), given, made, made[0]))
        known = {t for cut in found for t in cut.results}
        for call in self.of_kind("cut"):
            if call.result is None or call.result not in known:
                results = () if call.result is None else (call.result,)
                found.append(Cut(call.subject, call.at, (call.tensor or 0,), results, call.order))
        return sorted(found, key=lambda cut: cut.order)

    @cached_property
    def own_names(self) -> dict[str, str]:
        """What the program calls its optimizer, its model and its loss, if it has names for them."""
        found = {"optimizer": [o.name for o in self.optimizers], "model": [m.name for m in self.models],
                 "loss": [name for call in self.of_kind("backward") if call.tensor is not None
                          and (name := self.tensors[call.tensor]["name"] or "").isidentifier()]}
        for call in self.of_kind("backward"):
            if call.at is not None and not found["loss"]:
                lines = self.trace.files[call.at[0]]["lines"][call.at[1] - 1:]  # none for code without a file
                found["loss"] = re.findall(r"(\w+)\.backward\(", lines[0] if lines else "")
        return {usual: own[0] for usual, own in found.items() if own}

    def of_kind(self, *kinds: str) -> list[Call]:
        """Return the calls of some kinds."""
        return [call for call in self.calls if call.kind in kinds]

    def without_grad(self, order: int) -> At | None:
        """Return the line of the innermost `no_grad` block that was on when `order` tensors had been seen."""
        open_blocks: list[At | None] = []
        for call in self.of_kind("grad_off", "grad_on"):
            if call.order > order:
                break
            if call.kind == "grad_off":
                open_blocks.append(call.at)
            elif open_blocks:
                open_blocks.pop()
        return open_blocks[-1] if open_blocks else None

    # modules
    def path(self, node: int | None, event: Event | None = None) -> str:
        """Return the path of the module in which an op ran, or an empty string."""
        scope = None if node is None else self.nodes[node].get("scope")
        if scope is None and event is not None:
            scope = event.get("scope")
        parts: list[str] = []
        while scope is not None:
            record = self.trace.scopes[scope]
            parts.append(record["name"] or record["module"])
            scope = record["parent"]
        return ".".join(reversed(parts))

    def node_at(self, node: int) -> At | None:
        """Return the user's line that made a node."""
        record = self.nodes[node]
        if record.get("line") is None:
            return None
        return record["file"], record["line"]

    def norm(self, value: int | None) -> float | None:
        """Return the norm of an array; None if it is unknown, inf if it is not finite."""
        preview = self.value(value)
        if preview is None:
            return None
        if "data" in preview:
            data = [float(x) for x in preview["data"] if not isinstance(x, str) or x in ("nan", "inf", "-inf")]
            total = math.sqrt(sum(x * x for x in data)) if all(math.isfinite(x) for x in data) else math.inf
            return total
        norm = preview["stats"]["norm"]
        return math.inf if isinstance(norm, str) else norm

    def walk(self) -> Iterator[tuple[int, Event]]:
        """Return all events, with their steps."""
        return iter(enumerate(self.events))


def closure(start: Iterable[int], edges: dict[int, set[int]]) -> set[int]:
    """Return everything that can be reached from `start`."""
    found = set(start)
    waiting = list(found)
    while waiting:
        fresh = edges.get(waiting.pop(), set()) - found
        found |= fresh
        waiting += fresh
    return found


def at_of(event: Event) -> At | None:
    """Return the user's line of an event."""
    return (event["file"], event["line"]) if event.get("file") is not None else None


def finite(preview: dict[str, Any] | None) -> bool:
    """Return whether all entries of an array are finite."""
    if preview is None:
        return True
    if "data" in preview:
        return not any(isinstance(x, str) and x in ("nan", "inf", "-inf") for x in preview["data"])
    return not preview["stats"]["nan"] and not preview["stats"]["inf"]
