"""MemoryError at the n-th allocation of some work: nothing stays on, and the next step works.

CPython's own `_testcapi.set_nomemory` lets one allocation fail, whoever asks for it: Python, NumPy or an extension. It
happens in child processes, since NumPy crashes at a few places where an allocation fails (`NUMPY`).
"""

from __future__ import annotations

import faulthandler
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from typing import IO, Any

from tests.reliability.interrupts import Hit, failures
from tests.reliability.state import described
from tests.reliability.work import Work, run

# Functions of Python in whose last line NumPy itself crashes, or says nothing, when its allocation fails.
NUMPY = ("address", "as_strided", "byte_bounds")  # all three ask an array for its `__array_interface__`
# What CPython and NumPy raise instead of MemoryError: "can't allocate lock", "returned NULL without setting ...".
INSTEAD = ("can't allocate", "returned NULL without setting an exception", "can't start new thread",
           "returned a result with an exception set")
PROBES = 20


def allocations(work: Work, at: int) -> Hit | None:
    """Do some work, and let one allocation fail; None if it makes fewer."""
    import _testcapi  # noqa: PLC0415 - not every Python has it

    before, sys.unraisablehook = sys.unraisablehook, lambda _: None
    hit: Hit | None = Hit("an allocation whose failure nobody noticed")
    try:
        _testcapi.set_nomemory(at, at + 1)
        try:
            run(work)
            for _ in range(PROBES):
                bytearray(1000)
        finally:
            _testcapi.remove_mem_hooks()
    except (MemoryError, RuntimeError, SystemError) as error:
        trace = error.__traceback__
        while trace is not None and trace.tb_next is not None:
            trace = trace.tb_next
        frame = trace.tb_frame if trace is not None else sys._getframe()
        hit = None if frame.f_code.co_filename == __file__ else Hit(
            described(frame, frame.f_lineno, "allocation"), unexpected(error))
    sys.unraisablehook = before
    return hit


def unexpected(error: BaseException) -> BaseException | None:
    """An error that does not say that memory is lacking."""
    return None if isinstance(error, MemoryError) or any(words in str(error) for words in INSTEAD) else error


def starved(work: Work, stride: int = 1) -> Iterator[str | None]:
    """Let each allocation of some work fail, or each `stride`-th; for each None, or what was wrong afterwards.

    A crash is told too, unless NumPy is known to crash there.
    """
    at, crashes = 1, 0
    while True:
        with tempfile.TemporaryFile("w+") as told, tempfile.TemporaryFile("w+") as stack:
            status = in_child(work, at, stride, told, stack)
            told.seek(0)
            found = [json.loads(line) for line in told]
            yield from (None if each is not None and beyond(each) else each for each in found)
            at += stride * (len(found) + 1)
            if status == 0:
                return
            stack.seek(0)
            innermost = next((line.rpartition(" in ")[2].strip() for line in stack if line.startswith("  File")), "?")
            crashes += 1
            yield None if innermost in NUMPY else f"status {status} in {innermost}"


def beyond(wrong: str) -> bool:
    """Whether NumPy drew the random numbers, and then found no memory to give them back."""
    return wrong.endswith(": random state") and "numpy/random/_common.pyx" in wrong


def in_child(work: Work, at: int, stride: int, told: IO[str], stack: IO[str]) -> int:
    """The same in a child process, which writes what it finds; returns the status with which it ended."""
    child = os.fork()
    if child:
        return os.waitpid(child, 0)[1]
    status: Any = 1
    try:
        faulthandler.enable(stack)
        for each in failures(work, allocations, stride, at):
            told.write(json.dumps(each) + "\n")
            told.flush()
        status = 0
    finally:
        os._exit(status)
