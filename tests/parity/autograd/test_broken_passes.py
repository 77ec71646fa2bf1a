"""What a pass leaves behind that broke off in the middle, against PyTorch: which leaves got a gradient, which nodes can
still run, whether a second pass does what the first should have done."""

from __future__ import annotations

import pytest

import minigrad
from tests.parity.outcome import Programs, outcome

pytestmark = pytest.mark.torch
PROGRAMS = Programs()


def leaf(m, *shape):
    """Ones that require grad, in a dtype in which both libraries round alike."""
    return m.ones(shape, dtype=m.float64, requires_grad=True)


def fails(m, where):
    """A Function that is the identity, and raises while `where` is not empty."""

    class Fails(m.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            if where:
                raise KeyError(where[0])
            return g

    return Fails.apply


def attempt(call):
    """The error that a call raises, or None."""
    try:
        call()
    except Exception as error:  # noqa: BLE001 (whichever it is, it is the answer)
        return type(error).__name__, str(error)[:40]
    return None


def alive(*nodes):
    """Of each node, whether what it saved is still there."""
    return [attempt(lambda node=node: node._saved_result) is None for node in nodes]


class Way:
    """x goes through exp, a place that may break, and exp; a, b and c join before, at and after that place."""

    def __init__(self, m, where):
        self.x, self.a, self.b, self.c = (leaf(m, 2) for _ in range(4))
        self.first = self.x.exp()
        self.joined = self.first + self.a
        self.middle = fails(m, where)(self.joined)
        self.last = (self.middle * self.b).exp()
        self.root = (self.last + self.c).sum()

    def state(self, m):
        """Everything that a pass may change."""
        return ([each.grad for each in (self.x, self.a, self.b, self.c)], m.is_grad_enabled(),
                alive(self.first.grad_fn, self.last.grad_fn))


def twice(name, breaks, **options):
    """A pass that breaks, the state, and the same pass unbroken."""
    def program(m):
        where = []
        way = Way(m, where)
        mend = breaks(m, way, where)
        out = [attempt(lambda: way.root.backward(**options)), way.state(m)]
        mend()
        where.clear()
        return [*out, attempt(lambda: way.root.backward(**options)), way.state(m)]

    PROGRAMS[name] = program


def hook_of(pick, register="register_hook"):
    """Breaks by a hook that raises."""
    def breaks(m, way, where):
        def hook(*args):
            raise KeyError("hook")

        return getattr(pick(way), register)(hook).remove

    return breaks


def function(m, way, where):
    """Breaks in the backward of a Function."""
    where.append("function")
    return lambda: None


def version(m, way, where):
    """Breaks since a saved result was changed."""
    with m.no_grad():
        way.first.add_(1)
    return lambda: None


for keep in (False, True):
    end = ", kept" if keep else ""
    twice(f"in a Function{end}", function, retain_graph=keep)
    twice(f"in a tensor's hook{end}", hook_of(lambda way: way.middle), retain_graph=keep)
    twice(f"in a tensor's hook above the root's nodes{end}", hook_of(lambda way: way.last), retain_graph=keep)
    twice(f"in a leaf's hook{end}", hook_of(lambda way: way.a), retain_graph=keep)
    twice(f"in the first leaf's hook{end}", hook_of(lambda way: way.c), retain_graph=keep)
    twice(f"in a pre-hook{end}", hook_of(lambda way: way.first.grad_fn, "register_prehook"), retain_graph=keep)
    twice(f"in a post-hook{end}", hook_of(lambda way: way.first.grad_fn), retain_graph=keep)
    twice(f"after accumulation{end}", hook_of(lambda way: way.b, "register_post_accumulate_grad_hook"),
          retain_graph=keep)
    twice(f"at a changed result{end}", version, retain_graph=keep)


@PROGRAMS
def with_inputs(m):
    where = ["function"]
    way = Way(m, where)
    error = attempt(lambda: way.root.backward(inputs=[way.x, way.b]))
    where.clear()
    return error, way.state(m), attempt(lambda: m.autograd.grad(way.root, [way.x, way.c])), way.state(m)


@PROGRAMS
def by_grad(m):
    where = ["function"]
    way = Way(m, where)
    return attempt(lambda: m.autograd.grad(way.root, [way.x, way.b])), way.state(m)


@PROGRAMS
def recorded(m):
    where = ["function"]
    way = Way(m, where)
    error = attempt(lambda: m.autograd.grad(way.root, [way.x], create_graph=True))
    where.clear()
    return error, way.state(m), m.autograd.grad(way.root, [way.x], create_graph=True), way.state(m)


@PROGRAMS
def what_retain_grad_has_kept(m):
    where = ["function"]
    way = Way(m, where)
    for each in (way.middle, way.joined, way.last):
        each.retain_grad()
    error = attempt(way.root.backward)
    return error, way.middle.grad, way.joined.grad, way.last.grad


@PROGRAMS
def two_roots_one_of_them_broken(m):
    where = ["function"]
    way = Way(m, where)
    other = (leaf(m, 2) * way.c).sum()
    return attempt(lambda: m.autograd.backward([way.root, other])), way.state(m)


@PROGRAMS
def a_freed_graph_below_a_fresh_one(m):
    x, w = leaf(m, 2), leaf(m, 2)
    y = x.exp()
    y.sum().backward()
    return attempt((y * w).sum().backward), x.grad, w.grad


def checked_before(name, call):
    """A call whose error is found before the pass begins: nothing has changed."""
    def program(m):
        way = Way(m, [])
        error = attempt(lambda: call(m, way))
        return error, way.state(m), [each.retains_grad for each in (way.first, way.last)]

    PROGRAMS[f"checked before: {name}"] = program


checked_before("shape", lambda m, way: way.last.backward(m.ones(3)))
checked_before("not a scalar", lambda m, way: way.last.backward())
checked_before("an input without grad", lambda m, way: way.root.backward(inputs=[m.ones(1)]))
checked_before("an input that is none", lambda m, way: way.root.backward(inputs=[3, way.first]))
checked_before("a root without grad", lambda m, way: m.autograd.backward([m.ones(1), way.root], inputs=[way.first]))
checked_before("no inputs", lambda m, way: way.root.backward(inputs=[]))
checked_before("wrong number", lambda m, way: m.autograd.backward([way.root, way.root], [m.ones(())]))


@pytest.mark.parametrize("name", PROGRAMS)
def test_same(torch, name):
    assert outcome(PROGRAMS[name], minigrad) == outcome(PROGRAMS[name], torch)
