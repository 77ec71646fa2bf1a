"""Losses that are fed with what they do not take."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from minigrad_widgets.doctor.contracts import Breach
from minigrad_widgets.doctor.facts import Facts, at_of
from minigrad_widgets.doctor.findings import Finding, Mend, line_at
from minigrad_widgets.doctor.rules.losses import SHAPES
from minigrad_widgets.doctor.watch import Loss

__all__ = ["loss_contract", "maker_of"]

# Ops that keep what a softmax or a sigmoid has made of the numbers.
THROUGH = SHAPES | {"log", "add", "log_", "add_", "clamp", "div", "mul"}


def loss_contract(facts: Facts) -> Iterator[Finding]:
    """`loss-contract`: each call of a loss in the first iteration whose input or target is not what it takes."""
    told = set()
    for loss in facts.recording.losses:
        breach = loss.breach or by_maker(facts, loss)
        if breach is None or (loss.at, breach.what) in told:
            continue
        told.add((loss.at, breach.what))
        maker = maker_of(facts, loss.input, breach.blame) if breach.blame else None
        where = line_at(facts.trace, loss.at, "the loss")
        if maker is not None and at_of(maker) != loss.at:
            where = line_at(facts.trace, at_of(maker), f"{maker['op'].strip('_')} here") + where
        yield Finding("loss-contract", "warning" if breach.sure else "note", breach.what, where, breach.evidence,
                      [Mend(*breach.mend)])


def maker_of(facts: Facts, tensor: int | None, ops: tuple[str, ...]) -> dict[str, Any] | None:
    """Return the op among `ops` that made a tensor, looking through those that keep its meaning."""
    while tensor is not None and tensor in facts.made_by:
        _, event = facts.made_by[tensor]
        if event["op"] in ops:
            return event
        if event["op"] not in THROUGH:
            return None
        tensor = next((t for t in event["inputs"] if t is not None), None)
    return None


def by_maker(facts: Facts, loss: Loss) -> Breach | None:
    """How a call breaks the contract by what made its input: a sigmoid before a softmax, exp before a logarithm, a
    clamp in place of a sigmoid."""
    if loss.name == "cross_entropy" and maker_of(facts, loss.input, ("sigmoid", "sigmoid_")):
        return Breach("A sigmoid goes into cross_entropy, which applies the softmax itself: scores between 0 and 1 "
                      "hardly differ, and gradients are small.", {},
                      ("Pass cross_entropy the raw scores.", "loss = F.cross_entropy(scores, y)"),
                      ("sigmoid", "sigmoid_"))
    if loss.name == "poisson_nll_loss" and loss.options.get("log_input") and maker_of(facts, loss.input, ("exp",)):
        return Breach("poisson_nll_loss takes the logarithm of the rate, and is given exp of it: it applies exp again.",
                      {}, ("Pass it the logarithm, or say that it is the rate.",
                           "F.poisson_nll_loss(rate, counts, log_input=False)"))
    cut = maker_of(facts, loss.input, ("clamp", "clamp_", "clip")) if loss.name == "binary_cross_entropy" else None
    if cut is not None and maker_of(facts, loss.input, ("sigmoid", "softmax", "_softmax")) is None:
        return Breach("binary_cross_entropy takes probabilities, and is given scores that were clamped: where they are "
                      "cut off, the slope is 0.", {}, ("Use the sigmoid, or the loss of raw scores.",
                                                       "F.binary_cross_entropy_with_logits(scores, target)"),
                      ("clamp", "clamp_", "clip"))
    return None
