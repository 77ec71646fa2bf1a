"""`allow_mutation_on_saved_tensors`: what a graph needs is cloned before it is written to; as in PyTorch."""

from __future__ import annotations

import pytest

from tests.parity.alike import alike
from tests.parity.leaves import counted as leaf
from tests.parity.leaves import quietly

pytestmark = pytest.mark.torch


def allowed(m, program, *shape):
    """A program in the block: it gets a leaf, a clone of it and what the block keeps."""
    with m.autograd.graph.allow_mutation_on_saved_tensors() as kept:
        a = leaf(m, *(shape or (4,)))
        return program(m, a, a.clone(), kept), a.grad


def counts(kept):
    """How many tensors are kept as they are, and how many were cloned."""
    return len(kept.original), len(kept.cloned)


def steps(m, a, b, kept):
    """What is kept, step by step."""
    out = (b ** 2).sum()
    seen = [counts(kept)]
    b.add_(1)
    seen.append(counts(kept))
    out.backward()
    return seen, counts(kept)


def twice(m, a, b, kept):
    """Saved, changed, saved again, changed again."""
    first = (b * b).sum()
    b.mul_(3)
    second = (b * b).sum()
    seen = counts(kept)
    b.mul_(3)
    (first + second).backward()
    return seen, counts(kept)


def changed(change, op=lambda b: (b ** 2).sum()):
    """An op, a change, and backward."""

    def program(m, a, b, kept):
        y = op(b)
        change(m, b)
        y.sum().backward()
        return counts(kept)

    return program


def square(m, dirty):
    """A custom Function that saves its input, or writes to it."""

    class Square(m.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            if dirty:
                ctx.mark_dirty(x)
                return x.mul_(2)
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            return g * 2 if dirty else g * 2 * ctx.saved_tensors[0]

    return Square.apply


def second(m, a, b, kept):
    """A second derivative of what was changed since."""
    y = (b ** 3).sum()
    b.add_(1)
    (g,) = m.autograd.grad(y, a, create_graph=True)
    return g, m.autograd.grad(g.sum(), a)


def later(m, *, again):
    """The pass comes after the block, or in another one."""
    a = leaf(m, 2)
    b = a.clone()
    with m.autograd.graph.allow_mutation_on_saved_tensors():
        y = (b ** 2).sum()
    if again:
        with m.autograd.graph.allow_mutation_on_saved_tensors():
            y.backward()
    y.backward()


def earlier(m):
    """The op came before the block."""
    a = leaf(m, 2)
    b = a.clone()
    y = (b ** 2).sum()
    with m.autograd.graph.allow_mutation_on_saved_tensors():
        b.add_(1)
        y.backward()


def after_an_error(m):
    """A block that ended in an error lets go."""
    try:
        allowed(m, lambda *given: 1 // 0)
    except ZeroDivisionError:
        return allowed(m, steps)


def leaf_changed(m, a, b, kept):
    """The leaf itself."""
    y = (a ** 2).sum()
    quietly(m, lambda: a.mul_(2))
    y.backward()


def dirtied(m, a, b, kept):
    """A Function that writes to what was saved."""
    y = b * b
    (y + square(m, True)(b)).sum().backward()


def accumulated(m, a, b, kept):
    """A `.grad` that was saved is added to."""
    b.sum().backward()
    w = leaf(m, 4)
    y = (w * a.grad).sum()
    (a * 1).sum().backward()
    y.backward()
    return w.grad


PROGRAMS = {
    "steps": lambda m: allowed(m, steps),
    "twice": lambda m: allowed(m, twice),
    "an input": lambda m: allowed(m, changed(lambda m, b: b.add_(1), lambda b: b.log())),
    "an input, saved twice": lambda m: allowed(m, changed(lambda m, b: b.add_(1), lambda b: b * b)),
    "a result": lambda m: allowed(m, lambda m, a, b, kept: (y := b.sqrt(), y.mul_(3), y.sum().backward())[2]),
    "a view, by its base": lambda m: allowed(m, changed(lambda m, b: b.mul_(3), lambda b: b[:2] ** 2)),
    "a base, by its view": lambda m: allowed(m, changed(lambda m, b: b[:2].mul_(3))),
    "another view": lambda m: allowed(m, changed(lambda m, b: b[2:].mul_(3), lambda b: b[:2] ** 2)),
    "by an index": lambda m: allowed(m, changed(lambda m, b: b.__setitem__(0, 5))),
    "by indices": lambda m: allowed(m, changed(lambda m, b: b.__setitem__([0, 1], 5.0))),
    "by zero_": lambda m: allowed(m, changed(lambda m, b: b.zero_())),
    "by +=": lambda m: allowed(m, changed(lambda m, b: b.__iadd__(1))),
    "by what is detached": lambda m: allowed(m, changed(lambda m, b: b.detach().mul_(2))),
    "without grad mode": lambda m: allowed(m, changed(lambda m, b: quietly(m, lambda: b.mul_(2)))),
    "said by hand": lambda m: allowed(m, changed(lambda m, b: m.autograd.graph.increment_version(b))),
    "by itself": lambda m: allowed(m, lambda m, a, b, kept: (b.mul_(b), b.mul_(b), b.sum().backward())[2]),
    "freed before": lambda m: allowed(m, lambda m, a, b, kept: (y := (b ** 2).sum(), y.backward(), b.add_(1),
                                                                counts(kept))[3]),
    "by the op that saves it": lambda m: allowed(m, lambda m, a, b, kept: (
        y := (b ** 2).sum(), b.sin_(), z := (b ** 2).sum(), b.cos_(), counts(kept), (y + z + b.sum()).backward(),
        counts(kept))[4:]),
    "a Function": lambda m: allowed(m, changed(lambda m, b: b.add_(1), lambda b: square(m, False)(b))),
    "a Function writes": lambda m: allowed(m, dirtied),
    "a leaf": lambda m: allowed(m, leaf_changed),
    "a gradient": lambda m: allowed(m, accumulated),
    "second derivative": lambda m: allowed(m, second),
    "read": lambda m: allowed(m, lambda m, a, b, kept: (y := b * b, b.add_(1), y.grad_fn._saved_self,
                                                        y.grad_fn._saved_self is b)[2:]),
    "nested": lambda m: allowed(m, lambda m, a, b, kept: allowed(m, steps)),
    "after it": lambda m: later(m, again=False),
    "in another": lambda m: later(m, again=True),
    "before it": earlier,
    "after an error": after_an_error,
    "after all": lambda m: allowed(m, steps),
    "its class": lambda m: allowed(m, lambda m, a, b, kept: type(kept).__name__),
    "an argument": lambda m: m.autograd.graph.allow_mutation_on_saved_tensors(1),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_mutation(torch, name):
    alike(torch, PROGRAMS[name])
