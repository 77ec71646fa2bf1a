"""NumPy's functions on traced arrays, where more is known of them than that they make a new array: what fills memory,
copies, or multiplies matrices. Below stands the backend through which `minigrad.backends` reaches them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds
from numpy.lib.stride_tricks import as_strided

from minigrad.compiler.tracer import RULES, Active, Traced, apply, arrays_in, call, fresh, plain

__all__ = ["TracingBackend"]


def filled(number: Any) -> Callable[[str, Any, Any, dict[str, Any]], Any]:
    """`zeros` and its kind: new memory, and a statement that fills it."""
    def make(name: str, function: Any, args: Any, options: dict[str, Any]) -> Any:
        value = number if number != "given" else args[1] if len(args) > 1 else options["fill_value"]
        out = fresh(function(*[plain(a) for a in args], **{k: plain(v) for k, v in options.items()}))
        if value is not None:
            Active.trace.add("fill", "copyto", np.copyto, (value,), [out])
        return out
    return make


def constant(name: str, function: Any, args: Any, options: dict[str, Any]) -> Any:
    """What is made of sizes and numbers alone; of a traced array a copy, or itself."""
    if arrays_in(args):
        if not isinstance(args[0], Traced):
            return call(name, function, args, options)
        x, dtype = args[0], options.get("dtype", args[1] if len(args) > 1 else None)
        same = dtype is None or x.dtype == dtype
        if same and name != "array" and (name == "asarray" or x.flags.c_contiguous):
            return x
        return x.astype(x.dtype if dtype is None else dtype, order="C" if name == "ascontiguousarray" else "K")
    made_of = function(*[plain(a) for a in args], **options)
    return Active.trace.outside(made_of if made_of.base is None else made_of.copy())


def where(name: str, function: Any, args: Any, options: dict[str, Any]) -> Any:
    if len(args) < 3:
        return call("nonzero", function, args, options)
    out = fresh(np.where(*[plain(a) for a in args]))
    Active.trace.add("ufunc", "where", np.where, args, [out])
    return out


def copyto(name: str, function: Any, args: Any, options: dict[str, Any]) -> None:
    out, x = args
    if "where" not in options:
        out[...] = x
        return
    target = out if isinstance(out, Traced) else Active.trace.outside(out)
    np.copyto(target.value, plain(x), where=plain(options["where"]))
    Active.trace.add("call", "copyto", np.copyto, (x,), [target], {"where": options["where"]}, updates=True)


def product(name: str, function: Any, args: Any, options: dict[str, Any]) -> Any:
    """`dot` and `matmul`; of vectors too."""
    a, b = args[:2]
    out = args[2] if len(args) > 2 else options.get("out")
    result = function(plain(a), plain(b))
    if out is not None:
        out.value[...] = result
    target = fresh(result) if out is None else out
    if np.ndim(plain(a)) and np.ndim(plain(b)):
        Active.trace.add("product", name, function, (a, b), [target])
    else:
        Active.trace.add("ufunc", "multiply", np.multiply, (a, b), [target])
    return target


def reduction(ufunc: Any, *names: str) -> Callable[[str, Any, Any, dict[str, Any]], Any]:
    """`sum` and its kind, as the `reduce` that they are; `names`: of the arguments behind the axis."""
    def reduced(name: str, function: Any, args: Any, options: dict[str, Any]) -> Any:
        x, *others = args
        return ufunc.reduce(x, **{"axis": None, **dict(zip(("axis", *names), others)), **options})
    return reduced


greatest, smallest = reduction(np.maximum, "out", "keepdims"), reduction(np.minimum, "out", "keepdims")
RULES |= {
    "zeros": filled(0), "ones": filled(1), "empty": filled(None), "full": filled("given"),
    "zeros_like": filled(0), "ones_like": filled(1), "empty_like": filled(None), "full_like": filled("given"),
    "where": where, "copyto": copyto, "dot": product, "matmul": product,
    **dict.fromkeys(("asarray", "array", "ascontiguousarray", "arange", "eye", "identity", "tri"), constant),
    "copy": lambda name, function, args, options: args[0].copy("K"),
    "sum": reduction(np.add, "dtype", "out", "keepdims"), "prod": reduction(np.multiply, "dtype", "out", "keepdims"),
    "any": reduction(np.logical_or, "out", "keepdims"), "all": reduction(np.logical_and, "out", "keepdims"),
    "max": greatest, "amax": greatest, "min": smallest, "amin": smallest}


class Module:
    """Where `Home` finds NumPy's names."""

    def __getattr__(self, name: str) -> Any:
        return lambda *args, **options: apply(name, getattr(np, name), args, options)


class TracingBackend:
    """`minigrad.backends.registry.Backend`, as far as ops ask for it; its device is the CPU."""

    type, array_type, module = "cpu", Traced, Module()

    def current_device(self) -> None:
        return None

    def on(self, index: Any) -> Any:
        return nullcontext()

    def index_of(self, array: Any) -> None:
        return None

    def from_host(self, array: Any, index: Any) -> Traced:
        return Active.trace.outside(array)

    def to_host(self, array: Traced) -> Any:
        Active.trace.stop("values are handed to NumPy")
        return array.value

    def address(self, array: Traced) -> int:
        address: int = array.value.__array_interface__["data"][0]
        return address

    def bounds(self, array: Traced) -> tuple[int, int]:
        return byte_bounds(array.value)

    def storage(self, array: Traced) -> tuple[int, int]:
        return array.memory.address, array.memory.nbytes

    def as_strided(self, array: Traced, shape: Any, strides: Any) -> Traced:
        return Traced(as_strided(array.value, shape, strides), array.memory)

    def add_at(self, out: Any, index: Any, x: Any) -> None:
        np.add.at(out, index, x)

    def matmul(self, x: Any, y: Any) -> Any:
        return np.matmul(x, y)

    def linalg_errors(self) -> Any:
        return nullcontext()

    def fused(self, name: str) -> None:
        return None

    def fused_rows(self, name: str) -> None:
        return None

    def composite(self, function: Callable[..., Any], *args: Any) -> Any:
        return Active.trace.composite(function, *args)

    def capturing(self) -> bool:
        return False
