"""Distributions made of gamma-distributed numbers, with their implicit reparameterised gradients."""

from collections.abc import Iterable
from typing import Any, ClassVar

from minigrad.autograd.function import Function, once_differentiable
from minigrad.core import Tensor, plain
from minigrad.distributions import constraints, implicit
from minigrad.distributions.distribution import Distribution, broadcast_all
from minigrad.nn.functional import one_hot
from minigrad.ops import public as ops
from minigrad.ops.random import stream_beside
from minigrad.ops.tensor.properties import finfo

__all__ = ["Beta", "Chi2", "Dirichlet", "Exponential", "Gamma"]


class _Drawn(Function):
    """Numbers for a tensor of concentrations, which are saved with them."""

    generate_vmap_rule = True
    draw: ClassVar[Any]  # a function of a stream and an array of concentrations

    @classmethod
    def forward(cls, concentration: Any) -> Any:
        return plain(cls.draw(stream_beside(concentration.array), concentration.array))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        ctx.save_for_backward(output, *inputs)


class _StandardGamma(_Drawn):
    """Gamma-distributed numbers of rate 1. A sample x of concentration a has the derivative -(dF/da) / p(x)."""

    draw = staticmethod(implicit.standard_gamma)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Any) -> Any:
        x, a = ctx.saved_tensors
        return grad * plain(implicit.gamma_gradient(x.array, a.array))


class _Dirichlet(_Drawn):
    """Vectors of a Dirichlet distribution. Its parts are beta-distributed, and if one moves, the others share what
    remains in their proportions."""

    draw = staticmethod(implicit.dirichlet)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Any) -> Any:
        x, a = ctx.saved_tensors
        return plain(implicit.dirichlet_gradient(x.array, a.array)) * (grad - (x * grad).sum(-1, True))


class _GammaProbability(Function):
    """The probability that a gamma-distributed number of rate 1 is at most x, whose derivative is the density. As in
    PyTorch, there is none with respect to the concentration."""

    generate_vmap_rule = True

    @staticmethod
    def forward(concentration: Any, x: Any) -> Any:
        return plain(implicit.gamma_probability(x.array, concentration.array))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Any) -> Any:
        if ctx.needs_input_grad[0]:
            raise NotImplementedError("the derivative for 'igamma: input' is not implemented.")
        a, x = ctx.saved_tensors
        return None, grad * (ops.xlogy(a - 1, x) - x - a.lgamma()).exp()


class Gamma(Distribution):
    """The gamma distribution of shape `concentration` and `rate`; its mean is `concentration / rate`."""

    arg_constraints: ClassVar = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _expanded: ClassVar = {"concentration": 0, "rate": 0}
    concentration: Any
    rate: Any

    def __init__(self, concentration: Tensor | float, rate: Tensor | float, validate_args: bool | None = None) -> None:
        self._set(validate_args, concentration=concentration, rate=rate)

    mean = property(lambda self: self.concentration / self.rate)
    mode = property(lambda self: ((self.concentration - 1) / self.rate).clamp(min=0))
    variance = property(lambda self: self.concentration / self.rate.pow(2))

    def rsample(self, sample_shape: Iterable[int] = ()) -> Any:
        shape = self._extended_shape(sample_shape)
        value = _StandardGamma.apply(self.concentration.expand(shape)) / self.rate.expand(shape)
        value.detach().clamp_(min=finfo(value.dtype).tiny)  # outside the graph
        return value

    def log_prob(self, value: Any) -> Any:
        a, rate = self.concentration, self.rate
        value = self._checked(ops.as_tensor(value, dtype=rate.dtype, device=rate.device))
        return ops.xlogy(a, rate) + ops.xlogy(a - 1, value) - rate * value - a.lgamma()

    def cdf(self, value: Any) -> Any:
        return _GammaProbability.apply(*ops.broadcast_tensors(self.concentration, self.rate * self._checked(value)))

    def entropy(self) -> Any:
        a = self.concentration
        return a - self.rate.log() + a.lgamma() + (1.0 - a) * a.digamma()


class Chi2(Gamma):
    """The sum of the squares of `df` standard normal numbers."""

    arg_constraints: ClassVar = {"df": constraints.positive}

    def __init__(self, df: Tensor | float, validate_args: bool | None = None) -> None:
        super().__init__(0.5 * df, 0.5, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        return super().expand(batch_shape, self._get_checked_instance(Chi2, _instance))

    df = property(lambda self: self.concentration * 2)


class Exponential(Distribution):
    """The exponential distribution, of density `rate * exp(-rate * x)`."""

    arg_constraints: ClassVar = {"rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _expanded: ClassVar = {"rate": 0}
    rate: Any

    def __init__(self, rate: Tensor | float, validate_args: bool | None = None) -> None:
        self._set(validate_args, rate=rate)

    mean = stddev = property(lambda self: self.rate.reciprocal())
    mode = property(lambda self: ops.zeros_like(self.rate))
    variance = property(lambda self: self.rate.pow(-2))

    def rsample(self, sample_shape: Iterable[int] = ()) -> Any:
        return self.rate.new(self._extended_shape(sample_shape)).exponential_() / self.rate

    def log_prob(self, value: Any) -> Any:
        return self.rate.log() - self.rate * self._checked(value)

    def cdf(self, value: Any) -> Any:
        return 1 - (-self.rate * self._checked(value)).exp()

    def icdf(self, value: Any) -> Any:
        return -(-value).log1p() / self.rate

    def entropy(self) -> Any:
        return 1.0 - self.rate.log()


class Dirichlet(Distribution):
    """Vectors of probabilities, of density proportional to the product of `x ** (concentration - 1)`."""

    arg_constraints: ClassVar = {"concentration": constraints.independent(constraints.positive, 1)}
    support = constraints.simplex
    has_rsample = True
    _expanded: ClassVar = {"concentration": 1}

    def __init__(self, concentration: Any, validate_args: bool | None = None) -> None:
        if concentration.dim() < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        self.concentration: Any = concentration
        super().__init__(concentration.shape[:-1], concentration.shape[-1:], validate_args=validate_args)

    mean = property(lambda self: self.concentration / self.concentration.sum(-1, True))

    @property
    def mode(self) -> Any:
        above = (self.concentration - 1).clamp(min=0.0)
        mode = above / above.sum(-1, True)
        corner = one_hot(mode.argmax(-1), mode.shape[-1]).to(mode)
        return mode.where(~(self.concentration < 1).all(-1, True), corner)

    @property
    def variance(self) -> Any:
        a, total = self.concentration, self.concentration.sum(-1, True)
        return a * (total - a) / (total.pow(2) * (total + 1))

    def rsample(self, sample_shape: Iterable[int] = ()) -> Any:
        return _Dirichlet.apply(self.concentration.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Any) -> Any:
        a = self.concentration
        return ops.xlogy(a - 1.0, self._checked(value)).sum(-1) + a.sum(-1).lgamma() - a.lgamma().sum(-1)

    def entropy(self) -> Any:
        a, total, k = self.concentration, self.concentration.sum(-1), self._event_shape[0]
        return (a.lgamma().sum(-1) - total.lgamma() - (k - total) * total.digamma()
                - ((a - 1.0) * a.digamma()).sum(-1))


class Beta(Distribution):
    """The beta distribution on [0, 1], of density proportional to `x ** (concentration1 - 1) * (1 - x) **
    (concentration0 - 1)`: the first part of a `Dirichlet` of two."""

    arg_constraints: ClassVar = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support = constraints.unit_interval
    has_rsample = True
    _expanded: ClassVar = {"_dirichlet": 0}

    def __init__(self, concentration1: Any, concentration0: Any, validate_args: bool | None = None) -> None:
        both = ops.stack(list(broadcast_all(concentration1, concentration0)), -1)
        self._dirichlet = Dirichlet(both, validate_args=validate_args)
        super().__init__(self._dirichlet.batch_shape, validate_args=validate_args)

    concentration1 = property(lambda self: self._dirichlet.concentration[..., 0])
    concentration0 = property(lambda self: self._dirichlet.concentration[..., 1])
    mean = property(lambda self: self.concentration1 / (self.concentration1 + self.concentration0))
    mode = property(lambda self: self._dirichlet.mode[..., 0])

    @property
    def variance(self) -> Any:
        total = self.concentration1 + self.concentration0
        return self.concentration1 * self.concentration0 / (total.pow(2) * (total + 1))

    def rsample(self, sample_shape: Iterable[int] = ()) -> Any:
        return self._dirichlet.rsample(sample_shape).select(-1, 0)

    def log_prob(self, value: Any) -> Any:
        value = self._checked(value)
        return self._dirichlet.log_prob(ops.stack([value, 1.0 - value], -1))

    def entropy(self) -> Any:
        return self._dirichlet.entropy()
