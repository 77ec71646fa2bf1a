"""Inputs that do not fit: one input of a drawn line is replaced by each of a fixed list of others.

The lines are those of `drawn.py`. What they are given comes out of fixed bytes, and not out of Hypothesis' own search,
whose draws change with every constant in the project's source: what is tried of a line changes only with that line.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis.strategies import SearchStrategy

from tests.parity.compare import Input, arrays_of, leaves_of, numbers, outputs_of
from tests.parity.outcome import sentence, tried

__all__ = ["bases", "difference", "ending", "substitutes"]

DTYPES = ("float64", "float32", "int64", "bool")
SHAPES = ((), (0,), (1,), (3,), (2, 3), (0, 3), (2, 0), (2, 3, 4), (2, 1, 2, 3))
TRIES, BASES, BYTES = 12, 3, 1000
NEAR = 1e-4  # of max(1, |theirs|): whether values agree to more is test_drawn.py's question
Base = tuple[list[Input], tuple[Any, ...]]


def bases(torch: ModuleType, name: str, call: Callable[..., Any], what: SearchStrategy[Base]) -> list[Base]:
    """A few draws of a line that PyTorch takes, none twice; the name of the line says which."""
    drawn: list[Base] = []

    @given(what)
    def keep(each: Base) -> None:
        drawn.append(each)

    random = np.random.RandomState(zlib.crc32(name.encode()))
    handle: Any = keep
    for _ in range(TRIES):
        handle.hypothesis.fuzz_one_input(random.bytes(BYTES))
    once = {repr(each): each for each in drawn}.values()
    return [each for each in once if not isinstance(ending(torch, call, *each), Exception)][:BASES]


def substitutes(inputs: list[Input]) -> Iterator[list[Input]]:
    """The inputs with exactly one replaced: by one of another dtype, of another shape, of nearly the same shape."""
    for i, spec in enumerate(inputs):
        shape, dtype = spec.shape, spec.dtype or "float64"
        others = [(shape, other) for other in DTYPES] + [(other, dtype) for other in dict.fromkeys((
            *SHAPES, (*shape, 1), (1, *shape), (*shape, 2),
            *[(*shape[:d], n + 1, *shape[d + 1:]) for d, n in enumerate(shape)],
            *[(*shape[:d], *shape[d + 1:]) for d in range(len(shape))]))]
        for other in others:
            if other != (shape, dtype):
                yield [*inputs[:i], Input(*other, spec.positive, grad=False), *inputs[i + 1:]]


def ending(lib: ModuleType, call: Callable[..., Any], inputs: list[Input], args: tuple[Any, ...]) -> Any:
    """What a line gives, as tensors that want no gradient went in; or its error."""
    plain = [Input(spec.shape, spec.dtype, spec.positive, grad=False) for spec in inputs]
    arrays = arrays_of(plain, "float64", seed=len(plain))
    return tried(lambda m: outputs_of(call(m, *leaves_of(m, plain, arrays), *args)), lib)[0]


def difference(mine: Any, theirs: Any, texts: bool = False) -> str | None:
    """What is not the same in two endings: types of errors (their `texts`), dtypes, shapes, values; None if nothing."""
    if isinstance(mine, Exception) or isinstance(theirs, Exception):
        same = type(mine).__name__ == type(theirs).__name__
        if same and texts:
            same = sentence(str(mine)) == sentence(str(theirs))
        return None if same else f"{mine!r}, not {theirs!r}"
    if len(mine) != len(theirs):
        return f"{len(mine)} results, not {len(theirs)}"
    return next((f"{a}, not {b}" for a, b in zip(mine, theirs, strict=True) if not near(a, b)), None)


def near(a: Any, b: Any) -> bool:
    """Whether two results have one dtype and shape, and nearly the same values."""
    if not hasattr(b, "grad_fn"):
        return bool(a == b)
    if str(a.dtype).split(".")[-1] != str(b.dtype).split(".")[-1] or tuple(a.shape) != tuple(b.shape):
        return False
    x, y = numbers(a), numbers(b)
    if y.dtype.kind != "f":
        return bool((x == y).all())
    with np.errstate(all="ignore"):
        return bool(((x == y) | (np.isnan(x) & np.isnan(y)) | (abs(x - y) <= NEAR * np.maximum(1, abs(y)))).all())
