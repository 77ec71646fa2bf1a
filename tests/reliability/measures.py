"""What is promised, and how each promise is measured: the parts of a measure, and how often each is tried."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from tests.fuzz.files import pages
from tests.fuzz.files.targets import TARGETS, failure
from tests.fuzz.files.targets import damaged_file as damaged
from tests.reliability import allocations, hostile_pages, soak, together, writes
from tests.reliability.interrupts import failures, lines, points, signals
from tests.reliability.work import KINDS
from tests.reliability.writers import WRITERS

Results = Iterable[str | None]  # one for each trial: None, or what was wrong
Part = Callable[[float], Results]
FLAT, MEGABYTES = 0.02, 50
SPARSE = {"compile": 3331}  # kinds of work with very many points: each so-manieth is tried


class Measure(NamedTuple):
    """A promise: in words, how it is tried, in which file a part is tried at every change, and the parts.

    `parts` gives for each part a function of its share of the work, from above 0 to 1; `least`: how many trials the
    figures must show in all.
    """

    promise: str
    how: str
    test: str  # what tries a part with every change
    trials: str
    least: int
    parts: dict[str, Part]


def stride(name: str, share: float, least: int = 1) -> int:
    return round(max(SPARSE.get(name, 1), least) / share)


def count(whole: int, share: float) -> int:
    return max(1, round(whole * share))


def each(names: Iterable[str], part: Callable[[str], Part]) -> dict[str, Part]:
    return {name: part(name) for name in names}


def damages(name: str, share: float) -> Iterator[str | None]:
    """Files of a target; the seeds are the same each time, so that what is told can be tried again."""
    for seed in range(count(PAGES if name == "pages" else 10_000 if name in FILES else 300, share)):
        how = failure(TARGETS[name], damaged(TARGETS[name], seed))
        yield f"seed {seed}: {how}" if how else None
    pages.end()


def flat(name: str, share: float) -> Iterator[str | None]:
    grown = soak.alone(name, count(soak.RUNS[name][1], share))
    print(f"    {name}: memory grew by {100 * grown:.2f} %", flush=True)
    yield f"memory grew by {100 * grown:.1f} %" if grown > FLAT else None


def small(share: float) -> Iterator[str | None]:
    grown = soak.in_a_kernel(count(500, share))
    print(f"    inspectors in a kernel: {grown:.1f} MB", flush=True)
    yield f"{grown:.0f} MB" if grown > MEGABYTES else None


FILES = ("traces", "schema", "saved", "archives", "progress")
PAGES = 300
INSIDE = 6  # payloads that are tried in JupyterLab

MEASURES: dict[str, Measure] = {
    "interrupts": Measure(
        "Ctrl-C leaves no grad mode, recorder, hook or lock behind, and the next step works",
        "KeyboardInterrupt at each point at which Python delivers it", "tests/unit/test_interrupts.py", "interrupts",
        12_000, each(KINDS, lambda name: lambda share: failures(KINDS[name], points, stride(name, share)))),
    "lines": Measure(
        "The same, whichever line is running when Ctrl-C comes",
        "Ctrl-C at the beginning of every 29th line of the package that runs; Python raises it at the next point",
        "tests/unit/test_interrupts.py", "interrupts", 800,
        each(KINDS, lambda name: lambda share: failures(KINDS[name], lines, stride(name, share, 29)))),
    "signals": Measure(
        "Ctrl-C at any moment of a loop over `no_grad` leaves gradients on",
        "real signals at random moments", "tests/unit/test_interrupts.py", "signals", 4_000,
        {"no_grad": lambda share: signals(count(4_000, share), 0)}),
    "memory": Measure(
        "The same holds when memory runs out",
        "each allocation in turn fails", "tests/unit/test_interrupts.py", "failed allocations", 50_000,
        each(KINDS, lambda name: lambda share: allocations.starved(KINDS[name], stride(name, share)))),
    "disks": Measure(
        "A full or read-only disk leaves each file as it was, and nothing beside it",
        "each writer on disks with room for only a part of what it writes", "tests/unit/test_writers.py", "writes", 60,
        each(WRITERS, lambda name: lambda share: writes.disturbed(WRITERS[name]))),
    "kills": Measure(
        "A killed program leaves each file as it was or as it should be",
        "each writer in a process that is killed at a random moment", "tests/unit/test_writers.py", "kills", 1_000,
        each(WRITERS, lambda name: lambda share: writes.killed(WRITERS[name], count(100, share), 0))),
    "fills": Measure(
        "Three commands may fill one folder of lessons at the same time",
        "three processes, a new folder each time", "tests/unit/test_writers.py", "rounds", 30,
        {"minigrad lab": lambda share: together.fills(count(30, share))}),
    "forks": Measure(
        "A process forked while a thread draws random numbers draws its own, and does not hang",
        "`os.fork()` while another thread draws", "tests/unit/test_interrupts.py", "children", 21,
        {"os.fork": lambda share: together.forks(count(21, share))}),
    "damage": Measure(
        "A damaged file is read, or refused with the one error that is meant for it; no student's text is lost",
        "random damage, byte by byte and by the schema; simultaneous commands in one folder; pages in Chromium",
        "tests/unit/test_fuzz_files.py", "files", 50_000,
        each(TARGETS, lambda name: lambda share: damages(name, share))),
    "pages": Measure(
        "Opening a recording, as a page or in JupyterLab, executes nothing in it",
        "hostile text in place of every name; in JupyterLab as names, errors, titles and source, in trusted and "
        "untrusted notebooks", "tests/browser/test_hostile_pages.py", "pages", 257,
        {"exported pages": lambda share: hostile_pages.exported(list(islice(
            hostile_pages.PAYLOADS, count(len(hostile_pages.PAYLOADS), share)))),
         "JupyterLab": lambda share: hostile_pages.in_jupyterlab(hostile_pages.spread(count(INSIDE, share)))}),
    "soak": Measure(
        "Memory stays flat within 2 %",
        "20,000 training steps without the garbage collector, 500 recordings, 300 inspectors, 10,000 key presses",
        "tests/unit/test_figures.py", "runs", 4, each(soak.RUNS, lambda name: lambda share: flat(name, share))),
    "size": Measure(
        "500 inspectors, shown and closed, take less than 50 MB in a kernel; a trace of 1,000,000 events is refused",
        "a real kernel; the error names the size and the limit", "tests/widgets/test_freeing.py", "runs", 2,
        {"500 inspectors": small, "1,000,000 events": lambda share: soak.million_events()}),
}
