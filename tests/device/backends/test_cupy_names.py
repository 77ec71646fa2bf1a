"""Every NumPy function that minigrad calls exists in CuPy, and takes the keywords that it is called with.

Read out of the source, so that it also holds for lines that no test runs on the stand-in device.
"""

from __future__ import annotations

import ast
import functools
import inspect
from collections import defaultdict
from pathlib import Path

import cupy
import numpy as np
import pytest

import minigrad

SOURCE = Path(minigrad.__file__).parent
TYPES = {name for name in dir(np) if isinstance(getattr(np, name), type)}  # dtypes, scalars, the array itself
# Called on the host alone: what is known of dtypes and shapes, and what a tensor on the CPU, or an error for a GPU's,
# comes before. A name that CuPy lacks and that is called for a good reason belongs here.
HOST = {"broadcast_shapes", "can_cast", "errstate", "finfo", "frombuffer", "geterr", "iinfo", "ndindex",
        "promote_types", "result_type", "seterr", "vecdot"}
UFUNC_TAKES = {"out", "dtype", "casting"}


def path_of(node: ast.expr) -> list[str]:
    """["np", "linalg", "qr"] of `np.linalg.qr`; empty for what is no name."""
    if isinstance(node, ast.Name):
        return [node.id]
    inner = path_of(node.value) if isinstance(node, ast.Attribute) else []
    return [*inner, node.attr] if inner else []


def calls() -> dict[str, dict[str, str]]:
    """By function, its keywords and where each is used; the empty keyword stands for the function itself."""
    found: dict[str, dict[str, str]] = defaultdict(dict)
    for file in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            path = path_of(node) if isinstance(node, ast.Attribute) else []
            named = path_of(node.func) if isinstance(node, ast.Call) else []
            if path[:1] == ["np"]:
                found[".".join(path[1:])].setdefault("", f"{file.relative_to(SOURCE)}:{node.lineno}")
            if named[:1] == ["np"]:
                for keyword in node.keywords:
                    if keyword.arg is not None and keyword.arg != "like":  # `like` is taken off by NumPy's dispatch
                        found[".".join(named[1:])].setdefault(keyword.arg, f"{file.relative_to(SOURCE)}:{node.lineno}")
    return found


def of(module, name):
    return functools.reduce(getattr, name.split("."), module)


def concerns_devices(name: str) -> bool:
    """Whether a name of NumPy's is a function of arrays that CuPy may be asked for."""
    first, _, rest = name.partition(".")
    if name in HOST or first in TYPES | {"random", "typing"}:
        return False
    if isinstance(getattr(np, first, None), np.ufunc) and rest:  # `np.add.reduce`: NumPy's own arrays alone have these
        return False
    return callable(of(np, name)) and not isinstance(of(np, name), type)


CALLS = {name: keywords for name, keywords in calls().items() if concerns_devices(name)}


def takes(function) -> set[str] | None:
    """The names of what a function of CuPy's takes; None: anything."""
    if isinstance(function, cupy.ufunc):
        return UFUNC_TAKES
    if inspect.isbuiltin(function):  # written in Cython: `size`, whose signature nobody knows
        return None
    parameters = inspect.signature(function).parameters.values()
    return None if any(p.kind is p.VAR_KEYWORD for p in parameters) else {p.name for p in parameters}


def test_what_the_backend_calls_of_cupy_is_there():
    source = ast.parse((SOURCE / "backends" / "cupy.py").read_text(encoding="utf-8"))
    named = {".".join(path[1:]) for node in ast.walk(source) if isinstance(node, ast.Attribute)
             and (path := path_of(node))[:1] == ["cupy"]}
    assert len(named) > 20
    for name in named:
        of(cupy, name)


def test_there_is_something_to_look_at():
    assert len(CALLS) > 100 and "concatenate" in CALLS and "linalg.qr" in CALLS


@pytest.mark.parametrize("name", sorted(CALLS))
def test_cupy_has_it(name):
    try:
        function = of(cupy, name)
    except AttributeError:
        pytest.fail(f"CuPy has no {name}, called in {CALLS[name].get('')}", pytrace=False)
    known = takes(function)
    unknown = {word: place for word, place in CALLS[name].items() if word and known is not None and word not in known}
    assert not unknown
