"""The backward pass: order, sums, who may keep a gradient. Each test runs under minigrad and under PyTorch."""

from __future__ import annotations

import pytest


def trace(tensor, name, log):
    """Write the tensor's gradient into a log when it is known."""
    tensor.register_hook(lambda g: log.append((name, g.tolist())))
    return tensor


def test_a_diamond_runs_each_node_once_with_its_whole_gradient(m):
    log = []
    a = m.tensor(1.0, requires_grad=True)
    b = trace(a + a, "b", log)
    c = trace(b + b, "c", log)
    c.backward()
    assert log == [("c", 1.0), ("b", 2.0)]
    assert a.grad.item() == 4.0


def test_newest_ready_node_runs_first(m):
    log = []
    x = m.tensor(1.0, requires_grad=True)
    first = trace(x * 2, "first", log)
    second = trace(x * 3, "second", log)
    third = trace(x * 5, "third", log)
    (third + first + second).backward()
    assert [name for name, _ in log] == ["third", "second", "first"]


def test_a_leaf_comes_before_all_waiting_nodes(m):
    log = []
    x = trace(m.tensor(1.0, requires_grad=True), "x", log)
    y = m.tensor(1.0, requires_grad=True)
    old = trace(y * 2, "old", log)
    (x * 3 + old).backward()
    assert [name for name, _ in log] == ["x", "old"]


def test_a_long_and_a_short_way_meet(m):
    x = m.tensor(2.0, requires_grad=True)
    long = x
    for _ in range(10):
        long = long * 1.0
    (long * x * x).backward()
    assert x.grad.item() == 12.0


def test_several_roots_are_one_pass(m):
    log = []
    x = m.tensor([1.0, 2.0], requires_grad=True)
    shared = trace(x * 2, "shared", log)
    a, b = shared.sum(), shared * 3
    m.autograd.backward([a, b], [None, m.tensor([1.0, 10.0])])
    assert log == [("shared", [4.0, 31.0])]
    assert x.grad.tolist() == [8.0, 62.0]


def test_one_root_twice_counts_twice(m):
    x = m.tensor(1.0, requires_grad=True)
    y = x * 3
    m.autograd.backward([y, y])
    assert x.grad.item() == 6.0


def test_a_root_inside_the_graph_of_another(m):
    x = m.tensor(1.0, requires_grad=True)
    y = x * 2
    z = y * 5
    m.autograd.backward([z, y])
    assert x.grad.item() == 12.0


def test_a_leaf_may_be_the_root(m):
    x = m.tensor([1.0, 2.0], requires_grad=True)
    x.backward(m.tensor([3.0, 4.0]))
    assert x.grad.tolist() == [3.0, 4.0]
    s = m.tensor(5.0, requires_grad=True)
    s.backward()
    assert s.grad.item() == 1.0


def test_gradients_add_up_in_the_same_tensor(m):
    x = m.ones(2, requires_grad=True)
    (x * 2).sum().backward()
    first = x.grad
    (x * 3).sum().backward()
    assert x.grad is first
    assert first.tolist() == [5.0, 5.0]
    assert first._version == 1


def test_a_second_pass_needs_what_was_saved(m):
    x = m.ones(2, requires_grad=True)
    added = (x + 1).sum()
    added.backward()
    added.backward()
    assert x.grad.tolist() == [2.0, 2.0]
    multiplied = (x * x).sum()
    multiplied.backward(retain_graph=True)
    multiplied.backward(retain_graph=True)
    multiplied.backward()
    with pytest.raises(RuntimeError, match="a second time"):
        multiplied.backward()
    assert x.grad.tolist() == [8.0, 8.0]


def test_a_shared_part_is_freed_for_both(m):
    x = m.ones(2, requires_grad=True)
    shared = x.exp()
    one, two = shared.sum(), (shared * 2).sum()
    one.backward()
    with pytest.raises(RuntimeError, match="a second time"):
        two.backward()


def test_a_failed_pass_leaves_a_graph_that_can_run(m):
    x = m.ones(2, requires_grad=True)
    y = x * 2
    handle = y.register_hook(lambda g: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        y.sum().backward()
    handle.remove()
    assert m.is_grad_enabled()
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


class TestWhoMayKeepAGradient:
    """Nothing that a user holds changes behind their back, and `.grad`s never share memory."""

    def test_leaves_of_one_addition(self, m):
        a, b = m.ones(2, requires_grad=True), m.ones(2, requires_grad=True)
        (a + b).sum().backward()
        a.grad.add_(5)
        assert b.grad.tolist() == [1.0, 1.0]

    def test_the_root_gradient_is_not_kept(self, m):
        x, g = m.ones(2, requires_grad=True), m.ones(2)
        (x + 0).backward(g)
        x.grad.add_(5)
        assert g.tolist() == [1.0, 1.0]

    def test_a_leaf_root_does_not_share_with_the_root_gradient_later(self, m):
        x, g = m.ones(2, requires_grad=True), m.ones(2)
        x.backward(g)
        (x * 2).sum().backward()
        assert x.grad.tolist() == [3.0, 3.0]
        assert g.tolist() == [1.0, 1.0]

    def test_a_gradient_that_a_hook_kept(self, m):
        kept = []
        x = m.ones(2, requires_grad=True)
        y = x * 2
        y.register_hook(kept.append)
        x.register_hook(kept.append)
        (y * 3).sum().backward()
        (x * 4).sum().backward()
        x.grad.zero_()
        assert [k.tolist() for k in kept] == [[3.0, 3.0], [6.0, 6.0], [4.0, 4.0]]

    def test_a_gradient_that_a_hook_returned(self, m):
        mine = m.tensor([7.0, 7.0])
        x = m.ones(2, requires_grad=True)
        x.register_hook(lambda g: mine)
        (x * 2).sum().backward()
        (x * 2).sum().backward()
        assert x.grad.tolist() == [14.0, 14.0]
        assert mine.tolist() == [7.0, 7.0]

    def test_a_gradient_that_waits_is_not_the_one_that_came(self, m):
        kept = []
        x = m.ones(2, requires_grad=True)
        y = x * 2
        z = y + 0
        z.register_hook(kept.append)
        (z + y).sum().backward()
        assert kept[0].tolist() == [1.0, 1.0]
        assert x.grad.tolist() == [4.0, 4.0]

    def test_retained_gradients(self, m):
        x = m.ones(2, requires_grad=True)
        y = x + 1
        y.retain_grad()
        (y + 1).sum().backward()
        y.grad.add_(5)
        assert x.grad.tolist() == [1.0, 1.0]

    def test_the_saved_factor_is_not_handed_out(self, m):
        x, w = m.ones(2, requires_grad=True), m.tensor([3.0, 4.0])
        y = (x * w).sum()
        y.backward(retain_graph=True)
        x.grad.zero_()
        assert w.tolist() == [3.0, 4.0]
        y.backward()
        assert x.grad.tolist() == [3.0, 4.0]

    def test_results_of_grad(self, m):
        a, b = m.ones(2, requires_grad=True), m.ones(2, requires_grad=True)
        ga, gb = m.autograd.grad(a + b, [a, b], m.ones(2))
        a.grad = ga.clone()
        a.grad.add_(5)
        assert ga.tolist() == gb.tolist() == [1.0, 1.0]

    def test_the_gradient_of_a_sum_can_be_written(self, m):
        x = m.ones(3, requires_grad=True)
        x.sum().backward()
        x.grad.add_(m.tensor([1.0, 2.0, 3.0]))
        assert x.grad.tolist() == [2.0, 3.0, 4.0]

    def test_the_gradient_is_contiguous(self, m):
        x = m.ones(2, 3, requires_grad=True)
        x.t().sum().backward()
        assert x.grad.is_contiguous()
        (g,) = m.autograd.grad(x.expand(4, 2, 3).sum(), x)
        assert g.tolist() == [[4.0] * 3] * 2


class TestInputs:
    """`backward(inputs=…)` and what lies outside."""

    def test_only_the_inputs_get_a_gradient(self, m):
        x, w = m.ones(2, requires_grad=True), m.ones(2, requires_grad=True)
        (x * w).sum().backward(inputs=[w])
        assert x.grad is None
        assert w.grad.tolist() == [1.0, 1.0]

    def test_nodes_that_lead_nowhere_do_not_run(self, m):
        log = []
        x, w = m.ones(2, requires_grad=True), m.ones(2, requires_grad=True)
        a, b = x * 2, w * 3
        a.grad_fn.register_hook(lambda *_: log.append("a"))
        b.grad_fn.register_hook(lambda *_: log.append("b"))
        (a + b).sum().backward(inputs=[w])
        assert log == ["b"]

    def test_an_inner_tensor_as_input(self, m):
        x = m.ones(2, requires_grad=True)
        y = x * 2
        (y * 3).sum().backward(inputs=[y])
        assert y.grad.tolist() == [3.0, 3.0]
        assert x.grad is None

    def test_an_inner_tensor_and_a_leaf_below_it(self, m):
        x = m.ones(2, requires_grad=True)
        y = x * 2
        (y * 3).sum().backward(inputs=[y, x])
        assert y.grad.tolist() == [3.0, 3.0]
        assert x.grad.tolist() == [6.0, 6.0]

    def test_a_single_tensor(self, m):
        x = m.ones(2, requires_grad=True)
        (x * 2).sum().backward(inputs=x)
        assert x.grad.tolist() == [2.0, 2.0]


class TestUndefinedGradients:
    """Outputs that nothing depends on, and branches that stop."""

    def test_unused_outputs_are_zeros(self, m):
        x = m.ones(3, 2, requires_grad=True)
        x.unbind()[1].sum().backward()
        assert x.grad.tolist() == [[0.0, 0.0], [1.0, 1.0], [0.0, 0.0]]

    def test_two_outputs_of_one_node_in_two_passes(self, m):
        x = m.arange(4.0).requires_grad_()
        a, b = x.chunk(2)
        (a * 2).sum().backward()
        (b * 3).sum().backward()
        assert x.grad.tolist() == [2.0, 2.0, 3.0, 3.0]

    def test_a_function_that_returns_none(self, m):
        class Stop(m.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2

            @staticmethod
            def backward(ctx, g):
                return None

        x = m.ones(2, requires_grad=True)
        y = m.ones(2, requires_grad=True)
        (Stop.apply(x * y) + y).sum().backward()
        assert x.grad is None
        assert y.grad.tolist() == [1.0, 1.0]

    def test_an_edge_that_wants_nothing(self, m):
        x = m.ones(2, requires_grad=True)
        data = m.ones(2)
        (x * data).sum().backward()
        assert data.grad is None


class TestRecordedPasses:
    """`create_graph=True`: the pass is itself a graph."""

    def test_third_derivative(self, m):
        x = m.tensor(2.0, requires_grad=True)
        (g,) = m.autograd.grad(x**4, x, create_graph=True)
        (g2,) = m.autograd.grad(g, x, create_graph=True)
        (g3,) = m.autograd.grad(g2, x)
        assert (g.item(), g2.item(), g3.item()) == (32.0, 48.0, 48.0)
        assert g2.requires_grad
        assert not g3.requires_grad

    @pytest.mark.filterwarnings("ignore:Using backward")
    def test_grads_carry_a_graph(self, m):
        x = m.ones(2, requires_grad=True)
        (x * x * x).sum().backward(create_graph=True)
        assert x.grad.requires_grad
        assert not x.grad.is_leaf
        x.grad.sum().backward()
        assert x.grad.tolist() == [9.0, 9.0]

    def test_backward_with_create_graph_warns_of_the_cycle(self, m):  # once in a process, unless one asks for more
        x = m.ones(1, requires_grad=True)
        m.set_warn_always(True)
        try:
            with pytest.warns(UserWarning, match="will create a reference cycle"):
                (x * x).backward(create_graph=True)
        finally:
            m.set_warn_always(False)
        x.grad = None

    def test_grad_of_a_gradient_penalty(self, m):
        x = m.tensor([1.0, 2.0], requires_grad=True)
        w = m.tensor([3.0, -1.0], requires_grad=True)
        (g,) = m.autograd.grad((x * w).tanh().sum(), x, create_graph=True)
        (g * g).sum().backward()
        expected = m.autograd.grad(((w * (1 - (x * w).tanh() ** 2)) ** 2).sum(), [x, w])
        for got, want in zip((x.grad, w.grad), expected, strict=True):
            assert got.tolist() == pytest.approx(want.tolist(), rel=1e-4)

    def test_retain_graph_follows_create_graph(self, m):
        x = m.tensor(2.0, requires_grad=True)
        y = x * x
        m.autograd.grad(y, x, create_graph=True)
        assert m.autograd.grad(y, x)[0].item() == 4.0
        with pytest.raises(RuntimeError, match="a second time"):
            m.autograd.grad(y, x)
