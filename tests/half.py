"""Half of the cases of tests that have many, for a machine on which all of them take too long.

With `MINIGRAD_MINUTES=50`, `python -m tests` takes about fifty minutes on any machine: a stage that begins later than
it should runs, of each test with more than three cases, every other one. Which half it is changes from day to day, so
that no case is left out for long. Without the variable all of them run.
"""

from __future__ import annotations

import os
from collections import defaultdict
from datetime import date
from zlib import crc32

import pytest

HALF = "MINIGRAD_HALF"  # in a stage that hurries: 0 or 1, the half that it runs
FEW = 3
# When a stage should begin, as a share of the minutes of all; measured where those are 77.
BEGINS = {"parity": 0.13, "device": 0.28, "lessons": 0.46, "browser": 0.59}


def hurry(stage: str, minutes: float) -> dict[str, str]:
    """Return what a stage that begins after so many minutes adds to its environment."""
    allowed = float(os.environ.get("MINIGRAD_MINUTES", "inf"))
    return {HALF: str(date.today().toordinal() % 2)} if minutes > BEGINS.get(stage, 1) * allowed else {}


def left_out(items: list[pytest.Item]) -> list[pytest.Item]:
    """Return the cases of the other half; none where nothing hurries."""
    if HALF not in os.environ:
        return []
    cases = defaultdict(list)
    for item in items:
        if hasattr(item, "callspec"):
            cases[item.nodeid.partition("[")[0]].append(item)
    other = {name: [item for item in same if str(crc32(item.nodeid.encode()) % 2) != os.environ[HALF]]
             for name, same in cases.items() if len(same) > FEW}
    return [item for name, some in other.items() if len(some) < len(cases[name]) for item in some]
