"""Hooks: their order, what they may change, how they are removed. Each test runs under minigrad and PyTorch."""

from __future__ import annotations

import warnings

import pytest


def note(log, name, result=None):
    """A hook that writes its name."""

    def hook(*args):
        log.append(name)
        return result

    return hook


def test_order_at_an_inner_tensor(m):
    log = []
    x = m.ones(2, requires_grad=True)
    y = x * 3
    y.grad_fn.register_hook(note(log, "post 1"))
    y.grad_fn.register_prehook(note(log, "pre 1"))
    y.register_hook(note(log, "tensor 1"))
    y.retain_grad()
    y.register_hook(lambda g: (log.append(f"tensor 2, grad {y.grad}"), g * 10)[1])
    y.grad_fn.register_prehook(lambda gs: log.append(f"pre 2, grad {y.grad.tolist()}"))
    y.grad_fn.register_hook(note(log, "post 2"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        y.sum().backward()
    assert log == ["tensor 1", "tensor 2, grad None", "pre 1", "pre 2, grad [10.0, 10.0]", "post 1", "post 2"]
    assert x.grad.tolist() == [30.0, 30.0]


def test_order_at_a_leaf(m):
    log = []
    x = m.ones(2, requires_grad=True)
    y = x * 1
    accumulator = y.grad_fn.next_functions[0][0]
    accumulator.register_hook(lambda gi, go: log.append(("post", gi, len(go), x.grad is not None)))
    accumulator.register_prehook(lambda gs: log.append(("pre", len(gs), x.grad is not None)))
    x.register_post_accumulate_grad_hook(lambda p: log.append(("post accumulate", p is x, p.grad is not None)))
    x.register_hook(lambda g: log.append(("tensor", x.grad is not None)))
    y.sum().backward()
    assert log == [("tensor", False), ("pre", 1, False), ("post accumulate", True, True), ("post", (), 1, True)]


def test_grad_runs_tensor_hooks_of_a_leaf_and_no_others(m):
    log = []
    x = m.ones(2, requires_grad=True)
    y = x * 1
    accumulator = y.grad_fn.next_functions[0][0]
    accumulator.register_hook(note(log, "post"))
    accumulator.register_prehook(note(log, "pre"))
    x.register_post_accumulate_grad_hook(note(log, "post accumulate"))
    x.register_hook(lambda g: (log.append("tensor"), g * 2)[1])
    (g,) = m.autograd.grad(y.sum(), x)
    assert log == ["tensor"]
    assert g.tolist() == [2.0, 2.0]
    assert x.grad is None


def test_grad_of_an_inner_tensor_sees_its_tensor_hooks_only(m):
    log = []
    x = m.ones(2, requires_grad=True)
    y = x * 3
    y.register_hook(lambda g: (log.append("tensor"), g * 2)[1])
    y.grad_fn.register_prehook(note(log, "pre"))
    y.grad_fn.register_hook(note(log, "post"))
    (g,) = m.autograd.grad((y * 5).sum(), y)
    assert (log, g.tolist()) == (["tensor"], [10.0, 10.0])


def test_grad_of_an_inner_tensor_and_of_what_is_below_it(m):
    x = m.ones(2, requires_grad=True)
    y = x * 3
    y.register_hook(lambda g: g * 2)
    gy, gx = m.autograd.grad((y * 5).sum(), [y, x])
    assert (gy.tolist(), gx.tolist()) == ([5.0, 5.0], [30.0, 30.0])  # captured before the hook, since y runs too


def test_retain_grad_with_grad(m):
    x = m.ones(2, requires_grad=True)
    y = x * 3
    y.retain_grad()
    m.autograd.grad((y * 5).sum(), x)
    assert y.grad.tolist() == [5.0, 5.0]


def test_the_hook_sees_the_whole_gradient_once(m):
    log = []
    x = m.ones(2, requires_grad=True)
    x.register_hook(lambda g: log.append(g.tolist()))
    (x * 2 + x * 3).sum().backward()
    assert log == [[5.0, 5.0]]


def test_a_result_goes_to_the_next_hook(m):
    x = m.ones(2, requires_grad=True)
    seen = []
    x.register_hook(lambda g: g + 1)
    x.register_hook(lambda g: seen.append(g.tolist()))
    x.register_hook(lambda g: g * 10)
    x.sum().backward()
    assert seen == [[2.0, 2.0]]
    assert x.grad.tolist() == [20.0, 20.0]


def test_a_pre_hook_may_replace_what_comes_in(m):
    x = m.ones(2, requires_grad=True)
    y = x * 3
    y.grad_fn.register_prehook(lambda gs: (gs[0] * 2,))
    y.sum().backward()
    assert x.grad.tolist() == [6.0, 6.0]


def test_a_post_hook_may_replace_what_goes_out(m):
    x, w = m.ones(2, requires_grad=True), m.ones(2, requires_grad=True)
    y = x * w
    y.grad_fn.register_hook(lambda gi, go: (gi[0] * 2, None))
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]
    assert w.grad is None


def test_a_post_hook_sees_both_sides(m):
    log = []
    x, data = m.ones(2, requires_grad=True), m.ones(2)
    y = x * data * 3
    y.grad_fn.next_functions[0][0].register_hook(
        lambda gi, go: log.append(([None if g is None else g.tolist() for g in gi], [g.tolist() for g in go])))
    y.sum().backward()
    assert log == [([[3.0, 3.0], None], [[3.0, 3.0]])]


def test_a_replaced_gradient_is_not_written_to(m):
    mine = m.tensor([7.0, 7.0])
    x = m.ones(2, requires_grad=True)
    y = x * 1
    y.grad_fn.register_hook(lambda gi, go: (mine, None))
    (y + x).sum().backward()
    (x * 2).sum().backward()
    assert mine.tolist() == [7.0, 7.0]


def test_handles_remove(m):
    log = []
    x = m.ones(2, requires_grad=True)
    y = x * 2
    handles = [x.register_hook(note(log, "a")), y.register_hook(note(log, "b")),
               y.grad_fn.register_hook(note(log, "c")), y.grad_fn.register_prehook(note(log, "d")),
               x.register_post_accumulate_grad_hook(note(log, "e"))]
    for handle in handles:
        handle.remove()
        handle.remove()
    y.sum().backward()
    assert log == []


def test_a_handle_is_a_context(m):
    log = []
    x = m.ones(2, requires_grad=True)
    with x.register_hook(note(log, "once")):
        x.sum().backward()
    x.sum().backward()
    assert log == ["once"]


def test_hooks_of_a_leaf_outlive_its_graphs(m):
    log = []
    x = m.ones(2, requires_grad=True)
    x.register_hook(note(log, "x"))
    for _ in range(3):
        (x * 2).sum().backward()
    assert log == ["x"] * 3


def test_hooks_of_an_accumulator_last_while_it_is_held(m):
    log = []
    x = m.ones(2, requires_grad=True)
    y = x * 2
    accumulator = y.grad_fn.next_functions[0][0]
    accumulator.register_hook(note(log, "held"))
    y.sum().backward()
    (x * 3).sum().backward()
    del y, accumulator
    (x * 4).sum().backward()
    assert log == ["held"] * 2


def test_hooks_run_without_grad_mode_but_with_it_when_recorded(m):
    modes = []
    x = m.ones(2, requires_grad=True)
    x.register_hook(lambda g: modes.append((m.is_grad_enabled(), g.requires_grad)))
    (x * x).sum().backward()
    m.autograd.grad((x * x).sum(), x, create_graph=True)
    assert modes == [(False, False), (True, True)]


def test_a_hook_of_an_output_that_nobody_used_is_called_too(m):
    log = []
    a, b = m.arange(4.0).requires_grad_().chunk(2)
    a.register_hook(note(log, "a"))
    b.register_hook(note(log, "b"))
    b.sum().backward()
    assert log == ["a", "b"]


def test_a_backward_inside_a_hook(m):
    x, w = m.ones(2, requires_grad=True), m.ones(2, requires_grad=True)
    x.register_hook(lambda g: with_grad(m, lambda: (w * 5).sum().backward()))
    (x * 2).sum().backward()
    assert w.grad.tolist() == [5.0, 5.0]
    assert x.grad.tolist() == [2.0, 2.0]


def with_grad(m, call):
    """Call with grad mode on."""
    with m.enable_grad():
        call()


def test_a_hook_registered_after_a_change_belongs_to_the_new_node(m):
    log = []
    x = m.ones(2, requires_grad=True)
    y = x * 2
    y.register_hook(lambda g: log.append(("before", g.tolist())))
    y.mul_(3)
    y.register_hook(lambda g: log.append(("after", g.tolist())))
    (y * 5).sum().backward()
    assert log == [("after", [5.0, 5.0]), ("before", [15.0, 15.0])]


def test_retain_grad_follows_a_change(m):
    x = m.ones(2, requires_grad=True)
    y = x * 2
    y.retain_grad()
    y.mul_(3)
    (y * 5).sum().backward()
    assert y.grad.tolist() == [5.0, 5.0]


@pytest.mark.parametrize("count", [2, 3])
def test_retained_gradients_add_up(m, count):
    x = m.ones(2, requires_grad=True)
    y = x * 2
    y.retain_grad()
    for _ in range(count):
        y.sum().backward(retain_graph=True)
    assert y.grad.tolist() == [float(count)] * 2
