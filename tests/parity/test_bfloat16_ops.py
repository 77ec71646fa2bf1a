"""Every op in bfloat16 against PyTorch: dtypes, the whole graph, results and gradients, errors by type and text."""

from __future__ import annotations

import numpy as np
import pytest

import minigrad
from tests.parity.compare import Input, arrays_of, copied, described, graph_of, numbers, outputs_of, weights_of
from tests.parity.reference import bfloat16_by_onednn
from tests.parity.tables import all_cases

pytestmark = pytest.mark.torch
# Numbers cancel in these: what is left is exact to three of the last bits of the largest element.
CANCELS = {
    "adaptive_avg_pool3d", "addbmm", "addcdiv by data", "addr", "bilinear", "bilinear no bias", "binary_cross_entropy",
    "binary_cross_entropy none", "binary_cross_entropy_with_logits", "binary_cross_entropy_with_logits none",
    "binary_cross_entropy_with_logits sum", "conv2d wide", "conv_transpose2d all",
    "cosine_similarity", "cosine_similarity dim", "cross", "cross_entropy of probabilities, sum", "cumprod",
    "gaussian_nll_loss", "grid_sample", "grid_sample in a volume", "i0e", "interpolate linear", "lerp tensor",
    "linalg.cross", "log_softmax", "lstm_cell", "margin_ranking_loss", "normalize 3", "sinc", "softmax dim", "std dim",
    "std_mean", "trapezoid", "triplet_margin_loss", "triplet_margin_with_distance_loss alone", "var biased"}
# PyTorch rounds after each small op, in these in another order, and so often that more is lost.
ROUNDED_OFTEN = {"cdist by product": 6, "cov weighted": 16, "gru": 8, "lstm": 6, "softmax by hand": 16}
LEFT_OUT = {"matrix_exp": "PyTorch gives NaN"}
# One rounding of what float32 gives: these are the same to the last bit.
EXACT = ("add", "add alpha", "div", "exp", "mul", "neg", "sqrt", "sub", "abs", "square", "reciprocal",
         "sum", "sum dim", "matmul", "relu", "tanh", "sigmoid", "cat", "where", "expand", "reshape", "select")
if not bfloat16_by_onednn():
    ROUNDED_OFTEN.update({name: 4 for name in all_cases() if name.startswith("conv")})
    LEFT_OUT["lstm"] = "PyTorch takes other ops on this processor"
CASES = {name: case for name, case in all_cases().items() if name not in LEFT_OUT}


def leaf_of(lib, spec: Input, array):
    """A leaf in bfloat16 where the dtype is that of the run, laid out in memory as the array."""
    tensor = lib.from_numpy(copied(array))
    return (tensor if spec.dtype else tensor.to(lib.bfloat16)).requires_grad_(spec.grad)


def gradients(lib, results, leaves):
    """The gradients of the leaves, for fixed gradients of the results; None for no gradient."""
    roots = [v for v in results if getattr(v, "requires_grad", False)]
    wanted = [v for v in leaves if v.requires_grad]
    if not roots or not wanted:
        return []
    given = [lib.from_numpy(weights_of(tuple(v.shape), "float32", i)).to(v.dtype) for i, v in enumerate(roots)]
    return lib.autograd.grad(roots, wanted, given, allow_unused=True)


def run(lib, name):
    """What a case gives, its leaves and their gradients; or its error."""
    call, inputs = CASES[name]
    leaves = [leaf_of(lib, spec, array) for spec, array in zip(inputs, arrays_of(inputs, "float32", len(inputs)))]
    lib.manual_seed(0)
    try:
        results = outputs_of(call(lib, *leaves))
        return results, leaves, gradients(lib, results, leaves)
    except (RuntimeError, TypeError, ValueError, NotImplementedError, IndexError) as error:
        return type(error).__name__, str(error).split("\n")[0]


def ulps(ours, theirs, largest=False) -> float:
    """How many of the last bits of bfloat16 two tensors are apart, at most, of each element or of the largest;
    integers are infinitely far apart."""
    a, b = (numbers(v.float() if str(v.dtype) == "torch.bfloat16" else v) for v in (ours, theirs))
    if str(theirs.dtype) != "torch.bfloat16" and a.dtype.kind != "f":
        return 0.0 if np.array_equal(a, b) else np.inf
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    size = np.nan_to_num(abs(b)).max(initial=0.0) if largest else abs(b)
    step = 2.0 ** (np.floor(np.log2(np.maximum(size, 1e-30))) - 7)
    return float(np.nan_to_num(np.where(same, 0, abs(a - b) / step), nan=np.inf, posinf=np.inf).max(initial=0.0))


@pytest.mark.filterwarnings("ignore")  # those of the cases themselves, which test_ops.py compares
@pytest.mark.parametrize("name", CASES)
def test_op(torch, name):
    ours, theirs = run(minigrad, name), run(torch, name)
    if len(theirs) == 2:
        assert ours == theirs
        return
    (results, leaves, grads), (their_results, their_leaves, their_grads) = ours, theirs
    for a, b in zip(results, their_results, strict=True):
        assert described(a) == described(b)
        if hasattr(b, "grad_fn"):
            assert graph_of(a, leaves) == graph_of(b, their_leaves)
    assert [v if v is None else (str(v.dtype), tuple(v.shape)) for v in grads] == [
        v if v is None else (str(v.dtype), tuple(v.shape)) for v in their_grads]
    largest = name in CANCELS or name in ROUNDED_OFTEN
    allowed = ROUNDED_OFTEN.get(name, 3 if largest else 2)
    for a, b in zip([*results, *grads], [*their_results, *their_grads], strict=True):
        if hasattr(b, "grad_fn"):
            assert ulps(a, b, largest) <= allowed
    if name in EXACT:
        assert ulps(results[0], their_results[0]) == 0


# Numbers cancel in these until little but rounding is left.
SECOND_IS_ROUNDING = {
    "cdist by product", "copysign", "copysign number", "corrcoef of a vector", "gumbel_softmax", "gumbel_softmax hard",
    "scatter_reduce, without self", "softmax", "softmax by hand", "softmax dim", "softmax method", "softmin", "std dim"}


def second_gradients(lib, name):
    """Gradients of the gradients of a case; None where it has none, or an error."""
    call, inputs = CASES[name]
    leaves = [leaf_of(lib, spec, array) for spec, array in zip(inputs, arrays_of(inputs, "float32", len(inputs)))]
    lib.manual_seed(0)
    wanted = [v for v in leaves if v.requires_grad]
    try:
        results = outputs_of(call(lib, *leaves))
        for i in range(2):
            roots = [v for v in results if v is not None and getattr(v, "requires_grad", False)]
            given = [lib.from_numpy(weights_of(tuple(v.shape), "float32", i + j)).to(v.dtype)
                     for j, v in enumerate(roots)]
            results = lib.autograd.grad(roots, wanted, given, allow_unused=True, create_graph=True)
    except (RuntimeError, TypeError, ValueError, NotImplementedError, IndexError):  # see test_op
        return None
    return results


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CASES)
def test_second_derivative(torch, name):
    """Dtypes, shapes, and values to 12 of the last bits of the largest element."""
    ours, theirs = second_gradients(minigrad, name), second_gradients(torch, name)
    if ours is None or theirs is None:  # a linear op, whose gradient PyTorch connects to more leaves than we do
        return
    for a, b in zip(ours, theirs, strict=True):
        if a is not None and b is not None:
            assert described(a)[:2] == described(b)[:2]
            assert name in SECOND_IS_ROUNDING or ulps(a.detach(), b.detach(), largest=True) <= 12
