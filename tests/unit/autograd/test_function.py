"""Custom functions, in both styles. Each test runs under minigrad and under PyTorch."""

from __future__ import annotations

import importlib

import pytest

import minigrad


def make(m, forward, backward, setup=None):
    """A Function of these."""
    body = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    if setup:
        body["setup_context"] = staticmethod(setup)
    return type("Mine", (m.autograd.Function,), body).apply


def test_the_node_is_attached_after_forward(m):
    seen = []

    def forward(ctx, x):
        y = x * 2
        seen.append((x.requires_grad, y.requires_grad, m.is_grad_enabled()))
        return y

    y = make(m, forward, lambda ctx, g: g * 2)(m.ones(2, requires_grad=True))
    assert seen == [(True, False, False)]
    assert (y.requires_grad, y.is_leaf, type(y.grad_fn).__name__) == (True, False, "MineBackward")
    assert repr(y.grad_fn).startswith("<torch.autograd.function.MineBackward object at 0x")


def test_forward_gets_the_same_objects(m):
    seen = []
    x = m.ones(2, requires_grad=True)
    make(m, lambda ctx, x, n: (seen.append(x), x * n)[1], lambda ctx, g: (g, None))(x, 3)
    assert seen[0] is x


def test_both_styles_agree(m):
    def setup(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return g * y, g * x

    old = make(m, lambda ctx, x, y: (ctx.save_for_backward(x, y), x * y)[1], backward)
    new = make(m, lambda x, y: x * y, backward, setup)
    for apply in (old, new):
        x, y = m.tensor([1.0, 2.0], requires_grad=True), m.tensor([3.0, 4.0], requires_grad=True)
        apply(x, y).sum().backward()
        assert (x.grad.tolist(), y.grad.tolist()) == ([3.0, 4.0], [1.0, 2.0])


def test_needs_input_grad(m):
    seen = []
    mul = make(m, lambda ctx, x, y, n: x * y * n, lambda ctx, g: (seen.append(ctx.needs_input_grad), g, g, None)[1:])
    mul(m.ones(2, requires_grad=True), m.ones(2), 3).sum().backward()
    assert seen == [(True, False, False)]


def test_what_is_saved_comes_back_as_it_was(m):
    seen = []

    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(x, y, None)
        return y

    def backward(ctx, g):
        x, y, nothing = ctx.saved_tensors
        seen.append((x is leaf, y.grad_fn is out.grad_fn, y is out, nothing))
        return g * y

    leaf = m.ones(2, requires_grad=True)
    out = make(m, forward, backward)(leaf)
    out.sum().backward()
    assert seen == [(True, True, False, None)]


def test_attributes_of_ctx(m):
    def forward(ctx, x):
        ctx.factor = 3
        return x * 3

    x = m.ones(2, requires_grad=True)
    y = make(m, forward, lambda ctx, g: g * ctx.factor)(x)
    assert y.grad_fn.factor == 3
    y.sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]


def test_several_outputs_get_zeros_where_nothing_arrived(m):
    seen = []

    def backward(ctx, g, h):
        seen.append((g.tolist(), h.tolist()))
        return g + h

    x = m.ones(2, requires_grad=True)
    a, b = make(m, lambda ctx, x: (x * 1, x * 2), backward)(x)
    assert (a.output_nr, b.output_nr, a.grad_fn is b.grad_fn) == (0, 1, True)
    b.sum().backward()
    assert seen == [([0.0, 0.0], [1.0, 1.0])]


def test_none_instead_of_zeros(m):
    seen = []

    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return x * 1, x * 2

    x = m.ones(2, requires_grad=True)
    _, b = make(m, forward, lambda ctx, g, h: (seen.append((g, h.tolist())), h)[1])(x)
    b.sum().backward()
    assert seen == [(None, [1.0, 1.0])]


def test_outputs_without_gradient(m):
    def forward(ctx, x):
        y, i = x * 2, x * 0
        ctx.mark_non_differentiable(i)
        return y, i

    y, i = make(m, forward, lambda ctx, g, h: g * 2)(m.ones(2, requires_grad=True))
    assert (y.requires_grad, i.requires_grad, i.is_leaf) == (True, False, True)


def test_integers_and_other_things_come_out_as_they_are(m):
    y, n, i = make(m, lambda ctx, x: (x * 2, 7, x.long()), lambda ctx, g, *rest: g * 2)(m.ones(2, requires_grad=True))
    assert n == 7
    assert (i.requires_grad, str(i.dtype)) == (False, "torch.int64")
    y.sum().backward()


def test_an_input_that_is_returned_becomes_a_view(m):
    x = m.ones(2, requires_grad=True)
    y = make(m, lambda ctx, x: x, lambda ctx, g: g * 5)(x)
    assert y is not x
    assert y._is_view()
    assert x.is_leaf
    y.sum().backward()
    assert x.grad.tolist() == [5.0, 5.0]


def test_an_input_changed_in_place(m):
    def forward(ctx, x):
        x.mul_(2)
        ctx.mark_dirty(x)
        return x

    x = m.ones(2, requires_grad=True)
    y = x * 1
    z = make(m, forward, lambda ctx, g: g * 2)(y)
    assert z is y
    assert type(y.grad_fn).__name__ == "MineBackward"
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_backward_runs_without_grad_mode_unless_recorded(m):
    modes = []

    def backward(ctx, g):
        modes.append((m.is_grad_enabled(), g.requires_grad))
        (x,) = ctx.saved_tensors
        return g * 2 * x

    square = make(m, lambda ctx, x: (ctx.save_for_backward(x), x * x)[1], backward)
    x = m.tensor([1.0, 3.0], requires_grad=True)
    square(x).sum().backward()
    (g,) = m.autograd.grad(square(x).sum(), x, create_graph=True)
    assert modes == [(False, False), (True, False)]
    (g2,) = m.autograd.grad(g.sum(), x)
    assert g2.tolist() == [2.0, 2.0]


def test_a_saved_intermediate_is_silently_not_differentiable(m):
    def forward(ctx, x):
        e = x.exp()
        ctx.save_for_backward(e)
        return e * 1

    x = m.ones(1, requires_grad=True)
    y = make(m, forward, lambda ctx, g: g * ctx.saved_tensors[0])(x)
    (g,) = m.autograd.grad(y.sum(), x, create_graph=True)
    assert not g.requires_grad


def test_the_outer_node_wins_over_enable_grad_inside(m):
    def forward(ctx, x):
        with m.enable_grad():
            return x * 2

    x = m.ones(2, requires_grad=True)
    y = make(m, forward, lambda ctx, g: g * 7)(x)
    assert type(y.grad_fn).__name__ == "MineBackward"
    y.sum().backward()
    assert x.grad.tolist() == [7.0, 7.0]


def test_without_grad_mode_nothing_is_recorded(m):
    double = make(m, lambda ctx, x: x * 2, lambda ctx, g: g * 2)
    with m.no_grad():
        assert not double(m.ones(2, requires_grad=True)).requires_grad
    assert not double(m.ones(2)).requires_grad


def test_gradients_are_summed_and_cast_to_their_inputs(m):
    add = make(m, lambda ctx, x, y: x + y, lambda ctx, g: (g, g))
    x, y = m.ones(2, 3, requires_grad=True), m.ones(3, requires_grad=True)
    add(x, y).sum().backward()
    assert y.grad.tolist() == [2.0, 2.0, 2.0]
    z = m.ones(2, dtype=m.float64, requires_grad=True)
    make(m, lambda ctx, x: x.float(), lambda ctx, g: g)(z).sum().backward()
    assert str(z.grad.dtype) == "torch.float64"


def test_a_changed_saved_tensor_is_noticed(m):
    keep = make(m, lambda ctx, x, w: (ctx.save_for_backward(w), x * w)[1],
                lambda ctx, g: (g * ctx.saved_tensors[0], None))
    w = m.ones(2)
    y = keep(m.ones(2, requires_grad=True), w)
    w.add_(1)
    with pytest.raises(RuntimeError, match="is at version 1; expected version 0"):
        y.sum().backward()


def test_once_differentiable(m):
    once = __import__(f"{m.__name__}.autograd.function", fromlist=["x"]).once_differentiable

    class Square(m.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        @once
        def backward(ctx, g):
            return g * 2 * ctx.saved_tensors[0]

    x = m.tensor(3.0, requires_grad=True)
    g, = m.autograd.grad(Square.apply(x) * x, x, create_graph=True)
    with pytest.raises(RuntimeError, match="differentiate twice a function that was marked with @once_differentiable"):
        g.backward()


def test_a_function_inside_a_function(m):
    inner = make(m, lambda ctx, x: x * 2, lambda ctx, g: g * 2)

    def backward(ctx, g):
        with m.enable_grad():
            x = ctx.saved_tensors[0].detach().requires_grad_()
            return m.autograd.grad((inner(x) * x).sum(), x)[0] * g

    x = m.tensor([1.0, 2.0], requires_grad=True)
    make(m, lambda ctx, x: (ctx.save_for_backward(x), 2 * x * x)[1], backward)(x).sum().backward()
    assert x.grad.tolist() == [4.0, 8.0]


@pytest.mark.parametrize("name", ["_extras", "next", "outputs", "saved", "sequence_nr"])
def test_a_name_that_the_node_needs_is_refused(name):
    apply = make(minigrad, lambda ctx, x: (setattr(ctx, name, x), x * 2)[1], lambda ctx, g: g)
    with pytest.raises(AttributeError, match=f"{name}.* are the node's, which ctx is; use another name"):
        apply(minigrad.ones(2, requires_grad=True))


@pytest.mark.parametrize("name", ["const", "fit", "op", "keep", "name", "output_nrs", "rare", "shape", "versions", "x"])
def test_any_other_name_is_free(m, name):
    apply = make(m, lambda ctx, x: (setattr(ctx, name, 3), x * 2)[1], lambda ctx, g: g * getattr(ctx, name))
    x = m.ones(2, requires_grad=True)
    apply(x * 1).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]


def test_a_chain_is_run_and_freed_without_recursion(m):
    apply = make(m, lambda ctx, x: x * 1, lambda ctx, g: g)
    x = m.ones(1, requires_grad=True)
    y = x
    for _ in range(5000):
        y = apply(y)
    y.sum().backward()
    assert x.grad.tolist() == [1.0]
    del y


def test_an_old_class_that_writes_to_its_input(m):
    class Add(importlib.import_module(f"{m.__name__}.autograd.function").InplaceFunction):
        @staticmethod
        def forward(ctx, a, b):
            ctx.mark_dirty(a)
            return a.add_(b), b + 2

        @staticmethod
        def backward(ctx, g, h):
            return g, g + h

    a, b = m.zeros(2, 2), m.ones(2, 2, requires_grad=True)
    c, d = Add.apply(a, b)
    assert (c is a, type(c.grad_fn) is Add._backward_cls, c.is_leaf) == (True, True, False)
    (c + d).sum().backward()
    assert b.grad.tolist() == [[2.0, 2.0], [2.0, 2.0]]


def test_a_trace_tells_of_what_was_written_to():
    apply = make(minigrad, lambda ctx, x: (x.mul_(2), ctx.mark_dirty(x), x)[2], lambda ctx, g: g * 2)
    y = minigrad.ones(2, requires_grad=True) * 1
    with minigrad.recorder.record() as trace:
        apply(y)
    assert [e["version"] for e in trace.events if e["kind"] == "version"][-1] == y._version == 2


@pytest.mark.parametrize("view", [True, False])
def test_a_forward_that_may_not_write_leaves_all_its_inputs_without_the_node(view):
    """PyTorch gives the first output its node before it looks at the second, and may crash in a pass over it."""
    def forward(ctx, a, b):
        ctx.mark_dirty(a, b)
        return b, a

    def backward(ctx, g, h):
        raise AssertionError("no pass should get here")

    x = minigrad.ones(2, requires_grad=True)
    b, a = x * 1.5, minigrad.ones(2)[:] if view else x
    maker = b.grad_fn
    with pytest.raises(RuntimeError, match="view of another Tensor" if view else "a leaf Variable that requires grad"):
        make(minigrad, forward, backward)(a, b)
    assert (b.grad_fn, b.output_nr, a.grad_fn, b._version) == (maker, 0, None, 1)
    b.sum().backward()
    assert x.grad.tolist() == [1.5, 1.5]
