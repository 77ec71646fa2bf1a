"""Other strides for temporaries: views still show the same elements, and functions of elements run along memory."""

from __future__ import annotations

import itertools
from threading import get_ident
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided, sliding_window_view

import minigrad as torch
from minigrad import nn
from minigrad.compiler.program.passes import layout_propagation, memory_order, moved_view, operand_layouts
from minigrad.compiler.program.statements import Memory, Program, Statement, View
from minigrad.compiler.tracing.trace import Active, Slot, Trace
from tests.unit.compiler.steps import Made, compare

SHAPE = (4, 2, 3, 5)
VIEWS = {
    "whole": lambda a: a, "one": lambda a: a[1, 1, 2, 4:], "turned": lambda a: a.transpose(2, 0, 3, 1),
    "every other": lambda a: a[:, :, 1:, 1::2], "a part": lambda a: a[2:, 1],
    "new axes": lambda a: a[:, None, :, :, :1],
    "windows": lambda a: sliding_window_view(a, (2, 3), (2, 3)), "halves": lambda a: a.reshape(2, 2, 2, 3, 5)}


def view_of(array: Any, memory: Memory, base: Any) -> View:
    start = array.__array_interface__["data"][0] - base.__array_interface__["data"][0]
    return View(memory, array.shape, array.strides, start, array.dtype)


def shown(view: View, base: Any) -> Any:
    flat = as_strided(base, (base.size,), (base.itemsize,))
    return as_strided(flat[view.offset // base.itemsize:], view.shape, view.strides)


@pytest.mark.parametrize("look", VIEWS.values(), ids=VIEWS)
def test_a_view_shows_the_same_elements_in_each_order(look: Any) -> None:
    base = np.arange(120).reshape(SHAPE)
    memory = Memory(base, "temporary")
    for order in itertools.permutations(range(4)):
        other = base.transpose(order).copy().transpose(np.argsort(order))
        there = view_of(other, memory, other)
        found = moved_view(view_of(look(base), memory, base), view_of(base, memory, base), there)
        assert found is not None
        np.testing.assert_array_equal(shown(found, other), look(base))


def test_dimensions_become_one_where_they_stay_side_by_side() -> None:
    base = np.zeros(SHAPE)
    memory = Memory(base, "temporary")
    view, whole = view_of(base.reshape(4, 2, 15), memory, base), view_of(base, memory, base)
    for order, stays in (((1, 2, 3, 0), True), ((1, 0, 2, 3), True), ((0, 1, 3, 2), False), ((2, 0, 1, 3), False)):
        other = base.transpose(order).copy().transpose(np.argsort(order))
        assert (moved_view(view, whole, view_of(other, memory, other)) is not None) is stays


def test_what_is_computed_element_by_element_lies_as_its_operands() -> None:
    """Until a product wants it row by row, or somebody sees it."""
    x = np.zeros((4, 3), np.float32)
    turned = view_of(x.T, Memory(x, "input", "x"), x)
    y, z, seen = [view_of(a, Memory(a, "temporary"), a) for a in np.zeros((3, 3, 4), np.float32)]
    first, second = [Statement("ufunc", "exp", np.exp, (a,), (b,)) for a, b in ((turned, y), (y, z))]
    last, product = [Statement(kind, name, getattr(np, name), (z, *more), (seen,)) for kind, name, more in (
        ("ufunc", "exp", ()), ("product", "dot", (turned,)))]
    for statement, turns in ((last, [True, True, False]), (product, [True, False, False])):
        program = layout_propagation(Program((first, second, statement), (seen,)))
        assert [memory_order(s.out) == (1, 0) for s in program.statements] == turns


def test_an_operand_is_copied_once_if_several_would_read_it_across_memory() -> None:
    x, y = np.zeros((4, 3), np.float32), np.zeros((3, 4), np.float32)
    turned, outs = view_of(x.T, Memory(x, "input", "x"), x), [view_of(y, Memory(y, "temporary"), y) for _ in range(2)]
    program = Program(tuple([Statement("ufunc", "exp", np.exp, (turned,), (out,)) for out in outs]), tuple(outs))
    copy, *readers = operand_layouts(program).statements
    assert copy.kind == "copy" and copy.args == (turned,) and copy.out.contiguous
    assert [s.args for s in readers] == [(copy.out,)] * 2
    assert len(operand_layouts(Program(program.statements[:1], ())).statements) == 1


def test_ascontiguousarray_is_traced_as_a_copy_row_by_row(monkeypatch: pytest.MonkeyPatch) -> None:
    trace = Trace()
    monkeypatch.setattr(Active, "trace", trace, raising=False)
    monkeypatch.setattr(Active, "thread", get_ident())
    x: Any = trace.as_input(np.zeros((4, 3)), Slot("argument", 0, "x"))
    assert np.ascontiguousarray(x.T, like=x).flags.c_contiguous


@pytest.mark.parametrize("backend", ["numpy", "numba"])
def test_the_batch_stays_the_last_dimension_between_convolutions(backend: str) -> None:
    if backend == "numba":
        pytest.importorskip("numba", reason="the extra `fast` is not installed")

    def make() -> Made:
        model = nn.Sequential(nn.Conv2d(1, 2, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(2, 3, 3, padding=1))

        def step(x: Any) -> Any:
            model.zero_grad()
            loss = model(x).square().mean()
            loss.backward()
            return loss

        return Made(step, lambda i: (torch.randn(32, 1, 4, 4),), list(model.parameters()))

    step = compare(make, steps=3, dtype="float32", backend=backend)
    pictures = [v for s in step._variants[0].source.program.statements for v in s.uses()
                if len(v.shape) == 4 and v.shape[0] == 32 and v.memory.kind == "temporary"]
    assert pictures and all(v.strides[0] == v.dtype.itemsize for v in pictures if v.shape[1] > 1)
    assert len(step.inspection()["steps"]) > 10
