"""Errors in a lesson, kept short: the student's lines, the line that raised, and how many are left out in between.

An error is often what a lesson is about, and with every frame of the engine it would fill two screens. The frames are
marked in the way that IPython knows (`__tracebackhide__`); `%debug` and `sys.last_traceback` still have all of them.

A NameError for a name that an earlier cell of the lesson makes becomes one sentence, which names that cell. IPython
asks an exception for `_render_traceback_` before it writes a traceback of its own.
"""

import builtins
import sys
from linecache import getlines
from pathlib import Path
from traceback import walk_tb
from types import TracebackType
from typing import Any

import minigrad
from minigrad_lessons import earlier_cells
from minigrad_widgets.widget.mime import is_unattended

LIBRARY = str(Path(minigrad.__file__).parent)
RAISED = (ArithmeticError, AssertionError, AttributeError, LookupError, NameError, RuntimeError, TypeError,
          ValueError)


def mark(tb: TracebackType | None) -> None:
    """Mark the frames that are the library's, for IPython to leave out; it shows the last one in any case."""
    for frame, _ in walk_tb(tb):
        if frame.f_code.co_filename.startswith(LIBRARY):
            frame.f_locals["__tracebackhide__"] = True


def source_of_cell(shell: Any, tb: TracebackType | None) -> str:
    """The text of the cell that was running."""
    files = [frame.f_code.co_filename for frame, _ in walk_tb(tb) if frame.f_globals is shell.user_ns]
    return "".join(getlines(files[0])) if files else ""


def show(shell: Any, etype: type[BaseException], error: BaseException, tb: TracebackType | None,
         tb_offset: int | None = None) -> None:
    """Shows an error as IPython does, with the library's frames marked; a missing name by the cell that makes it."""
    mark(tb)
    name = error.name if isinstance(error, NameError) else None
    if name and (told := earlier_cells.sentence(name, source_of_cell(shell, tb))):
        error._render_traceback_ = lambda: [told]  # type: ignore[attr-defined]  # IPython looks for it on any exception
    if not is_unattended():
        shell.showtraceback((etype, error, tb), tb_offset=tb_offset, running_compiled_code=True)
        return
    # papermill takes any error in an output for a failure; the kernel's answer says whether the cell failed.
    written = getattr(error, "_render_traceback_", None)
    lines = written() if written else shell.InteractiveTB.structured_traceback(etype, error, tb, tb_offset=tb_offset)
    print("\n".join(lines), file=sys.stderr)


def shorten() -> None:
    """Let the notebook that runs this show errors in this way, unless it has a way of its own."""
    running = getattr(builtins, "get_ipython", None)  # there while IPython runs a cell, and only then
    if running is not None and not running().custom_exceptions:
        running().set_custom_exc(RAISED, show)
