"""Makes machine code of loops with numba, and keeps it on the disk, where the next process finds it.

A loop is a file of its own, named by its text, in `minigrad/loops` of the user's folder for caches; numba keeps what it
made of it beside it.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from numba import types
from numba.np.numpy_support import from_dtype

from minigrad._base.files import replace_file
from minigrad.compiler import loop_math

__all__ = ["functions_of"]

HEAD = '''"""A loop of a step that minigrad.compile has compiled."""

from minigrad.compiler.loop_math import (
    exp, exp64, float32, float64, inf, log, maximum, minimum, nan, plus, select, sqrt, tanh, tanh64)


'''
KNOWN: dict[Any, Callable[..., None]] = {}


def functions_of(loops: Mapping[str, Any]) -> dict[str, Callable[..., None]]:
    """Loops as functions, by name. A line says how far it is, in a notebook and in a terminal, since numba takes half a
    second for each."""
    telling = type(sys.stderr).__module__.startswith("ipykernel") or sys.stderr.isatty()
    found = {}
    for i, (name, loop) in enumerate(loops.items()):
        kinds = loop.kinds()
        if telling and not path_of(loop.code).exists():
            print(f"\rminigrad.compile: loop {i + 1} of {len(loops)}", end="", file=sys.stderr, flush=True)
        found[name] = function_of(loop.code, kinds)
    if telling:
        print("\r" + " " * 40 + "\r", end="", file=sys.stderr, flush=True)
    return found


def function_of(code: str, kinds: tuple[Any, ...]) -> Callable[..., None]:
    """A loop as a function; `kinds`: the dtypes of its arrays, None for a number."""
    key = code, tuple(map(str, kinds))
    if key not in KNOWN:
        path = path_of(code)
        if not path.exists():
            replace_file(path, HEAD + code)
        specification = importlib.util.spec_from_file_location(path.stem, path)
        assert specification is not None and specification.loader is not None  # it is a file
        sys.modules[path.stem] = module = importlib.util.module_from_spec(specification)  # where numba looks for it
        specification.loader.exec_module(module)
        function = loop_math.strict(module.loop)
        function.enable_caching()
        function.compile(tuple([types.float64 if k is None else types.Array(from_dtype(k), 1, "C") for k in kinds]))
        KNOWN[key] = function
    return KNOWN[key]


def path_of(code: str) -> Path:
    """Where a loop is kept. The name depends on the functions that it calls, too, which numba does not look at."""
    called = Path(loop_math.__file__).read_bytes()
    return folder() / f"minigrad_loop_{hashlib.sha256(HEAD.encode() + code.encode() + called).hexdigest()[:20]}.py"


def folder() -> Path:
    """The folder of the user's for caches; where that cannot be written, one that lasts as long as this process."""
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "minigrad" / "loops"
    try:
        base.mkdir(parents=True, exist_ok=True)
    except OSError:
        return temporary_folder()
    return base if os.access(base, os.W_OK) else temporary_folder()


def temporary_folder() -> Path:
    """A folder for loops that nobody keeps."""
    if "folder" not in TEMPORARY:
        TEMPORARY["folder"] = tempfile.TemporaryDirectory(prefix="minigrad-loops-")
    return Path(TEMPORARY["folder"].name)


TEMPORARY: dict[str, tempfile.TemporaryDirectory[str]] = {}
