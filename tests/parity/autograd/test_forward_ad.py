"""Forward mode against PyTorch: levels, duals, in-place writes and views, custom Functions, passes inside a level."""

from __future__ import annotations

import importlib
import warnings

import pytest

import minigrad
from minigrad.core import UNUSUAL
from minigrad.ops._dispatch.op_wrappers import OPS, Lingering
from tests.parity.alike import alike, ending

pytestmark = pytest.mark.torch


def forward_of(m):
    return importlib.import_module(f"{m.__name__}.autograd.forward_ad")


def data(m, grad=False):
    return m.tensor([1.0, 2.0], requires_grad=grad), m.tensor([0.5, 1.0])


def in_level(program):
    """A program that gets a library, its forward_ad, a dual and its tangent."""
    def run(m):
        f = forward_of(m)
        with f.dual_level():
            x, t = data(m)
            return program(m, f, f.make_dual(x, t), t)

    return run


def functions(m):
    """Custom Functions with one `jvp` each."""
    class Product(m.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            ctx.save_for_forward(a, b)
            return a * b

        @staticmethod
        def backward(ctx, g):
            return g, g

    class Right(Product):
        @staticmethod
        def jvp(ctx, ta, tb):
            a, b = ctx.saved_tensors
            return ta * b + tb * a

    class Two(Product):
        @staticmethod
        def jvp(ctx, ta, tb):
            return ta, ta

    class Short(Product):
        @staticmethod
        def jvp(ctx, ta, tb):
            return ta[:1]

    return {"none": Product, "right": Right, "two": Two, "short": Short}


def to_index(tensor, index, value):
    tensor[index] = value
    return tensor


PROGRAMS = {
    "a dual prints its tangent": lambda m, f, d, t: repr(d),
    "so does a scalar": lambda m, f, d, t: (repr(d.sum()), d.sum().item(), f"{d.sum():.2f}"),
    "product": lambda m, f, d, t: (f.unpack_dual(d * d), (d * d).requires_grad),
    "the tangent itself": lambda m, f, d, t: f.unpack_dual(d).tangent is t,
    "a primal is no dual": lambda m, f, d, t: f.unpack_dual(f.unpack_dual(d).primal).tangent,
    "detached": lambda m, f, d, t: f.unpack_dual(d.detach()),
    "no derivative": lambda m, f, d, t: [f.unpack_dual(v).tangent for v in (d == d, d.argmax(), d.int())],
    "other dtypes": lambda m, f, d, t: repr((d.double(), d.half(), d * m.ones(2, dtype=m.float64))),
    "stack": lambda m, f, d, t: repr(m.stack([d, t])),
    "several outputs": lambda m, f, d, t: repr((*d.unbind(), *m.var_mean(d * d))),
    "under no_grad": lambda m, f, d, t: no_grad(m, f, d),
    "switched off": lambda m, f, d, t: switched_off(m, f, d),
    "written to a view": lambda m, f, d, t: to_a_view(m, f, d),
    "a view sees what is written to its base": lambda m, f, d, t: to_the_base(m, f, d),
    "written in place": lambda m, f, d, t: (repr(d.mul_(3)), repr(t), repr(d.zero_()), repr(d.fill_(2.0))),
    "transposed in place": lambda m, f, d, t: transposed(m, f),
    "index written": lambda m, f, d, t: index_written(m, f, d),
    "gradient in a level": lambda m, f, d, t: gradient(m, f),
    "gradient that is recorded": lambda m, f, d, t: gradient(m, f, create_graph=True),
    "backward in a level": lambda m, f, d, t: backward(m, f),
    "gradient of a tangent": lambda m, f, d, t: gradient_of_tangent(m, f),
    "a tangent that requires grad": lambda m, f, d, t: tangent_with_graph(m, f),
    "another dtype for the tangent": lambda m, f, d, t: f.make_dual(m.ones(2), t.double()),
    "size": lambda m, f, d, t: f.make_dual(m.ones(2), t[:1]),
    "twice": lambda m, f, d, t: f.make_dual(d, t),
    "integers": lambda m, f, d, t: f.make_dual(m.tensor([1, 2]), t),
    "integers as tangent": lambda m, f, d, t: f.make_dual(m.ones(2), m.tensor([1, 2])),
    "a dual as tangent": lambda m, f, d, t: f.make_dual(m.ones(2), d),
    "no tensor": lambda m, f, d, t: f.make_dual(1, 2),
    "nested": lambda m, f, d, t: f.enter_dual_level(),
    **{f"function, jvp {name}": lambda m, f, d, t, name=name: repr(functions(m)[name].apply(d, t))
       for name in ("none", "right", "two", "short")},
    "inside forward nothing is dual": lambda m, f, d, t: inside(m, f, d),
    **{f"written twice to one place, {name}": lambda m, f, d, t, write=write: f.unpack_dual(
        write(m, d, m.tensor([1, 1])))
       for name, write in {
           "index_put": lambda m, d, i: m.zeros(3).index_put((i,), d),
           "index": lambda m, d, i: to_index(m.zeros(3), i, d),
           "numbers to an index": lambda m, d, i: to_index(d.clone(), i, 3.0),
           "index_put accumulates": lambda m, d, i: m.zeros(3).index_put((i,), d, accumulate=True),
           "scatter": lambda m, d, i: d.scatter(0, i, d * 2), "scatter a number": lambda m, d, i: d.scatter(0, i, 2.0),
           "index_copy": lambda m, d, i: m.zeros(3).index_copy(0, i, d),
           "put": lambda m, d, i: d.put(i, d * 3)}.items()},
    "padding of an embedding": lambda m, f, d, t: f.unpack_dual(
        m.nn.functional.embedding(m.tensor([1, 0]), d.view(2, 1), padding_idx=0)),
    **{f"where {name} is 0": lambda m, f, d, t, call=call: f.unpack_dual(call(m, d)).tangent for name, call in {
        "a norm": lambda m, d: (d - d).norm(), "a norm of order 3": lambda m, d: (d - d).norm(3),
        "a norm of order 1.5": lambda m, d: (d - d).norm(1.5), "a deviation": lambda m, d: d.expand(3, 2).std(0),
        "the deviation of two": lambda m, d: m.std_mean(d.expand(3, 2), 0)[0]}.items()},
    **{f"out of {name}": lambda m, f, d, t, call=call: call(m, d) for name, call in {
        "exp": lambda m, d: m.exp(d, out=m.empty(2)), "add": lambda m, d: m.add(m.ones(2), d, out=m.empty(2)),
        "cat": lambda m, d: m.cat([m.ones(2), d], out=m.empty(4)),
        "no dual": lambda m, d: m.exp(m.zeros(2), out=m.empty(2))}.items()},
}
OUTSIDE = {
    "make_dual": lambda m: forward_of(m).make_dual(*data(m)),
    "unpack_dual": lambda m: forward_of(m).unpack_dual(data(m, True)[0]),
    "exit_dual_level": lambda m: forward_of(m).exit_dual_level(),
    "another level": lambda m: forward_of(m).exit_dual_level(level=3),
    "after the level": lambda m: after(m),
    "a decorator": lambda m: decorated(m),
}


def no_grad(m, f, d):
    with m.no_grad():
        return f.unpack_dual(d * 2)


def switched_off(m, f, d):
    with f._set_fwd_grad_enabled(False):
        return repr((d * 2, d)), f._is_fwd_grad_enabled()


def to_a_view(m, f, d):
    base = m.zeros(4)
    base[1:3].copy_(d)
    return repr((base, base[2], base.view(2, 2)))


def to_the_base(m, f, d):
    base = m.ones(2, 2)
    view = base[0]
    base.mul_(d)
    return repr((view, base))


def transposed(m, f):
    d = f.make_dual(m.arange(6.0).view(2, 3), m.ones(2, 3).cumsum(1))
    return repr(d.t_()), repr(d.unsqueeze_(0))


def index_written(m, f, d):
    base = m.ones(3)
    base[m.tensor([0, 2])] = d
    base[1] = 5.0
    return repr(base)


def gradient(m, f, **options):
    x = m.tensor([1.0, 2.0], requires_grad=True)
    d = f.make_dual(x, m.tensor([0.5, 1.0]))
    found, = m.autograd.grad((d.exp() * d ** 2).sum(), d, **options)
    return found.requires_grad, f.unpack_dual(found).tangent.detach()


def backward(m, f):
    x = m.tensor([1.0, 2.0], requires_grad=True)
    (f.make_dual(x, m.tensor([0.5, 1.0])) ** 3).sum().backward()
    return x.grad


def gradient_of_tangent(m, f):
    x = m.tensor([1.0, 2.0], requires_grad=True)
    tangent = f.unpack_dual(f.make_dual(x, m.tensor([0.5, 1.0])).exp().cumsum(0)).tangent
    return m.autograd.grad(tangent.sum(), x)


def tangent_with_graph(m, f):
    t = m.tensor([0.5, 1.0], requires_grad=True)
    tangent = f.unpack_dual(f.make_dual(m.ones(2), t).exp() * 3).tangent
    return tangent.requires_grad, m.autograd.grad(tangent.sum(), t)


def inside(m, f, d):
    class Look(m.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            seen.append(f.unpack_dual(a).tangent)
            return a * 2

        @staticmethod
        def jvp(ctx, ta):
            return ta * 2

    seen = []
    return repr(Look.apply(d)), seen


def after(m):
    f = forward_of(m)
    x, t = data(m)
    with f.dual_level():
        d = f.make_dual(x, t)
    return repr(d), f.unpack_dual(d)


def decorated(m):
    f = forward_of(m)

    @f.dual_level()
    def pushed(x, t):
        return f.unpack_dual(f.make_dual(x, t).sin())

    return pushed(*data(m)), pushed(*data(m))


@pytest.fixture(autouse=True, scope="module")
def loaded():
    """PyTorch compiles rules at its first dual, and warns of how it does."""
    torch = pytest.importorskip("torch")
    with warnings.catch_warnings(), forward_of(torch).dual_level():
        warnings.simplefilter("ignore")
        forward_of(torch).make_dual(*data(torch))


@pytest.mark.parametrize("name", PROGRAMS)
def test_in_a_level(torch, name):
    alike(torch, in_level(PROGRAMS[name]))


def test_logit_of_what_it_clamps(torch):
    """Without the warnings: NumPy's may be on."""
    program = in_level(lambda m, f, d, t: f.unpack_dual((d - 1).logit(0.1)).tangent)
    assert ending(program, minigrad)[0] == ending(program, torch)[0]


@pytest.mark.parametrize("name", OUTSIDE)
def test_outside_of_a_level(torch, name):
    alike(torch, OUTSIDE[name])


def test_an_op_costs_nothing_once_the_level_is_left():
    """Also if the block is left by an error: no wrapper after some ops, no mode, no look at each new pass."""
    f = forward_of(minigrad)
    with pytest.raises(ZeroDivisionError), f.dual_level():
        assert OPS.installed
        raise ZeroDivisionError
    for _ in range(Lingering.PATIENCE):
        data(minigrad)[0].exp()
    assert OPS.installed == []
    assert UNUSUAL.modes == set()
    assert UNUSUAL.tangents is None
    assert UNUSUAL.pass_wrappers == []
    x, t = data(minigrad)
    assert f.unpack_dual(x * t).tangent is None


def test_tangents_are_freed_with_their_tensors():
    f = forward_of(minigrad)
    with f.dual_level():
        d = f.make_dual(*data(minigrad, grad=True))
        for _ in range(3):
            d = d * 2
        d.sum()
        assert len(f.Current.level.of_tensors) <= 6
        del d
        assert len(f.Current.level.of_tensors) <= 1
        assert len(f.Current.level.of_results) == 0
