"""A KeyboardInterrupt in each call in turn: nothing stays on that should be off, and the next step works."""

from __future__ import annotations

import gc
import inspect
import os
import signal
import sys
import threading
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import minigrad
from minigrad.autograd.observer import WATCHING
from minigrad.core import LOCAL
from minigrad.core.grad_mode import UNUSUAL
from minigrad.recorder import record
from minigrad.utils.checkpoint import checkpoint

LEAVING = ("__exit__", "__del__")
PACKAGE = str(Path(minigrad.__file__).parent)


def interrupted(program: Any, at: int) -> bool:
    """Run a program and raise KeyboardInterrupt in the call number `at` of a function of the package; whether it did.

    Python delivers a signal where a function begins. In `__exit__` nothing written in Python could undo a mode after
    it, in PyTorch as little as here, so that calls from there do not count.
    """
    calls = 0

    def trace(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal calls
        if not frame.f_code.co_filename.startswith(PACKAGE) or leaving(frame):
            return
        calls += 1
        if calls == at:
            raise KeyboardInterrupt

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        program()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
    return False


def leaving(frame: FrameType | None) -> bool:
    """Whether a function runs in an `__exit__`, where an object is freed, or is a generator, which may be closed."""
    if frame is not None and frame.f_code.co_flags & inspect.CO_GENERATOR:
        return True
    while frame is not None and frame.f_code.co_name not in LEAVING and not frame.f_code.co_name.endswith("_gone"):
        frame = frame.f_back
    return frame is not None


def forward_and_backward() -> None:
    x = minigrad.ones(2, requires_grad=True)
    (x * x).exp().sum().backward()


def without_grad() -> None:
    with minigrad.no_grad(), minigrad.inference_mode():
        minigrad.ones(2) * 2


def recorded() -> None:
    with record() as trace:
        forward_and_backward()
    assert trace.events


def hooked() -> None:
    x = minigrad.ones(2, requires_grad=True)
    y = x * 2
    y.register_hook(lambda grad: grad * 2)
    x.register_post_accumulate_grad_hook(lambda leaf: None)
    with minigrad.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        (y * y).sum().backward(create_graph=False)


def recomputed() -> None:
    x = minigrad.ones(2, requires_grad=True)
    checkpoint(lambda x: x.exp().sin(), x, use_reentrant=False).sum().backward()


def optimised() -> None:
    layer = minigrad.nn.Linear(2, 1)
    optimizer = minigrad.optim.Adam(layer.parameters())
    for _ in range(2):
        optimizer.zero_grad()
        layer(minigrad.ones(3, 2)).sum().backward()
        optimizer.step()


def drawn() -> None:
    minigrad.manual_seed(0)
    minigrad.randn(20).bernoulli_(0.5)


PROGRAMS = [forward_and_backward, without_grad, recorded, hooked, recomputed, optimised, drawn]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_in_every_call(program: Any) -> None:
    program()  # what is imported or made once is there
    usual, at = gc.get_threshold(), 1
    while interrupted(program, at):
        assert LOCAL.grad_enabled and not LOCAL.inference, at
        assert LOCAL.saved_tensors_hooks == () and LOCAL.graph_task is None, at
        assert LOCAL.observer is None and WATCHING == [], at
        with minigrad.no_grad():
            assert not minigrad.ones(2, requires_grad=True).exp().requires_grad, at
        assert UNUSUAL.modes == set(), at
        assert gc.get_threshold() == usual, at
        at += 1 + at // 300  # every call of the first 300, then fewer
    assert at > 10
    program()
    recorded()


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
