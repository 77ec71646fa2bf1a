"""Writes files completely or not at all, reads JSON, and tells the code of a notebook's cells from that of files."""

import json
import os
import re
import stat
import sys
from collections.abc import Callable
from contextlib import suppress
from itertools import accumulate
from typing import Any

__all__ = ["is_cell", "read_json", "replace_file"]

NOT_NESTING = re.compile(r'"(?:[^"\\]|\\.)*+"|[^][{}"]++')
STEPS = {"[": 1, "{": 1, "]": -1, "}": -1}
ENDS_AT_ITS_STACK = sys.platform == "emscripten"  # there, JSON too deep for the stack ends the interpreter
DEEPEST = 1_000  # no file of minigrad is nested deeper than 150


def read_json(text: str, **options: Any) -> Any:
    """`json.loads`. Raises RecursionError for JSON that is nested too deeply, on every platform."""
    if ENDS_AT_ITS_STACK and max(accumulate(STEPS.get(c, 0) for c in NOT_NESTING.sub("", text)), default=0) > DEEPEST:
        raise RecursionError(f"it is nested more than {DEEPEST} deep")
    return json.loads(text, **options)


def replace_file(path: str | os.PathLike[str], content: str | bytes | Callable[[str], None]) -> None:
    """Write a file. At its path is the old file or the complete new one, whatever happens meanwhile.

    It is written next to its path under an unpredictable name, and renamed when it is on the disk. Nothing is left
    behind if that fails. Its permissions are kept, or are those of any new file.

    Args:
        path: where to write; for a link, its target. A device or a pipe is written to directly.
        content: text, written as UTF-8, or bytes; or a function that fills an empty file, given its name.

    Raises OSError if it cannot be written.
    """
    target = os.path.realpath(os.fsdecode(path))
    data = content.encode() if isinstance(content, str) else content
    if os.path.exists(target) and not os.path.isfile(target) and not callable(data):
        with open(target, "wb") as file:
            file.write(data)
        return
    unfinished = os.path.join(os.path.dirname(target), f".{os.urandom(8).hex()}.tmp")
    file = open(unfinished, "xb")
    try:
        with file:
            mode = os.stat(target if os.path.exists(target) else unfinished).st_mode
            if not callable(data):
                file.write(data)
        if callable(data):
            data(unfinished)
        with open(unfinished, "r+b") as written:
            os.fsync(written.fileno())
        os.chmod(unfinished, stat.S_IMODE(mode))
        os.replace(unfinished, target)
    except BaseException:
        with suppress(FileNotFoundError):
            os.remove(unfinished)
        raise


def is_cell(file: str) -> bool:
    """Whether a code object's file name is that of a cell: in a kernel and in marimo a temporary file that does not
    exist, in IPython's terminal a name in angle brackets."""
    return "ipykernel_" in file or "__marimo__cell_" in file or file.startswith("<ipython-input")
