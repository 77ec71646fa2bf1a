"""Saved tensors through second passes, changes and hooks that count: each program ends alike in both libraries."""

from __future__ import annotations

import pytest

from tests.parity.alike import alike
from tests.parity.leaves import counted as leaf

pytestmark = pytest.mark.torch


def doubled(m):
    """Hooks that pack twice the tensor: what is saved once counts twice, what is saved twice counts four times."""
    return m.autograd.graph.saved_tensors_hooks(lambda t: 2 * t, lambda t: t)


def second(m, forward, backward, op=lambda a: a ** 3):
    """A second derivative with hooks on in the forward pass, in the first pass back, or in both."""
    a = leaf(m, 3)
    with doubled(m) if forward else m.enable_grad():
        y = op(a).sum()
    with doubled(m) if backward else m.enable_grad():
        (g,) = m.autograd.grad(y, a, create_graph=True)
        g.sum().backward()
    return g.detach(), a.grad


def by_handle(m, make, pack, unpack, second=False):
    """Hooks on one of two saved values, then one pass or two."""
    a = leaf(m, 3)
    x = make(a)
    y = x * x if not second else x ** 3
    y.grad_fn._raw_saved_self.register_hooks(pack, unpack)
    saved = y.grad_fn._saved_self
    if not second:
        y.sum().backward()
    else:
        (g,) = m.autograd.grad(y.sum(), a, create_graph=True)
        g.sum().backward()
    return saved, saved.grad_fn is x.grad_fn, a.grad


def inner_and_outer(m):
    """Of nested blocks the inner one counts, inside of it."""
    graph, a, b = m.autograd.graph, leaf(m, 2), leaf(m, 2)
    with graph.saved_tensors_hooks(lambda t: 3 * t, lambda t: 3 * t):
        with graph.saved_tensors_hooks(lambda t: 5 * t, lambda t: 5 * t):
            y = a * a
        z = b * b
    y.sum().backward()
    z.sum().backward()
    return a.grad, b.grad


def shared(m):
    """A result that is read shares memory and version with the result."""
    y = leaf(m, 3).sqrt()
    saved = y.grad_fn._saved_result
    before = saved._version, y._version
    with m.no_grad():
        y += 1
    return before, saved._version, y._version, (saved == y).tolist(), y.grad_fn is saved.grad_fn


def replaced(m):
    """What an unpack hook gives has a version of its own."""
    a = leaf(m, 2)
    other, seen = a.clone(), []

    class Twice(m.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            x.add_(1)
            seen.append((a._version, other._version))
            return g * 2

    with m.autograd.graph.saved_tensors_hooks(lambda t: other, lambda t: t):
        y = Twice.apply(a)
    y.sum().backward()
    return seen, a.grad


def intermediate(m):
    """A Function saves a leaf that it made."""

    class Square(m.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward((x * 1).clone().detach_().requires_grad_(True))
            return x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * 2 * x

    a = leaf(m, 2)
    with m.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        y = Square.apply(a)
    (saved,) = y.grad_fn.saved_tensors
    y.sum().backward()
    return saved, a.grad


def counted(m, second):
    """How often hooks run."""
    counts = [0, 0]

    def pack(t):
        counts[0] += 1
        return t

    def unpack(t):
        counts[1] += 1
        return t

    x, y = leaf(m, 4), leaf(m, 4)
    with m.autograd.graph.saved_tensors_hooks(pack, unpack):
        out = x * y if second else x * y.detach()
    seen = [tuple(counts)]
    out.sum().backward()
    return [*seen, tuple(counts)]


def gathered(m, *wanted):
    """A hook on several tensors, of which a pass needs some."""
    leaves = [leaf(m, 2) for _ in range(3)]
    t = [leaves[0] * 2, leaves[1].clone(), leaves[2] * 3]
    log = []
    m.autograd.graph.register_multi_grad_hook(t, lambda gs: log.append([g is not None for g in gs]))
    out = t[1] * t[2]
    out.sum().backward(inputs=[t[i] for i in wanted])
    return log


def in_order(m):
    """A hook on several tensors, in mode any, among hooks of one tensor."""
    log = []

    def layer(x, number):
        z = x * 2
        y = z.sqrt(), z ** 2
        z.register_hook(lambda g: log.append((number, "one")))
        m.autograd.graph.register_multi_grad_hook(y, lambda g: log.append((number, "any")), mode="any")
        return y

    first = layer(leaf(m, 2), 1)
    last = layer(first[0] + first[1], 2)
    (last[0] + last[1]).sum().backward()
    return log


def no_doubles(m):
    """Saved inputs are the tensors themselves."""
    a = leaf(m, 2)
    b = a * a
    c, d = a * b, a.sqrt()
    return (b.grad_fn._saved_self is a, b.grad_fn._saved_other is a, c.grad_fn._saved_self is a,
            c.grad_fn._saved_other is b, d.grad_fn._saved_result is d)


def detached(m, op):
    """A tensor is detached in place after it was saved."""
    a = leaf(m, 2).clone()
    b = op(a)
    a.detach_()
    b.sum().backward()


PROGRAMS = {
    "second derivative": lambda m: second(m, False, False),
    "hooks forward": lambda m: second(m, True, False),
    "hooks backward": lambda m: second(m, False, True),
    "hooks both": lambda m: second(m, True, True),
    "product, hooks forward": lambda m: second(m, True, False, lambda a: a * a * a),
    "product, hooks both": lambda m: second(m, True, True, lambda a: a * a * a),
    "log, hooks forward": lambda m: second(m, True, False, lambda a: a.log()),
    "root, hooks forward": lambda m: second(m, True, False, lambda a: a.sqrt()),
    "quotient, hooks forward": lambda m: second(m, True, False, lambda a: 1 / a),
    "handle, leaf": lambda m: by_handle(m, lambda a: a, lambda t: 2 * t, lambda t: t / 2),
    "handle, leaf, scaled": lambda m: by_handle(m, lambda a: a, lambda t: 2 * t, lambda t: t),
    "handle, inner": lambda m: by_handle(m, lambda a: a + 1, lambda t: 2 * t, lambda t: t / 2),
    "handle, inner, scaled": lambda m: by_handle(m, lambda a: a + 1, lambda t: 2 * t, lambda t: t),
    "handle, leaf, second": lambda m: by_handle(m, lambda a: a, lambda t: t, lambda t: t, True),
    "handle, inner, second": lambda m: by_handle(m, lambda a: a + 1, lambda t: t, lambda t: t, True),
    "handle, two arguments": lambda m: by_handle(m, lambda a: a, lambda t, u: t, lambda t: t),
    "handle, no arguments back": lambda m: by_handle(m, lambda a: a, lambda t: t, lambda: None),
    "inner and outer": inner_and_outer,
    "shared": shared,
    "replaced": replaced,
    "intermediate": intermediate,
    "counted": lambda m: (counted(m, True), counted(m, False)),
    "several: all": lambda m: gathered(m, 1, 2),
    "several: others": lambda m: gathered(m, 0),
    "several: one": lambda m: gathered(m, 0, 2),
    "in order": in_order,
    "no doubles": no_doubles,
    "detached input": lambda m: detached(m, lambda a: a.sin()),
    "detached input, and result": lambda m: detached(m, lambda a: a.norm()),
    "detached one of two": lambda m: detached(m, lambda a: a * m.ones(2, requires_grad=True)),
    "detached, not saved": lambda m: detached(m, lambda a: a.sqrt()),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_passes(torch, name):
    alike(torch, PROGRAMS[name])
