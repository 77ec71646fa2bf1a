"""What updates do: too much, too little, uphill, or the same to every unit."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from minigrad_widgets.doctor.facts import Facts, at_of
from minigrad_widgets.doctor.findings import Finding, Mend, Place, line_at
from minigrad_widgets.doctor.library import Named
from minigrad_widgets.doctor.rules.cuts import listed
from minigrad_widgets.doctor.rules.losses import SHAPES
from minigrad_widgets.doctor.source import assigned, fills
from minigrad_widgets.doctor.teaching import OPTIMIZERS
from minigrad_widgets.doctor.updates import Update

__all__ = ["learning_rate", "loss_rises", "symmetric_weights"]

MOST, LEAST = 3.0, 1e-7  # an update, over the weights: more jumps about, less is lost in rounding
SHRINKS = 0.05  # the share of the weights that decay alone takes in a step: more outweighs what is learned
FALLS = 0.5  # the rate of a step over that of the one before, in every step: less is gone within ten
REDUCTIONS = SHAPES | {"mean", "sum", "div", "mul", "_to_copy"}


def learning_rate(facts: Facts) -> Iterator[Finding]:
    """`learning-rate`: an update out of all proportion to the weights, in the first step of an optimizer."""
    if facts.recording.error is not None:
        return
    for named in facts.optimizers:
        rates = facts.recording.rates.get(id(named.value), [])
        schedules = [c for c in facts.of_kind("schedule") if c.subject.optimizer is named.value]
        if len(rates) > 2 and schedules and all(0 < sum(after) <= FALLS * sum(before)
                                                for before, after in pairwise(rates)):
            yield Finding("learning-rate", "warning", f"The learning rate of {named.name} falls from {rates[0][0]:.3g} "
                          f"to {rates[-1][0]:.3g} in {len(rates)} steps: the schedule steps with every batch.",
                          line_at(facts.trace, schedules[0].at, "steps here"),
                          {"rates": [each[0] for each in rates]},
                          [Mend("Step the schedule once in each epoch, or choose a slower one.",
                                "for epoch in range(epochs):\n    train()\n    scheduler.step()")], OPTIMIZERS)
            continue
        for update in facts.recording.updates.get(id(named.value), []):
            yield from wrong_size(facts, named, update, bool(schedules))


def wrong_size(facts: Facts, named: Named, update: Update, scheduled: bool) -> Iterator[Finding]:
    """One group's update that is too large or too small, or made by weight decay alone."""
    if not update.weight or not update.gradient or not math.isfinite(update.change):
        return
    share = update.change / update.weight
    evidence = {"group": update.group, "lr": update.rate, "update / weights": share}
    where = assigned(facts.program, named.name, "its rate is set here") + line_at(
        facts.trace, next(c.at for c in facts.of_kind("step") if c.subject is named.value), "steps here")
    if update.rate * update.decay > SHRINKS:
        yield Finding("learning-rate", "warning", f"Weight decay outweighs what {named.name} learns: it takes "
                      f"{update.rate * update.decay:.0%} of the weights in each step.", where,
                      {**evidence, "weight_decay": update.decay},
                      [Mend("Decay less.", "weight_decay=0.01")], OPTIMIZERS)
    elif share > MOST:
        yield Finding("learning-rate", "warning", f"The first step of {named.name} changes the weights by "
                      f"{share:.2g} times their own size: the learning rate {update.rate:.3g} is too high to train.",
                      where, evidence, [Mend("Lower it; try a tenth, until the loss falls.",
                                             f"{named.name}.param_groups[{update.group}][\"lr\"] = "
                                             f"{update.rate / 10 ** math.ceil(math.log10(share / 0.01)):.1g}")],
                      OPTIMIZERS)
    elif 0 < share < LEAST:
        yield Finding("learning-rate", "note" if scheduled else "warning", f"The first step of {named.name} changes "
                      f"the weights by {share:.1e} of their size, which rounding loses: the learning rate "
                      f"{update.rate:.3g} is too low to train." + (" If a schedule raises it soon, this is a warm-up."
                                                                  if scheduled else ""), where, evidence,
                      [Mend("Raise it until an update is about a thousandth of the weights.",
                            f"{named.name}.param_groups[{update.group}][\"lr\"] = "
                            f"{update.rate * 1e-3 / share:.0e}")], OPTIMIZERS)


def loss_rises(facts: Facts) -> Iterator[Finding]:
    """`loss-rises`: `maximize`, a loss that is the negative of a known one, or an update by hand along the gradient."""
    if facts.recording.error is not None or not facts.passes or len(facts.optimizers) > 1:
        return
    first = facts.passes[0]
    roots = [t for node in first.roots for t in facts.outputs_of(node)]
    sign, known, at = sign_of(facts, roots[0]) if roots else (1, False, None)
    begun = [facts.value(root[2]) or {} for root in facts.events[first.step]["roots"] if len(root) > 2]
    if any(not isinstance(x, str) and x < 0 for preview in begun[:1] for x in preview.get("data", [])):
        sign, at = -sign, first.at
    if not known:
        return
    uphill = [name for name, each in facts.optimizers if any(g.get("maximize") for g in each.param_groups)]
    added = by_hand(facts)
    if uphill:
        sign, where = -sign, assigned(facts.program, uphill[0], "maximize=True")
    elif added:
        sign, where = -sign, added
    else:
        where = line_at(facts.trace, at, "its sign is turned here")
    if sign < 0:
        yield Finding("loss-rises", "error", "The update goes uphill: it makes the loss larger, not smaller.",
                      where + [p for p in line_at(facts.trace, first.at, "backward starts here") if p not in where], {},
                      [Mend("Minimise the loss itself: no minus before it, no maximize, and subtract the gradient.",
                            "loss.backward()\noptimizer.step()")], OPTIMIZERS)


def sign_of(facts: Facts, tensor: int) -> tuple[int, bool, Any]:
    """Return the sign with which a known loss is in a tensor, whether one is, and the line that decided the sign."""
    losses = {loss.name for loss in facts.recording.losses}
    sign, at, chosen = 1, None, False
    at_loss = {loss.at for loss in facts.recording.losses}
    while tensor in facts.made_by:
        _, event = facts.made_by[tensor]
        op, given = event["op"], [t for t in event["inputs"] if t is not None]
        if op in losses or losses and op in ("nll_loss", "mse_loss", "cross_entropy") and at_of(event) in at_loss:
            return sign, True, at
        if op in ("log_softmax", "_log_softmax"):  # a likelihood, which is to rise
            return -sign, chosen, at
        if op == "neg":
            sign, at = -sign, at_of(event)
        elif op in ("gather", "index", "index_select"):
            chosen = True
        elif op not in REDUCTIONS or len(given) != 1:
            return sign, False, at
        elif at is None:
            at = at_of(event)
        tensor = given[0]
    return sign, False, at


def by_hand(facts: Facts) -> list[Place]:
    """Return the line of an update that adds the gradient to a leaf: `p += lr * p.grad`."""
    for _, event in facts.forwards:
        place = line_at(facts.trace, at_of(event), "adds the gradient") if event["op"] in ("add_", "__iadd__") else []
        if place and re.match(r"[\w.\[\]]+ \+= [^-]*\.grad\b", place[0].source):
            return place
    return []


def symmetric_weights(facts: Facts) -> Iterator[Finding]:
    """`symmetric-weights`: units of a layer that begin equal, get equal gradients and so stay equal."""
    alike = [key for updates in facts.recording.updates.values() for each in updates for key in each.alike]
    names = [facts.name(facts.recording.numbers[key]) for key in alike if key in facts.recording.numbers]
    if names:
        yield Finding("symmetric-weights", "warning", f"The units of {listed(names)} began with the same weights and "
                      "get the same gradients: they stay equal, and are worth one unit.",
                      fills(facts.program, "all set to the same value here"), {"layers": len(names)},
                      [Mend("Begin with random weights.", "nn.init.kaiming_uniform_(layer.weight)")])
