"""The first look at a view whose base has changed since: which looks give it a new node, and which take it as it is.

Every way in which a view can be out of date × every first look × what is seen afterwards.
"""

from __future__ import annotations

import copy

import pytest

from tests.parity.alike import alike

pytestmark = pytest.mark.torch


def root(m):
    """A leaf that requires grad."""
    return m.tensor([1.0, 2.0, 3.0], requires_grad=True)


def quiet(m, base):
    """A view that is taken without grad mode."""
    with m.no_grad():
        return base.view(-1)


def written(m, base, view):
    """The view, after its base was multiplied by a leaf that requires grad."""
    base.mul_(root(m))
    return view


VIEWS = {
    "of a plain tensor": lambda m: written(m, b := m.ones(3), b.view(-1)),
    "of a plain tensor, without grad mode": lambda m: written(m, b := m.ones(3), quiet(m, b)),
    "of a result": lambda m: written(m, b := root(m) * 2, b.view(-1)),
    "of a result, without grad mode": lambda m: written(m, b := root(m) * 2, quiet(m, b)),
    "of a view": lambda m: written(m, b := m.ones(3), b.view(3, 1).view(-1)),
    "of a detached result": lambda m: written(m, b := (root(m) * 2).detach(), b.view(-1)),
    "of a leaf, without grad mode": lambda m: quiet(m, root(m)),
    "of several": lambda m: written(m, b := m.ones(3, 3), b.unbind(0)[1]),
    "with retain_grad, of a result": lambda m: (
        b := root(m) * 2, v := b.view(-1), v.retain_grad(), written(m, b, v))[1],
    "changed without grad mode": lambda m: (b := root(m) * 2, v := b.view(-1), b.data.mul_(2), v)[1],
    "wanted, then written to": lambda m: (b := m.ones(3), v := b.view(-1).requires_grad_(), written(m, b, v))[1],
    "up to date": lambda m: (root(m) * 2).view(-1),
}
LOOKS = {
    "is_leaf": lambda m, v: v.is_leaf,
    "requires_grad": lambda m, v: v.requires_grad,
    "grad_fn": lambda m, v: v.grad_fn,
    "output_nr": lambda m, v: v.output_nr,
    "grad": lambda m, v: v.grad,
    "retains_grad": lambda m, v: v.retains_grad,
    "retain_grad": lambda m, v: v.retain_grad(),
    "retain_grad, then is_leaf": lambda m, v: (v.retain_grad(), v.is_leaf, v.retains_grad),
    "is_leaf, then retain_grad": lambda m, v: (v.is_leaf, v.retain_grad(), v.retains_grad),
    "argsort": lambda m, v: v.argsort(),
    "argmax": lambda m, v: v.argmax(),
    "deepcopy": lambda m, v: copy.deepcopy(v).is_leaf,
    "post-accumulate hook": lambda m, v: v.register_post_accumulate_grad_hook(lambda p: None) and None,
    "requires_grad_": lambda m, v: v.requires_grad_().requires_grad,
    "requires_grad_(False)": lambda m, v: v.requires_grad_(False).requires_grad,
    "requires_grad = False": lambda m, v: setattr(v, "requires_grad", False),
    "detach_": lambda m, v: v.detach_(),
    "mul_": lambda m, v: v.mul_(2),
    "mul_ by one that requires grad": lambda m, v: v.mul_(root(m)),
    "gradient edge": lambda m, v: m.autograd.graph.get_gradient_edge(v)[1],
    "multi-grad hook": lambda m, v: m.autograd.graph.register_multi_grad_hook([v], print) and None,
    "backward to it": lambda m, v: (v * 2).sum().backward(inputs=[v]),
    "grad of it": lambda m, v: m.autograd.grad((v * 2).sum(), v),
    "repr": lambda m, v: repr(v),
    "copy of a multi-grad handle": lambda m, v: len(
        copy.copy(m.autograd.graph.register_multi_grad_hook([v], print)).handles),
}


def seen(m, v):
    """What the view is afterwards, as far as looking is not an error."""
    found = []
    for look in (lambda: v.retains_grad, lambda: v.requires_grad, lambda: v.grad_fn, lambda: v.is_leaf,
                 lambda: (v * 2).sum().backward(), lambda: v.grad):
        try:
            found.append(look())
        except RuntimeError as error:
            found.append(str(error).split("\n\n")[0])
    return found


def looked(m, view, look):
    """A view, a first look at it (or its error), then all others."""
    v = VIEWS[view](m)
    try:
        first = LOOKS[look](m, v)
    except (RuntimeError, AssertionError) as error:
        first = type(error).__name__, str(error).split("\n\n")[0]
    return first, seen(m, v)


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("look", LOOKS)
def test_first_look(torch, view, look):
    alike(torch, lambda m: looked(m, view, look))
