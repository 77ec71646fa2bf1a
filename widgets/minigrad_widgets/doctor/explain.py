"""`explain`: runs a program under the recorder, and says in plain words why it raised, and what caused that."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from minigrad.recorder import Trace
from minigrad.trace.text import notes_line
from minigrad_widgets.doctor.card import card, page, quiet, styled
from minigrad_widgets.doctor.causes import evidence_of
from minigrad_widgets.doctor.errors import diagnosis, raised_places
from minigrad_widgets.doctor.facts import Facts
from minigrad_widgets.doctor.findings import Finding, Mend, Place, details, in_own_names, indented, taught, users_first
from minigrad_widgets.doctor.library import check_call, is_module, library_of, surroundings
from minigrad_widgets.doctor.recording import Recording, Told, is_ours, run
from minigrad_widgets.doctor.site import Site

__all__ = ["Explanation", "explain", "explained"]

FINE = "no-error"


@dataclass
class Explanation:
    """Why a program raised.

    `rule` is a slug of docs/doctor.md, `error` the text of the error, `what` one sentence in plain words, `where` the
    places with the culprit first; `lesson` is the number of a lesson and a heading in it; `warnings` explains the
    warnings that were issued, and `step` is the event of the trace at which to open an inspector; `evidence` says
    what the line worked on, by its text there, and in which module.
    """

    rule: str
    error: str
    what: str
    where: list[Place]
    mends: list[Mend]
    lesson: tuple[int, str] | None
    trace: Trace = field(repr=False)
    step: int = 0
    evidence: dict[str, Any] = field(default_factory=dict)
    warnings: list[Finding] = field(default_factory=list)

    def __str__(self) -> str:
        lines = [self.rule, *([indented(self.error)] if self.error else []), indented(self.what), *details(self)]
        return "\n".join(filter(None, [*lines, *map(str, self.warnings), notes_line(self.trace.notes)]))

    def _repr_html_(self) -> str:
        return styled(card(self) + "".join(map(card, self.warnings)) + quiet(filter(None, [
            notes_line(self.trace.notes)])))

    @property
    def severity(self) -> str:
        """How serious it is: "error", or "note" if nothing was raised."""
        return "note" if self.rule == FINE else "error"

    def to_html(self) -> str:
        """Return the explanation as a page of its own."""
        return page("explanation", self._repr_html_())


def explain(fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Explanation:
    """Run `fn(*args, **kwargs)` under the recorder, and explain what it raises.

    print(explain(train, model, batch))

    The program runs as usual: what it changes stays changed. Warnings from autograd are explained too.

    Raises:
        TypeError: if `fn` cannot be called, or a call of it would run nothing, as that of a generator function.
        Exception: what `fn` raises, if the doctor does not know it, with a note that says so.
    """
    if not callable(fn):
        raise TypeError(f"explain takes a function and its arguments, not {type(fn).__name__}")
    check_call(fn, "explain")
    names = surroundings(fn)
    values = [fn, *args, *kwargs.values(), *names.values()]
    recording = run(library_of(values), lambda: fn(*args, **kwargs), variables(names, values), 1)
    return explained(recording, names, fn)


def variables(names: dict[str, Any], values: list[Any]) -> dict[str, Any]:
    """Return the variables that tensors are named after."""
    found = {name: value for name, value in names.items() if not inspect.ismodule(value) and name != "self"}
    for value in values:
        if is_module(value) and all(value is not each for each in found.values()):
            found.setdefault("model", value)
    return found


def explained(recording: Recording, names: dict[str, Any], program: Any) -> Explanation:
    """Return what a recording says about the error in it.

    Raises:
        Exception: the error itself, if the table does not know it.
    """
    facts = Facts(recording, names=names, program=program)
    warnings = list(filter(None, (diagnosis(facts, told) for told in recording.warnings)))
    warnings = [users_first(taught(Finding(w.rule, "warning", w.what, w.where, w.evidence, w.mends, w.lesson)),
                            facts.callers) for w in warnings]
    told = recording.told
    if told is None:
        what = "Nothing was raised." if not warnings else "Nothing was raised, but there were warnings."
        return Explanation(FINE, "", what, [], [], None, recording.trace, warnings=warnings)
    found = diagnosis(facts, told)
    if found is None:
        raise unknown(facts, told)
    found = users_first(in_own_names(taught(found), facts.own_names), facts.callers)
    return Explanation(found.rule, text_of(told), found.what, found.where, found.mends, found.lesson, recording.trace,
                       step_of(facts, found), found.evidence, warnings)


def unknown(facts: Facts, told: Told) -> BaseException:
    """Return the error of a recording, with a note that says that the doctor does not know it, and what it can say: the
    line, the module, and what the line worked on."""
    error = facts.recording.error
    if error is None:
        raise RuntimeError("nothing was raised")
    if is_ours(error):
        error.add_note("This error is the doctor's own, not the program's: please report it.")
        return error
    site = Site(error, facts.recording.library, facts.names)
    known = evidence_of(site)
    lines = [f"It was raised here: {place}" for place in raised_places(facts, told, site, "raised here")[:1]]
    lines += [f"{name}: {value}" for name, value in known.items()]
    error.add_note("\n  ".join(["explain does not know this error.", *lines]))
    return error


def text_of(told: Told) -> str:
    """Return an error as Python prints it."""
    return f"{told.kind}: {told.text}"


def step_of(facts: Facts, found: Finding) -> int:
    """The event of the culprit's line at which to open an inspector: the last one there, else the last of all."""
    if found.where:
        first = found.where[0]
        for i in range(len(facts.events) - 1, -1, -1):
            event = facts.events[i]
            if event.get("line") == first.line and facts.trace.files[event["file"]]["name"] == first.file:
                return i
    return max(len(facts.events) - 1, 0)
