"""Writes to tensors that a transformed function has captured, against PyTorch's: what is refused, and what stays."""

from __future__ import annotations

import pytest

import minigrad
from tests.parity.func.test_func import func_of
from tests.parity.outcome import outcome

pytestmark = pytest.mark.torch


def vector(m):
    return m.tensor([4.0, 5.0, 6.0])


def rows(m):
    return m.stack([vector(m), vector(m) + 1])


def ones(m, *shape):
    return m.ones(shape or (3,))


# What runs a function of a vector, inside of which transforms.
AROUND = {
    "grad": lambda m, t, f: t.grad(lambda x: f(x).sum())(vector(m)),
    "vjp": lambda m, t, f: t.vjp(f, vector(m))[0],
    "jvp": lambda m, t, f: t.jvp(f, (vector(m),), (ones(m),)),
    "jacrev": lambda m, t, f: t.jacrev(f)(vector(m)),
    "jacfwd": lambda m, t, f: t.jacfwd(f)(vector(m)),
    "vmap": lambda m, t, f: t.vmap(f)(rows(m)),
    "grad of grad": lambda m, t, f: t.grad(lambda y: t.grad(lambda x: f(x).sum())(y).sum())(vector(m)),
    "vmap of grad": lambda m, t, f: t.vmap(t.grad(lambda x: f(x).sum()))(rows(m)),
    "grad of vmap": lambda m, t, f: t.grad(lambda x: t.vmap(f)(x).sum())(rows(m)),
    "vmap of jvp": lambda m, t, f: t.vmap(lambda x: t.jvp(f, (x,), (ones(m),)))(rows(m)),
    "jvp of grad": lambda m, t, f: t.jvp(lambda y: t.grad(lambda x: f(x).sum())(y), (vector(m),), (ones(m),)),
}


def unrecorded(m, write):
    with m.no_grad():
        return write()


def own(m, x, w):
    """A tensor that was made inside may be written to, also one that is made of a captured one."""
    made = m.zeros_like(w)
    made += w
    made[0] = 2
    return made * x + w.clone().mul_(2)


def step(m, kind, w):
    w.requires_grad_().grad = ones(m)
    optimizer = getattr(m.optim, kind)([w], lr=0.1)
    return optimizer.step


# What becomes of the captured tensor `w` in a function of `x`; the first two make something of `w` before that.
BODIES = {
    "add": lambda m, w, x: w.add_(1), "add x": lambda m, w, x: w.add_(x), "sub x": lambda m, w, x: w.sub_(x),
    "x into an item": lambda m, w, x: w.__setitem__(0, x[0]), "into an item": lambda m, w, x: w.__setitem__(0, 7.0),
    "+=": lambda m, w, x: w.__iadd__(x), "of a part": lambda m, w, x: w[:2].mul_(x[:2]),
    "of a view": lambda m, w, x: w.view(3).zero_(), "of one of several": lambda m, w, x: w.unbind()[0].add_(1),
    "unrecorded": lambda m, w, x: unrecorded(m, lambda: w.copy_(x)),
    "index_put_": lambda m, w, x: w.index_put_((m.tensor([0]),), x[:1]),
    "index_add_": lambda m, w, x: w.index_add_(0, m.tensor([0]), ones(m, 1)),
    "data": lambda m, w, x: w.data.add_(1), "detached": lambda m, w, x: w.detach().add_(1),
    "a part of what is detached": lambda m, w, x: w[:2].detach()[:1].add_(1),
    "t_": lambda m, w, x: w.t_(), "unsqueeze_": lambda m, w, x: w.unsqueeze_(0), "normal_": lambda m, w, x: w.normal_(),
    "squeeze_": lambda m, w, x: w.squeeze_(0), "fill_": lambda m, w, x: w.fill_(x[0]),
    "masked_fill_": lambda m, w, x: w.masked_fill_(m.tensor([True, False, True]), 0.0),
    "masked_fill_ x": lambda m, w, x: w.masked_fill_(m.tensor([True, False, True]), x[0]),
    "relu": lambda m, w, x: m.nn.functional.relu(w, inplace=True), "init": lambda m, w, x: m.nn.init.zeros_(w),
    "resize_": lambda m, w, x: w.resize_(3), "set_": lambda m, w, x: w.set_(ones(m)),
    "detach_": lambda m, w, x: w.detach_(), "larger": lambda m, w, x: w.add_(ones(m, 5, 3)),
    "pow_": lambda m, w, x: w.pow_(2), "div_": lambda m, w, x: w.div_(x),
    "out=": lambda m, w, x: m.add(ones(m), 1, out=w), "its own": lambda m, w, x: own(m, x, w),
    "the input": lambda m, w, x: x.mul_(2),
}
BEFORE = {
    "a leaf": lambda m: vector(m).requires_grad_(), "a result": lambda m: vector(m).requires_grad_() * 1,
}
# PyTorch refuses to write to an argument of `grad` inside of `vmap` too, or to one with a tangent that is the same for
# all examples; here what is written is part of the derivative.
ALLOWED = {("grad of vmap", "the input"), ("vmap of jvp", "the input")}


def found(m, around, body, before=vector):
    """What comes out, and what `w` is afterwards."""
    m.manual_seed(0)
    w = before(m)

    def function(x):
        made = BODIES[body](m, w, x)
        return x * w + (made if isinstance(made, m.Tensor) and made.shape == x.shape else 0)

    result, _ = outcome(lambda m: AROUND[around](m, func_of(m), function), m)
    return values(result), w.tolist(), w.requires_grad, w._version, w.is_leaf


def values(result):
    """A result without the names of nodes: batches leave by one of their own."""
    if isinstance(result, list):
        return [values(each) for each in result]
    return result[:3] if result[0] == "tensor" else result


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("around", AROUND)
def test_writes(torch, around, body):
    if (around, body) not in ALLOWED:
        assert found(minigrad, around, body) == found(torch, around, body)


@pytest.mark.parametrize("before", BEFORE)
@pytest.mark.parametrize("body", ["add", "of a part", "unrecorded", "detached", "its own"])
@pytest.mark.parametrize("around", ["grad", "jvp", "vmap of grad", "grad of vmap"])
def test_writes_to_what_requires_grad(torch, around, body, before):
    assert found(minigrad, around, body, BEFORE[before]) == found(torch, around, body, BEFORE[before])


@pytest.mark.parametrize("kind", ["SGD", "Adam", "AdamW"])
def test_steps_of_optimizers(torch, kind):
    def refused(m, again):
        w = vector(m)
        run = step(m, kind, w)
        if again:
            run()
        result, _ = outcome(lambda m: func_of(m).grad(lambda x: (run(), (x * w).sum())[1])(vector(m)), m)
        return result, [round(each, 5) for each in w.tolist()]

    for again in (False, True):
        assert refused(minigrad, again) == refused(torch, again)


def test_a_level_that_is_left_refuses_nothing():
    w = vector(minigrad)
    with pytest.raises(RuntimeError, match="would mutate a captured Tensor"):
        minigrad.func.grad(lambda x: (w.add_(x)).sum())(vector(minigrad))
    assert w.add_(1).tolist() == [5.0, 6.0, 7.0]
    inner = minigrad.func.vjp(lambda x: x * 2, w)[1](minigrad.ones(3))[0]
    assert inner.add_(1).tolist() == [3.0, 3.0, 3.0]


# ---- A tangent belongs to its tensor.
SHARED = {
    "a part": lambda m, x: written(m, x + 1, lambda y: y[:2].mul_(3.0)),
    "an item": lambda m, x: written(m, x - 1, lambda y: y.__setitem__(0, 7.0)),
    "with a view": lambda m, x: written(m, x + 1, lambda y: (y[:2], y.mul_(3.0))),
    "added to zeros": lambda m, x: written(m, m.zeros(3).add_(x), lambda y: y.__setitem__(0, 2.0)),
}


def written(m, y, write):
    write(y)
    return y


@pytest.mark.parametrize("name", SHARED)
def test_a_write_does_not_change_the_tangent_of_another(torch, name):
    """`x + 1` has the tangent of `x`."""
    def pushed(m):
        x, tangent = vector(m), ones(m)
        return func_of(m).jvp(lambda x: SHARED[name](m, x) * x, (x,), (tangent,))[1].tolist(), tangent.tolist()

    assert pushed(minigrad) == pushed(torch)
