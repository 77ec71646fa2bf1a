"""Runs the programs of `programs/` under a library and compares what they print with the text beside them.

A program uses the name `torch`, the standard library, and `raises(f)`, which calls f and prints the error that it
raises. The text is what PyTorch 2.13 printed on a CPU. To write it anew: `python -m tests.parity.runner torch`.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import math
import re
import sys
import traceback
import warnings
from collections.abc import Callable
from itertools import zip_longest
from pathlib import Path
from types import ModuleType
from typing import Any

PROGRAMS = Path(__file__).parent / "programs"
SUBMODULES = ("nn", "nn.functional", "autograd", "autograd.graph", "optim", "utils", "utils.checkpoint")
NUMBER = re.compile(r"(?<![\w.])-?(?:\d+\.\d*|\.\d+|\d+)(?:e[-+]?\d+)?(?!\w)")


def names() -> list[str]:
    """The programs, in order."""
    return sorted(path.stem for path in PROGRAMS.glob("*.py"))


def expected(name: str) -> str:
    """What PyTorch printed."""
    return (PROGRAMS / f"{name}.txt").read_text()


def library(name: str) -> ModuleType:
    """A library with those submodules loaded that it has."""
    for sub in SUBMODULES:
        try:
            importlib.import_module(f"{name}.{sub}")
        except ModuleNotFoundError as error:
            if not (error.name or "").startswith(name):
                raise
    return importlib.import_module(name)


def raises(call: Callable[[], Any], first_line: bool = False) -> None:
    """Print the error that `call` raises, without the place in PyTorch's own source that some texts name."""
    try:
        result = call()
    except Exception as error:  # noqa: BLE001 (whichever it is, it is the answer)
        text = str(error).split(" (Triggered")[0]
        print(f"{type(error).__name__}: {text.splitlines()[0] if first_line and text else text}")
    else:
        print(f"no error: {result}")


def run(name: str, lib: ModuleType) -> str:
    """What a program prints, addresses masked; an error that it does not catch is printed too."""
    out = io.StringIO()
    source = (PROGRAMS / f"{name}.py").read_text()
    with contextlib.redirect_stdout(out), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            exec(compile(source, f"{name}.py", "exec"), {"torch": lib, "raises": raises, "__name__": "program"})
        except Exception:  # noqa: BLE001 (the comparison shows it)
            print("UNCAUGHT " + traceback.format_exc(limit=-1))
    return re.sub(r"0x[0-9a-f]+", "0x", out.getvalue())


def form(number: str) -> tuple[int, bool]:
    """How a number is written: decimals (-1: an integer), and whether with an exponent."""
    mantissa, e, _ = number.partition("e")
    return (len(mantissa.partition(".")[2]) if "." in mantissa else -1), bool(e)


def close(want: str, got: str) -> bool:
    """Whether two numbers are written alike and differ by rounding at most; integers must be equal."""
    if form(want) != form(got):
        return False
    if "." not in want:
        return want == got
    return math.isclose(float(want), float(got), rel_tol=1e-4, abs_tol=1e-4)


def same(want: str, got: str) -> bool:
    """Equal text, in which floats may differ by rounding."""
    if NUMBER.sub("#", want) != NUMBER.sub("#", got):
        return False
    return all(map(close, NUMBER.findall(want), NUMBER.findall(got)))


def difference(want: str, got: str) -> str:
    """The first lines that differ, or an empty text."""
    for number, (a, b) in enumerate(zip_longest(want.splitlines(), got.splitlines(), fillvalue="(nothing)"), 1):
        if not same(a, b):
            return f"line {number}\n  want {a}\n  got  {b}"
    return ""


if __name__ == "__main__":
    chosen = library(sys.argv[1])
    for program in names():
        (PROGRAMS / f"{program}.txt").write_text(run(program, chosen))
