"""Special functions against 40 digits: they are as exact as their modules say, and their table is what it claims."""

from __future__ import annotations

import numpy as np
import pytest

from minigrad.ops.special import formulas

mp = pytest.importorskip("mpmath")


@pytest.fixture(autouse=True)
def digits():
    with mp.workdps(40):
        yield


def worst(ours, exact, numbers, relative=True):
    """The worst error, relative to the exact value or to max(1, |exact value|)."""
    with np.errstate(all="ignore"):
        values = ours(numbers)
    errors = []
    for x, value in zip(numbers.tolist(), values.tolist(), strict=True):
        right = exact(mp.mpf(x))
        errors.append(float(abs(value - right) / (abs(right) if relative else max(1, abs(right)))))
    return max(errors)


def drawn(low, high, count=300):
    return np.random.RandomState(0).uniform(low, high, count)


def tiny(count=50):
    """Small numbers; the last ten are not so small."""
    exponents = np.random.RandomState(1).uniform(-300, -1, count)
    return 10 ** np.concatenate([exponents[:-10], exponents[-10:] / 30])


def erfcx(x):
    return mp.exp(x * x) * mp.erfc(x)


CASES = {
    "erf": (formulas.erf, mp.erf, np.concatenate([drawn(-6, 6), tiny()]), 5e-16),
    "erfc": (formulas.erfc, mp.erfc, np.concatenate([drawn(-6, 6), drawn(0, 26)]), 6e-16),
    "erfcx": (formulas.erfcx, erfcx, np.concatenate([drawn(-5, 6), drawn(0, 50)]), 2e-15),
    "erfinv": (formulas.erfinv, mp.erfinv, np.concatenate([drawn(-1, 1), 1 - tiny()[-10:], tiny()]), 5e-16),
    "log_ndtr": (formulas.log_ndtr, lambda x: mp.log(mp.erfc(-x / mp.sqrt(2)) / 2), drawn(-30, 6), 7e-15),
    "lgamma": (formulas.lgamma, mp.loggamma, np.concatenate([drawn(0, 200), drawn(0, 4), 1 + tiny()[-9:],
                                                           2 - tiny()[-9:]]), 4e-15),
    "digamma": (formulas.digamma, mp.digamma, np.concatenate([drawn(1.6, 200), drawn(0, 1.3)]), 5e-15),
    "polygamma 1": (lambda x: formulas.polygamma(1, x), lambda x: mp.polygamma(1, x), drawn(0.01, 50), 1e-15),
    "polygamma 3": (lambda x: formulas.polygamma(3, x), lambda x: mp.polygamma(3, x), drawn(0.01, 50, 100), 1e-15),
    "zeta": (lambda q: formulas.zeta(np.full_like(q, 2.3), q), lambda q: mp.zeta(mp.mpf(2.3), q), drawn(0.01, 99, 50),
             1e-15),
    "i0e": (formulas.i0e, lambda x: mp.besseli(0, x) * mp.exp(-abs(x)), drawn(-60, 60), 1.1e-15),
    "i1e": (formulas.i1e, lambda x: mp.besseli(1, x) * mp.exp(-abs(x)), np.concatenate([drawn(-60, 60), tiny()]),
            1e-15),
}


@pytest.mark.parametrize("name", CASES)
def test_as_exact_as_stated(name):
    ours, exact, numbers, bound = CASES[name]
    assert worst(ours, exact, numbers) <= bound


@pytest.mark.parametrize("name", ["lgamma", "digamma"])
def test_below_zero(name):
    exact = {"lgamma": lambda x: mp.log(abs(mp.gamma(x))), "digamma": mp.digamma}[name]
    assert worst(getattr(formulas, name), exact, drawn(-20, 0), relative=False) <= 4e-15


def test_ndtri_is_the_inverse():
    p = np.concatenate([drawn(0, 1), tiny()])
    back = [mp.erfc(-mp.mpf(y) / mp.sqrt(2)) / 2 for y in formulas.ndtri(p).tolist()]
    grows = 1 + formulas.ndtri(p) ** 2  # by how much a relative error of the result grows on the way back
    assert max(np.array([float(abs(b - q) / q) for b, q in zip(back, p.tolist(), strict=True)]) / grows) <= 1e-15


def interpolated(function, count, terms):
    """The coefficients, of powers of t, of the interpolation of a function in Chebyshev points of [-1, 1]."""
    angles = [mp.pi * (j + mp.mpf(1) / 2) / count for j in range(count)]
    values = [function(mp.cos(a)) for a in angles]
    powers = [mp.mpf(0)] * terms
    before, now = [mp.mpf(1)], [mp.mpf(0), mp.mpf(1)]  # Chebyshev's polynomials, from one to the next
    for k in range(terms):
        term = (2 if k else 1) * sum(v * mp.cos(k * a) for v, a in zip(values, angles, strict=True)) / count
        for i, c in enumerate(before):
            powers[i] += term * c
        after = [mp.mpf(0), *[2 * c for c in now]]
        before, now = now, [c - (before[i] if i < len(before) else 0) for i, c in enumerate(after)]
    return [float(c) for c in powers]


def test_the_tables_are_interpolations_in_chebyshev_points():
    with mp.workdps(60):
        def scaled(t):
            x = mp.mpf(formulas.PIVOT) * (1 + t) / (1 - t)
            return (1 + 2 * x) * erfcx(x)

        def single(t):
            x = mp.sqrt(8 * (1 + t))
            return mp.erf(x) / x

        assert interpolated(scaled, 48, len(formulas.SCALED)) == pytest.approx(formulas.SCALED, rel=1e-14, abs=1e-24)
        assert interpolated(single, 40, len(formulas.SINGLE)) == pytest.approx(formulas.SINGLE, rel=1e-9)


def test_erf_of_float32():
    x = np.concatenate([drawn(-5, 5, 3000), tiny()[-10:]]).astype(np.float32)
    assert max(abs(formulas.erf_single(x) / formulas.erf(x.astype(np.float64)) - 1)) <= 3e-7
    large = np.array([3.92, 4, 10, np.inf], np.float32)
    assert (formulas.erf_single(large) == 1).all() and (formulas.erf_single(-large) == -1).all()
    assert abs(formulas.erf_single(np.linspace(3, 4, 100_001, dtype=np.float32))).max() == 1
    assert np.isnan(formulas.erf_single(np.float32(np.nan)))
