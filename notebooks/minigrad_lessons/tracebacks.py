"""Errors in a lesson, told shortly: the student's lines, the line that raised, and how many are left out in between.

An error is often what a lesson is about, and with every frame of the engine it would fill two screens. The frames are
marked in the way that IPython knows (`__tracebackhide__`); `%debug` and `sys.last_traceback` still have all of them.
"""

import builtins
from pathlib import Path
from traceback import walk_tb
from types import TracebackType
from typing import Any

import minigrad

LIBRARY = str(Path(minigrad.__file__).parent)
RAISED = (ArithmeticError, AssertionError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)


def mark(tb: TracebackType | None) -> None:
    """Mark the frames that are the library's, for IPython to leave out; it shows the last one in any case."""
    for frame, _ in walk_tb(tb):
        if frame.f_code.co_filename.startswith(LIBRARY):
            frame.f_locals["__tracebackhide__"] = True


def show(shell: Any, etype: type[BaseException], error: BaseException, tb: TracebackType | None,
         tb_offset: int | None = None) -> None:
    """Shows an error as IPython does, with the library's frames marked."""
    mark(tb)
    shell.showtraceback((etype, error, tb), tb_offset=tb_offset, running_compiled_code=True)


def shorten() -> None:
    """Let the notebook that runs this show errors in this way, unless it has a way of its own."""
    running = getattr(builtins, "get_ipython", None)  # there while IPython runs a cell, and only then
    if running is not None and not running().custom_exceptions:
        running().set_custom_exc(RAISED, show)
