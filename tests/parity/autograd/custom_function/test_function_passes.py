"""Custom Functions in backward passes, against PyTorch: hooks, second derivatives, passes inside of passes, memory."""

from __future__ import annotations

import copy
import gc
import pickle
import warnings
import weakref

import pytest

import minigrad
from tests.parity.autograd.custom_function.functions import agree, applied, double, function, last, leaf, module, seen

pytestmark = pytest.mark.torch


def hooked(m, hang, forward=double, backward=lambda ctx, g: g * 2, inputs=None):
    """Run backward through a Function on whose node `hang(node, found)` has hung hooks; what they found, and grads."""
    found = []
    inputs = [leaf(m, 2)] if inputs is None else inputs
    result = applied(m, forward, backward, inputs)
    outputs = result if isinstance(result, tuple) else (result,)
    hang(outputs[0].grad_fn, found)
    outputs[0].sum().backward()
    return found, [x.grad for x in inputs if m.is_tensor(x)]


def seeing(found, name, value=None):
    """A hook that notes what it is given, and returns `value`."""
    def hook(*grads):
        found.append((name, grads))
        return value
    return hook


def square(m):
    """The square, which can be differentiated as often as one wants."""
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x
    return function(m, forward, lambda ctx, g: g * 2 * ctx.saved_tensors[0]).apply


def exponential(m):
    """The exponential, which saves its result."""
    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(y)
        return y
    return function(m, forward, lambda ctx, g: g * ctx.saved_tensors[0]).apply


def product(m):
    """The product of two, with everything that is needed of it."""
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x * y

    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return g * y if ctx.needs_input_grad[0] else None, g * x if ctx.needs_input_grad[1] else None
    return function(m, forward, backward).apply


def derivatives(m, f, order=3, *inputs):
    """The derivatives of a sum, one after the other."""
    inputs = inputs or (leaf(m, 2, dtype="float64", value=0.7),)
    current, found = f(*inputs), []
    for _ in range(order):
        grads = m.autograd.grad(current.sum(), inputs, create_graph=True, allow_unused=True)
        found.append(grads)
        current = sum(g.sum() for g in grads if g is not None)
    return found


def inner(m, f):
    """A Function whose backward runs a pass of its own."""
    def forward(ctx, x):
        ctx.save_for_backward(x)
        with m.no_grad():
            return f(x)

    def backward(ctx, g):
        with m.enable_grad():
            x = ctx.saved_tensors[0].detach().requires_grad_()
            f(x).backward(g)
        return x.grad
    return function(m, forward, backward).apply


def packed(m, f, pack=lambda t: t, unpack=lambda t: t, inputs=None):
    """Run a Function forward and backward under saved-tensor hooks; what they saw."""
    found = []
    x = leaf(m, 2)
    with m.autograd.graph.saved_tensors_hooks(lambda t: last(found.append(("pack", t)), pack(t)),
                                              lambda t: last(found.append("unpack"), unpack(t))):
        y = f(m)(x)
    y.sum().backward()
    return found, x.grad


def nothing(m, x):
    """A Function whose derivative is None."""
    return function(m, backward=lambda ctx, g: None).apply(x)


def anomaly(m, backward):
    """Run a backward that fails in anomaly mode; what the node noted, and the error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with m.autograd.detect_anomaly():
            y = applied(m, backward=backward)
            noted = sorted(y.grad_fn.metadata)
            try:
                y.sum().backward()
            except (RuntimeError, ZeroDivisionError) as error:
                return noted, str(error)


PASSES = {
    # hooks
    "hooks of the node": lambda m: hooked(m, lambda n, f: (n.register_hook(seeing(f, "post")),
                                                          n.register_prehook(seeing(f, "pre")))),
    "hook, other arguments": lambda m: hooked(
        m, lambda n, f: n.register_hook(seeing(f, "post")), lambda ctx, n, x, k, y: x * 2,
        lambda ctx, g: (None, g, None, None), [3, leaf(m, 2), "k", m.ones(2)]),
    "hook, unwanted gradient": lambda m: hooked(
        m, lambda n, f: n.register_hook(seeing(f, "post")), lambda ctx, x, y: x * y, lambda ctx, g: (g, g * 2),
        [leaf(m, 2), m.ones(2)]),
    "hook, summed": lambda m: hooked(m, lambda n, f: n.register_hook(seeing(f, "post")),
                                     backward=lambda ctx, g: g.expand(3, 2)),
    "hook, cast": lambda m: hooked(m, lambda n, f: n.register_hook(seeing(f, "post")),
                                   backward=lambda ctx, g: g.double()),
    "hook, several outputs": lambda m: hooked(
        m, lambda n, f: (n.register_hook(seeing(f, "post")), n.register_prehook(seeing(f, "pre"))),
        lambda ctx, x: (x * 2, x * 3), lambda ctx, g, h: g + h),
    "hook replaces": lambda m: hooked(m, lambda n, f: n.register_hook(seeing(f, "post", (m.ones(2) * 9,)))),
    "prehook replaces": lambda m: hooked(m, lambda n, f: n.register_prehook(seeing(f, "pre", (m.ones(2) * 9,)))),
    "prehook replaces None": lambda m: hooked(
        m, lambda n, f: n.register_prehook(seeing(f, "pre", (m.ones(2) * 9, None))),
        lambda ctx, x: (x * 2, x * 3), lambda ctx, g, h: g + h),
    "hook removed": lambda m: hooked(m, lambda n, f: n.register_hook(seeing(f, "post")).remove()),
    "hooks hung in forward": lambda m: last(found := [], hooked(m, lambda n, f: None, lambda ctx, x: last(
        ctx.register_hook(seeing(found, "post")), ctx.register_prehook(seeing(found, "pre")), x * 2)), found),
    "hook hung in backward": lambda m: last(found := [], hooked(m, lambda n, f: None, backward=lambda ctx, g: last(
        ctx.register_hook(lambda inputs, outputs: found.append(inputs)), g)), found),
    "tensor hook on an output": lambda m: last(f := [], ys := applied(m, lambda ctx, x: (x * 2, x * 3),
                                               lambda ctx, g, h: g + h, [x := leaf(m, 2)]), ys[1].register_hook(
        seeing(f, "tensor", m.ones(2) * 5)), sum(ys).sum().backward(), (f, x.grad)),
    "retain_grad of an output": lambda m: last(ys := applied(m, lambda ctx, x: (x * 2, x * 3), lambda ctx, g, h: g + h,
                                               [x := leaf(m, 2)]), ys[1].retain_grad(), (ys[0] * ys[1]).sum(
        ).backward(), (ys[1].grad, x.grad)),
    "metadata": lambda m: last(found := [], hooked(m, lambda n, f: None, lambda ctx, x: last(
        ctx.metadata.update(a=1), x * 2), lambda ctx, g: last(found.append(dict(ctx.metadata)), g)), found),
    # derivatives of derivatives
    "square": lambda m: derivatives(m, square(m)),
    "exponential": lambda m: derivatives(m, exponential(m)),
    "product": lambda m: derivatives(m, product(m), 3, leaf(m, 2), leaf(m, 2, value=3)),
    "product by itself": lambda m: derivatives(m, lambda x: product(m)(x, x)),
    "product by data": lambda m: derivatives(m, lambda x: product(m)(x, m.ones(2, dtype=m.float64) * 3), 1),
    "composed": lambda m: derivatives(m, lambda x: square(m)(exponential(m)(x)) * x, 3),
    "an intermediate saved": lambda m: derivatives(m, function(
        m, lambda ctx, x: last(e := x.exp(), ctx.save_for_backward(e), e * 1), lambda ctx, g: g * ctx.saved_tensors[0]
    ).apply, 2),
    "an intermediate returned": lambda m: derivatives(m, lambda x: function(
        m, lambda ctx, x: last(e := x.exp(), ctx.save_for_backward(x, e), (e * x, e)),
        lambda ctx, g, h: g * ctx.saved_tensors[1] * (1 + ctx.saved_tensors[0]) + h * ctx.saved_tensors[1]
    ).apply(x)[0], 3),
    "an attribute": lambda m: derivatives(m, function(
        m, lambda ctx, x: last(setattr(ctx, "x", x), x * x), lambda ctx, g: g * 2 * ctx.x).apply, 2),
    "sum to a row": lambda m: derivatives(m, lambda x: function(
        m, lambda ctx, x, y: last(ctx.save_for_backward(x, y), x * y), lambda ctx, g: (
            g * ctx.saved_tensors[1], g * ctx.saved_tensors[0])).apply(x, m.ones(3, 2, dtype=m.float64) * x), 3),
    "create_graph, who requires grad": lambda m: seen(m, look=lambda ctx, g: (g.requires_grad, g.is_leaf),
                                                      create_graph=True),
    "saved in a recorded pass": lambda m: last(x := leaf(m, 2), y := square(m)(x), m.autograd.grad(
        y.sum(), x, create_graph=True), y.grad_fn.saved_tensors[0] is x),
    "once, twice": lambda m: last(x := leaf(m, 2), once := function(m, backward=module(m).once_differentiable(
        lambda ctx, g: g * 2)).apply, g := m.autograd.grad((once(x) * x).sum(), x, create_graph=True)[0],
        m.autograd.grad(g.sum(), x)),
    "once, the other way around": lambda m: last(x := leaf(m, 2), once := function(
        m, backward=module(m).once_differentiable(lambda ctx, g: g * 2)).apply, g := m.autograd.grad(
            (once(x) * x).sum(), x, create_graph=True)[0], g),
    "once, nobody asks": lambda m: last(x := leaf(m, 2), once := function(
        m, backward=module(m).once_differentiable(lambda ctx, g: g * 2)).apply, m.autograd.grad(
            once(x).sum(), x, create_graph=True)),
    "once, the graph": lambda m: last(x := leaf(m, 2), y := leaf(m, 2), o := applied(
        m, lambda ctx, x, k, y: x * y, module(m).once_differentiable(lambda ctx, g: (g, None, g)), [x, 2, y]), g :=
        m.autograd.grad(o.sum(), x, m.tensor(1.0, requires_grad=True), create_graph=True)[0], g.grad_fn),
    "which output a saved tensor was": lambda m: last(found := [], ys := applied(
        m, lambda ctx, x: (x[:1], x[1:]), lambda ctx, *g: m.cat(g), [x := leaf(m, 2)]), applied(
            m, lambda ctx, y: last(ctx.save_for_backward(y), y * 2), lambda ctx, g: last(found.append(
                ctx.saved_tensors[0].output_nr), g), [ys[1]]).sum().backward(), (found, x.grad)),
    # passes inside of passes
    "a pass in backward": lambda m: last(x := leaf(m, 2), inner(m, lambda t: t * t)(x).sum().backward(), x.grad),
    "a deep pass": lambda m: last(x := leaf(m, 2), f := lambda t: t * t, f := inner(m, f), g := inner(m, f),
                                  inner(m, g)(x).sum().backward(), x.grad),
    "the graph beyond": lambda m: last(x := leaf(m, 2), inner(m, lambda t: t * t)(x * 2).sum().backward(), x.grad),
    "grad in backward": lambda m: last(x := leaf(m, 2), applied(m, backward=lambda ctx, g: m.enable_grad()(
        lambda: m.autograd.grad(((w := leaf(m, 2)) * g).sum(), w)[0])(), inputs=[x]).sum().backward(), x.grad),
    "a mode left on": lambda m: last(found := [], x := leaf(m, 2), after := function(m, backward=lambda ctx, g: last(
        found.append(m.is_grad_enabled()), g)).apply, before := function(m, backward=lambda ctx, g: last(
            m.set_grad_enabled(True), g)).apply, before(after(x)).sum().backward(), (found, m.is_grad_enabled())),
    # in grad
    "grad of one input": lambda m: last(x := leaf(m, 2), y := leaf(m, 2), m.autograd.grad(product(m)(x, y).sum(), y)),
    "grad of an output": lambda m: last(y := square(m)(leaf(m, 2)), m.autograd.grad((y * y).sum(), y)),
    "grad of an edge": lambda m: last(ys := applied(m, lambda ctx, x: (x * 2, x * 3), lambda ctx, g, h: g), z := (
        ys[0] * ys[1]).sum(), m.autograd.grad(z, m.autograd.graph.get_gradient_edge(ys[1]))),
    "unused": lambda m: m.autograd.grad(square(m)(leaf(m, 2)).sum(), leaf(m, 2)),
    "retained": lambda m: last(y := square(m)(x := leaf(m, 2)), y.sum().backward(retain_graph=True), y.sum().backward(),
                               x.grad),
    "freed": lambda m: last(y := square(m)(leaf(m, 2)), y.sum().backward(), y.sum().backward()),
    "inputs": lambda m: last(x := leaf(m, 2), w := leaf(m, 2), y := product(m)(x, w), y.sum().backward(inputs=[w]),
                             (x.grad, w.grad)),
    "an error keeps .grad": lambda m: last(x := leaf(m, 2), y := applied(m, backward=lambda ctx, g: 1 // 0, inputs=[
        x * 1]), fails(lambda: (y + x).sum().backward()), x.grad),
    # what None does further on
    "None and the hooks of a node": lambda m: last(f := [], h := (x := leaf(m, 2)) * 2, h.register_hook(f.append),
                                                  h.grad_fn.register_hook(seeing(f, "post")), h.retain_grad(),
                                                  nothing(m, h).sum().backward(), (f, h.grad, x.grad)),
    "None and the hooks of a leaf": lambda m: last(f := [], x := leaf(m, 2), x.register_hook(f.append), (
        x.register_post_accumulate_grad_hook(lambda t: f.append("post"))), nothing(m, x).sum().backward(), (f, x.grad)),
    "None beside another": lambda m: last(x := leaf(m, 2), (nothing(m, x) + x * 3).sum().backward(), x.grad),
    # where else Functions are run
    "batched": lambda m: last(x := leaf(m, 2), m.autograd.grad(square(m)(x), x, m.eye(2), is_grads_batched=True)),
    "batched, two outputs": lambda m: last(x := leaf(m, 2), ys := applied(
        m, lambda ctx, x: (x * 1, x * 2), lambda ctx, g, h: g + h, [x]), m.autograd.grad(
            ys[0], x, m.eye(2), is_grads_batched=True)),
    "gradcheck": lambda m: (m.autograd.gradcheck(square(m), leaf(m, 2, dtype="float64")),
                            m.autograd.gradgradcheck(square(m), leaf(m, 2, dtype="float64"))),
    "gradcheck of a wrong one": lambda m: m.autograd.gradcheck(function(m, backward=lambda ctx, g: g * 5).apply,
                                                               leaf(m, 2, dtype="float64")),
    "functional.vjp": lambda m: m.autograd.functional.vjp(square(m), m.ones(2), m.ones(2)),
    "functional.hessian": lambda m: m.autograd.functional.hessian(lambda x: square(m)(x).sum(), m.ones(2)),
    "a hook on all outputs": lambda m: last(f := [], ys := applied(m, lambda ctx, x: (x * 1, x * 2), lambda ctx, g, h: g
                                            ), m.autograd.graph.register_multi_grad_hook(ys, f.append),
                                            (ys[0] * ys[1]).sum().backward(), f),
    "a node cannot be pickled": lambda m: pickle.dumps(applied(m).grad_fn),
    "a result cannot be copied": lambda m: copy.deepcopy(applied(m)),
    "anomaly: nan": lambda m: anomaly(m, lambda ctx, g: g * float("nan")),
    "anomaly: error": lambda m: anomaly(m, lambda ctx, g: 1 // 0),
    # saved-tensor hooks
    "packed input": lambda m: packed(m, square),
    "packed result": lambda m: packed(m, exponential),
    "packed, other values": lambda m: packed(m, square, unpack=lambda t: t * 10),
    "packed, both": lambda m: packed(m, lambda m: lambda x: product(m)(x, exponential(m)(x))),
    "0-d result saved, its data changed": lambda m: last(y := exponential(m)(x := leaf(m)), y.data.add_(5),
                                                         y.backward(), x.grad),
    "0-d result saved, changed": lambda m: last(y := exponential(m)(leaf(m)), y.add_(5), y.backward()),
    "raw": lambda m: last(x := leaf(m, 2), y := square(m)(x), y.grad_fn._raw_saved_tensors[0].register_hooks(
        lambda t: t * 3, lambda t: t), y.sum().backward(), x.grad),
    "raw, how many": lambda m: len(product(m)(leaf(m, 2), leaf(m, 2)).grad_fn._raw_saved_tensors),
}


def fails(call):
    """Run what must fail."""
    with pytest.raises(ZeroDivisionError):
        call()


@pytest.mark.parametrize("name", PASSES)
def test_pass(torch, name):
    agree(torch, PASSES[name])


class Witness:
    """Something whose end can be seen."""


def cases(m):
    """By name: forward, backward, what is done with the output before everything is dropped."""
    def saves(*which):
        def forward(ctx, x):
            y = x * 2
            ctx.save_for_backward(*[{"x": x, "y": y}[w] for w in which])
            return y
        return forward

    def dirty(ctx, x):
        x.mul_(2)
        ctx.mark_dirty(x)
        ctx.save_for_backward(x)
        return x

    def view(ctx, x):
        y = x.view(2, 1)
        ctx.save_for_backward(x, y)
        return y

    def back(ctx, x):
        ctx.save_for_backward(x)
        return x

    def holds_output(ctx, x):
        ctx.y = x * 2
        return ctx.y

    def marked(ctx, x):
        n = x * 3
        ctx.mark_non_differentiable(n)
        ctx.save_for_backward(n)
        return x * 2, n

    return {"input": saves("x"), "output": saves("y"), "both": saves("x", "y", "y"), "dirty": dirty, "view": view,
            "as it is": back, "held by ctx": holds_output, "marked": marked}


@pytest.mark.parametrize("after", ["nothing", "backward", "create_graph", "error"])
@pytest.mark.parametrize("name", cases(None))
def test_freed_without_the_collector(torch, name, after):
    """What PyTorch frees when the last name goes, minigrad frees too."""
    freed = []
    for m in (torch, minigrad):
        witness = Witness()
        freed.append(weakref.ref(witness))
        gc.disable()
        try:
            run_and_drop(m, cases(m)[name], after, witness)
            del witness
            freed[-1] = freed[-1]() is None
        finally:
            gc.enable()
    assert freed[1] >= freed[0], f"PyTorch {freed[0]}, minigrad {freed[1]}"


def run_and_drop(m, forward, after, witness):
    """Apply a Function whose ctx holds the witness, use it, and drop everything."""
    def marked(ctx, x):
        ctx.witness = witness
        return forward(ctx, x)

    def backward(ctx, g, *more):
        if after == "error":
            raise ZeroDivisionError
        return g.reshape(2) * 2

    x = leaf(m, 2)
    result = function(m, marked, backward).apply(x * 1)
    y = result[0] if isinstance(result, tuple) else result
    if after == "error":
        fails(lambda: y.sum().backward())
    elif after != "nothing":
        m.autograd.grad(y.sum(), x, create_graph=after == "create_graph")
