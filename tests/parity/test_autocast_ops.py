"""Every op under autocast against PyTorch, from leaves of float32 and of bfloat16: dtypes, and the whole graph with the
casts in it."""

from __future__ import annotations

import pytest

import minigrad
from tests.parity.compare import arrays_of, copied, described, graph_of, outputs_of
from tests.parity.reference import bfloat16_by_onednn
from tests.parity.tables import all_cases
from tests.parity.test_bfloat16_ops import gradients, leaf_of

pytestmark = pytest.mark.torch
LEFT_OUT = {
    "affine_grid": "PyTorch casts the product inside of the op, and records no cast",
    "pinv": "PyTorch casts one of two factors inside of the op, and refuses their product",
    "pinv hermitian": "the same",
    "matrix_power -2": "minigrad refuses to invert bfloat16, which PyTorch casts",
}
if not bfloat16_by_onednn():
    LEFT_OUT["lstm"] = "PyTorch raises on this processor"
CASES = {name: case for name, case in all_cases().items() if name not in LEFT_OUT}


def float_leaf(lib, spec, array):
    return lib.from_numpy(copied(array)).requires_grad_(spec.grad)


def run(lib, name, leaf):
    """What a case gives under autocast: dtypes and graphs of its results, and dtypes of the gradients; or its error."""
    call, inputs = CASES[name]
    leaves = [leaf(lib, spec, array) for spec, array in zip(inputs, arrays_of(inputs, "float32", len(inputs)))]
    lib.manual_seed(0)
    try:
        with lib.autocast("cpu", dtype=lib.bfloat16):
            results = outputs_of(call(lib, *leaves))
        graphs = [graph_of(v, leaves) for v in results if hasattr(v, "grad_fn")]
        grads = gradients(lib, results, leaves)
    except (RuntimeError, TypeError, ValueError, NotImplementedError, IndexError) as error:
        return type(error).__name__, str(error).split("\n")[0]
    return list(map(described, results)), graphs, [v if v is None else str(v.dtype) for v in grads]


@pytest.mark.filterwarnings("ignore")  # those of the cases themselves, which test_ops.py compares
@pytest.mark.parametrize("name", CASES)
def test_op(torch, name):
    for leaf in (float_leaf, leaf_of):
        assert run(minigrad, name, leaf) == run(torch, name, leaf)
