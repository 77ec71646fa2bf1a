"""Products on a GPU, without one: what cuBLAS is told of strides names the elements that an operand has."""

from __future__ import annotations

import numpy as np
import pytest

from minigrad.backends.cupy import ARGUMENTS, cublas_product, matrix_layout


def told(x, lies):
    """The matrices that cuBLAS reads, from the first element on."""
    rows, columns = x.shape[-2:]
    within = (1, lies.lead) if lies.turned else (lies.lead, 1)
    strides = [n * x.itemsize for n in (lies.step, *within)]
    return np.lib.stride_tricks.as_strided(x, (x[..., 0, 0].size, rows, columns), strides)


BASE = np.arange(720, dtype=np.float32).reshape(2, 3, 4, 5, 6)
TAKEN = {
    "rows": BASE[0, 0], "turned": BASE.swapaxes(-1, -2), "part of rows": BASE[..., 1:4],
    "part of rows, turned": BASE[..., 1:4].swapaxes(-1, -2), "one for all": np.broadcast_to(BASE[0, 0, 0], (7, 5, 6)),
    "a column": BASE[..., :1], "a row": BASE[..., :1, :], "a row, turned": BASE[..., :1, :].swapaxes(-1, -2),
    "one element": BASE[..., :1, :1], "a batch of one": BASE[:1, :1, ::2], "every second": BASE[0, 0, ::2],
    "heads beside each other": BASE[0].transpose(1, 0, 2, 3)[0], "a column, turned": BASE[0, 0, 0, :, 2:3].T,
}
REFUSED = {"two steps": BASE[:, :, :, :, ::2][:, :, :, ::2], "backwards": BASE[..., ::-1, :],
           "heads": BASE[0].transpose(1, 0, 2, 3), "rows over each other": np.broadcast_to(BASE[0, 0, 0, 0], (5, 6)),
           "batches backwards": BASE[0, 0, ::-1]}


@pytest.mark.parametrize("name", TAKEN)
def test_what_cublas_reads_is_the_operand(name):
    x = TAKEN[name]
    lies = matrix_layout(x)
    assert lies is not None
    assert np.array_equal(told(x, lies), x.reshape(-1, *x.shape[-2:]))
    assert lies.lead >= x.shape[-2 if lies.turned else -1]  # cuBLAS refuses less


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_to_be_copied_first(name):
    assert matrix_layout(REFUSED[name]) is None


def test_what_cublas_has_no_product_for_is_left_to_cupy():
    whole, vector = BASE.astype(np.int32), BASE[0, 0, 0, 0]
    for x, y in ((whole, whole), (BASE, BASE.astype(np.float64)), (BASE[:0], BASE), (vector, vector)):
        assert cublas_product(x, y) is None


def test_the_arguments_are_those_of_nvidias_header():
    """cublasGemmStridedBatchedEx: handle, transpositions and sizes, factor, both operands, factor, result, how many,
    computed in what, by which algorithm."""
    scalar, operand, last = "p", "piiq", "iii"
    assert ARGUMENTS.split() == ["p", "iiiii", scalar, operand, operand, scalar, operand, last]
