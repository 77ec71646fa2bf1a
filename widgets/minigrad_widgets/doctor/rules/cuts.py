"""Parameters that get no gradient: never used, cut off from the loss, or not leaves; and losses without a graph."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from minigrad_widgets.doctor.facts import Cut, Facts, at_of
from minigrad_widgets.doctor.findings import Finding, Mend, Place, line_at
from minigrad_widgets.doctor.library import is_tensor
from minigrad_widgets.doctor.source import assigned, attribute_line, in_branch, module_of
from minigrad_widgets.doctor.teaching import CUT, ENGINE, LEAVES, MODULES

__all__ = ["cut_before", "missing_gradients", "no_backward", "not_a_leaf"]

SHOWN = 6  # names of parameters in a sentence
# How a line of source shows what took its values out of the graph, the most telling first.
SIGNS = (("detach()", r"\.detach_?\("), ("torch.tensor(…)", r"\btorch\.(as_)?tensor\("), (".item()", r"\.item\("),
         (".numpy()", r"\.numpy\("), (".tolist()", r"\.tolist\("), ("float(…)", r"(?<!\.)\bfloat\("),
         (".data", r"\.data\b"), ("argmax", r"argm(ax|in)"))
NAMES = {"data": ".data", "detach": "detach()", "item": ".item()", "numpy": ".numpy()", "tolist": ".tolist()",
         "__float__": "float(…)", "argmax": "argmax", "argmin": "argmin"}
COMPARISONS = frozenset({"gt", "lt", "ge", "le", "eq", "ne", "greater", "less", "logical_and", "logical_or",
                         "logical_not", "__gt__", "__lt__", "__ge__", "__le__", "__eq__", "__ne__"})
INTEGER = frozenset({"argmax", "argmin", "argsort", "floor_divide", "round", "floor", "ceil", "sign", "to_copy", "long",
                     "int", "bool", "to", "one_hot", "bincount", "multinomial"})
BACK = "Keep the values in their graph on the way from the parameter to the loss."


def missing_gradients(facts: Facts) -> Iterator[Finding]:
    """`cut-graph` and `unused-parameter`: the parameters that no backward pass reached."""
    if not facts.passes or facts.recording.error is not None:
        return
    numbers = {name: facts.recording.numbers.get(id(p)) for name, p in facts.parameters.items()}
    if numbers and not facts.leaves_with_gradient.intersection(numbers.values()) and (found := leaf_loss(facts)):
        yield found
        return
    if numbers and all(n is None for n in numbers.values()):
        yield Finding("unused-parameter", "error", "None of the model's parameters took part in the step: the step "
                      "trains something else, perhaps a copy of the model, or one on another device.",
                      line_at(facts.trace, facts.passes[-1].at, "the backward pass"),
                      {"parameters": len(numbers), "used": 0},
                      [Mend("Pass checkup the model that the step calls.", "checkup(step, model=model)")])
        return
    missing = {name: n for name, n in numbers.items() if (n is None or n not in facts.leaves_with_gradient)
               and id(facts.parameters[name]) not in facts.recording.assigned  # the step has set its .grad itself
               and (not facts.optimizers or id(facts.parameters[name]) in facts.trained)}
    roots = {t for p in facts.passes for node in p.roots for t in facts.outputs_of(node)}
    nothing = {facts.nodes[n].get("variable") for n in facts.without_gradient} - {None}
    stopped = [name for name, number in missing.items() if number in nothing]
    found = stopped_finding(facts, stopped)
    if found is None:
        stopped = []
    else:
        yield found
    missing = {name: number for name, number in missing.items() if name not in stopped}
    by_cut: dict[tuple[str, str], tuple[Cut, list[str]]] = {}  # by the line and what it does: one finding for each
    unused: list[str] = []
    for name, number in missing.items():
        cut = None if number is None else cut_after(facts, number, roots)
        if cut is None:
            unused.append(name)
        else:
            where, by = cut_place(facts, cut)
            by_cut.setdefault((str(where[:1]), by), (cut, []))[1].append(name)
    for cut, names in by_cut.values():
        yield cut_finding(facts, cut, names)
    yield from unused_findings(facts, unused, numbers)


def leaf_loss(facts: Facts) -> Finding | None:
    """`leaf-loss`: all passes begin at leaves; None if one does not, or if nothing was cut before it."""
    leaves = [facts.nodes[node].get("variable") for each in facts.passes for node in each.roots]
    cut = None if None in leaves or not leaves else cut_before(facts, leaves[0])
    if cut is None:
        return None
    where, by = cut_place(facts, cut)
    return Finding("leaf-loss", "error", f"The loss is a leaf: its graph was cut by {by}, and requires_grad gives it "
                   "no other. Nothing but the loss gets a gradient.",
                   where + line_at(facts.trace, facts.passes[0].at, "backward starts and ends here"), {"cut by": by},
                   mends_of(by), CUT)


def stopped_finding(facts: Facts, names: list[str]) -> Finding | None:
    """`cut-graph` by the backward of a Function that returned None for every input."""
    given = {e["node"] for e in facts.events if e["kind"] == "flow" and e["gradient"] is not None}
    node = next((e["node"] for e in facts.events if e["kind"] == "run" and e["node"] not in facts.without_gradient
                 and e["node"] not in given and "variable" not in facts.nodes[e["node"]]), None)
    if not names or node is None:
        return None
    by = f"{facts.nodes[node]['name']}, whose backward gave None"
    return Finding("cut-graph", "error", f"{listed(names)} got no gradient: the path to the loss was cut by {by}.",
                   line_at(facts.trace, facts.node_at(node), "made here"), {"parameters": len(names), "cut by": by},
                   [Mend("Return a gradient for each input that has one.", "return grad * slope")], CUT)


def cut_after(facts: Facts, number: int, roots: set[int]) -> Cut | None:
    """Return where the path from a parameter to the losses was cut."""
    graph = facts.reached_from([number], graph_only=True)
    candidates = [cut for cut in facts.cuts if graph.intersection(cut.sources)]
    through = last_cuts(facts, roots, candidates)
    if through:
        return through[0]
    out = [cut for cut in candidates if not cut.results or taken_out(facts, cut)]
    # A comparison whose result becomes a number is a check, of arguments or of accuracy: anything else comes first.
    return min(out, key=lambda cut: cut.op in COMPARISONS, default=None)


def last_cuts(facts: Facts, roots: Iterable[int], cuts: Iterable[Cut]) -> list[Cut]:
    """Return the cuts on the paths to some losses after which there is no other one, in order."""
    ends = {t: cut for cut in cuts for t in cut.results}
    waiting, seen = list(roots), set(roots)
    found: dict[Cut, None] = {}
    while waiting:
        tensor = waiting.pop()
        if tensor in ends:
            found[ends[tensor]] = None
            continue
        fresh = facts.moves[1].get(tensor, set()) - seen
        seen |= fresh
        waiting += fresh
    return sorted(found, key=lambda cut: cut.order)


def taken_out(facts: Facts, cut: Cut) -> bool:
    """Return whether the results of a cut were then turned into numbers or arrays."""
    reached = facts.reached_from(cut.results)
    return any(not other.results and reached.intersection(other.sources) for other in facts.cuts)


def cut_before(facts: Facts, root: int | None) -> Cut | None:
    """Return where the path to a loss that has no graph was cut: the last place on it that still had one."""
    if root is not None and (found := last_cuts(facts, [root], facts.cuts)):
        return found[-1]
    out = [cut for cut in facts.cuts if not cut.results]
    return out[-1] if out else None


def cut_place(facts: Facts, cut: Cut) -> tuple[list[Place], str]:
    """Return the line of a cut, and its cause."""
    block = facts.without_grad(cut.order)
    shown = line_at(facts.trace, cut.at, "cut here")
    source = shown[0].source if shown else ""
    by = cut.op in NAMES and cut.op not in ("detach", "data")
    sign = next((sign for sign, pattern in SIGNS if re.search(pattern, source)), None)
    if block is not None and not by and cut.op not in ("detach", "data", *COMPARISONS, *INTEGER):
        return line_at(facts.trace, block, "gradients are off from here") + [
            Place(p.file, p.line, p.source, "computed without a graph") for p in shown if block != cut.at], "no_grad"
    if sign is not None and cut.op in {*NAMES, "clone", "to_copy", "lift", "call"} - {"argmax", "argmin"}:
        return shown, sign
    if cut.op in COMPARISONS:
        return shown, "a comparison, whose result is True or False"
    if cut.op in INTEGER and cut.op not in NAMES:
        return shown, f"{cut.op}, whose result has no derivative"
    return shown, NAMES.get(cut.op, cut.op)


def cut_finding(facts: Facts, cut: Cut, names: list[str]) -> Finding:
    """Return the finding about a cut, and the parameters behind it."""
    where, by = cut_place(facts, cut)
    where += line_at(facts.trace, facts.passes[-1].at, "backward starts here")
    return Finding("cut-graph", "error", f"{listed(names)} got no gradient: the path to the loss was cut by {by}.",
                   where, {"parameters": len(names), "cut by": by}, mends_of(by), CUT)


def mends_of(by: str) -> list[Mend]:
    """Return what to do about a cut."""
    if by == "no_grad":
        return [Mend("Move what is trained out of the block.", "features = model(x)   # not under no_grad()"),
                Mend("If it is not to be trained, freeze it, so that no gradient is expected.",
                     "model.requires_grad_(False)")]
    if by in ("detach()", ".data"):
        return [Mend(BACK, f"h = layer(x)   # without {by.strip('.()')}")]
    if by.startswith(("a comparison", "argmax", "argmin")) or "no derivative" in by:
        return [Mend("Replace the choice by a smooth function.", "weight = torch.sigmoid(score)   # or softmax"),
                Mend("Or pass the gradient straight through.", "hard = soft + (hard - soft).detach()")]
    return [Mend("Compute with tensors from the parameter to the loss; convert to numbers for printing only.",
                 "loss = (h * scale).mean()   # a tensor\nprint(loss.item())")]


def unused_findings(facts: Facts, unused: list[str], numbers: dict[str, int | None]) -> Iterator[Finding]:
    """`unused-parameter`, one finding for each module."""
    groups: dict[tuple[str, int, str], list[str]] = {}
    places: dict[tuple[str, int, str], list[Place]] = {}
    branches: dict[tuple[str, int, str], bool] = {}
    for name in unused:
        model = next(each for each in facts.models if name.startswith(f"{each.name}."))
        owner, attribute = module_of(model.value, name.removeprefix(f"{model.name}."))
        where = attribute_line(owner, attribute, "made here") or assigned(
            facts.program, model.name, "made here")
        where += dangling(facts, numbers[name])
        key = (where[0].file, where[0].line, attribute) if where else (model.name, 0, attribute)
        branches[key] = in_branch(owner, attribute)
        groups.setdefault(key, []).append(name)
        places[key] = where
    for key, names in groups.items():
        computed = any(numbers[name] is not None for name in names)
        if not computed and branches[key]:
            yield untaken(facts, names, places[key])
            continue
        why = "nothing that was computed with it is part of the loss" if computed else "no op of the step used it"
        yield Finding("unused-parameter", "warning", f"{listed(names)} never met the loss's graph: {why}.", places[key],
                      {"parameters": len(names)},
                      [Mend("Use it in computing the loss, or remove it from the model."),
                       Mend("If it is needed only later, freeze it.", f"{in_code(names[0])}.requires_grad_(False)")],
                      MODULES)


def untaken(facts: Facts, names: list[str], where: list[Place]) -> Finding:
    """Return the note about parameters behind a branch that no batch took, as those of an expert without tokens."""
    steps = len(facts.recording.alive)
    return Finding("unused-parameter", "note", f"{listed(names)} lie behind a branch that the data of these {steps} "
                   "steps did not take. If other data takes it, let more steps run.", where, {"parameters": len(names)},
                   [Mend("Run as many steps as it takes.", "checkup(step, steps=16)")], MODULES)


def dangling(facts: Facts, number: int | None) -> list[Place]:
    """Return the line that computed something from a parameter that was then never used."""
    for _, event in facts.forwards:
        if number is not None and number in event["inputs"]:
            return line_at(facts.trace, at_of(event), "used here, but the result is not in the loss")
    return []


def not_a_leaf(facts: Facts) -> Iterator[Finding]:
    """`not-a-leaf`: a tensor that the program uses as a parameter and that is the result of an op."""
    step = facts.program
    told = [w for w in facts.recording.warnings if "is not a leaf Tensor is being accessed" in w.text]
    for warning in told:
        line = line_at(facts.trace, warning.at, "its .grad is read here")
        source = line[0].source if line else ""
        read = re.findall(r"([\w.]+(?:\[[^]]*\])?)\.grad\b", source)
        name = next((n for n in read if is_tensor(facts.names.get(n)) and facts.names[n].grad_fn is not None),
                    read[0] if read else "the tensor")
        if re.match(rf"{re.escape(name)} = {re.escape(name)} -", source):
            yield rebound(name, line)
            return
        yield leaf_finding(name, (assigned(step, name, "created by an op here") + line) or line)
        return


def leaf_finding(name: str, where: list[Place]) -> Finding:
    """Return the finding about a tensor that is not a leaf."""
    return Finding("not-a-leaf", "error", f"{name} is the result of an op, not a leaf: a backward pass goes through "
                   "it and leaves its .grad empty.", where, {},
                   [Mend("Set requires_grad last, when the values are final.",
                         f"{name} = (torch.randn(3) * 0.1).requires_grad_()"),
                    Mend("If you need the gradient of this result, retain it.", f"{name}.retain_grad()")],
                   LEAVES)


def rebound(name: str, where: list[Place]) -> Finding:
    """Return the finding about `w = w - lr * w.grad`, after which `w` is not a leaf."""
    update = f"with torch.no_grad():\n    {name} -= lr * {name}.grad\n{name}.grad = None"
    return Finding("not-a-leaf", "error", f"This update binds {name} to a new tensor, the result of an op: from the "
                   "next step on it is not a leaf, and its .grad is None.",
                   [Place(each.file, each.line, each.source, "bound to a new tensor here") for each in where], {},
                   [Mend("Change the leaf in place, under no_grad.", update)], LEAVES)


def no_backward(facts: Facts) -> Iterator[Finding]:
    """`no-backward`: the step never called backward."""
    if facts.passes or facts.recording.error is not None:
        return
    yield Finding("no-backward", "warning", "The step never ran a backward pass, so there are no gradients to look at.",
                  [], {"passes": 0},
                  [Mend("Pass checkup a whole iteration.", "def step():\n    optimizer.zero_grad()\n"
                        "    loss = loss_fn(model(x), y)\n    loss.backward()\n    optimizer.step()")],
                  ENGINE)


def in_code(name: str) -> str:
    """Return the name of a parameter as code: `model.h[0].weight` for `model.h.0.weight`."""
    return re.sub(r"\.(\d+)(?=\.|$)", r"[\1]", name)


def coded(facts: Facts, tensors: Sequence[int]) -> tuple[list[str], str]:
    """Return up to three parameters as code, `parameter` if none has a name, and a comment on how many more there are.
    """
    known = [in_code(name) for t in tensors if (name := facts.parameter_names.get(t) or facts.tensors[t]["name"])][:3]
    more = len(tensors) - len(known)
    return known or ["parameter"], f"  # and {more} more" if known and more else ""


def frozen(facts: Facts, tensors: Sequence[int]) -> str:
    """Return the lines that freeze parameters."""
    names, more = coded(facts, tensors)
    return "\n".join(f"{name}.requires_grad_(False)" for name in names) + more


def listed(names: Iterable[str]) -> str:
    """Return some names, and how many more there are."""
    names = list(names)
    shown = ", ".join(names[:SHOWN])
    return shown if len(names) <= SHOWN else f"{shown} and {len(names) - SHOWN} more"
