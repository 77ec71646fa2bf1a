"""Hooks against PyTorch: what they get, what they may return, when they are called. Both libraries run the same program
and must come to the same values or the same error."""

from __future__ import annotations

import functools
import pickle

import pytest

import minigrad
from tests.parity.alike import alike
from tests.parity.leaves import leaf
from tests.parity.outcome import Programs, outcome

pytestmark = pytest.mark.torch


def tensor(m, hook):
    """`.grad` after a pass through a leaf with this hook."""
    x = leaf(m, 2)
    x.register_hook(hook)
    (x * 3).sum().backward()
    return x.grad


def pre(m, hook):
    """`.grad` after a pass through a node with this pre-hook."""
    x = leaf(m, 2)
    y = x * 3
    y.grad_fn.register_prehook(hook)
    y.sum().backward()
    return x.grad


def post(m, hook):
    """`.grad` after a pass through a node with this hook; its second input wants no gradient."""
    x = leaf(m, 2)
    y = x * m.ones(2)
    y.grad_fn.register_hook(hook)
    y.sum().backward()
    return x.grad


def accumulated(m, hook):
    """`.grad` after a pass through a leaf with this post-accumulate hook."""
    x = leaf(m, 2)
    x.register_post_accumulate_grad_hook(hook)
    (x * 3).sum().backward()
    return x.grad


class Callable:
    """A hook without a name."""

    def __call__(self, *args):
        return args[0][:0] if not isinstance(args[0], tuple) else ()


class Numbered(Callable):
    """A hook whose name is no string."""

    __name__ = 3


PROGRAMS = Programs({
    # what a tensor's hook returns
    "tensor: None": lambda m: tensor(m, lambda g: None),
    "tensor: the same": lambda m: tensor(m, lambda g: g),
    "tensor: another": lambda m: tensor(m, lambda g: g * 2),
    "tensor: a Parameter": lambda m: tensor(m, lambda g: m.nn.Parameter(m.ones(2))),
    "tensor: one that requires grad": lambda m: tensor(m, lambda g: g.clone().requires_grad_()),
    "tensor: a number": lambda m: tensor(m, lambda g: 1),
    "tensor: False": lambda m: tensor(m, lambda g: False),
    "tensor: a string": lambda m: tensor(m, lambda g: "a"),
    "tensor: a tuple": lambda m: tensor(m, lambda g: (g,)),
    "tensor: a list": lambda m: tensor(m, lambda g: [g]),
    "tensor: longer": lambda m: tensor(m, lambda g: m.ones(3)),
    "tensor: more dimensions": lambda m: tensor(m, lambda g: m.ones(1, 2)),
    "tensor: wider": lambda m: tensor(m, lambda g: g.double()),
    "tensor: integers": lambda m: tensor(m, lambda g: g.long()),
    "tensor: wider and longer": lambda m: tensor(m, lambda g: m.ones(3, dtype=m.float64)),
    "tensor: no name": lambda m: tensor(m, Callable()),
    "tensor: a name that is no string": lambda m: tensor(m, Numbered()),
    "tensor: a partial": lambda m: tensor(m, functools.partial(lambda a, g: g[:0], 1)),
    "tensor: changed in place": lambda m: tensor(m, lambda g: g.mul_(2)),
    "tensor: takes nothing": lambda m: tensor(m, lambda: None),
    "tensor: takes two": lambda m: tensor(m, lambda a, b: None),
    "tensor: no function": lambda m: tensor(m, 3),
    "tensor: None for a hook": lambda m: tensor(m, None),
    "tensor: raises": lambda m: tensor(m, lambda g: 1 // 0),
    # what a node's hook returns
    "post: None": lambda m: post(m, lambda gi, go: None),
    "post: the same": lambda m: post(m, lambda gi, go: gi),
    "post: another": lambda m: post(m, lambda gi, go: (gi[0] * 2, None)),
    "post: Nones": lambda m: post(m, lambda gi, go: (None, None)),
    "post: a number": lambda m: post(m, lambda gi, go: 1),
    "post: a tensor": lambda m: post(m, lambda gi, go: gi[0]),
    "post: a list": lambda m: post(m, lambda gi, go: list(gi)),
    "post: too few": lambda m: post(m, lambda gi, go: gi[:1]),
    "post: too many": lambda m: post(m, lambda gi, go: (*gi, None)),
    "post: none at all": lambda m: post(m, lambda gi, go: ()),
    "post: no name": lambda m: post(m, Callable()),
    "post: a number inside": lambda m: post(m, lambda gi, go: (1, None)),
    "post: longer": lambda m: post(m, lambda gi, go: (m.ones(3), None)),
    "post: wider": lambda m: post(m, lambda gi, go: (gi[0].double(), None)),
    "post: something for None": lambda m: post(m, lambda gi, go: (gi[0], m.ones(2))),
    "post: a number for None": lambda m: post(m, lambda gi, go: (gi[0], 1)),
    "post: takes one": lambda m: post(m, lambda gi: None),
    "post: no function": lambda m: post(m, 3),
    # what a node's pre-hook returns
    "pre: another": lambda m: pre(m, lambda go: (go[0] * 2,)),
    "pre: None inside": lambda m: pre(m, lambda go: (None,)),
    "pre: a number": lambda m: pre(m, lambda go: 1),
    "pre: a tensor": lambda m: pre(m, lambda go: go[0]),
    "pre: a list": lambda m: pre(m, lambda go: [go[0]]),
    "pre: too many": lambda m: pre(m, lambda go: (go[0], go[0])),
    "pre: none at all": lambda m: pre(m, lambda go: ()),
    "pre: a number inside": lambda m: pre(m, lambda go: (1,)),
    "pre: longer": lambda m: pre(m, lambda go: (m.ones(3),)),
    "pre: wider": lambda m: pre(m, lambda go: (go[0].double(),)),
    "pre: takes two": lambda m: pre(m, lambda a, b: None),
    # what a post-accumulate hook returns
    "accumulated: None": lambda m: accumulated(m, lambda p: None),
    "accumulated: the leaf": lambda m: accumulated(m, lambda p: p),
    "accumulated: a number": lambda m: accumulated(m, lambda p: 1),
    "accumulated: a tensor": lambda m: accumulated(m, lambda p: m.ones(2)),
    "accumulated: a longer tensor": lambda m: accumulated(m, lambda p: m.ones(3)),
    "accumulated: its grad": lambda m: accumulated(m, lambda p: p.grad),
    "accumulated: clears the grad": lambda m: accumulated(m, lambda p: setattr(p, "grad", None)),
    "accumulated: changes the grad": lambda m: accumulated(m, lambda p: setattr(p, "grad", p.grad * 2)),
    "accumulated: takes nothing": lambda m: accumulated(m, lambda: None),
    # where a hook can hang
    "on data": lambda m: m.ones(2).register_hook(print),
    "post-accumulate on data": lambda m: m.ones(2).register_post_accumulate_grad_hook(print),
    "post-accumulate on a result": lambda m: (leaf(m, 2) * 2).register_post_accumulate_grad_hook(print),
    "retain_grad on data": lambda m: m.ones(2).retain_grad(),
    "on a leaf that no longer requires grad": lambda m: ((x := leaf(m, 2)).register_hook(lambda g: g * 5),
                                                         x.requires_grad_(False), x.register_hook(len)),
})


@PROGRAMS
def a_handle(m):
    x = leaf(m, 2)
    handle = x.register_hook(len)
    kind = type(handle)
    state = kind.__name__, kind.next_id > handle.id, handle.hooks_dict_ref() is x._backward_hooks, handle.extra_dict_ref
    with handle as entered:
        inside = entered is handle, len(x._backward_hooks)
    return *state, *inside, len(x._backward_hooks), handle.remove()


@PROGRAMS
def a_handle_pickled(m):
    x = leaf(m, 2)
    handle = x.register_hook(len)
    again = pickle.loads(pickle.dumps(handle))
    again.remove()
    return again.id == handle.id, again.hooks_dict_ref(), again.extra_dict_ref, len(x._backward_hooks)


@PROGRAMS
def the_hook_outlives_its_handle(m):
    log = []
    x = leaf(m, 2)
    x.register_hook(lambda g: log.append("x"))
    x.sum().backward()
    return log


@pytest.mark.parametrize("name", PROGRAMS)
def test_same(torch, name):
    assert outcome(PROGRAMS[name], minigrad) == outcome(PROGRAMS[name], torch)


def hook_dict(m):
    """What `_backward_hooks` of a result shows, and what comes of emptying it."""
    x = m.ones(2, requires_grad=True)
    y = x * 2
    seen = [y._backward_hooks is None, x._backward_hooks is None]
    first, second = y.register_hook(lambda g: g * 2), y.register_hook(lambda g: g * 3)
    seen.append(list(y._backward_hooks) == [first.id, second.id])
    first.remove()
    seen.append(len(y._backward_hooks))
    y._backward_hooks.clear()
    y.sum().backward()
    a, b = (x * 1).unbind(0)
    b.register_hook(lambda g: g)
    y.register_hook(lambda g: g)
    y.add_(1)
    return seen, x.grad, a._backward_hooks is None, len(b._backward_hooks), len(y._backward_hooks or ())


def test_the_dict_of_a_results_hooks(torch):
    alike(torch, hook_dict)


def doubled(m, n):
    """`.grad` after a pass through a sum of so many, by way of a hook that doubles its gradient in place."""
    x = leaf(m, n)
    y = x * 2
    y.register_hook(lambda g: g.mul_(2))
    y.sum().backward()
    return x.grad


@pytest.mark.parametrize("n", [1, 3])
def test_a_hook_that_writes_to_the_gradient_of_a_sum(torch, n):
    alike(torch, lambda m: doubled(m, n))


def hooks_between_writes(m, steps):
    """What the hooks of a base `y` and of its view `v` are called with; a step hangs a hook, or is a statement."""
    x, seen = leaf(m, 3), []
    y = x * 1
    v = y[:2]
    for i, step in enumerate(steps.split("; ")):
        if step in ("y", "v"):
            {"y": y, "v": v}[step].register_hook(lambda g, i=i: seen.append((i, g.tolist())))
        else:
            exec(step, {"y": y, "v": v})
    ((v * v).sum() + (y * y).sum()).backward()
    return seen, x.grad, v.grad if v.retains_grad else None, len(v._backward_hooks or ()), len(y._backward_hooks or ())


@pytest.mark.parametrize("steps", [
    "v; y.mul_(2); v", "v; y.mul_(2); v; v", "v; v.mul_(2); v; y.mul_(2); v", "v; y.mul_(2); v; v.mul_(2); v",
    "v; v.retain_grad(); y.mul_(2); v", "v; v._backward_hooks.clear(); y.mul_(2); v", "v; y.mul_(2)",
    "y; y.mul_(2); y", "y; v.mul_(2); y; y.mul_(3); y", "y; v; y.mul_(2); v; y"])
def test_hooks_between_writes(torch, steps):
    """A second hook on a view, after a write to its base, goes to those of its old node, as in PyTorch."""
    alike(torch, lambda m: hooks_between_writes(m, steps))
