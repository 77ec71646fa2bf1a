"""Saved tensors where PyTorch is no measure: it crashes, leaks, or does not show what is tested."""

from __future__ import annotations

import contextlib
import gc
import threading
import weakref

import pytest

import minigrad
from minigrad.autograd import graph
from minigrad.core.grad_mode import UNUSUAL


def leaf():
    """A leaf that requires grad."""
    return minigrad.tensor([1.0, 4.0], requires_grad=True)


def fail(t):
    """A hook with an error in it."""
    raise ValueError("mine")


def test_hooks_leave_the_straight_path_as_it_was():
    before = len(UNUSUAL.modes)
    with graph.saved_tensors_hooks(fail, fail):
        assert len(UNUSUAL.modes) == before + 1
        with pytest.raises(ValueError, match="mine"):
            leaf().sqrt()
    assert len(UNUSUAL.modes) == before


def test_a_thread_that_ends_with_hooks_on_gives_its_share_back():
    before = len(UNUSUAL.modes)
    thread = threading.Thread(target=graph.saved_tensors_hooks(fail, fail).__enter__)
    thread.start()
    thread.join()
    gc.collect()
    assert len(UNUSUAL.modes) == before
    leaf().sqrt().sum().backward()


def test_a_block_that_was_not_entered_cannot_be_left():
    with pytest.raises(RuntimeError, match="without having been entered"):
        graph.saved_tensors_hooks(fail, fail).__exit__(None, None, None)


@pytest.mark.parametrize("pack", [fail, lambda t: t.add_(0)], ids=["fails", "writes"])
def test_a_handle_whose_pack_hook_failed_is_as_it_was(pack):
    x = leaf()
    y = x.sqrt()
    handle = y.grad_fn._raw_saved_result
    with pytest.raises((ValueError, RuntimeError)):
        handle.register_hooks(pack, fail)
    assert handle.unpack_hook is None
    handle.register_hooks(lambda t: t.tolist(), minigrad.tensor)
    y.sum().backward()
    assert x.grad.tolist() == [0.5, 0.25]


def test_a_handle_keeps_its_node():
    handle = leaf().sqrt().grad_fn._raw_saved_result
    assert handle.data.tolist() == [1.0, 2.0]
    watch = weakref.ref(handle.node)
    del handle
    assert watch() is None


def test_a_refused_block_leaves_the_one_around_it_open():
    x = leaf()
    y = x.clone()
    with graph.allow_mutation_on_saved_tensors():
        z = (y ** 2).sum()
        with pytest.raises(RuntimeError, match="cannot be nested"), graph.allow_mutation_on_saved_tensors():
            pass
        y.zero_()
        z.backward()
    assert x.grad.tolist() == [2.0, 8.0]


def test_what_is_cloned_is_cloned_once_and_only_if_it_was_saved():
    with graph.allow_mutation_on_saved_tensors() as kept:
        y, other = leaf().clone(), leaf().clone()
        z = y * y
        for _ in range(3):
            y.add_(1)
            other.add_(1)
        assert (len(kept.original), len(kept.cloned)) == (0, 1)
        del z
        assert (len(kept.original), len(kept.cloned)) == (0, 0)


def test_hooks_are_for_every_op_that_saves():
    seen = []
    with graph.saved_tensors_hooks(lambda t: (seen.append(tuple(t.shape)), t.detach())[1], lambda t: t):
        x = minigrad.ones(2, 3, requires_grad=True)
        y = minigrad.nn.functional.linear(x, minigrad.ones(4, 3, requires_grad=True), minigrad.ones(4))
        y.relu().norm().backward()
    assert seen == [(2, 3), (3, 4), (2, 4), (2, 4), ()]
    assert x.grad.shape == (2, 3)


FORMULAS = {"gelu": minigrad.nn.functional.gelu, "softmax": lambda x: x.softmax(1), "tanh": minigrad.tanh,
            "a mean": lambda x: x.square().mean(), "layer_norm": lambda x: minigrad.nn.functional.layer_norm(x, (40,))}


@pytest.mark.parametrize("name", FORMULAS)
def test_behind_hooks_the_same_formula_runs(name):
    """Bit for bit, where what is unpacked is like what was packed; on tensors the formula of gelu is another one."""
    minigrad.manual_seed(0)
    x, found = minigrad.randn(30, 40, requires_grad=True), []
    for context in (contextlib.nullcontext(), graph.saved_tensors_hooks(minigrad.clone, minigrad.clone)):
        with context:
            y = FORMULAS[name](x)
        found += minigrad.autograd.grad((y * y).sum(), x)
    assert minigrad.equal(*found)


@pytest.mark.parametrize("unpack", [lambda t: t.double(), lambda t: t[:1], lambda t: t[None]])
def test_an_unpacked_tensor_of_another_kind_meets_the_operators_of_tensors(unpack):
    x = minigrad.randn(3, 4, requires_grad=True)
    with graph.saved_tensors_hooks(lambda t: t, unpack):
        y = x * minigrad.ones(3, 4, requires_grad=True)
    (g,) = minigrad.autograd.grad(y.sum(), x)
    assert g.tolist() == minigrad.ones(3, 4).tolist() and g.dtype is minigrad.float32
