"""What bad custom Functions get, in both libraries: the errors and warnings, type and text."""

from __future__ import annotations

import pytest

from tests.parity.autograd.custom_function.functions import agree, applied, function, last, leaf, module, ran, seen

pytestmark = pytest.mark.torch


def result(m, *shape):
    """A tensor that is not a leaf."""
    return leaf(m, *(shape or (2,))) * 1


def backed(m, backward, inputs=None, forward=None, **body):
    """Apply a Function with this backward, and run it."""
    inputs = [leaf(m, 2)] if inputs is None else inputs
    return ran(m, forward or (lambda ctx, *args: args[0] * 2), backward, inputs, **body)


def dirty(m, x, *more, forward=None, **body):
    """Apply a Function that doubles its input in place."""
    def in_place(ctx, x, *rest):
        x.mul_(2)
        ctx.mark_dirty(x)
        return x
    return applied(m, forward or in_place, inputs=[x, *more], **body)


def keeping(ctx, x):
    """A forward that saves its input."""
    ctx.save_for_backward(x)
    return x * 2


def twice(m, **options):
    """Run backward twice through a Function that saves its input, and reads it."""
    y = applied(m, keeping, lambda ctx, g: g * ctx.saved_tensors[0])
    y.sum().backward(**options)
    y.sum().backward()


def changed(m, forward, change, backward=lambda ctx, g: g * ctx.saved_tensors[0]):
    """Change something between forward and backward."""
    x = result(m)
    y = applied(m, forward, backward, inputs=[x])
    change(x, y)
    y.sum().backward()


def once(m, backward, inputs=None, forward=None, second=True):
    """A second derivative through a Function whose backward is marked as once differentiable."""
    inputs = [leaf(m, 2)] if inputs is None else inputs
    y = applied(m, forward or keeping, module(m).once_differentiable(backward), inputs)
    found = m.autograd.grad((y[0] if isinstance(y, tuple) else y).sum(), inputs, m.tensor(1.0, requires_grad=True),
                            create_graph=True, allow_unused=True)
    return m.autograd.grad(found[0].sum(), inputs[0]) if second else found


class Keyed:
    """Not a tensor."""


ERRORS = {
    # the class
    "no forward": lambda m: m.autograd.Function.apply(leaf(m, 2)),
    "no forward in a class": lambda m: applied(m, None),
    "no backward": lambda m: ran(m, backward=None),
    "no setup_context": lambda m: m.autograd.Function.setup_context(None, (), None),
    "no jvp": lambda m: m.autograd.Function.jvp(None),
    "no vmap": lambda m: m.autograd.Function.vmap(None, (), None),
    "backward itself": lambda m: m.autograd.Function.backward(None, leaf(m, 2)),
    "both backward and vjp": lambda m: ran(m, vjp=lambda ctx, g: g),
    "both, by hand": lambda m: applied(m, vjp=lambda ctx, g: g).grad_fn.apply(m.ones(2)),
    "an instance": lambda m: function(m)()(leaf(m, 2)),
    "an instance of Function": lambda m: m.autograd.Function()(leaf(m, 2)),
    "a node called": lambda m: applied(m).grad_fn(m.ones(2)),
    "a node called with nothing": lambda m: applied(m).grad_fn(),
    "a node by hand, wrong number": lambda m: applied(m).grad_fn.apply(m.ones(2), m.ones(2)),
    "flag: clear": lambda m: applied(m, clear_saved_tensors_on_access=1),
    "flag: boxed": lambda m: applied(m, boxed_grads_call=1),
    # arguments
    "too many arguments": lambda m: applied(m, inputs=[leaf(m, 2), 1]),
    "too few arguments": lambda m: applied(m, inputs=[]),
    "unknown keyword": lambda m: function(m).apply(leaf(m, 2), k=1),
    "keyword twice": lambda m: function(m).apply(leaf(m, 2), x=1),
    "keyword leaves a gap": lambda m: function(m, lambda ctx, x, a=1, b=2: x * 2).apply(leaf(m, 2), b=1),
    "ctx by keyword": lambda m: function(m).apply(leaf(m, 2), ctx=1),
    "keyword only": lambda m: function(m, lambda ctx, x, *, k=1: x * 2).apply(leaf(m, 2), k=1),
    "any keyword": lambda m: function(m, lambda ctx, x, **k: x * 2).apply(leaf(m, 2), k=1),
    "any arguments": lambda m: function(m, lambda ctx, *x: x[0] * 2).apply(leaf(m, 2), k=1),
    "keyword, no function": lambda m: function(m, Keyed()).apply(leaf(m, 2), k=1),
    "setup, unknown keyword": lambda m: function(m, lambda x: x, setup_context=print).apply(leaf(m, 2), k=1),
    "setup, too few": lambda m: function(m, lambda x, y: x, setup_context=print).apply(leaf(m, 2)),
    "setup, too many": lambda m: function(m, lambda x: x, setup_context=print).apply(leaf(m, 2), 1),
    "setup, keyword twice": lambda m: function(m, lambda x: x, setup_context=print).apply(leaf(m, 2), x=1),
    "setup, keyword only": lambda m: function(m, lambda x, *, k=1: x, setup_context=print).apply(leaf(m, 2), k=1),
    "setup takes no output": lambda m: function(m, lambda x: x * 2, setup_context=lambda ctx, i: 1).apply(leaf(m, 2)),
    "forward raises": lambda m: applied(m, lambda ctx, x: 1 // 0),
    "setup raises": lambda m: function(m, lambda x: x * 2, setup_context=lambda *a: 1 // 0).apply(leaf(m, 2)),
    # what backward returns
    "too many gradients": lambda m: backed(m, lambda ctx, g: (g, g)),
    "too many, None first": lambda m: backed(m, lambda ctx, g: (None, g)),
    "too few gradients": lambda m: backed(m, lambda ctx, g: g, [leaf(m, 2), leaf(m, 2)]),
    "too few, with a number": lambda m: backed(m, lambda ctx, g: g, [leaf(m, 2), 3]),
    "none at all": lambda m: backed(m, lambda ctx, g: ()),
    "gradient for a number": lambda m: backed(m, lambda ctx, g: (g, g), [leaf(m, 2), 3]),
    "a number for a number": lambda m: backed(m, lambda ctx, g: (g, 1), [leaf(m, 2), 3]),
    "gradient is a number": lambda m: backed(m, lambda ctx, g: 3),
    "gradient is a list": lambda m: backed(m, lambda ctx, g: [g]),
    "gradients are a list": lambda m: backed(m, lambda ctx, g: [g, g], [leaf(m, 2), leaf(m, 2)]),
    "gradient is a word": lambda m: backed(m, lambda ctx, g: "word"),
    "gradient is an array": lambda m: backed(m, lambda ctx, g: g.numpy()),
    "gradient is an object": lambda m: backed(m, lambda ctx, g: Keyed()),
    "gradient of another shape": lambda m: backed(m, lambda ctx, g: m.ones(3)),
    "gradient of fewer dims": lambda m: backed(m, lambda ctx, g: g.sum(), [leaf(m, 2)]),
    "gradient of larger dims": lambda m: backed(m, lambda ctx, g: g.expand(5, 3), [leaf(m, 1, 2, 2)],
                                                lambda ctx, x: x.sum() * m.ones(3)),
    "second of another shape": lambda m: backed(m, lambda ctx, g, *h: (None, m.ones(2), m.ones(3)),
                                                [3, leaf(m, 2), leaf(m, 2)], lambda ctx, n, x, y: x * y),
    "unwanted, of another shape": lambda m: backed(m, lambda ctx, g: (g, m.ones(5)), [leaf(m, 2), m.ones(2)]),
    "unwanted, no tensor": lambda m: backed(m, lambda ctx, g: (g, 5), [leaf(m, 2), m.ones(2)]),
    "integer gradient": lambda m: backed(m, lambda ctx, g: g.long()),
    "bool gradient": lambda m: backed(m, lambda ctx, g: g > 0),
    "backward raises": lambda m: backed(m, lambda ctx, g: 1 // 0),
    "backward takes too few": lambda m: backed(m, lambda ctx: 1),
    "backward takes too many": lambda m: backed(m, lambda ctx, g, h: 1),
    "boxed and too few": lambda m: backed(m, lambda ctx, gs: gs, boxed_grads_call=True),
    "vjp is bad": lambda m: backed(m, None, vjp=lambda ctx, g: (g, g)),
    # saving
    "save a number": lambda m: applied(m, lambda ctx, x: last(ctx.save_for_backward(x, 3), x * 2)),
    "save a list": lambda m: applied(m, lambda ctx, x: last(ctx.save_for_backward([x]), x * 2)),
    "save a number, no grad": lambda m: applied(m, lambda ctx, x: last(ctx.save_for_backward(3), x * 2),
                                                inputs=[m.ones(2)]),
    "to_save is no tuple": lambda m: applied(m, lambda ctx, x: last(setattr(ctx, "to_save", [x]), x * 2)),
    "save_for_forward a number": lambda m: applied(m, lambda ctx, x: last(ctx.save_for_forward(x, 3), x * 2)),
    "saved and freed": lambda m: twice(m),
    "saved and freed, outside": lambda m: last(y := applied(m, keeping), y.sum().backward(), y.grad_fn.saved_tensors),
    "freed, not asked": lambda m: last(y := applied(m, keeping), y.sum().backward(), y.sum().backward()),
    "freed, nothing saved": lambda m: last(y := applied(m), y.sum().backward(), y.grad_fn.saved_tensors),
    "freed, raw": lambda m: last(y := applied(m, keeping), y.sum().backward(), y.grad_fn._raw_saved_tensors),
    "kept": lambda m: twice(m, retain_graph=True),
    "read twice where cleared": lambda m: backed(m, lambda ctx, g: ctx.saved_tensors[0] * ctx.saved_tensors[0],
                                                 forward=keeping, clear_saved_tensors_on_access=True),
    "saved input changed": lambda m: changed(m, keeping, lambda x, y: x.add_(1)),
    "saved result changed": lambda m: changed(m, lambda ctx, x: last(y := x * 2, ctx.save_for_backward(y), y),
                                              lambda x, y: y.add_(1)),
    "saved second result changed": lambda m: last(
        ys := applied(m, lambda ctx, x: last(y := x * 2, ctx.save_for_backward(y), (x * 3, y)),
                      lambda ctx, g, h: g * ctx.saved_tensors[0]), ys[1].add_(1), ys[0].sum().backward()),
    "saved intermediate changed": lambda m: last(kept := [], changed(
        m, lambda ctx, x: last(e := x * 3, kept.append(e), ctx.save_for_backward(e), x * 2),
        lambda x, y: kept[0].add_(1))),
    "saved view changed by its base": lambda m: changed(
        m, lambda ctx, x: last(ctx.save_for_backward(x[:1]), x * 2), lambda x, y: x.add_(1)),
    "inference tensor saved": lambda m: last(x := m.inference_mode()(lambda: m.ones(2))(), applied(
        m, lambda ctx, x, y: last(ctx.save_for_backward(y), x * 2), inputs=[leaf(m, 2), x])),
    # marks
    "materialize with a number": lambda m: applied(m, lambda ctx, x: last(ctx.set_materialize_grads(1), x * 2)),
    "mark a number": lambda m: applied(m, lambda ctx, x: last(ctx.mark_non_differentiable(3), x * 2)),
    "mark None": lambda m: applied(m, lambda ctx, x: last(ctx.mark_non_differentiable(None), x * 2)),
    "non_differentiable is no tuple": lambda m: applied(
        m, lambda ctx, x: last(setattr(ctx, "non_differentiable", [x]), x * 2)),
    "mark_shared_storage": lambda m: applied(m, lambda ctx, x: last(ctx.mark_shared_storage(), x * 2)),
    "saved_variables": lambda m: seen(m, keeping, look=lambda ctx, g: ctx.saved_variables),
    "setup and the input back": lambda m: function(
        m, lambda x: x, setup_context=lambda ctx, i, o: ctx.save_for_backward(o)).apply(leaf(m, 2)),
    "setup and the input back, no grad": lambda m: function(
        m, lambda x: x, setup_context=lambda ctx, i, o: ctx.save_for_backward(o)).apply(m.ones(2)),
    "setup and the input back, for forward": lambda m: function(
        m, lambda x: x, setup_context=lambda ctx, i, o: ctx.save_for_forward(o)).apply(leaf(m, 2)),
    # in place
    "dirty leaf": lambda m: dirty(m, leaf(m, 2), forward=lambda ctx, x: last(ctx.mark_dirty(x), x)),
    "dirty not returned": lambda m: dirty(m, result(m), forward=lambda ctx, x: last(ctx.mark_dirty(x), x * 2)),
    "dirty not returned, no grad": lambda m: dirty(m, m.ones(2),
                                                   forward=lambda ctx, x: last(ctx.mark_dirty(x), x * 2)),
    "dirty leaf not returned": lambda m: dirty(m, leaf(m, 2), forward=lambda ctx, x: last(ctx.mark_dirty(x), x * 2)),
    "dirty number": lambda m: dirty(m, result(m), forward=lambda ctx, x: last(ctx.mark_dirty(x, 3), x)),
    "dirty is no tuple": lambda m: dirty(m, result(m), forward=lambda ctx, x: last(
        setattr(ctx, "dirty_tensors", [x]), x)),
    "dirty, no input": lambda m: dirty(m, result(m), forward=lambda ctx, x: last(y := x * 2, ctx.mark_dirty(y), y)),
    "dirty, no input, no grad": lambda m: dirty(m, m.ones(2), forward=lambda ctx, x: last(
        y := x * 2, ctx.mark_dirty(y), y)),
    # once differentiable
    "once": lambda m: once(m, lambda ctx, g: g * 2 * ctx.saved_tensors[0]),
    "once, looked at": lambda m: once(m, lambda ctx, g: g * 2, second=False),
    "once, its node": lambda m: once(m, lambda ctx, g: g * 2, second=False)[0].grad_fn,
    "once, None": lambda m: once(m, lambda ctx, g: (g, None), [leaf(m, 2), leaf(m, 2)], lambda ctx, x, y: x * y,
                                 second=False),
    "once, several": lambda m: once(m, lambda ctx, g: (g, g), [leaf(m, 2), leaf(m, 2)], lambda ctx, x, y: x * y,
                                    second=False),
    "once, a number": lambda m: once(m, lambda ctx, g: 3),
    "once, first order": lambda m: ran(m, keeping, module(m).once_differentiable(lambda ctx, g: g * 3)),
    "once, name": lambda m: module(m).once_differentiable(keeping).__name__,
    # legacy classes
    "InplaceFunction": lambda m: module(m).InplaceFunction().inplace,
    "InplaceFunction with": lambda m: module(m).InplaceFunction(inplace=True).inplace,
    "InplaceFunction applied": lambda m: function(m, base=module(m).InplaceFunction).apply(leaf(m, 2)),
}


@pytest.mark.parametrize("name", ERRORS)
def test_error(torch, name):
    agree(torch, ERRORS[name])
