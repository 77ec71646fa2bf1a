"""Operands of two devices: an error in PyTorch's words that changes nothing; a number on the CPU meets any device."""

from __future__ import annotations

import numpy as np
import pytest

import minigrad
from minigrad.nn import functional as F
from tests.device.strict import COUNTS
from tests.parity.compare import arrays_of, leaves_of
from tests.parity.tables import all_cases

CASES = all_cases()
SENTENCES = ("Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!",
             "Input type (torch", "quantile() q tensor must be on the same device as the input tensor")
# What looks at the shape of an operand only, copies it, gives each its own result, or has it as a number.
MAY_MIX = {"view_as", "expand_as", "reshape_as", "copy_", "copy_ other dtype", "unused", "broadcast_tensors", "atleast",
           "meshgrid", "meshgrid, xy", "diag", "fill_diagonal_"}
AS_NUMBERS = {"masked_fill", "masked_fill_", "index_fill", "index_fill_"}


def leaves_for(name):
    """The call of a line of the table, and its operands."""
    call, inputs = CASES[name]
    return call, [v.detach() for v in leaves_of(minigrad, inputs, arrays_of(inputs, "float32", seed=len(inputs)))]


def mixtures():
    """Lines with several operands, none of them a number, and which operand is to lie elsewhere."""
    found = []
    for name in CASES:
        _, leaves = leaves_for(name)
        if len(leaves) > 1 and name not in MAY_MIX | AS_NUMBERS and all(v.dim() for v in leaves):
            found += [(name, i) for i in range(len(leaves))]
    return found


MIXTURES = mixtures()


@pytest.mark.parametrize("odd", ["cpu", "cuda"])
@pytest.mark.parametrize(("name", "which"), MIXTURES)
def test_refused(cuda, name, which, odd):
    call, leaves = leaves_for(name)
    rest = "cuda" if odd == "cpu" else "cpu"
    leaves = [v.to(odd if i == which else rest).requires_grad_(v.requires_grad) for i, v in enumerate(leaves)]
    before = [v.cpu().numpy().copy() for v in leaves]
    with pytest.raises(RuntimeError) as error:
        call(minigrad, *leaves)
    assert str(error.value).split("\n")[0].startswith(SENTENCES)
    for v, values in zip(leaves, before, strict=True):
        np.testing.assert_array_equal(v.cpu().numpy(), values)
        assert v.grad is None and v.is_leaf


def test_the_table_is_large():
    assert len(MIXTURES) > 600


@pytest.mark.parametrize("name", sorted(MAY_MIX))
def test_may_mix(cuda, name):
    call, leaves = leaves_for(name)
    call(minigrad, leaves[0].cuda(), *leaves[1:])


def test_devices_of_one_kind(cuda):
    a, b = minigrad.ones(2, device="cuda:0"), minigrad.ones(2, device="cuda:1")
    assert (str(a.device), str(b.device)) == ("cuda:0", "cuda:1")
    with pytest.raises(RuntimeError, match="found at least two devices, cuda:0 and cuda:1!"):
        minigrad.cat([a, b])


NUMBERS = {
    "add": lambda x, y: x + y,
    "add alpha": lambda x, y: minigrad.add(x, y, alpha=2),
    "sub": lambda x, y: x - y,
    "rsub": lambda x, y: minigrad.rsub(x, y),
    "mul": lambda x, y: x * y,
    "div": lambda x, y: x / y,
    "pow": lambda x, y: x ** y,
    "atan2": minigrad.atan2,
    "hypot": minigrad.hypot,
    "logaddexp": minigrad.logaddexp,
    "fmod": minigrad.fmod,
    "remainder": minigrad.remainder,
    "copysign": minigrad.copysign,
    "maximum": minigrad.maximum,
    "xlogy": minigrad.xlogy,
    "lerp": lambda x, y: minigrad.lerp(x, y, 0.25),
    "where": lambda x, y: minigrad.where(x > y, x, y),
    "addcmul": lambda x, y: minigrad.addcmul(x, x, y),
    "clamp": lambda x, y: x.clamp(min=y),
    "lt": lambda x, y: x < y,
    "logical_and": minigrad.logical_and,
}


def derived(call, x, y):
    """A result, its gradients, and theirs."""
    made = call(x, y)
    if not made.requires_grad:
        return [made]
    first = minigrad.autograd.grad((made * made).sum(), (x, y), create_graph=True, allow_unused=True)
    loss = sum((g * g).sum().cpu() for g in first if g is not None)
    return [made, *first, *minigrad.autograd.grad(loss, (x, y), allow_unused=True)]


@pytest.mark.parametrize("turned", [False, True], ids=["number last", "number first"])
@pytest.mark.parametrize("name", NUMBERS)
def test_a_number_on_the_cpu(cuda, name, turned):
    found = []
    for device in ("cpu", "cuda"):
        x = minigrad.tensor([0.5, 1.5, 2.0], device=device, requires_grad=True)
        y = minigrad.tensor(0.75, requires_grad=True)
        pair = (y, x) if turned else (x, y)
        found.append(derived(NUMBERS[name], *pair))
    assert COUNTS.to_host <= 8  # of `.cpu()` here, and of gradients that go to the number
    assert found[1][0].device.type == "cuda"
    for a, b in zip(*found, strict=True):
        assert (a is None) == (b is None)
        if a is not None:
            assert a.dtype is b.dtype
            np.testing.assert_allclose(b.detach().cpu().numpy(), a.detach().numpy(), rtol=1e-5, atol=1e-6)
    places = [None if v is None else v.device.type for v in found[1][1:]]
    wanted = ["cpu", "cuda"] if turned else ["cuda", "cpu"]
    assert all(place in (None, want) for place, want in zip(places, wanted * 2))


def test_gradients_go_home(cuda):
    x, y = minigrad.ones(3, device="cuda", requires_grad=True), minigrad.tensor(2.0, requires_grad=True)
    (x * y).sum().backward()
    assert (x.grad.device.type, y.grad.device.type) == ("cuda", "cpu")
    assert x.grad.tolist() == [2, 2, 2] and y.grad.item() == 3


def test_an_integer_promotes_as_on_the_cpu(cuda):
    x = minigrad.arange(3, device="cuda")
    assert (x * minigrad.tensor(0.5)).dtype is minigrad.float32
    assert (x * minigrad.tensor(2, dtype=minigrad.int32)).dtype is minigrad.int64
    assert (x.float() * minigrad.tensor(0.5, dtype=minigrad.float64)).dtype is minigrad.float32


@pytest.mark.parametrize("call", [lambda x, y: x.add_(y), lambda x, y: x.mul_(y), lambda x, y: x.copy_(y),
                                  lambda x, y: x.clamp_(max=y)], ids=["add_", "mul_", "copy_", "clamp_"])
def test_in_place_by_a_number(cuda, call):
    x = minigrad.ones(2, device="cuda")
    assert call(x, minigrad.tensor(0.5)).device.type == "cuda"
    assert x._version == 1


def test_a_number_on_the_device_meets_none_of_the_cpu(cuda):
    x = minigrad.ones(2)
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
        x.add_(minigrad.tensor(1.0, device="cuda"))
    y = minigrad.tensor(1.0)
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
        y.add_(minigrad.tensor(1.0, device="cuda"))
    assert x.tolist() == [1, 1] and y.item() == 1 and x._version == y._version == 0


def test_targets_and_weights(cuda):
    x, t, w = minigrad.randn(4, 3), minigrad.tensor([0, 1, 2, 0]), minigrad.ones(3)
    for args in ((x.cuda(), t), (x, t.cuda()), (x.cuda(), t.cuda(), w), (x, t, w.cuda())):
        with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
            F.cross_entropy(*args)
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
        F.multi_margin_loss(x.cuda(), t)
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
        F.embedding(t.cuda(), x)


def test_a_module_and_its_input(cuda):
    for module, x in ((minigrad.nn.Linear(3, 2).cuda(), minigrad.ones(1, 3)),
                      (minigrad.nn.Linear(3, 2), minigrad.ones(1, 3, device="cuda")),
                      (minigrad.nn.LSTM(3, 2).cuda(), minigrad.ones(1, 1, 3)),
                      (minigrad.nn.LayerNorm(3).cuda(), minigrad.ones(1, 3)),
                      (minigrad.nn.MultiheadAttention(4, 2), minigrad.ones(1, 1, 4, device="cuda"))):
        with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
            module(x) if not isinstance(module, minigrad.nn.MultiheadAttention) else module(x, x, x)
