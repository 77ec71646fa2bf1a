"""What the tests of `torch.func` share."""

import warnings

import pytest


@pytest.fixture(autouse=True, scope="module")
def loaded():
    """PyTorch compiles rules when it first pushes or traces, and warns of how it does."""
    torch = pytest.importorskip("torch")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.func.linearize(torch.sin, torch.ones(1))[1](torch.ones(1))
