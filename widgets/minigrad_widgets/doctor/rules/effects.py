"""What a step brings about: whether the parameters move at all."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from minigrad_widgets.doctor.facts import Facts
from minigrad_widgets.doctor.findings import Finding, Mend, line_at
from minigrad_widgets.doctor.library import is_helper
from minigrad_widgets.doctor.source import assigned, calls, uncalled
from minigrad_widgets.doctor.teaching import OPTIMIZERS

__all__ = ["nothing_moves"]

STEP = Mend("Step after the backward pass.", "loss.backward()\noptimizer.step()")


def nothing_moves(facts: Facts) -> Iterator[Finding]:
    """`nothing-moves`: parameters got gradients, and no step changed them."""
    if facts.recording.error is not None or not facts.passes:
        return
    stepped = {id(call.subject) for call in facts.of_kind("step")}
    for name, optimizer in facts.optimizers:
        held = [p for group in optimizer.param_groups for p in group["params"]]
        reached = [p for p in held if facts.recording.numbers.get(id(p)) in facts.leaves_with_gradient]
        if not reached or any(id(p) in facts.moved for p in held):
            continue
        found = unmoved(facts, name, optimizer) if id(optimizer) in stepped else unstepped(facts, name)
        if found is not None:
            yield found


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


def unmoved(facts: Facts, name: str, optimizer: Any) -> Finding | None:
    """An optimizer that stepped and changed nothing, by its rate or by clipping; None where the cause is elsewhere."""
    steps = line_at(facts.trace, next(c.at for c in facts.of_kind("step") if c.subject is optimizer), "steps here")
    rates = [float(group["lr"]) for group in optimizer.param_groups if "lr" in group]
    if rates and not any(rates):
        where = assigned(facts.program, name, "its learning rate is 0") + steps
        if any(is_helper(value) for value in facts.names.values()):
            return Finding("nothing-moves", "note", f"The learning rate of {name} is 0 in all "
                           f"{len(facts.recording.alive)} steps. If a schedule raises it later, let more of them run.",
                           where, {"lr": 0.0}, [Mend("Begin above 0.", "(step + 1) / warmup")], OPTIMIZERS)
        return Finding("nothing-moves", "error", f"The learning rate of {name} is 0: it steps, and changes nothing.",
                       where, {"lr": 0.0}, [Mend("Give it a rate.", f"{name}.param_groups[0][\"lr\"] = 1e-3")],
                       OPTIMIZERS)
    clips = facts.of_kind("clip")
    if not clips or not any(facts.norm(e["gradient"]) for e in facts.events if e["kind"] == "accumulate"):
        return None
    return Finding("nothing-moves", "error", "Gradients are clipped to 0: the optimizer steps, and changes nothing.",
                   line_at(facts.trace, clips[0].at, "clipped to 0 here") + steps, {},
                   [Mend("Give the largest norm that you allow.", "clip_grad_norm_(model.parameters(), 1.0)")],
                   OPTIMIZERS)
