"""An interrupt at every point and at every line: nothing stays on that should be off, and the next step works.

Python delivers a signal where a function begins or goes on after a `yield`, where a call of a function written in C
returns, and at the end of a turn of a loop. Each of these is a *point*: `points` raises KeyboardInterrupt at the n-th
one. `lines` lets Ctrl-C come when the n-th line begins; Python then raises it at the next point, as it always does.
`signals` sends real ones at random moments.
"""

from __future__ import annotations

import _thread
import random
import signal
import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import numpy as np

import minigrad
from tests.reliability.state import described, inside, left_behind, modes, random_states
from tests.reliability.work import Work, run


class Hit:
    """Where some work was attacked, and what came out of it in place of the attack's own error."""

    def __init__(self, where: str, error: BaseException | None = None) -> None:
        self.where, self.error = where, error


Attack = Callable[[Work, int], Hit | None]


class CtrlC:
    """`CTRL_C[signal.SIGINT]` is Ctrl-C: a subscript and no call, so that Python does not look for signals after it."""

    __getitem__ = staticmethod(_thread.interrupt_main)


CTRL_C = CtrlC()


class Counter:
    """Counts the points or the lines of a program, and interrupts it at one of them."""

    def __init__(self, at: int) -> None:
        self.at, self.seen, self.where = at, 0, ""

    def reached(self, frame: FrameType, what: str) -> bool:
        """Whether this is the one; its place is noted."""
        self.seen += 1
        if self.seen == self.at:
            self.where = described(frame, frame.f_lineno, what)
        return self.seen == self.at

    def profile(self, frame: FrameType, event: str, argument: Any) -> None:
        """Points, as `sys.setprofile` reports them."""
        if event in ("call", "c_return") and inside(frame, __file__) and self.reached(frame, event):
            raise KeyboardInterrupt

    def trace(self, frame: FrameType, event: str, argument: Any) -> Any:
        """Lines, as `sys.settrace` reports them. None after Ctrl-C: to report one is a call, and a point."""
        if event == "line" and inside(frame, __file__) and self.reached(frame, event):
            sys.settrace(None)
            CTRL_C[signal.SIGINT]
            return None
        return self.trace


def attacked(work: Work, counter: Counter, switch: Callable[[Any], None], function: Any) -> Hit | None:
    """Do some work while a counter looks on; None if it does not count so far."""
    before, sys.unraisablehook = sys.unraisablehook, lambda _: None  # an interrupt while an object is freed is printed
    error = None
    try:
        switch(function)
        try:
            run(work)
        finally:
            switch(None)
    except KeyboardInterrupt:
        pass
    except Exception as raised:  # noqa: BLE001 (whichever it is, it hides the interrupt)
        error = raised
    sys.unraisablehook = before
    return Hit(counter.where, error) if counter.where else None


def points(work: Work, at: int) -> Hit | None:
    """Do some work, and raise KeyboardInterrupt at a point."""
    counter = Counter(at)
    return attacked(work, counter, sys.setprofile, counter.profile)


def lines(work: Work, at: int) -> Hit | None:
    """Do some work, and let Ctrl-C come at the beginning of a line."""
    counter = Counter(at)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's jobs in the background are deaf to it
    try:
        return attacked(work, counter, sys.settrace, counter.trace)
    finally:
        signal.signal(signal.SIGINT, before)


def failures(work: Work, attack: Attack = points, stride: int = 1, first: int = 1) -> Iterator[str | None]:
    """Attack some work at each place, or each `stride`-th; for each None, or what was wrong afterwards."""
    seed = minigrad.get_rng_state()
    for _ in range(2):  # what is imported, made or compiled once is there
        run(work)
        minigrad.set_rng_state(seed)
    before, states, at = modes(), random_states(work), first
    while True:
        minigrad.set_rng_state(seed)
        hit = attack(work, at)
        if hit is None:
            return
        wrong = left_behind(before, states, hit.where)
        if hit.error is not None:
            wrong.append(f"it came out as {hit.error!r}")
        try:
            minigrad.set_rng_state(seed)
            run(work)
        except Exception as error:  # noqa: BLE001 (whichever it is, the next step does not work)
            wrong.append(f"the next step: {error!r}")
        yield f"{hit.where}: {'; '.join(wrong)}" if wrong else None
        at += stride


def signals(count: int, seed: int) -> Iterator[str | None]:
    """Real signals at random moments of loops over `no_grad`; for each None, or what was wrong afterwards."""
    drawn = random.Random(seed)
    before, x = modes(), minigrad.ones(2, requires_grad=True)
    np.seterr(**before["errors of NumPy"])
    handler = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        for _ in range(count):
            try:
                signal.setitimer(signal.ITIMER_REAL, drawn.uniform(1e-5, 1e-3))
                while True:
                    with minigrad.no_grad():
                        x * 2
            except KeyboardInterrupt:
                pass
            after = modes()
            wrong = [name for name in before if before[name] != after[name]]
            with minigrad.no_grad():
                wrong += ["the next no_grad does nothing"] * (x * 2).requires_grad
            wrong += ["gradients stay off"] * (not (x * 2).requires_grad)
            yield "; ".join(wrong) or None
    finally:
        signal.signal(signal.SIGALRM, handler)
