"""Custom Functions that return inputs or views, or write to their inputs, against PyTorch."""

from __future__ import annotations

import pytest

import minigrad
from tests.parity.autograd.custom_function.functions import agree, applied, function, last, leaf, module

pytestmark = pytest.mark.torch


def back(m, x, forward=lambda ctx, x: x, backward=lambda ctx, g: g * 5, **body):
    """A Function that returns its input as it is."""
    return applied(m, forward, backward, [x], **body)


def view(m, x, backward=lambda ctx, g: g.view(2) * 5, forward=lambda ctx, x: x.view(2, 1)):
    """A Function that returns a view of its input."""
    return applied(m, forward, backward, [x])


def written(m, x, *more, forward=None, backward=lambda ctx, g, *h: g * 2, factor=2):
    """A Function that multiplies its first input in place."""
    def in_place(ctx, x, *rest):
        x.mul_(factor)
        ctx.mark_dirty(x)
        return (x, *rest) if rest else x
    return applied(m, forward or in_place, backward, [x, *more])


def result(m, *shape):
    """A tensor that is not a leaf."""
    return leaf(m, *(shape or (2,))) * 1


def grad(m, x, y):
    """The gradient of a sum of squares."""
    return m.autograd.grad((y * y).sum(), x, allow_unused=True)


def inference(m, call=None):
    """What a call gives in inference mode; ones."""
    return m.inference_mode()(call or (lambda: m.ones(2)))()


def base(m, t):
    """What is to be known of a view."""
    return t, t._is_view(), t._base, t._version


def grads(m, x, y):
    """First and second derivatives of a weighted sum of squares."""
    first, = m.autograd.grad((y * y).sum(), x, create_graph=True)
    return first, m.autograd.grad((first * first).sum(), x)


VIEWS = {
    # an input comes back
    "input back": lambda m: last(x := leaf(m, 2), y := back(m, x), (base(m, y), y is x, y._base is x, x)),
    "input back, gradient": lambda m: last(x := leaf(m, 2), y := back(m, x), grad(m, x, y)),
    "input back, result": lambda m: last(x := result(m), y := back(m, x), (base(m, y)[:2], y._base is x, x.grad_fn)),
    "input back, data": lambda m: last(x := m.ones(2), y := back(m, x), (base(m, y), y is x)),
    "input back, view": lambda m: last(b := result(m, 2, 2), x := b[0], y := back(m, x), (y._base is b, y, x)),
    "input back, inside no_grad": lambda m: last(x := leaf(m, 2), y := m.no_grad()(back)(m, x),
                                                 (y is x, y._is_view(), y, x)),
    "input back, result inside no_grad": lambda m: last(x := result(m), y := m.no_grad()(back)(m, x),
                                                        (y is x, y._is_view(), y, x)),
    "input back, data inside no_grad": lambda m: last(x := m.ones(2), y := m.no_grad()(back)(m, x),
                                                      (y is x, y._is_view(), y, x)),
    "input back twice": lambda m: last(x := leaf(m, 2), ys := back(m, x, lambda ctx, x: (x, x), lambda ctx, g, h: g),
                                       (ys, ys[0] is ys[1], ys[0]._base is x)),
    "input back beside another": lambda m: last(x := leaf(m, 2), ys := back(
        m, x, lambda ctx, x: (x, x * 2), lambda ctx, g, h: g + h), (ys, grad(m, x, ys[0] * ys[1]))),
    "both inputs back": lambda m: last(x := leaf(m, 2), y := m.ones(2), zs := applied(
        m, lambda ctx, x, y: (x, y), lambda ctx, g, h: (g, h), [x, y]), (zs, zs[1] is y, zs[1]._is_view())),
    "integers back": lambda m: last(i := m.arange(2), zs := applied(m, lambda ctx, x, i: (x * 2, i), lambda ctx, g, h: (
        g, None), [leaf(m, 2), i]), (zs, zs[1] is i, zs[1]._is_view())),
    "input back, saved": lambda m: last(x := leaf(m, 2), y := back(m, x, lambda ctx, x: last(
        ctx.save_for_backward(x), x), lambda ctx, g: g * ctx.saved_tensors[0]), (y.grad_fn.saved_tensors[0] is x,
                                                                                grads(m, x, y))),
    "input back, setup": lambda m: function(m, lambda x: x, setup_context=lambda ctx, i, o: None).apply(leaf(m, 2)),
    "input back, setup saves another": lambda m: last(x := leaf(m, 2), y := function(
        m, lambda x, y: (x, x * y), lambda ctx, g, h: (g, g), setup_context=lambda ctx, i, o: ctx.save_for_backward(
            i[1])).apply(x, leaf(m, 2)), y[0].grad_fn.saved_tensors),
    "input back, in place": lambda m: last(x := result(m), back(m, x).mul_(2)),
    "input back, base in place": lambda m: last(x := result(m), y := back(m, x), x.mul_(2), y.grad_fn),
    "input back, data in place": lambda m: last(x := m.ones(2), y := back(m, x), y.mul_(2), (x, y)),
    "input back, data in place with grad": lambda m: last(x := m.ones(2), y := back(m, x), y.mul_(leaf(m, 2)), (x, y)),
    "input back, in place inside no_grad": lambda m: last(x := leaf(m, 2), y := back(m, x), m.no_grad()(
        lambda: y.mul_(2))(), (x, y)),
    "input back, retain_grad": lambda m: last(x := leaf(m, 2), y := back(m, x), y.retain_grad(), y.sum().backward(),
                                              (y.grad, x.grad)),
    "input back, hook": lambda m: last(x := leaf(m, 2), y := back(m, x), y.register_hook(lambda g: g * 3),
                                       y.sum().backward(), x.grad),
    "one of several back, in place": lambda m: last(ys := back(m, result(m), lambda ctx, x: (x, x * 2),
                                                               lambda ctx, g, h: g), ys[0].mul_(2)),
    # a view comes back
    "view": lambda m: last(x := leaf(m, 2), y := view(m, x), (base(m, y), y._base is x, grad(m, x, y))),
    "view of a result": lambda m: last(x := result(m), y := view(m, x), (base(m, y)[:2], y._base is x)),
    "view of data": lambda m: last(x := m.ones(2), y := view(m, x), (base(m, y), y._base is x)),
    "view of a view": lambda m: last(b := result(m, 2, 2), y := view(m, b[0]), (y._base is b, y)),
    "view of an intermediate": lambda m: last(y := view(m, leaf(m, 2), forward=lambda ctx, x: (x * 2).view(2, 1)),
                                              (y, base(m, y)[1])),
    "view in place": lambda m: last(x := result(m), view(m, x).mul_(2)),
    "view of data in place": lambda m: last(x := m.ones(2), y := view(m, x), y.mul_(2), (x, y)),
    "view of data in place with grad": lambda m: view(m, m.ones(2)).mul_(leaf(m, 2, 1)),
    "view of an intermediate in place": lambda m: view(m, leaf(m, 2), forward=lambda ctx, x: (x * 2).view(2, 1)
                                                       ).mul_(2),
    "view, base in place": lambda m: last(x := result(m), y := view(m, x), x.mul_(2), y.grad_fn),
    "view, other view in place": lambda m: last(x := result(m), y := view(m, x), x.view(2, 1).mul_(2), y.grad_fn),
    "view of a view in place": lambda m: last(x := result(m), y := view(m, x), y[0].mul_(2)),
    "two views in place": lambda m: last(x := result(m, 2, 2), ys := view(
        m, x, lambda ctx, g, h: None, lambda ctx, x: (x[0], x[1])), ys[1].mul_(2)),
    "two views, looked at": lambda m: view(m, leaf(m, 2, 2), lambda ctx, g, h: None, lambda ctx, x: (x[0], x[1])),
    "a view and integers in place": lambda m: view(m, result(m), lambda ctx, g, h: None, lambda ctx, x: (
        x.view(2, 1), m.arange(2)))[0].mul_(2),
    "view inside no_grad": lambda m: m.no_grad()(view)(m, leaf(m, 2)),
    "view inside no_grad, in place": lambda m: m.no_grad()(view)(m, result(m)).mul_(2),
    "view inside no_grad, data, in place": lambda m: m.no_grad()(view)(m, m.ones(2)).mul_(leaf(m, 2, 1)),
    "marked view in place": lambda m: applied(m, lambda ctx, x: last(
        y := x.view(2, 1), ctx.mark_non_differentiable(y), y), inputs=[result(m)]).mul_(2),
    "detached input back": lambda m: last(x := leaf(m, 2), y := back(m, x, lambda ctx, x: x.detach()),
                                          (y, y._is_view(), grad(m, x, y))),
    "detached input back, in place": lambda m: last(x := result(m), y := back(m, x, lambda ctx, x: x.detach()),
                                                    y.mul_(2), (y, x, y._is_view())),
    # an input is written to
    "written": lambda m: last(x := leaf(m, 2), y := x * 1, z := written(m, y), (z is y, z, z._version, grad(m, x, z))),
    "written, node": lambda m: last(y := result(m), z := written(m, y), (z.grad_fn, z.output_nr)),
    "written, data": lambda m: last(y := m.ones(2), z := written(m, y), (z is y, z, z._version)),
    "written, data with another": lambda m: last(y := m.ones(2), x := leaf(m, 2), z := written(
        m, y, x, forward=lambda ctx, y, x: last(y.mul_(x), ctx.mark_dirty(y), y), backward=lambda ctx, g: (g, g)),
        (z is y, z, z._version, z.grad_fn, grad(m, x, z))),
    "written, inside no_grad": lambda m: last(y := result(m), z := m.no_grad()(written)(m, y), (z is y, z, y._version,
                                                                                              y)),
    "written, data inside no_grad": lambda m: last(y := m.ones(2), z := m.no_grad()(written)(m, y),
                                                   (z is y, z, z._version)),
    "marked, not written": lambda m: last(y := result(m), z := written(m, y, forward=lambda ctx, x: last(
        ctx.mark_dirty(x), x)), (z is y, z, z._version)),
    "written, second input": lambda m: last(x := leaf(m, 2), y := x * 1, w := leaf(m, 2), z := written(
        m, w, y, forward=lambda ctx, w, y: last(y.mul_(w), ctx.mark_dirty(y), y), backward=lambda ctx, g: (g * 3, g)),
        (z is y, z.grad_fn, grad(m, (w, x), z))),
    "written, two of two": lambda m: last(a := result(m), b := result(m), zs := written(
        m, a, b, forward=lambda ctx, a, b: last(a.mul_(2), b.mul_(3), ctx.mark_dirty(a, b), (a, b)),
        backward=lambda ctx, g, h: (g, h)), (zs, zs[0] is a, zs[1] is b)),
    "written, other order": lambda m: last(a := result(m), b := result(m), zs := written(
        m, a, b, forward=lambda ctx, a, b: last(a.mul_(2), b.mul_(3), ctx.mark_dirty(a, b), (b, a)),
        backward=lambda ctx, g, h: (h, g)), (zs, zs[0] is b, zs[1] is a)),
    "written and more": lambda m: last(y := result(m), zs := written(m, y, forward=lambda ctx, x: last(
        x.mul_(2), ctx.mark_dirty(x), (x, x * 3)), backward=lambda ctx, g, h: g + h), (zs, zs[0] is y)),
    "written and back twice": lambda m: last(y := result(m), zs := written(m, y, forward=lambda ctx, x: last(
        x.mul_(2), ctx.mark_dirty(x), (x, x)), backward=lambda ctx, g, h: g + h), (zs, zs[0] is y)),
    "written, integers": lambda m: last(i := m.arange(2), zs := written(
        m, i, leaf(m, 2), forward=lambda ctx, i, x: last(i.add_(1), ctx.mark_dirty(i), (i, x * i)),
        backward=lambda ctx, g, h: (None, h)), (zs, zs[0] is i, i._version)),
    "written leaf": lambda m: written(m, leaf(m, 2)),
    "marked leaf": lambda m: written(m, leaf(m, 2), forward=lambda ctx, x: last(ctx.mark_dirty(x), x)),
    "marked leaf, version": lambda m: last(x := leaf(m, 2), fails(lambda: written(m, x, forward=lambda ctx, x: last(
        ctx.mark_dirty(x), x))), (x, x._version)),
    "marked leaf inside no_grad": lambda m: last(x := leaf(m, 2), y := m.no_grad()(written)(
        m, x, forward=lambda ctx, x: last(ctx.mark_dirty(x), x)), (x is y, x, y, x._version)),
    "written leaf view": lambda m: written(m, leaf(m, 2).view(2, 1)),
    "marked leaf view": lambda m: written(m, leaf(m, 2).view(2, 1), forward=lambda ctx, x: last(ctx.mark_dirty(x), x)),
    "written, saved before": lambda m: last(x := leaf(m, 2), y := x * 1, z := y * y, written(m, y), grad(m, x, z)),
    "written, saved": lambda m: last(x := leaf(m, 2), y := x * 2, z := written(m, y, forward=lambda ctx, x: last(
        x.mul_(2), ctx.mark_dirty(x), ctx.save_for_backward(x), x), backward=lambda ctx, g: g * ctx.saved_tensors[0]),
        (z.grad_fn.saved_tensors, grad(m, x, z))),
    "written, saved, written again": lambda m: last(x := leaf(m, 2), y := x * 2, z := written(
        m, y, forward=lambda ctx, x: last(x.mul_(2), ctx.mark_dirty(x), ctx.save_for_backward(x), x),
        backward=lambda ctx, g: g * ctx.saved_tensors[0]), z.mul_(2), grad(m, x, z)),
    "written, saved twice": lambda m: last(y := result(m), written(m, y, forward=lambda ctx, x: last(
        x.mul_(2), ctx.mark_dirty(x), z := x * 3, ctx.save_for_backward(x, z, x), (x, z)),
        backward=lambda ctx, g, h: g * ctx.saved_tensors[1]), y.grad_fn.saved_tensors),
    "written, retain_grad": lambda m: last(x := leaf(m, 2), y := x * 2, y.retain_grad(), written(m, y).sum().backward(),
                                           (y.grad, x.grad)),
    "written, hook": lambda m: last(x := leaf(m, 2), y := x * 2, y.register_hook(lambda g: g * 7),
                                    written(m, y).sum().backward(), x.grad),
    "written, hook after": lambda m: last(x := leaf(m, 2), y := x * 2, written(m, y), y.register_hook(lambda g: g * 7),
                                          y.sum().backward(), x.grad),
    "written, grad of data": lambda m: last(y := m.ones(2), setattr(y, "grad", m.ones(2)), written(
        m, y, leaf(m, 2), forward=lambda ctx, y, x: last(y.mul_(x), ctx.mark_dirty(y), y)), y.grad),
    "written, used after": lambda m: last(x := leaf(m, 2), y := x * 1, written(m, y), grads(m, x, y * y)),
    "written twice": lambda m: last(x := leaf(m, 2), y := x * 1, written(m, y), written(m, y, factor=3),
                                    (y._version, grad(m, x, y))),
    # an input that is a view is written to
    "written view": lambda m: last(x := leaf(m, 2, 2), b := x * 1, v := b[0], z := written(m, v), (
        z is v, v, b, v._base is b, b._version, grad(m, x, b))),
    "written view, nodes": lambda m: last(b := result(m, 2, 2), v := b[0], written(m, v), (
        b.grad_fn, v.grad_fn, v.output_nr)),
    "written view, second derivatives": lambda m: last(x := leaf(m, 2, 2), b := x * x, written(m, b[0]),
                                                       grads(m, x, b)),
    "written view of data": lambda m: last(b := m.ones(2, 2), x := leaf(m, 2), v := b[0], written(
        m, v, x, forward=lambda ctx, v, x: last(v.mul_(x), ctx.mark_dirty(v), v), backward=lambda ctx, g: (g, g * 4)),
        (b, v, b.grad_fn, grad(m, x, b))),
    "written view of data, nothing requires grad": lambda m: last(b := m.ones(2, 2), v := b[0], z := written(m, v),
                                                                  (z is v, b, v, b._version)),
    "written view, other view": lambda m: last(x := leaf(m, 2, 2), b := x * 1, w := b[:, 0], written(m, b[0]), (
        w, grad(m, x, w))),
    "written view and more": lambda m: last(b := result(m, 2, 2), written(m, b[0], forward=lambda ctx, x: last(
        x.mul_(2), ctx.mark_dirty(x), (x, x * 3)), backward=lambda ctx, g, h: g + h)),
    "written view and a number": lambda m: last(b := result(m, 2, 2), written(m, b[0], forward=lambda ctx, x: last(
        x.mul_(2), ctx.mark_dirty(x), (x, 3)), backward=lambda ctx, g, h: g)),
    "written view of many": lambda m: last(b := result(m, 2, 2), written(m, b.unbind()[0])),
    "marked view of many": lambda m: last(b := result(m, 2, 2), v := b.unbind()[0], written(
        m, v, forward=lambda ctx, x: last(ctx.mark_dirty(x), x))),
    "written view made in no_grad": lambda m: last(b := result(m, 2, 2), written(m, m.no_grad()(lambda: b[0])())),
    "written view, inside no_grad": lambda m: last(b := result(m, 2, 2), v := b[0], z := m.no_grad()(written)(m, v), (
        z is v, z, v, b, b._version)),
    "written view, a Function's own": lambda m: last(x := result(m), written(m, view(m, x))),
    "written view, freed": lambda m: last(x := leaf(m, 2, 2), b := x * 1, written(m, b[0], forward=lambda ctx, x: last(
        x.mul_(2), ctx.mark_dirty(x), ctx.save_for_backward(x), x), backward=lambda ctx, g: g * ctx.saved_tensors[0]),
        b.sum().backward(), (x.grad, b.sum().backward())),
    "transposed view written": lambda m: last(x := leaf(m, 2, 3), b := x * 1, written(m, b.t()[1]), grads(m, x, b)),
    "marked, a view and no input": lambda m: written(m, result(m), forward=lambda ctx, x: last(
        y := (x * 2).view(2, 1), ctx.mark_dirty(y), y)),
    "marked, a view and no input, and more": lambda m: written(m, result(m), forward=lambda ctx, x: last(
        y := (x * 2).view(2, 1), ctx.mark_dirty(y), (y, x * 3))),
    "marked, a view of the input": lambda m: written(m, result(m), forward=lambda ctx, x: last(
        y := x.view(2, 1), ctx.mark_dirty(y), y)),
    "marked view of many and more": lambda m: last(b := result(m, 2, 2), written(
        m, b.unbind()[0], forward=lambda ctx, x: last(ctx.mark_dirty(x), (x, x * 2)))),
    # inference mode
    "marked, of inference mode": lambda m: written(m, inference(m), forward=lambda ctx, x: last(ctx.mark_dirty(x), x)),
    "marked inside of inference mode": lambda m: last(x := inference(m), y := inference(m, lambda: written(m, x)), (
        x is y, y.is_inference(), y)),
    "result marked inside of inference mode": lambda m: last(x := result(m), y := inference(m, lambda: written(m, x)), (
        x is y, y.is_inference(), y, y._version)),
    "data marked inside of inference mode": lambda m: last(x := m.ones(2), y := inference(m, lambda: written(m, x)), (
        x is y, y.is_inference(), y, y._version)),
    "input back inside of inference mode": lambda m: last(x := leaf(m, 2), y := inference(m, lambda: back(m, x)), (
        x is y, y.is_inference(), y, y._is_view())),
    "data back inside of inference mode": lambda m: last(x := m.ones(2), y := inference(m, lambda: back(m, x)), (
        x is y, y.is_inference(), y, y._is_view())),
    "back from inference mode": lambda m: last(x := inference(m), y := back(m, x), (
        x is y, y.is_inference(), y, y._is_view())),
    "back from inference mode, with a leaf": lambda m: last(x := inference(m), y := applied(
        m, lambda ctx, x, w: x, lambda ctx, g: (g, g), [x, leaf(m, 2)]), (x is y, y.is_inference(), y, y._is_view())),
    "enable_grad inside of inference mode": lambda m: inference(m, lambda: m.enable_grad()(lambda: last(
        y := applied(m), (y, y.is_inference())))()),
    "normal mode inside of inference mode": lambda m: inference(m, lambda: last(
        y := m.inference_mode(False)(applied)(m), (y, y.is_inference()))),
    "made in inference mode by forward": lambda m: last(y := applied(m, lambda ctx, x: inference(m, lambda: x * 2)), (
        y, y.is_inference())),
    # once differentiable, and views
    "once, of a view": lambda m: last(x := leaf(m, 2), y := applied(m, backward=module(m).once_differentiable(
        lambda ctx, g: g.view(2)), inputs=[x]), m.autograd.grad(y.sum(), x, m.tensor(1.0, requires_grad=True),
                                                                create_graph=True)[0]._is_view()),
}


def fails(call):
    """Run what must fail."""
    with pytest.raises(RuntimeError):
        call()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", VIEWS)
def test_views(torch, name):
    agree(torch, VIEWS[name])


def one(ctx, a, b, view):
    """One output: a view of an input, or a copy."""
    return a[:2] if view else a.clone()


def two(ctx, a, b, view):
    """Two of them."""
    return (a[:2], a[:2] + b[:2]) if view else (a.clone(), a + b)


def temporary(ctx, a, b, view):
    """A view of what only forward knows."""
    return (a[:2] if view else a).clone()[0]


WRITES = {
    "output": lambda m, a, out: out.add_(1),
    "input": lambda m, a, out: a.add_(1),
    "part of the output": lambda m, a, out: out[:1].mul_(2),
    "input, then output": lambda m, a, out: (a.add_(1), out.mul_(2)),
    "output inside no_grad": lambda m, a, out: m.no_grad()(lambda: out.mul_(2))(),
    "nothing": lambda m, a, out: None,
}


def write(m, forward, view, needs, how):
    """Apply a Function, write to what it took or gave, run backward; all that is to be seen of it."""
    calls = []

    def backward(ctx, *grads):
        calls.append(len(grads))
        return m.ones(4, 2), m.ones(4, 2), None

    leaves = [m.ones(4, 2).requires_grad_(need) for need in needs]
    a, b = [x * 1 for x in leaves]
    out = function(m, forward, backward).apply(a, b, view)
    out = out[0] if isinstance(out, tuple) else out
    WRITES[how](m, a, out)
    seen = out, out._is_view(), a, out.grad_fn
    if out.requires_grad:
        out.sum().backward()
    return seen, calls, [x.grad for x in leaves]


@pytest.mark.parametrize("how", WRITES)
@pytest.mark.parametrize("needs", [(True, True), (True, False), (False, True), (False, False)])
@pytest.mark.parametrize("view", [True, False])
@pytest.mark.parametrize("forward", [one, two, temporary])
def test_writing_to_what_a_function_took_or_gave(torch, forward, view, needs, how):
    agree(torch, lambda m: write(m, forward, view, needs, how))


HANDED = {
    "of a sum": lambda x: x.sum(),
    "of sums of columns": lambda x: x.sum(0),
    "of a transposed sum": lambda x: x.t().sum(),
    "of a transposed product": lambda x: x.t() * 2,
    "of an expanded tensor": lambda x: x.expand(4, 2, 3) * 2,
    "of a mean": lambda x: x.mean(1),
    "of a square": lambda x: x * x,
    "of a part": lambda x: x[0] * 2,
    "of elements": lambda x: x.gather(0, x.new_zeros(1, 3).long()),
    "of sorted elements": lambda x: x.sort()[0] * 2,
    "of a batch of one": lambda x: x[None] @ x.new_ones(1, 3, 2),
}


IN_A_ROW = ("of elements", "of sorted elements")  # recorded, theirs are views here: docs/differences.md


@pytest.mark.parametrize(("case", "create_graph"), [(case, create_graph) for case in HANDED for create_graph in
                                                    (False, True) if not (create_graph and case in IN_A_ROW)])
def test_a_gradient_is_a_view_where_pytorchs_is(torch, case, create_graph):
    def seen(m):
        found = []

        def backward(ctx, g):
            base = g._base
            found.append((g._is_view(), None if base is None else tuple(base.shape), g.stride(), g.tolist()))
            return g

        x = leaf(m, 2, 3)
        y = HANDED[case](applied(m, lambda ctx, x: x * 1, backward, [x])).sum()
        return m.autograd.grad(y, x, create_graph=create_graph)[0].tolist(), found

    assert seen(minigrad) == seen(torch)
