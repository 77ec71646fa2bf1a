"""The programs that fail to learn: each does, beside its mended twin, and the doctor finds how many of them."""

from __future__ import annotations

import importlib
import inspect
import math
import warnings
from collections.abc import Callable
from typing import Any

import pytest

from tests.widgets.doctor.corpus_runs import LEARNING, Planted, alarms, findings, mended
from tests.widgets.doctor.mutation import compiled

LIBRARIES = ["minigrad", pytest.param("torch", marks=pytest.mark.torch)]
# What share of the programs the doctor has found something in, the right rule, and the right line first.
FOUND = {"torch": (0.98, 0.98, 0.95), "minigrad": (0.98, 0.98, 0.95)}
STEPS = 150
LEARNED = 0.5  # of what was wrong before, the most that a twin leaves
BEHIND = 0.25  # of what was wrong before, or of 1 if that is less, how much more a faulty program leaves


def twin(each: Planted) -> Planted:
    """The healthy twin of a program."""
    text = mended(inspect.getsource(each.program))
    return compiled(f"twin of {each.name}", "", text, vars(inspect.getmodule(each.program)))


TWINS = [twin(each) for each in LEARNING]


def progress(program: Callable[[Any], Any], library: Any) -> tuple[float, float]:
    """How far a program is from having learned its task, before and after some steps."""
    library.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch warns of some of the faults
        step, _, measure = program(library)
        before = measure()
        for _ in range(STEPS):
            step()
    return before, measure()


@pytest.mark.torch
@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize("each", LEARNING, ids=lambda each: each.name)
def test_a_faulty_program_fails_to_learn_beside_its_twin(each: Planted) -> None:
    torch = pytest.importorskip("torch")
    before, after = progress(TWINS[LEARNING.index(each)].program, torch)
    assert after <= LEARNED * before, f"the twin does not learn: {before:.3f} to {after:.3f}"
    faulty = progress(each.program, torch)[1]
    assert math.isnan(faulty) or faulty >= after + BEHIND * min(before, 1), f"{faulty:.3f} beside {after:.3f}"


def score(each: Planted, library: Any) -> tuple[bool, bool, bool]:
    """Whether a fault is noticed, by its rule, with its line first. What a few steps cannot show may be a note."""
    seen = findings(each.program, library)
    right = [finding for finding in seen if finding.rule == each.rule]
    return (bool(right) or any(finding.severity != "note" for finding in seen), bool(right),
            any(finding.where and finding.where[0].line in each.lines for finding in right[:1]))


def hold(programs: list[Planted], library: Any, least: tuple[float, ...]) -> None:
    """Hold the doctor to the least shares of the faults that it notices, by their rules, with their lines first."""
    scores = {each.name: score(each, library) for each in programs}
    for what, share, found in zip(("noticed", "rule", "line"), least, zip(*scores.values())):
        missed = [name for name, one in zip(scores, found) if not one]
        print(f"{what}: {sum(found)} of {len(found)}")
        assert sum(found) >= share * len(found), f"{what}: {sum(found)} of {len(found)}, without {missed}"


@pytest.mark.parametrize("library", LIBRARIES)
def test_the_doctor_finds_what_keeps_programs_from_learning(library: str) -> None:
    pytest.importorskip(library)
    assert len(LEARNING) >= 80
    hold(LEARNING, importlib.import_module(library), FOUND[library])


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("each", TWINS, ids=lambda each: each.name)
def test_a_mended_twin_raises_no_alarm(each: Planted, library: str) -> None:
    pytest.importorskip(library)
    assert alarms(each, importlib.import_module(library)) is None
