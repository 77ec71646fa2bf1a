"""Corners of Functions, views, threads and modules. Each test that takes `m` runs under minigrad and under PyTorch."""

from __future__ import annotations

import copy
import threading

import pytest

from tests.unit.autograd.test_function import make


def leaf(m):
    return m.tensor([0.5, 1.0, 2.0], requires_grad=True)


class TestFunctions:
    def test_a_view_comes_out_with_the_functions_history(self, m):
        x = leaf(m)
        y = make(m, lambda ctx, x: x.view(3, 1), lambda ctx, g: g.view(3) * 2)(x)
        y.backward(m.ones(3, 1))
        assert x.grad.tolist() == [2, 2, 2]

    def test_a_result_that_forward_changed_is_watched_too(self, m):
        def forward(ctx, x):
            y = x.exp()
            y.mul_(2)
            ctx.save_for_backward(y)
            return y

        apply = make(m, forward, lambda ctx, g: g * ctx.saved_tensors[0])
        x = leaf(m)
        apply(x).sum().backward()
        assert x.grad.tolist() == pytest.approx((2 * x.exp()).tolist())
        y = apply(x)
        y.add_(1)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            y.sum().backward()

    def test_a_leaf_cannot_be_dirty(self, m):
        with pytest.raises(RuntimeError, match="a leaf Variable that requires grad has been used in an in-place"):
            make(m, lambda ctx, x: (ctx.mark_dirty(x), x.add_(1))[1], lambda ctx, g: g)(leaf(m))

    def test_what_is_dirty_must_come_out(self, m):
        with pytest.raises(RuntimeError, match="Some elements marked as dirty during the forward method were not"):
            make(m, lambda ctx, x: (ctx.mark_dirty(x), x.add_(1) * 2)[1], lambda ctx, g: g)(leaf(m).clone())

    def test_no_zeros_for_what_is_no_tensor(self, m):
        seen = []
        x = leaf(m)
        y, _, _ = make(m, lambda ctx, x: (x * 2, None, x * 3), lambda ctx, *gs: (seen.extend(gs), gs[0])[1])(x)
        y.sum().backward()
        assert [None if g is None else g.tolist() for g in seen] == [[1, 1, 1], None, [0, 0, 0]]


class TestViewsOfWhatChanged:
    """A view taken before an in-place op on its base reads the base as it is now."""

    def test_it_is_followed(self, m):
        x = leaf(m)
        y = x.clone()
        view = y[0]
        before = view * 2
        y.mul_(3)
        assert view.item() == 1.5 and view.grad_fn.name() == "AsStridedBackward0"
        (view * 2).backward(retain_graph=True)
        assert x.grad.tolist() == [6, 0, 0]
        before.backward(retain_graph=True)
        assert x.grad.tolist() == [8, 0, 0]

    def test_data_that_got_a_history(self, m):
        buffer, w = m.zeros(3), leaf(m)
        view = buffer[0]
        buffer.copy_(w)
        assert view.requires_grad
        (view * w).sum().backward()
        assert w.grad.tolist() == [4, 0.5, 0.5]

    def test_a_dirty_base(self, m):
        y = leaf(m).clone()
        view = y[0]
        make(m, lambda ctx, x: (ctx.mark_dirty(x), x.add_(1))[1], lambda ctx, g: g * 5)(y)
        view.backward()
        assert view.grad_fn.next_functions[0][0].name() == "MineBackward"

    def test_new_views_are_fine(self, m):
        x = leaf(m)
        y = x.clone()
        y[0].detach()
        y.mul_(3)
        y[0].backward()
        assert x.grad.tolist() == [3, 0, 0]


def test_threads_add_up_in_one_grad(m):
    x = m.zeros(100_000, requires_grad=True)

    def work():
        for _ in range(20):
            (x * 1).backward(m.ones(100_000))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert m.equal(x.grad, m.full((100_000,), 80.0))


class TestModules:
    def test_deepcopy_of_a_parameter_leaves_its_grad_behind(self, m):
        p = m.nn.Parameter(m.ones(2))
        p.sum().backward()
        made = copy.deepcopy(p)
        assert (type(made), made.grad, made.requires_grad) == (m.nn.Parameter, None, True)

    def test_deepcopy_of_a_leaf_takes_attributes_along(self, m):
        x = leaf(m)
        x.notes = ["first"]
        made = copy.deepcopy(x)
        assert made.notes == ["first"]
        assert made.notes is not x.notes

    def test_a_parameter_shares_the_version_of_its_data(self, m):
        data = m.ones(2)
        p = m.nn.Parameter(data)
        data.add_(1)
        assert p._version == data._version == 1

    def test_what_is_taken_off_is_no_parameter_any_more(self, m):
        model = m.nn.Sequential(m.nn.Linear(2, 2), m.nn.Linear(2, 1))
        model.extra = m.nn.Linear(1, 1)
        model.extra = None
        del model[1].bias
        model[0].bias = None
        assert [name for name, _ in model.named_parameters()] == ["0.weight", "1.weight"]
        assert model[0].bias is None
        with pytest.raises(TypeError, match="as child module 'extra'"):
            model.extra = 3

    def test_a_part_of_a_sequence(self, m):
        part = m.nn.Sequential(m.nn.ReLU(), m.nn.Tanh(), m.nn.Sigmoid())[1:]
        assert repr(part) == "Sequential(\n  (1): Tanh()\n  (2): Sigmoid()\n)"

    def test_a_module_used_twice_is_one_child(self, m):
        layer = m.nn.Linear(2, 2)
        model = m.nn.Sequential(layer, layer)
        assert (len(list(model.children())), len(list(model))) == (1, 2)
