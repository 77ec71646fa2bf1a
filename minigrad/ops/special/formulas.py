"""Special functions on arrays of float64: NumPy has none of them, and they do not justify a dependency on SciPy.

The error function and its relatives rest on one polynomial: (1 + 2x) exp(x²) erfc(x) is smooth on all of [0, ∞) as a
function of t = (x - 3.75) / (x + 3.75), as M. M. Shepherd and J. G. Laframboise found ("Chebyshev approximation of
(1 + 2x) exp(x²) erfc x in 0 ≤ x < ∞", Mathematics of Computation 36, 1981). Its coefficients here are those of the
Chebyshev interpolation in 48 points, computed to 60 digits and truncated below 1e-17; a test recomputes them.
Near 0, erf is its Taylor series. The inverses start from S. Winitzki's formula ("A handy approximation for the error
function and its inverse", 2008), which is accurate to 0.4 %, and are refined by Halley's or Newton's method.
For float32, erf(x) / x is interpolated in the same way as a function of x²/8 - 1, truncated at 1e-8.

The logarithm of the gamma function, its derivatives, and Hurwitz's zeta function: NIST Digital Library of Mathematical
Functions (https://dlmf.nist.gov), 5.5 (recurrence and reflection), 5.7 (series), 5.11 (asymptotic series), 25.11 (zeta
by Euler-Maclaurin). All asymptotic series use Bernoulli numbers.

The modified Bessel functions of the first kind, of order 0 and 1, are up to x = 20 an integral over a quarter of a
circle, I₀(x) = 2/π ∫ cosh(x cos θ) dθ and I₁(x) = 2/π ∫ cos θ sinh(x cos θ) dθ, which the trapezoidal rule computes to
the last digit, since the integrand is periodic and smooth. Above, they are computed by their asymptotic series (same
library, 10.32.1, 10.32.2, 10.40.1). Both are computed times exp(-|x|), which does not overflow.

Worst relative errors, measured against 40 digits: erf, erfinv and ndtri 4e-16, erfc 5e-16, erfcx 2e-15, log_ndtr 7e-15;
for x > 0, lgamma 4e-15, near its zeros 1 and 2 6e-16, digamma 5e-15, polygamma of order 1 to 4, and zeta(s, x) for s
from 1.1 to 20, 1e-15; i0e and i1e for |x| < 700 1e-15. For x < 0, the errors of lgamma and digamma are up to 4e-15 of
max(1, |value|), those of polygamma of order 1 up to 2e-13.
"""

import functools
import math
from typing import Any

import numpy as np

from minigrad.backends.batched import in_all_examples

__all__ = [
    "digamma", "erf", "erf_single", "erfc", "erfcx", "erfinv", "i0", "i0e", "i1", "i1e", "lgamma", "log_ndtr",
    "ndtri", "polygamma", "zeta",
]

PIVOT = 3.75
SCALED = (
    1.2375126308378275, -0.14024059858554697, 0.0035854154854644293, 0.0822767384901452, -0.10880393014174886,
    0.09230432116037748, -0.05869339858963677, 0.028362277418956406, -0.009746579558029276, 0.0017556258528952954,
    0.0002937136655913448, -0.0002901540805408417, 5.164909889268241e-05, 2.238423915508223e-05,
    -1.1444146237700524e-05, -9.73559896736775e-07, 1.751637648849062e-06, -5.7218230603224086e-08,
    -2.5866850716155884e-07, 2.3263508708859124e-08, 3.8675334242222354e-08, -3.744210080962018e-09,
    -5.1739902140113095e-09, 3.1114333809799254e-10, 4.2514714447963895e-10,
)
SINGLE = (
    0.3535309782, -0.1765761719, 0.1316773312, -0.1077133612, 0.09016311718, -0.0746875307, 0.06024739754,
    -0.04601432136, 0.0316793427, -0.02166253226, 0.01718848412, -0.01008590698, 0.001700600698, -0.001076942101,
    0.003002311011, -0.001372815091,
)
TAYLOR = tuple([2 / math.sqrt(math.pi) * (-1) ** n / (math.factorial(n) * (2 * n + 1)) for n in range(13)])
HALF_ROOT_PI = math.sqrt(math.pi) / 2
WINITZKI = 0.147
ROUNDS_TO_ONE = np.float32(3.92)  # from here on erf is nearer to 1 than to any other float32


def polynomial(coefficients: tuple[float, ...], x: Any) -> Any:
    """c₀ + c₁x + c₂x² + …, by Horner's rule."""
    y = np.full_like(x, coefficients[-1])
    for c in coefficients[-2::-1]:
        y *= x
        y += c
    return y


def scaled(x: Any) -> Any:
    """exp(x²) erfc(x) for x ≥ 0."""
    t = 1 - 2 * PIVOT / (x + PIVOT)  # also for x = ∞
    return polynomial(SCALED, t) / (1 + 2 * x)


def gauss(x: Any) -> Any:
    """exp(-x²) for x ≥ 0; the square is split, since its rounding error would be 700 times as large in the result."""
    x = np.minimum(x, 30.0)
    head = x.astype(np.float32).astype(np.float64)  # its square has no rounding error
    return np.exp(-head * head) * np.exp(-(x - head) * (x + head))


def erfcx(x: Any) -> Any:
    """exp(x²) erfc(x)."""
    tail = scaled(abs(x))
    return np.where(x >= 0, tail, 2 * np.exp(x * x) - tail)


def erfc(x: Any) -> Any:
    """1 - erf(x), with full relative precision where it is small."""
    a = abs(x)
    tail = gauss(a) * scaled(a)
    return np.where(a < 0.5, 1 - near_zero(x), np.where(x >= 0, tail, 2 - tail))


def erf(x: Any) -> Any:
    """2/√π times the integral of exp(-t²) from 0 to x."""
    a = abs(x)
    return np.where(a < 0.5, near_zero(x), np.copysign(1 - gauss(a) * scaled(a), x))


def erf_single(x: Any) -> Any:
    """erf of float32, thirty times as fast, since no other function here is as common: x P(x²), accurate to 3e-7."""
    x = np.clip(x, -4, 4)
    y = np.clip(x * polynomial(SINGLE, x * x / 8 - 1), -1, 1)
    return np.where(abs(x) < ROUNDS_TO_ONE, y, np.sign(x))


def near_zero(x: Any) -> Any:
    """erf(x) for |x| ≤ 0.5."""
    x = np.clip(x, -0.5, 0.5)
    return x * polynomial(TAYLOR, x * x)


def erfinv(x: Any) -> Any:
    """The number whose erf is `x`."""
    a = abs(x)
    return np.copysign(inverse(a, 1 - a), x)


def ndtri(p: Any) -> Any:
    """The number that a standard normal variable is below with probability `p`."""
    q = 2 * np.where(p < 0.5, p, 1 - p)
    return math.sqrt(2) * np.where(p < 0.5, -1.0, 1.0) * inverse(1 - q, q)


def inverse(a: Any, q: Any) -> Any:
    """The number ≥ 0 whose erf is `a` = 1 - `q`; `q` is exact where it is small."""
    middle = np.where(a < 0.5, a, 0.25)
    y = winitzki(middle, 1 - middle)
    for _ in range(2):  # Halley's method on erf(y) = a
        u = HALF_ROOT_PI * (erf(y) - middle) * np.exp(y * y)
        y = y - u / (1 + y * u)
    outer = np.where((a >= 0.5) & (q > 0), q, 0.25)
    z = winitzki(1 - outer, outer)
    for _ in range(3):  # Newton's method on log erfc(z) = log q
        s = scaled(z)
        z = z + HALF_ROOT_PI * s * (np.log(s) - z * z - np.log(outer))
    found = np.where(a < 0.5, y, np.where(q == 0, np.inf, z))
    return np.where((a >= 0) & (q >= 0), found, np.nan)


def winitzki(a: Any, q: Any) -> Any:
    """The number whose erf is `a` = 1 - `q`, to 0.4 %."""
    log = np.log(q * (1 + a))
    t = 2 / (math.pi * WINITZKI) + log / 2
    return np.sqrt(np.maximum(np.sqrt(t * t - log / WINITZKI) - t, 0))


def log_ndtr(x: Any) -> Any:
    """The logarithm of the probability that a standard normal variable is below `x`."""
    z = x / math.sqrt(2)
    low = np.log(scaled(np.maximum(-z, 0)) / 2) - z * z
    return np.where(x < -1, low, np.log1p(-erfc(z) / 2))


BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798, -174611 / 330)
EULER = 0.5772156649015329
STIRLING = tuple([b / (2 * k * (2 * k - 1)) for k, b in enumerate(BERNOULLI, 1)])
SLOPES = tuple([b / (2 * k) for k, b in enumerate(BERNOULLI, 1)])
FAR = 10.0  # from here on ten terms of an asymptotic series are enough


def lgamma(x: Any) -> Any:
    """log |Γ(x)|; infinite at 0, -1, -2, …"""
    a = abs(x)
    positive = np.where(a < 3.5, near(np.minimum(a, 3.5)), stirling(np.maximum(a, 3.5)))
    turned = math.log(math.pi) - np.log(a * abs(sine(a))) - positive
    return np.where(x > 0, positive, np.where(np.isinf(x) | (x == np.floor(x)), np.inf, turned))


def stirling(x: Any) -> Any:
    """log Γ(x) for x ≥ 3.5, by its asymptotic series; a small x is first increased by Γ(x + 1) = x Γ(x)."""
    product = np.ones_like(x)
    for _ in range(7):
        small = x < FAR
        product, x = np.where(small, product * x, product), np.where(small, x + 1, x)
    log = np.log(x)
    far = x * (log - 1) - log / 2 + math.log(2 * math.pi) / 2 + polynomial(STIRLING, 1 / (x * x)) / x
    return np.where(np.isinf(x), np.inf, far - np.log(product))


def near(x: Any) -> Any:
    """log Γ(x) for 0 < x ≤ 3.5, from log Γ(2 + z) = (1 - γ) z + Σ (ζ(k) - 1) (-z)ᵏ / k, |z| ≤ 1/2."""
    z = x - np.floor(x + 0.5)
    at_two = z * polynomial(around_two(), z)
    at_one = at_two - np.log1p(z)
    above = np.where(x >= 2.5, at_two + np.log(2 + z), at_two)
    return np.where(x >= 1.5, above, np.where(x >= 0.5, at_one, at_one - np.log(x)))


@functools.cache
def around_two() -> tuple[float, ...]:
    """The coefficients of that series, divided by z."""
    orders = np.arange(2.0, 30.0)
    terms = (-1) ** orders * zeta(orders, np.full_like(orders, 2.0)) / orders
    return (1 - EULER, *terms.tolist())


def sine(x: Any) -> Any:
    """sin(πx), exact even near large integers."""
    whole = np.round(x)
    return np.sin(math.pi * (x - whole)) * np.where(whole % 2 == 0, 1.0, -1.0)


def digamma(x: Any) -> Any:
    """The derivative of log Γ; -∞ at 0, NaN at -1, -2, …"""
    below = x < 0
    r = x - np.round(x)
    z = np.where(below, 1 - x, x)
    added = np.zeros_like(z)
    for _ in range(int(FAR)):
        small = z < FAR
        added, z = np.where(small, added - 1 / z, added), np.where(small, z + 1, z)
    value = added + np.log(z) - 0.5 / z - polynomial(SLOPES, 1 / (z * z)) / (z * z)
    value = np.where(below, value - math.pi / np.tan(math.pi * r), value)
    value = np.where(below & (r == 0), np.nan, value)
    return np.where(x == 0, np.copysign(np.inf, -x), np.where(x == np.inf, np.inf, value))


def polygamma(n: int, x: Any) -> Any:
    """The derivative of order n + 1 of log Γ."""
    if n == 0:
        return digamma(x)
    if n == 1:  # by reflection, which saves the sum of `zeta` for small x
        turned = (math.pi / np.sin(math.pi * x)) ** 2 - zeta(np.full_like(x, 2.0), np.where(x < 0.5, 1 - x, 1.0))
        direct = zeta(np.full_like(x, 2.0), np.where(x < 0.5, 1.0, x))
        return np.where(x < 0.5, turned, np.where(x == np.inf, 0.0, direct))
    return (-1.0) ** (n + 1) * math.factorial(n) * zeta(np.full_like(x, n + 1.0), x)


def zeta(s: Any, q: Any) -> Any:
    """Hurwitz's zeta function, Σ (q + k)⁻ˢ over k ≥ 0.

    As in PyTorch, infinite at s = 1 and at q = 0, -1, -2, …; NaN for s < 1 and at q = ∞.
    """
    s, q = np.broadcast_arrays(s, q)
    pole = (q <= 0) & (q == np.floor(q))
    a = np.where(pole | ~np.isfinite(q), 1.0, q)
    far = FAR + np.minimum(s, 100) / 2  # the larger s is, the later the series is accurate
    total = np.zeros_like(a)
    for _ in range(math.ceil(max(0.0, float(in_all_examples(np.where(s > 1, far - a, 0)).max()))) if a.size else 0):
        small = a < far
        total, a = np.where(small, total + a ** -s, total), np.where(small, a + 1, a)
    power = a ** -s
    total = total + a ** (1 - s) / (s - 1) + power / 2
    factor = s * power / a
    for k, b in enumerate(BERNOULLI, 1):  # b / (2k)! s (s + 1) … (s + 2k - 2) a^(1 - s - 2k)
        total = total + b / math.factorial(2 * k) * factor
        factor = factor * (s + 2 * k - 1) * (s + 2 * k) / (a * a)
    total = np.where(pole, np.inf, np.where(np.isfinite(q), total, np.nan))
    return np.where(s == 1, np.inf, np.where(s < 1, np.nan, total))


LARGE = 20.0
STEPS = 18  # in a quarter of the circle


def i0e(x: Any) -> Any:
    """exp(-|x|) I₀(x)."""
    a = abs(x)
    return np.where(a < LARGE, integral(np.minimum(a, LARGE), 0), asymptotic(np.maximum(a, LARGE), 0))


def i1e(x: Any) -> Any:
    """exp(-|x|) I₁(x)."""
    a = abs(x)
    return np.copysign(np.where(a < LARGE, integral(np.minimum(a, LARGE), 1), asymptotic(np.maximum(a, LARGE), 1)), x)


def i0(x: Any) -> Any:
    """I₀(x)."""
    return np.exp(abs(x)) * i0e(x)


def i1(x: Any) -> Any:
    """I₁(x)."""
    return np.exp(abs(x)) * i1e(x)


def integral(x: Any, order: int) -> Any:
    """exp(-x) Iₙ(x), by the trapezoidal rule."""
    total = np.zeros_like(x)
    for k in range(STEPS):  # at k = STEPS the cosine is 0: there cosh is 1, and sinh 0
        c = math.cos(math.pi / 2 * k / STEPS)
        weight = 0.5 if k == 0 else 1.0
        if order == 0:
            total += weight * (np.exp(x * (c - 1)) + np.exp(-x * (c + 1)))
        else:
            total -= weight * c * np.exp(x * (c - 1)) * np.expm1(-2 * x * c)
    if order == 0:
        total += np.exp(-x)
    return total / (2 * STEPS)


def asymptotic(x: Any, order: int) -> Any:
    """exp(-x) Iₙ(x) for large x."""
    term = total = np.ones_like(x)
    for k in range(1, 26):
        term = term * ((2 * k - 1) ** 2 - 4 * order) / (8 * k * x)
        total = total + term
    return total / np.sqrt(2 * math.pi * x)
