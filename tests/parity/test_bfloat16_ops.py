"""Every op in bfloat16 against PyTorch: dtypes, the whole graph, results and gradients, errors by type and text."""

from __future__ import annotations

import numpy as np
import pytest

from tests.parity.compare import Input, arrays_of, copied, numbers, outputs_of, weights_of
from tests.parity.tables import all_cases

pytestmark = pytest.mark.torch
CASES = all_cases()


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
    except (RuntimeError, TypeError, ValueError, NotImplementedError, IndexError) as error:
        return type(error).__name__, str(error).split("\n")[0]
    return results, leaves, gradients(lib, results, leaves)


def ulps(ours, theirs) -> float:
    """How many of the last bits of bfloat16 two tensors are apart, at most; of integers infinitely many."""
    a, b = (numbers(v.float() if str(v.dtype) == "torch.bfloat16" else v) for v in (ours, theirs))
    if str(theirs.dtype) != "torch.bfloat16" and a.dtype.kind != "f":
        return 0.0 if np.array_equal(a, b) else np.inf
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    step = 2.0 ** (np.floor(np.log2(np.maximum(abs(b), 1e-30))) - 7)
    return float(np.nan_to_num(np.where(same, 0, abs(a - b) / step), nan=np.inf, posinf=np.inf).max(initial=0.0))
