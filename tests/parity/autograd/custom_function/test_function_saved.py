"""What a custom Function saves and how it comes back, against PyTorch."""

from __future__ import annotations

import pytest

from tests.parity.autograd.custom_function.functions import agree, applied, double, doubled, last, leaf

pytestmark = pytest.mark.torch

KINDS = {
    "input": lambda x, y: x,
    "result": lambda x, y: y,
    "view of the input": lambda x, y: x[:1],
    "view of the result": lambda x, y: y[:1],
    "detached result": lambda x, y: y.detach(),
    "integers": lambda x, y: x.long(),
    "copy of the input": lambda x, y: x.clone(),
}


def by(ctx, g):
    """A backward that reads what was saved."""
    return g * ctx.saved_tensors[0]


def result(m):
    """A tensor that is not a leaf."""
    return leaf(m, 2) * 1


def flags(t):
    """What autograd knows of a tensor."""
    return t.tolist(), t.requires_grad, t.is_leaf, t._version, t.output_nr


def saved(m, forward, x=None, look=lambda t: (flags(t), t._is_view())):
    """What is to be seen of the saved tensors of a Function."""
    y = applied(m, forward, inputs=[leaf(m, 2) if x is None else x])
    return [look(t) for t in (y[0] if isinstance(y, tuple) else y).grad_fn.saved_tensors]


def saving(make):
    """A forward that doubles, and saves what `make` takes or makes of its input and its result."""
    def forward(ctx, x):
        y = x * 2
        ctx.save_for_backward(make(x, y))
        return y
    return forward


def both(mark=False, make=lambda x: x * 3):
    """A forward with a second result, that is saved."""
    def forward(ctx, x):
        extra = make(x)
        if mark:
            ctx.mark_non_differentiable(extra)
        ctx.save_for_backward(extra, x)
        return x * 2, extra
    return forward


def viewing(ctx, x):
    """A forward that saves and returns a view."""
    v = x.view(2, 1)
    ctx.save_for_backward(v)
    return v


def changed(m, forward, change, x=None):
    """Do something between forward and backward."""
    x = result(m) if x is None else x
    y = applied(m, forward, lambda ctx, g, *h: by(ctx, g), [x])
    first = y[0] if isinstance(y, tuple) else y
    total = first.sum()
    change(x, y)
    return total.backward()


SAVED = {
    **{f"{kind} of a leaf": lambda m, make=make: saved(m, saving(make)) for kind, make in KINDS.items()},
    **{f"{kind} of a result": lambda m, make=make: saved(m, saving(make), result(m)) for kind, make in KINDS.items()},
    "a view": lambda m: saved(m, saving(KINDS["input"]), (leaf(m, 2, 2) * 1)[0]),
    "a second result": lambda m: saved(m, both()),
    "integers returned": lambda m: saved(m, both(make=lambda x: x.long())),
    "marked": lambda m: saved(m, both(mark=True)),
    "marked is itself": lambda m: last(ys := applied(m, both(mark=True)), ys[0].grad_fn.saved_tensors[0] is ys[1]),
    "a view returned": lambda m: saved(m, viewing, look=flags),
    "a view of a result returned": lambda m: saved(m, viewing, result(m), look=flags),
    "an input returned": lambda m: saved(m, lambda ctx, x: last(ctx.save_for_backward(x), x), result(m)),
    "by setup_context": lambda m: [flags(t) for t in applied(
        m, lambda x: x * 2, setup_context=lambda ctx, i, o: ctx.save_for_backward(i[0], o)).grad_fn.saved_tensors],
    "a result is made anew": lambda m: last(y := applied(m, saving(KINDS["result"])), n := y.grad_fn, (
        n.saved_tensors[0] is n.saved_tensors[0], n.saved_tensors[0] is y, n.saved_tensors[0].grad_fn is n,
        n.saved_tensors[0].data_ptr() == y.data_ptr())),
    "an input is itself": lambda m: last(x := result(m), applied(m, saving(KINDS["input"]), inputs=[x]
                                                                 ).grad_fn.saved_tensors[0] is x),
    "in a hook of the node": lambda m: last(
        found := [], y := applied(m, saving(KINDS["input"])), n := y.grad_fn, n.register_hook(
            lambda *a: found.append(len(n.saved_tensors))), y.sum().backward(), found),
    "an input detached": lambda m: changed(m, saving(KINDS["input"]), lambda x, y: x.detach_()),
    "a result detached": lambda m: changed(m, saving(KINDS["result"]), lambda x, y: y.detach_()),
    "a result changed inside no_grad": lambda m: changed(m, saving(KINDS["result"]), lambda x, y: m.no_grad()(
        lambda: y.add_(1))()),
    "a marked result changed": lambda m: changed(m, both(mark=True), lambda x, y: y[1].add_(1)),
    "a copy, the input changed": lambda m: changed(m, saving(KINDS["copy of the input"]), lambda x, y: x.add_(1)),
    "its data changed": lambda m: last(x := leaf(m, 2), changed(m, saving(KINDS["input"]), lambda x, y: x.data.add_(1),
                                                                x), x.grad),
    "data that begins to require grad": lambda m: last(x := m.ones(2), w := leaf(m, 2), y := applied(
        m, lambda ctx, x, w: last(ctx.save_for_backward(x), x * w), lambda ctx, g: (None, by(ctx, g)), [x, w]),
        x.requires_grad_(), m.autograd.grad(y.sum(), w, create_graph=True)),
    "two changed: the first is named": lambda m: last(
        c := result(m), v := c[1:], y := applied(m, lambda ctx, a, b: last(
            ctx.save_for_backward(a, b), a * b), lambda ctx, g: ctx.saved_tensors, [v, c]), v.mul_(2),
        y.sum().backward()),
    "two changed, recorded": lambda m: last(
        c := result(m), v := c[1:], y := applied(m, lambda ctx, a, b: last(
            ctx.save_for_backward(a, b), a * b), lambda ctx, g: ctx.saved_tensors, [v, c]), v.mul_(2),
        m.autograd.grad(y.sum(), c, create_graph=True)),
    "nothing": lambda m: saved(m, double),
    "None": lambda m: applied(m, lambda ctx, x: last(ctx.save_for_backward(None, x), x * 2), doubled
                              ).grad_fn.saved_tensors,
}


@pytest.mark.parametrize("name", SAVED)
def test_saved(torch, name):
    agree(torch, SAVED[name])
