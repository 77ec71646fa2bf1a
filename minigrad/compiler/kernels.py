"""What loops call, written so that LLVM makes vectors of it; and how a loop becomes machine code, and stays on disk.

None of it assumes that there is no NaN and no infinity: sums alone may be taken in another order.
"""

from __future__ import annotations

import hashlib
import importlib.util
import math
import os
import sys
import tempfile
from collections.abc import Callable
from math import inf, nan
from pathlib import Path
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core.types import Array
from numba.extending import intrinsic
from numba.np.numpy_support import from_dtype

from minigrad._base.files import replace_file

__all__ = ["exp", "exp64", "float32", "float64", "inf", "log", "made", "maximum", "minimum", "nan", "plus", "select",
           "sqrt", "tanh", "tanh64"]

float32, float64, int32 = np.float32, np.float64, np.int32
STRICT = {"error_model": "numpy", "fastmath": {"contract"}}  # a product and a sum may be rounded once
VERSION = "1"


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
def plus(a, b):
    """A sum that may be taken in another order."""
    return a + b


@njit(**STRICT)
def select(mask, a, b):
    """`a` or `b`, both of which have been read: a load behind a condition is no part of a vector."""
    return a if mask else b


LOG2E, LN2_HIGH, LN2_LOW = float32(1.44269504), float32(0.693359375), float32(-2.12194440e-4)
E = [float32(v) for v in (1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1,
                          5.0000001201e-1)]
E5, E4, E3, E2, E1, E0 = E
TOP, LOW, ROUNDING, ONE = float32(89), float32(-104), float32(12582912), float32(1)
A1, A3, A5, A7, A9, A11, A13 = [float32(v) for v in (
    4.89352455891786e-03, 6.37261928875436e-04, 1.48572235717979e-05, 5.12229709037114e-08, -8.60467152213735e-11,
    2.00018790482477e-13, -2.76076847742355e-16)]
B0, B2, B4, B6 = [float32(v) for v in (4.89352518554385e-03, 2.26843463243900e-03, 1.18534705686654e-04,
                                      1.19825839466702e-06)]
FAR = float32(7.90531110763549805)


@njit(**STRICT)
def exp(x):
    """exp(x) = 2ⁿ exp(r), with n whole and a polynomial for exp(r) (Moshier, Cephes, 1984).

    2ⁿ is made of bits, in two halves, so that the result may be infinite or below the smallest normal number.
    """
    x = TOP if x > TOP else x
    x = LOW if x < LOW else x
    shifted = x * LOG2E + ROUNDING  # its last bits are n
    n = shifted - ROUNDING
    r = x - n * LN2_HIGH - n * LN2_LOW
    y = (((((E5 * r + E4) * r + E3) * r + E2) * r + E1) * r + E0) * r * r + r + ONE
    whole = int32(float32(shifted).view(int32) - ROUNDING_BITS)
    half = int32(whole >> int32(1))
    return y * two_to(half) * two_to(int32(whole - half))


ROUNDING_BITS = ROUNDING.view(int32)


@njit(**STRICT)
def two_to(n):
    return int32(int32(n + int32(127)) << int32(23)).view(float32)


@njit(**STRICT)
def tanh(x):
    """tanh as a fraction of polynomials (Eigen's)."""
    x = FAR if x > FAR else x
    x = -FAR if x < -FAR else x
    s = x * x
    p = x * ((((((A13 * s + A11) * s + A9) * s + A7) * s + A5) * s + A3) * s + A1)
    return p / (((B6 * s + B4) * s + B2) * s + B0)


@njit(**STRICT)
def exp64(x):
    return math.exp(x)


@njit(**STRICT)
def tanh64(x):
    return math.tanh(x)


@njit(**STRICT)
def log(x):
    return math.log(x)


@njit(**STRICT)
def sqrt(x):
    return math.sqrt(x)


KNOWN: dict[tuple[str, Any], Any] = {}


def folder() -> Path:
    """Where compiled loops are kept: in the folder for caches, or a temporary one if that cannot be written."""
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "minigrad" / "loops"
    try:
        base.mkdir(parents=True, exist_ok=True)
        if os.access(base, os.W_OK):
            return base
    except OSError:
        pass
    base = Path(tempfile.gettempdir()) / f"minigrad-loops-{os.getuid() if hasattr(os, 'getuid') else 0}"
    base.mkdir(mode=0o700, exist_ok=True)
    return base


HEAD = '''"""A loop of a step that minigrad.compile has compiled."""

from minigrad.compiler.kernels import (
    exp, exp64, float32, float64, inf, log, maximum, minimum, nan, plus, select, sqrt, tanh, tanh64)


'''


def compiled(code: str, kinds: tuple[Any, ...]) -> Callable[..., None]:
    """A loop as machine code, from the disk if it is there; `kinds`: the dtypes of its arrays, None for a number."""
    key = code, tuple(map(str, kinds))
    if key not in KNOWN:
        text = HEAD + code
        digest = hashlib.sha256((text + Path(__file__).read_text(encoding="utf-8")).encode()).hexdigest()[:20]
        path = folder() / f"minigrad_loop_{digest}.py"
        if not path.exists():
            replace_file(path, text)
        specification = importlib.util.spec_from_file_location(path.stem, path)
        assert specification is not None and specification.loader is not None  # it is a file
        sys.modules[path.stem] = module = importlib.util.module_from_spec(specification)  # where numba looks for it
        specification.loader.exec_module(module)
        function = njit(cache=True, **STRICT)(module.loop)
        function.compile(tuple([types.float64 if k is None else Array(from_dtype(k), 1, "C") for k in kinds]))
        KNOWN[key] = function
    return KNOWN[key]


def made(loops: dict[str, tuple[str, Any]]) -> dict[str, Callable[..., None]]:
    """The loops of a program as functions, by name."""
    return {name: compiled(code, loop.kinds()) for code, (name, loop) in loops.items()}
