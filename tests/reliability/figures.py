"""The figures of the last runs, and `docs/reliability.md`, which is made from them.

`python -m tests.reliability.figures` writes the page again.
"""

from __future__ import annotations

import fcntl
import json
import platform
import textwrap
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

import minigrad
from tests.reliability.measures import MEASURES, Measure

FIGURES = Path(__file__).with_name("figures.json")
PAGE = Path(__file__).resolve().parents[2] / "docs" / "reliability.md"
HEAD = """\
# Reliability

What minigrad promises for the case that something goes wrong, how each promise is tested, and with what results. The
figures are those of the last full run of `python -m tests.reliability`, which takes about an hour; a part of each test
runs with every change, in the file that the table names. `python -m tests.fuzz NAME --minutes 60` looks for damaged
files that no run has tried yet. [SECURITY.md](../SECURITY.md) says what is promised about content from others.

"""
BEYOND = """\
## What is beyond it

- **Where NumPy itself fails.** NumPy crashes if an allocation fails while an array is asked for `__array_interface__`;
  it draws random numbers and then finds no memory in which to return them. Such trials count as passed if they end at
  these places, and only there.
- **Where CPython reports something else.** It drops a memory error while it looks up an attribute, and raises
  AttributeError although the attribute exists; "can't allocate lock" and "returned NULL without setting an exception"
  also mean that memory ran out. From Python 3.12 on, CPython itself crashes where an allocation fails, so this is
  tested with 3.11.
- **Half a pair of normal numbers.** An interrupt during a draw of a few normal numbers may leave the generator
  advanced, with the number that it had kept for the next call still kept.
- **Where Python drops an interrupt.** An interrupt that comes while an object is freed (in a `__del__`, in the callback
  of a weak reference, in a generator that is closed) is printed, and the program goes on: some 7 of 1,000 of minigrad's
  points are of this kind. They leave nothing switched on; press Ctrl-C again.
- **Killed processes** leave their unfinished file, under a name that ends in `.tmp`, beside the complete one.
- **`compile`** traces by running minigrad itself, with some 100,000 points: every 3331st is tried.
- **Disks** that are full or read-only are mounted where the system lets a process do so (Linux); elsewhere the size of
  files is limited instead.
"""


def read() -> dict[str, Any]:
    """By measure and part: how many trials, how many of them wrong, when and with what."""
    found: dict[str, Any] = json.loads(FIGURES.read_text(encoding="utf-8")) if FIGURES.stat().st_size else {}
    return found


def keep(measure: str, part: str, tried: int, wrong: int) -> None:
    """Note the figures of a part, and write the page."""
    with open(FIGURES, "a", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # several runs may go on at once
        figures = read()
        figures.setdefault(measure, {})[part] = {
            "tried": tried, "wrong": wrong, "date": f"{datetime.now(UTC):%Y-%m-%d}", "minigrad": minigrad.__version__,
            "python": platform.python_version(), "numpy": np.__version__, "system": platform.system()}
        ordered = {name: {part: figures[name][part] for part in MEASURES[name].parts if part in figures[name]}
                   for name in MEASURES if name in figures}
        FIGURES.write_text(json.dumps(ordered, indent=1) + "\n", encoding="utf-8")
        PAGE.write_text(page(ordered), encoding="utf-8")


def page(figures: dict[str, Any]) -> str:
    """The text of the page."""
    rows = [row(measure, figures.get(name, {})) for name, measure in MEASURES.items()]
    text = HEAD + "| promise | how it is tested | tested with every change | figures |\n|---|---|---|---|\n"
    text += "".join(rows) + "\n## The parts\n\n"
    for name in MEASURES:
        parts = [f"{part} {each['tried']:,}" for part, each in figures.get(name, {}).items()]
        text += textwrap.fill(f"- **{name}**: {', '.join(parts)}.", 120, subsequent_indent="  ") + "\n"
    runs = [each for parts in figures.values() for each in parts.values()]
    seen = sorted({f"minigrad {each['minigrad']}, Python {each['python']}, NumPy {each['numpy']}, {each['system']}"
                   for each in runs})
    dates = sorted(each["date"] for each in runs)
    if late := missing(figures):
        text += textwrap.fill(f"- Not fully measured yet: {'; '.join(late)}.", 120, subsequent_indent="  ") + "\n"
    made = f"Measured with {'; '.join(seen)}, {dates[0]} to {dates[-1]}." if runs else "Nothing was measured yet."
    return f"{text}\n{textwrap.fill(made, 120)}\n\n{BEYOND}"


def missing(figures: dict[str, Any]) -> list[str]:
    """The parts that were not measured in whole yet."""
    return [f"{name}, {part}" for name, measure in MEASURES.items() for part in measure.parts
            if part not in figures.get(name, {})]


def row(measure: Measure, parts: dict[str, Any]) -> str:
    tried, wrong = (sum(each[key] for each in parts.values()) for key in ("tried", "wrong"))
    said = f"{tried:,} {measure.trials}, {wrong or 'none'} wrong" if parts else "not measured yet"
    test = f"[{Path(measure.test).name}](../{measure.test})"
    return f"| {measure.promise} | {measure.how} | {test} | {said} |\n"


def faults(figures: dict[str, Any]) -> list[str]:
    """What is wrong with figures: a part that is gone, too few trials, another version, something that did not hold."""
    found = [f"{name}: measured with minigrad {each['minigrad']}" for name, parts in figures.items()
             for each in parts.values() if each["minigrad"] != minigrad.__version__]
    for name, measure in MEASURES.items():
        parts = figures.get(name, {})
        if gone := sorted(set(parts) - set(measure.parts)):
            found.append(f"{name}: there is no {', '.join(gone)} any more")
        tried = sum(each["tried"] for each in parts.values())
        if set(parts) >= set(measure.parts) and tried < measure.least:
            found.append(f"{name}: {tried} of {measure.least} trials")
        found += [f"{name}, {part}: {each['wrong']} wrong" for part, each in parts.items() if each["wrong"]]
    return found


if __name__ == "__main__":
    PAGE.write_text(page(read()), encoding="utf-8")
