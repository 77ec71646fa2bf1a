"""Random graphs: whatever is built, gradients of all orders are PyTorch's, and passes leave nothing behind."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minigrad

# Each takes the library and two tensors of shape (2, 3), and gives one.
STEPS = [
    lambda m, a, b: a + b,
    lambda m, a, b: a - b * 0.5,
    lambda m, a, b: a * b,
    lambda m, a, b: a / (b * b + 1),
    lambda m, a, b: a.tanh(),
    lambda m, a, b: (a * 0.3).exp() - b,
    lambda m, a, b: a.sigmoid() * b,
    lambda m, a, b: a.relu() + b,
    lambda m, a, b: (a * a + 1).sqrt(),
    lambda m, a, b: (a * a + 0.5).log() + b.sin(),
    lambda m, a, b: a + b.sum(0),
    lambda m, a, b: a * b.mean(1, keepdim=True),
    lambda m, a, b: (a @ b.t()) @ b,
    lambda m, a, b: a[0] + b[:, 1:2],
    lambda m, a, b: m.stack(b.unbind(1), 1) * a.clone(),
    lambda m, a, b: m.cat(a.chunk(2)[::-1]) + b,
    lambda m, a, b: m.where(a > b, a * 2, b),
    lambda m, a, b: a.t().reshape(2, 3) * b.view(6).view(2, 3),
    lambda m, a, b: a.clone().mul_(b).add_(1),
    lambda m, a, b: a.detach() * b,
    lambda m, a, b: a[[1, 0]] - b,
    lambda m, a, b: a.expand(2, 2, 3).sum(0) + b.unsqueeze(0).squeeze(0),
    lambda m, a, b: (a * b).norm() + a,
    lambda m, a, b: a ** 2 - b ** 3 * 0.1,
]
programs = st.lists(st.tuples(st.integers(0, len(STEPS) - 1), st.integers(0, 30), st.integers(0, 30)),
                    min_size=1, max_size=12)


def build(m, program, arrays):
    """Run a program; each step takes two of the tensors made so far."""
    leaves = [m.from_numpy(array.copy()).requires_grad_() for array in arrays]
    made = list(leaves)
    for step, i, j in program:
        made.append(STEPS[step](m, made[i % len(made)], made[j % len(made)]).tanh())
    return leaves, made


def arrays_of(seed):
    random = np.random.RandomState(seed)
    return [random.uniform(-1.5, 1.5, (2, 3)) for _ in range(2)]


def as_arrays(tensors):
    return [None if t is None else np.asarray(t.detach().numpy()) for t in tensors]


def same(ours, theirs):
    for a, b in zip(ours, theirs, strict=True):
        if a is None or b is None:
            assert a is b
        else:
            np.testing.assert_allclose(a, b, rtol=1e-7, atol=1e-9)


@pytest.mark.torch
@given(program=programs, seed=st.integers(0, 99))
def test_backward(torch, program, seed):
    sides = []
    for m in (minigrad, torch):
        _, made = build(m, program, arrays_of(seed))
        for tensor in made:
            if tensor.requires_grad:
                tensor.retain_grad()
        (made[-1].sum() + made[-1].mean()).backward()
        sides.append(as_arrays([made[-1], *[t.grad if t.requires_grad else None for t in made]]))
    same(*sides)


@pytest.mark.torch
@given(program=programs, seed=st.integers(0, 99))
def test_second_derivatives(torch, program, seed):
    sides = []
    for m in (minigrad, torch):
        leaves, made = build(m, program, arrays_of(seed))
        first = m.autograd.grad((made[-1] ** 2).sum() + sum((leaf ** 3).sum() for leaf in leaves), leaves,
                                create_graph=True)
        second = m.autograd.grad(sum((g * g).sum() for g in first), leaves)
        sides.append(as_arrays([*first, *second]))
    same(*sides)


def hook_log(m, program, seed, chosen):
    """What the hooks of a backward pass saw, in the order in which they ran."""
    log = []
    _, made = build(m, program, arrays_of(seed))
    for i, tensor in enumerate(made):
        if not tensor.requires_grad:
            continue
        if (i * 7 + chosen * 10) % 3 < 2:
            tensor.register_hook(lambda g, i=i: log.append(("tensor", i, total(g))))
        if tensor.grad_fn is not None and (i + chosen) % 2 < 1:
            tensor.grad_fn.register_hook(lambda gi, go, i=i: log.append(("node", i, *map(total, (*gi, *go)))))
    made[-1].sum().backward()
    return log


def total(g):
    """A gradient as one number."""
    return None if g is None else float(g.sum())


@pytest.mark.torch
@given(program=programs, seed=st.integers(0, 99), order=st.randoms(use_true_random=False))
def test_order_of_nodes_and_hooks(torch, program, seed, order):
    chosen = order.random()
    ours, theirs = (hook_log(m, program, seed, chosen) for m in (minigrad, torch))
    assert [entry[:2] for entry in ours] == [entry[:2] for entry in theirs]
    for a, b in zip(ours, theirs, strict=True):
        assert a[2:] == pytest.approx(b[2:], rel=1e-7, abs=1e-9)


@given(program=programs, seed=st.integers(0, 99))
def test_backward_of_inputs_equals_grad_equals_backward(program, seed):
    results = []
    for way in range(3):
        leaves, made = build(minigrad, program, arrays_of(seed))
        loss = made[-1].sum() + sum(leaf.sum() for leaf in leaves)
        if way == 0:
            loss.backward()
        elif way == 1:
            loss.backward(inputs=leaves)
        grads = minigrad.autograd.grad(loss, leaves) if way == 2 else [leaf.grad for leaf in leaves]
        results.append(as_arrays(grads))
    same(results[0], results[1])
    same(results[0], results[2])


@given(program=programs, seed=st.integers(0, 99))
def test_recorded_and_plain_passes_agree_and_can_be_repeated(program, seed):
    leaves, made = build(minigrad, program, arrays_of(seed))
    loss = made[-1].sum() + sum(leaf.sum() for leaf in leaves)
    plain = minigrad.autograd.grad(loss, leaves, retain_graph=True)
    recorded = minigrad.autograd.grad(loss, leaves, create_graph=True)
    again = minigrad.autograd.grad(loss, leaves)
    same(as_arrays(plain), as_arrays(recorded))
    same(as_arrays(plain), as_arrays(again))
