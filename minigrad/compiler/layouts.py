"""How temporaries lie in memory: their views may be given other strides, if all who use them can work with these."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from minigrad.compiler.program import Memory, Program, Statement, View, contiguous_strides

__all__ = ["changed_views", "laid_out", "memory_order", "operands_laid_out"]


def laid_out(program: Program) -> Program:
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
        program = changed_views(program, None, whole, target, True) or program
    return program


def operands_laid_out(program: Program) -> Program:
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
                found.append(replace(statement, kind="copy", name="copyto", function=np.copyto, args=(view,),
                                     outs=(copy,), options={}))
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


def moved(view: View, source: View, target: View) -> View | None:
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


def changed_views(program: Program, i: int | None, source: View, target: View, flat: bool = False) -> Program | None:
    """The program without statement `i`, with `source` where `target` is; None if a view of it cannot be moved. `flat`:
    also if a product would read it otherwise than row by row."""
    failed = []

    def change(view: View) -> View:
        if view.memory is not source.memory:
            return view
        there = moved(view, source, target)
        if there is None:
            failed.append(view)
        return view if there is None else there

    found = [s.on(change) if any(v.memory is source.memory for v in s.uses()) else s
             for k, s in enumerate(program.statements) if k != i]
    result = program.replaced(found, change)
    if failed or any(is_unwritable(s) for s in found if s.out.memory is target.memory):
        return None
    return None if flat and any(not v.contiguous for s in found if s.kind == "product"
                                for v in s.reads() if v.memory is target.memory) else result


def is_unwritable(statement: Statement) -> bool:
    """Whether a statement is a product whose result lies where BLAS cannot write it."""
    return statement.kind == "product" and not (statement.out.contiguous or statement.out.T.contiguous)
