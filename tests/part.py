"""A part of the cases of tests that have many, for a machine on which all of them take too long.

With `MINIGRAD_MINUTES=50`, `python -m tests` takes about fifty minutes on most machines: a stage that begins later than
it should runs, of each test with more than three cases, one in two, or one in four if it is much too late. Which ones
changes from day to day, so that no case is left out for long; the tests of a file that share their parameters stay or
go together, since some share a page. Without the variable all of them run.
"""

from __future__ import annotations

import os
from collections import defaultdict
from datetime import date
from zlib import crc32

import pytest

PART = "MINIGRAD_PART"  # in a stage that hurries: `1/4` is the second of four parts
FEW = 3
# When a stage should begin, as a share of the minutes of all; measured where those are 77.
BEGINS = {"parity": 0.13, "device": 0.28, "lessons": 0.46, "browser": 0.59}
MUCH = 1.3  # times later than that


def hurry(stage: str, minutes: float) -> dict[str, str]:
    """Return what a stage that begins after so many minutes adds to its environment."""
    due = BEGINS.get(stage, 1) * float(os.environ.get("MINIGRAD_MINUTES", "inf"))
    if minutes <= due:
        return {}
    parts = 4 if minutes > MUCH * due else 2
    return {PART: f"{date.today().toordinal() % parts}/{parts}"}


def left_out(items: list[pytest.Item]) -> list[pytest.Item]:
    """Return the cases of other parts; none where nothing hurries. One case of each test stays."""
    if PART not in os.environ:
        return []
    part, parts = map(int, os.environ[PART].split("/"))
    cases = defaultdict(list)
    for item in items:
        if hasattr(item, "callspec"):
            cases[item.nodeid.partition("[")[0]].append(item)
    out = []
    for same in cases.values():
        if len(same) > FEW:
            others = [item for item in same if crc32(_shared(item).encode()) % parts != part]
            out += others if len(others) < len(same) else others[1:]
    return out


def _shared(item: pytest.Item) -> str:
    return item.nodeid.partition("::")[0] + item.nodeid.partition("[")[2]
