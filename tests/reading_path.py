"""Counts the reading path: what runs in `z = x * y; z.backward()` of two scalars. `python -m tests.reading_path`.

Whoever wants to understand a backward pass from the source has to read the functions that run, and opens the files in
which they are. tests/unit/core/test_reading_path.py keeps both counts from growing.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import minigrad

PACKAGE = str(Path(minigrad.__file__).parent)


@dataclass(frozen=True)
class ReadingPath:
    """What a program runs of a package."""

    files: dict[str, int]  # by path below the package, the lines of the whole file
    functions: dict[str, int]  # by file and name, the lines of each function that runs, docstrings included
    executed: int  # lines that run, each counted once

    def __str__(self) -> str:
        rows = [f"{lines:5}  {name}" for name, lines in {**self.files, **self.functions}.items()]
        return "\n".join([*rows, f"{len(self.files)} files of {sum(self.files.values())} lines, {len(self.functions)} "
                                 f"functions of {sum(self.functions.values())} lines, {self.executed} executed lines"])


def reading_path(program: Callable[[], Any], package: str = PACKAGE) -> ReadingPath:
    """Run a program and count what it runs of the files below a folder."""
    ran: dict[CodeType, set[int]] = {}

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        code = frame.f_code
        if not code.co_filename.startswith(package):
            return None
        if event == "line":
            ran.setdefault(code, set()).add(frame.f_lineno)
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        program()
    finally:
        sys.settrace(before)
    names = sorted({code.co_filename for code in ran})
    texts = {name: Path(name).read_text(encoding="utf-8") for name in names}
    functions: dict[str, int] = {}
    for code in ran:
        for node in ast.walk(ast.parse(texts[code.co_filename])):
            if isinstance(node, ast.FunctionDef) and code.co_name == node.name and node.end_lineno is not None and (
                    code.co_firstlineno in (node.lineno, *[d.lineno for d in node.decorator_list])):
                key = f"{Path(code.co_filename).relative_to(package)}: {code.co_qualname}"
                functions[key] = node.end_lineno - node.lineno + 1
    executed = len({(code.co_filename, line) for code, lines in ran.items() for line in lines})
    return ReadingPath({str(Path(name).relative_to(package)): text.count("\n") for name, text in texts.items()},
                       functions, executed)


def product() -> ReadingPath:
    """The reading path of a product of two scalars, forward and backward."""
    x, y = (minigrad.tensor(value, requires_grad=True) for value in (2.0, 3.0))

    def program() -> None:
        z = x * y
        z.backward()

    return reading_path(program)


if __name__ == "__main__":
    print(product())
