"""Indices on a device: every kind of them, wherever they lie; and what must not wait for the device."""

from __future__ import annotations

import numpy as np
import pytest

import minigrad
import minigrad.nn.functional as F
from minigrad.nn.utils import rnn
from tests.device.alike import same
from tests.device.strict import COUNTS


def t(*values):
    """Indices on the current device."""
    return minigrad.tensor(list(values))


def here(*values):
    """Indices on the CPU."""
    return minigrad.tensor(list(values), device="cpu")


READS = {
    "a tensor": lambda x: x[t(0, 2, 0)],
    "a tensor of the CPU": lambda x: x[here(0, 2, 0)],
    "a matrix": lambda x: x[minigrad.tensor([[0, 1], [3, 3]])],
    "int32": lambda x: x[t(0, 2).int()],
    "negative": lambda x: x[t(-1, 0)],
    "two": lambda x: x[t(0, 1, 3), t(2, 2, 0)],
    "two, one of the CPU": lambda x: x[t(0, 1, 3), here(2, 2, 0)],
    "two that broadcast": lambda x: x[minigrad.tensor([[0], [2]]), t(0, 2)],
    "after a slice": lambda x: x[:, t(2, 0)],
    "after a slice that is none": lambda x: x[1:, t(2, 0)],
    "a slice between": lambda x: x.view(2, 2, 3)[t(0, 1), :, t(2, 0)],
    "ellipsis": lambda x: x[..., t(1, 1)],
    "None": lambda x: x[None, t(1, 1)],
    "a list": lambda x: x[[0, 2]],
    "lists": lambda x: x[[0, 2], [1, 1]],
    "a range": lambda x: x[range(2)],
    "a NumPy array": lambda x: x[np.array([0, 3])],
    "a number of a tensor": lambda x: x[minigrad.tensor(2)],
    "a number and a tensor": lambda x: x[1, t(2, 0, 0)],
    "no numbers": lambda x: x[minigrad.zeros(0, dtype=minigrad.int64)],
    "an empty list": lambda x: x[[]],
    "a mask": lambda x: x[x > 0],
    "a mask of the CPU": lambda x: x[(x > 0).cpu()],
    "a mask of rows": lambda x: x[t(True, False, True, False)],
    "a mask and a tensor": lambda x: x[t(True, False, True, False), t(2, 0)],
    "a list of bools": lambda x: x[:, [True, False, True]],
    "True": lambda x: x[True],
    "False": lambda x: x[False],
    "an empty mask": lambda x: x[x > 100],
    "too many": lambda x: x[t(0), t(0), t(0)],
    "that do not fit together": lambda x: x[t(0, 1), t(0, 1, 2)],
    "a mask that does not fit": lambda x: x[t(True, False)],
    "floats": lambda x: x[minigrad.tensor([0.0])],
    "index_select": lambda x: x.index_select(1, t(2, 0, 2)),
    "gather": lambda x: x.gather(0, minigrad.tensor([[0, 1, 3], [3, 3, 0]])),
    "take": lambda x: x.take(t(0, 11, -1)),
    "take_along_dim": lambda x: x.take_along_dim(x.detach().argsort(1, descending=True), 1),
    "take_along_dim of all": lambda x: x.take_along_dim(t(5, 5, 0)),
    "masked_select": lambda x: x.masked_select(x > 0),
    "masked_fill": lambda x: x.masked_fill(x > 0, 2.0),
    "masked_fill by a tensor": lambda x: x.masked_fill(x > 0, x.sum()),
    "masked_scatter": lambda x: x.masked_scatter(x > 0, x.flip(0)),
    "masked_scatter that broadcasts": lambda x: x.masked_scatter(t(True, False, True), x.flip(0)),
    "where": lambda x: minigrad.where(x > 0, x, 0.0),
    "nonzero": lambda x: (x > 0).nonzero(),
    "nonzero as a tuple": lambda x: (x > 0).nonzero(as_tuple=True),
    "argwhere": lambda x: minigrad.argwhere(x < 0),
    "index_add": lambda x: x.index_add(0, t(3, 3, 0), x[:3] * 2, alpha=3),
    "index_copy": lambda x: x.index_copy(1, t(2, 0), x[:, :2] * 2),
    "index_fill": lambda x: x.index_fill(0, t(1, 1, -1), 5.0),
    "index_fill by a tensor": lambda x: x.index_fill(0, t(1, 1, -1), x.sum()),
    "index_put": lambda x: x.index_put((t(0, 1), t(1, 1)), x[0, :2]),
    "index_put, added": lambda x: x.index_put((t(0, 0, 1),), x[:3], accumulate=True),
    "index_put by a mask": lambda x: x.index_put((x > 0,), minigrad.tensor(3.0)),
    "index_put, indices of the CPU": lambda x: x.index_put((here(0, 1),), x[2:]),
    "put": lambda x: x.put(t(0, -1), x[1, :2]),
    "put, added": lambda x: x.put(t(0, 0), x[1, :2], accumulate=True),
    "scatter": lambda x: x.scatter(1, minigrad.tensor([[2], [0]]), x[2:]),
    "scatter of a number": lambda x: x.scatter(1, minigrad.tensor([[2], [0]]), 4.0),
    "scatter_add": lambda x: x.scatter_add(0, minigrad.tensor([[1, 1, 0], [1, 0, 0]]), x[:2] * 2),
    "scatter of integers, added": lambda x: minigrad.arange(4).scatter(0, t(1, 1, 0), 5, reduce="add"),
    "scatter of integers, multiplied": lambda x: minigrad.arange(4).scatter(0, t(1, 1, 3, 3, 3), 2, reduce="multiply"),
    **{f"scatter_reduce {how}{'' if own else ' without self'}": lambda x, how=how, own=own: x.scatter_reduce(
        0, minigrad.tensor([[1, 1, 0], [1, 0, 0], [1, 1, 3]]), x[1:] * 2, how, include_self=own)
       for how in ("sum", "prod", "mean", "amax", "amin") for own in (True, False)},
    "scatter_reduce of integers": lambda x: minigrad.arange(4).scatter_reduce(0, t(1, 1, 1, 2), t(5, 9, 7, 1), "amax"),
    "sort": lambda x: x.sort(0, descending=True),
    "topk": lambda x: x.topk(2, 0),
    "topk of many": lambda x: (x.flatten() @ minigrad.ones(12, 40)).sin().topk(3) if x.numel() > 99 else x.topk(1),
    "median": lambda x: x.median(),
    "median with NaN": lambda x: x.index_fill(0, t(1), float("nan")).median(),
    "nanmedian": lambda x: x.index_fill(0, t(1), float("nan")).nanmedian(),
    "mode": lambda x: x.round().mode(0),
    "cummax": lambda x: (x * x).cummax(0),
    "logcumsumexp": lambda x: x.logcumsumexp(0),
    "searchsorted": lambda x: minigrad.searchsorted(t(-1.0, 0.0, 1.0), x.detach()),
    "searchsorted in rows": lambda x: minigrad.searchsorted(x.detach(), x.detach()[:, 1:], right=True),
    "bucketize a number": lambda x: minigrad.bucketize(0.5, t(-1.0, 0.0, 1.0)),
    "unique": lambda x: x.detach().round().unique(return_inverse=True, return_counts=True),
    "unique of rows": lambda x: x.detach().round().unique(dim=0),
    "unique_consecutive": lambda x: x.detach().round().flatten().unique_consecutive(return_inverse=True),
    "bincount": lambda x: t(0, 3, 3, 1).bincount(minlength=6),
    "one_hot": lambda x: F.one_hot(t(0, 2, 1), 4),
    "one_hot of as many as there are": lambda x: F.one_hot(t(0, 2, 1)),
    "repeat_interleave": lambda x: x.repeat_interleave(t(2, 0, 1, 1), 0),
    "embedding": lambda x: F.embedding(minigrad.tensor([[0, 3], [3, 1]]), x, padding_idx=1),
    "embedding by frequency": lambda x: F.embedding(minigrad.tensor([[0, 3], [3, 1]]), x, scale_grad_by_freq=True),
    "max_pool2d with indices": lambda x: F.max_pool2d(x.view(1, 4, 3), 2, 1, return_indices=True),
    "a packed sequence": lambda x: rnn.pack_padded_sequence(x.view(2, 2, 3), [1, 2], enforce_sorted=False).data,
    "there and back": lambda x: rnn.pad_packed_sequence(rnn.pack_padded_sequence(x.view(2, 2, 3), here(2, 1)))[0],
}


@pytest.mark.parametrize("name", READS)
def test_an_index(cuda, name):
    same(READS[name])


ASSIGNED = {
    "a tensor": lambda y: y.__setitem__(t(0, 2), 5.0),
    "of the CPU": lambda y: y.__setitem__(here(0, 2), y[1].detach().clone()),
    "a mask": lambda y: y.__setitem__(y > 0, 5.0),
    "a mask, values": lambda y: y.__setitem__(y > 2, y.detach()[y > 2] * 2),
    "a list": lambda y: y.__setitem__([0, 2], minigrad.ones(2, 3)),
    "after a slice": lambda y: y.__setitem__((slice(1, None), t(0, 2)), minigrad.ones(3, 2)),
    "of the graph": lambda y: y.__setitem__(t(0, 2), y[1:3] * 2),
    "a number of the CPU": lambda y: y.__setitem__(t(0, 2), minigrad.tensor(4.0, device="cpu")),
    "another dtype": lambda y: y.__setitem__(t(0, 2), minigrad.ones(2, 3, dtype=minigrad.float64)),
    "that do not fit together": lambda y: y.__setitem__((t(0, 1), t(0, 1, 2)), 1.0),
    "another shape": lambda y: y.__setitem__(t(0, 2), minigrad.ones(3, 3)),
    "True": lambda y: y.__setitem__(True, 2.0),
    "False": lambda y: y.__setitem__(False, 2.0),
}


@pytest.mark.parametrize("name", ASSIGNED)
def test_an_assignment(cuda, name):
    def script(x):
        y = x * 2
        ASSIGNED[name](y)
        return y
    same(script)


def test_the_index_of_the_cpu_is_what_is_saved(cuda):
    x, i = minigrad.ones(3, device="cuda", requires_grad=True), here(0, 2)
    y = x[i]
    assert y.grad_fn._saved_indices[0].device.type == "cpu"
    i.zero_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


ELSEWHERE = {
    "index_select": lambda x, i: x.index_select(0, i),
    "gather": lambda x, i: x.gather(0, i.view(2, 1)),
    "take": lambda x, i: x.take(i),
    "index_add": lambda x, i: x.index_add(0, i, x[:2]),
    "index_copy": lambda x, i: x.index_copy(0, i, x[:2]),
    "index_fill": lambda x, i: x.index_fill(0, i, 1.0),
    "put": lambda x, i: x.put(i, x[0, :2]),
    "scatter": lambda x, i: x.scatter(0, i.view(2, 1), 1.0),
    "embedding": lambda x, i: F.embedding(i, x),
    "masked_fill": lambda x, i: x.masked_fill(i.bool().view(2, 1)[:1], 1.0),
    "masked_select": lambda x, i: x.masked_select(i.bool()[:1]),
    "cat": lambda x, i: minigrad.cat([x.flatten(), i]),
    "stack": lambda x, i: minigrad.stack([x[0, :2], i]),
    "searchsorted": lambda x, i: minigrad.searchsorted(i, x),
    "values of another device": lambda x, i: x.__setitem__(i.to(x.device), minigrad.ones(2, 3, device=i.device)),
}


@pytest.mark.parametrize("name", ELSEWHERE)
@pytest.mark.parametrize("where", ["cpu", "cuda:1"])
def test_two_devices_are_refused(cuda, name, where):
    x, i = minigrad.ones(4, 3, device="cuda"), minigrad.tensor([0, 2], device=where)
    COUNTS.current = 1  # as in CuPy, what is computed lies on the device in use
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device, but found at least two "
                                           rf"devices, cuda:\d and {'cpu' if where == 'cpu' else 'cuda'}"):
        ELSEWHERE[name](x, i)


def test_a_tensor_of_the_cpu_takes_no_index_of_a_device(cuda):
    for call in (lambda x, i: x[i], lambda x, i: x.__setitem__(i, 1.0), lambda x, i: x.index_put((i,), x[:1])):
        with pytest.raises(RuntimeError, match=r"indices should be either on cpu or on the same device as the indexed "
                                               r"tensor \(cpu\)"):
            call(minigrad.ones(3), minigrad.tensor([0], device="cuda"))
        with pytest.raises(RuntimeError, match=r"on the same device as the indexed tensor \(cuda:0\)"):
            call(minigrad.ones(3, device="cuda:0"), minigrad.tensor([0], device="cuda:1"))


def test_a_convolution_says_what_lies_elsewhere(cuda):
    x, w = minigrad.ones(1, 1, 4, 4, device="cuda"), minigrad.ones(1, 1, 2, 2)
    with pytest.raises(RuntimeError, match=r"Input type \(torch\.cuda\.FloatTensor\) and weight type "
                                           r"\(torch\.FloatTensor\) should be the same"):
        F.conv2d(x, w)


def test_lengths_stay_on_the_cpu(cuda):
    x = minigrad.ones(3, 2, 1, device="cuda")
    packed = rnn.pack_padded_sequence(x, [2, 3], enforce_sorted=False)
    assert packed.batch_sizes.device.type == "cpu"
    assert packed.sorted_indices.device.type == "cuda"
    back = packed.to("cpu")
    assert (back.data.device.type, back.unsorted_indices.device.type) == ("cpu", "cpu")
    with pytest.raises(RuntimeError, match="should be a 1D CPU int64 tensor, but got 1D cuda:0 Long tensor"):
        rnn.pack_padded_sequence(x, minigrad.tensor([3, 2], device="cuda"))


def a_layer(x):
    """A convolution with all that it can have."""
    w = minigrad.ones(4, 1, 3, 3, requires_grad=True)
    return F.conv2d(x, w, minigrad.ones(4, requires_grad=True), stride=2, padding=1, groups=2)


NO_WAITING = {
    "conv2d": a_layer,
    "conv2d, stride 1": lambda x: F.conv2d(x, minigrad.ones(4, 2, 3, 3, requires_grad=True)),
    "conv_transpose2d": lambda x: F.conv_transpose2d(x, minigrad.ones(2, 4, 3, 3, requires_grad=True), stride=2),
    "max_pool2d": lambda x: F.max_pool2d(x, 2),
    "max_pool2d, overlapping": lambda x: F.max_pool2d(x, 3, 1, 1),
    "max_pool2d with indices": lambda x: F.max_pool2d(x, 2, return_indices=True)[0],
    "avg_pool2d": lambda x: F.avg_pool2d(x, 2),
    "adaptive_avg_pool2d": lambda x: F.adaptive_avg_pool2d(x, 2),
    "adaptive_max_pool2d": lambda x: F.adaptive_max_pool2d(x, 2),
    "interpolate": lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"),
    "pad": lambda x: F.pad(x, (1, 1, 2, 2)),
    "pad reflect": lambda x: F.pad(x, (1, 1, 2, 2), mode="reflect"),
    "unfold": lambda x: F.unfold(x, 2),
    "embedding": lambda x: F.embedding(minigrad.arange(3), x.view(8, -1), padding_idx=0),
    "embedding by frequency": lambda x: F.embedding(minigrad.arange(3), x.view(8, -1), scale_grad_by_freq=True),
    "select": lambda x: x[0, 1:, ::2],
    "an index": lambda x: x[:, :, minigrad.arange(3)],
    "an index and a slice": lambda x: x[minigrad.zeros(2, dtype=minigrad.int64), 1:, minigrad.arange(2)],
    "gather": lambda x: x.gather(3, minigrad.zeros(2, 2, 8, 3, dtype=minigrad.int64)),
    "index_select": lambda x: x.index_select(2, minigrad.arange(3)),
    "index_add": lambda x: x.index_add(2, minigrad.arange(3), x[:, :, :3]),
    "scatter_add": lambda x: x.scatter_add(2, minigrad.zeros(2, 2, 3, 8, dtype=minigrad.int64), x[:, :, :3]),
    "scatter_reduce": lambda x: x.scatter_reduce(2, minigrad.zeros(2, 2, 3, 8, dtype=minigrad.int64), x[:, :, :3],
                                                 "amax"),
    "masked_fill": lambda x: x.masked_fill(x > 0, 1.0),
    "index_put by a mask": lambda x: x.index_put((x > 0,), minigrad.tensor(1.0)),
    "repeat_interleave": lambda x: x.repeat_interleave(minigrad.tensor([2, 1]), 0, output_size=3),
    "masked_scatter": lambda x: x.masked_scatter(x > 0, x.detach()),
    "sort": lambda x: x.sort(1).values,
    "topk": lambda x: x.topk(1).values,
    "median": lambda x: x.median(),
    "max along": lambda x: x.max(1).values,
    "cummax": lambda x: x.cummax(2).values,
    "cumsum": lambda x: x.cumsum(2),
    "cat": lambda x: minigrad.cat([x, x], 1),
    "tril": lambda x: x.tril(),
    "diagonal": lambda x: x.diagonal(0, 2, 3),
    "quantile": lambda x: x.quantile(0.5),
    "unfold a dimension": lambda x: x.unfold(2, 2, 1),
    "roll": lambda x: x.roll(1, 2),
}


@pytest.mark.parametrize("name", NO_WAITING)
def test_nothing_waits_for_the_device(cuda, name):
    with minigrad.device("cuda"):
        x = minigrad.linspace(-1, 1, 256).view(2, 2, 8, 8).requires_grad_()
        COUNTS.to_host = 0
        y = NO_WAITING[name](x)
        (y * y).sum().backward()
        assert x.grad.device.type == "cuda"
    assert COUNTS.to_host == 0
