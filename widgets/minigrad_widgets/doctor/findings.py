"""What the doctor says: places in the user's code, findings, and their text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from minigrad.recorder import Trace

__all__ = ["SEVERITIES", "Finding", "Mend", "Place", "details", "in_own_names", "indented", "lesson_text", "number",
           "line_at"]

SEVERITIES = ("error", "warning", "note")


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
    number of a lesson and a heading in it.
    """

    rule: str
    severity: str
    what: str
    where: list[Place] = field(default_factory=list)
    evidence: dict[str, Any] = field(default_factory=dict)
    mends: list[Mend] = field(default_factory=list)
    lesson: tuple[int, str] | None = None

    def __str__(self) -> str:
        return "\n".join([f"{self.severity}: {self.rule}", indented(self.what), *details(self)])


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
    return f"Lesson {lesson[0]} teaches it, under “{lesson[1]}”."


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
