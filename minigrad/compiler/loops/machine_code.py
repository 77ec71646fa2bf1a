"""Makes machine code of loops with numba, and keeps it on the disk, where the next process finds it.

A loop is a file of its own, named by its text, in `minigrad/loops` of the user's folder for caches; numba keeps what it
made of it beside it. It imports the functions that it calls from here. They are written so that LLVM makes vectors of
loops with them. None assumes that there is no NaN and no infinity, as `fastmath=True` would. A product and a sum may be
rounded once ("contract"), and sums alone may be taken in another order (`plus`).
"""

import contextlib
import functools
import hashlib
import importlib.util
import os
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic
from numba.np.numpy_support import from_dtype

from minigrad._base.files import replace_file

float32, float64, int32 = np.float32, np.float64, np.int32


def strict(function: Any) -> Any:
    """A function as machine code that keeps to the rules of floats."""
    return njit(error_model="numpy", fastmath={"contract"})(function)


def propagating(name: str) -> Any:
    """The greater or the smaller of two, NaN if one is NaN, as one instruction of LLVM's."""
    @intrinsic
    def function(context: Any, a: Any, b: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            kind = context.get_value_type(signature.return_type)
            called = builder.module.declare_intrinsic(f"llvm.{name}", [kind], ir.FunctionType(kind, [kind, kind]))
            return builder.call(called, args)
        return a(a, b), generate
    return function


maximum, minimum = propagating("maximum"), propagating("minimum")


@njit(error_model="numpy", fastmath={"reassoc", "contract"})
def plus(a: Any, b: Any) -> Any:
    """A sum that may be taken in another order."""
    return a + b


@strict
def select(mask: Any, a: Any, b: Any) -> Any:
    """`a` or `b`, both of which have been read: a load behind a condition is no part of a vector."""
    return a if mask else b


LOG2E, LN2_HIGH, LN2_LOW = float32(1.44269504), float32(0.693359375), float32(-2.12194440e-4)
E5, E4, E3 = float32(1.9875691500e-4), float32(1.3981999507e-3), float32(8.3334519073e-3)
E2, E1, E0 = float32(4.1665795894e-2), float32(1.6666665459e-1), float32(5.0000001201e-1)
HIGHEST, LOWEST, ONE = float32(89), float32(-104), float32(1)
ROUNDING = float32(1.5 * 2 ** 23)  # a float32 that has this added to it keeps no bits behind the point
ROUNDING_BITS = ROUNDING.view(int32)


@strict
def two_to(n: Any) -> Any:
    """2ⁿ, made of bits."""
    return int32(int32(n + int32(127)) << int32(23)).view(float32)


@strict
def exp(x: Any) -> Any:
    """exp(x) = 2ⁿ exp(r), with n whole and a polynomial for exp(r) (Moshier, Cephes, 1984).

    2ⁿ is taken in two halves, so that the result may be infinite, or smaller than the least normal number.
    """
    x = HIGHEST if x > HIGHEST else x
    x = LOWEST if x < LOWEST else x
    shifted = float32(x * LOG2E + ROUNDING)
    n = shifted - ROUNDING
    r = x - n * LN2_HIGH - n * LN2_LOW
    y = (((((E5 * r + E4) * r + E3) * r + E2) * r + E1) * r + E0) * r * r + r + ONE
    whole = int32(shifted.view(int32) - ROUNDING_BITS)
    half = int32(whole >> int32(1))
    return y * two_to(half) * two_to(int32(whole - half))


A1, A3, A5, A7 = [float32(v) for v in (4.89352455891786e-03, 6.37261928875436e-04, 1.48572235717979e-05,
                                      5.12229709037114e-08)]
A9, A11, A13 = [float32(v) for v in (-8.60467152213735e-11, 2.00018790482477e-13, -2.76076847742355e-16)]
B0, B2, B4, B6 = [float32(v) for v in (4.89352518554385e-03, 2.26843463243900e-03, 1.18534705686654e-04,
                                      1.19825839466702e-06)]
FAR = float32(7.90531110763549805)  # from here on it is 1


@strict
def tanh(x: Any) -> Any:
    """tanh as a fraction of two polynomials (Eigen's)."""
    x = FAR if x > FAR else x
    x = -FAR if x < -FAR else x
    s = x * x
    p = x * ((((((A13 * s + A11) * s + A9) * s + A7) * s + A5) * s + A3) * s + A1)
    return p / (((B6 * s + B4) * s + B2) * s + B0)


HEAD = '''"""A loop of a step that minigrad.compile has compiled."""

from math import exp as exp64, inf, log, nan, sqrt, tanh as tanh64

from minigrad.compiler.loops.machine_code import exp, float32, float64, maximum, minimum, plus, select, tanh


'''


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


@functools.cache
def function_of(code: str, kinds: tuple[Any, ...]) -> Callable[..., None]:
    """A loop as a function; `kinds`: the dtypes of its arrays, None for a number."""
    path = path_of(code)
    if not path.exists():
        replace_file(path, HEAD + code)
    specification = importlib.util.spec_from_file_location(path.stem, path)
    assert specification is not None and specification.loader is not None  # it is a file
    sys.modules[path.stem] = module = importlib.util.module_from_spec(specification)  # where numba looks for it
    specification.loader.exec_module(module)
    function: Any = strict(module.loop)
    function.enable_caching()
    function.compile(tuple([types.float64 if k is None else types.Array(from_dtype(k), 1, "C") for k in kinds]))
    return function  # type: ignore[no-any-return]  # numba has no types


def path_of(code: str) -> Path:
    """Where a loop is kept. The name depends on the functions that it calls, too, which numba does not look at."""
    called = Path(__file__).read_bytes()
    return folder() / f"minigrad_loop_{hashlib.sha256(HEAD.encode() + code.encode() + called).hexdigest()[:20]}.py"


def folder() -> Path:
    """The folder of the user's for caches; where that cannot be written, one that lasts as long as this process."""
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "minigrad" / "loops"
    with contextlib.suppress(OSError):
        base.mkdir(parents=True, exist_ok=True)
    return base if os.access(base, os.W_OK) else Path(temporary_folder().name)


@functools.cache
def temporary_folder() -> tempfile.TemporaryDirectory[str]:
    """A folder for loops that nobody keeps; it is gone when nobody holds this object."""
    return tempfile.TemporaryDirectory(prefix="minigrad-loops-")
