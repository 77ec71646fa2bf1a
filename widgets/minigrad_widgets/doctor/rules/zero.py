"""Gradients that are exactly 0, and the op of the program that makes them so."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from minigrad_widgets.doctor.facts import Facts, Pass, at_of
from minigrad_widgets.doctor.findings import Finding, Mend, Place, line_at
from minigrad_widgets.doctor.rules.losses import origin
from minigrad_widgets.doctor.teaching import CUT, HOOKS

__all__ = ["relu_before_loss", "zero_gradient"]

STEPS = ("has slope 0 wherever it has a slope", ("Pass the gradient straight through.",
                                                  "hard = soft + (hard - soft).detach()"))
RANGES = ("has all its inputs where its slope is 0", ("Choose the range for the numbers that occur, or leave it out.",
                                                      "scores = model(x)"))
CHOICES = ("takes nothing of what was computed", ("Look at the mask: is it the other way round?",
                                                  "mask = target != missing"))
# By what the name of a node begins with: what happens there, and the mend.
CAUSES: dict[str, tuple[str, tuple[str, str]]] = {
    **dict.fromkeys(("Round", "Floor", "Ceil", "Trunc", "Sign", "Sgn", "Heaviside"), STEPS),
    **dict.fromkeys(("Clamp", "Hardtanh", "Relu", "Threshold", "Hardsigmoid"), RANGES),
    **dict.fromkeys(("Where", "MaskedFill", "Index", "MaskedSelect"), CHOICES),
    "Mul": ("multiplies by 0", ("Look at the factor: a weight that was rounded down, or a mask without entries?",
                                "print(weight, mask.sum())"))}
RELUS = ("relu", "relu_", "threshold")
SCORES = frozenset({"cross_entropy", "nll_loss", "binary_cross_entropy_with_logits"})


def zero_gradient(facts: Facts) -> Iterator[Finding]:
    """`zero-gradient`: in every iteration, all leaves got gradients that are exactly 0."""
    if facts.recording.error is not None or not facts.passes:
        return
    for each in facts.passes:
        norms = [facts.norm(e["gradient"]) for e in facts.events[each.step:each.end] if e["kind"] == "accumulate"]
        if not norms or any(norms) or None in norms:
            return
    where, by, mend = cause(facts, facts.passes[0])
    hook = by.startswith("a hook")
    yield Finding("zero-gradient", "error", f"All gradients are exactly 0 in every step: {by}.",
                  where + line_at(facts.trace, facts.passes[0].at, "backward starts here"),
                  {"steps": len(facts.recording.alive)}, [Mend(*mend)], HOOKS if hook else CUT)


def cause(facts: Facts, each: Pass) -> tuple[list[Place], str, tuple[str, str]]:
    """Return the line that made the gradients of a pass 0, what happens there, and the mend."""
    given: dict[int, bool] = {}
    sent: dict[int, list[bool]] = {}
    for e in facts.events[each.step:each.end]:
        if e["kind"] == "run":
            given[e["node"]] = any(facts.norm(g) for g in e["gradient"])
        elif e["kind"] == "hook" and given.get(e["node"]) and not any(facts.norm(g) for g in e["gradient"]):
            where = line_at(facts.trace, facts.node_at(e["node"]), f"its gradient goes through the hook {e['name']}")
            return where, "a hook returns 0", ("Return the gradient that is to go on.", "return grad * 0.5")
        elif e["kind"] == "flow":
            sent.setdefault(e["node"], []).append(bool(facts.norm(e["gradient"])))
    node = next((n for n, some in given.items() if some and n in sent and not any(sent[n])), None)
    if node is None:
        return [], "backward started with 0", ("Start it with 1.", "loss.backward()")
    name = facts.nodes[node]["name"]
    what, mend = next((found for begin, found in CAUSES.items() if name.startswith(begin)),
                      ("passes none on", ("Look at its inputs.", "print(h.min(), h.max())")))
    op = next((e["op"] for _, e in facts.forwards if e["node"] == node), name)
    return line_at(facts.trace, facts.node_at(node), f"{op} {what}"), f"{op} {what}", mend


def relu_before_loss(facts: Facts) -> Iterator[Finding]:
    """`zero-gradient`: a relu makes the scores or the predictions that a loss takes, where these may be below 0."""
    told: set[Any] = set()
    for loss in facts.recording.losses:
        maker = origin(facts, {"inputs": [loss.input]}, RELUS)
        if maker is None or at_of(maker) in told or not (loss.name in SCORES or loss.least < 0):
            continue
        told.add(at_of(maker))
        why = "below 0 they become 0" if loss.name in SCORES else f"the targets go down to {loss.least:.3g}"
        yield Finding("zero-gradient", "warning", f"A relu makes what {loss.name} takes: {why}, and there no gradient "
                      "passes.", line_at(facts.trace, at_of(maker), "relu here") + line_at(
                          facts.trace, loss.at, "into the loss"), {},
                      [Mend("Leave out the last activation.", "scores = head(h)   # without relu")])
