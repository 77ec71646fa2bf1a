"""Passes: functions from a program to a shorter one. Each is small, and says the same with fewer statements.

`PASSES` lists them in order. A pass looks at who reads and writes each memory; it never looks at an op. Statements keep
their order, so that what a step writes outside it writes in the order in which it wrote. How temporaries lie in memory
may change: their views are given other strides, if all who use them can work with these.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from minigrad.compiler.program.statements import Formula, Memory, Program, Statement, View, contiguous_strides


def as_copy(statement: Statement, source: View) -> Statement:
    """A copy to where a statement writes."""
    return replace(statement, kind="copy", name="copyto", function=np.copyto, args=(source,))


def layout_propagation(program: Program) -> Program:
    """What is computed element by element lies in memory as what it is computed from.

    A convolution's result has the batch as its last dimension in memory: then all that follows has it there, too, as
    far as nobody sees it.
    """
    kept, known = {v.memory for v in program.kept}, set[Memory]()
    for i in range(len(program.statements)):
        statement = program.statements[i]
        out, order = statement.out, order_of(statement)
        writers = [s for s in program.statements if order and any(v.memory is out.memory for v in s.outs)]
        whole = next((s.out for s in writers if s.out.whole and s.out.contiguous), None)
        if (order is None or out.memory.kind != "temporary" or out.memory in kept | known or whole is None
                or len(whole.shape) != len(out.shape) or any(s.kind not in ("ufunc", "copy", "fill") for s in writers)):
            continue
        known.add(out.memory)
        target = whole._replace(strides=strides_in(order, whole))
        program = move_views(program, None, whole, target, True) or program
    return program


def operand_layouts(program: Program) -> Program:
    """What several functions of elements would read across memory is copied once, to lie as their results do."""
    readers: dict[tuple[View, tuple[int, ...]], list[int]] = {}
    for i, statement in enumerate(program.statements):
        for view in across(statement):
            readers.setdefault((view, memory_order(statement.out)), []).append(i)
    writes, copies, found = program.writes(), dict[tuple[View, tuple[int, ...]], View](), list[Statement]()
    for i, statement in enumerate(program.statements):
        order = memory_order(statement.out)
        for view in across(statement):
            last = readers[view, order][-1]
            if i < last and (view, order) not in copies and not any(i <= k <= last for k in writes[view.memory]):
                memory = Memory(np.empty(view.shape, view.dtype), "temporary")
                copy = copies[view, order] = View(memory, view.shape, strides_in(order, view), 0, view.dtype)
                found.append(replace(as_copy(statement, view), outs=(copy,), options={}))
        found.append(statement.reading({v: copies.get((v, order), v) for v in statement.reads()}.__getitem__))
    return program.replaced(found)


def across(statement: Statement) -> list[View]:
    """What a function of elements reads in another order than that in which it writes."""
    out, order = statement.out, memory_order(statement.out)
    found = [v for v in statement.args if type(v) is View and v.shape == out.shape and all(v.strides)]
    return [v for v in dict.fromkeys(found) if memory_order(v) != order] if statement.kind == "ufunc" else []


def order_of(statement: Statement) -> tuple[int, ...] | None:
    """The dimensions of what a statement computes, in the order in which what it reads lies in memory; None if its
    result lies so, too, or it does not compute element by element."""
    if statement.kind not in ("ufunc", "copy") or len(statement.outs) > 1 or len(statement.out.shape) < 2:
        return None
    shape = statement.out.shape
    orders = [memory_order(v) for v in statement.args if type(v) is View and v.shape == shape and all(v.strides)]
    return next((order for order in orders if order != memory_order(statement.out)), None)


def memory_order(view: View) -> tuple[int, ...]:
    """The dimensions of a view, those with the longest steps first."""
    return tuple(sorted(range(len(view.shape)), key=lambda k: -view.strides[k]))


def strides_in(order: tuple[int, ...], view: View) -> tuple[int, ...]:
    """The strides of an array without gaps that is shaped like a view, with its dimensions in an order in memory."""
    found = dict(zip(order, contiguous_strides(tuple([view.shape[k] for k in order]), view.dtype.itemsize)))
    return tuple([found[k] for k in range(len(order))])


def moved_view(view: View, source: View, target: View) -> View | None:
    """A view of the memory of `source`, as it is where `source` lies at `target` instead; None if there is none."""
    if source.contiguous and target.contiguous or source.strides == target.strides:
        offset = view.offset - source.offset + target.offset
        return view._replace(memory=target.memory, offset=offset) if offset >= 0 else None
    axes: list[tuple[int, int, int]] = []  # step in the source, number, step in the target: the longest step first
    for n, step, to in sorted(zip(source.shape, source.strides, target.strides), key=lambda axis: -axis[1]):
        if axes and axes[-1][0] == n * step and axes[-1][2] == n * to:
            axes[-1] = step, n * axes[-1][1], to
        elif n > 1:
            axes.append((step, n, to))
    rooms, steps = [n - 1 for _, n, _ in axes], []
    for n, distance in ((2, view.offset - source.offset), *zip(view.shape, view.strides)):
        steps.append(distance if n == 1 else 0)
        for k, (step, _, to) in enumerate(axes if n > 1 else ()):
            count, distance = divmod(distance, step)
            steps[-1] += count * to
            rooms[k] -= count * (n - 1)
            if count < 0 or rooms[k] < 0:
                return None
        if distance and n > 1:
            return None
    return view._replace(memory=target.memory, strides=tuple(steps[1:]), offset=target.offset + steps[0])


def move_views(program: Program, i: int | None, source: View, target: View, flat: bool = False) -> Program | None:
    """The program without statement `i`, with `source` where `target` is; None if a view of it cannot be moved, or BLAS
    could not write it there; `flat`: also if a product would read it otherwise than row by row."""
    failed = []

    def change(view: View) -> View:
        there = moved_view(view, source, target) if view.memory is source.memory else view
        failed.extend([view] if there is None else [])
        return there or view

    found = [s.on(change) if any(v.memory is source.memory for v in s.uses()) else s
             for k, s in enumerate(program.statements) if k != i]
    result = program.replaced(found, change)
    products = [s for s in found if s.kind == "product"]
    unwritable = any(s.out.memory is target.memory and not (s.out.contiguous or s.out.T.contiguous) for s in products)
    askew = flat and any(v.memory is target.memory and not v.contiguous for s in products for v in s.reads())
    return None if failed or unwritable or askew else result


LAST_OF_JOINT = "copies forwarded"  # then a joint graph is divided: the passes behind it are for each program
PURE = ("ufunc", "reduce", "product", "copy", "call", "fill")


def renaming(names: Mapping[Memory, Memory]) -> Callable[[View], View]:
    """What puts other memory in the place of some."""
    return lambda view: view._replace(memory=names.get(view.memory, view.memory))


def single_assignment(program: Program) -> Program:
    """A temporary that is written anew as a whole gets new memory, so that each name stands for one value.

    `t *= 2` becomes `u = t * 2`; the memory plan may put both in the same place again.
    """
    current: dict[Memory, Memory] = {}
    written, found, now = set[Memory](), [], renaming(current)
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


def constant_folding(program: Program) -> Program:
    """A temporary that is only ever filled with one number is that number; a product with 1 is a copy."""
    writes = program.writes()
    held: dict[Memory, Any] = {}
    found = []
    for statement in program.statements:
        if statement.kind == "ufunc":
            statement = folded_ufunc(statement, held)
        out = statement.out
        if (statement.kind == "fill" and out.memory.kind == "temporary" and out.whole and len(writes[out.memory]) == 1
                and not isinstance(statement.args[0], (Formula, View))):
            held[out.memory] = out.dtype.type(statement.args[0])
        found.append(statement)
    return program.replaced([sum_for_ones(s, held) if s.kind == "product" else s for s in found])


def folded_ufunc(statement: Statement, held: dict[Memory, Any]) -> Statement:
    """A function of elements that reads numbers where it read memory filled with them."""
    args = tuple([held[a.memory] if type(a) is View and a.memory in held else a for a in statement.args])
    views, out = [a for a in args if type(a) is View], statement.out
    others = [a for a in args if type(a) is not View]
    if not views and not any(isinstance(a, Formula) for a in args) and len(statement.outs) == 1:
        return replace(statement, kind="fill", name="copyto", function=np.copyto, options={},
                       args=(out.dtype.type(statement.function(*args, **statement.options)),))
    if (statement.name == "multiply" and len(views) == 1 and isinstance(others[0], np.generic) and others[0] == 1
            and views[0].dtype == out.dtype and views[0].shape == out.shape):
        return as_copy(statement, views[0])
    return replace(statement, args=args)


def sum_for_ones(statement: Statement, held: dict[Memory, Any]) -> Statement:
    """A product with a vector of ones as the sum that it is; `sums_as_products` may turn it back."""
    for k, (one, x) in enumerate((statement.args[:2], statement.args[1::-1])):
        if (type(one) is type(x) is View and len(one.shape) == 1 and held.get(one.memory) == 1 and len(x.shape) > 1
                and x.dtype == statement.out.dtype == one.dtype and (k or len(x.shape) == 2)):
            return replace(statement, kind="reduce", name="add.reduce", function=np.add.reduce, args=(x,),
                           options={"axis": (len(x.shape) - 1 if k else 0,)})
    return statement


def dead_code_elimination(program: Program) -> Program:
    """Only statements whose results are read later, or that write outside, or draw random numbers.

    A random state is put back only where something draws.
    """
    needed = ("draw", "state") if any(s.kind == "draw" for s in program.statements) else ()
    live, found = {v.memory for v in program.kept}, []
    for statement in reversed(program.statements):
        if statement.kind in needed or any(v.memory.kind != "temporary" or v.memory in live for v in statement.outs):
            found.append(statement)
            live.update(v.memory for v in statement.reads())
    return program.replaced(reversed(found))


def repr_of(value: Any) -> Any:
    """Something that is equal for equal operands."""
    if isinstance(value, View):
        return id(value.memory), value.shape, value.strides, value.offset, value.dtype.str
    if isinstance(value, (tuple, list)):
        return tuple([repr_of(part) for part in value])
    if isinstance(value, dict):
        return tuple([(name, repr_of(part)) for name, part in sorted(value.items())])
    return id(value) if isinstance(value, np.ndarray) else (type(value).__name__, repr(value))


def common_subexpression_elimination(program: Program) -> Program:
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

    now, found = renaming(same), []
    for statement in program.statements:
        statement = statement.reading(now)
        seen_again = seen_again if statement.recomputed else {}
        known = seen_again if statement.recomputed else seen
        memory = statement.out.memory
        if (statement.kind in PURE and not statement.updates and len(statement.outs) == 1 and statement.out.whole
                and memory.kind == "temporary" and steady(memory) and memory not in kept
                and all(steady(v.memory) for v in statement.reads())):
            out = statement.out
            key = (statement.name, repr_of(statement.args), repr_of(statement.options), out.shape, out.strides,
                   out.dtype.str)
            if key in known:
                same[memory] = known[key]
                continue
            known[key] = memory
        found.append(statement)
    return program.replaced(found, now)


def copy_propagation(program: Program) -> Program:
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
    return move_views(program, i, source, target)


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
    return move_views(program, i, target, source)


def statement_by_statement(rule: Callable[[Statement], list[Statement] | None]) -> Callable[[Program], Program]:
    """A pass that puts others in the place of each statement for which a rule gives some."""
    return lambda program: program.replaced([s for each in program.statements for s in rule(each) or [each]])


@statement_by_statement
def transposed_products(product: Statement) -> list[Statement] | None:
    """`x @ W.T` of few rows as the copy of `(W @ x.T).T`: OpenBLAS takes two thirds of the time at 32 × 784 × 256."""
    if product.kind != "product":
        return None
    (x, w), out = product.args, product.out
    if not (type(x) is type(w) is View and len(x.shape) == len(w.shape) == 2 and x.contiguous and w.T.contiguous
            and out.whole and out.contiguous and out.dtype == np.float32 and 8 <= x.shape[0] <= 64 < out.shape[1]
            and x.shape[1] >= 128):
        return None
    size = out.dtype.itemsize
    turned = View(out.memory.another(), out.shape, (size, out.shape[0] * size), 0, out.dtype)
    return [replace(product, outs=(turned,)), as_copy(product, turned)]


BITS = {2: np.dtype("i2"), 4: np.dtype("i4"), 8: np.dtype("i8")}
ONE = np.array(1, np.int8)


@statement_by_statement
def masks_as_bits(where: Statement) -> list[Statement] | None:
    """`where(m, 0, x)` and `where(m, x, 0)` by the bits of `x`, in a tenth of the time; no product: infinity times 0 is
    NaN, and here it is 0."""
    if where.name != "where":
        return None
    (mask, *choices), out = where.args, where.out
    views = [a for a in choices if type(a) is View]
    zeros = [a for a in choices if isinstance(a, (int, float, np.generic)) and a == 0]
    if not (type(mask) is View and len(views) == len(zeros) == 1 and out.dtype.kind == "f"
            and out.dtype.itemsize in BITS and views[0].dtype == out.dtype and mask.dtype == np.bool_
            and views[0].shape == mask.shape == out.shape and mask.whole):
        return None
    integers, bools = BITS[out.dtype.itemsize], mask._replace(dtype=np.dtype(np.int8))
    bits = bools._replace(memory=mask.memory.another())
    args, ufunc = ((bools,), np.negative) if choices[0] is views[0] else ((bools, ONE), np.subtract)  # True is 1:
    return [replace(where, name=ufunc.__name__, function=ufunc, args=args, outs=(bits,)),  # -1 keeps all bits, 0 none
            replace(where, name="bitwise_and", function=np.bitwise_and, outs=(out._replace(dtype=integers),),
                    args=(views[0]._replace(dtype=integers), bits))]


@statement_by_statement
def sums_as_products(total: Statement) -> list[Statement] | None:
    """A sum along rows, or over them, as a product with ones: BLAS adds up in half of NumPy's time, or less."""
    x, out = total.args[0] if total.name == "add.reduce" else None, total.out
    axes = axes_of(total, x) if type(x) is View else None
    if (axes is None or type(x) is not View or x.dtype.kind != "f" or x.dtype.itemsize < 4 or not x.contiguous
            or not x.size or x.dtype != out.dtype or not out.contiguous):
        return None
    ndim, n, size = len(x.shape), x.shape[-1], x.dtype.itemsize
    rows = View(x.memory, (x.size // n, n), (n * size, size), x.offset, x.dtype)
    flat = View(out.memory, (out.size,), (size,), out.offset, x.dtype)
    if axes == (ndim - 1,) and ndim > 1:
        args: Any = (rows, ones(n, x.dtype))
    elif axes == tuple(range(ndim - 1)) and ndim > 1:
        args = (ones(x.size // n, x.dtype), rows)
    elif axes == tuple(range(ndim)) and x.size <= 1 << 13:
        args = (ones(x.size, x.dtype), rows._replace(shape=(x.size,), strides=(size,)))
        flat = flat._replace(shape=(), strides=())
    else:
        return None
    return [replace(total, kind="product", name="dot", function=np.dot, args=args, outs=(flat,), options={})]


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
    return ONES.setdefault((n, dtype), np.ones(n, dtype))


def partition(program: Program, count: int) -> tuple[Program, Program]:
    """Divide a joint graph, whose first `count` kept views are results: what backward reads of what forward has written
    is kept too."""
    forward = [s for s in program.statements if not program.backward(s)]
    backward = [s for s in program.statements if program.backward(s)]
    results, grads = program.kept[:count], program.kept[count:]
    written = {v.memory for s in forward for v in s.outs if v.memory.kind == "temporary"}
    saved = {v.memory: v for s in backward for v in s.reads() if v.memory in written}
    return Program(tuple(forward), (*results, *saved.values())), Program(tuple(backward), grads)


PASSES: dict[str, Callable[[Program], Program]] = {
    "one name for each value": single_assignment,
    "numbers folded": constant_folding,
    "common subexpressions": common_subexpression_elimination,
    "dead code": dead_code_elimination,
    "layouts": layout_propagation,
    "copies forwarded": copy_propagation,
    "products turned": transposed_products,
    "layouts of operands": operand_layouts,
    "masks as bits": masks_as_bits,
    "sums as products": sums_as_products,
    "common subexpressions, again": common_subexpression_elimination,
    "dead code, again": dead_code_elimination,
}
