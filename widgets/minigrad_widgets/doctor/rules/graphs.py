"""Graphs that grow or are kept for nothing, checkpoints without a gradient, and who holds most of the memory."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from minigrad.trace.format import memory_text
from minigrad_widgets.doctor.facts import Facts, Pass, at_of
from minigrad_widgets.doctor.findings import Finding, Mend, line_at
from minigrad_widgets.doctor.library import held_tensors
from minigrad_widgets.doctor.source import mentions
from minigrad_widgets.doctor.teaching import CHECKPOINT, CREATE, REENTRANT, RETAIN, STATES

__all__ = ["checkpoints", "growth", "kept", "memory"]

SAVED = 2  # a kind of holder of a storage, in a trace: what a node has saved
SMALL = 1 << 20  # bytes; less is not worth a note


def growth(facts: Facts) -> Iterator[Finding]:
    """`graph-grows`: more nodes live after each iteration than after the one before."""
    alive = facts.recording.alive
    grown = [after - before for before, after in pairwise(alive)]
    if len(grown) < 2 or min(grown) < 1:
        return
    holder = holder_of(facts)
    name = "something outside the step" if holder is None else holder
    where = [] if holder is None else mentions(facts.program, root_name(holder), "this keeps the graph")
    if not where:
        where = line_at(facts.trace, facts.passes[-1].at if facts.passes else None, "the backward pass")
    bare = root_name(holder) if holder else "loss"
    yield Finding("graph-grows", "error", f"{name} holds on to the graph of every step so far: {grown[-1]} more nodes "
                  "are alive after each.", where, {"nodes": alive},
                  released(facts, bare, where[0].source if where else ""),
                  STATES)


def released(facts: Facts, holder: str, source: str) -> list[Mend]:
    """Return what to do about a variable that holds a graph, in the form of the line that stores into it."""
    value = facts.names.get(holder)
    stores = re.fullmatch(r"(.+\.(?:append|add)\(|.+ \+= )([\w.]+)(\)?)(\s*#.*)?", source)
    number = f"{stores[1]}{stores[2]}.item(){stores[3]}" if stores else "value = loss.item()"
    found = [Mend("Keep the number, not the tensor.", number)]
    if isinstance(value, (list, dict, set)):
        return [*found, Mend("If you need a tensor, keep it without its graph.", number.replace(".item()",
                                                                                                  ".detach()"))]
    state = f"{holder} = tuple(t.detach() for t in {holder})" if isinstance(value, tuple) else (
        f"{holder} = {holder}.detach()")
    return [*found, Mend("If it is a state for the next step, detach it.", state)]


def holder_of(facts: Facts) -> str | None:
    """Return the variable that holds most tensors with a graph after the last step."""
    counts: dict[str, int] = defaultdict(int)
    names = {name: value for name, value in facts.names.items() if name}
    own = {id(p) for p in facts.parameters.values()}
    for name, tensor in held_tensors(names, depth=3):
        if tensor.grad_fn is not None and id(tensor) not in own:
            counts[root_name(name)] += 1
    return max(counts, key=lambda name: counts[name]) if counts else None


def root_name(name: str) -> str:
    """Return the variable at the root of `losses[0].total`; for `self.hidden[0]` it is `self.hidden`."""
    start = "self." if name.startswith("self.") else ""
    rest = name.removeprefix("self.")
    for stop in ".[":
        rest = rest.partition(stop)[0]
    return start + rest


def kept(facts: Facts) -> Iterator[Finding]:
    """`kept-graph`: a pass that kept or recorded its graph, which no later pass used."""
    by_line: dict[Any, list[Pass]] = defaultdict(list)
    transforms = {call.at for call in facts.of_kind("transform")}  # which always record, and free it afterwards
    for each in facts.passes:
        if (each.retain or each.create) and each.at not in transforms:
            by_line[each.at].append(each)
    for at, passes in by_line.items():
        if any(is_used(facts, each) for each in passes):
            continue
        how = "create_graph" if passes[0].create else "retain_graph"
        yield Finding("kept-graph", "warning", f"{how}=True keeps the graph and all it saved, but no later pass "
                      "used it.", line_at(facts.trace, at, "kept here"), {"passes": len(passes)},
                      [Mend(f"Leave {how} out.", "loss.backward()"),
                       Mend("If it is there because of an error about a second backward, fix the cause: detach "
                            "what comes from the previous step.", "state = state.detach()")],
                      CREATE if passes[0].create else RETAIN)


def is_used(facts: Facts, kept_pass: Pass) -> bool:
    """Return whether a later pass ran nodes of this one's graph, other than leaves, or nodes that it made."""
    inner = {n for n in kept_pass.needs if "variable" not in facts.nodes[n]}
    if kept_pass.create:
        made = {e["node"] for e in facts.events[kept_pass.step:kept_pass.end] if e["kind"] == "forward"} - {None}
        return any(later.needs & made for later in facts.passes if later.step > kept_pass.step)
    return any(later.needs & inner for later in facts.passes if later.step > kept_pass.step)


def checkpoints(facts: Facts) -> Iterator[Finding]:
    """`checkpoint-without-grad`: PyTorch warns; the line is the one that called checkpoint."""
    told = [w for w in facts.recording.warnings if w.text.startswith("None of the inputs have requires_grad=True")]
    if not told:
        return
    began = [e for e in facts.events if e["kind"] == "checkpoint_begin" and e["reentrant"]]
    lines = dict.fromkeys(at_of(e) for e in began if not has_grad_inputs(facts, e))
    for at in lines or [told[0].at]:
        yield Finding("checkpoint-without-grad", "error", "None of the inputs of this reentrant checkpoint requires "
                      "grad, so nothing inside it gets a gradient.",
                      line_at(facts.trace, at, "checkpointed here"), {},
                      [Mend("Use the non-reentrant checkpoint, which does not need it.",
                            "checkpoint(block, x, use_reentrant=False)"),
                       Mend("Or make an input require grad.", "x.requires_grad_()")], REENTRANT)


def has_grad_inputs(facts: Facts, begin: dict[str, Any]) -> bool:
    """Return whether the results of a checkpointed call have a graph: then one of its inputs required grad."""
    step = facts.events.index(begin)
    for event in facts.events[step:]:
        if event["kind"] == "checkpoint_end" and event["call"] == begin["call"]:
            return False
        if event["kind"] == "forward" and any(
                t is not None and facts.in_graph(t) and not facts.tensors[t]["is_leaf"] for t in event["inputs"]):
            return True
    return False


def memory(facts: Facts) -> Iterator[Finding]:
    """`memory-hog`: one op that holds more than half of what is saved for the backward pass."""
    if not facts.passes:
        return
    peak = max(facts.passes, key=lambda p: saved_bytes(facts, p.step))
    total, by_line, nodes = saved_by_line(facts, max(peak.step - 1, 0))
    if not by_line or total < SMALL:
        return
    at, most = max(by_line.items(), key=lambda item: item[1])
    if len(by_line) < 3 or most * 2 <= total:
        return
    path = facts.path(nodes[at]) or facts.nodes[nodes[at]]["name"]
    yield Finding("memory-hog", "note", f"{path} holds {memory_text(most)} of the {memory_text(total)} that are saved "
                  f"for the backward pass. Checkpointing this line would free up to {memory_text(most)} until the pass "
                  "needs it.",
                  line_at(facts.trace, at, "saved here"), {"bytes": most, "of": total},
                  [Mend("Checkpoint it: it is computed twice and saved once.",
                        "h = checkpoint(block, x, use_reentrant=False)")], CHECKPOINT)


def saved_by_line(facts: Facts, step: int) -> tuple[int, dict[Any, int], dict[Any, int]]:
    """Return the bytes that are saved for the backward pass after an event, all and by the line that made them, and one
    node of each line."""
    total, by_line, nodes = 0, defaultdict[Any, int](int), dict[Any, int]()
    for held in facts.trace.held(step):
        owners = [number for what, number in held["holders"] if what == SAVED and number is not None]
        if held["kind"] != "saved" or not owners:
            continue
        total += held["bytes"]
        key = facts.node_at(min(owners))
        by_line[key] += held["bytes"]
        nodes.setdefault(key, min(owners))
    return total, by_line, nodes


def saved_bytes(facts: Facts, step: int) -> int:
    """Return the bytes that are saved before an event."""
    return next((facts.events[i]["bytes"][2] for i in range(step, -1, -1) if "bytes" in facts.events[i]), 0)
