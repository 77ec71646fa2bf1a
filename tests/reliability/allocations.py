"""MemoryError at the n-th allocation of some work: nothing stays on, and the next step works.

CPython's own `_testcapi.set_nomemory` lets one allocation fail, whoever asks for it: Python, NumPy or an extension. It
happens in child processes, since NumPy crashes at a few places where an allocation fails (`NUMPY`).
"""

from __future__ import annotations

import faulthandler
import json
import linecache
import os
import re
import signal
import sys
import tempfile
import traceback
from collections.abc import Iterator
from typing import IO

from tests.reliability.interrupts import Hit, failures
from tests.reliability.state import described
from tests.reliability.together import PATIENCE
from tests.reliability.work import Work, run

# A line of Python in which NumPy itself crashes when its allocation fails: it asks an array for this.
NUMPY = "__array_interface__"
# What CPython and NumPy raise instead of MemoryError: "can't allocate lock", "returned NULL without setting ...".
INSTEAD = ("can't allocate", "returned NULL without setting an exception", "can't start new thread",
           "returned a result with an exception set", "error return without exception set")
FRAME = re.compile(r'^  File "(?P<file>.*)", line (?P<line>\d+) in (?P<name>.*)$', re.MULTILINE)


def allocations(work: Work, at: int) -> Hit | None:
    """Do some work, and let one allocation fail; None if it makes fewer."""
    import _testcapi  # noqa: PLC0415 - not every Python has it

    before, sys.unraisablehook = sys.unraisablehook, lambda _: None
    hit: Hit | None = Hit("an allocation whose failure nobody noticed")
    try:
        _testcapi.set_nomemory(at, at + 1)
        try:
            run(work)
            for _ in range(at):  # each of these allocates, so that one fails if none of the work has failed
                bytearray(1000)
        finally:
            _testcapi.remove_mem_hooks()
    except Exception as error:  # noqa: BLE001 (whichever it is, it hides the lack of memory)
        trace = error.__traceback__
        while trace is not None and trace.tb_next is not None:
            trace = trace.tb_next
        assert trace is not None  # it was raised
        hit = None if trace.tb_frame.f_code.co_filename == __file__ else Hit(
            described(trace.tb_frame, trace.tb_lineno, "allocation"), unexpected(error))
    sys.unraisablehook = before
    return hit


def unexpected(error: BaseException) -> BaseException | None:
    """An error that does not say that memory is lacking.

    CPython forgets the lack of memory while it looks for an attribute, and says that there is none: then there is one.
    """
    lacking = isinstance(error, MemoryError) or any(words in str(error) for words in INSTEAD) or (
        isinstance(error, AttributeError) and error.name is not None and hasattr(error.obj, error.name))
    return None if lacking else error


def starved(work: Work, stride: int = 1) -> Iterator[str | None]:
    """Let each allocation of some work fail, or each `stride`-th; for each None, or what was wrong afterwards.

    A crash is among them, unless NumPy is known to crash there.
    """
    at = 1
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
            said = stack.read()
        if os.WIFEXITED(status):
            raise RuntimeError(f"the child did not come to its end:\n{said}")
        where, known = crashed(said)
        if not known:
            print(said, file=sys.stderr, flush=True)
        yield None if known else f"signal {os.WTERMSIG(status)} in {where}"


def crashed(stack: str) -> tuple[str, bool]:
    """In which function a process crashed, by what `faulthandler` wrote, and whether NumPy is known to crash there."""
    innermost = FRAME.search(stack)
    if innermost is None:
        return "?", False
    return innermost["name"], NUMPY in linecache.getline(innermost["file"], int(innermost["line"]))


def beyond(wrong: str) -> bool:
    """Whether NumPy drew the random numbers, and then found no memory to give them back."""
    return wrong.endswith(": random state") and "numpy/random/_common.pyx" in wrong


def in_child(work: Work, at: int, stride: int, told: IO[str], stack: IO[str]) -> int:
    """The same in a child process, which writes what it finds; returns the status with which it ended."""
    child = os.fork()
    if child:
        return os.waitpid(child, 0)[1]
    status = 1
    try:
        faulthandler.enable(stack, all_threads=False)
        signal.alarm(PATIENCE)
        for each in failures(work, allocations, stride, at):
            told.write(json.dumps(each) + "\n")
            told.flush()
            signal.alarm(PATIENCE)  # a trial that hangs is ended
        status = 0
    except BaseException:  # noqa: BLE001 (the process ends here, so nobody else could say what it was)
        traceback.print_exc(file=stack)
        stack.flush()
    finally:
        os._exit(status)
