"""A stand-in for a platform on which NumPy's `intp` has 32 bits, as under WebAssembly: for any machine.

`narrow` makes the import of minigrad rewrite each call in its source, `f(x)` as `call(f, x)`. What `call` finds to be
NumPy's own gives int32 where such a platform does, and refuses the int64 that it refuses. NumPy itself and the tests
are left alone. It is for a process of its own: `python -m tests.wasm.intp32` prints what the op tables give there.
"""

from __future__ import annotations

import ast
import builtins
import importlib.abc
import importlib.machinery
import json
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

POSITIONS = {"argmax", "argmin", "argpartition", "argsort", "argwhere", "bincount", "count_nonzero", "digitize",
             "flatnonzero", "lexsort", "nonzero", "searchsorted", "unravel_index"}
SUMS = {"accumulate", "cumprod", "cumsum", "prod", "reduce", "sum", "trace"}  # of bools and of narrower integers
MADE = {"arange", "array", "asarray", "full", "where"}  # of Python's integers
REFUSES = {"bincount": 0, "repeat": 1, "take": 1}  # and which argument; a method has it one place earlier
OWN_FRAME = {"dir", "eval", "exec", "globals", "locals", "super", "vars"}  # these look at who calls


def narrowed(value: Any) -> Any:
    """int64 in an array, a scalar or a tuple, as int32."""
    if isinstance(value, tuple):
        return tuple([narrowed(each) for each in value])
    return value.astype(np.int32) if isinstance(value, (np.ndarray, np.generic)) and value.dtype == np.int64 else value


def of_numbers(value: Any) -> bool:
    """Whether this is a Python integer that fits into 32 bits, or a sequence of such."""
    if isinstance(value, (list, tuple, range)):
        return all(map(of_numbers, value))
    return type(value) in (int, bool) and -2**31 <= value < 2**31


def name_in_numpy(function: Any) -> str:
    """The name of a function of NumPy or of a method of an array; otherwise nothing."""
    owner = getattr(function, "__self__", None)
    is_numpys = isinstance(owner, (np.ndarray, np.generic, np.ufunc)) or (
        getattr(function, "__module__", None) or "").split(".")[0] == "numpy"
    return getattr(function, "__name__", "") if is_numpys else ""


def call(function: Callable[..., Any], /, *args: Any, **options: Any) -> Any:
    """The call of a function, as it goes where `intp` has 32 bits."""
    name = name_in_numpy(function)
    if not name:
        return function(*args, **options)
    method = isinstance(getattr(function, "__self__", None), (np.ndarray, np.generic))
    given = (function.__self__, *args) if method else args  # type: ignore[attr-defined]  # a method has it
    typed = "dtype" in options or any(isinstance(each, (type, np.dtype)) for each in args)
    if name in REFUSES and getattr(given[REFUSES[name]], "dtype", None) == np.int64:
        raise TypeError("Cannot cast array data from dtype('int64') to dtype('int32') according to the rule 'safe'")
    found = function(*args, **options)
    if name == "unique" and isinstance(found, tuple):
        return found[0], *map(narrowed, found[1:])
    if name in POSITIONS:
        return narrowed(found)
    if name in SUMS and not typed and np.asarray(given[0]).dtype.kind in "bi" and np.asarray(given[0]).itemsize < 8:
        return narrowed(found)
    if name in MADE and not typed and all(map(of_numbers, given[1:] if name in ("full", "where") else given)):
        return narrowed(found)
    return found


class Calls(ast.NodeTransformer):
    """Passes each call to `call`."""

    def visit_Call(self, node: ast.Call) -> ast.Call:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id in OWN_FRAME:
            return node
        return ast.copy_location(ast.Call(ast.Name("__intp32__", ast.Load()), [node.func, *node.args], node.keywords),
                                 node)


class Loader(importlib.machinery.SourceFileLoader):
    """Loads a module whose calls are rewritten."""

    def get_code(self, fullname: str) -> Any:
        tree = Calls().visit(ast.parse(self.get_data(self.path)))
        return compile(ast.fix_missing_locations(tree), self.path, "exec", dont_inherit=True)


class Finder(importlib.abc.MetaPathFinder):
    """Finds the modules of minigrad."""

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> Any:
        if fullname.split(".")[0] != "minigrad":
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.origin and spec.origin.endswith(".py"):
            spec.loader = Loader(fullname, spec.origin)
        return spec


def narrow() -> None:
    """Let minigrad, which must not be imported yet, run as if `intp` had 32 bits."""
    assert "minigrad" not in sys.modules
    builtins.__intp32__ = call  # type: ignore[attr-defined]  # the name that rewritten modules call
    np.intp = np.int32  # type: ignore[misc]  # this process is for nothing else
    sys.meta_path.insert(0, Finder())


if __name__ == "__main__":
    narrow()
    from tests.wasm.tables import outcomes  # minigrad may be imported only now

    json.dump(outcomes(), sys.stdout)
