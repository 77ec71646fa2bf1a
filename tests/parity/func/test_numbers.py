"""What asks a batch of `vmap` for numbers, or writes where it may not, against PyTorch's; and how Parameters print."""

from __future__ import annotations

import pytest

import minigrad
from tests.parity.func.test_func import func_of
from tests.parity.outcome import outcome

pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore:There is a performance drop")]


def vector(m):
    return m.tensor([1.0, 2.0, 3.0])


def table(m):
    return m.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])


def error(m, program):
    result, _ = outcome(program, m)
    assert result[0] in ("RuntimeError", "ValueError"), result
    return result


# Programs of a library and an example. PyTorch refuses all of them.
ASKED = {
    "item of several": lambda m, x: x.item(), "item of one": lambda m, x: x[:1].item(),
    "item of none": lambda m, x: x[:0].item(), "item of several captured": lambda m, x: x * m.ones(3).item(),
    "bool of several": lambda m, x: bool(x), "bool of one": lambda m, x: bool(x[0]),
    "bool of several captured": lambda m, x: x * bool(m.ones(3)), "in": lambda m, x: 3.0 in x,
    "equal": lambda m, x: m.equal(x, x), "equal to a captured": lambda m, x: m.ones(3).equal(x),
    "equal of other shapes": lambda m, x: m.equal(x, x[:2]), "allclose": lambda m, x: m.allclose(x, x),
    "allclose to a captured": lambda m, x: m.allclose(m.ones(3), x),
    "one_hot": lambda m, x: m.nn.functional.one_hot(x.long()),
    "where": lambda m, x: m.where(x > 2), "nonzero": lambda m, x: m.nonzero(x > 2),
    "nonzero as a tuple": lambda m, x: m.nonzero(x > 2, as_tuple=True), "bincount": lambda m, x: m.bincount(x.long()),
    **{f"{name} out": lambda m, x, name=name: getattr(m, name)(x, out=x.clone()) for name in ("exp", "abs", "sigmoid")},
    "add out": lambda m, x: m.add(x, 1, out=x.clone()), "captured out": lambda m, x: m.add(x, 1, out=m.zeros(3)),
    "out, of captured": lambda m, x: m.add(m.ones(3), 1, out=x.clone()),
    "smaller out": lambda m, x: m.add(x, 1, out=x[:1].clone()), "sum out": lambda m, x: m.sum(x, 0, out=x.sum()),
    "max out": lambda m, x: m.max(x, 0, out=(x[0].clone(), x[0].long())), "pow out": lambda m, x: m.pow(
        x, 2, out=x.clone()), "sort out": lambda m, x: m.sort(x, 0, out=(x.clone(), x.long())),
    "where out": lambda m, x: m.where(x > 2, x, x, out=x.clone()), "cat out": lambda m, x: m.cat([x, x], out=x.clone()),
    "gather out": lambda m, x: m.gather(x, 0, m.tensor([0, 1, 2]), out=x.clone()),
    "zeros out": lambda m, x: m.zeros(3, out=x.clone()),
}


@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("name", ASKED)
def test_asked_for_numbers(torch, name, nested):
    def refused(m):
        vmap = func_of(m).vmap
        program = vmap(lambda x: ASKED[name](m, x))
        return error(m, lambda m: vmap(program)(m.stack([table(m), table(m) * 2])) if nested else program(table(m)))

    assert refused(minigrad) == refused(torch)


def test_what_is_the_same_for_all_has_numbers(torch):
    def given(m):
        one, two = m.ones(3), m.tensor([0, 2])
        return func_of(m).vmap(lambda x: x * m.equal(one, one) * m.allclose(one, one) * one[:1].item()
                               + m.nn.functional.one_hot(two).sum() + m.add(one, 1, out=m.zeros(3))
                               + m.where(one > 0)[0] + m.nn.functional.one_hot(x.long(), 8).sum())(table(m))

    assert outcome(given, minigrad)[0] == outcome(given, torch)[0]


# Writes to what a level of reverse mode differentiates by, from inside of a `vmap`.
WRITES = {
    "mul_": lambda m, x: x.mul_(2), "add_": lambda m, x: x.add_(1), "zero_": lambda m, x: x.zero_(),
    "copy_": lambda m, x: x.copy_(m.ones(3)), "an item": lambda m, x: x.__setitem__(0, 5.0),
    "a view": lambda m, x: x[:2].mul_(2), "of a view": lambda m, x: x[:2][1:].mul_(2),
    "relu": lambda m, x: m.nn.functional.relu(x, inplace=True), "detached": lambda m, x: x.detach().mul_(2),
    "data": lambda m, x: x.data.mul_(2), "unsqueeze_": lambda m, x: x.unsqueeze_(0),
}
GRADS = {
    "by examples": lambda m, t, w: t.grad(lambda x: t.vmap(lambda y: (w(y), (y ** 2).sum())[1])(x).sum())(table(m)),
    "by rows that were computed": lambda m, t, w: t.grad(
        lambda x: t.vmap(lambda y: (w(y), (y ** 2).sum())[1])(x * 1).sum())(table(m)),
    "by what all share": lambda m, t, w: t.grad(
        lambda x: t.vmap(lambda y: (w(x), (y * x).sum())[1])(table(m)).sum())(vector(m)),
    "of an outer graph": lambda m, t, w: t.grad(lambda z: t.grad(
        lambda x: t.vmap(lambda y: (w(y), (y ** 2).sum())[1])(x).sum())(z * 1).sum())(table(m)),
    "inside": lambda m, t, w: t.vmap(t.grad(lambda y: (w(y), (y ** 2).sum())[1]))(table(m)),
}


@pytest.mark.parametrize("around", GRADS)
@pytest.mark.parametrize("name", WRITES)
def test_written_inputs(torch, name, around):
    ours, theirs = [outcome(lambda m: GRADS[around](m, func_of(m), lambda x: WRITES[name](m, x)), m)[0]
                    for m in (minigrad, torch)]
    assert ours == theirs


DEEP = {
    "twice": lambda t, f: t.grad(lambda x: t.grad(f)(x).sum()),
    "three times": lambda t, f: t.grad(lambda x: t.grad(lambda y: t.grad(f)(y).sum())(x).sum()),
    "over a batch": lambda t, f: t.grad(lambda x: t.grad(lambda y: t.vmap(f)(y).sum())(x).sum()),
    "in a batch": lambda t, f: t.vmap(t.grad(t.grad(f))),
}


@pytest.mark.parametrize("around", DEEP)
@pytest.mark.parametrize("factor", [0, 2])
def test_what_is_written_past_the_graph_is_no_part_of_a_derivative_outside(torch, factor, around):
    def program(m):
        return DEEP[around](func_of(m), lambda x: (x.detach().mul_(factor), (x ** 3).sum())[1])(vector(m))

    ours, theirs = [outcome(program, m)[0] for m in (minigrad, torch)]
    assert ours == theirs


@pytest.mark.parametrize("write", [lambda x: x.add_(1), lambda x: x.mul_(2), lambda x: x[:2].add_(1)])
def test_a_tangent_that_is_its_own_primal_stays_apart_from_it(torch, write):
    """In PyTorch a write changes both, so that values may be others than those of the function alone."""
    def program(m, alone):
        x = vector(m)
        return func_of(m).jvp(lambda y: (write(y), (y ** 2).sum())[1], (x,), (x.clone() if alone else x,))

    assert outcome(lambda m: program(m, False), minigrad)[0] == outcome(lambda m: program(m, True), torch)[0]


def test_parameters_say_so(torch):
    def shown(m):
        texts, layer = [], m.nn.Linear(2, 1, bias=False)
        layer.weight.data.fill_(0.5)
        t = func_of(m)

        def see(x):
            texts.extend([repr(layer.weight), repr(x)])
            return layer(x).sum()

        def loss(p):
            texts.append(repr(p["weight"]))
            return t.functional_call(layer, p, (m.ones(1, 2),)).sum()

        see(m.ones(2))
        t.vmap(see)(m.ones(3, 2))
        t.grad(see)(m.ones(2))
        t.grad(loss)(dict(layer.named_parameters()))
        t.vmap(t.grad(loss))({"weight": m.nn.Parameter(m.ones(2, 1, 2))})
        return texts

    assert shown(minigrad) == shown(torch)
