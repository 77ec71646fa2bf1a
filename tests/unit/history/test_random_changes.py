"""Random programs that change tensors in place: same gradients, same versions, or the same error as PyTorch."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minigrad
from tests.parity.leaves import quietly

# Each takes the library and two tensors of shape (2,); the result is kept, the first may have changed.
STEPS = [
    lambda m, a, b: a * b,
    lambda m, a, b: a + b,
    lambda m, a, b: a / (b * b + 1),
    lambda m, a, b: a.exp(),
    lambda m, a, b: a.tanh(),
    lambda m, a, b: a.sigmoid() + b,
    lambda m, a, b: a.relu(),
    lambda m, a, b: (a * a + 1).sqrt(),
    lambda m, a, b: a ** 2,
    lambda m, a, b: a.clone(),
    lambda m, a, b: a.detach(),
    lambda m, a, b: a.sin() - b.cos(),
    lambda m, a, b: a.sum() * b,
    lambda m, a, b: m.where(a > b, a, b),
    lambda m, a, b: m.stack([a, b]).mean(0),
    lambda m, a, b: a.add_(b),
    lambda m, a, b: a.mul_(b),
    lambda m, a, b: a.div_(b * b + 1),
    lambda m, a, b: a.sub_(1),
    lambda m, a, b: a.mul_(0.5),
    lambda m, a, b: a.tanh_(),
    lambda m, a, b: a.sigmoid_(),
    lambda m, a, b: a.relu_(),
    lambda m, a, b: a.neg_(),
    lambda m, a, b: a.pow_(2),
    lambda m, a, b: a.copy_(b),
    lambda m, a, b: a.zero_(),
    lambda m, a, b: a.fill_(0.5),
    lambda m, a, b: a.detach().mul_(0.5),
    lambda m, a, b: a.data.mul_(0.5),
    lambda m, a, b: quietly(m, lambda: a.mul_(0.5)),
    lambda m, a, b: quietly(m, lambda: a * b),
    lambda m, a, b: (a.retain_grad(), a)[1] if a.requires_grad else a,
    lambda m, a, b: a.mul_(b.detach()),
]
programs = st.lists(st.tuples(st.integers(0, len(STEPS) - 1), st.integers(0, 30), st.integers(0, 30)),
                    min_size=1, max_size=14)


def outcome(m, program, seed, order):
    """Everything that can be seen of a program: values, flags, versions, gradients, or the error."""
    values = np.random.RandomState(seed).uniform(-1.5, 1.5, (3, 2))
    made = [m.from_numpy(values[0].copy()).requires_grad_(), m.from_numpy(values[1].copy()).requires_grad_(),
            m.from_numpy(values[2].copy())]
    leaves = made[:2]
    seen = []
    try:
        for step, i, j in program:
            made.append(STEPS[step](m, made[i % len(made)], made[j % len(made)]))
        seen += [(t.requires_grad, t.is_leaf, t.retains_grad, t._version, t.output_nr,
                  None if t.grad_fn is None else t.grad_fn.name()) for t in made]
        loss = sum((t * (i + 1)).sum() for i, t in enumerate(made) if t.requires_grad)
        grads = m.autograd.grad(loss, leaves, create_graph=order > 1, allow_unused=True)
        again = [g for g in grads if g is not None and g.requires_grad]
        grads = (*grads, *(m.autograd.grad(sum((g * g).sum() for g in again), leaves, materialize_grads=True)
                           if again else map(m.zeros_like, leaves)))
        kept = [t.grad if t.retains_grad or t.is_leaf else None for t in made]
    except RuntimeError as error:
        return seen, f"{type(error).__name__}: {str(error).splitlines()[0]}", []
    return seen, "", [None if g is None else g.detach().numpy() for g in (*made, *grads, *kept)]


def compare(torch, program, seed, order):
    ours, theirs = (outcome(m, program, seed, order) for m in (minigrad, torch))
    assert ours[:2] == theirs[:2]
    for a, b in zip(ours[2], theirs[2], strict=True):
        assert (a is None) == (b is None)
        if a is not None:
            np.testing.assert_allclose(a, b, rtol=1e-7, atol=1e-9)


@pytest.mark.torch
@given(program=programs, seed=st.integers(0, 99))
def test_first_order(torch, program, seed):
    compare(torch, program, seed, 1)


@pytest.mark.torch
@given(program=programs, seed=st.integers(0, 99))
def test_second_order(torch, program, seed):
    compare(torch, program, seed, 2)
