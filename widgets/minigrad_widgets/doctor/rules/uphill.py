"""Updates that go uphill: the sign with which a loss is minimised, told by the gradients that reach it."""

from __future__ import annotations

from collections import deque
from collections.abc import Container, Iterable, Iterator
from itertools import pairwise
from typing import Any

from minigrad_widgets.doctor.facts import Facts, Pass, at_of
from minigrad_widgets.doctor.findings import Finding, Mend, line_at
from minigrad_widgets.doctor.source import assigned
from minigrad_widgets.doctor.teaching import OPTIMIZERS
from minigrad_widgets.doctor.updates import aligned
from minigrad_widgets.doctor.watch import At

__all__ = ["loss_rises"]

LOSSES = frozenset({"nll_loss", "mse_loss", "cross_entropy"})
LIKELIHOODS = frozenset({"log_softmax", "_log_softmax"})
CHOICES = frozenset({"gather", "index", "index_select"})  # of the label's entry


def loss_rises(facts: Facts) -> Iterator[Finding]:
    """`loss-rises`: `maximize`, a loss that is the negative of a known one, or an update by hand along the gradient."""
    if facts.recording.error is not None or not facts.passes or len(facts.optimizers) > 1:
        return
    if facts.parameters and facts.trained and not facts.trained & {id(p) for p in facts.parameters.values()}:
        return  # an input is changed so that the model fails
    first = facts.passes[0]
    found = sign_of(facts, first)
    if found is None:
        return
    sign, at = found
    uphill = [name for name, each in facts.optimizers if any(g.get("maximize") for g in each.param_groups)]
    if uphill:
        sign, where = -sign, assigned(facts.program, uphill[0], "maximize=True")
    elif added := by_hand(facts):
        sign, where = -sign, line_at(facts.trace, added[0], "adds the gradient")
    else:
        where = line_at(facts.trace, at, "its sign is turned here")
    if sign < 0:
        yield Finding("loss-rises", "error", "The update goes uphill: it makes the loss larger, not smaller.",
                      where + [p for p in line_at(facts.trace, first.at, "backward starts here") if p not in where], {},
                      [Mend("Minimise the loss itself: no minus before it, no maximize, and subtract the gradient.",
                            "loss.backward()\noptimizer.step()")], OPTIMIZERS)


def sign_of(facts: Facts, first: Pass) -> tuple[int, At | None] | None:
    """Return the sign with which a backward pass starts from the losses in its graph, and the line that decided it;
    None if none of them is known, or if they differ."""
    arriving = {e["node"]: direction(facts, e["gradient"]) for e in facts.events[first.step:first.end]
                if e["kind"] == "run"}
    names, lines = ({getattr(loss, part) for loss in facts.recording.losses} for part in ("name", "at"))
    made = {e["node"]: e for _, e in facts.forwards if arriving.get(e["node"])}
    known = {node for node, e in made.items() if e["op"] in names or at_of(e) in lines and e["op"] in LOSSES}
    rises = not known  # without a loss, a likelihood of the labels, which is to rise
    ways = ways_to(facts, first.roots, known or {node for node, e in made.items() if e["op"] in LIKELIHOODS})
    if rises:
        ways = [way for way in ways if any(made[node]["op"] in CHOICES for node in way if node in made)]
    told = [turned(facts, way, arriving, set().union(*ways)) for way in ways]
    signs = {None if each is None else each[0] for each in told}
    if len(signs) != 1 or None in signs:
        return None
    sign, at = told[0] or (0, None)
    return (-sign if rises else sign), at or (first.at if arriving[ways[0][0]] < 0 else facts.node_at(ways[0][0]))


def turned(facts: Facts, way: list[int], arriving: dict[int, int], known: Container[int]) -> (
        tuple[int, At | None] | None):
    """Return the sign with which the last node of a way is in the first, and the last line that turned it; None where a
    factor from elsewhere decides it, as the advantage of an action does, or another addend is what is minimised."""
    at, beside = None, False
    for node, after in pairwise(way):
        record = facts.nodes[node]
        factors = [t for t in record["inputs"] if t is not None and facts.tensors[t]["node"] != after]
        if record["name"].startswith(("Mul", "Div")) and any(
                facts.tensors[t]["shape"] or direction(facts, [facts.tensors[t]["value"]]) < 1 for t in factors):
            return None
        beside = beside or record["name"].startswith(("Add", "Sub")) and any(
            edge is not None and edge[0] not in known for edge in record["next"])
        if arriving.get(node, 0) * arriving.get(after, 0) < 0:
            if beside:
                return None
            at = facts.node_at(node)
    return arriving[way[-1]], at


def ways_to(facts: Facts, roots: Iterable[int], wanted: Container[int]) -> list[list[int]]:
    """Return a way from a root to each of some nodes of a graph, without those that lie behind another one of them."""
    found, seen = [], set(roots)
    waiting = deque([root] for root in seen)
    while waiting:
        way = waiting.popleft()
        if way[-1] in wanted:
            found.append(way)
            continue
        fresh = {edge[0]: None for edge in facts.nodes[way[-1]]["next"] if edge is not None and edge[0] not in seen}
        seen.update(fresh)
        waiting += [[*way, node] for node in fresh]
    return found


def direction(facts: Facts, values: Iterable[int | None]) -> int:
    """Return 1 where some entries of arrays are positive and none is negative, -1 the other way round, else 0."""
    signs = set()
    for preview in map(facts.value, values):
        stats = {} if preview is None else preview.get("stats", {})
        signs |= {(x > 0) - (x < 0) for x in [*(preview or {}).get("data", ()), *(
            stats[name] for name in ("min", "max") if name in stats)] if isinstance(x, (int, float))}
    return sum(signs)


def by_hand(facts: Facts) -> list[Any]:
    """Return the lines of updates without an optimizer that go along the gradient: `p += lr * p.grad`. Known are the
    first change of a leaf, and its gradient."""
    end = facts.recording.starts[1] if len(facts.recording.starts) > 1 else len(facts.events)
    received: dict[int, list[Any]] = {}
    for event in facts.events[:end]:
        if event["kind"] == "accumulate" and event["tensor"] is not None:
            received.setdefault(event["tensor"], []).append(facts.value(event["gradient"]))
    along = {tensor for tensor, given in received.items() if len(given) == 1
             and aligned(facts.recording.changes.get(tensor), given[0])}
    lines = [at_of(e) for _, e in facts.forwards if e["op"].endswith("_") and e["inputs"][0] in along]
    return lines or [None] * len(along)
