"""Derivatives of functions: what they are, and that nothing is left behind."""

from __future__ import annotations

import gc
import weakref

import pytest

import minigrad
from minigrad.autograd import functional, gradcheck, gradgradcheck

PRODUCTS = ("vjp", "jvp", "vhp", "hvp")
ALL = (*PRODUCTS, "jacobian", "hessian")


def leaf(m):
    """Two values."""
    return m.tensor([1.0, 2.0], requires_grad=True)


def call(m, which, func, x, **flags):
    """One of the six at `x`, with ones for a vector."""
    of = getattr(m.autograd.functional, which)
    return of(func, x, m.ones(2) if which in ("jvp", "vhp", "hvp") else None, **flags) if which in PRODUCTS else of(
        func, x, **flags)


def quartic(x):
    """One element: the sum of x ** 4, and of a product so that the Hessian is not diagonal."""
    return (x ** 4).sum() + x[0] * x[1]


ANSWERS = {
    "vjp": (19.0, [6.0, 33.0]),
    "jvp": (19.0, 39.0),
    "vhp": (19.0, [13.0, 49.0]),
    "hvp": (19.0, [13.0, 49.0]),
    "jacobian": [6.0, 33.0],
    "hessian": [[12.0, 1.0], [1.0, 48.0]],
}


@pytest.mark.parametrize("which", ALL)
def test_numbers(m, which):
    found = call(m, which, quartic, leaf(m))
    assert (tuple(t.tolist() for t in found) if which in PRODUCTS else found.tolist()) == ANSWERS[which]


def test_the_product_with_a_vector_from_either_side(m):
    matrix = m.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    of = m.autograd.functional
    assert of.vjp(lambda x: matrix @ x, m.ones(3), m.tensor([1.0, 10.0]))[1].tolist() == [41.0, 52.0, 63.0]
    assert of.jvp(lambda x: matrix @ x, m.ones(3), m.tensor([1.0, 0.0, 10.0]))[1].tolist() == [31.0, 64.0]
    for flags in ({}, {"vectorize": True}):
        assert of.jacobian(lambda x: matrix @ x, m.ones(3), **flags).tolist() == matrix.tolist()


def test_forward_mode_gives_the_same_jacobian():
    x, y = leaf(minigrad), minigrad.ones(3)

    def func(x, y):
        return x.exp().sum() * y, x * 2

    forward = functional.jacobian(func, (x, y), vectorize=True, strategy="forward-mode")
    backward = functional.jacobian(func, (x, y))
    for a, b in zip(forward, backward, strict=True):
        for one, other in zip(a, b, strict=True):
            assert minigrad.allclose(one, other)


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("which", ALL)
def test_inputs_are_as_they_were(m, which, create_graph):
    x = leaf(m)
    plain = m.tensor([1.0, 2.0])
    for given in (x, plain):
        call(m, which, quartic, given, create_graph=create_graph)
        assert (given.tolist(), given.grad, given._version, given.is_leaf) == ([1.0, 2.0], None, 0, True)
    assert (x.requires_grad, plain.requires_grad) == (True, False)


@pytest.mark.parametrize("which", ALL)
def test_results_have_a_graph_if_that_is_wanted(m, which):
    for create_graph in (False, True):
        found = call(m, which, quartic, leaf(m), create_graph=create_graph)
        for tensor in found if which in PRODUCTS else [found]:
            assert tensor.requires_grad == create_graph


def test_what_the_function_takes_from_elsewhere_is_a_constant(m):
    x = leaf(m)
    assert m.autograd.functional.jacobian(lambda y: x * y, x).tolist() == [[1.0, 0.0], [0.0, 2.0]]
    found = m.autograd.functional.jacobian(lambda y: x * y, x, create_graph=True)
    (g,) = m.autograd.grad(found.sum(), x)
    assert g.tolist() == [1.0, 1.0]


def test_the_function_runs_once_with_grad_mode_on(m):
    modes = []

    def func(x):
        modes.append((m.is_grad_enabled(), x.requires_grad))
        return quartic(x)

    with m.no_grad():
        for which in ALL:
            call(m, which, func, leaf(m))
        assert not m.is_grad_enabled()
    assert modes == [(True, True)] * len(ALL)


def test_grad_mode_is_back_after_an_error(m):
    with m.no_grad():
        for which in ALL:
            with pytest.raises(ZeroDivisionError):
                call(m, which, lambda x: 1 // 0, leaf(m))
            assert not m.is_grad_enabled()


@pytest.mark.parametrize("which", ALL)
def test_nothing_is_left_behind(which):
    seen = []

    def func(x):
        seen.append(weakref.ref(x))
        return quartic(x)

    gc.collect()
    gc.disable()
    try:
        found = call(minigrad, which, func, leaf(minigrad))
        assert [reference() for reference in seen] == [None]
        del found
        call(minigrad, which, func, leaf(minigrad), create_graph=True)
        assert seen[1]() is None
    finally:
        gc.enable()


def test_strict_names_the_input(m):
    with pytest.raises(RuntimeError, match="independent of input 1. This is not allowed in strict mode"):
        m.autograd.functional.vjp(lambda x, y: x.sum(), (leaf(m), leaf(m)), strict=True)
    _, (a, b) = m.autograd.functional.vjp(lambda x, y: x.sum(), (leaf(m), leaf(m)))
    assert (a.tolist(), b.tolist()) == ([1.0, 1.0], [0.0, 0.0])


def double(*values):
    """A leaf of float64."""
    return minigrad.tensor(values, dtype=minigrad.float64, requires_grad=True)


def polynomial(x, y):
    """One element, or with `jvp` and `vjp` of two: with all derivatives."""
    return (x ** 3 * y).sum() + (x * y ** 2).sum()


@pytest.mark.parametrize("which", ALL)
def test_derivatives_of_results(which):
    """By `gradcheck` and `gradgradcheck`, by the inputs and by the vector."""
    of = getattr(functional, which)

    def func(x, y, *v):
        vectors = {"vjp": v[:1], "jvp": v[1:], "vhp": v[1:], "hvp": v[1:]}.get(which, ())
        given = () if not vectors else (vectors[0] if which == "vjp" else vectors,)
        found = of(polynomial, (x.cos(), y), *given, create_graph=True)
        if which == "hessian":
            return [block for row in found for block in row]
        return [found[0], *(found[1] if isinstance(found[1], tuple) else found[1:])]

    inputs = double(0.3, -1.2), double(0.7, 0.4), double(1.5)[0], double(0.5, 2.0), double(-0.6, 0.1)
    assert gradcheck(func, inputs)
    assert gradgradcheck(func, inputs, fast_mode=True)


@pytest.mark.parametrize("vectorize", [False, True])
def test_matrices_agree_with_products(m, vectorize):
    x, v, of = leaf(m), m.tensor([3.0, -1.0]), m.autograd.functional
    jac = of.jacobian(lambda x: x ** 3 + x.sum(), x, vectorize=vectorize)
    hes = of.hessian(quartic, x, vectorize=vectorize)
    assert m.equal(of.vjp(lambda x: x ** 3 + x.sum(), x, v)[1], v @ jac)
    assert m.equal(of.jvp(lambda x: x ** 3 + x.sum(), x, v)[1], jac @ v)
    assert m.equal(of.vhp(quartic, x, v)[1], v @ hes) and m.equal(of.hvp(quartic, x, v)[1], hes @ v)
