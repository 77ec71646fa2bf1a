"""Passes that are themselves recorded: the gradient has the graph that PyTorch's has, whatever its values are."""

from __future__ import annotations

import pytest

from tests.parity.alike import alike

pytestmark = pytest.mark.torch


def kinked(m, relu=lambda x: x.relu()):
    """x, w, and a recorded gradient through relu: x below 0, above, and at 0, where not even an infinite one passes."""
    x = m.tensor([-1.0, 2.0, 0.0, -3.0], requires_grad=True)
    w = m.tensor([1.0, 2.0, 3.0, float("inf")], requires_grad=True)
    return x, w, m.autograd.grad(relu(x), x, w, create_graph=True)[0]


def edges(node):
    """Where the edges of a node go."""
    return [(None if n is None else n.name(), i) for n, i in node.next_functions]


# ops whose gradient PyTorch computes by an op of the input, too: zeros flow back to it
LINEAR = {
    "nll_loss": (lambda f, x: f.nll_loss(x[0, 0], x[0, 0, :, 0].long()), (1, 1, 4, 4)),
    "nll_loss of images": (lambda f, x: f.nll_loss(x, x[:, 0].long() * 0), (1, 2, 4, 4)),
    "avg_pool1d": (lambda f, x: f.avg_pool1d(x, 2), (1, 1, 4)),
    "avg_pool2d": (lambda f, x: f.avg_pool2d(x, 2), (1, 1, 4, 4)),
    "avg_pool3d": (lambda f, x: f.avg_pool3d(x, 2), (1, 1, 2, 2, 2)),
    "adaptive_avg_pool2d": (lambda f, x: f.adaptive_avg_pool2d(x, 2), (1, 1, 4, 4)),
    "adaptive_avg_pool3d": (lambda f, x: f.adaptive_avg_pool3d(x, 2), (1, 1, 4, 4, 4)),
    "adaptive_max_pool2d": (lambda f, x: f.adaptive_max_pool2d(x, 2), (1, 1, 4, 4)),
    "adaptive_max_pool3d": (lambda f, x: f.adaptive_max_pool3d(x, 2), (1, 1, 4, 4, 4)),
    "reflected": (lambda f, x: f.pad(x, (1, 1), mode="reflect"), (1, 1, 4)),
    "replicated": (lambda f, x: f.pad(x, (1, 1, 1, 1), mode="replicate"), (1, 1, 4, 4)),
    "padded": (lambda f, x: f.pad(x, (1, 1)), (1, 1, 4)),
    "prelu": (lambda f, x: f.prelu(x, x.detach().flatten()[:1]), (3,)),
    "resized": (lambda f, x: f.interpolate(x, 6), (1, 1, 3)),
}


@pytest.mark.parametrize("factor", [1, "x"])
@pytest.mark.parametrize("name", LINEAR)
def test_zeros_flow_to_the_input(torch, name, factor):
    def program(m):
        function, shape = LINEAR[name]
        x = m.arange(float(m.ones(shape).numel())).reshape(shape).requires_grad_()
        y = function(m.nn.functional, x)
        (g,) = m.autograd.grad(y.sum() if factor == 1 else (y * y).sum(), x, create_graph=True)
        maker = g.grad_fn if factor == 1 and name != "avg_pool1d" else None
        return g.tolist(), g.requires_grad, m.autograd.grad(g.sum(), x)[0].tolist(), maker
    alike(torch, program)


@pytest.mark.parametrize("target", [0.0, 1.0, 0.3])
@pytest.mark.parametrize("p", [0.0, 1e-8, 0.5, 1.0])
def test_second_derivatives_of_binary_cross_entropy(torch, p, target):
    def program(m):
        x, t, w = (m.tensor([v, v], requires_grad=True) for v in (p, target, 1.5))
        loss = m.nn.functional.binary_cross_entropy(x, t, weight=None if p else w.detach(), reduction="sum")
        g = m.autograd.grad(loss, (x, t), create_graph=True)
        again = [m.autograd.grad(v.sum(), (x, t), retain_graph=True, allow_unused=True) for v in g]
        return [v if v is None else f"{v[0].item():.5g}" for v in (*g, *again[0], *again[1])]
    alike(torch, program)


PROGRAMS = {
    "relu": lambda m: kinked(m)[2],
    "torch.relu": lambda m: kinked(m, m.relu)[2],
    "F.relu": lambda m: kinked(m, m.nn.functional.relu)[2],
    "relu_": lambda m: kinked(m, lambda x: (x * 1).relu_())[2],
    "edges of its gradient": lambda m: edges(kinked(m)[2].grad_fn),
    "what its gradient saved": lambda m: (n := kinked(m)[2].grad_fn, n._saved_self, n._saved_threshold)[1:],
    "second gradients": lambda m: (t := kinked(m), m.autograd.grad((t[2] ** 2)[:3].sum(), t[:2], create_graph=True))[1],
    "third": lambda m: (t := kinked(m), s := m.autograd.grad((t[2] ** 2)[:3].sum(), t[1], create_graph=True)[0],
                        m.autograd.grad(s.sum(), t[:2]))[2],
    "of one gradient to the other": lambda m: (t := kinked(m), m.autograd.grad(t[2][:3].sum(), t[1]))[1],
    "of no one": lambda m: (x := m.tensor([-1.0, 2.0], requires_grad=True),
                            g := m.autograd.grad(x.relu().sum(), x, create_graph=True)[0], g,
                            m.autograd.grad((g ** 2).sum(), x))[1:],
    "inside of a network": lambda m: (
        x := m.tensor([[1.0, -2.0]], requires_grad=True), w := m.tensor([[3.0], [1.0]], requires_grad=True),
        g := m.autograd.grad(((x @ w).relu() @ w.t()).sum(), x, create_graph=True)[0], g,
        m.autograd.grad((g ** 2).sum(), (x, w)))[2:],
    "hessian, strict": lambda m: m.autograd.functional.hessian(
        lambda a: a.relu().sum(), m.tensor([-1.0, 2.0]), strict=True),
    "hvp, strict": lambda m: m.autograd.functional.hvp(
        lambda a: a.relu().sum(), m.tensor([-1.0, 2.0]), m.ones(2), strict=True),
    "NaN passes": lambda m: (x := m.tensor([float("nan"), -1.0], requires_grad=True),
                             m.autograd.grad(x.relu().sum(), x, create_graph=True))[1],
    "losses of bools": lambda m: [(x := m.tensor([0.3, 2.0], requires_grad=True), m.autograd.grad(
        f(x, m.tensor([True, False])), x, create_graph=True)[0].detach())[1]
        for f in (m.nn.functional.mse_loss, m.nn.functional.smooth_l1_loss)],
    "hypot of data that changes": lambda m: (
        x := m.tensor([3.0, 5.0], requires_grad=True), d := m.tensor([4.0, 12.0]), y := m.hypot(d, x), d.zero_(),
        m.autograd.grad(y.sum(), x))[4],
    "through empty memory": lambda m: (
        x := m.zeros(2, 0, requires_grad=True), y := x * 1, v := y[:, :], y.mul_(2),
        [m.autograd.grad((each * each).sum(), x, create_graph=True, retain_graph=True)[0].requires_grad
         for each in (v, x.as_strided((3, 0), (1, 1)))])[4],
    "changed in between": lambda m: (
        x := m.tensor([-1.0, 2.0], requires_grad=True), y := x.relu(),
        g := m.autograd.grad(y.sum(), x, create_graph=True)[0], y.detach().add_(1), g.sum().backward()),
    "a node by hand": lambda m: (x := m.tensor([-1.0, 2.0], requires_grad=True), x.relu().grad_fn(m.ones(2)))[1],
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_graph_of_a_gradient(torch, name):
    alike(torch, PROGRAMS[name])
