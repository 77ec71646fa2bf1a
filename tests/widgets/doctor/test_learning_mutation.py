"""The second set of faults of learning, planted by a program: what the doctor finds of them, and no false alarm."""

from __future__ import annotations

import importlib

import pytest

from tests.widgets.doctor.corpus_runs import Planted, alarms
from tests.widgets.doctor.learning_mutation import BASES, MUTANTS, NO_FAULTS
from tests.widgets.doctor.test_learning import LEARNED, LIBRARIES, hold, progress

FOUND = (1.0, 1.0, 0.95)  # the share of the mutants noticed, with the right rule, and with the right line first


@pytest.mark.parametrize("library", LIBRARIES)
def test_the_doctor_finds_the_faults_that_were_planted(library: str) -> None:
    pytest.importorskip(library)
    assert len(MUTANTS) >= 100
    hold(MUTANTS, importlib.import_module(library), FOUND)


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("each", BASES, ids=lambda each: each.name)
def test_an_original_raises_no_alarm(each: Planted, library: str) -> None:
    pytest.importorskip(library)
    assert alarms(each, importlib.import_module(library)) is None


@pytest.mark.usefixtures("one_thread")
@pytest.mark.torch
@pytest.mark.parametrize("each", [*BASES, *NO_FAULTS], ids=lambda each: each.name)
def test_an_original_learns_and_so_does_a_mutant_that_is_no_fault(each: Planted) -> None:
    torch = pytest.importorskip("torch")
    before, after = progress(each.program, torch)
    assert after <= LEARNED * before, f"{before:.3f} to {after:.3f}"
