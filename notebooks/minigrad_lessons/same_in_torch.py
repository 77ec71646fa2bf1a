"""The same program in minigrad and in PyTorch.

`@same_in_torch` on `def program(torch): ...` runs it twice: with minigrad, and with PyTorch where that is
installed, else against a transcript of such a run. What it prints is the same in both cases; only the small
picture tells which of the two it was.
"""

import ast
import contextlib
import hashlib
import importlib
import inspect
import io
import json
import textwrap
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import minigrad
from minigrad._base.optional import optional
from minigrad_lessons.badge import Badge

TRANSCRIPTS = Path(__file__).with_name("transcripts.json")
Program = Callable[[ModuleType], None]


def pytorch() -> ModuleType | None:
    """PyTorch, or None where it cannot be imported."""
    try:
        return importlib.import_module("torch")
    except ImportError:
        return None


def fingerprint(source: str) -> str:
    """A short name for the text of a program: a transcript belongs to exactly this text."""
    tree = ast.parse(textwrap.dedent(source))
    return hashlib.sha256(ast.unparse(tree).encode()).hexdigest()[:16]


def printed(program: Program, library: ModuleType) -> str:
    """What the program prints when it is given this library."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        program(library)
    return out.getvalue()


def transcripts() -> dict[str, dict[str, str]]:
    """The stored runs: `{fingerprint: {"version": ..., "text": ...}}`."""
    stored: dict[str, dict[str, str]] = json.loads(TRANSCRIPTS.read_text(encoding="utf-8"))
    return stored


def same_in_torch(program: Program) -> Program:
    """Run the program with both libraries, print what it says, and compare."""
    ours = printed(program, minigrad)
    live = pytorch()
    if live is not None:
        theirs, badge = printed(program, live), Badge(f"live: PyTorch {live.__version__}")
    else:
        stored = transcripts().get(fingerprint(inspect.getsource(program)))
        if stored is None:
            print(ours, end="")
            print("\nThis program was changed, and PyTorch is not installed: there is nothing to compare it with.")
            return program
        theirs, badge = stored["text"], Badge(f"stored: PyTorch {stored['version']}")
    if ours == theirs:
        print(ours, end="")
        count = len(ours.splitlines())
        print(f"\nminigrad and PyTorch print the same {'line' if count == 1 else f'{count} lines'}.")
    else:
        print(f"minigrad prints:\n{ours}\nPyTorch prints:\n{theirs}")
    optional("IPython.display", "lessons").display(badge)
    return program
