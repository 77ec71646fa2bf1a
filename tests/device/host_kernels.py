"""The kernels for GPUs without one: their C as a function, and compiled for the host, called as CuPy's are."""

from __future__ import annotations

import ctypes
import functools
import subprocess
from pathlib import Path
from typing import Any

import numpy as np

from minigrad.backends.kernels import KERNELS, ROW_KERNELS
from tests.device.standin import StandIn
from tests.device.strict import in_use, unwrapped, wrapped

__all__ = ["Fusing", "HostKernels", "parameters", "reals", "source"]

C_TYPES = {"uint64": "unsigned long long", "float32": "float", "float64": "double"}


def parameters(text: str) -> list[list[str]]:
    """The kind and the name of each parameter."""
    return [part.split() for part in text.split(", ")]


def reals(name: str) -> tuple[str, ...]:
    """What `T` may be in a kernel; one where it has none."""
    kernel = KERNELS[name]
    kinds = [kind for kind, _ in parameters(f"{kernel.inputs}, {kernel.outputs}")]
    return ("float32", "float64") if "T" in kinds else ("float32",)


def source(name: str, real: str, head: str, index: str) -> str:
    """A C function that runs a kernel's body on arrays, for the element of an index."""
    kernel, c = KERNELS[name], {**C_TYPES, "T": C_TYPES[real]}
    inputs, outputs = parameters(kernel.inputs), parameters(kernel.outputs)
    given = [f"const {c[kind]}* {word}_" for kind, word in inputs] + [f"{c[kind]}* {word}_" for kind, word in outputs]
    inner = [f"typedef {C_TYPES[real]} T;", *[f"const {c[kind]} {word} = {word}_[i];" for kind, word in inputs],
             *[f"{c[kind]} {word} = {word}_[i];" for kind, word in outputs]]
    stores = [f"{word}_[i] = {word};" for _, word in outputs]
    return f"{head} void {name}_{real}({', '.join(given)}, long long n) {{ {index} {{\n" + "\n".join(
        [*inner, kernel.body, *stores]) + "\n} }\n"


def row_source(name: str, real: str) -> str:
    """A C function that runs a row kernel's body on each row, as if a block had one thread."""
    kernel = ROW_KERNELS[name]
    inputs, outputs = kernel.inputs.split(), kernel.outputs.split()
    given = [f"const T* {word}" for word in inputs] + [f"T* {word}" for word in outputs]
    steps = ", ".join(f"{word} += width" for word in (*inputs, *outputs))
    return (f"#define T {C_TYPES[real]}\n"
            f"void {name}_rows_{real}({', '.join(given)}, long long width, long long count) {{"
            f"for (; count; --count, {steps}) {{ {kernel.body} }} }}\n#undef T\n")


class HostKernels:
    """All kernels, compiled with gcc into a folder; called with NumPy's arrays and numbers."""

    def __init__(self, folder: Path) -> None:
        index = "for (long long i = 0; i < n; ++i)"
        loops = [source(name, real, "", index) for name in KERNELS for real in reals(name)]
        rows = [row_source(name, real) for name in ROW_KERNELS for real in ("float32", "float64")]
        alone = ["#define EACH(j) for (long long j = 0; j < width; ++j)", "#define greatest_of", "#define sum_of"]
        (folder / "kernels.c").write_text("\n".join(["#include <tgmath.h>", *loops, *alone, *rows]))
        subprocess.run(["gcc", "-O1", "-ffp-contract=off", "-shared", "-fPIC", "-o", folder / "kernels.so",
                        folder / "kernels.c", "-lm"], check=True)
        self.library = ctypes.CDLL(str(folder / "kernels.so"))

    def __call__(self, name: str, *given: Any) -> Any:
        """What CuPy's `ElementwiseKernel` does: results into the arrays that follow the inputs, or into new ones."""
        kernel = KERNELS[name]
        inputs, outputs = parameters(kernel.inputs), parameters(kernel.outputs)
        kinds, arity = [kind for kind, _ in (*inputs, *outputs)], len(inputs)
        if len(given) not in (arity, len(kinds)):
            raise TypeError(f"Wrong number of arguments for {name!r}")
        arrays = [(kind, v) for kind, v in zip(kinds, given) if isinstance(v, np.ndarray)]
        if not arrays:
            raise ValueError("Loop size is undecided.")
        types = {v.dtype.name for kind, v in arrays if kind == "T"} or {"float32"}
        if len(types) > 1 or any(v.dtype.name != kind for kind, v in arrays if kind != "T"):
            raise TypeError("Type is mismatched.")
        (real,) = types
        dtypes = [real if kind == "T" else kind for kind in kinds]
        shape = np.broadcast_shapes(*[v.shape for _, v in arrays])
        results = given[arity:] or [np.empty(shape, dtype) for dtype in dtypes[arity:]]
        if any(v.shape != shape for v in results):
            raise ValueError("Out shape is mismatched")
        laid = [np.array(np.broadcast_to(v, shape), dtype, order="C") for v, dtype in zip((*given[:arity], *results),
                                                                                         dtypes, strict=True)]
        count = ctypes.c_longlong(laid[0].size)
        getattr(self.library, f"{name}_{real}")(*[ctypes.c_void_p(v.ctypes.data) for v in laid], count)
        for result, v in zip(results, laid[arity:], strict=True):
            result[...] = v
        return results[0] if len(results) == 1 else tuple(results)


    def rows(self, name: str, *given: Any) -> Any:
        """What `Cuda.fused_rows` gives: new arrays, made of arrays that lie row by row.

        Raises:
            TypeError: for arrays that are not alike, or do not lie so.
        """
        x, kernel = given[0], ROW_KERNELS[name]
        if len(given) != len(kernel.inputs.split()) or any(
                v.shape != x.shape or v.dtype != x.dtype or not v.flags.c_contiguous for v in given):
            raise TypeError("The arrays are not alike, or not row by row.")
        made = [np.empty_like(x) for _ in kernel.outputs.split()]
        width = x.shape[-1]
        getattr(self.library, f"{name}_rows_{x.dtype.name}")(
            *[ctypes.c_void_p(v.ctypes.data) for v in (*given, *made)], ctypes.c_longlong(width),
            ctypes.c_longlong(x.size // width))
        return made[0] if len(made) == 1 else tuple(made)


class Fusing(StandIn):
    """The stand-in with kernels; `ran` names those that were called."""

    def __init__(self, kernels: HostKernels) -> None:
        super().__init__()
        self.kernels = kernels
        self.ran: list[str] = []

    def fused(self, name: str) -> Any:
        return functools.partial(self.run, name)

    def fused_rows(self, name: str) -> Any:
        return functools.partial(self.run, name, rows=True)

    def run(self, name: str, *given: Any, rows: bool = False) -> Any:
        self.ran.append(name)
        in_use(given)
        return wrapped((self.kernels.rows if rows else self.kernels)(name, *[unwrapped(each) for each in given]))
