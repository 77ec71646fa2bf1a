"""A KeyboardInterrupt at points of each kind of work leaves nothing on; children of `fork()` do not wait for locks."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator

import pytest

import minigrad
from minigrad.core.grad_mode import switch
from tests.reliability.interrupts import failures
from tests.reliability.work import KINDS

MOST = 300  # points of a kind that are tried here; `python -m tests.reliability` tries all


@pytest.mark.parametrize("name", KINDS)
def test_an_interrupt_leaves_nothing_on(name: str) -> None:
    coarse = list(failures(KINDS[name], stride=29))
    stride = max(1, len(coarse) * 29 // MOST)
    results = coarse + list(failures(KINDS[name], stride=stride))
    assert [each for each in results if each is not None] == []
    assert len(results) > 50


def test_a_mode_that_stays_on_is_found() -> None:
    def careless() -> Iterator[None]:
        switch(False)
        minigrad.ones(2) * 2
        switch(True)
        yield

    try:
        assert any("grad mode" in (each or "") for each in failures(careless))
    finally:
        switch(True)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_child_of_a_thread_that_draws_does_not_wait() -> None:
    done = threading.Event()

    def draw() -> None:
        while not done.is_set():
            minigrad.randn(2000)

    thread = threading.Thread(target=draw)
    thread.start()
    try:
        for _ in range(20):
            child = os.fork()
            if not child:
                signal.alarm(60)  # ends a child that hangs
                minigrad.randn(2000)
                os._exit(0)
            assert os.waitpid(child, 0)[1] == 0
    finally:
        done.set()
        thread.join()
