"""`checkup`: runs a training step a few times under the recorder, and says what is wrong with it."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from minigrad.trace.text import notes_line
from minigrad_widgets.doctor.errors import diagnosis
from minigrad_widgets.doctor.facts import Facts
from minigrad_widgets.doctor.findings import SEVERITIES, Finding, in_own_names, taught, users_first, with_effects
from minigrad_widgets.doctor.library import (
    Library,
    Named,
    check_call,
    found_in,
    is_module,
    is_optimizer,
    library_of,
    loose_leaves,
    surroundings,
)
from minigrad_widgets.doctor.recording import Recording, is_ours, run
from minigrad_widgets.doctor.report import Report, gradients_of, held_bytes
from minigrad_widgets.doctor.rules import RULES
from minigrad_widgets.doctor.state import State
from minigrad_widgets.doctor.updates import changes, update_of

__all__ = ["checkup"]


def checkup(step: Callable[[], Any], *, model: Any = None, optimizer: Any = None, steps: int = 3,
            keep: bool = False) -> Report:
    """Run a training step a few times, and find what is wrong with it.

    report = checkup(step, model=model, optimizer=optimizer)
    assert report.ok, str(report)

    `step` is any code that does one iteration, in PyTorch or minigrad. Modules, optimizers, schedules, gradient
    scalers, tensors, hooks, random states and flags are afterwards as they were, also if the step fails, unless `keep`;
    anything else that the step changes (a list of losses, an iterator) stays changed.

    Args:
        step: one iteration: forward pass, backward pass, update.
        model: the module that it trains, or several; without it, those that `step` mentions by name.
        optimizer: the optimizer, or several; without it, those that `step` mentions by name.
        steps: how many times to run it; detecting growth from step to step needs 3.
        keep: whether to keep what the step has changed.

    Raises:
        TypeError: if `step` cannot be called without arguments, or `model` or `optimizer` is something else.
        ValueError: if `steps` is less than 1.
        Exception: what the step itself raises, if it is not an error of autograd; its `report` holds what was found so
            far.
    """
    check(step, steps)
    names = surroundings(step)
    models = named_objects(model, "model", is_module, names)
    optimizers = named_objects(optimizer, "optimizer", is_optimizer, names)
    library = library_of([*names.values(), *[each.value for each in (*models, *optimizers)], step])
    state = State(library, optimizers, [*(each.value for each in (*models, *optimizers)), step])
    try:
        loose = loose_leaves(models)
        recording = recorded(library, step, steps, models, optimizers, names, state, [each.tensor for each in loose])
        facts = Facts(recording, models, optimizers, surroundings(step), step)  # the step may have bound new names
        facts.moved, facts.loose = state.moved(), loose
        facts.required = {key: kept.requires_grad for key, kept in state.tensors.items()}
        report = examined(facts)
    finally:
        if not keep:
            state.restore()
    error = recording.error
    if error is not None and (not report.findings or report.findings[0].rule == "own-error"):
        attach(error, report, len(recording.starts))
        raise error
    return report


def attach(error: BaseException, report: Report, iteration: int) -> None:
    """Attach to an error of the step itself the report of what was found until then."""
    whose = "is the doctor's own, not the step's: please report it" if is_ours(error) else "is the step's own"
    said = f"checkup ended in iteration {iteration}: this error {whose}."
    try:
        error.report = report  # type: ignore[attr-defined]  # most exceptions allow attributes
        error.add_note(f"{said} What was found so far is in its `report`.")
    except (AttributeError, TypeError):  # its class allows no attributes
        warnings.warn(f"{said} What was found so far:\n{report}", stacklevel=3)


def check(step: Any, steps: int) -> None:
    """Raise an error unless checkup can run this step this many times."""
    if not callable(step):
        raise TypeError(f"checkup takes a function that does one training step, not {type(step).__name__}")
    check_call(step, "checkup")
    try:
        inspect.signature(step).bind()
    except TypeError as error:
        raise TypeError(f"checkup calls step() without arguments: {error}. Wrap it: "
                        "checkup(lambda: step(x, y))") from error
    except ValueError:  # a built-in without a signature: it may be callable like this
        pass
    if steps < 1:
        raise ValueError(f"steps must be at least 1, not {steps}")


def named_objects(value: Any, what: str, wanted: Callable[[Any], bool], names: dict[str, Any]) -> list[Named]:
    """Return the given models or optimizers, by the names that the step has for them; else those that it names."""
    known = found_in(names, wanted)
    if value is None:
        return outermost(known) if what == "model" else known
    values = value if isinstance(value, (list, tuple)) else [value]
    found = []
    for i, each in enumerate(values):
        if not wanted(each):
            raise TypeError(f"{what} must be {'a module' if what == 'model' else 'an optimizer'}, or a list of them, "
                            f"not {type(each).__name__}")
        name = next((n for n, v in known if v is each), what if len(values) == 1 else f"{what}s[{i}]")
        found.append(Named(name, each))
    return found


def outermost(models: Sequence[Named]) -> list[Named]:
    """Return the modules that are not inside another one of these."""
    inner = {id(part) for _, model in models for path, part in model.named_modules() if path}
    return [each for each in models if id(each.value) not in inner]


def recorded(library: Library, step: Callable[[], Any], steps: int, models: Sequence[Named],
             optimizers: Sequence[Named], names: dict[str, Any], state: State,
             loose: Sequence[Any]) -> Recording:
    """Run the step under the recorder."""
    variables = {name: value for name, value in names.items() if not inspect.ismodule(value) and name != "self"}
    variables |= {each.name: each.value for each in models if each.name.isidentifier()}

    alone = [kept for key, kept in state.tensors.items() if kept.leaf and kept.requires_grad and key not in state.held]

    def watched() -> list[Any]:
        parameters = [p for _, model in models for p in model.parameters()]
        parameters += [p for _, each in optimizers for group in each.param_groups for p in group["params"]]
        return [*parameters, *loose]

    return run(library, step, variables, steps, watched, lambda optimizer: update_of(
        library.array, optimizer, {key: kept.values for key, kept in state.tensors.items()}),
        lambda: changes(library.array, alone))


def examined(facts: Facts) -> Report:
    """Apply all rules, and return the report."""
    findings: list[Finding] = []
    told = facts.recording.told
    if told is not None:
        cause = diagnosis(facts, told)
        if cause is None:
            whose = "The doctor" if is_ours(facts.recording.error) else "The step"
            cause = Finding("own-error", "error", f"{whose} raised an error of its own, {told.kind}: {told.text}")
        findings.append(cause)
    for rule in RULES:
        findings += rule(facts)
    if told is not None and findings and findings[0].rule == "own-error" and told.kind == "TypeError" and (
            "NoneType" in told.text and any(each.rule == "not-a-leaf" for each in findings)):
        del findings[0]  # the .grad of a tensor that is not a leaf was None
    if any(each.rule == "checkpoint-without-grad" for each in findings):  # the same fault, under its better name
        findings = [each for each in findings if each.rule != "cut-graph"]
    findings = [users_first(in_own_names(taught(each), facts.own_names), facts.callers)
                for each in with_effects(findings)]  # only then: two lines of a package may be two faults
    if findings and findings[0].rule != "own-error":
        findings.sort(key=lambda each: SEVERITIES.index(each.severity))
    notes = [] if facts.models else ["No model was given and the step names none: rules about unused parameters, "
                                     "and about optimizers that hold old ones, were skipped."]
    notes += filter(None, [notes_line(facts.trace.notes)])
    return Report(findings, len(facts.recording.alive), gradients_of(facts), held_bytes(facts), facts.trace, notes)
