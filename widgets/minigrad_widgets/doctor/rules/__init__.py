"""The rules of `checkup`: each takes the facts of a recording and yields findings. docs/doctor.md describes them.

Their order is that of findings that are equally serious: what leaves nothing to learn comes before what ends a run
later, as a graph that grows does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from minigrad_widgets.doctor.facts import Facts
from minigrad_widgets.doctor.findings import Finding
from minigrad_widgets.doctor.rules import (
    contracts,
    cuts,
    data,
    effects,
    frozen,
    graphs,
    losses,
    numbers,
    order,
    updates,
    uphill,
    zero,
)

__all__ = ["RULES"]

RULES: list[Callable[[Facts], Iterator[Finding]]] = [
    numbers.nan, cuts.missing_gradients, cuts.not_a_leaf, order.order, order.schedule, order.accumulation,
    order.held, effects.nothing_moves, frozen.frozen_by_mistake, losses.broadcast, losses.twice_normalised,
    contracts.loss_contract, zero.zero_gradient, zero.relu_before_loss, updates.learning_rate, uphill.loss_rises,
    updates.symmetric_weights, losses.modes, graphs.growth, graphs.kept, graphs.checkpoints, numbers.depth,
    numbers.activations, cuts.no_backward, graphs.memory, order.scaled, data.batch_leak, data.input_scale,
    data.not_detached]
