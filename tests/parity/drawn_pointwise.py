"""Lines with drawn shapes for pointwise maths: see `drawn.py`."""

from __future__ import annotations

from tests.parity.drawn import log_one, one, together

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
    # in place, and by other names
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

LOOSE = dict.fromkeys(
    ("polygamma", "in place, positive"),
    "of order 1: PyTorch's series ends early, and is right to 1e-9; minigrad's is right to 1e-15")
