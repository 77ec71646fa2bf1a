"""`torch.distributions`: samples from the same seed, log probabilities, moments, and gradients through all of them."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch

import minigrad
from minigrad.distributions import implicit
from tests.parity.outcome import sentence, tried

pytestmark = pytest.mark.torch

# A distribution each: `L` makes a parameter with a gradient, `T` a tensor without.
MADE = {
    "Normal": "D.Normal(L([.1, 2.]), L([.5, 1.5]))",
    "Laplace": "D.Laplace(L([.1, 2.]), L([.5, 1.5]))",
    "Uniform": "D.Uniform(L([.1, 1.]), L([2.5, 3.5]))",
    "Exponential": "D.Exponential(L([.3, 2.]))",
    "Gamma": "D.Gamma(L([.3, 2., 20.]), L([.5, 1., 2.]))",
    "Beta": "D.Beta(L([.3, 2., 20.]), L([.5, 1., 7.]))",
    "Chi2": "D.Chi2(L([1., 3.]))",
    "Dirichlet": "D.Dirichlet(L([.3, 2., .7, 9.]))",
    "Categorical": "D.Categorical(logits=L([.3, 2., -1.]))",
    "Categorical of probabilities": "D.Categorical(L([[.3, 2., 1.], [1., 1., 0.]]))",
    "OneHotCategorical": "D.OneHotCategorical(logits=L([.3, 2., 1.]))",
    "OneHotCategoricalStraightThrough": "D.OneHotCategoricalStraightThrough(L([.3, 2., 1.]))",
    "Bernoulli": "D.Bernoulli(L([.3, .5]))",
    "Bernoulli of logits": "D.Bernoulli(logits=L([.3, -.5]))",
    "Independent": "D.Independent(D.Normal(L([.1, 2.]), L([.5, 1.5])), 1)",
    "LogNormal": "D.LogNormal(L([.1, 2.]), L([.5, 1.5]))",
    "MultivariateNormal": "D.MultivariateNormal(L([.1, 2.]), L([[2., .3], [.3, 1.]]))",
    "MultivariateNormal of a precision": "D.MultivariateNormal(L([.1, 2.]), precision_matrix=L([[2., .3], [.3, 1.]]))",
    "MultivariateNormal of a factor":
        "D.MultivariateNormal(L([[.1, 2.], [1., 0.]]), scale_tril=L([[2., 0.], [.3, 1.]]))",
    "affine, sigmoid, power": "D.TransformedDistribution(D.Normal(L([.1, 2.]), L([.5, 1.5])), "
                              "[D.AffineTransform(1., -.5), D.SigmoidTransform(), D.PowerTransform(T(2.))])",
    "tanh": "D.TransformedDistribution(D.Normal(L([.1, 2.]), L([.5, 1.5])), D.TanhTransform(cache_size=1))",
    "stick breaking": "D.TransformedDistribution(D.Normal(L([.1, 2.]), L([.5, 1.5])), D.StickBreakingTransform())",
    "softplus of vectors": "D.TransformedDistribution(D.Normal(L([.1, 2.]), 1.), "
                           "D.IndependentTransform(D.SoftplusTransform(), 1))",
}
ASKED = {
    "sample": "d.sample((3,)), m.rand(2)",
    "rsample": "d.rsample((3,))",
    "log_prob": "d.log_prob(d.sample((2,)))",
    "cdf": "d.cdf(d.sample())",
    "icdf": "d.icdf(T(.3))",
    "moments": "d.mean, d.variance, d.stddev",
    "mode": "d.mode",
    "entropy": "d.entropy(), d.perplexity()",
    "enumerate_support": "d.enumerate_support(), d.enumerate_support(expand=False)",
    "expand": "(e := d.expand((2, *d.batch_shape))).log_prob(e.sample()), repr(e), repr(e.batch_shape)",
    "text": "repr(d), repr(d.support), repr((d.batch_shape, d.event_shape)), d.has_rsample",
    "kl_divergence": "D.kl_divergence(d, make())",
}
IMPLICIT = ("Gamma", "Beta", "Chi2", "Dirichlet")
REFUSED = """
D.Normal(m.tensor([0.0, 1.0]), m.tensor([-1.0, 1.0]))
D.Normal(0.0, 1.0).log_prob(m.tensor(float("nan")))
D.Normal(0, 1).log_prob(1.0)
D.Normal("a", 1.0)
D.Normal(m.zeros(3), 1.0).log_prob(m.zeros(2))
D.Normal(0.0, 1.0).enumerate_support()
D.Categorical(m.tensor([[0.5, -0.5]]))
D.Categorical(m.tensor([0.5, 0.5])).log_prob(m.tensor(3))
D.Categorical(m.tensor(1.0))
D.Bernoulli(1.5)
D.Bernoulli()
D.Uniform(1.0, 0.0)
D.Uniform(0.0, 1.0).log_prob(m.tensor(2.0))
D.Beta(-1.0, 1.0)
D.Dirichlet(m.tensor(1.0))
D.Dirichlet(m.tensor([1.0, 2.0])).log_prob(m.tensor([0.5, 0.6]))
D.Dirichlet(m.tensor([1.0, 2.0])).log_prob(m.tensor([0.5, 0.3, 0.2]))
D.MultivariateNormal(m.zeros(2), -m.eye(2))
D.MultivariateNormal(m.zeros(2), m.ones(2, 3))
D.MultivariateNormal(m.zeros(2))
D.MultivariateNormal(m.zeros(2), scale_tril=m.ones(2, 2))
D.Gamma(m.ones(2).half(), m.ones(2).half()).sample()
D.Dirichlet(m.ones(2).half()).sample()
D.Gamma(m.ones(2).int(), m.ones(2).int()).sample()
D.kl_divergence(D.Uniform(0.0, 1.0), D.Laplace(1.0, 1.0))
D.kl_divergence(D.MultivariateNormal(m.zeros(2), m.eye(2)), D.MultivariateNormal(m.zeros(3), m.eye(3)))
D.Independent(D.Normal(0.0, 1.0), 1)
D.TransformedDistribution(D.Normal(0.0, 1.0), 3)
D.TransformedDistribution(D.Normal(0.0, 1.0), [3])
D.TransformedDistribution(D.Normal(0.0, 1.0), D.StickBreakingTransform())
D.ExpTransform(cache_size=2)
D.ReshapeTransform((2,), (3,))
type("Mine", (D.Normal,), {"__init__": lambda self: D.Normal.__init__(self, 0.0, 1.0)})().expand((2,))
""".strip().splitlines()
# No two leaves of a pair are equal, or their gradients would have no order.
PAIRED = ("D.Beta(L([.3, 2.]), L([1.5, .7]))", "D.Exponential(L([.4, 2.1]))", "D.Gamma(L([.35, 2.]), L([.5, 3.]))",
          "D.Normal(L([.1, 2.]), L([.55, 1.5]))", "D.Laplace(L([.15, 2.]), L([.6, 1.5]))", "D.Chi2(L([1., 2.2]))",
          "D.Uniform(L([.2, -.5]), L([.9, 2.]))", "D.Uniform(L([0., -1.]), L([1.1, 2.]))")
ALIKE = """
str(D.kl_divergence(D.Normal(0.0, 1.0), D.Gamma(1.0, 1.0)))
str(D.kl_divergence(D.Uniform(0.0, 1.0), D.Normal(1.0, 1.0)))
str(D.kl_divergence(D.Bernoulli(0.5), D.Bernoulli(1.0)))
repr(D.TransformedDistribution(D.Normal(0.0, 1.0), [D.ExpTransform(), D.AffineTransform(0.0, 1.0)]))
repr(D.ComposeTransform([D.ExpTransform(), D.SigmoidTransform().inv]))
D.ExpTransform() == D.ExpTransform(), D.AffineTransform(0.0, 1.0) == D.AffineTransform(0.0, 2.0)
D.ExpTransform().inv.inv == D.ExpTransform(), D.ExpTransform().inv == D.ExpTransform().inv
[repr(getattr(D.constraints, name)) for name in ("real", "boolean", "one_hot", "simplex", "positive", "unit_interval")]
[repr(getattr(D.constraints, name)) for name in ("real_vector", "lower_cholesky", "positive_definite", "dependent")]
[D.constraints.is_dependent(each.support) for each in (D.Uniform, D.Normal, D.Categorical)]
D.constraints.positive_definite.check(m.tensor([[[2.0, 1.0], [1.0, 2.0]], [[1.0, 2.0], [2.0, 1.0]]])).tolist()
D.constraints.corr_cholesky.check(m.eye(3)).item(), D.constraints.integer_interval(0, 3).check(m.tensor(2.5)).item()
D.constraints.cat([D.constraints.positive, D.constraints.real], 0, [1, 2]).check(m.tensor([-1.0, -1.0, 2.0])).tolist()
repr(D.ReshapeTransform((2, 3), (6,)).forward_shape(m.Size([4, 2, 3])))
D.Normal(0.0, 1.0, validate_args=False).log_prob(m.tensor(float("nan"))).isnan().item()
D.PositiveDefiniteTransform()(m.tensor([[0.0, 3.0], [1.0, 0.0]])).tolist()
D.LowerCholeskyTransform().inv(m.tensor([[1.0, 0.0], [2.0, 1.0]])).tolist()
(lambda t, x: t.inv(t(x)) is x)(D.TanhTransform(cache_size=1), m.tensor(0.3))
""".strip().splitlines()


def numbers(value: Any, lib: ModuleType) -> Any:
    """A result as numbers: of a tensor its dtype, its elements, and the gradients of all parameters behind it."""
    if isinstance(value, tuple):
        return tuple(numbers(each, lib) for each in value)
    if not isinstance(value, lib.Tensor):
        return sentence(value) if isinstance(value, str) else value
    weights = lib.arange(1, value.numel() + 1, dtype=value.dtype).reshape(value.shape)
    return sentence(str(value.dtype)), value.tolist(), gradients((value * weights).sum(), lib)


def gradients(loss: Any, lib: ModuleType) -> list[Any]:
    """The gradients of the leaves behind a loss, in the order of the leaves' elements."""
    leaves, waiting, seen = [], [loss.grad_fn], set()
    while waiting:
        node = waiting.pop()
        if node is not None and node not in seen:
            seen.add(node)
            leaves += [node.variable] if hasattr(node, "variable") else []
            waiting += [each for each, _ in node.next_functions]
    leaves.sort(key=lambda leaf: leaf.flatten().tolist())
    return [each.tolist() for each in lib.autograd.grad(loss, leaves)] if leaves else []


def answer(lib: ModuleType, made: str, asked: str, dtype: str) -> Any:
    """What a distribution answers after `manual_seed(3)`, or its error."""
    kind = getattr(lib, dtype)
    names = {"m": lib, "D": lib.distributions, "T": lambda v: lib.tensor(v, dtype=kind),
             "L": lambda v: lib.tensor(v, dtype=kind, requires_grad=True)}
    names["make"] = lambda: eval(made, dict(names))
    lib.manual_seed(3)
    result, _ = tried(lambda m: numbers(eval(asked, {**names, "d": names["make"]()}), m), lib)
    return (type(result).__name__, sentence(str(result))) if isinstance(result, Exception) else result


def close(a: Any, b: Any, tolerance: float) -> bool:
    """Whether results are equal up to a relative difference of their numbers."""
    if isinstance(a, (list, tuple)):
        return type(a) is type(b) and len(a) == len(b) and all(
            close(x, y, tolerance) for x, y in zip(a, b, strict=True))
    if isinstance(a, float) and isinstance(b, float):
        return bool(np.isclose(b, a, rtol=tolerance, atol=tolerance / 10, equal_nan=True))
    return bool(a == b)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("made", MADE)
def test_answers_are_pytorchs(made: str, asked: str, dtype: str) -> None:
    tolerance = 2e-5 if dtype == "float32" else 1e-8
    if asked == "rsample" and made in IMPLICIT:  # PyTorch's implicit gradients are approximations of three digits
        tolerance = 2e-3
    ours, theirs = (answer(lib, MADE[made], ASKED[asked], dtype) for lib in (minigrad, torch))
    assert close(theirs, ours, tolerance), (theirs, ours)


@pytest.mark.parametrize("made", PAIRED)
def test_divergences_of_pairs_are_pytorchs(made: str) -> None:
    for other in [each for each in PAIRED if each != made]:
        ours, theirs = (answer(lib, made, f"D.kl_divergence(d, {other})", "float64") for lib in (minigrad, torch))
        assert close(theirs, ours, 1e-7), (other, theirs, ours)


@pytest.mark.parametrize("program", [*REFUSED, *ALIKE])
def test_errors_and_texts_are_pytorchs(program: str) -> None:
    ours, theirs = (answer(lib, "None", program, "float32") for lib in (minigrad, torch))
    assert ours == theirs and (isinstance(theirs, tuple) and "Error" in str(theirs[0])) == (program in REFUSED)


def test_samples_of_gamma_leave_the_generator_where_pytorchs_do() -> None:
    concentration = np.geomspace(0.01, 100, 3000)
    for dtype in ("float32", "float64"):
        drawn = []
        for lib in (minigrad, torch):
            lib.manual_seed(1)
            a = lib.tensor(concentration, dtype=getattr(lib, dtype))
            lib.randn(1)  # leaves the second number of a pair
            drawn.append([lib.distributions.Gamma(a, 1.0).sample().numpy(), lib.randn(3).numpy(),
                          lib.distributions.Dirichlet(a.reshape(1000, 3)).sample().numpy(), lib.rand(1).numpy()])
        for ours, theirs in zip(*drawn, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-6 if dtype == "float32" else 1e-14)


@pytest.mark.parametrize("made", ["D.Gamma(L([1e-4, .01, 1e4, 1e8]), 1.)", "D.Dirichlet(L([1e-3, 1e-3, 1e-3]))",
                                  "D.Dirichlet(L([1e5, 1e-3]))", "D.Beta(L([1e-3, 1e3]), 1.)"])
def test_draws_at_the_edge_come_without_a_warning(made: str) -> None:
    with np.errstate(all="raise"):
        ours = answer(minigrad, made, "d.rsample((4,))", "float32")
    theirs = answer(torch, made, "d.sample((4,))", "float32")
    assert close(theirs[1], ours[1], 1e-5) and np.isfinite(ours[2]).all()


@pytest.mark.parametrize("a", [0.01, 0.3, 1.0, 3.0, 9.0, 80.0, 3000.0])
def test_implicit_gradient_of_gamma_is_the_slope_of_its_quantiles(a: float) -> None:
    at = a + a**0.5 * np.linspace(-0.9, 4, 12)
    x, kind = torch.tensor(at[at > 0]), torch.float64
    step = 1e-5 * a
    above, below = (torch.special.gammainc(torch.tensor(a + off, dtype=kind), x) for off in (step, -step))
    density = torch.distributions.Gamma(torch.tensor(a, dtype=kind), 1.0).log_prob(x).exp()
    from_quantiles = ((below - above) / (2 * step) / density).numpy()
    ours = implicit.gamma_gradient(x.numpy(), np.full(x.shape, a))
    np.testing.assert_allclose(ours, from_quantiles, rtol=1e-5)


@pytest.mark.parametrize("program", [
    "D.Normal(a, 1.0).log_prob(a)", "D.Categorical(logits=a * m.ones(2)).log_prob(m.tensor(1))",
    "D.Normal(a, -1.0).mean", "D.Gamma(a, 1.0).log_prob(a)",
    "D.MultivariateNormal(a * m.ones(2), m.eye(2)).log_prob(m.ones(2))", "D.Gamma(a, 1.0).rsample()"])
@pytest.mark.parametrize("randomness", ["error", "different"])
def test_inside_of_vmap(program: str, randomness: str) -> None:
    def kind(lib: ModuleType) -> Any:
        lib.manual_seed(0)
        result, _ = tried(lambda m: m.func.vmap(
            lambda a: eval(program, {"a": a, "D": m.distributions, "m": m}), randomness=randomness)(m.ones(3)), lib)
        return (type(result).__name__, str(result).split(" of distribution")[0]) if isinstance(
            result, Exception) else numbers(result, lib)

    assert close(kind(torch), kind(minigrad), 1e-5)


def test_reinforce_and_the_reparameterised_gradient_agree() -> None:
    m, D = minigrad, minigrad.distributions
    m.manual_seed(0)
    loc = m.tensor(0.5, requires_grad=True)
    normal = D.Normal(loc, 1.0)
    sample = normal.sample((200_000,))
    by_score, = m.autograd.grad((normal.log_prob(sample) * sample**2).mean(), loc)
    by_path, = m.autograd.grad((normal.rsample((200_000,)) ** 2).mean(), loc)
    assert abs(by_score.item() - 1.0) < 0.05 and abs(by_path.item() - 1.0) < 0.02
