"""Explains an error: from its text, and from the places that only the recording knows."""

from __future__ import annotations

import re
from typing import Any

from minigrad_widgets.doctor.argument_texts import text_for
from minigrad_widgets.doctor.causes import cause_of, is_meant
from minigrad_widgets.doctor.facts import Facts, at_of
from minigrad_widgets.doctor.findings import Finding, Mend, Place, line_at
from minigrad_widgets.doctor.recording import Told, is_ours
from minigrad_widgets.doctor.rules.cuts import cut_before, cut_place, mends_of
from minigrad_widgets.doctor.rules.graphs import holder_of, root_name
from minigrad_widgets.doctor.site import Site
from minigrad_widgets.doctor.source import mentions
from minigrad_widgets.doctor.texts import mends_in
from minigrad_widgets.doctor.watch import At

__all__ = ["diagnosis", "raised_places"]


def diagnosis(facts: Facts, told: Told) -> Finding | None:
    """Return what an error or a warning means, and where it comes from; None if the table does not know it, or if the
    error is the kit's own."""
    error = facts.recording.error if told is facts.recording.told else None
    site = Site(error, facts.recording.library, facts.names)
    entry = None if is_ours(error) else text_for(told.text)
    if entry is None or error is not None and not is_meant(entry.rule, site):
        return None
    finders = {"inplace-on-saved": changed_places, "second-backward": again_places, "no-graph-loss": cut_places}
    raised = raised_places(facts, told, site, entry.role)
    if entry.rule in finders:
        where, more, special = finders[entry.rule](facts)
        what, mends = f"{entry.what} {more}".strip(), special or mends_in(entry)
        where += [Place(p.file, p.line, p.source, "the error is raised here") for p in raised[:1]
                  if all((p.file, p.line) != (q.file, q.line) for q in where)]
        return Finding(entry.rule, "error", what, where or raised[:1], {}, mends, entry.lesson)
    cause = cause_of(facts, entry, told.text, site)
    body = f"In {site.body}: " if site.body else ""
    return Finding(entry.rule, "error", f"{body}{cause.what}", distinct([*cause.first, *raised, *cause.last]),
                   cause.evidence, cause.mends, entry.lesson)


def raised_places(facts: Facts, told: Told, site: Site, role: str) -> list[Place]:
    """Return the user's line at which something was raised, those that called it, and the line of an installed package
    in between, if there is one."""
    if told is not facts.recording.told or site.at is None:
        return line_at(facts.trace, told.at, role)
    found = [place_of(facts, site, site.at, role)]
    found += [place_of(facts, site, i, "called from here") for i in site.users[-2:-4:-1]]
    installed = [i for i in range(site.at + 1, len(site.frames)) if site.is_package(i)]
    return found + [site.place(i, "the line of the package") for i in installed[-1:]]


def place_of(facts: Facts, site: Site, i: int, role: str) -> Place:
    """Return the line of a frame, in a file that the trace knows by the trace's name for it: "cell 1" in a notebook."""
    paths, file = facts.recording.paths, site.file(i)
    known = line_at(facts.trace, (paths.index(file), site.frames[i].line), role) if file in paths else []
    return known[0] if known else site.place(i, role)


Found = tuple[list[Place], str, list[Mend]]


def failing_node(facts: Facts) -> tuple[int | None, int]:
    """Return the node at which the last pass ended with an error, and the step at which it did."""
    for i in range(len(facts.events) - 1, -1, -1):
        if facts.events[i]["kind"] == "run":
            return facts.events[i]["node"], i
    return None, len(facts.events)


def changed_places(facts: Facts) -> Found:
    """For a tensor that was changed after it was saved: where it was changed, and where it was saved."""
    node, _ = failing_node(facts)
    if node is None:
        return [], "", []
    made = facts.node_at(node)
    start = next((i for i, e in facts.walk() if e["kind"] in ("save", "forward") and e["node"] == node), 0)
    saved = {t for _, t, _ in facts.nodes[node]["saved"] if t is not None}
    saved |= {t for t in facts.nodes[node]["inputs"] if t is not None}
    saved |= set(facts.outputs_of(node))
    family = relatives(facts, saved)
    changes = [(i, e) for i, e in facts.walk() if e["kind"] == "version" and i > start and e["tensor"] in family]
    if not changes:
        return line_at(facts.trace, made, "saved here"), "", []
    _, change = changes[0]
    op = next((e["op"] for i, e in reversed(facts.forwards) if i < changes[0][0]), "an op")
    where = line_at(facts.trace, at_of(change), "changed here") + line_at(facts.trace, made, "saved here")
    name = facts.name(change["tensor"])
    return where, f"{facts.nodes[node]['name']} saved {name}, and {op} changed it.", rewritten(where[0].source)


def rewritten(source: str) -> list[Mend]:
    """Rewrite a line that changes a tensor as one that makes a new one; empty for a line of another form."""
    update = re.fullmatch(r"([\w.]+) ([-+*/@]|\*\*)= (.+?)(\s*#.*)?", source)
    call = re.fullmatch(r"([\w.]+)\.(\w+[^\W_])_\((.*)\)(\s*#.*)?", source)
    if re.search(r"\.step\(.*\)", source):
        return [Mend("Step the optimizer after all backward passes.",
                     "first.backward(retain_graph=True)\nsecond.backward()\noptimizer.step()"),
                Mend("Or compute the second loss again after the step.", "second = loss_fn(model(x), y)")]
    if update is not None:
        name, new = update.group(1), "{0} = {0} {1} {2}".format(*update.groups())
    elif call is not None:
        name, new = call.group(1), "{0} = {0}.{1}({2})".format(*call.groups())
    else:
        return []
    return [Mend("Make a new tensor instead of changing this one.", new),
            Mend("If both are needed, change a copy.", f"{name} = {name}.clone()\n{source}")]


def relatives(facts: Facts, tensors: set[int]) -> set[int]:
    """Return the tensors that share their memory and version with one of these."""
    def root(t: int) -> int:
        record: dict[str, int] = facts.tensors[t]
        return record.get("base", record.get("counter", t))
    roots = {root(t) for t in tensors}
    return {t for t in range(len(facts.tensors)) if root(t) in roots}


def again_places(facts: Facts) -> Found:
    """For a second pass through one graph: where the graph is used again, where it was made, and the first pass."""
    node, _ = failing_node(facts)
    last = facts.passes[-1] if facts.passes else None
    if last is None:
        return [], "", []
    old = {n for p in facts.passes[:-1] for n in p.needs if "variable" not in facts.nodes[n]}
    earlier = next((p for p in reversed(facts.passes[:-1])
                    if (node in p.needs if node in old else p.needs & last.needs)), None)
    crossing = reuse(facts, last.needs, old)
    where: list[Place] = []
    if crossing is not None and (earlier is None or earlier.iteration < last.iteration):
        holder = holder_of(facts)
        if holder is not None:
            where += mentions(facts.program, root_name(holder), "this enters the next step with its graph")
        where += line_at(facts.trace, crossing, "used again here")
    where += line_at(facts.trace, last.at, "backward for the second time here")
    if earlier is not None and earlier.at != last.at:
        where += line_at(facts.trace, earlier.at, "backward for the first time here, which freed the graph")
    if node is not None and "variable" not in facts.nodes[node]:
        where += line_at(facts.trace, facts.node_at(node), "this part of the graph")
    return distinct(where), "", []


def reuse(facts: Facts, needs: frozenset[int], old: set[int]) -> At | None:
    """Return the line of the first op that was computed from results of an older graph."""
    for node in sorted(n for n in needs - old if "variable" not in facts.nodes[n]):
        if any(edge is not None and edge[0] in old for edge in facts.nodes[node]["next"]):
            return facts.node_at(node)
    return None


def cut_places(facts: Facts) -> Found:
    """For a loss without a graph: where the graph was cut."""
    calls = facts.of_kind("backward", "grad")
    cut = cut_before(facts, calls[-1].tensor if calls else None)
    if cut is None:
        return [], "No op of the step has an operand that requires grad.", [
            Mend("Make the parameters require grad.", "model.requires_grad_(True)")]
    where, by = cut_place(facts, cut)
    return where, f"The graph was cut by {by}.", mends_of(by)


def distinct(places: list[Place]) -> list[Place]:
    """Return each line once, with its first role."""
    found: dict[Any, Place] = {}
    for each in places:
        found.setdefault((each.file, each.line), each)
    return list(found.values())
