"""Lines with drawn shapes for pointwise maths: see `drawn.py`."""

from __future__ import annotations

from tests.parity.tables.drawn import alike, into, log_one, one, together

DRAWN = {
    # one tensor
    "exp2": (lambda m, a: m.exp2(a), one),
    "expm1": (lambda m, a: m.expm1(a), one),
    "log2": (lambda m, a: m.log2(a), log_one),
    "log10": (lambda m, a: m.log10(a), log_one),
    "log1p": (lambda m, a: m.log1p(a), log_one),
    "rsqrt": (lambda m, a: m.rsqrt(a), log_one),
    "tan": (lambda m, a: m.tan(a), one),
    "asin": (lambda m, a: m.asin(a / 2), one),
    "acos": (lambda m, a: m.acos(a / 2), one),
    "atan": (lambda m, a: m.atan(a), one),
    "sinh": (lambda m, a: m.sinh(a), one),
    "cosh": (lambda m, a: m.cosh(a), one),
    "asinh": (lambda m, a: m.asinh(a), one),
    "acosh": (lambda m, a: m.acosh(a + 1), log_one),
    "atanh": (lambda m, a: m.atanh(a / 2), one),
    "sinc": (lambda m, a: m.sinc(a), one),
    "deg2rad": (lambda m, a: m.deg2rad(a), one),
    "rad2deg": (lambda m, a: m.rad2deg(a), one),
    # special functions
    "erf": (lambda m, a: m.erf(a), one),
    "erfc": (lambda m, a: m.erfc(a), one),
    "erfinv": (lambda m, a: m.erfinv(a / 2), one),
    "erfcx": (lambda m, a: m.special.erfcx(a), one),
    "ndtr": (lambda m, a: m.special.ndtr(a), one),
    "ndtri": (lambda m, a: m.special.ndtri(a / 2), log_one),
    "log_ndtr": (lambda m, a: m.special.log_ndtr(a), one),
    "entr": (lambda m, a: m.special.entr(a), log_one),
    "lgamma": (lambda m, a: m.lgamma(a), one),
    "digamma": (lambda m, a: m.digamma(a), one),
    "polygamma": (lambda m, a: m.polygamma(1, a), log_one),
    "mvlgamma": (lambda m, a: m.mvlgamma(a + 2, 3), log_one),
    "i0": (lambda m, a: m.i0(a), one),
    "i0e": (lambda m, a: m.special.i0e(a), one),
    "i1": (lambda m, a: m.special.i1(a), one),
    "i1e": (lambda m, a: m.special.i1e(a), one),
    "logit": (lambda m, a: m.logit(a / 2), log_one),
    "logit, eps": (lambda m, a: m.logit(a, 0.25), one),
    "xlogy": (lambda m, a, b: m.xlogy(a, b), together(positive=(1,))),
    "xlogy, number": (lambda m, a: m.xlogy(a, 2.5) + m.xlogy(2.5, a), log_one),
    "xlog1py": (lambda m, a, b: m.special.xlog1py(a, b), together(positive=(1,))),
    "xlog1py, number": (lambda m, a: m.special.xlog1py(a, 2.5) + m.special.xlog1py(2.5, a), log_one),
    "zeta": (lambda m, a, b: m.special.zeta(a.detach() + 1, b), together(positive=(0, 1))),
    "zeta of number": (lambda m, a: m.special.zeta(2.5, a), log_one),
    # rounding and division
    "ceil": (lambda m, a: m.ceil(a) * a, one),
    "floor": (lambda m, a: m.floor(a) * a, one),
    "round": (lambda m, a: m.round(a) * a, one),
    "round, decimals": (lambda m, a: m.round(a, decimals=1) * a, one),
    "trunc": (lambda m, a: m.trunc(a) * m.fix(a) * a, one),
    "frac": (lambda m, a: m.frac(a) * a, one),
    "sgn": (lambda m, a: m.sgn(a) * a, one),
    "div, floor": (lambda m, a, b: m.div(a, b, rounding_mode="floor") * a, together()),
    "div, trunc": (lambda m, a, b: m.div(a, b, rounding_mode="trunc") * a, together()),
    "div, rounded, by a number": (lambda m, a: m.div(a, 0.3, rounding_mode="trunc") * a, one),
    "rsub, tensor": (lambda m, a, b: m.rsub(a, b) + m.rsub(a, b, alpha=2.5), together()),
    "div, None": (lambda m, a, b: m.div(a, b, rounding_mode=None), together()),
    "fmod": (lambda m, a: m.fmod(a, 0.7) * a, one),
    "fmod, tensor": (lambda m, a, b: m.fmod(a, b) * a, together()),
    "remainder": (lambda m, a: m.remainder(a, 0.7) * a, one),
    "remainder, tensor": (lambda m, a, b: m.remainder(a, b) * a, together()),
    "floor_divide": (lambda m, a, b: m.floor_divide(a.detach(), b.detach()) * a, together()),
    # bounds, the larger and the smaller
    "clamp": (lambda m, a: m.clamp(a, -0.5, 0.9) * m.clip(a, 0.5) * a, one),
    "clamp, tensors": (lambda m, a, b, c: m.clamp(a, b, c) * a, alike(3)),
    "clamp, tensor": (lambda m, a, b: m.clamp(a, b) * m.clamp(a, max=b), together()),
    "clamp_min": (lambda m, a: m.clamp_min(a, 0.4) * a, one),
    "clamp_max": (lambda m, a: m.clamp_max(a, 0.4) * a, one),
    "clamp_min, tensor": (lambda m, a, b: m.clamp_min(a, b) * a, together()),
    "clamp_max, tensor": (lambda m, a, b: m.clamp_max(a, b) * a, together()),
    "maximum": (lambda m, a, b: m.maximum(a, b) * m.maximum(a, a), together()),
    "minimum": (lambda m, a, b: m.minimum(a, b) * m.minimum(a, a), together()),
    "fmax": (lambda m, a, b: m.fmax(a, b) * a, together()),
    "fmin": (lambda m, a, b: m.fmin(a, b) * a, together()),
    "nan_to_num": (lambda m, a: m.nan_to_num(a, 1.0) * a, one),
    # three tensors
    "lerp": (lambda m, a, b: m.lerp(a, b, 0.7), together()),
    "lerp, tensor": (lambda m, a, b, c: m.lerp(a, b, c), together(3)),
    "addcmul": (lambda m, a, b, c: m.addcmul(a, b, c, value=2.5), together(3)),
    "addcdiv": (lambda m, a, b, c: m.addcdiv(a, b, c, value=2.5), together(3)),
    # two tensors
    "atan2": (lambda m, a, b: m.atan2(a, b), together()),
    "hypot": (lambda m, a, b: m.hypot(a, b), together()),
    "logaddexp": (lambda m, a, b: m.logaddexp(a, b), together()),
    "logaddexp2": (lambda m, a, b: m.logaddexp2(a, b), together()),
    "copysign": (lambda m, a, b: m.copysign(a, b) * a, together()),
    "copysign, number": (lambda m, a: m.copysign(a, -1) * a, one),
    "ldexp": (lambda m, a, b: m.ldexp(a, b), together()),
    "nextafter": (lambda m, a, b: m.nextafter(a, b) * a, together()),
    "heaviside": (lambda m, a, b: m.heaviside(a.detach(), b.detach()) * a, together()),
    "float_power": (lambda m, a, b: m.float_power(a, b) + m.float_power(2, b), together(positive=(0,))),
    # in place, and by other names
    "in place, two": (lambda m, a, b: [
        f(a.clone()) for f in (
            lambda x: x.atan2_(b), lambda x: x.arctan2_(b), lambda x: x.hypot_(b), lambda x: x.copysign_(b),
            lambda x: x.ldexp_(b), lambda x: x.nextafter_(b), lambda x: x.fmod_(b), lambda x: x.remainder_(b),
            lambda x: x.clamp_(b), lambda x: x.clip_(max=b), lambda x: x.clamp_min_(b), lambda x: x.clamp_max_(b),
            lambda x: x.lerp_(b, 0.3), lambda x: x.addcmul_(b, b), lambda x: x.addcdiv_(b, b),
            lambda x: x.divide_(b), lambda x: x.true_divide_(b), lambda x: x.multiply_(b), lambda x: x.subtract_(b),
            lambda x: x.div_(b, rounding_mode="trunc"), lambda x: x.detach().heaviside_(b.detach()),
            lambda x: x.abs().float_power_(b))], into()),
    "in place, flat": (lambda m, a: [
        f(a.clone()) for f in (
            lambda x: x.ceil_(), lambda x: x.floor_(), lambda x: x.round_(), lambda x: x.trunc_(), lambda x: x.fix_(),
            lambda x: x.frac_(), lambda x: x.sgn_(), lambda x: x.nan_to_num_(), lambda x: x.absolute_(),
            lambda x: x.negative_(), lambda x: x.detach().floor_divide_(0.3))], one),
    "in place, comparisons": (lambda m, a, b: [
        f(a.clone()) for f in (
            lambda x: x.eq_(b), lambda x: x.ne_(b), lambda x: x.not_equal_(b), lambda x: x.lt_(b), lambda x: x.less_(b),
            lambda x: x.le_(b), lambda x: x.less_equal_(b), lambda x: x.gt_(b), lambda x: x.greater_(b),
            lambda x: x.ge_(b), lambda x: x.greater_equal_(b), lambda x: x.eq_(1), lambda x: x.ne_(1),
            lambda x: x.lt_(1), lambda x: x.le_(1), lambda x: x.gt_(1), lambda x: x.ge_(1),
            lambda x: x.detach().logical_and_(b), lambda x: x.detach().logical_or_(b),
            lambda x: x.detach().logical_xor_(b), lambda x: x.detach().logical_not_())], into()),
    "bits": (lambda m, a, b: bits(m, (a * 4).long(), (b * 4).long()), together()),
    "bits, in place": (lambda m, a, b: [
        f((a * 4).long()) for f in (
            lambda i: i.bitwise_and_((b * 4).long()), lambda i: i.bitwise_or_((b * 4).long()),
            lambda i: i.bitwise_xor_((b * 4).long()), lambda i: i.bitwise_not_(), lambda i: i.bitwise_left_shift_(2),
            lambda i: i.bitwise_right_shift_(1), lambda i: i.gcd_((b * 4).long()), lambda i: i.lcm_((b * 4).long()))],
        into()),
    "synonyms": (lambda m, a, b: [
        a.absolute(), a.negative(), a.positive(), a.multiply(b), a.subtract(b), a.divide(b), a.true_divide(b),
        a.arctan2(b), a.clip(-0.5, 0.5)], together()),
    "in place": (lambda m, a: [
        f(a.clone()) for f in (
            lambda x: x.exp2_(), lambda x: x.expm1_(), lambda x: x.tan_(), lambda x: x.atan_(), lambda x: x.arctan_(),
            lambda x: x.sinh_(), lambda x: x.cosh_(), lambda x: x.detach().asinh_(), lambda x: x.detach().arcsinh_(),
            lambda x: x.sinc_(), lambda x: x.deg2rad_(), lambda x: x.rad2deg_(), lambda x: x.erf_(),
            lambda x: x.erfc_(), lambda x: x.i0_())], one),
    "in place, positive": (lambda m, a: [
        f(a.clone()) for f in (
            lambda x: x.log2_(), lambda x: x.log10_(), lambda x: x.log1p_(), lambda x: x.rsqrt_(),
            lambda x: x.lgamma_(), lambda x: x.digamma_(), lambda x: (x + 2).mvlgamma_(3), lambda x: x.polygamma_(1),
            lambda x: (x + 1).detach().acosh_(), lambda x: (x + 1).detach().arccosh_(), lambda x: x.xlogy_(2.5))],
        log_one),
    "in place, below 1": (lambda m, a: [
        f(a / 2) for f in (
            lambda x: x.asin_(), lambda x: x.arcsin_(), lambda x: x.acos_(), lambda x: x.arccos_(),
            lambda x: x.detach().atanh_(), lambda x: x.detach().arctanh_(), lambda x: x.erfinv_(),
            lambda x: (x / 2 + 0.5).logit_())], one),
    "other names": (lambda m, a: [
        (a / 2).arcsin(), (a / 2).arccos(), a.arctan(), a.arcsinh(), (a.abs() + 1).arccosh(), (a / 2).arctanh()], one),
}


def bits(m, i, j):
    """All ops of bits of two tensors of integers."""
    return [m.bitwise_and(i, j), m.bitwise_or(i, j), m.bitwise_xor(i, j), m.bitwise_not(i),
            m.bitwise_left_shift(i, abs(j)), m.bitwise_right_shift(i, abs(j)), m.gcd(i, j), m.lcm(i, j)]


LOOSE = dict.fromkeys(
    ("polygamma", "in place, positive"),
    "of order 1: PyTorch's series ends early, and is right to 1e-9; minigrad's is right to 1e-15")
