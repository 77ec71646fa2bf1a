"""The rules of `checkup`: each takes the facts of a recording and yields findings. docs/doctor.md describes them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from minigrad_widgets.doctor.facts import Facts
from minigrad_widgets.doctor.findings import Finding
from minigrad_widgets.doctor.rules import cuts, effects, graphs, losses, numbers, order

__all__ = ["RULES"]

RULES: list[Callable[[Facts], Iterator[Finding]]] = [
    numbers.nan, cuts.missing_gradients, cuts.not_a_leaf, order.order, order.schedule, order.accumulation,
    order.held, effects.nothing_moves, losses.broadcast, losses.twice_normalised, losses.modes, graphs.growth,
    graphs.kept, graphs.checkpoints, numbers.depth, numbers.activations, cuts.no_backward, graphs.memory]
