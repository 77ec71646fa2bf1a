"""The reference that tests compare with, and how often a property is tried."""

from __future__ import annotations

import os
from importlib import import_module

import pytest
from hypothesis import settings

from tests.groups import has_any_torch, has_torch, require

# The same examples in every run, so that a red run can be repeated; more of them by hand:
# MINIGRAD_EXAMPLES=1000 python -m pytest tests/unit tests/parity
settings.register_profile("minigrad", derandomize="MINIGRAD_EXAMPLES" not in os.environ, deadline=None,
                          max_examples=int(os.environ.get("MINIGRAD_EXAMPLES", "25")), database=None)
settings.load_profile("minigrad")


def bfloat16_by_onednn() -> bool:
    """Whether oneDNN computes in bfloat16 here, as on processors with AVX-512 and as minigrad does: a convolution
    rounds once. Elsewhere PyTorch's own rounds often, its LSTM has other nodes, and under autocast it raises."""
    return not has_torch() or import_module("torch").ops.mkldnn._is_mkldnn_bf16_supported()


@pytest.fixture(scope="session")
def torch():
    """PyTorch 2.13; without it the test skips."""
    require("torch", has_torch(), "PyTorch 2.13 is not installed")
    return pytest.importorskip("torch")


@pytest.fixture(scope="session")
def any_torch():
    """A PyTorch from 2.6 on, for what is not compared with minigrad; without it the test skips."""
    require("torch", has_any_torch(), "PyTorch 2.6 or newer is not installed")
    return pytest.importorskip("torch")
