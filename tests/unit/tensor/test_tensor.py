"""Tensors: flags, views, versions, in-place changes. Each test runs under minigrad and under PyTorch."""

from __future__ import annotations

import copy
import subprocess
import sys
import warnings

import numpy as np
import pytest


def state(t):
    """The three flags of lesson 1."""
    return t.is_leaf, t.requires_grad, t.retains_grad


class TestStates:
    """is_leaf, requires_grad, retains_grad."""

    def test_the_five_that_are_reached(self, m):
        data = m.ones(2)
        assert state(data) == (True, False, False)
        leaf = m.ones(2, requires_grad=True)
        assert state(leaf) == (True, True, False)
        leaf.retain_grad()
        assert state(leaf) == (True, True, False)
        result = leaf * 2
        assert state(result) == (False, True, False)
        result.retain_grad()
        assert state(result) == (False, True, True)
        result.detach_()
        assert state(result) == (True, False, True)

    def test_requires_grad_can_be_switched_on_leaves(self, m):
        x = m.ones(2)
        assert x.requires_grad_() is x
        x.requires_grad = False
        assert state(x) == (True, False, False)
        (m.ones(2, requires_grad=True) * 2).requires_grad_(True)

    def test_results_require_grad_if_any_input_does(self, m):
        x, w = m.ones(2), m.ones(2, requires_grad=True)
        assert [(x + x).requires_grad, (x + w).requires_grad, (w + w).requires_grad] == [False, True, True]
        assert not (w > 0).requires_grad

    def test_detach_shares_data_and_version(self, m):
        x = m.ones(2, requires_grad=True)
        d = x.detach()
        d.add_(1)
        assert state(d) == (True, False, False)
        assert (x.tolist(), x._version, d._version) == ([2.0, 2.0], 1, 1)
        assert d.data_ptr() == x.data_ptr()

    def test_data_shares_data_but_not_the_version(self, m):
        x = m.ones(2, requires_grad=True)
        y = (x * x).sum()
        x.data.mul_(3)
        x.data[0] = 5.0
        assert x._version == 0
        y.backward()
        assert x.grad.tolist() == [10.0, 6.0]

    def test_setting_data(self, m):
        x = m.ones(2, requires_grad=True)
        x.data = m.zeros(3)
        assert (x.tolist(), x.requires_grad, x._version) == ([0.0] * 3, True, 0)

    def test_the_grad_of_an_inner_tensor_warns(self, m):
        y = m.ones(2, requires_grad=True) * 2
        with pytest.warns(UserWarning, match=r"The \.grad attribute of a Tensor that is not a leaf Tensor"):
            assert y.grad is None
        y.retain_grad()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert y.grad is None

    def test_assigning_grad(self, m):
        x, g = m.ones(2, requires_grad=True), m.tensor([5.0, 6.0])
        x.grad = g
        assert x.grad is g
        (x * 2).sum().backward()
        assert g.tolist() == [7.0, 8.0]
        x.grad = None
        assert x.grad is None
        x.grad = g
        del x.grad
        assert x.grad is None

    def test_attributes_of_the_users(self, m):
        x = m.ones(2)
        x.note = "mine"
        assert x.note == "mine"
        assert hash(x) == id(x) or isinstance(hash(x), int)
        assert x in {x}


class TestViews:
    """Memory that is shared."""

    def test_views_know_their_base(self, m):
        x = m.ones(2, 3)
        views = [x.view(6), x[0], x[:, 1:], x.t(), x.unsqueeze(0), x.expand(4, 2, 3), x.reshape(3, 2), x.T, x[...],
                 x.unbind()[0], x.split(1)[0], x.permute(1, 0), x.squeeze(), x.view(6)[1:]]
        assert [v._base is x for v in views] == [True] * len(views)
        assert [v._is_view() for v in views] == [True] * len(views)
        copies = [x.clone(), x + 0, x[[0, 1]], x[x > 0], x.t().reshape(6), x.t().contiguous(), x.double(),
                  x.detach()]
        assert [c._is_view() for c in copies] == [False] * len(copies)

    def test_they_share_memory_and_version(self, m):
        x = m.zeros(2, 3)
        x[0].fill_(1.0)
        x.t()[2].add_(2)
        x.view(6)[3] = 9.0
        assert x.tolist() == [[1.0, 1.0, 3.0], [9.0, 0.0, 2.0]]
        assert x._version == x[0]._version == 3

    def test_zero_dimensional_views(self, m):
        x = m.zeros(3)
        x[1].add_(5)
        s = m.tensor(1.0)
        s.view(1).mul_(4)
        t = (m.tensor(2.0) * 3)
        t.detach().add_(1)
        assert (x.tolist(), s.item(), t.item()) == ([0.0, 5.0, 0.0], 4.0, 7.0)

    def test_numpy_shares_memory(self, m):
        x = m.zeros(2)
        x.numpy()[0] = 5.0
        array = np.ones(2, np.float32)
        y = m.from_numpy(array)
        y.add_(1)
        assert (x.tolist(), array.tolist()) == ([5.0, 0.0], [2.0, 2.0])
        assert m.tensor(array).data_ptr() != y.data_ptr()

    def test_same_tensor_where_nothing_changes(self, m):
        x = m.ones(2)
        assert x.to(m.float32) is x
        assert x.float() is x
        assert x.to("cpu") is x
        assert x.cpu() is x
        assert x.contiguous() is x
        assert x.to(m.float32, copy=True) is not x


class TestInPlace:
    """Changes, versions, history."""

    def test_each_change_counts(self, m):
        x = m.ones(2)
        x.add_(1).mul_(2)
        x[0] = 3.0
        x += 1
        x.zero_()
        assert x._version == 5

    def test_history_is_taken_over(self, m):
        x = m.ones(2, requires_grad=True)
        y = x * 2
        first = y.grad_fn
        assert y.mul_(3) is y
        assert y.grad_fn is not first
        assert y.grad_fn.next_functions[0][0] is first
        y.sum().backward()
        assert x.grad.tolist() == [6.0, 6.0]

    def test_data_gets_a_history(self, m):
        x, out = m.ones(2, requires_grad=True), m.zeros(2)
        out.add_(x)
        assert (out.requires_grad, out.is_leaf) == (True, False)
        out.sum().backward()
        assert x.grad.tolist() == [1.0, 1.0]

    def test_a_change_of_what_nobody_saved_is_fine(self, m):
        x = m.ones(2, requires_grad=True)
        y = x * 2
        y.add_(1)
        z = x + 1
        z.mul_(3)
        (y + z).sum().backward()
        assert x.grad.tolist() == [5.0, 5.0]

    def test_an_input_saved_before_a_change(self, m):
        x = m.tensor([1.0, 2.0], requires_grad=True)
        y = x * 1
        y.mul_(y.detach().clone())
        y.exp_()
        y.sum().backward()
        assert x.grad.tolist() == pytest.approx([2.7182817, 4 * 54.59815 / 2])

    def test_own_product(self, m):
        x = m.tensor([1.0, 2.0], requires_grad=True)
        y = x * 1
        y.mul_(y)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            y.sum().backward()

    @pytest.mark.parametrize("op", ["exp", "sigmoid", "sqrt", "tanh", "relu"])
    def test_saved_results_notice_a_change(self, m, op):
        y = getattr(m.ones(2, requires_grad=True), op)()
        y.add_(1)
        with pytest.raises(RuntimeError, match="which is output 0 of .*, is at version 1; expected version 0"):
            y.sum().backward()

    @pytest.mark.parametrize("op", [lambda x: x * 2, lambda x: x ** 2, lambda x: x.sin(), lambda x: x + 1,
                                    lambda x: x / 2, lambda x: x.abs(), lambda x: x.sum(0, keepdim=True)])
    def test_results_that_nobody_saved_do_not(self, m, op):
        x = m.tensor([1.0, 2.0], requires_grad=True)
        y = op(x)
        y.add_(1)
        y.sum().backward()
        assert x.grad is not None

    def test_versions_are_checked_per_tensor(self, m):
        x, w = m.ones(2, requires_grad=True), m.ones(4)
        y = (x * w[:2]).sum()
        w[2:].add_(1)
        with pytest.raises(RuntimeError, match="is at version 1; expected version 0"):
            y.backward()

    def test_a_retained_leaf_can_be_updated_and_used_again(self, m):
        x = m.tensor([1.0, 2.0], requires_grad=True)
        for _ in range(3):
            (x * x).sum().backward()
            with m.no_grad():
                x -= 0.1 * x.grad
            x.grad = None
        assert x.tolist() == pytest.approx([0.512, 1.024])
        assert x._version == 3

    def test_types_stay(self, m):
        x = m.ones(2)
        x.add_(m.ones(2, dtype=m.float64))
        assert str(x.dtype) == "torch.float32"
        i = m.ones(2, dtype=m.int64)
        i.add_(True).mul_(3)
        assert i.tolist() == [6, 6]


def test_deepcopy_of_a_leaf(m):
    x = m.tensor([1.0, 2.0], requires_grad=True)
    (x * 2).sum().backward()
    y = copy.deepcopy(x)
    assert (y.tolist(), y.requires_grad, y.grad.tolist()) == ([1.0, 2.0], True, [2.0, 2.0])
    y.data.add_(1)
    assert x.tolist() == [1.0, 2.0]
    with pytest.raises(RuntimeError, match="Only Tensors created explicitly by the user"):
        copy.deepcopy(x * 2)


def test_tensors_meet_numpy(m):
    x = m.ones(2)
    assert np.asarray(x).tolist() == [1.0, 1.0]
    assert (np.float64(2.0) * m.tensor(3.0)).item() == 6.0
    assert m.tensor(np.float64(2.5)).item() == 2.5
    assert m.tensor([m.tensor(1.0), 2.0]).tolist() == [1.0, 2.0]
    assert m.tensor(np.arange(3)).tolist() == [0, 1, 2]


def test_numbers(m):
    assert int(m.tensor(3.7)) == 3
    assert float(m.tensor(3)) == 3.0
    assert bool(m.tensor([0.5]))
    assert [1, 2, 3][m.tensor(1)] == 2
    assert m.tensor([[7]]).item() == 7
    assert [t.item() for t in m.arange(3)] == [0, 1, 2]


def test_a_replaced_method_stays_when_more_ops_are_loaded():
    program = ("import minigrad\nminigrad.Tensor.exp = lambda self: 'mine'\n"
               "import minigrad.nn.functional\nprint(minigrad.ones(2).exp())")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "mine\n"
