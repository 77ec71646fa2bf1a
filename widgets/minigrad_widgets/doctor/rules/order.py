"""Optimizers: what they hold, and the order of backward, step, zero_grad and clipping."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from typing import Any

from minigrad_widgets.doctor.facts import Facts
from minigrad_widgets.doctor.findings import Finding, Mend, Place, line_at
from minigrad_widgets.doctor.library import Loose
from minigrad_widgets.doctor.rules.cuts import coded, frozen, in_code, listed
from minigrad_widgets.doctor.source import assigned, attribute_line, body_of
from minigrad_widgets.doctor.teaching import ACCUMULATION, MODULES, OPTIMIZERS, ORDER
from minigrad_widgets.doctor.watch import Call

__all__ = ["accumulation", "held", "order", "scaled", "schedule"]

CLIPPED = "loss.backward()\nclip_grad_norm_(model.parameters(), 1.0)\noptimizer.step()"
USUAL = "optimizer.zero_grad()\nloss.backward()\noptimizer.step()"


def held(facts: Facts) -> Iterator[Finding]:
    """`not-in-optimizer` and `stale-in-optimizer`."""
    if not facts.optimizers:
        return
    where = [p for name, _ in facts.optimizers for p in assigned(facts.program, name, "given its parameters here")]
    where += [p for call in facts.of_kind("step")[:1] for p in line_at(facts.trace, call.at, "steps here")]
    if outside := sorted(outside_of(facts)):
        names, more = coded(facts, outside)
        whole = f"{facts.optimizers[0][0]}.add_param_group({{\"params\": [{', '.join(names)}]}}){more}"
        yield Finding("not-in-optimizer", "warning", f"{listed(map(facts.name, outside))} got a gradient, but no "
                      "optimizer holds it: it will never change.", where, {"parameters": len(outside)},
                      [Mend("Pass it to the optimizer.", whole),
                       Mend("Or freeze it, which saves computing its gradient.", frozen(facts, outside))],
                      OPTIMIZERS)
    unregistered: dict[tuple[int, str], list[Loose]] = {}
    for each in facts.loose:
        if loose_outside(facts, each) and each.kind:
            unregistered.setdefault((id(each.owner), each.attribute), []).append(each)
        elif loose_outside(facts, each):
            kind = "buffer" if each.attribute in each.owner._buffers else "plain attribute"
            yield Finding("not-in-optimizer", "warning", f"{each.name} got a gradient, but it is a {kind}, not a "
                          "parameter: model.parameters() leaves it out, and it will never change.",
                          attribute_line(each.owner, each.attribute, "made here") or where, {},
                          [Mend("Make it a parameter.", f"self.{each.attribute} = nn.Parameter({each.attribute})"),
                           Mend("Or leave it as it is, without a gradient.",
                                f"{in_code(each.name)}.requires_grad_(False)")], MODULES)
    yield from (in_container(together, where) for together in unregistered.values())
    yield from stale(facts, where)


def in_container(together: list[Loose], where: list[Place]) -> Finding:
    """The finding about what a module keeps in a plain list, tuple or dict, which registers nothing."""
    first, (model, _, _) = together[0], together[0].name.partition(".")
    held, made = type(getattr(first.owner, first.attribute)).__name__, attribute_line(
        first.owner, first.attribute, "a plain container: nothing in it is registered")
    text = re.fullmatch(rf"self\.{re.escape(first.attribute)}\s*(?::[^=]+)?=\s*(.*?)\s*(#.*)?",
                        made[0].source if made else "")
    try:
        value = ast.unparse(ast.parse(text[1] if text else "", mode="eval").body)
    except SyntaxError:  # a value of several lines, or none that is known
        value = f"self.{first.attribute}"
    inner = next(iter(members(getattr(first.owner, first.attribute))), None)
    if isinstance(inner, (list, tuple, dict)):
        each = f"nn.Module{'Dict' if isinstance(inner, dict) else 'List'}(each)"
        value = (f"[{each} for each in self.{first.attribute}]" if first.kind.endswith("List") else
                 f"{{key: {each} for key, each in self.{first.attribute}.items()}}")
    code = f"self.{first.attribute} = nn.{first.kind}({'' if value in ('[]', '{}', '()') else value})"
    return Finding("not-in-optimizer", "warning", f"{listed(each.name for each in together)} got a gradient, but "
                   f"self.{first.attribute} is a plain {held}, which registers nothing: {model}.parameters() leaves "
                   "out what is in it, and it will never change.", made or where, {"parameters": len(together)},
                   [Mend(f"Make it an nn.{first.kind}, before the optimizer is created.", code)], MODULES)


def members(container: Any) -> Iterable[Any]:
    """Return what is in a list, a tuple or a dict."""
    return container.values() if isinstance(container, dict) else container


def stale(facts: Facts, where: list[Place]) -> Iterator[Finding]:
    """`stale-in-optimizer`: tensors of parts that the model no longer has, or of another model."""
    own = {id(p) for _, model in facts.models for p in model.parameters()}
    for name, optimizer in facts.optimizers:
        parameters = [p for group in optimizer.param_groups for p in group["params"]]
        old = [p for p in parameters if id(p) not in own and id(p) not in facts.recording.numbers]
        if not facts.models or not old or len(old) < len(parameters) and not any(id(p) in own for p in parameters):
            continue
        line, model = assigned(facts.program, name, "given its parameters here"), facts.models[0].name
        given = parameters_of(line)
        shapes = ", ".join(str(tuple(p.shape)) for p in old[:4])
        what = (f"{name} holds {counted(len(old))} that the model no longer has and that the step did not use (shapes "
                f"{shapes}): a part of the model was replaced after the optimizer was created.")
        rate = optimizer.param_groups[0].get("lr")
        made = f"{name} = {type(optimizer).__name__}({model}.parameters(){'' if rate is None else f', lr={rate}'})"
        mend = Mend("Create the optimizer when the model is complete.", f"{model}.head = new_head\n{made}")
        if len(old) == len(parameters) and given is not None and given.partition(".")[0] not in (
                *(each.name.partition(".")[0] for each in facts.models), "self"):
            what = (f"{name} holds the parameters of {given}, another model than {model}: the step did not use any of "
                    f"them (shapes {shapes}), and no optimizer changes those of {model}.")
            mend = Mend("Give it the parameters of the model that is trained.", made)
        elif len(old) == len(parameters) and given in (None, model):
            why = (f"{model} was made anew, or copied, after" if given else
                   f"they are those of another model, or {model} was made anew after")
            what = (f"{name} holds {counted(len(old))} that {model} does not have and that the step did not use "
                    f"(shapes {shapes}): {why} the optimizer was created.")
            mend = Mend("Create the optimizer for the model that is trained.", made)
        yield Finding("stale-in-optimizer", "error", what, line or where, {"tensors": len(old), "of": len(parameters)},
                      [mend], OPTIMIZERS)


def parameters_of(line: list[Place]) -> str | None:
    """Return what `.parameters()` is called on in a line, if that is one name, perhaps with attributes."""
    found = re.findall(r"([\w.]+)\.parameters\(\)", line[0].source if line else "")
    return found[0] if len(set(found)) == 1 else None


def loose_outside(facts: Facts, each: Loose) -> bool:
    """Whether a leaf that is no parameter got gradients, and neither an optimizer nor the step does anything with it or
    with its `.grad`."""
    number = facts.recording.numbers.get(id(each.tensor))
    if number is None or id(each.tensor) in facts.trained or not any(
            e["kind"] == "accumulate" and e["tensor"] == number for e in facts.events):
        return False
    used = re.compile(rf"\b{re.escape(each.attribute)}\b[^ =,]*\.grad\b")
    texts = (body_of(function)[1] for function in facts.functions)
    return bool((each.tensor.detach() == each.before).all()) and not any(
        body is not None and used.search(ast.unparse(body)) for body in texts)


def counted(number: int) -> str:
    """Return a number of tensors in words."""
    return "1 tensor" if number == 1 else f"{number} tensors"


def outside_of(facts: Facts) -> Iterator[int]:
    """The leaves with a gradient that no optimizer holds: parameters of the model, and of modules that it lost."""
    known = {number: identity for identity, number in facts.recording.numbers.items()}
    loose = {id(each.tensor) for each in facts.loose}
    trained = {number for identity, number in facts.recording.numbers.items() if identity in facts.trained}
    for e in facts.events:
        tensor = e.get("tensor")
        if e["kind"] != "accumulate" or tensor is None or tensor in trained:
            continue
        if known.get(tensor) not in loose and (tensor in facts.parameter_names or (
                facts.tensors[tensor]["parameter"] and tensor not in known)):
            yield tensor
            trained.add(tensor)


def order(facts: Facts) -> Iterator[Finding]:
    """`wrong-order`: what an iteration does with gradients in an order that loses them or uses them too late."""
    if facts.recording.error is not None:
        return
    told: set[Any] = set()
    for iteration in range(len(facts.recording.starts)):
        calls = [c for c in facts.of_kind("backward", "grad", "zero_grad", "step", "clip") if c.iteration == iteration]
        for finding in wrong(facts, calls):
            key = (finding.what, tuple(finding.where))
            if key not in told:
                told.add(key)
                yield finding


def schedule(facts: Facts) -> Iterator[Finding]:
    """`wrong-order`: a learning rate schedule that steps before the optimizer, of which the library warns."""
    early = [w for w in facts.recording.warnings if w.text.startswith("Detected call of `lr_scheduler.step()` before")]
    for warning in early[:1]:
        yield Finding("wrong-order", "warning", "The learning rate scheduler steps before the optimizer: its first "
                      "rate is never used.", line_at(facts.trace, warning.at, "the scheduler steps here"), {},
                      [Mend("Step the scheduler after the optimizer.", "optimizer.step()\nscheduler.step()")],
                      OPTIMIZERS)


def scaled(facts: Facts) -> Iterator[Finding]:
    """`wrong-order` with a gradient scaler: clipping or stepping while gradients are still multiplied by its factor."""
    factor = 1.0
    for call in facts.of_kind("scale", "unscale", "clip", "step"):
        if call.kind == "scale":
            factor = call.subject
        elif call.kind == "unscale":
            factor = 1.0
        elif factor != 1 and (call.kind == "clip" or not call.mode):
            does = "are clipped" if call.kind == "clip" else "are used by the optimizer"
            yield Finding("wrong-order", "error", f"Gradients {does} while they are still multiplied by {factor:.5g}, "
                          "the factor of the gradient scaler.", line_at(facts.trace, call.at, "here"),
                          {"factor": factor}, [Mend("Unscale first, and let the scaler step.",
                                                    "scaler.unscale_(optimizer)\nclip_grad_norm_(model.parameters(), "
                                                    "1.0)\nscaler.step(optimizer)\nscaler.update()")], ORDER)
            return
        elif call.kind == "step":
            factor = 1.0


def wrong(facts: Facts, calls: list[Call]) -> Iterator[Finding]:
    """Yield what is wrong with the order of the calls of one iteration."""
    for i, call in enumerate(calls):
        before, after = calls[:i], calls[i + 1:]
        if call.kind == "clip":
            last = next((c for c in reversed(before) if c.kind in ("backward", "step", "zero_grad")), None)
            if last is not None and last.kind == "step" and not any(c.kind in ("backward", "step") for c in after):
                yield finding(facts, call, "clips gradients here", last, "the optimizer already stepped here",
                              "Gradients are clipped after the optimizer has used them, which changes nothing.",
                              CLIPPED)
            following = next((c for c in after if c.kind in ("backward", "step")), None)
            if last is not None and last.kind == "zero_grad" and following is not None and following.kind == "backward":
                yield finding(facts, call, "clips gradients here", following, "the gradients come only here",
                              "Gradients are clipped before the backward pass, when there are none yet.", CLIPPED)
        if call.kind != "step":
            continue
        mine = {id(p) for group in call.subject.param_groups for p in group["params"]}
        wiped = next((c for c in reversed(before) if c.kind == "zero_grad" and mine <= set(c.subject)), None)
        since = before[before.index(wiped) + 1:] if wiped is not None else before
        if any(c.kind in ("backward", "grad") for c in since) or not any(
                c.kind == "backward" for c in calls) or any(c.kind == "step" and c.subject is call.subject
                                                            for c in since):
            continue
        earlier = [c for c in (before[:before.index(wiped)] if wiped is not None else before) if c.kind == "backward"]
        if wiped is not None and earlier:
            yield finding(facts, wiped, "gradients are zeroed here", call, "the optimizer steps here, without any",
                          "zero_grad is called between backward and step: the optimizer finds no gradients.", USUAL)
        elif not earlier:
            later = next((c for c in after if c.kind == "backward"), call)
            yield finding(facts, call, "the optimizer steps here", later, "the gradients come only here",
                          "The optimizer steps before the backward pass: it uses no gradients, or those of the "
                          "previous step.", USUAL)


def finding(facts: Facts, first: Call, role: str, second: Call, other: str, what: str, code: str) -> Finding:
    """Return a finding about two calls."""
    where = line_at(facts.trace, first.at, role) + line_at(facts.trace, second.at, other)
    return Finding("wrong-order", "error", what, where, {}, [Mend("Keep to the usual order.", code)], ORDER)


class Ledger:
    """For each leaf: whether its `.grad` holds something, and whether an update has already used that."""

    def __init__(self) -> None:
        self.state: dict[int, str] = {}  # "fresh", "used", or "mixed": used, and added to since
        self.lines: dict[int, Any] = {}

    def add(self, leaf: int, at: Any, was_empty: bool) -> None:
        """Note that a backward pass adds to a leaf's `.grad`."""
        if not was_empty and self.state.get(leaf) in ("used", "mixed"):
            self.state[leaf] = "mixed"
            self.lines.setdefault(leaf, at)
        else:
            self.state[leaf] = "fresh"

    def use(self, leaf: int) -> bool:
        """Note that an update uses a leaf's `.grad`; return whether it held something old."""
        mixed = self.state.get(leaf) == "mixed"
        if leaf in self.state:
            self.state[leaf] = "used"
        return mixed

    def wipe(self, leaf: int) -> None:
        """Note that a leaf's `.grad` is zeroed."""
        self.state.pop(leaf, None)
        self.lines.pop(leaf, None)


def accumulation(facts: Facts) -> Iterator[Finding]:
    """`grad-accumulates`: an update that uses gradients of an earlier step for the second time."""
    ledger = Ledger()
    found: dict[Any, list[str]] = {}
    for i, e in facts.walk():
        kind = e["kind"]
        if kind == "accumulate" and e["tensor"] is not None:
            ledger.add(e["tensor"], at_of_pass(facts, i), is_first(facts, e))
        elif kind == "version" and not e.get("depth") and facts.tensors[e["tensor"]]["requires_grad"]:
            leaf = e["tensor"]
            if ledger.use(leaf):
                found.setdefault(ledger.lines.get(leaf), []).append(facts.name(leaf))
    for at, leaves in found.items():
        leaves = list(dict.fromkeys(leaves))
        yield Finding("grad-accumulates", "error", f"The gradients of {listed(leaves)} are added to those of earlier "
                      "steps, which an update has already used.", line_at(facts.trace, at, "adds to the old gradient"),
                      {"parameters": len(leaves)},
                      [Mend("Zero the gradients once in each iteration, before backward.", usual(facts, leaves[0]))],
                      ACCUMULATION)


def usual(facts: Facts, leaf: str) -> str:
    """Return the usual order of calls, with the name of the optimizer that holds a leaf."""
    parameter = facts.parameters.get(leaf)
    name = next((name for name, each in facts.optimizers for group in each.param_groups
                 if any(p is parameter for p in group["params"])), "optimizer")
    return USUAL.replace("optimizer", name)


def at_of_pass(facts: Facts, step: int) -> Any:
    """Return the user's line of the pass that an event belongs to."""
    return next((p.at for p in facts.passes if p.step <= step <= p.end), None)


def is_first(facts: Facts, event: dict[str, Any]) -> bool:
    """Return whether a leaf's `.grad` was None or zeros before a gradient was added."""
    if event["grad"] == event["gradient"] or event["grad"] is None:
        return True
    added, now = facts.value(event["gradient"]), facts.value(event["grad"])
    if added is None or now is None:
        return True
    return added.get("data") == now.get("data") if "data" in added else added["stats"] == now.get("stats")
