"""Accounts for the bytes in a trace: over time, per op and per module. Part of `minigrad.memory`.

It uses only what a recorder noted (docs/trace.md, `bytes`), and reads a loaded trace as well as one that still grows.
"""

import math
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from minigrad._base.optional import optional
from minigrad.recorder import Trace

__all__ = ["Account", "Bytes", "OfNodes"]

COLORS = ("#66c4ac", "#cc79a7", "#b5bac1", "#56b4e9")  # as in the inspectors; colour-blind readers can tell them apart
NAMES = ("parameters", "saved", "activations", "gradients")


class Bytes(NamedTuple):
    """Bytes held, by kind. Each storage counts in exactly one field."""

    parameters: int
    activations: int
    saved: int
    gradients: int

    @property
    def total(self) -> int:
        """The sum of all."""
        return sum(self)

    @property
    def extra(self) -> int:
        """All but the parameters."""
        return self.total - self.parameters


class OfNodes(NamedTuple):
    """The totals of the ops of one name or one module: how often they ran, bytes made, bytes saved."""

    runs: int
    made: int
    saved: int


class Account:
    """Bytes held while a program ran, from its trace.

    `steps`: after each event; `peak`: at the maximum; `current`: at the end.
    """

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.steps: list[Bytes] = []
        now = Bytes(0, 0, 0, 0)
        for event in trace.events:
            if "bytes" in event:
                now = Bytes(*event["bytes"])
            self.steps.append(now)

    @property
    def current(self) -> Bytes:
        """What is held at the end."""
        return self.steps[-1] if self.steps else Bytes(0, 0, 0, 0)

    @property
    def peak(self) -> Bytes:
        """What was held at the step with the maximum."""
        return max(self.steps, key=lambda held: held.total, default=Bytes(0, 0, 0, 0))

    @property
    def peak_step(self) -> int:
        """The first step with the maximum."""
        return self.steps.index(self.peak)

    def at_backward(self) -> Bytes:
        """Return what was held when the first backward pass began; the only gradient then is that of its root.

        Raises:
            StopIteration: if there was none.
        """
        return next(held for held, event in zip(self.steps, self.trace.events, strict=True)
                    if event["kind"] == "backward_start")

    def per_op(self) -> dict[str, OfNodes]:
        """Return, by name of op, the bytes of the results and of what their nodes saved that no earlier one had."""
        return self.gathered([event["op"] for event in self.forwards()])

    def per_module(self) -> dict[str, OfNodes]:
        """Return the same for each module, by path; "" is what ran outside all modules. Ops belong to the innermost."""
        nodes, scopes = self.trace.nodes, self.trace.scopes

        def path(scope: int | None) -> str:
            parts: list[str] = []
            while scope is not None:
                parts.append(str(scopes[scope]["name"] or scopes[scope]["module"]))
                scope = scopes[scope]["parent"]
            return ".".join(reversed(parts))

        return self.gathered([path((event if event["node"] is None else nodes[event["node"]]).get("scope"))
                              for event in self.forwards()])

    def forwards(self) -> Iterator[Any]:
        """Return the events of ops."""
        return (event for event in self.trace.events if event["kind"] == "forward")

    def gathered(self, keys: list[str]) -> dict[str, OfNodes]:
        """Return the totals of the ops, by the key of each."""
        tensors, met, kept = self.trace.tensors, set[int](), set[int]()
        found: dict[str, OfNodes] = {}
        for key, event in zip(keys, self.forwards(), strict=True):
            made = saved = 0
            met.update(tensors[number]["storage"] for number in event["inputs"] or () if number is not None)
            for number in event["outputs"]:
                made += 0 if tensors[number]["storage"] in met else tensors[number]["bytes"]
                met.add(tensors[number]["storage"])
            for storage, size in self.saved_by(event["node"]):
                saved += 0 if storage in kept else size
                kept |= set() if storage is None else {storage}
            runs, *before = found.get(key, OfNodes(0, 0, 0))
            found[key] = OfNodes(runs + 1, before[0] + made, before[1] + saved)
        return found

    def saved_by(self, node: int | None) -> Iterator[tuple[int | None, int]]:
        """Yield storage and bytes of each value that a node saved; parameters are not counted."""
        for _, number, value in () if node is None else self.trace.nodes[node]["saved"]:
            if number is not None:
                tensor = self.trace.tensors[number]
                if not tensor["parameter"]:
                    yield tensor["storage"], tensor["bytes"]
            elif value is not None and self.trace.values[value]["shape"]:
                shown = self.trace.values[value]
                digits = re.search(r"\d+$", shown["dtype"])
                yield None, math.prod(shown["shape"]) * (int(digits[0]) // 8 if digits else 1)

    def text(self) -> str:
        """Return the account as a table."""
        rows = [f"{'':24}{'runs':>8}{'made':>16}{'saved':>16}"]
        for title, part in (("per op", self.per_op()), ("per module", self.per_module())):
            rows.append(title)
            rows += [f"  {name or '(no module)':22}{of.runs:8,}{of.made:16,}{of.saved:16,}"
                     for name, of in sorted(part.items(), key=lambda each: -each[1].saved)]
        for title, held in (("peak", self.peak), ("at the end", self.current)):
            parts = ", ".join(f"{each:,} {name}" for name, each in zip(Bytes._fields, held, strict=True))
            rows.append(f"{title}: {held.total:,} bytes: {parts}")
        return "\n".join(rows)

    def plot(self, axes: Any = None) -> Any:
        """Plot the bytes over the events, stacked, with backward passes shaded; return matplotlib's figure.

        Raises:
            MissingExtra: without matplotlib.
        """
        if axes is None:
            axes = optional("matplotlib.figure", "lessons").Figure(figsize=(8, 4), layout="constrained").subplots()
        parts = [[getattr(held, name) / 2**20 for held in self.steps] for name in NAMES]
        axes.stackplot(range(len(self.steps)), parts, labels=NAMES, colors=COLORS, step="post")
        for start, end in self.passes():
            axes.axvspan(start, end, color="black", alpha=0.07, linewidth=0)
        axes.set_xlabel("event (shaded: backward pass)")
        axes.set_ylabel("MiB held")
        axes.margins(x=0)
        axes.legend(loc="upper left", frameon=False)
        return axes.figure

    def passes(self) -> Iterator[tuple[int, int]]:
        """Yield the first and last step of each outermost backward pass."""
        start, depth = None, 0
        for step, event in enumerate(self.trace.events):
            if event["kind"] == "backward_start":
                start, depth = (step if depth == 0 else start), depth + 1
            elif event["kind"] == "backward_end":
                depth -= 1
                if depth == 0 and start is not None:
                    yield start, step
