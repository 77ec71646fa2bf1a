"""Batches of passes against PyTorch's: `is_grads_batched`, `vectorize=True`, and what must not happen in them."""

from __future__ import annotations

import functools

import pytest

import minigrad
from tests.parity.alike import ending

pytestmark = pytest.mark.torch


def leaf(m, *numbers, **options):
    return m.tensor([1.0, 2.0, 3.0] if not numbers else numbers, **options).requires_grad_()


def function(m, backward, forward=lambda x: x * 2):
    """A custom Function with this backward, whose rule for `vmap` nobody needs: a batch of passes is no transform."""
    def forward_of(ctx, x):
        ctx.save_for_backward(x)
        return forward(x)

    return type("Custom", (m.autograd.Function,), {
        "forward": staticmethod(forward_of), "backward": staticmethod(lambda ctx, g: backward(g, *ctx.saved_tensors))})


def hooked(m, hook):
    y = (x := leaf(m)) ** 3
    y.register_hook(hook)
    return m.autograd.grad(y, x, m.eye(3), is_grads_batched=True)


def through(m, backward, **options):
    x = leaf(m)
    return m.autograd.grad(function(m, backward).apply(x), x, m.eye(3), is_grads_batched=True, **options)


def double(g, _):
    return g * 2


def twice(m):
    """A graph that a batch of passes has gone through is freed."""
    y = (x := leaf(m)).exp()
    m.autograd.grad(y, x, m.eye(3), is_grads_batched=True)
    return m.autograd.grad(y, x, m.eye(3), is_grads_batched=True)


def recorded(m):
    """Gradients of a batch of gradients."""
    rows, = m.autograd.grad((x := leaf(m)) ** 3, x, m.eye(3), create_graph=True, is_grads_batched=True)
    return m.autograd.grad(rows.diagonal() @ rows.sum(0), x)


def in_vmap(m):
    y = (x := leaf(m)) ** 3
    return m.func.vmap(lambda v: m.autograd.grad(y, x, v, retain_graph=True, is_grads_batched=True)[0])(
        m.arange(18.0).reshape(2, 3, 3))


def jacobian(m, f, x=None, **options):
    return m.autograd.functional.jacobian(f, leaf(m) if x is None else x, vectorize=True, **options)


def forward(m, f, x=None):
    return jacobian(m, f, x, strategy="forward-mode")


def in_a_level(m):
    with m.autograd.forward_ad.dual_level():
        return forward(m, lambda x: x * 2)


def made_inside(m, make):
    """What an inner `grad` finds by a leaf that the function makes for itself."""
    def f(x):
        with m.enable_grad():
            leaf = make(m)
            return x * m.autograd.grad((leaf * leaf).sum(), leaf)[0]

    x = m.ones(3, requires_grad=True)
    y = x * x
    y.register_hook(f)
    return (m.func.vmap(f)(m.ones(2, 3)), m.func.jacfwd(f)(m.ones(3)), forward(m, f, m.ones(3)),
            m.autograd.grad(y, x, m.eye(3), is_grads_batched=True))


def started(m, start, where="pass"):
    """What becomes of a pass that a program starts inside of another one, of `vmap`, or of a transform."""
    def f(g):
        leaf = m.tensor([1.0, 2.0, 3.0], requires_grad=True)
        return start(m, leaf, g)

    if where == "pass":
        return hooked(m, f)
    if where == "vmap":
        return m.func.vmap(f)(m.arange(6.0).reshape(2, 3))
    return getattr(m.func, where)(lambda x: f(x).sum())(m.ones(3))


def accumulated(m, x, g):
    (x * x).sum().backward()
    return g * x.grad


STARTED = {
    "backward": accumulated,
    "backward by a gradient": lambda m, x, g: ((x * x).backward(g), x.grad)[1],
    "autograd.backward": lambda m, x, g: (m.autograd.backward((x * x).sum()), x.grad * g)[1],
    "grad of a batch": lambda m, x, g: m.autograd.grad((x * x * g).sum(), x)[0],
    "grad": lambda m, x, g: g * m.autograd.grad((x * x).sum(), x)[0],
}


def again(m):
    """A backward that computes again what it differentiates."""
    def backward(g, x):
        with m.enable_grad():
            x = x.detach().requires_grad_()
            return m.autograd.grad(x * x, x, g)[0]

    square = function(m, backward, lambda x: x * x).apply
    return (m.autograd.grad(square(x := leaf(m)), x, m.arange(12.0).reshape(4, 3), is_grads_batched=True),
            jacobian(m, square), m.autograd.gradcheck(square, (leaf(m, 0.3, 2.0, dtype=m.float64),),
                                                      check_batched_grad=True))


PROGRAMS = {
    "a custom Function": lambda m: through(m, double),
    "one of a custom Function": lambda m: through(m, lambda g, _: function(m, double).apply(g), create_graph=True),
    "asks for a number": lambda m: through(m, lambda g, _: g * g.sum().item()),
    "asks for a truth value": lambda m: through(m, lambda g, _: g if g.sum() > 0 else -g),
    "draws": lambda m: through(m, lambda g, _: g * m.rand(3)),
    "draws like it": lambda m: through(m, lambda g, _: g * m.randn_like(g)),
    "a hook": lambda m: hooked(m, lambda g: g * 2),
    "a hook that asks": lambda m: hooked(m, lambda g: print(g.sum().item())),
    "a leaf in a hook": lambda m: hooked(m, lambda g: m.autograd.grad((y := leaf(m)) ** 2, y, m.ones(3))[0] + g),
    "twice": twice, "recorded": recorded,
    "in vmap": in_vmap,
    "bfloat16": lambda m: m.autograd.grad((x := leaf(m, dtype=m.bfloat16)).exp().softmax(0), x, m.eye(3).bfloat16(),
                                          is_grads_batched=True),
    "jacobian": lambda m: jacobian(m, lambda x: x.softmax(0)),
    "hessian": lambda m: m.autograd.functional.hessian(lambda x: x.prod() ** 2, leaf(m), vectorize=True),
    "hessian by columns": lambda m: m.autograd.functional.hessian(
        lambda x: x.prod() ** 2, leaf(m), vectorize=True, outer_jacobian_strategy="forward-mode"),
    "by columns": lambda m: forward(m, lambda x: x.cumprod(0)),
    "by columns, with a graph": lambda m: (j := forward(m, lambda z: z ** 3, x := leaf(m)), j.requires_grad,
                                           m.autograd.grad(j.sum(), x))[1:],
    "by columns, draws": lambda m: forward(m, lambda x: x * m.rand_like(x)),
    "by columns, a number of what is the same": lambda m: forward(m, lambda x: x * x.sum().item()).detach(),
    "by columns, integers": lambda m: forward(m, lambda x: x * 2, m.tensor([1, 2])),
    "by columns, no directions": lambda m: [forward(m, lambda z: z * 2, m.zeros(0, dtype=kind))
                                            for kind in (m.bfloat16, m.float32)],
    "by columns, no tensor": lambda m: forward(m, lambda x: 2),
    "by columns in a level": in_a_level,
    "a leaf of ones inside": lambda m: made_inside(m, lambda m: m.ones(3, requires_grad=True)),
    "a leaf of numbers inside": lambda m: made_inside(m, lambda m: m.tensor([1.0, 2.0, 3.0], requires_grad=True)),
    "a parameter inside": lambda m: made_inside(m, lambda m: m.nn.Parameter(m.ones(3))),
    "computed again": again,
    **{f"{name} in a pass": functools.partial(started, start=start) for name, start in STARTED.items()
       if name != "grad"},
    **{f"{name} in {where}": functools.partial(started, start=start, where=where) for name, start in STARTED.items()
       for where in ("vmap", "grad") if name != "grad of a batch"},
}


@pytest.mark.filterwarnings("ignore:There is a performance drop")
@pytest.mark.parametrize("name", PROGRAMS)
def test_program(torch, name):
    theirs, ours = [ending(PROGRAMS[name], m)[0] for m in (torch, minigrad)]  # which warn of other things
    assert ours == theirs


def calls_of(run):
    """How often the backward and the `jvp` of a Function run."""
    calls = []

    class Cube(minigrad.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            ctx.save_for_forward(x)
            return x ** 3

        @staticmethod
        def backward(ctx, g):
            calls.append("back")
            return 3 * ctx.saved_tensors[0] ** 2 * g

        @staticmethod
        def jvp(ctx, t):
            calls.append("forth")
            return 3 * ctx.saved_tensors[0] ** 2 * t

    run(Cube.apply, leaf(minigrad))
    return calls


def test_a_batch_is_one_pass():
    functional = minigrad.autograd.functional
    assert calls_of(lambda f, x: minigrad.autograd.grad(f(x), x, minigrad.eye(3), is_grads_batched=True)) == ["back"]
    assert calls_of(lambda f, x: functional.jacobian(f, x, vectorize=True)) == ["back"]
    assert calls_of(lambda f, x: functional.jacobian(f, x, vectorize=True, strategy="forward-mode")) == ["forth"]
    assert calls_of(lambda f, x: functional.jacobian(f, x)) == ["back"] * 3
