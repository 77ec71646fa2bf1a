"""Inference mode against PyTorch: what is made inside, what comes in from outside, what goes out again."""

from __future__ import annotations

import copy

import pytest

import minigrad
from tests.parity.outcome import Programs, outcome

pytestmark = pytest.mark.torch
INFERENCE = Programs()


def facts(t):
    """Everything that a mode may change about a tensor."""
    try:
        version = t._version
    except RuntimeError as error:
        version = str(error)
    return (t.requires_grad, t.is_leaf, t.is_inference(), t._is_view(), type(t.grad_fn).__name__, t.tolist(), version)


def leaf(m):
    return m.ones(2, 2, requires_grad=True)


def made(m, make=lambda m: m.ones(2, 2)):
    """What is made in inference mode."""
    with m.inference_mode():
        return make(m)


def inside(m, work, given):
    """What an op does in inference mode with a tensor from outside."""
    with m.inference_mode():
        return work(given)


def recorded_inside(m, work, given):
    """The same with grad mode on."""
    with m.inference_mode(), m.enable_grad():
        return work(given)


INFERENCE.update({
    # what is made inside
    "made": lambda m: facts(made(m)),
    "leaf": lambda m: facts(made(m, leaf)),
    "tensor": lambda m: facts(made(m, lambda m: m.tensor([1.0], requires_grad=True))),
    "requires_grad_": lambda m: facts(made(m, lambda m: m.ones(2).requires_grad_())),
    "result": lambda m: facts(inside(m, lambda x: x * 2, leaf(m))),
    "clone": lambda m: facts(inside(m, lambda x: x.clone(), leaf(m))),
    "recorded": lambda m: facts(recorded_inside(m, lambda x: x * 2, leaf(m))),
    "recorded with one from inside": lambda m: facts(recorded_inside(m, lambda x: x * m.ones(2, 2), leaf(m))),
    "recorded view": lambda m: facts(recorded_inside(m, lambda x: x[0], leaf(m))),
    "recorded parts": lambda m: facts(recorded_inside(m, lambda x: x.unbind()[0], leaf(m))),
    "recorded leaf": lambda m: facts(recorded_inside(m, lambda x: leaf(m) * 2, None)),
    "normal mode inside": lambda m: facts(inside(m, lambda _: m.inference_mode(False)(lambda: leaf(m) * 2)(), None)),
    # tensors from outside, inside
    "requires_grad_ inside": lambda m: facts(inside(m, lambda x: x.requires_grad_(), m.ones(2))),
    "in place inside": lambda m: facts(inside(m, lambda x: x.add_(1), m.ones(2))),
    "in place inside, leaf": lambda m: facts(inside(m, lambda x: x.add_(1), leaf(m))),
    "in place inside, result": lambda m: facts(inside(m, lambda x: x.add_(1), leaf(m) * 2)),
    "in place inside, view": lambda m: ((x := m.ones(2, 2)), inside(m, lambda x: x[0].add_(1), x), facts(x))[2],
    "view inside": lambda m: facts(inside(m, lambda x: x[0], m.ones(2, 2))),
    "view inside, leaf": lambda m: facts(inside(m, lambda x: x[0], leaf(m))),
    "view inside, result": lambda m: facts(inside(m, lambda x: x[0], leaf(m) * 2)),
    "view inside, base": lambda m: ((x := leaf(m)), inside(m, lambda x: x[0], x)._base is x)[1],
    "parts inside": lambda m: facts(inside(m, lambda x: x.unbind()[1], leaf(m))),
    "detach inside": lambda m: facts(inside(m, lambda x: x.detach(), leaf(m))),
    "data inside": lambda m: facts(inside(m, lambda x: x.data, leaf(m))),
    "view inside, op outside": lambda m: facts(inside(m, lambda x: x[0], leaf(m) * 1) * 2),
    "view inside, view outside": lambda m: facts(inside(m, lambda x: x[0], leaf(m) * 1)[0]),
    "view inside, in place outside": lambda m: inside(m, lambda x: x[0], leaf(m) * 1).add_(1),
    "view of a leaf inside, in place outside": lambda m: inside(m, lambda x: x[0], leaf(m)).add_(1),
    "view of data inside, in place outside": lambda m: facts(inside(m, lambda x: x[0], m.ones(2, 2)).add_(1)),
    "saved, changed inside": lambda m: ((w := m.ones(2, 2)), (y := leaf(m) * w), inside(m, lambda w: w.add_(1), w),
                                        y.sum().backward()),
    # views of what was made inside
    "view of made": lambda m: facts(made(m, lambda m: m.ones(2, 2)[0])),
    "base of it": lambda m: made(m, lambda m: m.ones(2, 2)[0])._base,
    "view outside": lambda m: facts(made(m)[0]),
    "view outside of a leaf": lambda m: facts(made(m, leaf)[0]),
    "parts outside of a leaf": lambda m: facts(made(m, leaf).unbind()[0]),
    "reshape outside": lambda m: facts(made(m).reshape(4)),
    # what was made inside, outside
    "op": lambda m: facts(made(m) * 2),
    "exp": lambda m: facts(made(m).exp()),
    "with another": lambda m: facts(made(m) * m.ones(2, 2)),
    "flags": lambda m: facts(made(m).clone())[:5],
    "to": lambda m: facts(made(m).to(m.float64))[:5],
    "to itself": lambda m: facts(made(m).to(m.float32)),
    "contiguous": lambda m: facts(made(m).contiguous()),
    "detach": lambda m: facts(made(m).detach())[:5],
    "detach_": lambda m: facts(made(m).detach_()),
    "data": lambda m: facts(made(m).data)[:5],
    "requires_grad_ outside": lambda m: made(m).requires_grad_(),
    "requires_grad outside": lambda m: setattr(made(m), "requires_grad", True),
    "requires_grad_ outside, off": lambda m: facts(made(m, leaf).requires_grad_(False)),
    "backward": lambda m: made(m, leaf).backward(m.ones(2, 2)),
    "backward inside": lambda m: inside(m, lambda x: (x * 2).sum().backward(), leaf(m)),
    "grad inside": lambda m: inside(m, lambda x: m.autograd.grad(x * 2, x), leaf(m)),
    "op of a leaf of it": lambda m: facts(made(m, leaf) * 2),
    "retain_grad": lambda m: made(m).retain_grad(),
    "grad of it": lambda m: made(m, leaf).grad,
    "as grad": lambda m: setattr(x := leaf(m), "grad", made(m)) or facts(x.grad),
    "copied deep": lambda m: facts(copy.deepcopy(made(m)))[:5],
    "printed": lambda m: str(made(m)),
    "Parameter": lambda m: facts(made(m, lambda m: m.nn.Parameter(m.ones(2)))),
    "Parameter outside": lambda m: m.nn.Parameter(made(m)),
    "Parameter outside, frozen": lambda m: m.nn.Parameter(made(m), requires_grad=False).is_inference(),
    "view inside, base in place outside": lambda m: ((x := leaf(m) * 1), (v := inside(m, lambda x: x[0], x)), x.add_(1),
                                                     v.grad_fn),
    "view inside, data in place outside": lambda m: ((x := m.ones(2)), (v := inside(m, lambda x: x[0], x)), x.add_(1),
                                                     facts(v))[3],
    "view of a view inside": lambda m: facts(inside(m, lambda x: x.view(-1).view(2, 2), leaf(m) * 1)),
    "view of a view inside, in place inside": lambda m: (
        (x := m.ones(2, 2)), inside(m, lambda x: x.view(-1)[0].add_(1), x), facts(x))[2],
    "view_as of made": lambda m: facts(made(m).view_as(leaf(m))),
    "view_as made": lambda m: facts(leaf(m).view_as(made(m))),
    "gradient of a leaf of it": lambda m: ((c := made(m, leaf)), (c + leaf(m)).sum().backward(), facts(c.grad)[:6])[2],
    # saved for backward
    "saved": lambda m: leaf(m) * made(m),
    "saved, other side": lambda m: made(m) * leaf(m),
    "saved by matmul": lambda m: leaf(m) @ made(m),
    "saved mask": lambda m: m.where(made(m, lambda m: m.ones(2, 2) > 0), leaf(m), leaf(m)),
    "saved index": lambda m: leaf(m)[made(m, lambda m: m.tensor([0, 1]))],
    "saved by an op in place": lambda m: (leaf(m) * 1).mul_(made(m)),
    "not saved": lambda m: facts(leaf(m) + made(m)),
    "not saved by an op in place": lambda m: facts((leaf(m) * 1).add_(made(m))),
    "not saved by cat": lambda m: facts(m.cat([leaf(m), made(m)])),
    "saved in a recorded pass": lambda m: m.autograd.grad((x := leaf(m)) * x, x, made(m), create_graph=True),
    # written to outside
    "in place": lambda m: made(m).add_(1),
    "in place, zero_": lambda m: made(m).zero_(),
    "in place, item": lambda m: made(m).__setitem__(0, 1.0),
    "in place, mask": lambda m: made(m).__setitem__(m.ones(2, 2) > 0, 1.0),
    "in place, copy_": lambda m: made(m).copy_(m.ones(2, 2)),
    "in place, with grad": lambda m: made(m).mul_(leaf(m)),
    "in place under no_grad": lambda m: m.no_grad()(lambda: made(m).add_(1))(),
    "in place, view": lambda m: made(m)[0].add_(1),
    "in place in normal mode inside": lambda m: inside(
        m, lambda _: (x := m.ones(2)) is not None and m.inference_mode(False)(lambda: x.add_(1))(), None),
    "in place into another": lambda m: facts(m.ones(2, 2).mul_(made(m))),
})


def function(m, save):
    """A Function that may save what it is given."""
    def forward(ctx, x, y):
        if save:
            ctx.save_for_backward(y)
        return x * 2

    return type("Mine", (m.autograd.Function,), {"forward": staticmethod(forward),
                                                 "backward": staticmethod(lambda ctx, g: (g * 2, None))})


INFERENCE.update({
    "Function": lambda m: facts(inside(m, lambda x: function(m, True).apply(x, x), leaf(m))),
    "Function recorded": lambda m: facts(recorded_inside(m, lambda x: function(m, True).apply(x, x), leaf(m))),
    "Function of made": lambda m: facts(function(m, True).apply(made(m), m.ones(2, 2))),
    "Function saves made": lambda m: function(m, True).apply(leaf(m), made(m)),
    "Function does not": lambda m: facts(function(m, False).apply(leaf(m), made(m))),
})


@INFERENCE
def a_graph_from_outside_runs_inside(m):
    x = leaf(m)
    y = (x * x).sum()
    with m.inference_mode():
        g, = m.autograd.grad(y, x, create_graph=True)
    return facts(g)


@INFERENCE
def backward_of_a_graph_from_outside(m):
    x = leaf(m)
    y = (x * x).sum()
    with m.inference_mode():
        y.backward()
    return facts(x.grad)


@INFERENCE
def a_gradient_from_inside_is_not_added_to_outside(m):
    x = leaf(m)
    with m.inference_mode():
        x.grad = m.ones(2, 2)
    (x * x).sum().backward()


@pytest.mark.parametrize("name", INFERENCE)
def test_inference(torch, name):
    assert outcome(INFERENCE[name], minigrad) == outcome(INFERENCE[name], torch)
