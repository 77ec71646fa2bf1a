"""Every line of the table of ops on the stand-in device: values, dtypes, graph and two derivatives as on the CPU."""

from __future__ import annotations

import numpy as np
import pytest

import minigrad
from tests.parity.compare import (
    TOLERANCE,
    arrays_of,
    derivatives,
    described,
    graph_of,
    leaves_of,
    numbers,
    outputs_of,
)
from tests.parity.tables import all_cases

CASES = {name: case for name, case in all_cases().items() if name != "bfloat16"}  # see test_bfloat16.py
# A device draws other numbers than the CPU does: of these, shapes and dtypes are compared, and where results lie.
DRAWN = {"alpha_dropout", "alpha_dropout inplace", "attention dropout", "dropout", "dropout inplace", "dropout1d",
         "dropout1d without batch", "dropout2d", "dropout3d", "feature_alpha_dropout", "feature_dropout",
         "gumbel_softmax", "gumbel_softmax hard", "rrelu inplace", "rrelu inplace of negative slopes", "rrelu training",
         "torch.alpha_dropout", "torch.dropout", "torch.dropout_", "torch.feature_alpha_dropout"}


def run(call, inputs, arrays, device, order):
    """What a case gives on a device: its results, its leaves and the derivatives."""
    with minigrad.device(device):
        leaves = [v.detach().to(device).requires_grad_(v.requires_grad) for v in leaves_of(minigrad, inputs, arrays)]
        results = outputs_of(call(minigrad, *leaves))
        tensors = [v for v in results if hasattr(v, "grad_fn")]
        return results, leaves, derivatives(minigrad, tensors, leaves, order)


@pytest.mark.parametrize("name", CASES)
def test_op(cuda, name):
    call, inputs = CASES[name]
    arrays = arrays_of(inputs, "float32", seed=len(inputs))
    (here, our_leaves, ours), (there, their_leaves, theirs) = [run(call, inputs, arrays, device, 2)
                                                              for device in ("cpu", "cuda")]
    assert len(here) == len(there)
    for a, b in zip(here, there, strict=True):
        assert described(a) == described(b)
        if hasattr(b, "grad_fn"):
            assert b.device.type == "cuda"
            if name not in DRAWN:
                assert in_rows(graph_of(a, our_leaves), name) == in_rows(graph_of(b, their_leaves), name)
                close(a, b)
    assert len(ours) == len(theirs)
    for one, other in zip(ours, theirs, strict=True):
        for a, b in zip(one, other, strict=True):
            assert (a is None) == (b is None)
            if a is not None:
                assert b.device.type == "cuda"
                if name not in DRAWN:
                    close(a, b)


def in_rows(graph, name):
    """A graph, without what depends on strides that CuPy does not keep: attention scales its keys after it has turned
    them, and what a product of elements makes lies row by row on a GPU, so that to reshape it is a view."""
    turned = name.startswith("attention")
    return [line.replace("ReshapeAliasBackward0", "ViewBackward0") if turned else line for line in graph]


def close(a, b):
    """Two tensors have the same values, up to rounding."""
    tolerance = TOLERANCE["float32"]
    np.testing.assert_allclose(numbers(a), numbers(b), rtol=tolerance, atol=tolerance)
