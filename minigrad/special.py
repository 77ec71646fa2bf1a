"""Special functions: mirrors `torch.special`.

How exact each is stands in the modules of minigrad/ops/special that compute it on arrays: error_function.py,
gamma_function.py and bessel.py.
"""

from __future__ import annotations

from minigrad.core.tensor import Tensor
from minigrad.ops._dispatch.arg_parser import parse_module_functions
from minigrad.ops.activation.basic import Sigmoid
from minigrad.ops.activation.softmax import log_softmax, softmax
from minigrad.ops.pointwise.rounding import RoundDecimals
from minigrad.ops.pointwise.unary import exp2, expm1, log1p, sinc
from minigrad.ops.reduce.sums import logsumexp
from minigrad.ops.special.binary import xlog1py, xlogy, zeta
from minigrad.ops.special.unary import (
    SpecialEntr,
    SpecialErfcx,
    SpecialI0E,
    SpecialI1,
    SpecialI1E,
    SpecialLogNdtr,
    SpecialNdtri,
    digamma,
    erf,
    erfc,
    erfinv,
    i0,
    lgamma,
    logit,
    mvlgamma,
    ndtr,
    polygamma,
)

__all__ = ["digamma", "entr", "erf", "erfc", "erfcx", "erfinv", "exp2", "expit", "expm1", "gammaln", "i0", "i0e",
           "i1", "i1e", "log1p", "log_ndtr", "log_softmax", "logit", "logsumexp", "multigammaln", "ndtr", "ndtri",
           "polygamma", "psi", "round", "sinc", "softmax", "xlog1py", "xlogy", "zeta"]

gammaln, psi, multigammaln = lgamma, digamma, mvlgamma


def expit(input: Tensor) -> Tensor:
    """1 / (1 + exp(-input))."""
    return Sigmoid.forward(input)


def entr(input: Tensor) -> Tensor:
    """-input log(input); 0 at 0, -inf for negative elements."""
    return SpecialEntr.forward(input)


def erfcx(input: Tensor) -> Tensor:
    """exp(input²) erfc(input), without overflow for large elements."""
    return SpecialErfcx.forward(input)


def ndtri(input: Tensor) -> Tensor:
    """The number below which a standard normal variable is with this probability: the inverse of `ndtr`."""
    return SpecialNdtri.forward(input)


def log_ndtr(input: Tensor) -> Tensor:
    """log(ndtr(input)), exact where that underflows."""
    return SpecialLogNdtr.forward(input)


def round(input: Tensor, *, decimals: int = 0) -> Tensor:
    """Each element rounded to the nearest number of `decimals` digits, halves to the even one."""
    return RoundDecimals.forward(input, decimals)


def i0e(input: Tensor) -> Tensor:
    """exp(-|input|) i0(input)."""
    return SpecialI0E.forward(input)


def i1(input: Tensor) -> Tensor:
    """The modified Bessel function of the first kind, of order 1."""
    return SpecialI1.forward(input)


def i1e(input: Tensor) -> Tensor:
    """exp(-|input|) i1(input)."""
    return SpecialI1E.forward(input)


# PyTorch's errors for arguments of a wrong type.
globals().update(parse_module_functions(__all__, globals(), "special_"))
