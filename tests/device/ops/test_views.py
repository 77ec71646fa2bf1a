"""Views and writing on a device: memory, versions and graphs as on the CPU; saved tensors that leave the device."""

from __future__ import annotations

import copy
import gc
import pickle

import numpy as np
import pytest

import minigrad
from minigrad.autograd.graph import save_on_cpu
from tests.device.alike import same
from tests.device.strict import COUNTS

LOOKS = {
    "select": lambda x: x[1],
    "slice": lambda x: x[1:3, ::2],
    "narrow": lambda x: x.narrow(1, 1, 2),
    "transpose": lambda x: x.t(),
    "permute": lambda x: x.view(2, 2, 3).permute(2, 0, 1),
    "view": lambda x: x.view(6, 2),
    "reshape of a transpose": lambda x: x.t().reshape(4, 3),
    "reshape as a view": lambda x: x.t().reshape(3, 2, 2),
    "squeeze": lambda x: x.view(4, 1, 3, 1).squeeze(),
    "squeeze one": lambda x: x.view(4, 1, 3, 1).squeeze(1),
    "unsqueeze": lambda x: x.unsqueeze(1),
    "expand": lambda x: x[:1].expand(5, 3),
    "diagonal": lambda x: x.diagonal(1),
    "unfold": lambda x: x.unfold(0, 2, 1),
    "unbind": lambda x: x.unbind(1),
    "split": lambda x: x.split([1, 3]),
    "chunk": lambda x: x.chunk(2, 1),
    "tensor_split": lambda x: x.tensor_split(3),
    "movedim": lambda x: x.movedim(0, 1),
    "a view of a view of a view": lambda x: x.t()[1:].view(2, 2, 2)[0],
    "detach": lambda x: x.detach()[2],
    "flatten": lambda x: x.flatten()[3:7],
    "T": lambda x: x.T,
    "empty": lambda x: x[:0],
    "view of what cannot be viewed": lambda x: x.t().view(12),
    "select out of range": lambda x: x[7],
    "narrow out of range": lambda x: x.narrow(0, 3, 2),
}


@pytest.mark.parametrize("name", LOOKS)
def test_a_view(cuda, name):
    before = COUNTS.to_host
    with minigrad.device("cuda"):
        x = minigrad.ones(4, 3)
        try:
            LOOKS[name](x)
        except (IndexError, RuntimeError):
            pass  # an error is compared below
    assert before == COUNTS.to_host
    same(LOOKS[name])


def written(write):
    """A script that writes into a copy of the leaf and gives the copy."""
    def script(x):
        y = x * 2
        returned = write(y)
        return (y, *returned) if isinstance(returned, tuple) else y
    return script


def two_views(y):
    """One view is written to, and another is used afterwards."""
    a, b = y[1:], y.t()
    a.mul_(3)
    return b, a


def in_a_chain(y):
    """Views of views, written to one after the other."""
    a = y[1:]
    b = a[:, 1:]
    b.add_(3)
    a.mul_(b.sum())
    y.add_(1)
    return a, b


def off_the_record(y):
    """A view taken without grad mode, written to without it."""
    with minigrad.no_grad():
        y[0].zero_()
    return (y[0],)


def part_of_many(y):
    """One of several views that come together must not be written to."""
    y.unbind(0)[0].mul_(2)


def saved_and_changed(y):
    """A saved tensor that is changed later."""
    z = y.exp()
    y[0].mul_(2)
    z.add_(1)
    return (z,)


def mask_changed(y):
    """A saved mask that is changed later."""
    mask = y > 0
    z = y.masked_fill(mask, 1.0)
    mask.logical_not_()
    return (z,)


WRITES = {
    "a row": lambda y: y[0].mul_(2),
    "a slice": lambda y: y[1:, ::2].exp_(),
    "a transpose": lambda y: y.t().add_(y.detach().sum(0).unsqueeze(1)),
    "the diagonal": lambda y: y.diagonal().fill_(5.0),
    "the diagonal, by a tensor": lambda y: y.diagonal().copy_(minigrad.arange(3.0)),
    "fill_diagonal_": lambda y: y.fill_diagonal_(2.0),
    "windows that do not overlap": lambda y: y.unfold(0, 2, 2).mul_(4),
    "an expanded view": lambda y: y[:1].expand(3, 3).mul_(2),
    "an expanded view, zero_": lambda y: y[:1].expand(3, 3).zero_(),
    "setitem a number": lambda y: y.__setitem__((slice(None), 1), 7.0),
    "setitem a tensor": lambda y: y.__setitem__(0, y[1].detach() * 3),
    "setitem of the graph": lambda y: y.__setitem__(0, y[1].clone() * y[2].exp()),
    "setitem broadcast": lambda y: y.__setitem__(slice(1, 3), minigrad.tensor([1.0, 2.0, 3.0])),
    "setitem ellipsis": lambda y: y.__setitem__(..., 2.0),
    "copy_": lambda y: y[2].copy_(y[0].clone() * y[1].exp()),
    "copy_ of integers": lambda y: y[2].copy_(minigrad.tensor([1, 2, 3])),
    "copy_ a number's worth": lambda y: y.copy_(y.sum()),
    "fill_ by a tensor": lambda y: y[1].fill_(y.sum().detach()),
    "zero_": lambda y: y.zero_(),
    "setitem by a mask": lambda y: y.__setitem__(y > 0, 3.0),
    "clamp_min_ of a view": lambda y: y[:2].clamp_min_(0),
    "clamp_": lambda y: y.clamp_(-1, 1),
    "masked_fill_": lambda y: y.masked_fill_(y > 0, 3.0),
    "masked_fill_ of a view": lambda y: y.t().masked_fill_(y.t() > 0, y.sum().detach()),
    "masked_scatter_": lambda y: y.masked_scatter_(y > 0, y.detach().flip(0) * 2),
    "index_add_": lambda y: y[:, :2].index_add_(0, minigrad.tensor([0, 0, 3]), minigrad.ones(3, 2)),
    "index_copy_": lambda y: y.index_copy_(0, minigrad.tensor([2, 0]), minigrad.ones(2, 3)),
    "index_fill_": lambda y: y.index_fill_(1, minigrad.tensor([0, 2]), 4.0),
    "index_put_": lambda y: y.index_put_((minigrad.tensor([0, 0, 1]),), minigrad.ones(3, 3), accumulate=True),
    "scatter_": lambda y: y.scatter_(0, minigrad.tensor([[0, 1, 3]]), 9.0),
    "scatter_add_": lambda y: y.scatter_add_(0, minigrad.tensor([[1, 1, 0], [1, 0, 0]]), minigrad.ones(2, 3)),
    "put_": lambda y: y.put_(minigrad.tensor([0, -1]), minigrad.tensor([5.0, 6.0])),
    "cumsum_": lambda y: y[1:].cumsum_(0),
    "add_ with alpha": lambda y: y[0].add_(y[1].detach(), alpha=2),
    "t_": lambda y: y.t_(),
    "unsqueeze_ and squeeze_": lambda y: y.unsqueeze_(0).squeeze_(),
    "transpose_ of a view": lambda y: (y[:2].transpose_(0, 1),),
    "swapaxes_ then written": lambda y: y.swapaxes_(0, 1).mul_(3),
    "two views": two_views,
    "in a chain": in_a_chain,
    "off the record": off_the_record,
    "one of many views": part_of_many,
    "a saved result and a saved input, changed": saved_and_changed,
    "a saved mask, changed": mask_changed,
    "of another shape": lambda y: y[0].add_(minigrad.ones(4, 3)),
    "onto what lies across": lambda y: y[:, :2].add_(y[:, 1:]),
}


@pytest.mark.parametrize("name", WRITES)
def test_a_write(cuda, name):
    same(written(WRITES[name]))


def test_a_leaf_is_not_written_to(cuda):
    for script in (lambda x: x.mul_(2), lambda x: x[0].zero_(), lambda x: x.t_()):
        kind, text = same(script)
        assert kind is RuntimeError
        assert "leaf Variable that requires grad" in text


def test_a_changed_tensor_says_where_it_is(cuda):
    y = minigrad.ones(3, device="cuda", requires_grad=True).exp()
    y.add_(1)
    with pytest.raises(RuntimeError, match=r"\[torch\.cuda\.FloatTensor \[3\]\], which is output 0 of Exp, is at "
                                           "version 1; expected version 0 instead"):
        y.sum().backward()


def test_a_storage_is_shared(cuda):
    x = minigrad.arange(12.0, device="cuda").view(3, 4)
    row = x[1]
    assert row.untyped_storage().data_ptr() == x.untyped_storage().data_ptr() == x.data_ptr()
    assert row.data_ptr() == x.data_ptr() + 16
    assert (row.storage_offset(), row.untyped_storage().nbytes()) == (4, 48)
    assert not x.is_set_to(row)
    assert x[1].is_set_to(row)
    assert row.clone().untyped_storage().data_ptr() != x.data_ptr()
    bits = x.view(minigrad.int32)
    assert (bits.device.type, bits.data_ptr()) == ("cuda", x.data_ptr())
    row.zero_()
    assert bits[1].tolist() == [0, 0, 0, 0]
    assert bits._version == x._version == 1


ORDERS = {
    "rows": lambda x: x,
    "columns": lambda x: x.permute(2, 1, 0),
    "permuted": lambda x: x.permute(1, 0, 2),
    "permuted again": lambda x: x.permute(2, 0, 1),
    "with gaps": lambda x: x.permute(1, 2, 0)[:, ::2],
    "expanded": lambda x: x[:, :1].expand(2, 3, 4).permute(2, 1, 0),
    "a row of it": lambda x: x.permute(1, 0, 2)[1],
    "a number": lambda x: x[1, 0, 2],
}


@pytest.mark.parametrize("name", ORDERS)
def test_a_copy_for_another_device_keeps_the_order(cuda, name):
    x = ORDERS[name](minigrad.arange(24.0).view(2, 3, 4))
    wanted = x.clone().stride()
    there = x.to("cuda")
    for copied in (there, there.to("cuda:1"), there.cpu(), x.to("cuda:1").to("cuda:0").cpu()):
        assert copied.stride() == wanted, copied.device
        assert copied.tolist() == x.tolist()
    turned = ORDERS[name](minigrad.arange(24.0, device="cuda").view(2, 3, 4))  # a view on the device
    for copied in (turned.to("cuda:1"), turned.cpu()):
        assert copied.stride() == wanted
        assert copied.tolist() == x.tolist()


def test_what_elementwise_ops_make_lies_row_by_row(cuda):
    x = minigrad.ones(2, 3, device="cuda", requires_grad=True)
    for y in (x.t() * 2, x.t().exp(), minigrad.where(x.t() > 0, x.t(), 0.0), x.t().relu(), x.t().clamp(0, 1)):
        assert (y.stride(), y.is_contiguous(), y.tolist() != []) == ((2, 1), True, True)
    assert (x.cpu().t() * 2).stride() == (1, 3)


LOST = {
    "expand": lambda x: x[1:2].expand(4, 4),
    "unfold": lambda x: x[1:].unfold(1, 2, 1),
    "a view of an expanded one": lambda x: x[1:2].expand(4, 4)[:, 1:].t(),
}


@pytest.mark.parametrize("name", LOST)
def test_a_view_without_a_base_knows_its_storage(cuda, name):
    x = minigrad.arange(12.0, device="cuda").view(3, 4)
    view = LOST[name](x)
    storage = view.untyped_storage()
    assert (storage.data_ptr(), storage.nbytes()) == (x.data_ptr(), 48)
    assert view.storage_offset() == LOST[name](x.cpu()).storage_offset() > 0
    for a, b in (copy.deepcopy((x, view)), copy.deepcopy((view, x))[::-1]):
        assert b.tolist() == view.tolist()
        a.add_(100)
        assert b.tolist() == (view + 100).tolist()
        assert (a.storage_offset(), b.storage_offset()) == (0, view.storage_offset())
    back = pickle.loads(pickle.dumps(view))
    assert (back.tolist(), back.stride()) == (view.tolist(), view.stride())
    gc.collect()  # what earlier tests left is not to go in between
    before = minigrad.memory.held("cuda").total
    again = LOST[name](x)
    assert minigrad.memory.held("cuda").total == before and again.is_set_to(view)


def test_the_base_of_a_view_is_not_there_where_cupy_has_none(cuda):
    x = minigrad.arange(12.0, device="cuda").view(3, 4).array
    strided = cuda.as_strided(x, (2, 2), (4, 4))
    assert x.base is not None and strided.base is None and strided[1].base is strided[1][:1].base is strided
    assert cuda.storage(strided) == cuda.storage(strided[1].transpose()) == cuda.storage(x)


def test_detach_looks_at_the_same_memory(cuda):
    x = minigrad.ones(3, device="cuda", requires_grad=True)
    seen = x.detach()
    seen[0] = 5
    assert x.tolist() == [5, 1, 1]
    assert x._version == 1
    x.data.zero_()
    assert (x.tolist(), x._version) == ([0, 0, 0], 1)


def test_copies_of_tensors_stay_on_their_device(cuda):
    x = minigrad.arange(6.0, device="cuda:1").view(2, 3).requires_grad_()
    part = x.detach()[:, 1]
    for made in (copy.copy(x), copy.deepcopy(x)):
        assert (str(made.device), made.tolist(), made.requires_grad) == ("cuda:1", x.tolist(), True)
    assert copy.copy(x).data_ptr() == x.data_ptr() != copy.deepcopy(x).data_ptr()
    a, b = copy.deepcopy([x.detach(), part])
    with cuda.on(1):  # CuPy computes on the device in use
        a[0, 1] = 9
    assert b.tolist() == [9, 4]
    assert (b.stride(), b.storage_offset(), str(b.device)) == ((3,), 1, "cuda:1")
    back = pickle.loads(pickle.dumps(part))
    assert (back.tolist(), back.stride(), str(back.device)) == ([1, 4], (3,), "cuda:1")
    assert copy.deepcopy(x.detach()[:0]).device.type == "cuda"


@pytest.mark.parametrize("pin_memory", [False, True])
def test_save_on_cpu(cuda, pin_memory):
    x = minigrad.full((3,), 2.0, device="cuda", requires_grad=True)
    with save_on_cpu(pin_memory=pin_memory):
        y = (x * x).exp()
    assert COUNTS.to_host == 3
    device, kept = y.grad_fn._raw_saved_result.data
    assert (str(device), kept.device.type) == ("cuda:0", "cpu")
    y.sum().backward()
    assert x.grad.device.type == "cuda"
    assert COUNTS.to_host == 3
    np.testing.assert_allclose(x.grad.cpu().numpy(), 4 * np.exp(4), rtol=1e-5)


def test_copy_between_devices(cuda):
    here = minigrad.arange(3.0, requires_grad=True)
    there = minigrad.ones(2, 3, device="cuda")
    there[1].copy_(here)
    (there * there).sum().backward()
    assert there.tolist() == [[1, 1, 1], [0, 1, 2]]
    assert (here.grad.device.type, here.grad.tolist()) == ("cpu", [0, 2, 4])
    there = minigrad.ones(3, device="cuda", requires_grad=True)
    out = minigrad.zeros(3)
    out[:] = there * 3
    out.sum().backward()
    assert (out.device.type, there.grad.device.type, there.grad.tolist()) == ("cpu", "cuda", [3, 3, 3])
    out = minigrad.zeros(2, 3, device="cuda")
    here.grad = None
    out[0] = here  # as in PyTorch what is assigned may come from anywhere
    out.sum().backward()
    assert (here.grad.device.type, here.grad.tolist()) == ("cpu", [1, 1, 1])


@pytest.mark.parametrize(("start", "end"), [("cpu", "cuda:0"), ("cuda:0", "cpu"), ("cuda:0", "cuda:0")])
@pytest.mark.parametrize("how", ["to", "copy_"])
def test_two_derivatives_between_devices(cuda, start, end, how):
    x = minigrad.tensor([1.0, 2.0], device=start, requires_grad=True)
    y = (x * x).to(end) if how == "to" else minigrad.zeros(2, device=end).copy_(x * x)
    (first,) = minigrad.autograd.grad((y * y).sum(), x, create_graph=True)
    (second,) = minigrad.autograd.grad(first.sum(), x)
    assert [str(v.device) for v in (y, first, second)] == [end, start, start]
    assert (first.tolist(), second.tolist()) == ([4, 32], [12, 48])


def test_types_name_the_device(cuda):
    x = minigrad.ones(2, device="cuda")
    assert (x.type(), x.get_device(), x.cpu().get_device()) == ("torch.cuda.FloatTensor", 0, -1)
    assert x.type("torch.cuda.DoubleTensor").dtype is minigrad.float64
    assert x.type("torch.FloatTensor").device.type == "cpu"
    assert x.cpu().type("torch.cuda.LongTensor").device.type == "cuda"
    assert minigrad.ones(2, dtype=minigrad.float64).type_as(x).type() == x.type()
