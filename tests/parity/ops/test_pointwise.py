"""Pointwise maths where it is delicate: at zeros, infinities, NaN, kinks and ties, in float16, and what is refused."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import minigrad
from tests.parity.compare import numbers

pytestmark = pytest.mark.torch

INF, NAN = float("inf"), float("nan")
EDGES = [0.0, -0.0, 1.0, -1.0, NAN, 0.5, -0.5, 2.0, -2.0, 1.5, -1.5, 1e-3, 30.0, -30.0, 1e-30, 1e30, INF, -INF]
UNARY = ("abs acos acosh asin asinh atan atanh ceil cos cosh deg2rad digamma erf erfc erfinv exp exp2 expm1 floor frac "
         "i0 lgamma log log10 log1p log2 logit nan_to_num neg rad2deg reciprocal round rsqrt sgn sigmoid sign sin sinc "
         "sinh sqrt square tan tanh trunc").split()
SPECIAL = "entr erfcx i0e i1 i1e log_ndtr ndtr ndtri".split()
BINARY = ("atan2 copysign fmax fmin fmod hypot ldexp logaddexp logaddexp2 maximum minimum pow remainder xlogy").split()
NUMBERS = {
    "clamp": lambda x: x.clamp(-0.5, 1.0), "clamp, low above high": lambda x: x.clamp(1.0, 0.0),
    "clamp, NaN": lambda x: x.clamp(min=NAN), "clamp_min": lambda x: x.clamp_min(0.0),
    "clamp_max": lambda x: x.clamp_max(0.5), "logit, eps": lambda x: x.logit(0.25), "fmod": lambda x: x.fmod(0.3),
    "remainder": lambda x: x % -0.3, "round": lambda x: x.round(decimals=1), "copysign": lambda x: x.copysign(-0.0),
    "xlogy": lambda x: x.xlogy(-1.0), "nan_to_num": lambda x: x.nan_to_num(1.0, 2.0, 3.0), "pow": lambda x: x ** 2.5,
    **{f"pow {n}": lambda x, n=n: x ** n for n in (0.5, -0.5, 1.5, -1.5, -1, -2, 2, 3, 0)},
    "polygamma": lambda x: x.polygamma(2), "mvlgamma": lambda x: (abs(x) + 2).mvlgamma(3), "div": lambda x: x / 0,
}


def values_and_slopes(lib, call, arrays, dtype):
    """What a call gives for some arrays, and the gradients of its sum."""
    leaves = [lib.tensor(array.tolist(), dtype=getattr(lib, dtype), requires_grad=True) for array in arrays]
    made = call(lib, *leaves)
    return [numbers(made), *[numbers(g) for g in lib.autograd.grad(made.sum(), leaves)]]


def same(torch, call, arrays, dtype, tolerance):
    """Assert that values and gradients agree, those that are infinite or NaN too."""
    ours, theirs = (values_and_slopes(lib, call, arrays, dtype) for lib in (minigrad, torch))
    for mine, right in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(mine, right, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", UNARY)
def test_edges(torch, name):
    same(torch, lambda lib, x: getattr(lib, name)(x), [np.array(EDGES)], "float64", 1e-9)


@pytest.mark.parametrize("name", SPECIAL)
def test_edges_of_special_functions(torch, name):
    edges = EDGES[:-1] if name == "log_ndtr" else EDGES  # at -inf its slope is NaN in PyTorch, inf in minigrad
    same(torch, lambda lib, x: getattr(lib.special, name)(x), [np.array(edges)], "float64", 1e-9)


@pytest.mark.parametrize("name", NUMBERS)
def test_edges_with_a_number(torch, name):
    same(torch, lambda lib, x: NUMBERS[name](x), [np.array(EDGES)], "float64", 1e-9)


@pytest.mark.parametrize("name", BINARY)
def test_edges_in_pairs(torch, name):
    few = [0.0, -0.0, 1.0, -1.0, 0.5, -2.0, INF, -INF, NAN]
    pairs = np.array(list(itertools.product(few, few))).T
    same(torch, lambda lib, x, y: getattr(lib, name)(x, y), list(pairs), "float64", 1e-9)


def test_every_order_of_bounds(torch):
    few = [0.0, 1.0, 2.0, NAN]
    triples = np.array(list(itertools.product(few, few, few))).T
    same(torch, lambda lib, x, low, high: x.clamp(low, high), list(triples), "float64", 0)
    pairs = list(triples[:2])
    for call in (lambda lib, x, y: x.clamp(y), lambda lib, x, y: x.clamp(max=y), lambda lib, x, y: x.clamp_min(y),
                 lambda lib, x, y: x.clamp_max(y), lambda lib, x, y: lib.where(x > y, x, y)):
        same(torch, call, pairs, "float64", 0)


OF_SEVERAL = {"lerp": 3, "addcmul": 3, "addcdiv": 3, "hypot": 2, "atan2": 2, "xlogy": 2, "div": 2, "float_power": 2}


@pytest.mark.parametrize("name", [*UNARY, *OF_SEVERAL])
def test_half_precision(torch, name):
    x = np.linspace(0.25, 0.75, 9)
    shift = 1 if name == "acosh" else 0
    same(torch, lambda lib, *each: getattr(lib, name)(*each), [x + shift] * OF_SEVERAL.get(name, 1), "float16", 4e-3)


REFUSED = {
    "clamp of nothing": lambda m, x, i, b: x.clamp(),
    "clamp of bools": lambda m, x, i, b: b.clamp(False, True),
    "clamp_min of bools": lambda m, x, i, b: b.clamp_min(False),
    "clamp beyond the dtype": lambda m, x, i, b: i.to(m.uint8).clamp(-1, 300),
    "lerp of integers": lambda m, x, i, b: m.lerp(i, i, 0.5),
    "lerp of dtypes": lambda m, x, i, b: m.lerp(x, x.double(), 0.5),
    "lerp by another dtype": lambda m, x, i, b: m.lerp(x, x, x.double()),
    "addcdiv of integers": lambda m, x, i, b: m.addcdiv(x, i, i),
    "addcmul of bools": lambda m, x, i, b: m.addcmul(b, b, b),
    "rounding mode": lambda m, x, i, b: m.div(x, x, rounding_mode="up"),
    "integers over 0": lambda m, x, i, b: i // 0,
    "integers modulo 0": lambda m, x, i, b: i % (i - i),
    "fmod 0": lambda m, x, i, b: m.fmod(i, 0),
    "bools over bools": lambda m, x, i, b: b // b,
    "remainder of bools": lambda m, x, i, b: b % b,
    "hypot of integers": lambda m, x, i, b: m.hypot(i, i),
    "logaddexp of integers": lambda m, x, i, b: m.logaddexp(i, i),
    "nextafter of integers": lambda m, x, i, b: m.nextafter(i, i),
    "gcd of floats": lambda m, x, i, b: m.gcd(x, x),
    "heaviside of dtypes": lambda m, x, i, b: m.heaviside(x, x.double()),
    "float_power_ of float32": lambda m, x, i, b: x.clone().float_power_(2),
    "frac of integers": lambda m, x, i, b: i.frac(),
    "round to decimals of integers": lambda m, x, i, b: i.round(decimals=1),
    "ceil of bools": lambda m, x, i, b: b.ceil(),
    "polygamma of less than 0": lambda m, x, i, b: m.polygamma(-1, x),
    "mvlgamma of 0": lambda m, x, i, b: m.mvlgamma(x, 0),
    "mvlgamma of bools": lambda m, x, i, b: m.mvlgamma(b, 1),
    "ndtri of float16": lambda m, x, i, b: m.special.ndtri(x.half()),
    "zeta of float16": lambda m, x, i, b: m.special.zeta(x.half(), 2),
    "bits of floats": lambda m, x, i, b: i & x,
    "bits of a float": lambda m, x, i, b: i | 1.5,
    "not of floats": lambda m, x, i, b: m.bitwise_not(x),
    "inverse of floats": lambda m, x, i, b: ~x,
    "shift of floats": lambda m, x, i, b: x << 1,
    "shift of bools": lambda m, x, i, b: b << b,
    "isin of bools": lambda m, x, i, b: m.isin(b, b),
    "where of integers": lambda m, x, i, b: m.where(i, x, x),
    "where of shapes": lambda m, x, i, b: m.where(b, x, m.ones(3)),
    "plus of bools": lambda m, x, i, b: +b,
    "rsub of bools": lambda m, x, i, b: m.rsub(b, i),
    "maximum of shapes": lambda m, x, i, b: m.maximum(x, m.ones(3)),
    "erf_ of integers": lambda m, x, i, b: i.clone().erf_(),
    "isclose of dtypes": lambda m, x, i, b: m.isclose(x, x.double()),
    "isclose, rtol": lambda m, x, i, b: m.isclose(x, x, rtol=-1.0),
    "isclose, atol": lambda m, x, i, b: m.allclose(x, x, atol=-1.0),
    "no slope of //": lambda m, x, i, b: (x.requires_grad_() // 2).sum().backward(),
    "no slope of a number % x": lambda m, x, i, b: (2 % x.requires_grad_()).sum().backward(),
    "no slope of heaviside": lambda m, x, i, b: m.heaviside(x.requires_grad_(), x).sum().backward(),
    "no slope of zeta": lambda m, x, i, b: m.special.zeta(x.requires_grad_() + 1, 2).sum().backward(),
    "no slope of asinh_": lambda m, x, i, b: x.requires_grad_().clone().asinh_().sum().backward(),
    "negative power of integers": lambda m, x, i, b: i ** -1,
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_with_the_same_sentence(torch, name):
    said = []
    for lib in (minigrad, torch):
        with pytest.raises((RuntimeError, TypeError, NotImplementedError)) as caught:
            REFUSED[name](lib, lib.tensor([1.0, 2.0]), lib.tensor([1, 2]), lib.tensor([True, False]))
        said.append((caught.type, str(caught.value).split("\n\n")[0]))
    assert said[0] == said[1]


def test_a_condition_of_uint8_warns(torch):
    texts = []
    for lib in (minigrad, torch):
        with pytest.warns(UserWarning) as caught:
            made = lib.where(lib.tensor([1, 0], dtype=lib.uint8), 1.0, 2.0)
        assert made.tolist() == [1.0, 2.0]
        texts.append(str(caught[0].message).split(" (Triggered")[0])
    assert texts[0] == texts[1]


@pytest.mark.parametrize("dtype", ["int64", "int32", "int8", "uint8"])
def test_integers_divide_alike(torch, dtype):
    a, b = np.array(list(itertools.product(range(-7, 8), (-3, -2, -1, 1, 2, 3)))).T
    if dtype == "uint8":
        a, b = abs(a), abs(b)
    sides = []
    for lib in (minigrad, torch):
        x, y = lib.from_numpy(a.astype(dtype)), lib.from_numpy(b.astype(dtype))
        sides.append([v.tolist() for v in (x // y, x % y, lib.fmod(x, y), lib.div(x, y, rounding_mode="trunc"), x // 2,
                                           7 // y, 7 % y, lib.gcd(x, y), lib.lcm(x, y), x ** abs(y), x & y, x ^ 3)])
    assert sides[0] == sides[1]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("exponent", [0.5, -0.5, 1.5, 2, 3, -1])
def test_powers_of_the_ends_of_the_line(torch, exponent, dtype):
    """Of -inf and -0. a square root is another number than the power of 0.5: which one PyTorch takes is its kernels'
    choice."""
    def powers(m):
        x = m.tensor([-math.inf, -0.0, 0.0, math.inf, -2.0, 4.0], dtype=getattr(m, dtype))
        y = m.full((), exponent, dtype=x.dtype)
        found = [x ** exponent, x ** y, x ** y.expand(6), x ** y.expand(6).clone(), x[0] ** y, x[1:2] ** y]
        return [[str(v) for v in each.flatten().tolist()] for each in found]

    assert powers(minigrad) == powers(torch)
