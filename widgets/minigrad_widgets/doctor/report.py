"""The report of a checkup: what was found, the gradients by layer, the bytes that were held; as text and as a page."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

from minigrad.recorder import Trace, replace_file
from minigrad.trace.format import memory_text
from minigrad_widgets.doctor.card import bars, card, page, quiet, styled
from minigrad_widgets.doctor.facts import Facts
from minigrad_widgets.doctor.findings import Finding
from minigrad_widgets.doctor.rules.numbers import layers

__all__ = ["Report", "gradients_of", "held_bytes"]

KINDS = ("parameters", "activations", "saved", "gradients", "optimizer")


@dataclass
class Report:
    """What a checkup found.

    `findings` begin with the most serious; `steps` is how many iterations were completed; `gradients` has the norm of
    each weight's gradient, from the loss down; `held` the bytes of each kind at the peak; `notes` say what could not
    be checked.
    """

    findings: list[Finding]
    steps: int
    gradients: dict[str, float]
    held: dict[str, int]
    trace: Trace = field(repr=False)
    notes: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether nothing was found that is an error or deserves a warning."""
        return all(finding.severity == "note" for finding in self.findings)

    def __str__(self) -> str:
        lines = [self.title, *map(str, self.findings)]
        if self.gradients:
            lines.append("norm of the gradient, from the loss down:")
            lines += [f"  {name}  {norm:.3g}" for name, norm in self.gradients.items()]
        if self.held:
            kinds = ", ".join(f"{kind} {memory_text(n)}" for kind, n in self.held.items())
            lines.append(f"at the peak, {memory_text(sum(self.held.values()))} were held: {kinds}")
        return "\n".join([*lines, *self.notes])

    @property
    def title(self) -> str:
        """A one-line summary."""
        count = {severity: sum(f.severity == severity for f in self.findings) for severity in ("error", "warning",
                                                                                               "note")}
        said = ", ".join(f"{n} {severity}{'s' if n > 1 else ''}" for severity, n in count.items() if n)
        steps = f"{self.steps} step{'' if self.steps == 1 else 's'}"
        return f"checkup of {steps}: {said or 'nothing found'}"

    def _repr_html_(self) -> str:
        return styled(self.body())

    def body(self) -> str:
        """Return the page's contents: findings first, then gradients, then bytes."""
        parts = [f"<h3>{self.title}</h3>", *[card(finding) for finding in self.findings]]
        if self.gradients:
            parts.append(bars("Norm of the gradient, from the loss down (logarithmic, in the last step)",
                              self.gradients, "{:.3g}".format, log=True))
        if self.held:
            total = memory_text(sum(self.held.values()))
            parts.append(bars(f"Bytes held at the peak, {total} in all", self.held, memory_text))
        return "".join([*parts, quiet(self.notes)])

    def to_html(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return the report as a page of its own, also written to `path` if given."""
        text = page("checkup", self._repr_html_())
        if path is not None:
            replace_file(path, text)
        return text


def gradients_of(facts: Facts) -> dict[str, float]:
    """Return the norm of the gradient of each weight, from the loss down, in the last iteration."""
    return {layer.name: layer.norm for layer in layers(facts)}


def held_bytes(facts: Facts) -> dict[str, int]:
    """Return the bytes of each kind at the peak: the last step at which their sum was greatest, since by then an
    optimizer has its state."""
    counts: list[Any] = [e["bytes"] for e in facts.events if "bytes" in e]
    return dict(zip(KINDS, max(reversed(counts), key=sum))) if counts else {}
