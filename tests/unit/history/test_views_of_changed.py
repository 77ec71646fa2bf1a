"""Views taken before an in-place op on their base. Each test runs under minigrad and under PyTorch."""

from __future__ import annotations

from tests.unit.autograd.test_function import make


def leaf(m):
    return m.tensor([0.5, 1.0, 2.0], requires_grad=True)


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
