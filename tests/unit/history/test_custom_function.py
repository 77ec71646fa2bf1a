"""What a Function's forward gives back: views, what it changed, what is no tensor. Under minigrad and under PyTorch."""

from __future__ import annotations

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
