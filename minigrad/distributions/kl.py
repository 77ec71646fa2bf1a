"""The Kullback-Leibler divergence of pairs of distributions: mirrors `torch/distributions/kl.py`."""

import functools
import math
import warnings
from collections.abc import Callable
from typing import Any

from minigrad import linalg
from minigrad.distributions.categorical import Bernoulli, Categorical, OneHotCategorical
from minigrad.distributions.distribution import Distribution, sum_rightmost
from minigrad.distributions.gamma import Beta, Dirichlet, Exponential, Gamma
from minigrad.distributions.normal import (
    Laplace,
    MultivariateNormal,
    Normal,
    Uniform,
    log_diagonal,
    squared_distance,
)
from minigrad.distributions.transformed_distribution import Independent, TransformedDistribution
from minigrad.nn.functional import softplus
from minigrad.ops import public as ops

__all__ = ["kl_divergence", "register_kl"]

Divergence = Callable[[Any, Any], Any]
FORMULAS: dict[tuple[type, type], Divergence] = {}
EULER = 0.57721566490153286060


def register_kl(type_p: type, type_q: type) -> Callable[[Divergence], Divergence]:
    """Decorate a function of two distributions, which `kl_divergence` then calls for these types and those derived from
    them."""
    for name, each in (("type_p", type_p), ("type_q", type_q)):
        if not isinstance(each, type):
            raise TypeError(f"Expected {name} to be a Distribution subclass but got {each}")

    def register(formula: Divergence) -> Divergence:
        FORMULAS[type_p, type_q] = formula
        find.cache_clear()
        return formula

    return register


@functools.cache
def find(type_p: type, type_q: type) -> Divergence | None:
    """The formula of the nearest base classes; a RuntimeWarning if two are equally near."""
    near = [(p, q) for p, q in FORMULAS if issubclass(type_p, p) and issubclass(type_q, q)]
    if not near:
        return None
    rank_p, rank_q = type_p.__mro__.index, type_q.__mro__.index
    by_p = min(near, key=lambda pair: (rank_p(pair[0]), rank_q(pair[1])))
    by_q = min(near, key=lambda pair: (rank_q(pair[1]), rank_p(pair[0])))
    if FORMULAS[by_p] is not FORMULAS[by_q]:
        warnings.warn(f"Ambiguous kl_divergence({type_p.__name__}, {type_q.__name__}). Please "
                      f"register_kl({by_p[0].__name__}, {by_q[1].__name__})", RuntimeWarning, stacklevel=3)
    return FORMULAS[by_p]


def kl_divergence(p: Distribution, q: Distribution) -> Any:
    """The expectation under `p` of log p(x) - log q(x), of shape `batch_shape`. Raises NotImplementedError for a pair
    without a registered formula."""
    types: Any = type(p), type(q)  # mypy takes a class for unhashable if it may define __eq__
    formula = find(*types)
    if formula is None:
        raise NotImplementedError(f"No KL(p || q) is implemented for p type {type(p).__name__} and q type "
                                  f"{type(q).__name__}")
    return formula(p, q)


@register_kl(Bernoulli, Bernoulli)
def _bernoulli(p: Any, q: Any) -> Any:
    ones = p.probs * (softplus(-q.logits) - softplus(-p.logits))
    zeros = (1 - p.probs) * (softplus(q.logits) - softplus(p.logits))
    return (ones.masked_fill(q.probs == 0, math.inf).masked_fill(p.probs == 0, 0)
            + zeros.masked_fill(q.probs == 1, math.inf).masked_fill(p.probs == 1, 0))


@register_kl(Categorical, Categorical)
def _categorical(p: Any, q: Any) -> Any:
    terms = p.probs * (p.logits - q.logits)
    return terms.masked_fill(q.probs == 0, math.inf).masked_fill(p.probs == 0, 0).sum(-1)


@register_kl(OneHotCategorical, OneHotCategorical)
def _one_hot(p: Any, q: Any) -> Any:
    return _categorical(p._categorical, q._categorical)


@register_kl(Dirichlet, Dirichlet)
def _dirichlet(p: Any, q: Any) -> Any:
    a, b = p.concentration, q.concentration
    total = a.sum(-1)
    constant = total.lgamma() - b.sum(-1).lgamma() - (a.lgamma() - b.lgamma()).sum(-1)
    return constant + ((a - b) * (a.digamma() - total.digamma().unsqueeze(-1))).sum(-1)


@register_kl(Beta, Beta)
def _beta(p: Any, q: Any) -> Any:
    return _dirichlet(p._dirichlet, q._dirichlet)


@register_kl(Exponential, Exponential)
def _exponential(p: Any, q: Any) -> Any:
    ratio = q.rate / p.rate
    return -ratio.log() + ratio - 1


@register_kl(Gamma, Gamma)
def _gamma(p: Any, q: Any) -> Any:
    a, b = p.concentration, q.concentration
    return (b * (p.rate / q.rate).log() + b.lgamma() - a.lgamma() + (a - b) * a.digamma()
            + (q.rate - p.rate) * (a / p.rate))


@register_kl(Laplace, Laplace)
def _laplace(p: Any, q: Any) -> Any:
    ratio, apart = p.scale / q.scale, (p.loc - q.loc).abs()
    return -ratio.log() + apart / q.scale + ratio * (-apart / p.scale).exp() - 1


@register_kl(Normal, Normal)
def _normal(p: Any, q: Any) -> Any:
    ratio, apart = (p.scale / q.scale).pow(2), ((p.loc - q.loc) / q.scale).pow(2)
    return 0.5 * (ratio + apart - 1 - ratio.log())


@register_kl(MultivariateNormal, MultivariateNormal)
def _multivariate_normal(p: Any, q: Any) -> Any:
    if p.event_shape != q.event_shape:
        # The gap inside is PyTorch's.
        raise ValueError("KL-divergence between two Multivariate Normals with"
                         f"{' ' * 26}different event shapes cannot be computed")
    of_p, of_q = p._unbroadcasted_scale_tril, q._unbroadcasted_scale_tril
    batch, n = ops.broadcast_shapes(of_q.shape[:-2], of_p.shape[:-2]), p.event_shape[0]
    mixed: Any = linalg.solve_triangular(of_q.expand((*batch, n, n)), of_p.expand((*batch, n, n)), upper=False)
    squares = mixed.pow(2).sum((-2, -1)) + squared_distance(of_q, q.loc - p.loc)
    return log_diagonal(of_q) - log_diagonal(of_p) + 0.5 * (squares - n)


@register_kl(Uniform, Uniform)
def _uniform(p: Any, q: Any) -> Any:
    outside = (q.low > p.low) | (q.high < p.high)
    return ((q.high - q.low) / (p.high - p.low)).log().masked_fill(outside, math.inf)


@register_kl(Normal, Laplace)
def _normal_laplace(p: Any, q: Any) -> Any:
    apart, spread = p.loc - q.loc, math.sqrt(2) * p.scale
    distance = spread / math.sqrt(math.pi) * (-(apart / spread).pow(2)).exp() + apart * (apart / spread).erf()
    return (2 * q.scale).log() + distance / q.scale - p.entropy()


def _x_log_x(x: Any) -> Any:
    return ops.xlogy(x, x)


# What `_cross` needs of p: the expectation of log x.
LOGS: dict[type, Callable[[Any], Any]] = {
    Beta: lambda p: p.concentration1.digamma() - (p.concentration1 + p.concentration0).digamma(),
    Exponential: lambda p: -p.rate.log() - EULER,
    Uniform: lambda p: (_x_log_x(p.high) - _x_log_x(p.low)) / (p.high - p.low) - 1,
}


def _cross_exponential(p: Any, q: Any) -> Any:
    return q.rate * p.mean - q.rate.log()


def _cross_gamma(p: Any, q: Any) -> Any:
    a = q.concentration
    return a.lgamma() - a * q.rate.log() - (a - 1) * LOGS[type(p)](p) + q.rate * p.mean


def _cross_normal(p: Any, q: Any) -> Any:
    return 0.5 * math.log(2 * math.pi) + q.scale.log() + (p.variance + (p.mean - q.loc).pow(2)) / (2 * q.scale.pow(2))


def _cross_uniform(p: Any, q: Any) -> Any:
    return (q.high - q.low).log()


def _cross_beta(p: Any, q: Any) -> Any:
    mirrored = Uniform(1 - p.high, 1 - p.low, validate_args=False)
    ones, zeros = q.concentration1, q.concentration0
    constant = ones.lgamma() + zeros.lgamma() - (ones + zeros).lgamma()
    return constant - (ones - 1) * LOGS[Uniform](p) - (zeros - 1) * LOGS[Uniform](mirrored)


def _reaches_outside(p: Any, q: Any) -> Any:
    """Where `p`, if one of the two has bounds, has samples that `q` cannot have."""
    if isinstance(q, Uniform):
        return (q.low > 0) | (q.high < 1)
    return (p.low < 0) | (p.high > 1) if isinstance(q, Beta) else p.low < 0


def _by_cross_entropy(cross: Divergence, bounded: bool) -> Divergence:
    """The divergence by the cross entropy, the expectation under `p` of -log q(x); infinite outside of the bounds."""
    def formula(p: Any, q: Any) -> Any:
        result = cross(p, q) - p.entropy()
        return result.masked_fill(_reaches_outside(p, q), math.inf) if bounded else result
    return formula


CROSS: tuple[tuple[type, Divergence, tuple[type, ...], tuple[type, ...]], ...] = (  # q, then p without and with bounds
    (Exponential, _cross_exponential, (Beta, Gamma), (Uniform,)),
    (Gamma, _cross_gamma, (Beta, Exponential), (Uniform,)),
    (Normal, _cross_normal, (Beta, Exponential, Gamma, Laplace, Uniform), ()),
    (Uniform, _cross_uniform, (), (Beta,)),
    (Beta, _cross_beta, (), (Uniform,)),
)
for _to, _cross, _free, _bound in CROSS:
    for _from in (*_free, *_bound):
        register_kl(_from, _to)(_by_cross_entropy(_cross, _from in _bound))


def _infinite(p: Any, q: Any) -> Any:
    """The divergence where `p` has samples that `q` cannot have."""
    return ops.full_like(getattr(p, next(iter(p.arg_constraints))), math.inf)


for _p, _bounded in ((Gamma, (Beta, Uniform)), (Exponential, (Beta, Uniform)),
                     (Normal, (Beta, Exponential, Gamma, Uniform)), (Laplace, (Beta, Exponential, Gamma, Uniform))):
    for _q in _bounded:
        register_kl(_p, _q)(_infinite)


@register_kl(Independent, Independent)
def _independent(p: Any, q: Any) -> Any:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError
    return sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


@register_kl(TransformedDistribution, TransformedDistribution)
def _transformed(p: Any, q: Any) -> Any:
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError
    return kl_divergence(p.base_dist, q.base_dist)
