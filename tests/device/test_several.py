"""Two devices: results lie on the one in use, and an op on tensors of the other one is refused."""

from __future__ import annotations

import pytest

import minigrad
from minigrad.autograd.grad_mode import UNUSUAL

IN_USE = "minigrad computes on the device in use, cuda:0, and a tensor lies on cuda:1."


def test_an_op_on_the_other_device_is_refused(cuda):
    x = minigrad.ones(3, device="cuda:1", requires_grad=True)
    for call in (lambda: x * 2, lambda: x.sum(), lambda: x + x, x.exp, lambda: minigrad.cat([x, x])):
        with pytest.raises(RuntimeError) as error:
            call()
        assert str(error.value).startswith(IN_USE)
    assert x.grad is None
    assert x.device == minigrad.device("cuda", 1)


def test_with_the_device_in_use_it_runs(cuda):
    x = minigrad.ones(3, device="cuda:1", requires_grad=True)
    with minigrad.cuda.device(1):
        (x * 2).sum().backward()
    assert x.grad.device == x.device
    assert x.grad.tolist() == [2.0, 2.0, 2.0]


def test_views_and_copies_need_no_device_in_use(cuda):
    x = minigrad.ones(2, 3, device="cuda:1", requires_grad=True)
    assert x.t().device == x[0].device == x.device
    y = x.to("cuda:0") * 2
    assert y.device == minigrad.device("cuda", 0)
    y.sum().backward()
    assert x.grad.device == x.device
    assert x.grad.tolist() == [[2.0] * 3] * 2


def test_tensors_of_two_devices_do_not_meet(cuda):
    x, y = minigrad.ones(3, device="cuda:0"), minigrad.ones(3, device="cuda:1")
    for call in (lambda: x + y, lambda: y * x, lambda: minigrad.dot(x, y), lambda: minigrad.where(x > 0, x, y)):
        with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device, but found at least two "
                                               "devices, cuda:[01] and cuda:[01]!"):
            call()


def test_where_the_device_is_in_use_it_is_not_put_there_again(cuda, monkeypatch):
    entered, enter = [], cuda.on
    monkeypatch.setattr(cuda, "on", lambda index: entered.append(index) or enter(index))
    x = minigrad.zeros(3, device="cuda")
    assert minigrad.zeros_like(x).device == minigrad.ones(2, device="cuda:0").device == x.device
    assert not entered
    assert minigrad.ones(3, device="cuda:1").device == minigrad.device("cuda", 1)
    assert set(entered) == {1}


def test_one_device_leaves_ops_on_their_straight_path(cuda):
    before = UNUSUAL.count
    x = minigrad.ones(3, device="cuda")
    assert (x + x).device == minigrad.device("cuda", 0)
    assert UNUSUAL.count == before
