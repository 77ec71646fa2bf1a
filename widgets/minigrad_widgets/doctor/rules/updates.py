"""What updates do: too much, too little, or the same to every unit."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise

from minigrad_widgets.doctor.facts import Facts
from minigrad_widgets.doctor.findings import Finding, Mend, line_at
from minigrad_widgets.doctor.library import Named
from minigrad_widgets.doctor.rules.cuts import listed
from minigrad_widgets.doctor.source import assigned, fills, rate_given
from minigrad_widgets.doctor.teaching import OPTIMIZERS
from minigrad_widgets.doctor.updates import Update

__all__ = ["learning_rate", "overshoots", "symmetric_weights"]

MOST, LEAST = 3.0, 1e-7  # an update, over the weights: more jumps about, less is lost in rounding
SHRINKS = 0.05  # the share of the weights that decay alone takes in a step: more outweighs what is learned
FALLS = 0.5  # the rate of a step over that of the one before, in every step: less is gone within ten


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


def overshoots(facts: Facts) -> bool:
    """Whether the first step of an optimizer changes weights by several times their own size: what is large afterwards
    is so because of it."""
    return any(each.weight and each.change > MOST * each.weight
               for updates in facts.recording.updates.values() for each in updates)


def wrong_size(facts: Facts, named: Named, update: Update, scheduled: bool) -> Iterator[Finding]:
    """One group's update that is too large or too small, or made by weight decay alone."""
    if not update.weight or not update.gradient or not math.isfinite(update.change):
        return
    share = update.change / update.weight
    evidence = {"group": update.group, "lr": update.rate, "update / weights": share}
    where = (rate_given(facts.program, named.name, update.rate, "its rate is set here")
             or assigned(facts.program, named.name, "its rate is set here")) + line_at(
        facts.trace, next(c.at for c in facts.of_kind("step") if c.subject is named.value), "steps here")
    if update.rate * update.decay > SHRINKS:
        yield Finding("learning-rate", "warning", f"Weight decay outweighs what {named.name} learns: it takes "
                      f"{update.rate * update.decay:.0%} of the weights in each step.", where,
                      {**evidence, "weight_decay": update.decay},
                      [Mend("Decay less.", "weight_decay=0.01")], OPTIMIZERS)
    elif share > MOST:
        yield Finding("learning-rate", "warning", f"The first step of {named.name} changes the weights by "
                      f"{share:.2g} times their own size: the learning rate {update.rate:.3g} is too high to train.",
                      where, evidence, [Mend("Lower it until an update is about a hundredth of the weights.",
                                             f"{named.name}.param_groups[{update.group}][\"lr\"] = "
                                             f"{update.rate / 10 ** math.ceil(math.log10(share / 0.01)):.1g}")],
                      OPTIMIZERS)
    elif share < LEAST and (share or 0 < update.rate * update.gradient < LEAST * update.weight):
        yield Finding("learning-rate", "note" if scheduled else "warning", f"The first step of {named.name} changes "
                      f"the weights by {share:.1g} of their size, which rounding loses: the learning rate "
                      f"{update.rate:.3g} is too low to train." + (" If a schedule raises it soon, this is a warm-up."
                                                                  if scheduled else ""), where, evidence,
                      [Mend("Raise it until an update is about a thousandth of the weights.",
                            f"{named.name}.param_groups[{update.group}][\"lr\"] = "
                            f"{update.rate * 1e-3 / share if share else 1e-3:.0e}")], OPTIMIZERS)


def symmetric_weights(facts: Facts) -> Iterator[Finding]:
    """`symmetric-weights`: units of a layer that begin equal, get equal gradients and so stay equal."""
    alike = [key for updates in facts.recording.updates.values() for each in updates for key in each.alike]
    names = [facts.name(facts.recording.numbers[key]) for key in alike if key in facts.recording.numbers]
    if names:
        yield Finding("symmetric-weights", "warning", f"The units of {listed(names)} began with the same weights and "
                      "get the same gradients: they stay equal, and are worth one unit.",
                      fills(facts.program, "all set to the same value here"), {"layers": len(names)},
                      [Mend("Begin with random weights.", "nn.init.kaiming_uniform_(layer.weight)")])
