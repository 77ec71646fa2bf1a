"""Quantiles by sorting, gathering and interpolating, as in PyTorch's Sorting.cpp.

The graph shows these steps. The last ones reshape a new result in place: their nodes have the names that PyTorch
gives to `squeeze_`, `unsqueeze_` and `transpose_`.
"""

from typing import Any

import numpy as np

from minigrad.backends.registry import backend_of, device_like
from minigrad.core import Tensor, plain
from minigrad.ops._dispatch import op
from minigrad.ops.index.gather import Gather
from minigrad.ops.index.mask import MaskedFill
from minigrad.ops.pointwise.arithmetic import Mul, Sub
from minigrad.ops.pointwise.scalar import MulScalar
from minigrad.ops.pointwise.ternary import LerpTensor
from minigrad.ops.reduce.sort import Sort, ordered
from minigrad.ops.shape.views import Expand, Transpose, Unsqueeze, View, dim_of, flatten
from minigrad.ops.shape.views_inplace import squeeze_, transpose_, unsqueeze_

__all__ = ["nanquantile", "quantile"]

INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")


def check(input: Tensor, q: Tensor, interpolation: str, number: Any) -> None:
    """Raise PyTorch's errors of `quantile`; `number` is q if it was given as a number."""
    problem = ""
    if interpolation not in INTERPOLATIONS:
        problem = (f"interpolation must be one of linear, lower, higher, midpoint or nearest, but got {interpolation}")
    elif number is not None and not 0 <= number <= 1:
        problem = f"q must be in the range [0, 1] but got {number:g}"
    elif not input.array.size:
        problem = "input tensor must be non-empty"
    elif q.array.ndim > 1:
        problem = "q must be a scalar or 1D tensor"
    elif number is None and q.device != input.device:
        problem = "q tensor must be on the same device as the input tensor"
    elif input.array.dtype.name not in ("float32", "float64"):
        problem = "input tensor must be either float or double dtype"
    elif q.array.dtype != input.array.dtype:
        problem = "q tensor must be same dtype as the input tensor"
    elif backend_of(q.array) is None and not np.all((q.array >= 0) & (q.array <= 1)):
        problem = "q values must be in the range [0, 1]"
    if problem:
        raise RuntimeError(f"quantile() {problem}")


def in_order(input: Tensor, dim: int | None, keepdim: bool) -> Tensor:
    """The elements sorted along the last dimension; the others are the dimensions of the result."""
    shape = input.array.shape
    if dim is None:
        moved, kept = flatten(input), (1,) * len(shape) if keepdim else ()
    else:
        axis = dim_of(dim, len(shape))
        moved = input if shape and axis == len(shape) - 1 else Transpose.forward(Unsqueeze.forward(input, len(shape)),
                                                                                 axis, len(shape))
        kept = (*shape[:axis], *((1,) if keepdim and shape else ()), *shape[axis + 1:])
    last = moved.array.ndim - 1
    values, _ = Sort.forward(moved, last, ordered(moved.array, last))
    return View.forward(values, (*kept, moved.array.shape[last]))


def ranks_of(values: Tensor, q: Tensor, skip_nan: bool) -> Tensor:
    """The fractional indices of the quantiles among sorted values."""
    x = values.array
    missing = np.isnan(x)
    shape = (*x.shape[:-1], max(q.array.size, 1))
    if skip_nan:
        ranks = Mul.forward(q, plain((~missing).sum(-1, keepdims=True) - 1))
        return MaskedFill.forward(ranks, plain(ranks.array < 0), 0)
    ranks = Expand.forward(MulScalar.forward(q, x.shape[-1] - 1), shape)
    return MaskedFill.forward(ranks, plain(np.broadcast_to(missing.any(-1, keepdims=True), shape)), x.shape[-1] - 1)


def between(values: Tensor, ranks: Tensor, interpolation: str) -> Tensor:
    """The values at the indices `ranks`, interpolated."""
    rounded: Any = {"higher": np.ceil, "nearest": np.rint}.get(interpolation, np.floor)
    last = values.array.ndim - 1
    below = plain(rounded(ranks.array).astype(np.int64))
    result = Gather.forward(values, below, last)
    if interpolation not in ("linear", "midpoint"):
        return result
    weight = plain(np.full_like(ranks.array, 0.5)) if interpolation == "midpoint" else Sub.forward(ranks, below)
    above = Gather.forward(values, plain(np.ceil(ranks.array).astype(np.int64)), last)
    return LerpTensor.forward(result, above, weight)


def quantile_function(name: str, skip_nan: bool, doc: str) -> Any:
    """The function `torch.quantile` or `torch.nanquantile`."""
    def function(input: Tensor, q: Tensor | float, dim: int | None = None, keepdim: bool = False, *,
                 interpolation: str = "linear") -> Tensor:
        like = device_like(input.array)
        q_tensor = q if isinstance(q, Tensor) else plain(np.asarray(q, input.array.dtype, like=like))
        check(input, q_tensor, interpolation, None if isinstance(q, Tensor) else q)
        values = in_order(input, dim, keepdim)
        result = between(values, ranks_of(values, q_tensor, skip_nan), interpolation)
        if q_tensor.array.ndim:
            result = transpose_(unsqueeze_(result, 0), 0, -1)
        return squeeze_(result, -1)

    function.__doc__ = doc
    return op(method=True, name=name)(function)


quantile = quantile_function("quantile", False, """\
The value below which a fraction `q` of the elements lies, over all dimensions or along `dim`; NaN if any is NaN.

    `q`: a number or a vector; with a vector the result has one more dimension, in front. `interpolation` between two
    elements: "linear", "lower", "higher", "midpoint" or "nearest".

    Raises:
        RuntimeError: for an empty tensor, another dtype than float32 and float64, or a `q` that is not in [0, 1].
    """)
nanquantile = quantile_function("nanquantile", True, "The quantile without NaN; otherwise as `quantile`.")
