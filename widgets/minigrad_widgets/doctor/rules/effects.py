"""What a step brings about: whether the parameters move at all."""

from __future__ import annotations

import linecache
import re
from collections.abc import Iterator
from typing import Any

from minigrad_widgets.doctor.facts import Facts, at_of
from minigrad_widgets.doctor.findings import Finding, Mend, Place, line_at
from minigrad_widgets.doctor.library import Named, found_in, is_helper, is_module
from minigrad_widgets.doctor.rules.cuts import frozen, listed
from minigrad_widgets.doctor.source import (
    assigned,
    body_of,
    calls,
    changes_grad,
    sets_rates,
    surrounding,
    uncalled,
    zero_rates,
)
from minigrad_widgets.doctor.teaching import OPTIMIZERS

__all__ = ["nothing_moves"]

STEP = Mend("Step after the backward pass.", "loss.backward()\noptimizer.step()")


def nothing_moves(facts: Facts) -> Iterator[Finding]:
    """`nothing-moves`: parameters got gradients, and no step changed them, or those of one group."""
    if facts.recording.error is not None or not facts.passes:
        return
    stepped = {id(call.subject) for call in facts.of_kind("step")}
    for named in facts.optimizers:
        name, optimizer = named
        held = [p for group in optimizer.param_groups for p in group["params"]]
        reached = [p for p in held if facts.recording.numbers.get(id(p)) in facts.leaves_with_gradient]
        moved, steps = any(id(p) in facts.moved for p in held), id(optimizer) in stepped
        if not reached:
            yield from another(facts, named, held) if steps and not moved else ()
        elif not steps:
            yield from () if moved else [unstepped(facts, name)]
        elif id(optimizer) not in facts.recording.fed and (found := starved(facts, named)):
            yield found
        else:
            yield from standing(facts, named)


def another(facts: Facts, named: Named, held: list[Any]) -> Iterator[Finding]:
    """An optimizer of another model than the one that is trained; one whose model is not known holds stale tensors."""
    outside = [name for name, p in facts.parameters.items() if id(p) not in facts.trained
               and facts.recording.numbers.get(id(p)) in facts.leaves_with_gradient]
    known = [*facts.models, *found_in(facts.names, is_module)]
    owner = next((each.name for each in known if held and any(p is held[0] for p in each.value.parameters())), None)
    if outside and owner is not None:
        model = outside[0].partition(".")[0]
        yield Finding("nothing-moves", "error", f"{named.name} holds the parameters of {owner}, which got no gradient: "
                      f"nothing changes those of {model}, which did.",
                      assigned(facts.program, named.name, "given its parameters here")
                      + steps_at(facts, named.value), {"parameters": len(outside)},
                      [Mend("Give it the parameters of the model that is trained.",
                            f"{named.name} = {type(named.value).__name__}({model}.parameters(), lr=1e-3)")],
                      OPTIMIZERS)


def unstepped(facts: Facts, name: str) -> Finding:
    """An optimizer that did not step: it was not called, or not yet."""
    if where := uncalled(facts.program, "step", "not called: the parentheses are missing"):
        return Finding("nothing-moves", "error", f"{name}.step without parentheses only names the method: it is never "
                       "called, and no parameter changes.", where[:1], {}, [Mend("Call it.", f"{name}.step()")],
                       OPTIMIZERS)
    passes = line_at(facts.trace, facts.passes[0].at, "its gradients come here")
    made = assigned(facts.program, name, "made here")
    if steps_somewhere(facts):
        return Finding("nothing-moves", "note", f"{name} did not step in {len(facts.recording.alive)} iterations. If "
                       "it steps only now and then, let more of them run.", passes + made, {},
                       [Mend("Run as many as one update takes.", "checkup(step, steps=16)")], OPTIMIZERS)
    return Finding("nothing-moves", "error", f"{name} never steps: the backward pass computes gradients, and nothing "
                   "uses them.", passes + made, {}, [STEP], OPTIMIZERS)


def steps_somewhere(facts: Facts) -> bool:
    """Whether the text of the step, of its object, or of a function that it uses calls a method `step`."""
    return any(calls(each, "step") for each in facts.functions)


def starved(facts: Facts, named: Named) -> Finding | None:
    """An optimizer whose parameters got gradients, and that found none but 0 whenever it stepped; None if it stepped at
    the wrong time. Weight decay may have moved the parameters all the same."""
    known = facts.of_kind("backward", "grad", "zero_grad", "step")
    first = next(i for i, c in enumerate(known) if c.subject is named.value and c.kind == "step")
    before = [c.kind for c in known[:first] if c.kind != "step"][-1:]
    held = {facts.recording.numbers.get(id(p)) for group in named.value.param_groups for p in group["params"]}
    if before in ([], ["zero_grad"]) or not any(
            facts.norm(e["gradient"]) for e in facts.events if e["kind"] == "accumulate" and e["tensor"] in held):
        return None  # in the wrong order, or there never were any
    steps, clips = steps_at(facts, named.value), [c for c in facts.of_kind("clip") if c.subject == 0]
    if clips:
        return Finding("nothing-moves", "error", "Gradients are clipped to 0: the optimizer steps, and learns nothing.",
                       line_at(facts.trace, clips[0].at, "clipped to 0 here") + steps, {},
                       [Mend("Give the largest norm that you allow.",
                             "clip_grad_norm_(model.parameters(), 1.0)")], OPTIMIZERS)
    lost = [line_at(facts.trace, at_of(e), "set to 0 here") for e in facts.events[facts.passes[0].end:]
            if e["kind"] == "grad" and facts.norm(e["grad"]) == 0 and at_of(e) not in {None, *(c.at for c in known)}]
    lost += [found for each in facts.functions if (found := changes_grad(each, "set to 0 here"))]
    return Finding("nothing-moves", "error", f"Gradients are set to 0 after the backward pass: {named.name} steps, and "
                   "learns nothing.", [*(lost or [[]])[0], *steps], {},
                   [Mend("Look at the factor: a mask without entries, or a weight that was rounded down?",
                         "print(parameter.grad.abs().sum())")], OPTIMIZERS)


def standing(facts: Facts, named: Named) -> Iterator[Finding]:
    """The groups of an optimizer, or all of them, whose learning rate is 0 in every step."""
    name, optimizer = named
    still = [i for i, group in enumerate(optimizer.param_groups) if "lr" in group and any(
        facts.recording.numbers.get(id(p)) in facts.leaves_with_gradient for p in group["params"])
        and all(i < len(each) and not each[i] for each in facts.recording.rates[id(optimizer)])]
    held = [p for i in still for p in optimizer.param_groups[i]["params"]]
    if not held or any(id(p) in facts.moved for p in held):
        return
    whole = len(still) == len(optimizer.param_groups)
    path, body = surrounding(facts.program)
    where = (zero_rates(path, body, "its learning rate is 0")
             or assigned(facts.program, name, "its learning rate is 0")) + steps_at(facts, optimizer)
    what = name if whole else f"group {still[0]} of {name}"
    numbers = (facts.recording.numbers.get(id(p)) for p in held)
    reached = [t for t in numbers if t is not None and t in facts.leaves_with_gradient]
    named_so = listed(map(facts.name, reached))
    texts = [body, *(body_of(each)[1] for each in facts.functions)]
    if any(is_helper(value) for value in facts.names.values()) or any(map(sets_rates, texts)):
        yield Finding("nothing-moves", "note", f"The learning rate of {what} is 0 in all "
                      f"{len(facts.recording.alive)} steps. If a schedule raises it later, let more of them run.",
                      where, {"lr": 0.0}, [Mend("Begin above 0.", "(step + 1) / warmup")], OPTIMIZERS)
    elif says_frozen(path, where, [optimizer.param_groups[i] for i in still]):
        yield Finding("nothing-moves", "note", f"{named_so} stay as they are, since the learning rate of {what} is 0, "
                      "as the program says.", where, {"lr": 0.0},
                      [Mend("Freeze them instead, which saves computing their gradients.",
                            frozen(facts, reached))], OPTIMIZERS)
    else:
        yield Finding("nothing-moves", "error" if whole else "warning", f"The learning rate of {what} is 0: it steps, "
                      f"and changes nothing{'' if whole else f' of {named_so}'}.", where, {"lr": 0.0},
                      [Mend("Give it a rate.", f"{name}.param_groups[{still[0]}][\"lr\"] = 1e-3")], OPTIMIZERS)


def says_frozen(path: str, where: list[Place], groups: list[dict[str, Any]]) -> bool:
    """Whether the name of a group, the line with its rate or the one above it says that it is frozen."""
    texts = [str(value) for group in groups for value in group.values() if isinstance(value, str)]
    texts += [linecache.getline(path, where[0].line - back) for back in (0, 1)] if where else []
    return any(re.search("froz|freez", text, re.IGNORECASE) for text in texts)


def steps_at(facts: Facts, optimizer: Any) -> list[Place]:
    """The line at which an optimizer steps."""
    return line_at(facts.trace, next(c.at for c in facts.of_kind("step") if c.subject is optimizer), "steps here")
