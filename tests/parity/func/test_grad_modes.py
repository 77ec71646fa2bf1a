"""`no_grad`, `detach` and inference mode inside and around transforms, and what these refuse, against PyTorch."""

from __future__ import annotations

import importlib

import pytest

import minigrad
from tests.parity.alike import ending
from tests.parity.func.test_func import func_of

pytestmark = pytest.mark.torch


def vector(m):
    return m.tensor([0.5, -0.7, 1.1], dtype=m.float64)


def within(block, function, *args):
    with block:
        return function(*args)


def cubes(y):
    return (y ** 3).sum()


def seen(m, ask, block=None):
    """What a function inside of a transform finds out."""
    found = []
    transform = func_of(m).grad(lambda y: (found.append(ask(y)), y.sum())[1])
    transform(vector(m)) if block is None else within(block, transform, vector(m))
    return found


def of_weight(m, function, block=None):
    """A gradient of a function of an input and of a weight outside."""
    w = vector(m).requires_grad_()
    transform = func_of(m).grad(lambda y: function(w, y).sum())
    return transform(vector(m)) if block is None else within(block, transform, vector(m))


def pulled(m, block):
    w = vector(m).requires_grad_()
    return within(block, func_of(m).vjp(lambda y: y ** 3, w)[1], w)


def dual(m):
    forward_ad = importlib.import_module(f"{m.__name__}.autograd.forward_ad")
    with m.inference_mode(), forward_ad.dual_level():
        made = forward_ad.make_dual(vector(m), vector(m))
        return [*forward_ad.unpack_dual(made), *forward_ad.unpack_dual(made * made)]


def dual_of_inference_tensor(m, inside):
    """A dual of what inference mode made, or that it made itself: ops carry its tangent nowhere."""
    forward_ad = importlib.import_module(f"{m.__name__}.autograd.forward_ad")
    with forward_ad.dual_level():
        x = within(m.inference_mode(), vector, m)
        made = within(m.inference_mode(inside), forward_ad.make_dual, x, vector(m))
        return [[*forward_ad.unpack_dual(each)] for each in (made, made * made, made * vector(m), made.sum())]


def hooked(m, function):
    return within(m.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t), function)


PROGRAMS = {
    "no_grad inside": lambda m, f: f.grad(lambda y: (within(m.no_grad(), lambda: y * y) * y).sum()),
    "enable_grad inside no_grad": lambda m, f: f.grad(lambda y: (
        within(m.no_grad(), lambda: within(m.enable_grad(), lambda: y * y)) * y).sum()),
    "no_grad inside the inner one": lambda m, f: f.grad(lambda y: f.grad(
        lambda z: (within(m.no_grad(), lambda: y * z * z) * z).sum())(y).sum()),
    "no_grad around the inner one": lambda m, f: f.grad(
        lambda y: (y * within(m.no_grad(), f.grad(cubes), y)).sum()),
    "no_grad around both": lambda m, f: lambda x: within(m.no_grad(), f.grad(lambda y: f.grad(cubes)(y).sum()), x),
    "no_grad inside and around": lambda m, f: f.grad(lambda y: (y * y).sum() + within(m.no_grad(), lambda: f.grad(
        lambda z: (within(m.no_grad(), lambda: z * z) * z * y).sum())(y)).sum()),
    "jvp": lambda m, f: lambda x: f.jvp(lambda y: within(m.no_grad(), lambda: y * y), (x,), (x,)),
    "jvp of grad": lambda m, f: lambda x: f.jvp(f.grad(
        lambda y: (within(m.no_grad(), lambda: y * y) * y).sum()), (x,), (x,)),
    "grad of jvp": lambda m, f: f.grad(lambda y: within(
        m.no_grad(), lambda: f.jvp(lambda z: z * z * z, (y,), (y,))[1]).sum()),
    "grad of jvp, inside": lambda m, f: f.grad(lambda y: f.jvp(
        lambda z: within(m.no_grad(), lambda: z * z) * z * y, (y,), (y,))[1].sum()),
    "vmap of grad": lambda m, f: f.vmap(f.grad(lambda y: within(m.no_grad(), lambda: y * y) * y)),
    "hessian": lambda m, f: f.hessian(lambda y: (within(m.no_grad(), lambda: y * y) * y).sum()),
    "hessian in no_grad": lambda m, f: lambda x: within(m.no_grad(), f.hessian(cubes), x),
    "linearize in no_grad": lambda m, f: f.grad(
        lambda y: within(m.no_grad(), lambda: f.linearize(lambda z: z ** 3, y)[0]).sum()),
    "a leaf, in no_grad": lambda m, f: lambda x: within(m.no_grad(), f.grad(cubes), x.requires_grad_()),
    "a weight": lambda m, f: lambda x: of_weight(m, lambda w, y: w * y * y),
    "a weight, in no_grad": lambda m, f: lambda x: of_weight(m, lambda w, y: w * y * y, m.no_grad()),
    "vjp_fn in no_grad": lambda m, f: lambda x: pulled(m, m.no_grad()),
    "vjp_fn": lambda m, f: lambda x: pulled(m, m.enable_grad()),
    "grad of vjp_fn in no_grad": lambda m, f: f.grad(
        lambda w: within(m.no_grad(), f.vjp(lambda y: y ** 3, w)[1], w)[0].sum()),
    "inference mode around": lambda m, f: lambda x: within(m.inference_mode(), f.grad(cubes), x),
    "inference mode around both": lambda m, f: f.grad(
        lambda y: within(m.inference_mode(), f.grad(cubes), y).sum()),
    "a dual in inference mode": lambda m, f: lambda x: dual(m),
    "a dual of an inference tensor": lambda m, f: lambda x: dual_of_inference_tensor(m, False),
    "a dual made in inference mode": lambda m, f: lambda x: dual_of_inference_tensor(m, True),
    "grad mode": lambda m, f: lambda x: seen(m, lambda y: m.is_grad_enabled(), m.no_grad()),
    "requires_grad": lambda m, f: lambda x: seen(m, lambda y: (y * y).requires_grad, m.no_grad()),
    "detach": lambda m, f: f.grad(lambda y: f.grad(lambda z: ((z * y).detach() * z).sum())(y).sum()),
    "autograd.grad": lambda m, f: f.grad(lambda y: m.autograd.grad(cubes(y), y, create_graph=True)[0].sum()),
    "requires_grad_": lambda m, f: f.grad(lambda y: (y.clone().requires_grad_() * y).sum()),
    "requires_grad_ in vmap": lambda m, f: f.vmap(lambda y: y.requires_grad_() * y),
    "requires_grad_ in jvp": lambda m, f: lambda x: f.jvp(lambda y: y.requires_grad_() * y, (x,), (x,)),
    "requires_grad_ afterwards": lambda m, f: lambda x: (f.grad(cubes)(x), x.requires_grad_())[1],
    "retain_grad": lambda m, f: f.grad(lambda y: ((y * y).retain_grad(), y.sum())[1]),
    "backward": lambda m, f: f.grad(lambda y: (cubes(y).backward(), y.sum())[1]),
    "saved tensor hooks": lambda m, f: f.grad(lambda y: hooked(m, lambda: cubes(y))),
    "saved tensor hooks around": lambda m, f: lambda x: hooked(m, lambda: f.grad(cubes)(x)),
    "integers": lambda m, f: lambda x: f.grad(lambda y: y.sum())(m.arange(3)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(torch, name):
    theirs, ours = [ending(lambda m: PROGRAMS[name](m, func_of(m))(vector(m)), lib)[0] for lib in (torch, minigrad)]
    assert ours == theirs  # whatever PyTorch warns of in its own code
