"""Sums of many elements and normalisation far from zero: errors no larger than PyTorch's order of magnitude."""

from __future__ import annotations

import numpy as np
import pytest

import minigrad

pytestmark = pytest.mark.torch
RANDOM = np.random.default_rng(0)
ROWS = RANDOM.random((300_000, 3), dtype=np.float32)
BLOCKS = RANDOM.random((3000, 7, 5, 3), dtype=np.float32)
SUMS = {
    "rows": lambda x: x.sum(0),
    "rows, kept": lambda x: x.sum(0, keepdim=True),
    "columns of the transposed": lambda x: x.t().sum(1),
    "mean": lambda x: x.mean(0),
    "variance": lambda x: x.var(0),
    "of a part": lambda x: x[1:, :2].sum(0),
}


def errors(f, *libs, of, double):
    """The largest relative error of a result in float32, under each library."""
    exact = f(double(of)).numpy()
    return [float(np.abs(f(lib.tensor(of)).numpy() / exact - 1).max()) for lib in libs]


@pytest.mark.parametrize("name", SUMS)
def test_sums_of_many_rows(torch, name):
    ours, theirs = errors(SUMS[name], minigrad, torch, of=ROWS, double=lambda x: torch.tensor(x).double())
    assert ours < max(2 * theirs, 1e-6)  # one number after the other: 8e-6


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (1, 0, 2, 3), (3, 1, 2, 0), (2, 3, 1, 0)])
@pytest.mark.parametrize("dim", [(0,), (0, 1), (1, 0, 2), (2, 3), (0, 3), (3,)])
def test_sums_over_any_dimensions(torch, order, dim):
    for keepdim in (False, True):
        ours, theirs, exact = (x.permute(order).sum(dim, keepdim=keepdim) for x in (
            minigrad.tensor(BLOCKS), torch.tensor(BLOCKS), torch.tensor(BLOCKS).double()))
        assert ours.shape == tuple(theirs.shape) and ours.is_contiguous()
        np.testing.assert_allclose(ours.numpy(), exact.numpy(), rtol=3e-6)


@pytest.mark.parametrize("offset", [0, 1000])
def test_group_norm_far_from_zero(torch, offset):
    x = (RANDOM.standard_normal((4, 32, 16, 16)) + offset).astype(np.float32)
    exact = torch.nn.functional.group_norm(torch.tensor(x).double(), 8).numpy()
    ours, theirs = (np.abs(lib.nn.functional.group_norm(lib.tensor(x), 8).numpy() - exact).max()
                    for lib in (minigrad, torch))
    assert ours < 1.5 * theirs  # with the mean of one sum over all elements: 2.6
