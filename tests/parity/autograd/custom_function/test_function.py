"""Custom Functions against PyTorch: what they return, what their ctx knows, what backward is given."""

from __future__ import annotations

import weakref

import pytest

from tests.parity.autograd.custom_function.functions import (
    agree,
    applied,
    double,
    doubled,
    function,
    last,
    leaf,
    module,
    ran,
    seen,
)

pytestmark = pytest.mark.torch


def saving(*which):
    """A forward that saves its input, its result or None, as the words say, and doubles."""
    def forward(ctx, x, *rest):
        y = x * 2
        ctx.save_for_backward(*[{"x": x, "y": y, "none": None, "other": x + 1}[w] for w in which])
        return y
    return forward


def setup(ctx, inputs, output):
    """Save the inputs that are tensors."""
    ctx.save_for_backward(*[i for i in inputs if hasattr(i, "grad_fn")])


def inside(m, look, inputs=None):
    """What `look(ctx, *args)` gives inside forward."""
    found = []
    applied(m, lambda ctx, *a: last(found.append(look(ctx, *a)), a[0] * 2), inputs=inputs)
    return found


VALUES = {
    # classes
    "no staticmethod": lambda m: last(x := leaf(m, 2), plain(m, forward=double, backward=doubled).apply(x).sum(
        ).backward(), x.grad),
    "no staticmethod, setup": lambda m: last(x := leaf(m, 2), found := [], plain(
        m, forward=lambda x: x * 2, setup_context=lambda ctx, inputs, output: found.append((inputs, output)),
        backward=doubled).apply(x).sum().backward(), (x.grad, found)),
    "classmethods": lambda m: last(x := leaf(m, 2), plain(
        m, forward=classmethod(lambda cls, ctx, x: x * 2), backward=classmethod(lambda cls, ctx, g: g * 3)
    ).apply(x).sum().backward(), x.grad),
    "forward of a base class": lambda m: last(base := function(m), function(
        m, lambda ctx, x: base.forward(ctx, x) * 3, base=base).apply(leaf(m, 2))),
    "apply of an instance": lambda m: function(m)().apply(leaf(m, 2)),
    # arguments and results
    "one": lambda m: applied(m),
    "grad": lambda m: ran(m),
    "two inputs": lambda m: ran(m, lambda ctx, x, y: x * y, lambda ctx, g: (g * 2, g * 3), [leaf(m, 2), leaf(m, 2)]),
    "a number": lambda m: ran(m, lambda ctx, x, n: x * n, lambda ctx, g: (g, None), [leaf(m, 2), 3]),
    "None": lambda m: ran(m, lambda ctx, x, n, y: x * y, lambda ctx, g: (g, None, g), [leaf(m, 2), None, leaf(m, 2)]),
    "a list is no tensor": lambda m: applied(m, lambda ctx, xs: xs[0] * 2, inputs=[[leaf(m, 2)]]),
    "nothing requires grad": lambda m: applied(m, inputs=[m.ones(2)]),
    "no tensor at all": lambda m: applied(m, lambda ctx, n: n * 2, inputs=[3]),
    "trailing None": lambda m: ran(m, backward=lambda ctx, g: (g, None, None)),
    "only None": lambda m: m.autograd.grad(applied(m, backward=lambda ctx, g: None, inputs=[x := leaf(m, 2)]).sum(), x,
                                           allow_unused=True),
    "None for one": lambda m: ran(m, lambda ctx, x, y: x * y, lambda ctx, g: (g, None), [leaf(m, 2), leaf(m, 2)]),
    "a gradient that nobody wants": lambda m: ran(m, lambda ctx, x, y: x * y, lambda ctx, g: (g, g),
                                                  [leaf(m, 2), m.ones(2)]),
    "tuple of one": lambda m: applied(m, lambda ctx, x: (x * 2,)),
    "empty tuple": lambda m: applied(m, lambda ctx, x: ()),
    "a list": lambda m: applied(m, lambda ctx, x: [x * 2, x]),
    "a number returned": lambda m: applied(m, lambda ctx, x: 3),
    "None returned": lambda m: applied(m, lambda ctx, x: None),
    "a word returned": lambda m: applied(m, lambda ctx, x: "word"),
    "tensor and others": lambda m: applied(m, lambda ctx, x: (x * 2, 3, None, [x])),
    "gradients of others": lambda m: seen(m, lambda ctx, x: (x * 2, 3, None), look=lambda ctx, *g: g),
    "two outputs": lambda m: applied(m, lambda ctx, x: (x * 2, x * 3)),
    "the same output twice": lambda m: applied(m, lambda ctx, x: last(y := x * 2, (y, y))),
    "the same output twice, grads": lambda m: seen(m, lambda ctx, x: last(y := x * 2, (y, y)), look=lambda ctx, *g: g),
    "one output used": lambda m: seen(m, lambda ctx, x: (x * 2, (x * 3).detach()), look=lambda ctx, *g: g),
    "integers": lambda m: applied(m, lambda ctx, x: (x * 2, x.long(), x > 0)),
    "integers only": lambda m: applied(m, lambda ctx, x: x.long()),
    "gradients of integers": lambda m: seen(m, lambda ctx, x: (x * 2, x.long(), x > 0), look=lambda ctx, *g: g),
    "other dtypes": lambda m: applied(m, lambda ctx, x: (x.double(), x.half())),
    "double of float": lambda m: ran(m, lambda ctx, x: x.double(), lambda ctx, g: g),
    "double gradient": lambda m: ran(m, backward=lambda ctx, g: g.double()),
    "half gradient": lambda m: ran(m, backward=lambda ctx, g: g.half()),
    "a larger gradient": lambda m: ran(m, backward=lambda ctx, g: g.expand(3, 2)),
    "a gradient for ones": lambda m: ran(m, lambda ctx, x: x.sum(), lambda ctx, g: g.expand(2, 2), [leaf(m, 2, 1)]),
    "0-d for a row": lambda m: ran(m, lambda ctx, x: x.sum(), lambda ctx, g: g.expand(2, 1), [leaf(m, 1)]),
    "a view of g": lambda m: ran(m, lambda ctx, x: x.reshape(4), lambda ctx, g: g.view(2, 2), [leaf(m, 2, 2)]),
    "g itself": lambda m: ran(m, backward=lambda ctx, g: g),
    "g for both": lambda m: ran(m, lambda ctx, x, y: x + y, lambda ctx, g: (g, g), [leaf(m, 2), leaf(m, 2)]),
    "one tensor for both": lambda m: ran(m, lambda ctx, x, y: x + y, lambda ctx, g: last(h := g * 2, (h, h)),
                                         [x := leaf(m, 2), x * 3]),
    "a saved tensor": lambda m: ran(m, saving("x"), lambda ctx, g: ctx.saved_tensors[0]),
    "gradient that requires grad": lambda m: ran(m, backward=lambda ctx, g: g * leaf(m, 2)),
    "used twice": lambda m: last(f := function(m).apply, y := f(f(x := leaf(m, 2))), y.sum().backward(), x.grad),
    "beside itself": lambda m: last(f := function(m).apply, x := leaf(m, 2), (f(x) * f(x)).sum().backward(), x.grad),
    "the same input twice": lambda m: ran(m, lambda ctx, x, y: x * y, lambda ctx, g: (g, g * 2), [x := leaf(m, 2), x]),
    "of no input": lambda m: ran(m, lambda ctx, x: m.ones(3), lambda ctx, g: g.sum().expand(2)),
    # names and edges
    "edges": lambda m: applied(m, lambda ctx, x, n, y: x * y, inputs=[leaf(m, 2), 3, leaf(m, 2).exp()]).grad_fn,
    "edges to data": lambda m: applied(m, lambda ctx, x, y: x * y, inputs=[leaf(m, 2), m.ones(2)]).grad_fn,
    "edges to outputs": lambda m: applied(m, inputs=[leaf(m, 2, 2).unbind()[1]]).grad_fn,
    "repr of a node": lambda m: repr(applied(m).grad_fn),
    "str of a node": lambda m: str(applied(m).grad_fn),
    "repr of its class": lambda m: repr(type(applied(m).grad_fn)),
    "names": lambda m: (lambda c: (c.__name__, c.__qualname__, c.__module__))(type(applied(m).grad_fn)),
    "name of a node": lambda m: applied(m).grad_fn.name(),
    "repr of the tensor": lambda m: repr(applied(m)),
    "class of the node": lambda m: last(f := function(m), (type(f.apply(leaf(m, 1)).grad_fn) is f._backward_cls,
                                                           f._backward_cls._forward_cls is f)),
    "bases": lambda m: [c.__name__ for c in type(applied(m).grad_fn).__mro__[1:2]],
    "a Function of a Function": lambda m: function(m, base=function(m)).apply(leaf(m, 2)),
    "Function's own": lambda m: (m.autograd.Function._backward_cls.__name__,
                                 m.autograd.Function._backward_cls._forward_cls is m.autograd.Function),
    "is a ctx": lambda m: isinstance(applied(m).grad_fn, module(m).FunctionCtx),
    "Function is a ctx": lambda m: issubclass(m.autograd.Function, module(m).FunctionCtx),
    "is a Node": lambda m: isinstance(applied(m).grad_fn, m.autograd.graph.Node),
    "flags": lambda m: (m.autograd.Function.generate_vmap_rule, m.autograd.Function.boxed_grads_call,
                        m.autograd.Function.clear_saved_tensors_on_access),
    "vjp is backward": lambda m: m.autograd.Function.vjp is m.autograd.Function.backward,
    "requires_grad of a node": lambda m: applied(m).grad_fn.requires_grad,
    "metadata": lambda m: last(n := applied(m).grad_fn, n.metadata.update(a=1), n.metadata),
    # ctx
    "ctx is the node": lambda m: last(found := [], y := applied(m, lambda ctx, x: last(found.append(ctx), x * 2)),
                                      found[0] is y.grad_fn),
    "ctx in backward": lambda m: last(found := [], y := applied(m, backward=lambda ctx, g: last(found.append(ctx), g)),
                                      y.sum().backward(), found[0] is y.grad_fn),
    "edges in forward": lambda m: inside(m, lambda ctx, x: ctx.next_functions),
    "edges in no_grad": lambda m: m.no_grad()(inside)(m, lambda ctx, x: ctx.next_functions),
    "name in forward": lambda m: inside(m, lambda ctx, x: ctx.name()),
    "needs": lambda m: inside(m, lambda ctx, *a: ctx.needs_input_grad, [leaf(m, 1), 3, m.ones(1), None]),
    "needs in no_grad": lambda m: m.no_grad()(inside)(m, lambda ctx, x: ctx.needs_input_grad),
    "needs in backward": lambda m: seen(m, lambda ctx, *a: a[0] * 2, inputs=[leaf(m, 1), 3, m.ones(1)],
                                        look=lambda ctx, g: ctx.needs_input_grad),
    "needs, where only one is wanted": lambda m: last(
        found := [], y := applied(m, lambda ctx, x, y: x * y, lambda ctx, g: last(found.append(
            ctx.needs_input_grad), (g, g)), [x := leaf(m, 2), leaf(m, 2)]), m.autograd.grad(y.sum(), x), found),
    "saved in forward": lambda m: inside(m, lambda ctx, x: last(ctx.save_for_backward(x), ctx.saved_tensors)),
    "saved for forward": lambda m: inside(m, lambda ctx, x: last(ctx.save_for_forward(x, None), ctx.saved_tensors)),
    "saved for forward, after": lambda m: applied(m, lambda ctx, x: last(ctx.save_for_forward(x), x * 2)
                                                  ).grad_fn.saved_tensors,
    "to_save": lambda m: inside(m, lambda ctx, x: last(a := ctx.to_save, ctx.save_for_backward(x), (a, ctx.to_save))),
    "to_save after": lambda m: (lambda n: (n.to_save, n.dirty_tensors, n.non_differentiable, n.saved_for_forward))(
        applied(m, saving("x")).grad_fn),
    "attributes": lambda m: seen(m, lambda ctx, x: last(setattr(ctx, "k", 3), x * 2), look=lambda ctx, g: ctx.k),
    "dict": lambda m: applied(m, lambda ctx, x: last(setattr(ctx, "k", 3), x * 2)).grad_fn.__dict__,
    # saving
    "saved": lambda m: seen(m, saving("x", "y", "none", "other"), look=lambda ctx, g: ctx.saved_tensors),
    "saved outside": lambda m: applied(m, saving("x", "y", "none", "other")).grad_fn.saved_tensors,
    "nothing saved": lambda m: seen(m, look=lambda ctx, g: ctx.saved_tensors),
    "saved twice": lambda m: seen(m, lambda ctx, x: last(ctx.save_for_backward(x), ctx.save_for_backward(x * 3), x * 2),
                                  look=lambda ctx, g: ctx.saved_tensors),
    "saved and freed, empty": lambda m: last(y := applied(m), y.sum().backward(), y.sum().backward()),
    "saved leaf is itself": lambda m: seen(m, saving("x"), inputs=[x := leaf(m, 2)],
                                           look=lambda ctx, g: ctx.saved_tensors[0] is x),
    "saved_variables": lambda m: applied(m, saving("x")).grad_fn.saved_variables,
    "saved is a tuple": lambda m: type(applied(m, saving("x")).grad_fn.saved_tensors),
    "saved by setup": lambda m: seen_setup(m, lambda ctx, g: ctx.saved_tensors),
    "once": lambda m: ran(m, saving("x"), lambda ctx, g: g * ctx.saved_tensors[0],
                          clear_saved_tensors_on_access=True),
    "boxed": lambda m: ran(m, backward=lambda ctx, grads: last(grads.append(1), grads.pop(), grads.pop() * 2),
                           boxed_grads_call=True),
    "cleared by hand": lambda m: last(n := applied(m, saving("x")).grad_fn, n.maybe_clear_saved_tensors(),
                                      n.saved_tensors),
    "cleared by hand in backward": lambda m: cleared(m, False),
    "cleared by hand in backward that keeps": lambda m: cleared(m, True),
    "boxed, by hand": lambda m: applied(m, backward=lambda ctx, grads: grads, boxed_grads_call=True
                                        ).grad_fn.apply(1, 2),
    "boxed, freed": lambda m: last(found := [], ys := applied(
        m, lambda ctx, x: (x * 2, x * 3), lambda ctx, grads: last(r := weakref.ref(grads[1]), grads.pop(), found.append(
            r() is None), grads[0]), boxed_grads_call=True), (ys[0] * ys[1]).sum().backward(), found),
    # setup_context
    "setup": lambda m: ran(m, lambda x: x * 2, setup_context=setup),
    "setup sees": lambda m: last(found := [], applied(m, lambda x, n: (x * n, 7), inputs=[leaf(m, 2), 3],
                                 setup_context=lambda ctx, inputs, output: found.append((inputs, output))), found),
    "setup by keyword": lambda m: last(found := [], function(
        m, lambda x, n=2, k=5: x * n, setup_context=lambda ctx, inputs, output: found.append(inputs)).apply(
            leaf(m, 2), k=1), found),
    "setup of an intermediate": lambda m: applied(m, lambda x: (x * 2, x.exp()),
                                                  setup_context=lambda ctx, inputs, output: None),
    "keywords": lambda m: function(m, lambda ctx, x, n=2: x * n).apply(leaf(m, 2), n=3),
    "all keywords": lambda m: function(m, lambda ctx, x, n=2: x * n).apply(n=3, x=leaf(m, 2)),
    "keyword tensors": lambda m: last(x := leaf(m, 2), function(m, lambda ctx, y, z: y * z, lambda ctx, g: (g, g * 2)
                                                                ).apply(m.ones(2), z=x).sum().backward(), x.grad),
    "no keyword": lambda m: function(m, lambda ctx, x, n=2: x * n).apply(leaf(m, 2)),
    # zeros
    "zeros": lambda m: seen(m, lambda ctx, x: (x * 2, x.sum(), x.double()), look=lambda ctx, *g: g[1:]),
    "zeros for marked": lambda m: seen(m, lambda ctx, x: last(y := x * 3, ctx.mark_non_differentiable(y), (x * 2, y)),
                                       look=lambda ctx, *g: g),
    "no zeros": lambda m: last(found := [], ys := applied(m, lambda ctx, x: last(ctx.set_materialize_grads(False),
                               (x * 2, x * 3)), lambda ctx, *g: last(found.append(g), g[0])), ys[0].sum().backward(),
                               found),
    "no zeros for marked": lambda m: seen(m, lambda ctx, x: last(setattr(ctx, "_materialize_non_diff_grads", False),
                                          y := x * 3, ctx.mark_non_differentiable(y), (x * 2, y, x.long())),
                                          look=lambda ctx, *g: g),
    "zeros for one": lambda m: last(found := [], ys := applied(m, lambda ctx, x: (x * 2, x * 3), lambda ctx, *g: last(
        found.append(g), g[0])), ys[0].sum().backward(), found),
    "zeros for None": lambda m: after_none(m, True),
    "None for None": lambda m: after_none(m, False),
    # without differentiation
    "marked": lambda m: applied(m, lambda ctx, x: last(y := x * 3, ctx.mark_non_differentiable(y), (x * 2, y))),
    "marked alone": lambda m: applied(m, lambda ctx, x: last(y := x * 3, ctx.mark_non_differentiable(y), y)),
    "marked input": lambda m: applied(m, lambda ctx, x: last(ctx.mark_non_differentiable(x), x)),
    "marked input without grad": lambda m: applied(
        m, lambda ctx, x, y: last(ctx.mark_non_differentiable(y), (x * 2, y)), inputs=[leaf(m, 2), m.ones(2)]),
    "marked view": lambda m: applied(m, lambda ctx, x: last(y := x.view(2, 1), ctx.mark_non_differentiable(y), y)),
    "marked nothing": lambda m: applied(m, lambda ctx, x: last(ctx.mark_non_differentiable(x + 1), x * 2)),
    "marked with a graph": lambda m: applied(m, lambda ctx, x: last(
        y := m.enable_grad()(lambda: x * 3)(), ctx.mark_non_differentiable(y), (x * 2, y))),
    # modes
    "no_grad": lambda m: m.no_grad()(applied)(m),
    "no_grad, input back": lambda m: m.no_grad()(applied)(m, lambda ctx, x: x),
    "no_grad, view back": lambda m: m.no_grad()(applied)(m, lambda ctx, x: x.view(2, 1)),
    "no_grad, graph inside": lambda m: m.no_grad()(applied)(m, lambda ctx, x: m.enable_grad()(lambda: x * 2)()),
    "inference": lambda m: (lambda y: (y, y.is_inference()))(m.inference_mode()(applied)(m)),
    "modes in forward": lambda m: inside(m, lambda ctx, x: m.is_grad_enabled()),
    "modes in setup": lambda m: last(found := [], applied(m, lambda x: x * 2, setup_context=lambda *a: found.append(
        m.is_grad_enabled())), found),
    "modes in backward": lambda m: seen(m, look=lambda ctx, g: (m.is_grad_enabled(), g)),
    "modes in recorded backward": lambda m: seen(m, look=lambda ctx, g: (m.is_grad_enabled(), g), create_graph=True),
    "graph inside forward": lambda m: applied(m, lambda ctx, x: m.enable_grad()(lambda: x.exp())()),
    "leaf made inside": lambda m: applied(m, lambda ctx, x: m.ones(2, requires_grad=True)),
    "the mode comes back": lambda m: last(raised(lambda: applied(m, lambda ctx, x: 1 // 0)), m.is_grad_enabled()),
    # by hand
    "apply of a node": lambda m: applied(m).grad_fn.apply(m.ones(2)),
    "apply of a node, anything": lambda m: applied(m, backward=lambda ctx, *g: g).grad_fn.apply(1, "a", None),
    "vjp": lambda m: ran(m, backward=None, vjp=lambda ctx, g: g * 5),
}


def plain(m, **body):
    """A Function class with these as they are."""
    return type("Mine", (m.autograd.Function,), body)


def seen_setup(m, look):
    """What backward sees of a Function with `setup_context`."""
    found = []
    y = applied(m, lambda x: x * 2, lambda ctx, g: last(found.append(look(ctx, g)), g), setup_context=setup)
    y.sum().backward()
    return found


def cleared(m, retain_graph):
    """What is left of saved tensors where backward lets go of them."""
    found = []

    def backward(ctx, g):
        ctx.maybe_clear_saved_tensors()
        try:
            found.append(len(ctx.saved_tensors))
        except RuntimeError as error:
            found.append(str(error))
        return g

    applied(m, saving("x"), backward).sum().backward(retain_graph=retain_graph)
    return found


def after_none(m, on):
    """What arrives from a Function that gave None."""
    found = []
    inner = applied(m, lambda ctx, x: last(ctx.set_materialize_grads(on), x * 2),
                    lambda ctx, g: last(found.append(g), None), [x := leaf(m, 2)])
    y = function(m, backward=lambda ctx, g: None).apply(inner)
    return m.autograd.grad(y.sum(), x, allow_unused=True), found


def raised(call):
    """Run what must fail."""
    with pytest.raises(ZeroDivisionError):
        call()


@pytest.mark.parametrize("name", VALUES)
def test_value(torch, name):
    agree(torch, VALUES[name])
