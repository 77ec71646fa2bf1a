"""KeyboardInterrupt at places of each kind of work leaves nothing on; children of `fork()` do not wait.

A part of what `python -m tests.reliability` tries, which lets allocations fail, too.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest

import minigrad
from minigrad.core.grad_mode import switch
from tests.reliability.interrupts import failures, lines, signals
from tests.reliability.together import forks
from tests.reliability.work import KINDS

MOST = 150  # points of a kind that are tried here
STRIDES = {"recording": 197, "checkpoint": 197, "anomaly mode": 97}
NAMES = [name for name in KINDS if name != "compile"]  # it has a hundred times as many points: for the command
forking = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")


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


@forking
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_child_of_a_thread_that_draws_does_not_wait() -> None:
    assert set(forks(21)) == {None}
