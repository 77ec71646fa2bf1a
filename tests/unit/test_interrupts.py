"""An interrupt or a lack of memory at places of each kind of work leaves nothing on; children of `fork()` do not wait.

A part of what `python -m tests.reliability` tries.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

import minigrad
from minigrad._base.locks import FEW, REFERENCES, locks, new_lock
from minigrad.core.grad_mode import switch
from tests.reliability import allocations
from tests.reliability.allocations import starved
from tests.reliability.interrupts import failures, lines, points, signals
from tests.reliability.together import forks
from tests.reliability.work import KINDS

MOST = 150  # points of a kind that are tried here
STRIDES = {"recording": 197, "checkpoint": 197, "anomaly mode": 97}
NAMES = [name for name in KINDS if name != "compile"]  # it has a hundred times as many points: for the command
OFTEN = {"recording": 41, "optimizer step": 23, "checkpoint": 307, "DataLoader": 97, "random numbers": 199,
         "anomaly mode": 23}  # each so-manieth of their allocations fails
forking = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
starving = pytest.mark.skipif(not hasattr(os, "fork") or not find_spec("_testcapi") or sys.version_info >= (3, 12),
                              reason="it needs fork and _testcapi, and CPython 3.12 itself crashes")


@pytest.mark.parametrize("name", NAMES)
def test_an_interrupt_leaves_nothing_on(name: str) -> None:
    results = list(failures(KINDS[name], stride=29))
    results += list(failures(KINDS[name], stride=max(1, len(results) * 29 // MOST)))
    assert [each for each in results if each is not None] == []
    assert len(results) > 20


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="Windows has no such signals")
@pytest.mark.parametrize("name", NAMES)
def test_ctrl_c_at_a_line_leaves_nothing_on(name: str) -> None:
    results = list(failures(KINDS[name], lines, STRIDES.get(name, 37)))
    assert [each for each in results if each is not None] == []
    assert len(results) > 5


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="Windows has no such signals")
def test_ctrl_c_at_any_moment_leaves_gradients_on() -> None:
    assert set(signals(200, 1)) == {None}


@pytest.mark.parametrize("write", [
    lambda x: x.add_(1), lambda x: x.mul_(2), lambda x: x.fill_(3), lambda x: x.copy_(minigrad.ones(3)),
    lambda x: x.masked_fill_(x == 0, 5), lambda x: x[1:].zero_().add_(1), lambda x: minigrad.add(x, 1, out=x),
    lambda x: x.__setitem__(0, 7.0), lambda x: x.index_fill_(0, minigrad.tensor([0, 2]), 9.0),
], ids=["add_", "mul_", "fill_", "copy_", "masked_fill_", "view", "out", "setitem", "index_fill_"])
def test_no_value_is_written_without_its_version(write: Callable[[minigrad.Tensor], object]) -> None:
    """Interrupted at every point: backward would otherwise compute with a saved value that has changed."""
    at, hit = 1, True
    while hit:
        x = minigrad.tensor([0.0, 1.0, 2.0])

        def work() -> Iterator[None]:
            write(x)  # noqa: B023 (it runs in this turn of the loop)
            yield

        hit = points(work, at) is not None
        assert x._version or x.tolist() == [0, 1, 2], at
        at += 1
    assert at > 5


def test_a_mode_that_stays_on_is_found() -> None:
    def careless() -> Iterator[None]:
        switch(False)
        minigrad.ones(2) * 2
        switch(True)
        yield

    try:
        for attack in (failures(careless), failures(careless, lines)):
            assert any("grad mode" in (each or "") for each in attack)
            switch(True)
    finally:
        switch(True)


@pytest.mark.skipif(os.name != "posix", reason="Windows has no background jobs of this kind")
def test_ctrl_c_is_heard_by_a_process_that_ignores_it() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        test_a_mode_that_stays_on_is_found()
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


@starving
@pytest.mark.parametrize("name", NAMES)
def test_a_failed_allocation_leaves_nothing_on(name: str) -> None:
    results = list(starved(KINDS[name], OFTEN.get(name, 11)))
    assert [each for each in results if each is not None] == []
    assert len(results) > 8


@starving
def test_a_mode_that_stays_on_where_memory_is_lacking_is_found() -> None:
    def careless() -> Iterator[None]:
        switch(False)
        minigrad.ones(2) * 2
        switch(True)
        yield

    assert any("grad mode" in (each or "") for each in starved(careless))


@starving
def test_the_end_of_the_allocations_is_found_from_far_beyond_it() -> None:
    assert list(starved(KINDS["forward"], 20_000)) == [None]


@starving
@pytest.mark.parametrize("how", ["abort", "hang"])
def test_a_process_that_crashes_or_hangs_is_found(how: str, monkeypatch: pytest.MonkeyPatch,
                                                  capsys: pytest.CaptureFixture[str]) -> None:
    def careless() -> Iterator[None]:
        try:
            minigrad.ones(2) * 2
        except MemoryError:
            os.abort() if how == "abort" else signal.pause()
        yield

    if how == "hang":
        monkeypatch.setattr(allocations, "PATIENCE", 1)
    wrong = next(each for each in starved(careless, 5) if each)
    assert wrong == ("signal 6 in careless" if how == "abort" else "signal 14 in ?")
    assert ("in careless" in capsys.readouterr().err) == (how == "abort")


@starving
def test_a_fault_of_the_work_itself_ends_the_trials() -> None:
    def broken() -> Iterator[None]:
        raise KeyError("x")
        yield

    with pytest.raises(RuntimeError, match="KeyError: 'x'"):
        list(starved(broken))


@pytest.mark.parametrize(("line", "known"), [("x.__array_interface__", True), ("x.shape", False)])
def test_a_crash_counts_as_known_by_its_line(line: str, known: bool, tmp_path: Path) -> None:
    (tmp_path / "x.py").write_text(f"def f(x):\n    {line}\n", encoding="utf-8")
    frames = f'  File "{tmp_path / "x.py"}", line 2 in f\n  File "other.py", line 1 in g\n'
    assert allocations.crashed(f"Fatal Python error\n\nCurrent thread:\n{frames}") == ("f", known)


def test_an_attribute_that_is_there_was_not_found_for_lack_of_memory() -> None:
    assert allocations.unexpected(AttributeError("none", name="shape", obj=minigrad.ones(1))) is None
    for wrong in (AttributeError("none", name="nothing", obj=1), AttributeError("none"), KeyError("x")):
        assert allocations.unexpected(wrong) is wrong


@starving
def test_an_error_that_hides_a_lack_of_memory_is_found() -> None:
    def hiding() -> Iterator[None]:
        try:
            minigrad.ones(2) * 2
        except MemoryError:
            raise KeyError("x") from None
        yield

    assert any("it came out as KeyError" in (each or "") for each in starved(hiding))


def test_references_to_locks_that_are_gone_are_dropped() -> None:
    kept = [new_lock() for _ in range(3)]
    for _ in range(500):
        new_lock()
    assert all(any(lock is each for each in locks()) for lock in kept)
    assert len(REFERENCES) <= 2 * max(FEW, len(locks())) + 1


@forking
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_child_of_a_thread_that_draws_does_not_wait() -> None:
    assert set(forks(21)) == {None}
