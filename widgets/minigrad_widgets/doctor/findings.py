"""What the doctor says: places in the user's code, findings, and their text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from minigrad.recorder import Trace
from minigrad_widgets.doctor.teaching import TAUGHT, file_of

__all__ = ["SEVERITIES", "Finding", "Mend", "Place", "details", "in_own_names", "indented", "lesson_text", "line_at",
           "number", "taught", "users_first", "with_effects"]

SEVERITIES = ("error", "warning", "note")
LATER = ("nan-forward", "nan-backward")  # what a learning rate that is far too high brings with it
SHOWN = 3  # the user's lines that led to one line of a package
EFFECTS = {  # what a fault brings with it on the same line; the nearest cause comes first
    "exploding-gradient": ("dead-relu", "saturated"),
    "vanishing-gradient": ("dead-relu", "saturated"),
    "zero-gradient": ("dead-relu",),
    "input-scale": ("exploding-gradient", "vanishing-gradient", "dead-relu", "saturated", "learning-rate"),
    "loss-contract": ("zero-gradient", "nan-forward", "exploding-gradient"),
    "stale-in-optimizer": ("not-in-optimizer",),
}


@dataclass(frozen=True)
class Place:
    """A line of the user's code, and its role."""

    file: str
    line: int
    source: str
    role: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}  {self.source}  # {self.role}"


@dataclass(frozen=True)
class Mend:
    """What to do about it: a sentence, and a snippet in the names of the program."""

    what: str
    code: str = ""

    def __str__(self) -> str:
        return self.what if not self.code else f"{self.what}\n" + indented(self.code)


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong with a training step.

    `rule` is a slug of docs/doctor.md; `where` begins with the culprit; `evidence` holds the numbers; `lesson` is the
    number of a lesson and a heading in it; `also` has what the same fault on the same line has brought with it.
    """

    rule: str
    severity: str
    what: str
    where: list[Place] = field(default_factory=list)
    evidence: dict[str, Any] = field(default_factory=dict)
    mends: list[Mend] = field(default_factory=list)
    lesson: tuple[int, str] | None = None
    also: list[Finding] = field(default_factory=list)

    def __str__(self) -> str:
        return "\n".join([f"{self.severity}: {self.rule}", indented(self.what),
                          *[indented(indented(each)) for each in self.list()], *details(self)])

    @property
    def line(self) -> tuple[str, int] | None:
        """The file and the number of the first line."""
        return (self.where[0].file, self.where[0].line) if self.where else None

    def list(self) -> Iterator[str]:
        """Yield a line for each finding in `also`."""
        for each in self.also:
            yield each.what if each.rule == self.rule else f"{each.rule}: {each.what}"


def with_effects(findings: list[Finding]) -> list[Finding]:
    """Return findings such that one cause is one finding: what begins at the same line, and is of the same rule or an
    effect of it, goes into `also` of the first. That one is as severe as the worst of them."""
    for cause, effects in [*[(each.rule, (each.rule,)) for each in findings], *EFFECTS.items()]:
        heads = {each.line: each for each in reversed(findings) if each.rule == cause and each.where}
        taken: dict[int, list[Finding]] = {}
        rest = []
        for each in findings:
            head = heads.get(each.line)
            if head is None or head is each or each.rule not in effects:
                rest.append(each)
            else:
                taken.setdefault(id(head), []).extend([replace(each, also=[]), *each.also])
        findings = [joined(each, taken.get(id(each), [])) for each in rest]
    return after_update(findings)


def after_update(findings: list[Finding]) -> list[Finding]:
    """Return findings such that numbers that break only after an update that is larger than the weights, at whatever
    line, are effects of that."""
    head = next((each for each in findings if each.evidence.get("update / weights", 0.0) > 1), None)
    effects = [each for each in findings if each.rule in LATER and each.evidence.get("iteration", 1) > 1]
    if head is None or not effects:
        return findings
    return [joined(each, effects) if each is head else each for each in findings if each not in effects]


def joined(head: Finding, effects: list[Finding]) -> Finding:
    """Return a finding with effects of the same fault; `what` of each is said once."""
    told = [head, *head.also]
    for each in effects:
        if each.what not in [one.what for one in told]:
            told.append(each)
    severity = min([head.severity, *[each.severity for each in effects]], key=SEVERITIES.index)
    return replace(head, also=told[1:], severity=severity) if effects else head


def users_first(finding: Finding, callers: Mapping[Place, list[Place]]) -> Finding:
    """Return a finding in which the user's lines come before the line of an installed package that they led to, and
    take its role. `callers` has them by that line, without a role."""
    where: list[Place] = []
    for place in finding.where:
        known = [replace(each, role="") for each in where]
        users = [each for each in callers.get(replace(place, role=""), ()) if each not in known][:SHOWN]
        where += [replace(each, role=place.role) for each in users]
        where.append(replace(place, role="the line of the package") if users else place)
    return replace(finding, where=where)


def taught(finding: Finding) -> Finding:
    """Return a finding with the lesson that teaches its rule, if the rule has named none."""
    return finding if finding.lesson is not None else replace(finding, lesson=TAUGHT.get(finding.rule))


def in_own_names(finding: Finding, names: Mapping[str, str]) -> Finding:
    """Return a finding whose snippets use the program's names: `names` maps the usual name to the program's."""
    def own(code: str) -> str:
        return re.sub(r"(?<![\w.])(optimizer|model|loss)(?=\.)|\bloss\b(?= =)",
                      lambda found: names.get(found.group(), found.group()), code)
    return replace(finding, mends=[Mend(mend.what, own(mend.code)) for mend in finding.mends])


def details(told: Any) -> list[str]:
    """Places, numbers, mends and lesson of a finding or an explanation, as lines."""
    lines = [indented(str(place)) for place in told.where]
    if getattr(told, "evidence", None):
        lines.append(indented(", ".join(f"{key} {number(value)}" for key, value in told.evidence.items())))
    lines += [indented(f"- {str(mend).replace(chr(10), chr(10) + '  ')}") for mend in told.mends]
    if told.lesson is not None:
        lines.append(indented(lesson_text(told.lesson)))
    return lines


def lesson_text(lesson: tuple[int, str]) -> str:
    """Return the text that says which lesson teaches it."""
    return f"Lesson {lesson[0]} teaches it, under “{lesson[1]}”: {file_of(lesson)}."


def number(value: Any) -> str:
    """Return a number as text."""
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def indented(text: str) -> str:
    """Indent each line by two spaces."""
    return "\n".join(f"  {line}" for line in text.split("\n"))


def line_at(trace: Trace, at: tuple[int | None, int | None] | None, role: str) -> list[Place]:
    """Return a line of the trace as a list of one place; empty if there is no such line."""
    if at is None or at[0] is None or at[1] is None:
        return []
    file = trace.files[at[0]]
    lines = file["lines"]
    source = lines[at[1] - 1].strip() if 0 < at[1] <= len(lines) else ""
    return [Place(file["name"], at[1], source, role)]
