"""What the doctor finds in the corpus, under both libraries: every fault with its rule and line, and no false alarm.

The second half plants faults in healthy programs, at every line where they fit: none of these was looked at while the
rules were written.
"""

from __future__ import annotations

import importlib
from collections import Counter

import pytest

from tests.widgets.doctor.corpus_runs import FAULTY, HEALTHY, Planted, alarms, found
from tests.widgets.doctor.mutation import MUTANTS

LIBRARIES = ["minigrad", pytest.param("torch", marks=pytest.mark.torch)]


def names(each: Planted) -> str:
    return each.name


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("each", FAULTY, ids=names)
def test_a_planted_fault_is_found(each: Planted, library: str) -> None:
    pytest.importorskip(library)
    assert found(each, importlib.import_module(library)) is None


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("each", HEALTHY, ids=names)
def test_a_healthy_program_raises_no_alarm(each: Planted, library: str) -> None:
    pytest.importorskip(library)
    assert alarms(each, importlib.import_module(library)) is None


def test_the_corpus_is_as_large_as_it_is_to_be() -> None:
    assert len(HEALTHY) >= 60
    assert min(Counter(each.rule for each in FAULTY).values()) >= 3
    assert all(each.lines for each in FAULTY)


@pytest.mark.parametrize("library", LIBRARIES)
def test_faults_planted_elsewhere_are_found(library: str) -> None:
    pytest.importorskip(library)
    missed = [missing for each in MUTANTS if (missing := found(each, importlib.import_module(library)))]
    assert len(MUTANTS) >= 60
    assert len(missed) <= len(MUTANTS) // 20, "\n".join(missed)
