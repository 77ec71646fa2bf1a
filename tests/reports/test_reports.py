"""Each public report's program comes to the same end in both libraries; the list of them is long enough, and true."""

from __future__ import annotations

import re

import pytest

import minigrad
from tests.parity.conftest import every_warning, no_cupy, torch
from tests.parity.outcome import outcome
from tests.reports import attention, checkpoints, loaders, modules, optimizers, passes, scattered, schedules, training
from tests.reports.report import Report, same

__all__ = ["every_warning", "no_cupy", "torch"]

FAMILIES = (passes, scattered, modules, attention, optimizers, schedules, checkpoints, loaders, training)
ALL = [report for family in FAMILIES for report in family.reports]
pytestmark = pytest.mark.usefixtures("every_warning")


@pytest.mark.parametrize("report", ALL, ids=lambda report: report.place.split("/", 1)[1])
def test_what_was_reported_ends_alike(torch, report: Report):
    (mine, warned), theirs = outcome(report.program, minigrad), outcome(report.program, torch)
    mine = mine, [each for each in warned if each[0] != "RuntimeWarning"]  # NumPy's, which every filter here shows
    if report.differs:
        assert not same(mine, theirs), f"it does not differ any more: remove {report.differs!r}"
    else:
        assert same(mine, theirs), f"minigrad: {mine}\nPyTorch:  {theirs}"


def test_there_are_a_hundred_reports_each_told_once():
    assert len(ALL) >= 100
    assert len({report.place for report in ALL}) == len(ALL)
    assert len({report.name for report in ALL}) == len(ALL)
    for report in ALL:
        assert re.fullmatch(r"[\w.-]+/[\w.-]+/(issues|pull)/\d+", report.place), report.place
