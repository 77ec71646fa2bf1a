"""`torch.func` against PyTorch: results, their graphs, what is refused, and transforms around transforms."""

from __future__ import annotations

import importlib
import warnings
from collections import namedtuple

import numpy as np
import pytest
from hypothesis import example, given, reject, settings
from hypothesis import strategies as st

import minigrad
from tests.parity.alike import alike
from tests.parity.compare import numbers

pytestmark = pytest.mark.torch
Pair = namedtuple("Pair", "first second")


def func_of(m):
    return importlib.import_module(f"{m.__name__}.func")


def of(program):
    """A program that gets a library, its func, a vector and a matrix."""
    return lambda m: program(m, func_of(m), m.linspace(-1, 1, 4), m.arange(12.0).view(3, 4) / 10)


def scalar(x):
    return (x.sin() * x).sum()


def linear(m):
    """A module with numbers that are known."""
    layer = m.nn.Linear(4, 2)
    with m.no_grad():
        for name, each in layer.named_parameters():
            each.copy_(m.arange(float(each.numel())).view(each.shape) / (8 if name == "bias" else 4))
    return layer


def another_name(m, f, x, name):
    """What a call gives with a tensor under a name that is no parameter's, and what is left of that."""
    layer = linear(m)
    found = f.functional_call(layer, {name: m.ones(3)}, x)
    return found, hasattr(layer, "other"), list(layer.state_dict())


def batch_norm(m, f, a):
    """What `vmap` gives for batch norms once they keep no statistics."""
    net = m.nn.Sequential(m.nn.BatchNorm1d(4), m.nn.Sequential(m.nn.BatchNorm1d(4, momentum=None)))
    made = f.replace_all_batch_norm_modules_(net)
    found = m.vmap(net.double())(m.stack([a * a, a ** 3]).double()).detach()
    return found, made is net, list(net.state_dict()), net[1][0].track_running_stats


def tied(m):
    layer = m.nn.Sequential(m.nn.Linear(2, 2, bias=False), m.nn.Linear(2, 2, bias=False))
    layer[1].weight = layer[0].weight
    return layer


PROGRAMS = {
    "grad": lambda m, f, x, a: f.grad(scalar)(x),
    "grad of a tensor with a graph": lambda m, f, x, a: with_graph(m, f, x),
    "grad under no_grad": lambda m, f, x, a: under_no_grad(m, f, x),
    "no_grad inside": lambda m, f, x, a: no_grad_inside(m, f, x),
    "grad twice": lambda m, f, x, a: f.grad(lambda y: f.grad(scalar)(y).sum())(x),
    "one input for two levels": lambda m, f, x, a: f.grad(lambda y: (f.grad(lambda z: (y * z * z).sum())(y)).sum())(x),
    "grad by two": lambda m, f, x, a: f.grad(lambda y, z: (y * z).sum(), argnums=(0, 1))(x, x + 1),
    "grad by the last": lambda m, f, x, a: f.grad(lambda y, z: (y * z).sum(), argnums=-1)(x, x + 1),
    "grad by a tree": lambda m, f, x, a: list(f.grad(lambda p: ((p["w"] * x).sum() + p["b"]) ** 2)(
        {"w": x + 1, "b": m.tensor(2.0)}).values()),
    "grad by a named tuple": lambda m, f, x, a: f.grad(lambda p: (p.first * p.second).sum())(Pair(x, x + 1)),
    "grad that does not depend": lambda m, f, x, a: f.grad(lambda y: (x * 2).sum())(x),
    "aux": lambda m, f, x, a: f.grad(lambda y: (scalar(y), y * 2), has_aux=True)(x),
    "value and aux": lambda m, f, x, a: f.grad_and_value(lambda y: (scalar(y), {"y": y * 2}), has_aux=True)(x)[1][0],
    "value": lambda m, f, x, a: f.grad_and_value(scalar)(x),
    "keywords": lambda m, f, x, a: f.grad(lambda y, scale=1.0: (y * scale).sum())(x, scale=3.0),
    "name": lambda m, f, x, a: f.grad(scalar).__name__,
    "vjp": lambda m, f, x, a: pulled(m, f, x),
    "vjp twice": lambda m, f, x, a: [back(m.ones(4)) for back in [f.vjp(m.sin, x)[1]] * 2],
    "vjp of vjp": lambda m, f, x, a: f.vjp(lambda v: f.vjp(m.sin, x)[1](v)[0], x)[1](x),
    "vjp by a cotangent that requires grad": lambda m, f, x, a: recorded(m, f, x),
    "jvp": lambda m, f, x, a: f.jvp(lambda y, z: y * z, (x, x + 1), (m.ones(4), x)),
    "jvp twice": lambda m, f, x, a: f.jvp(lambda y: f.jvp(lambda z: z ** 3, (y,), (m.ones(4),))[1], (x,), (m.ones(4),)),
    "one direction for two levels": lambda m, f, x, a: f.jvp(
        lambda y: f.jvp(lambda z: y * z, (x,), (m.ones(4),))[1], (x,), (m.ones(4),)),
    "jvp of a tree": lambda m, f, x, a: f.jvp(lambda p: p["a"] * p["b"], ({"a": x, "b": x + 1},), ({"a": x, "b": x},)),
    "jvp with aux": lambda m, f, x, a: f.jvp(lambda y: (y * y, y), (x,), (x,), has_aux=True),
    "jvp that does not depend": lambda m, f, x, a: f.jvp(lambda y: m.ones(2), (x,), (x,)),
    "jvp, strict": lambda m, f, x, a: f.jvp(lambda y: m.ones(2), (x,), (x,), strict=True),
    "jvp of grad": lambda m, f, x, a: f.jvp(f.grad(scalar), (x,), (m.ones(4),)),
    "grad of jvp": lambda m, f, x, a: f.grad(lambda y: f.jvp(scalar, (y,), (y,))[1])(x),
    "jvp in place": lambda m, f, x, a: f.jvp(lambda y: y.clone().mul_(y).add_(1)[1:], (x,), (x + 2,)),
    "linearize": lambda m, f, x, a: linearized(m, f, x),
    "jacrev": lambda m, f, x, a: f.jacrev(lambda y: a @ y.tanh())(x),
    "jacfwd": lambda m, f, x, a: f.jacfwd(lambda y: a @ y.tanh())(x),
    "jacrev by two": lambda m, f, x, a: f.jacrev(lambda y, z: (y * z, y + z), argnums=(0, 1))(x[:2], x[2:]),
    "jacfwd by two": lambda m, f, x, a: f.jacfwd(lambda y, z: (y * z, y + z), argnums=(0, 1))(x[:2], x[2:]),
    "jacrev of a tree": lambda m, f, x, a: f.jacrev(lambda p: {"s": p[0] * p[1].sum()})([x[:2], x[2:]])["s"],
    "jacfwd with aux": lambda m, f, x, a: f.jacfwd(lambda y: (y * y, y), has_aux=True)(x),
    "jacrev with aux": lambda m, f, x, a: f.jacrev(lambda y: (y * y, y), has_aux=True)(x),
    "jacrev of a matrix": lambda m, f, x, a: f.jacrev(lambda y: y @ y.T)(a),
    "jacfwd of a matrix": lambda m, f, x, a: f.jacfwd(lambda y: y @ y.T)(a),
    "hessian": lambda m, f, x, a: f.hessian(scalar)(x),
    "hessian by two": lambda m, f, x, a: f.hessian(lambda y, z: (y * y * z).sum(), argnums=(0, 1))(x, x + 1),
    "third derivatives": lambda m, f, x, a: f.jacfwd(f.jacrev(f.jacrev(lambda y: (y ** 4).sum())))(x[:2]),
    "jacfwd draws": lambda m, f, x, a: f.jacfwd(lambda y: y * m.randn(4))(x),
    "jacfwd draws the same": lambda m, f, x, a: (
        f.jacfwd(lambda y: y * m.rand(()), randomness="same")(x) != 0).sum(0),
    "functional_call": lambda m, f, x, a: f.functional_call(linear(m), {"bias": m.ones(2)}, x),
    "functional_call by keywords": lambda m, f, x, a: f.functional_call(linear(m), {}, kwargs={"input": x}),
    "functional_call of another name": lambda m, f, x, a: another_name(m, f, x, "other"),
    "functional_call of a name of its module": lambda m, f, x, a: another_name(m, f, x, "in_features"),
    "functional_call of a name of a method": lambda m, f, x, a: another_name(m, f, x, "forward"),
    "functional_call of a name in no module": lambda m, f, x, a: another_name(m, f, x, "other.bias"),
    "functional_call of a name in a tensor": lambda m, f, x, a: another_name(m, f, x, "bias.bias"),
    "functional_call of an empty name": lambda m, f, x, a: another_name(m, f, x, ""),
    "functional_call with a number": lambda m, f, x, a: f.functional_call(linear(m), {"bias": 3}, x),
    "functional_call with None": lambda m, f, x, a: f.functional_call(linear(m), {"bias": None}, x),
    "functional_call of two dicts": lambda m, f, x, a: f.functional_call(
        linear(m), [{"bias": m.ones(2)}, {"weight": m.ones(2, 4)}], (x,)),
    "functional_call, twice the same": lambda m, f, x, a: f.functional_call(linear(m), [{"bias": x}, {"bias": x}], x),
    "functional_call of no dict": lambda m, f, x, a: f.functional_call(linear(m), 3, x),
    "functional_call of no dicts": lambda m, f, x, a: f.functional_call(linear(m), [3], x),
    "functional_call, strict": lambda m, f, x, a: f.functional_call(linear(m), {"bias": m.ones(2)}, x, strict=True),
    "functional_call, tied": lambda m, f, x, a: f.functional_call(tied(m), {"0.weight": m.eye(2)}, x[:2]),
    "functional_call, not tied": lambda m, f, x, a: f.functional_call(
        tied(m), {"0.weight": m.eye(2), "1.weight": m.eye(2) * 2}, x[:2], tie_weights=False),
    "grad by parameters": lambda m, f, x, a: parameters(m, f, x),
    "vmap of a batch norm": lambda m, f, x, a: batch_norm(m, f, a),
    "stack_module_state": lambda m, f, x, a: stacked(m, f),
    "stack_module_state of none": lambda m, f, x, a: f.stack_module_state([]),
    "stack_module_state of two modes": lambda m, f, x, a: f.stack_module_state([linear(m), linear(m).eval()]),
    "stack_module_state of two classes": lambda m, f, x, a: f.stack_module_state([linear(m), tied(m)]),
    "stack_module_state, one frozen": lambda m, f, x, a: f.stack_module_state(
        [linear(m), linear(m).requires_grad_(False)]),
    "a number": lambda m, f, x, a: f.grad(scalar)(1.0),
    "an output with dimensions": lambda m, f, x, a: f.grad(lambda y: y)(x),
    "a number as output": lambda m, f, x, a: f.grad(lambda y: 1)(x),
    "a number as aux": lambda m, f, x, a: f.grad(lambda y: (scalar(y), {"y": (y, 1)}), has_aux=True)(x),
    "None as aux of vjp": lambda m, f, x, a: f.vjp(lambda y: (y, [None]), x, has_aux=True)[0],
    "a number as aux of jvp": lambda m, f, x, a: f.jvp(lambda y: (y, 1.0), (x,), (x,), has_aux=True),
    "a number as aux of jacrev": lambda m, f, x, a: f.jacrev(lambda y: (y, 1), has_aux=True)(x),
    "a number as aux of jacfwd": lambda m, f, x, a: f.jacfwd(lambda y: (y, 1), has_aux=True)(x),
    "no pair": lambda m, f, x, a: f.grad(scalar, has_aux=True)(x),
    "argnums too high": lambda m, f, x, a: f.grad(scalar, argnums=2)(x),
    "no argnums": lambda m, f, x, a: f.grad(scalar, argnums=())(x),
    "argnums twice": lambda m, f, x, a: f.grad(scalar, argnums=(0, 0))(x),
    "argnums of text": lambda m, f, x, a: f.grad(scalar, argnums="a")(x),
    "argnums of texts": lambda m, f, x, a: f.grad(scalar, argnums=("a",))(x),
    "primals that are no tuple": lambda m, f, x, a: f.jvp(scalar, x, x),
    "tangents of another form": lambda m, f, x, a: f.jvp(scalar, (x,), (x, {"a": x, "b": (x, x)})),
    "tangents of another size": lambda m, f, x, a: f.jvp(scalar, (x,), (x[:2],)),
    "no primals": lambda m, f, x, a: f.jvp(scalar, (), ()),
    "a number as primal": lambda m, f, x, a: f.jvp(scalar, (1,), (x,)),
    "vjp of bools": lambda m, f, x, a: f.vjp(lambda y: y > 0, x),
    "vjp of None": lambda m, f, x, a: f.vjp(lambda y: None, x),
    "vjp of a number": lambda m, f, x, a: f.vjp(lambda y: (y, 3), x),
    "cotangents of another form": lambda m, f, x, a: f.vjp(lambda y: (y, {"s": y}), x)[1]((x, [x, x])),
    "chunks of 0": lambda m, f, x, a: f.jacrev(scalar, chunk_size=0),
    "tangents of another shape": lambda m, f, x, a: quietly(lambda: f.linearize(scalar, x)[1](x[:2])),
    "tangents of another dtype": lambda m, f, x, a: quietly(lambda: f.linearize(scalar, x)[1](x.double())),
}


def with_graph(m, f, x):
    x.requires_grad_()
    found = f.grad(scalar)(x)
    return found.requires_grad, m.autograd.grad(found.sum(), x)


def under_no_grad(m, f, x):
    with m.no_grad():
        return f.grad(scalar)(x)


def no_grad_inside(m, f, x):
    def half(y):
        with m.no_grad():
            z = y * y
        return (y * z).sum()

    return f.grad(half)(x)


def pulled(m, f, x):
    output, back = f.vjp(lambda a, b: (a * b, {"s": a.sum()}), x + 2, x + 3)
    return output[0], output[1]["s"], back((m.ones(4), {"s": m.tensor(1.0)}))


def recorded(m, f, x):
    v = m.ones(4, requires_grad=True)
    found, = f.vjp(lambda y: y * y, x)[1](v)
    return found.requires_grad, m.autograd.grad(found.sum(), v)


def quietly(program):
    """PyTorch traces a function to linearize it, and warns of how it does."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return program()


def linearized(m, f, x):
    output, pushed = quietly(lambda: f.linearize(lambda y: (y ** 2, y.sum()), x + 2))
    return output, pushed(m.ones(4)), pushed(x)


def parameters(m, f, x):
    layer = linear(m)
    found = f.grad(lambda p: f.functional_call(layer, p, (x,)).pow(2).sum())(dict(layer.named_parameters()))
    return found["bias"].detach(), found["weight"].detach(), layer.bias.grad


def stacked(m, f):
    layers = [m.nn.BatchNorm1d(2) for _ in range(3)]
    given, buffers = f.stack_module_state(layers)
    return [*given, *buffers], given["weight"], buffers["running_var"], given["weight"].is_leaf


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(torch, name):
    alike(torch, of(PROGRAMS[name]))


# ---- Random compositions: transforms around functions, up to four deep; each takes a vector to a vector of its size.
BASES = {
    "cube": lambda m, x: x ** 3 / 3,
    "product": lambda m, x: x * x.sum(),
    "in place": lambda m, x: (x * 1).mul_(x).add_(x.roll(1)),
    "written": lambda m, x: written(m, x),
    "matrix": lambda m, x: (x.outer(x) @ x).tanh(),
    "views": lambda m, x: m.cat([x[1:], x[:1]]).flip(0) * x.view(1, -1).expand(2, -1).sum(0),
    "softmax": lambda m, x: x.softmax(0) * x.exp(),
    "module": lambda m, x: m.nn.functional.gelu(m.nn.functional.linear(x, x.outer(x.cos()))) + x.cumsum(0),
    "statistics": lambda m, x: (x - x.mean()) / (x.var() + 1),
    "norm": lambda m, x: x / (1 + x.norm()),
}
AROUND = {
    "grad": lambda m, f, inner: f.grad(lambda x: (inner(x) * x.cos()).sum()),
    "vjp": lambda m, f, inner: lambda x: f.vjp(inner, x)[1](x.sin())[0],
    "vjp by the cotangent": lambda m, f, inner: lambda x: f.vjp(lambda v: f.vjp(inner, x)[1](v)[0], x)[1](x)[0],
    "jvp": lambda m, f, inner: lambda x: f.jvp(inner, (x,), (x.cos(),))[1],
    "jacrev": lambda m, f, inner: lambda x: f.jacrev(inner)(x).sum(0),
    "jacfwd": lambda m, f, inner: lambda x: f.jacfwd(inner)(x) @ x,
    "value": lambda m, f, inner: lambda x: f.grad_and_value(lambda y: inner(y).sum())(x)[1] * x,
}


def written(m, x):
    y = m.zeros(4, dtype=x.dtype)
    y[1:] = x
    y[0] = x[0] * 2
    return (y * y)[:3]


def composed(m, base, around):
    """The function of this base with these transforms around it, the innermost first."""
    function = lambda x: BASES[base](m, x)  # noqa: E731 (it is replaced below)
    for name in around:
        function = AROUND[name](m, func_of(m), function)
    return function(m.tensor([0.5, -0.7, 1.1], dtype=m.float64))


@settings(deadline=None, max_examples=80)
@given(st.sampled_from(sorted(BASES)), st.lists(st.sampled_from(sorted(AROUND)), min_size=1, max_size=4))
@example("views", ["jvp", "jacrev", "jvp", "grad"])
def test_random_compositions(torch, base, around):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            theirs = numbers(composed(torch, base, around))
        except (RuntimeError, NotImplementedError):  # it vectorises Jacobians, and not every write can be
            reject()
        np.testing.assert_allclose(numbers(composed(minigrad, base, around)), theirs, rtol=1e-8, atol=1e-8)


def test_the_order_of_differentiation_does_not_matter():
    """Forward over reverse, reverse over forward, forward over forward, reverse over reverse: one Hessian. It is not
    compared with PyTorch, whose tangents of some ops cannot be differentiated in reverse."""
    f = func_of(minigrad)
    x = minigrad.tensor([0.5, -0.7, 1.1], dtype=minigrad.float64)
    for base in BASES.values():
        function = lambda y, base=base: (base(minigrad, y) ** 2).sum()  # noqa: E731 (one for each turn of the loop)
        first, *others = [numbers(outer(inner(function))(x)) for outer in (f.jacfwd, f.jacrev)
                          for inner in (f.jacfwd, f.jacrev)]
        for each in others:
            np.testing.assert_allclose(each, first, rtol=1e-8, atol=1e-10)


def test_third_derivatives_of_layer_norm():
    """They are those of the same formula written out; in PyTorch 2.13 they are not."""
    def written_out(x):
        around = x - x.mean()
        return around / ((around ** 2).mean() + 1e-5).sqrt()

    def third(normalize):
        function = normalize
        for _ in range(3):
            function = AROUND["grad"](minigrad, func_of(minigrad), function)
        return numbers(function(minigrad.tensor([0.5, -0.7, 1.1], dtype=minigrad.float64)))

    np.testing.assert_allclose(third(lambda x: minigrad.nn.functional.layer_norm(x, (3,))), third(written_out))
