"""nn.utils: clipping, parameters as a vector, weight normalisation, modules without initialisation."""

from __future__ import annotations

import numpy as np
import pytest

import minigrad
from minigrad.ops.nn.normalization import normalised
from tests.parity.alike import alike
from tests.parity.compare import graph_of
from tests.parity.nn.test_rnn import data

pytestmark = pytest.mark.torch

VALUES = [[3.0, 4.0], [12.0]]


def parameters(m, *values, dtype="float32"):
    """Parameters with these gradients, and one that has none."""
    made = [m.nn.Parameter(m.zeros(2))]
    for value in values or VALUES:
        made.append(m.nn.Parameter(m.zeros(len(value), dtype=getattr(m, dtype))))
        made[-1].grad = m.tensor(value, dtype=getattr(m, dtype))
    return made


def clipped(m, call, *values, **options):
    """What a function gives, the gradients after it, and their versions."""
    made = parameters(m, *values, **options)
    return [call(m.nn.utils, made), [p.grad for p in made], [p.grad._version for p in made[1:]]]


NAN, INF = float("nan"), float("inf")
CLIPS = {
    **{f"norm {order}": lambda m, order=order: clipped(m, lambda u, p: u.clip_grad_norm_(p, 1.0, order))
       for order in (2, 1, INF, "inf", -INF, 0, 3.0, 0.5)},
    **{f"to {most}": lambda m, most=most: clipped(m, lambda u, p: u.clip_grad_norm_(p, most))
       for most in (100, 0, "2", -1.0)},
    "to a tensor": lambda m: clipped(m, lambda u, p: u.clip_grad_norm_(p, m.tensor(2.0))),
    "by name": lambda m: clipped(m, lambda u, p: u.clip_grad_norm_(parameters=p, max_norm=1.0, norm_type=1)),
    "nan": lambda m: str(clipped(m, lambda u, p: u.clip_grad_norm_(p, 1.0), [NAN, 1.0])),
    "nan refused": lambda m: clipped(m, lambda u, p: u.clip_grad_norm_(p, 1.0, error_if_nonfinite=True), [NAN, 1.0]),
    "inf refused": lambda m: clipped(m, lambda u, p: u.clip_grad_norm_(p, 1.0, INF, True), [INF, 1.0]),
    "one": lambda m: m.nn.utils.clip_grad_norm_(parameters(m)[1], 1.0),
    "without gradient": lambda m: m.nn.utils.clip_grad_norm_(parameters(m)[:1], 1.0),
    "nothing": lambda m: m.nn.utils.clip_grad_norm_([], 1.0),
    "a generator": lambda m: clipped(m, lambda u, p: u.clip_grad_norm_((v for v in p), 1.0)),
    "a generator of nothing": lambda m: m.nn.utils.clip_grad_norm_((v for v in []), 1.0),
    "of a module": lambda m: m.nn.utils.clip_grad_norm_(m.nn.Linear(2, 2).parameters(), 1.0),
    "foreach": lambda m: [clipped(m, lambda u, p: u.clip_grad_norm_(p, 1.0, foreach=True)),
                          clipped(m, lambda u, p: u.clip_grad_norm_(p, 1.0, foreach=False))],
    "float16": lambda m: clipped(m, lambda u, p: u.clip_grad_norm_(p, 1.0), dtype="float16"),
    "float64": lambda m: clipped(m, lambda u, p: u.clip_grad_norm_(p, 1.0), dtype="float64"),
    "two dtypes": lambda m: m.nn.utils.clip_grad_norm_(parameters(m) + parameters(m, dtype="float64"), 1.0),
    "old name": lambda m: m.nn.utils.clip_grad_norm(parameters(m), 1.0),
    "total": lambda m: m.nn.utils.get_total_norm([m.ones(2), m.ones(3)]),
    "total of one": lambda m: m.nn.utils.get_total_norm(m.ones(2), 1.0),
    "total of nothing": lambda m: m.nn.utils.get_total_norm([]),
    "total nan": lambda m: m.nn.utils.get_total_norm([m.tensor([NAN])], error_if_nonfinite=True),
    "total of a generator": lambda m: m.nn.utils.get_total_norm(v for v in [m.ones(2)]),
    "total of integers": lambda m: m.nn.utils.get_total_norm([m.ones(2, dtype=m.int64)]),
    "total of a graph": lambda m: m.nn.utils.get_total_norm([m.ones(2, requires_grad=True)]),
    "with norm": lambda m: clipped(m, lambda u, p: u.clip_grads_with_norm_(p, 1.0, m.tensor(13.0))),
    "with a small norm": lambda m: clipped(m, lambda u, p: u.clip_grads_with_norm_(p, 1.0, m.tensor(0.1), True)),
    "value": lambda m: clipped(m, lambda u, p: u.clip_grad_value_(p[1:], 3.5)),
    "value text": lambda m: clipped(m, lambda u, p: u.clip_grad_value_(p[1:], "2")),
    "value negative": lambda m: clipped(m, lambda u, p: u.clip_grad_value_(p[1:], -1)),
    "value of one": lambda m: clipped(m, lambda u, p: u.clip_grad_value_(p[1], 1.0)),
    "value a": lambda m: clipped(m, lambda u, p: u.clip_grad_value_(p, "a")),
}


@pytest.mark.parametrize("name", CLIPS)
def test_clipping(torch, name):
    alike(torch, CLIPS[name])


def linear(m):
    """A layer of seed 0."""
    m.manual_seed(0)
    return m.nn.Linear(3, 2)


def written(m, vector):
    """A vector written into a layer, then changed."""
    layer = linear(m)
    m.nn.utils.vector_to_parameters(vector, layer.parameters())
    vector[0] = 9.0
    return [layer.weight, layer.bias, layer.weight.grad_fn, vector]


def vectored(m):
    """A layer's parameters as a vector, and its gradient."""
    layer = linear(m)
    vector = m.nn.utils.parameters_to_vector(layer.parameters())
    (vector * vector).sum().backward()
    return [vector, layer.weight.grad, layer.bias.grad, graph_of(vector, list(layer.parameters()))]


VECTORS = {
    "vector": vectored,
    "vector of nothing": lambda m: m.nn.utils.parameters_to_vector([]),
    "written": lambda m: written(m, m.arange(8.0)),
    "too long": lambda m: written(m, m.arange(11.0)),
    "too short": lambda m: written(m, m.arange(7.0)),
    "a list": lambda m: m.nn.utils.vector_to_parameters([1.0], linear(m).parameters()),
    "there and back": lambda m: (layer := linear(m), m.nn.utils.vector_to_parameters(
        m.nn.utils.parameters_to_vector(layer.parameters()) * 2, layer.parameters()), layer.weight.tolist())[2],
}


@pytest.mark.parametrize("name", VECTORS)
def test_vectors(torch, name):
    alike(torch, VECTORS[name])


def normed(m, layer=None, **options):
    """A layer with weight_norm: what it holds, and the graph of its weight."""
    layer = m.nn.utils.weight_norm(linear(m) if layer is None else layer, **options)
    name = options.get("name", "weight")
    weight = getattr(layer, name)
    return [list(layer.state_dict()), [n for n, _ in layer.named_parameters()], list(layer.state_dict().values()),
            repr(layer), weight.tolist(), graph_of(weight, list(layer.parameters()))]


def trained(m, dim):
    """A normalised layer after steps along the gradient, then without its normalisation."""
    layer, one = m.nn.utils.weight_norm(linear(m).double(), dim=dim), m.ones(2, 3, dtype=m.float64)
    for _ in range(3):
        layer.zero_grad()
        layer(one).square().sum().backward()
        with m.no_grad():
            for p in layer.parameters():
                p -= 0.1 * p.grad
    before = layer(one).tolist()
    layer = m.nn.utils.remove_weight_norm(layer)
    return [before, layer(one), list(layer.state_dict()), type(layer.weight).__name__,
            list(layer._forward_pre_hooks)]


NORMS = {
    "rows": lambda m: normed(m),
    "columns": lambda m: normed(m, dim=1),
    "bias": lambda m: normed(m, name="bias"),
    "pictures": lambda m: normed(m, m.nn.Conv2d(2, 3, 2)),
    "two": lambda m: m.nn.utils.weight_norm(m.nn.utils.weight_norm(linear(m))),
    "two names": lambda m: normed(m, m.nn.utils.weight_norm(linear(m)), name="bias"),
    "trained": lambda m: trained(m, 0),
    "trained, columns": lambda m: trained(m, 1),
    "trained, one length": lambda m: trained(m, None),
    "no such name": lambda m: normed(m, name="foo"),
    "nothing to remove": lambda m: m.nn.utils.remove_weight_norm(linear(m)),
    "recurrent": lambda m: list(m.nn.utils.weight_norm(m.nn.LSTM(2, 2), "weight_hh_l0").state_dict()),
    "recurrent, called": lambda m: (m.manual_seed(0), m.nn.utils.weight_norm(m.nn.RNN(2, 2), "weight_hh_l0")(
        m.ones(2, 1, 2))[0].tolist())[1],
}


@pytest.mark.parametrize("name", NORMS)
def test_weight_norm(torch, name):
    alike(torch, NORMS[name])


@pytest.mark.filterwarnings("ignore:`torch.nn.utils.weight_norm` is deprecated")
@pytest.mark.parametrize("dim", [0, 1, 2, None])
def test_gradients_of_weight_norm(torch, dim):
    ends = []
    for lib in (torch, minigrad):
        conv = lib.nn.Conv1d(2, 3, 2, bias=False).double()
        with lib.no_grad():
            conv.weight.copy_(data(lib, 3, 2, 2, seed=4))
        conv = lib.nn.utils.weight_norm(conv, dim=dim)
        out = conv(data(lib, 1, 2, 4))
        grads = lib.autograd.grad((out * out).sum(), list(conv.parameters()))
        ends.append([t.detach().numpy() for t in (out, *grads)])
    for theirs, ours in zip(*ends, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("dim", [0, 1, 2, -1])
def test_second_derivatives_of_weight_norm(dim):
    """Held to differences: PyTorch's own are wrong where it is one op (its gradgradcheck says so)."""
    v = data(minigrad, 3, 2, 2, seed=4)
    g = data(minigrad, *[1 if i != dim else n for i, n in enumerate((3, 2, 2))], seed=5)
    assert minigrad.autograd.gradgradcheck(lambda v, g: normalised(v, g, dim), (v, g))


SKIPS = {
    "no numbers drawn": lambda m: (m.manual_seed(0), repr(m.nn.utils.skip_init(m.nn.Linear, 3, 2)), m.rand(2))[1:],
    "a number": lambda m: m.nn.utils.skip_init(3),
    "no device": lambda m: m.nn.utils.skip_init(m.nn.ReLU),
    "options": lambda m: [list(p.shape) for p in m.nn.utils.skip_init(m.nn.Conv2d, 2, 3, kernel_size=2,
                                                                      dtype=m.float64).parameters()],
}


@pytest.mark.parametrize("name", SKIPS)
def test_skip_init(torch, name):
    alike(torch, SKIPS[name])
