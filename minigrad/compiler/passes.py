"""Passes: functions from a program to a shorter one. Each is small, and says the same with fewer statements.

`PASSES` lists them in order. A pass looks at who reads and writes each memory; it never looks at an op. Statements keep
their order, so that what a step writes outside it writes in the order in which it wrote.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from minigrad.compiler.layouts import changed_views, laid_out, operands_laid_out
from minigrad.compiler.program import Formula, Memory, Program, Statement, View

__all__ = ["LAST_OF_JOINT", "PASSES"]

LAST_OF_JOINT = "copies forwarded"  # then a joint graph is divided: the passes behind it are for each program
PURE = ("ufunc", "reduce", "product", "copy", "call", "fill")


def renamed(program: Program) -> Program:
    """A temporary that is written anew as a whole gets new memory, so that each name stands for one value.

    `t *= 2` becomes `u = t * 2`; the memory plan may put both in the same place again.
    """
    current: dict[Memory, Memory] = {}
    written: set[Memory] = set()

    def now(view: View) -> View:
        return view._replace(memory=current.get(view.memory, view.memory))

    found = []
    for statement in program.statements:
        statement = statement.reading(now)
        outs = []
        for out in statement.outs:
            memory = current.get(out.memory, out.memory)
            if memory in written and out.memory.kind == "temporary" and out.whole and not statement.updates:
                memory = current[out.memory] = out.memory.another()
            written.add(memory)
            outs.append(out._replace(memory=memory))
        found.append(replace(statement, outs=tuple(outs)))
    return program.replaced(found, now)


def numbers_folded(program: Program) -> Program:
    """A temporary that is only ever filled with one number is that number; a product with 1 is a copy."""
    writes = program.writes()
    held: dict[Memory, Any] = {}
    found = []
    for statement in program.statements:
        if statement.kind == "ufunc":
            statement = with_numbers(statement, held)
        out = statement.out
        if (statement.kind == "fill" and out.memory.kind == "temporary" and out.whole and len(writes[out.memory]) == 1
                and not isinstance(statement.args[0], (Formula, View))):
            held[out.memory] = out.dtype.type(statement.args[0])
        found.append(statement)
    return program.replaced([ones_summed(s, held) if s.kind == "product" else s for s in found])


def with_numbers(statement: Statement, held: dict[Memory, Any]) -> Statement:
    """A function of elements that reads numbers where it read memory filled with them."""
    args = tuple([held[a.memory] if type(a) is View and a.memory in held else a for a in statement.args])
    views, out = [a for a in args if type(a) is View], statement.out
    others = [a for a in args if type(a) is not View]
    if not views and not any(isinstance(a, Formula) for a in args) and len(statement.outs) == 1:
        return replace(statement, kind="fill", name="copyto", function=np.copyto, options={},
                       args=(out.dtype.type(statement.function(*args, **statement.options)),))
    if (statement.name == "multiply" and len(views) == 1 and isinstance(others[0], np.generic) and others[0] == 1
            and views[0].dtype == out.dtype and views[0].shape == out.shape):
        return replace(statement, kind="copy", name="copyto", function=np.copyto, args=(views[0],))
    return replace(statement, args=args)


def ones_summed(statement: Statement, held: dict[Memory, Any]) -> Statement:
    """A product with a vector of ones as the sum that it is; `sums_as_products` may turn it back."""
    for k, (one, x) in enumerate((statement.args[:2], statement.args[1::-1])):
        if (type(one) is type(x) is View and len(one.shape) == 1 and held.get(one.memory) == 1 and len(x.shape) > 1
                and x.dtype == statement.out.dtype == one.dtype and (k or len(x.shape) == 2)):
            return replace(statement, kind="reduce", name="add.reduce", function=np.add.reduce, args=(x,),
                           options={"axis": (len(x.shape) - 1 if k else 0,)})
    return statement


def without_dead_code(program: Program) -> Program:
    """Only statements whose results are read later, or that write outside, or draw random numbers.

    A random state is put back only where something draws.
    """
    kinds = {statement.kind for statement in program.statements}
    needed = ("draw", "state") if "draw" in kinds else ()
    live, found = {v.memory for v in program.kept}, []
    for statement in reversed(program.statements):
        if statement.kind in needed or any(v.memory.kind != "temporary" or v.memory in live for v in statement.outs):
            found.append(statement)
            live.update(v.memory for v in statement.reads())
    return program.replaced(reversed(found))


def key_of(statement: Statement) -> Any:
    """What makes two statements compute the same: what they call, on what, and how the result lies."""
    out = statement.out
    return (statement.name, repr_of(statement.args), repr_of(statement.options), out.shape, out.strides, out.dtype.str)


def repr_of(value: Any) -> Any:
    """Something that is equal for equal operands."""
    if isinstance(value, View):
        return id(value.memory), value.shape, value.strides, value.offset, value.dtype.str
    if isinstance(value, (tuple, list)):
        return tuple([repr_of(part) for part in value])
    if isinstance(value, dict):
        return tuple([(name, repr_of(part)) for name, part in sorted(value.items())])
    return id(value) if isinstance(value, np.ndarray) else (type(value).__name__, repr(value))


def without_repetition(program: Program) -> Program:
    """A value that is computed twice from operands that have not changed is computed once.

    What a checkpoint recomputes is computed again: to keep the first value is what the checkpoint is there to avoid.
    """
    writes = program.writes()
    seen: dict[Any, Memory] = {}
    seen_again: dict[Any, Memory] = {}  # in the recomputation that runs
    same: dict[Memory, Memory] = {}
    kept = {v.memory for v in program.kept}

    def steady(memory: Memory) -> bool:
        return len(writes[memory]) <= (memory.kind == "temporary")

    def now(view: View) -> View:
        return view._replace(memory=same.get(view.memory, view.memory))

    found = []
    for statement in program.statements:
        statement = statement.reading(now)
        seen_again = seen_again if statement.recomputed else {}
        known = seen_again if statement.recomputed else seen
        memory = statement.out.memory
        if (statement.kind in PURE and not statement.updates and len(statement.outs) == 1 and statement.out.whole
                and memory.kind == "temporary" and steady(memory) and memory not in kept
                and all(steady(v.memory) for v in statement.reads())):
            key = key_of(statement)
            if key in known:
                same[memory] = known[key]
                continue
            known[key] = memory
        found.append(statement)
    return program.replaced(found, now)


def without_copies(program: Program) -> Program:
    """What is only computed to be copied is computed where the copy would be; what is only a copy is not made."""
    i = 0
    while i < len(program.statements):
        statement = program.statements[i]
        changed = None
        if statement.kind == "copy" and type(statement.args[0]) is View:
            source, target = statement.args[0], statement.out
            if source.dtype == target.dtype and source.shape == target.shape and not outlives(program, source, target):
                changed = written_there(program, i, source, target) or read_there(program, i, source, target)
        if changed is None:
            i += 1
        else:
            program = changed
    return program


def outlives(program: Program, source: View, target: View) -> bool:
    """Whether a copy is needed between forward and backward: the caller may write to an input before backward, and a
    gradient is written by the backward pass alone, so that each run of that makes its own."""
    if source.memory.kind != "input" and target.memory not in {v.memory for v in program.kept}:
        return False
    memories = source.memory, target.memory
    return len({program.backward(s) for s in program.statements for v in s.uses() if v.memory in memories}) == 2


def written_there(program: Program, i: int, source: View, target: View) -> Program | None:
    """Let what computes the source of a copy write to its target, if nobody needs the source afterwards, and nobody
    looks at the target, or writes to it, before the copy would have been made."""
    memory = source.memory
    if memory.kind != "temporary" or not source.whole or source.memory is target.memory:
        return None
    using = [k for k, s in enumerate(program.statements) if any(v.memory is memory for v in s.uses())]
    if using[-1] > i or memory in {v.memory for v in program.kept}:
        return None
    first = using[0]
    for k in range(first, i):
        for view in program.statements[k].uses():
            if view.memory is target.memory and not same_place(program.statements[k], view, target, k in using,
                                                               first == k == using[-2]):
                return None
    return changed_views(program, i, source, target)


def same_place(statement: Statement, view: View, target: View, writes: bool, only: bool) -> bool:
    """Whether a statement may look at the target though it writes there now: a function of elements that reads each
    where it writes it, and no statement comes between."""
    return (statement.kind == "ufunc" and writes and only and view.strides == target.strides
            and view.shape == target.shape and view.offset == target.offset and view.dtype == target.dtype
            and view.shape == statement.out.shape and view not in statement.outs)


def read_there(program: Program, i: int, source: View, target: View) -> Program | None:
    """Let those who read a copy read what was copied, if neither changes afterwards."""
    writes = program.writes()
    if (target.memory.kind != "temporary" or not target.whole or len(writes[target.memory]) > 1
            or target.memory in {v.memory for v in program.kept}
            or any(k > i for k in writes[source.memory]) or source.memory.kind == "input" and writes[source.memory]):
        return None
    return changed_views(program, i, target, source)


def products_turned(program: Program) -> Program:
    """`x @ W.T` of few rows as the copy of `(W @ x.T).T`: OpenBLAS takes two thirds of the time at 32 × 784 × 256."""
    found = []
    for statement in program.statements:
        if statement.kind == "product" and few_rows(statement):
            rows, columns = statement.out.shape
            memory, size = statement.out.memory.another(), statement.out.dtype.itemsize
            turned = View(memory, (rows, columns), (size, rows * size), 0, statement.out.dtype)
            found.append(replace(statement, outs=(turned,)))
            statement = replace(statement, kind="copy", name="copyto", function=np.copyto, args=(turned,))
        found.append(statement)
    return program.replaced(found)


def few_rows(statement: Statement) -> bool:
    """Whether a product is one of a batch and a turned weight, of sizes where it pays to turn it."""
    (x, w), out = statement.args, statement.out
    return (type(x) is type(w) is View and len(x.shape) == len(w.shape) == 2 and x.contiguous and w.T.contiguous
            and out.whole and out.contiguous and out.dtype == np.float32 and 8 <= x.shape[0] <= 64 < out.shape[1]
            and x.shape[1] >= 128)


BITS = {2: np.dtype("i2"), 4: np.dtype("i4"), 8: np.dtype("i8")}
ONE = np.array(1, np.int8)


def masks_as_bits(program: Program) -> Program:
    """`where(m, 0, x)` and `where(m, x, 0)` by the bits of `x`, in a tenth of the time; no product: infinity times 0 is
    NaN, and here it is 0."""
    found = []
    for statement in program.statements:
        if statement.name != "where" or not bitwise(statement):
            found.append(statement)
            continue
        mask, x, y = statement.args
        keep_first = type(x) is View
        value, out = (x if keep_first else y), statement.out
        integers, bools = BITS[out.dtype.itemsize], mask._replace(dtype=np.dtype(np.int8))
        bits = bools._replace(memory=mask.memory.another())
        ufunc: Any = np.negative if keep_first else np.subtract  # True is 1: -1 keeps all bits, 0 none
        found.append(replace(statement, name=ufunc.__name__, function=ufunc, outs=(bits,),
                             args=(bools,) if keep_first else (bools, ONE)))
        found.append(replace(statement, name="bitwise_and", function=np.bitwise_and,
                             args=(value._replace(dtype=integers), bits), outs=(out._replace(dtype=integers),)))
    return program.replaced(found)


def bitwise(statement: Statement) -> bool:
    """Whether a `where` takes floats of one shape and zeros."""
    mask, out = statement.args[0], statement.out
    views = [a for a in statement.args[1:] if type(a) is View]
    zeros = [a for a in statement.args[1:] if isinstance(a, (int, float, np.generic)) and not isinstance(a, Formula)]
    return (type(mask) is View and len(views) == len(zeros) == 1 and zeros[0] == 0 and out.dtype.kind == "f"
            and out.dtype.itemsize in BITS and views[0].dtype == out.dtype and mask.dtype == np.bool_
            and views[0].shape == mask.shape == out.shape and mask.whole)


def sums_as_products(program: Program) -> Program:
    """A sum along rows, or over them, as a product with ones: BLAS adds up in half of NumPy's time, or less."""
    found = []
    for statement in program.statements:
        x = statement.args[0] if statement.name == "add.reduce" else None
        axes = None if type(x) is not View else axes_of(statement, x)
        if (axes is None or type(x) is not View or x.dtype.kind != "f" or x.dtype.itemsize < 4 or not x.contiguous
                or not x.size or x.dtype != statement.out.dtype or not statement.out.contiguous):
            found.append(statement)
            continue
        ndim, n = len(x.shape), x.shape[-1]
        rows = View(x.memory, (x.size // n, n), (n * x.dtype.itemsize, x.dtype.itemsize), x.offset, x.dtype)
        flat = View(statement.out.memory, (statement.out.size,), (x.dtype.itemsize,), statement.out.offset, x.dtype)
        if axes == (ndim - 1,) and ndim > 1:
            args: Any = (rows, ones(n, x.dtype))
        elif axes == tuple(range(ndim - 1)) and ndim > 1:
            args = (ones(x.size // n, x.dtype), rows)
        elif axes == tuple(range(ndim)) and x.size <= 1 << 13:
            args = (ones(x.size, x.dtype), rows._replace(shape=(x.size,), strides=(x.dtype.itemsize,)))
            flat = flat._replace(shape=(), strides=())
        else:
            found.append(statement)
            continue
        found.append(replace(statement, kind="product", name="dot", function=np.dot, args=args, outs=(flat,),
                             options={}))
    return program.replaced(found)


def axes_of(statement: Statement, x: View) -> tuple[int, ...] | None:
    """The axes that a sum runs along; None if it has other options."""
    options = statement.options
    if any(options.get(name) is not None for name in ("where", "initial")) or options.get("dtype") not in (
            None, x.dtype):
        return None
    axis = options.get("axis", 0)
    axes = range(len(x.shape)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    return tuple(sorted([a % len(x.shape) for a in axes]))


ONES: dict[tuple[int, Any], Any] = {}


def ones(n: int, dtype: Any) -> Any:
    """An array of so many ones."""
    return ONES.setdefault((n, dtype), np.ones(n, dtype))


PASSES: dict[str, Callable[[Program], Program]] = {
    "one name for each value": renamed,
    "numbers folded": numbers_folded,
    "common subexpressions": without_repetition,
    "dead code": without_dead_code,
    "layouts": laid_out,
    "copies forwarded": without_copies,
    "products turned": products_turned,
    "layouts of operands": operands_laid_out,
    "masks as bits": masks_as_bits,
    "sums as products": sums_as_products,
    "common subexpressions, again": without_repetition,
    "dead code, again": without_dead_code,
}
