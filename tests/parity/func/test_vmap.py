"""`vmap` against PyTorch's: dimensions, refusals, randomness, chunks, nesting, in and around the other transforms."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest

import minigrad
from minigrad.backends.batched import Batched
from minigrad.ops._dispatch.op_wrappers import Lingering
from tests.parity.alike import alike, ending
from tests.parity.func.test_func import func_of

pytestmark = pytest.mark.torch


def ramp(m, *shape):
    return m.arange(float(np.prod(shape)), dtype=m.float64).reshape(shape) / 7


def batched(m, function, *args, **options):
    return func_of(m).vmap(function, **options)(*args)


def seeded(m, function, **options):
    m.manual_seed(3)
    return batched(m, function, ramp(m, 3, 2), **options)


def shared_weight(m):
    """The gradient of a weight that all examples share, through `backward`."""
    w = ramp(m, 2).requires_grad_()
    batched(m, lambda a: (a * w).sin().sum(), ramp(m, 3, 2)).sum().backward()
    return w.grad


def kept_graph(m):
    """The gradient of a gradient: of what `vmap` made of one, by a weight outside."""
    w = ramp(m, 2).requires_grad_()
    got = batched(m, func_of(m).grad(lambda a: (a * w).exp().sum()), ramp(m, 3, 2))
    return m.autograd.grad(got.sum(), w)[0]


def inside_only(m):
    """What is made inside and is the same for all keeps a gradient for each example."""
    return batched(m, lambda a: func_of(m).grad(lambda v: (v * a).sum())(m.ones(2, dtype=a.dtype)), ramp(m, 3, 2))


PROGRAMS = {
    "in_dims": lambda m: batched(m, lambda a, b: a * b, ramp(m, 2, 3), ramp(m, 3, 2), in_dims=(1, 0)),
    "a negative dim": lambda m: batched(m, lambda a: a.sum(0), ramp(m, 2, 3), in_dims=-1),
    "one for all": lambda m: batched(m, lambda a, b: a @ b, ramp(m, 3, 2), ramp(m, 2, 4), in_dims=(0, None)),
    "a tree": lambda m: batched(m, lambda d, x: d["a"] * x[0] + d["b"], {"a": ramp(m, 3), "b": ramp(m, 3)},
                                (ramp(m, 3),)),
    "out_dims": lambda m: batched(m, lambda a: (a, a.sum()), ramp(m, 3, 2), out_dims=(1, 0)),
    "independent": lambda m: batched(m, lambda a: m.ones(2), ramp(m, 3, 2)),
    "out_dims None": lambda m: batched(m, lambda a: (a, 5), ramp(m, 3, 2), out_dims=(0, None)),
    "chunks": lambda m: batched(m, lambda a: (a * 2, a.sum()), ramp(m, 5, 2), chunk_size=2),
    "nested": lambda m: batched(m, lambda a: batched(m, lambda b: a.dot(b), ramp(m, 4, 2)), ramp(m, 3, 2)),
    "nested dims": lambda m: batched(m, lambda a: batched(m, lambda b: b * 2, a, in_dims=1, out_dims=1),
                                     ramp(m, 3, 2, 4)),
    "shared weight": shared_weight, "kept graph": kept_graph, "inside only": inside_only,
    "in place": lambda m: batched(m, lambda a: a.clone().mul_(a).add_(1), ramp(m, 3, 2)),
    "a view is written": lambda m: batched(m, lambda a: written_view(m, a), ramp(m, 3, 4)),
    "an argument is written": lambda m: written_argument(m),
    "indices": lambda m: batched(m, lambda a, i: a[i], ramp(m, 3, 4), m.tensor([[0, 1], [2, 2], [3, 0]])),
    "indices of one for all": lambda m: batched(m, lambda i: ramp(m, 4)[i], m.tensor([[0, 1], [2, 2], [3, 0]])),
    "different": lambda m: seeded(m, lambda a: a + m.rand(2), randomness="different"),
    "same": lambda m: seeded(m, lambda a: a + m.rand(2), randomness="same"),
    "dropout": lambda m: seeded(m, lambda a: m.nn.functional.dropout(a), randomness="different"),
    "chances": lambda m: seeded(m, lambda a: m.bernoulli(a.sigmoid()), randomness="different"),
    "chunks of the same": lambda m: seeded(m, lambda a: a + m.randn(2), randomness="same", chunk_size=2),
    "hessian of each": lambda m: batched(m, func_of(m).hessian(lambda a: (a ** 3).sum()), ramp(m, 3, 2)),
    "jvp of each": lambda m: batched(m, lambda a: func_of(m).jvp(m.sin, (a,), (a,))[1], ramp(m, 3, 2)),
    "jvp of all": lambda m: func_of(m).jvp(lambda a: batched(m, lambda b: b.cumsum(0).tanh(), a), (ramp(m, 3, 2),),
                                           (ramp(m, 3, 2),)),
    "solve": lambda m: batched(m, lambda a: m.linalg.solve(a + 2 * m.eye(2, dtype=a.dtype), a[0]), ramp(m, 3, 2, 2)),
    "det": lambda m: batched(m, func_of(m).grad(m.linalg.det), ramp(m, 3, 2, 2).exp()),
    "hessian by indices": lambda m: func_of(m).hessian(lambda a: (a[m.tensor([2, 0, 1])] * a * a).sum())(ramp(m, 3)),
    "jacobian of all": lambda m: func_of(m).jacrev(lambda a: batched(m, lambda b: b.cumprod(0), a))(ramp(m, 3, 2)),
    "chunks of a jacobian": lambda m: func_of(m).jacrev(lambda a: a.outer(a), chunk_size=2)(ramp(m, 3)),
    "torch.vmap": lambda m: m.vmap(lambda a: a.norm())(ramp(m, 3, 2) + 1),
}
REFUSED = {
    "item": lambda m: batched(m, lambda a: a.sum().item(), ramp(m, 3, 2)),
    "control flow": lambda m: batched(m, lambda a: a if a.sum() > 0 else -a, ramp(m, 3, 2)),
    "list": lambda m: batched(m, lambda a: a.tolist(), ramp(m, 3, 2)),
    "copied into one for all": lambda m: batched(m, lambda a: m.zeros(2, dtype=a.dtype).copy_(a), ramp(m, 3, 2)),
    "random": lambda m: batched(m, lambda a: m.rand(2), ramp(m, 3, 2)),
    "a mode": lambda m: batched(m, lambda a: a, ramp(m, 3, 2), randomness="some"),
    "no arguments": lambda m: batched(m, lambda: 1),
    "no batch": lambda m: batched(m, lambda a: a, ramp(m, 3), in_dims=None),
    "nothing to map": lambda m: batched(m, lambda a: a, ramp(m, 3), in_dims=(None,)),
    "sizes": lambda m: batched(m, lambda a, b: a, ramp(m, 3), ramp(m, 4)),
    "a number": lambda m: batched(m, abs, 3.0),
    "a scalar": lambda m: batched(m, abs, m.tensor(1.0)),
    "no such dim": lambda m: batched(m, abs, ramp(m, 3), in_dims=2),
    "a float dim": lambda m: batched(m, abs, ramp(m, 3), in_dims=(0.5,)),
    "wrong tree": lambda m: batched(m, abs, ramp(m, 3), in_dims=(0, 0)),
    "out_dims of one": lambda m: batched(m, abs, ramp(m, 3), out_dims=(0, 0)),
    "out_dims a text": lambda m: batched(m, abs, ramp(m, 3), out_dims="0"),
    "no tensor": lambda m: batched(m, lambda a: 3, ramp(m, 3)),
    "batched without out_dim": lambda m: batched(m, abs, ramp(m, 3), out_dims=None),
    "chunk_size": lambda m: batched(m, abs, ramp(m, 3), chunk_size=0),
    "nonzero": lambda m: batched(m, lambda a: a.nonzero(), ramp(m, 3, 2)),
    "masked_select": lambda m: batched(m, lambda a: a.masked_select(a > 1), ramp(m, 3, 2)),
    "masked_select of one": lambda m: batched(m, lambda a: ramp(m, 2).masked_select(a > 1), ramp(m, 3, 2)),
    "a mask": lambda m: batched(m, lambda a: a[a > 1], ramp(m, 3, 2)),
    "running statistics": lambda m: batched(m, m.nn.BatchNorm1d(2).double(), ramp(m, 3, 4, 2)),
}


DRAWS = {  # with a tensor whose examples differ, and in place
    "normal by means": lambda m, a: m.normal(a, 1.0), "normal by both": lambda m, a: m.normal(a, a.abs()),
    "normal by deviations": lambda m, a: m.normal(m.zeros(2, 3, dtype=a.dtype), a.abs()),
    "bernoulli": lambda m, a: m.bernoulli(a.sigmoid()), "bernoulli of a number": lambda m, a: m.bernoulli(a, 0.5),
    "multinomial": lambda m, a: m.multinomial(a + 1, 2), "multinomial of one": lambda m, a: m.multinomial(a[0] + 1, 2),
    "with replacement": lambda m, a: m.multinomial(a + 1, 4, True),
    "poisson": lambda m, a: m.poisson(a * 9),
    "rand_like": lambda m, a: m.rand_like(a), "randn_like": lambda m, a: m.randn_like(a),
    "randint_like": lambda m, a: m.randint_like(a, 10),
    "uniform_": lambda m, a: a.clone().uniform_(), "normal_": lambda m, a: a.clone().normal_(),
    "random_": lambda m, a: a.clone().random_(10), "exponential_": lambda m, a: a.clone().exponential_(),
    "bernoulli_": lambda m, a: a.clone().bernoulli_(0.5), "bernoulli_ of a": lambda m, a: a.clone().bernoulli_(a / 4),
    "bernoulli_ of one": lambda m, a: a.clone().bernoulli_(m.ones(3, dtype=a.dtype) / 2),
    "uniform_ of one": lambda m, a: m.zeros(3).uniform_() + a, "bernoulli_ by a of one": lambda m, a: m.zeros(
        2, 3, dtype=a.dtype).bernoulli_(a / 4),
    "rrelu": lambda m, a: m.rrelu(a, training=True), "rrelu of one": lambda m, a: m.rrelu(m.ones(2)),
    "into out": lambda m, a: m.randn(3, out=m.zeros(3))}


@pytest.mark.filterwarnings("ignore:There is a performance drop")
@pytest.mark.parametrize("name", DRAWS)
def test_random_draws(torch, name):
    """Wherever the examples are in memory, and whatever the level says of draws."""
    for randomness, dim in itertools.product(("same", "different", "error"), (0, 1, -1)):
        def program(m, randomness=randomness, dim=dim):
            m.manual_seed(3)
            x = ramp(m, 2, 3, 4).movedim(-1, dim).clone().movedim(dim, -1)
            return func_of(m).vmap(lambda a: DRAWS[name](m, a), in_dims=-1, randomness=randomness)(x)

        theirs, ours = [ending(program, m)[0] for m in (torch, minigrad)]
        assert ours == theirs, (randomness, dim)


VIEWS = {
    "itself": lambda x: x, "a part": lambda x: x[1:], "parts": lambda x: x.unbind(0),
    "turned": lambda x: x.transpose(0, 1), "nothing": lambda x: x[:0], "no view": lambda x: x * 2,
    "of a view": lambda x: x[1:].view(-1)}


@pytest.mark.parametrize("name", VIEWS)
def test_views_of_arguments(torch, name):
    """What is a view inside is one outside: a write to it changes the history of the argument."""
    def program(m):
        w = ramp(m, 2, 4, 3).requires_grad_()
        x = w * 1
        results = batched(m, lambda a: batched(m, VIEWS[name], a, in_dims=1), x)
        results = results if isinstance(results, tuple) else (results,)
        seen = [(r._is_view(), r._base is x) for r in results]
        with m.no_grad() if name == "parts" else m.enable_grad():
            results[0].mul_(3)
        return seen, x._version, m.autograd.grad((x * ramp(m, 2, 4, 3)).sum(), w)

    theirs, ours = [ending(program, m)[0] for m in (torch, minigrad)]
    assert ours == theirs


def written_view(m, a):
    b = a * 1
    b[1:3] *= a[:2]
    b.view(2, 2)[0].sub_(1)
    return b


def written_argument(m):
    x = ramp(m, 3, 2)
    batched(m, lambda a: a.mul_(2), x)
    return x


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(torch, name):
    alike(torch, PROGRAMS[name])


@pytest.mark.parametrize("name", REFUSED)
def test_refused(torch, name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that an op runs for each example, before it is refused
        alike(torch, REFUSED[name])


def test_an_op_that_needs_numbers_runs_for_each_example():
    with pytest.warns(UserWarning, match="performance drop"):
        got = minigrad.vmap(minigrad.matrix_exp)(ramp(minigrad, 3, 2, 2))
    assert got.tolist() == [minigrad.matrix_exp(a).tolist() for a in ramp(minigrad, 3, 2, 2)]


def test_nothing_is_left_behind():
    """Some ops after a level, ops are as they were written; results are plain arrays."""
    x = ramp(minigrad, 3, 2)
    unwrapped = []
    for _ in range(2):
        for _ in range(Lingering.PATIENCE):
            x.exp()
        unwrapped.append(minigrad.Tensor.__mul__)
        got = minigrad.vmap(minigrad.func.grad(lambda a: (a ** 2).sum()))(x)
    assert unwrapped[0] is unwrapped[1] is not minigrad.Tensor.__mul__
    assert type(got.array) is not Batched
