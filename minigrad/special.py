"""Special functions: mirrors `torch.special`.

The modules of minigrad/ops/special that compute them on arrays state their accuracy: error_function.py,
gamma_function.py and bessel.py.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from minigrad._base.optional import module_getattr
from minigrad.core import Tensor
from minigrad.ops._dispatch.arg_parser import parse_module_functions
from minigrad.ops.activation import Sigmoid
from minigrad.ops.nn.softmax import log_softmax, softmax
from minigrad.ops.pointwise.unary import RoundDecimals, exp2, expm1, log1p, sinc
from minigrad.ops.reduce.sums import logsumexp
from minigrad.ops.special.functions import (
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
    xlog1py,
    xlogy,
    zeta,
)

__all__ = ["digamma", "entr", "erf", "erfc", "erfcx", "erfinv", "exp2", "expit", "expm1", "gammaln", "i0", "i0e",
           "i1", "i1e", "log1p", "log_ndtr", "log_softmax", "logit", "logsumexp", "multigammaln", "ndtr", "ndtri",
           "polygamma", "psi", "round", "sinc", "softmax", "xlog1py", "xlogy", "zeta"]

gammaln, psi, multigammaln = lgamma, digamma, mvlgamma


def unary(op: Any, doc: str) -> Callable[[Tensor], Tensor]:
    """The elementwise function that `op` records."""
    def call(input: Tensor) -> Tensor:
        result: Tensor = op.forward(input)
        return result
    call.__doc__ = doc
    return call


expit = unary(Sigmoid, "1 / (1 + exp(-input)).")
entr = unary(SpecialEntr, "-input log(input); 0 at 0, -inf for negative elements.")
erfcx = unary(SpecialErfcx, "exp(input²) erfc(input), without overflow for large elements.")
ndtri = unary(SpecialNdtri,
              "The inverse of `ndtr`: the number that a standard normal variable is below with this probability.")
log_ndtr = unary(SpecialLogNdtr, "log(ndtr(input)), accurate even where `ndtr` underflows.")
i0e = unary(SpecialI0E, "exp(-|input|) i0(input).")
i1 = unary(SpecialI1, "The modified Bessel function of the first kind, of order 1.")
i1e = unary(SpecialI1E, "exp(-|input|) i1(input).")


def round(input: Tensor, *, decimals: int = 0) -> Tensor:
    """Each element rounded to `decimals` digits, halves to the even one."""
    return RoundDecimals.forward(input, decimals)


# PyTorch's errors for arguments of a wrong type.
globals().update(parse_module_functions(__all__, globals(), "special_"))

if not TYPE_CHECKING:  # a type checker reports missing names itself
    __getattr__ = module_getattr(__name__)
