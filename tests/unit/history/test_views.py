"""What is ours about views: where they look, what a recorder tells of them, when they are freed."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minigrad
from minigrad.backends.numpy import XP
from minigrad.history.views import Geometry, address
from minigrad.recorder import record

INDICES = [(0,), (slice(1, None),), (slice(None, None, 2), slice(1, None)), (..., -1), (slice(None), 1),
           (1, ..., slice(None, None, 2)), (None, 0), (...,)]


@given(shape=st.lists(st.integers(1, 4), min_size=2, max_size=3), order=st.sampled_from("CF"),
       index=st.sampled_from(INDICES), swap=st.booleans())
def test_a_geometry_takes_what_the_view_shows(shape, order, index, swap):
    base = np.array(np.arange(np.prod(shape)).reshape(shape), order=order, dtype=float)
    part = base.swapaxes(0, -1) if swap else base
    if any(isinstance(i, int) and not -n <= i < n for i, n in zip(index, part.shape, strict=False)):
        return
    view = part[index]
    geometry = Geometry(view, base, (address(view) - address(base)) // base.itemsize)
    np.testing.assert_array_equal(geometry.select_view(XP, base), view)
    np.testing.assert_array_equal(geometry.replaced(XP, base, view), base)
    zeroed = base.copy(order="K")
    (zeroed.swapaxes(0, -1) if swap else zeroed)[index] = 0
    np.testing.assert_array_equal(geometry.replaced(XP, base, view * 0), zeroed)
    np.testing.assert_array_equal(geometry.spread(XP, view), base - zeroed)


def test_a_repeated_place_gets_the_sum():
    base = np.zeros(3)
    assert Geometry(np.broadcast_to(base, (2, 3)), base, 0).spread(XP, np.ones((2, 3))).tolist() == [2, 2, 2]


def test_a_recorder_tells_of_the_bases_new_node():
    x = minigrad.tensor([1.0, 2.0, 3.0], requires_grad=True)
    with record() as trace:
        b = x * 2
        v = b[0:2]
        v.mul_(3)
        b.sum().backward()
    lines = trace.text().splitlines()
    told = "recorded as CopySlices #3; b.grad_fn was MulBackward0 #1 and is CopySlices #3 now"
    assert any("mul_(v)" in line and told in line for line in lines)
    assert any("CopySlices #3 saves other = tensor(3)" in line for line in lines)
    assert x.grad.tolist() == [6, 6, 2]


def test_to_watch_a_view_gives_it_no_node():
    x = minigrad.ones(3, requires_grad=True)
    b = x * 2
    v = b[0:2]
    b.mul_(2)
    with record():
        minigrad.equal(v, v)
    assert v._extras.view.grad_fn.name() == "SliceBackward0"
    assert v.grad_fn.name() == "AsStridedBackward0"


def test_a_written_base_is_freed_at_once():
    gc.disable()
    try:
        x = minigrad.ones(3, requires_grad=True)
        b = x * 2
        v = b[0:2]
        v.exp_()
        v.mul_(2)
        gone = [weakref.ref(t) for t in (b, v, b.grad_fn, v.grad_fn)]
        del b, v
        assert [ref() for ref in gone] == [None] * 4
    finally:
        gc.enable()


def test_writing_under_a_pack_hook_hands_on_what_was_there():
    packed = []
    x = minigrad.ones(3, requires_grad=True)
    b, w = x * 2, minigrad.full((2,), 5.0, requires_grad=True)
    with minigrad.autograd.graph.saved_tensors_hooks(lambda t: packed.append(t) or t, lambda t: t):
        b[0:2].mul_(w)
    assert sorted(t.tolist() for t in packed) == [[2, 2], [5, 5]]
    b.sum().backward()
    assert x.grad.tolist() == [10, 10, 2] and w.grad.tolist() == [2, 2]


def test_a_loop_of_writes_is_as_deep_as_it_likes():
    x = minigrad.ones(1, requires_grad=True)
    b = x * 1
    for _ in range(20_000):
        b[0].mul_(1.0)
    b.sum().backward()
    assert x.grad.item() == 1
    with pytest.raises(RuntimeError, match="a second time"):
        b.sum().backward()
