"""Lines of the table of ops for pointwise maths: see `cases.py`."""

from __future__ import annotations

from tests.parity.compare import Input, double, frozen, integers, leaf, positive

CASES = {
    # one tensor
    "exp2": (lambda m, a: m.exp2(a), [leaf(2, 3)]),
    "expm1": (lambda m, a: a.expm1(), [leaf(2, 3)]),
    "log2": (lambda m, a: m.log2(a), [positive(3)]),
    "log10": (lambda m, a: a.log10(), [positive(3)]),
    "log1p": (lambda m, a: a.log1p(), [positive(3)]),
    "rsqrt": (lambda m, a: m.rsqrt(a), [positive(3)]),
    "tan": (lambda m, a: a.tan(), [leaf(3)]),
    "asin": (lambda m, a: m.asin(a / 2), [leaf(3)]),
    "acos": (lambda m, a: m.acos(a / 2), [leaf(3)]),
    "atan": (lambda m, a: m.atan(a), [leaf(3)]),
    "arcsin, arccos, arctan": (lambda m, a: [m.arcsin(a / 2), (a / 2).arccos(), m.arctan(a)], [leaf(3)]),
    "sinh": (lambda m, a: a.sinh(), [leaf(3)]),
    "cosh": (lambda m, a: a.cosh(), [leaf(3)]),
    "asinh": (lambda m, a: m.asinh(a), [leaf(3)]),
    "acosh": (lambda m, a: m.acosh(a + 1), [positive(3)]),
    "atanh": (lambda m, a: m.atanh(a / 2), [leaf(3)]),
    "arcsinh, arccosh, arctanh": (lambda m, a: [m.arcsinh(a), m.arccosh(a + 1), (a / 2).arctanh()], [positive(3)]),
    "sinc": (lambda m, a: m.sinc(a), [leaf(5)]),
    "sinc of 0": (lambda m, a: m.sinc(a - a.detach()), [leaf(3)]),
    "deg2rad": (lambda m, a: m.deg2rad(a), [leaf(3)]),
    "rad2deg": (lambda m, a: a.rad2deg(), [leaf(3)]),
    # special functions
    "erf": (lambda m, a: m.erf(a), [leaf(5)]),
    "erfc": (lambda m, a: a.erfc(), [leaf(5)]),
    "erfinv": (lambda m, a: m.erfinv(a / 2), [leaf(5)]),
    "erfcx": (lambda m, a: m.special.erfcx(a), [leaf(5)]),
    "ndtr": (lambda m, a: m.special.ndtr(a), [leaf(5)]),
    "ndtri": (lambda m, a: m.special.ndtri(a / 2), [positive(5)]),
    "log_ndtr": (lambda m, a: m.special.log_ndtr(a), [leaf(5)]),
    "entr": (lambda m, a: m.special.entr(a), [positive(5)]),
    "lgamma": (lambda m, a: [m.lgamma(a), m.special.gammaln(a)], [positive(5)]),
    "digamma": (lambda m, a: [a.digamma(), m.special.psi(a)], [positive(5)]),
    "polygamma": (lambda m, a: [m.polygamma(1, a), a.polygamma(0)], [positive(5)]),
    "polygamma 2": (lambda m, a: m.special.polygamma(2, a), [positive(5)]),
    "mvlgamma": (lambda m, a: [m.mvlgamma(a + 2, 3), m.special.multigammaln(a + 2, 2)], [positive(5)]),
    "i0": (lambda m, a: m.i0(a), [leaf(5)]),
    "i0e": (lambda m, a: m.special.i0e(a), [leaf(5)]),
    "i1": (lambda m, a: m.special.i1(a), [leaf(5)]),
    "i1e": (lambda m, a: m.special.i1e(a), [leaf(5)]),
    "logit": (lambda m, a: [m.logit(a / 2), m.special.expit(a)], [positive(5)]),
    "logit eps": (lambda m, a: (a / 2).logit(0.3), [positive(5)]),
    "xlogy": (lambda m, a, b: m.xlogy(a, b), [leaf(2, 3), positive(3)]),
    "xlogy by number": (lambda m, a: m.xlogy(a, 2), [leaf(3)]),
    "xlogy of number": (lambda m, a: m.xlogy(2, a), [positive(3)]),
    "xlogy at 0": (lambda m, a, b: m.xlogy(a - a.detach(), b - b.detach()), [leaf(3), frozen(3)]),
    "xlog1py": (lambda m, a, b: m.special.xlog1py(a, b), [leaf(2, 3), positive(3)]),
    "xlog1py by number": (lambda m, a: m.special.xlog1py(a, 2), [leaf(3)]),
    "xlog1py of number": (lambda m, a: m.special.xlog1py(2, a), [positive(3)]),
    "zeta": (lambda m, a, b: m.special.zeta(a + 1, b), [Input((2, 3), positive=True, grad=False), positive(3)]),
    "zeta of number": (lambda m, a: m.special.zeta(3, a), [positive(3)]),
    # rounding
    "ceil": (lambda m, a: a.ceil(), [leaf(5)]),
    "floor": (lambda m, a: m.floor(a), [leaf(5)]),
    "round": (lambda m, a: [m.round(a), (a * 0 + 2.5).round()], [leaf(5)]),
    "round decimals": (lambda m, a: [a.round(decimals=1), m.round(a * 100, decimals=-1)], [leaf(5)]),
    "trunc": (lambda m, a: [a.trunc(), m.fix(a)], [leaf(5)]),
    "frac": (lambda m, a: a.frac(), [leaf(5)]),
    "sgn": (lambda m, a: m.sgn(a), [leaf(5)]),
    # division
    "div floor": (lambda m, a, b: m.div(a, b, rounding_mode="floor"), [leaf(2, 3), leaf(3)]),
    "div trunc": (lambda m, a, b: a.div(b, rounding_mode="trunc"), [leaf(2, 3), leaf(3)]),
    "div no rounding": (lambda m, a, b: m.divide(a, b, rounding_mode=None), [leaf(2, 3), leaf(3)]),
    "div trunc by number": (lambda m, a: a.div(0.3, rounding_mode="trunc"), [leaf(3)]),
    "div floor of data": (lambda m, a, b: m.div(a, b, rounding_mode="floor"), [frozen(2, 3), leaf(3)]),
    "fmod": (lambda m, a: m.fmod(a, 0.4), [leaf(5)]),
    "fmod tensor": (lambda m, a, b: a.fmod(b), [leaf(2, 3), leaf(3)]),
    "fmod by data": (lambda m, a, b: m.fmod(a, b), [leaf(2, 3), frozen(3)]),
    "remainder": (lambda m, a: a % 0.4, [leaf(5)]),
    "remainder tensor": (lambda m, a, b: m.remainder(a, b), [leaf(2, 3), leaf(3)]),
    "remainder by data": (lambda m, a, b: a % b, [leaf(2, 3), frozen(3)]),
    # bounds, the larger and the smaller
    "clamp": (lambda m, a: a.clamp(-0.5, 0.9), [leaf(9)]),
    "clamp min": (lambda m, a: m.clamp(a, min=-0.5), [leaf(9)]),
    "clamp max": (lambda m, a: m.clip(a, max=0.5), [leaf(9)]),
    "clamp tensors": (lambda m, a, b, c: m.clamp(a, b, c), [leaf(2, 3), leaf(3), leaf(2, 1)]),
    "clamp min tensor": (lambda m, a, b: a.clip(b), [leaf(2, 3), leaf(3)]),
    "clamp max tensor": (lambda m, a, b: m.clamp(a, max=b), [leaf(2, 3), leaf(3)]),
    "clamp_min": (lambda m, a: m.clamp_min(a, 0.4), [leaf(5)]),
    "clamp_max": (lambda m, a: a.clamp_max(0.4), [leaf(5)]),
    "clamp_min tensor": (lambda m, a, b: m.clamp_min(a, b), [leaf(2, 3), leaf(3)]),
    "clamp_max tensor": (lambda m, a, b: a.clamp_max(b), [leaf(2, 3), leaf(3)]),
    "maximum": (lambda m, a, b: m.maximum(a, b), [leaf(2, 3), leaf(3)]),
    "maximum of equals": (lambda m, a: m.maximum(a, a), [leaf(3)]),
    "minimum": (lambda m, a, b: m.minimum(a, b), [leaf(2, 3), leaf(3)]),
    "fmax": (lambda m, a, b: a.fmax(b), [leaf(2, 3), leaf(3)]),
    "fmin": (lambda m, a, b: a.fmin(b), [leaf(2, 3), leaf(3)]),
    "maximum of dtypes": (lambda m, a, b: m.maximum(a, b), [leaf(3), double(3)]),
    "nan_to_num": (lambda m, a: m.nan_to_num(a.log()), [leaf(5)]),
    # three tensors
    "lerp": (lambda m, a, b: m.lerp(a, b, 0.3), [leaf(2, 3), leaf(3)]),
    "lerp tensor": (lambda m, a, b, c: a.lerp(b, c), [leaf(2, 3), leaf(3), leaf(2, 1)]),
    "addcmul": (lambda m, a, b, c: m.addcmul(a, b, c, value=2), [leaf(3), leaf(2, 3), leaf(2, 1)]),
    "addcmul by data": (lambda m, a, b, c: a.addcmul(b, c), [leaf(3), leaf(2, 3), frozen(2, 1)]),
    "addcdiv": (lambda m, a, b, c: m.addcdiv(a, b, c, value=0.5), [leaf(3), leaf(2, 3), leaf(2, 1)]),
    "addcdiv by data": (lambda m, a, b, c: a.addcdiv(b, c), [leaf(3), leaf(2, 3), frozen(2, 1)]),
    # two tensors
    "atan2": (lambda m, a, b: m.atan2(a, b), [leaf(2, 3), leaf(3)]),
    "atan2 at 0": (lambda m, a: m.arctan2(a - a.detach(), a - a.detach()), [leaf(3)]),
    "hypot": (lambda m, a, b: a.hypot(b), [leaf(2, 3), leaf(3)]),
    "logaddexp": (lambda m, a, b: m.logaddexp(a, b), [leaf(2, 3), leaf(3)]),
    "logaddexp2": (lambda m, a, b: a.logaddexp2(b), [leaf(2, 3), leaf(3)]),
    "copysign": (lambda m, a, b: m.copysign(a, b), [leaf(2, 3), leaf(3)]),
    "copysign number": (lambda m, a: a.copysign(-1), [leaf(5)]),
    "ldexp": (lambda m, a, b: m.ldexp(a, b), [leaf(2, 3), leaf(3)]),
    "ldexp integers": (lambda m, a, b: a.ldexp(b.abs()), [leaf(2, 3), integers(3)]),
    "nextafter": (lambda m, a, b: m.nextafter(a, b), [leaf(2, 3), leaf(3)]),
    "float_power": (lambda m, a, b: [m.float_power(a, b), a.float_power(2), m.float_power(2, b)],
                    [positive(2, 3), leaf(3)]),
    # other names
    "aliases": (lambda m, a, b: [m.absolute(a), m.negative(a), m.multiply(a, b), m.subtract(a, b, alpha=2),
                                 m.true_divide(a, b), m.divide(a, b), a.positive(), +a], [leaf(3), leaf(3)]),
    "rsub of tensors": (lambda m, a, b: m.rsub(a, b), [leaf(3), leaf(3)]),
}


def refused(call):
    """What a derivative that there is not says."""
    try:
        call().sum().backward()
    except RuntimeError as error:
        return str(error)
    return "a gradient"


def written(call, *tensors):
    """What a call leaves in copies of tensors."""
    copies = [t.clone() for t in tensors]
    call(*copies)
    return copies[0]


PLAIN = {
    "comparisons": (lambda m, a, b: [m.greater(a, b), m.greater_equal(a, b), m.less(a, b), m.less_equal(a, 1),
                                     m.not_equal(a, b), a.ne(b), a == b.double(), a.less(b)], [leaf(5), leaf(5)]),
    "comparisons in place": (lambda m, a, b: [
        a.clone().eq_(b), a.clone().ne_(b), a.clone().not_equal_(b), a.clone().lt_(b), a.clone().less_(b),
        a.clone().le_(b), a.clone().less_equal_(b), a.clone().gt_(b), a.clone().greater_(b), a.clone().ge_(b),
        a.clone().greater_equal_(b)], [leaf(2, 3), leaf(3)]),
    "logic": (lambda m, a, b: [m.logical_xor(a, b), a.clone().logical_and_(b), a.clone().logical_or_(b),
                               a.clone().logical_xor_(b), a.clone().logical_not_()], [integers(5), integers(5)]),
    "signs": (lambda m, a: [m.signbit(a), m.isposinf(a / 0), m.isneginf(a / 0), m.isreal(a), a.long().signbit(),
                            a.long().isposinf()], [leaf(5)]),
    "isin": (lambda m, a, b: [m.isin(a, b), m.isin(a, 2), m.isin(2, a), m.isin(a, b, invert=True)],
             [integers(2, 3), integers(2)]),
    "bits": (lambda m, a, b: [a & b, a | b, a ^ b, ~a, a & 3, 3 | a, 1 ^ a, m.bitwise_and(a, b), m.bitwise_or(1, a),
                              m.bitwise_xor(a, b.to(m.int8)), m.bitwise_not(a > 0), (a > 0) & 3],
             [integers(5), integers(5)]),
    "shifts": (lambda m, a, b: [a << 2, a >> 1, 3 << b, 100 >> b, a << b, a >> b, m.bitwise_left_shift(a, 70),
                                m.bitwise_right_shift(a, b), a.to(m.int8) << 6, a.to(m.uint8) >> 2],
               [integers(5), integers(5)]),
    "bits in place": (lambda m, a, b: [
        a.clone().bitwise_and_(b), a.clone().bitwise_or_(b), a.clone().bitwise_xor_(1), a.clone().bitwise_not_(),
        a.clone().bitwise_left_shift_(2), a.clone().bitwise_right_shift_(1), a.clone().gcd_(b), a.clone().lcm_(b)],
        [integers(5), integers(5)]),
    "gcd, lcm": (lambda m, a, b: [m.gcd(a * 6, b * 4), m.lcm(a, b * 3)], [integers(5), integers(5)]),
    "division of integers": (lambda m, a, b: [
        a // b, a % b, a // 2, 7 // a, 7 % a, m.fmod(a * 3, b), m.remainder(5, b), m.floor_divide(a, 2.5), a.fmod(2.5),
        m.div(a * 3, b, rounding_mode="trunc"), m.div(a * 3, b, rounding_mode="floor"), a.to(m.uint8) // 2,
        m.true_divide(a, b)], [integers(5), integers(5)]),
    "rounding of integers": (lambda m, a: [a.floor(), a.ceil(), a.round(), a.trunc(), a.sgn(), a.nan_to_num()],
                             [integers(5)]),
    "clamp of integers": (lambda m, a, b: [a.clamp(-1, 1), a.clamp(0.5), m.maximum(a, b), m.clamp(a, b), m.fmin(a, b),
                                           a.clamp_min(1), a.clamp_max(b)], [integers(5), integers(5)]),
    "integers become floats": (lambda m, a, b: [
        m.atan2(a, b), m.copysign(a, b), m.copysign(a, -1), m.ldexp(a, b), m.float_power(a, 2), m.erf(a), m.tan(a),
        m.xlogy(a, b.abs()), m.special.entr(a.abs()), m.lgamma(a.abs()), m.deg2rad(a), m.special.zeta(a.abs(), 2),
        m.addcmul(a, b, b), m.where(a > 0, a, 2.5)], [integers(5), integers(5)]),
    "heaviside": (lambda m, a, b: [m.heaviside(a, b), m.heaviside(a * 0, b), (a * 0).heaviside_(b)],
                  [leaf(5), leaf(5)]),
    "where": (lambda m, a, b: [*m.where(a > 0), m.where(a > 0, 1, 2), m.where(a > 0, 1, 2.5), a.where(a > 0, b),
                               a.where(a > 0, 2), m.where(a > 0, True, 3)], [leaf(2, 3), leaf(3)]),
    "nothing derived": (lambda m, a: [m.isposinf(a), a // 2, 3 // a, 3 % a, m.special.zeta(a + 3, 2)], [leaf(3)]),
}

NOT_COMPARABLE = dict.fromkeys(
    ("atan2 at 0", "sinc of 0"), "a - a.detach() has a slope, but does not change with a")
