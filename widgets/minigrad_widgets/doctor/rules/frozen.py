"""Parameters that an optimizer holds and that do not require grad, though nothing says that this is meant."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from minigrad_widgets.doctor.facts import Facts
from minigrad_widgets.doctor.findings import Finding, Mend, Place
from minigrad_widgets.doctor.library import Named
from minigrad_widgets.doctor.rules.cuts import listed
from minigrad_widgets.doctor.source import assigned, body_of, freezes, module_of, surrounding, unfreezes
from minigrad_widgets.doctor.teaching import OPTIMIZERS

__all__ = ["frozen_by_mistake"]


def frozen_by_mistake(facts: Facts) -> Iterator[Finding]:
    """`frozen-by-mistake`: `requires_grad` switched off during the run and never on again, or off from the start for
    all of a group that an optimizer was given by itself. A model that is passed whole may have frozen parts."""
    if facts.recording.error is not None or not facts.passes:
        return
    names = {id(p): f"{model.name}.{path}" for model in reversed(facts.models)
             for path, p in model.value.named_parameters()}
    for named in facts.optimizers:
        groups = [group["params"] for group in named.value.param_groups]
        off = [p for group in groups for p in group if switched_off(facts, p)]
        alone = [p for group in groups if group and not any(
            p.requires_grad or facts.required.get(id(p), True) for p in group) for p in group]
        texts = [body_of(each) for each in facts.functions] if off or alone else []
        where = [place for each in texts for place in freezes(*each, "switched off here")]
        if off and where and not any(unfreezes(each) for _, each in texts):
            yield switched(named, [names.get(id(p), "a parameter") for p in off], where[:1])
        if alone and not any(unfreezes(each, certain=True) for _, each in (*texts, surrounding(facts.program))):
            yield from_the_start(facts, named, alone, names)


def switched_off(facts: Facts, parameter: Any) -> bool:
    """Whether a parameter required grad before, does not now, and got no gradient in the last iteration."""
    number = facts.recording.numbers.get(id(parameter))
    if parameter.requires_grad or not facts.required.get(id(parameter)) or len(facts.recording.starts) < 2:
        return False
    return not any(e["kind"] in ("accumulate", "capture") and e["tensor"] == number
                   for e in facts.events[facts.recording.starts[-1]:])


def switched(named: Named, names: list[str], where: list[Place]) -> Finding:
    """The finding about parameters that the step itself froze."""
    return Finding("frozen-by-mistake", "warning", f"The step switches requires_grad off for {listed(names)} and never "
                   f"on again: from the next iteration on there is no gradient for what {named.name} is to train.",
                   where, {"parameters": len(names)},
                   [Mend("Switch it on again before they are trained.",
                         f"{names[0].partition('.')[0]}.requires_grad_(True)"),
                    Mend("To compute without a graph, leave requires_grad alone.", "with torch.no_grad():\n    ...")],
                   OPTIMIZERS)


def from_the_start(facts: Facts, named: Named, frozen: list[Any], names: dict[int, str]) -> Finding:
    """The note about a group of an optimizer that was frozen before the first step: a later phase may train it."""
    called = [names.get(id(p), "a tensor") for p in frozen]
    given = assigned(facts.program, named.name, "given its parameters here")
    return Finding("frozen-by-mistake", "note", f"{named.name} was given {listed(called)} as a group, and nothing in "
                   "it requires grad: it does not train. If a later phase unfreezes it, this is as it should be.",
                   frozen_where(facts, called) + given, {"parameters": len(called)},
                   [Mend("Let it train.", f"{called[0]}.requires_grad_(True)"),
                    Mend("Or leave it out of the optimizer.")], OPTIMIZERS)


def frozen_where(facts: Facts, names: list[str]) -> list[Place]:
    """The line that froze these parameters: in the classes of their modules, or around the step."""
    for name in names:
        model = next((each for each in facts.models if name.startswith(f"{each.name}.")), None)
        if model is not None:
            owner, attribute = module_of(model.value, name.removeprefix(f"{model.name}."))
            own = freezes(*body_of(type(owner).__init__), "frozen here")
            if found := [each for each in own if attribute in each.source] or own:
                return found[:1]
    return freezes(*surrounding(facts.program), "frozen here")[:1]
