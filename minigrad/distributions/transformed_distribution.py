"""Distributions made of others: `Independent`, and `TransformedDistribution` with its common case, `LogNormal`."""

import functools
import operator
from collections.abc import Iterable
from typing import Any, ClassVar

from minigrad._base.dtype import Size
from minigrad.autograd.grad_mode import no_grad
from minigrad.distributions import constraints
from minigrad.distributions.distribution import Distribution, sum_rightmost
from minigrad.distributions.normal import Normal
from minigrad.distributions.transforms import ComposeTransform, ExpTransform, Transform

__all__ = ["Independent", "LogNormal", "TransformedDistribution"]


class Independent(Distribution):
    """A distribution whose last batch dimensions count as one event: their log probabilities are summed."""

    arg_constraints: ClassVar[dict[str, Any]] = {}

    def __init__(self, base_distribution: Distribution, reinterpreted_batch_ndims: int,
                 validate_args: bool | None = None) -> None:
        batch, ndims = base_distribution.batch_shape, reinterpreted_batch_ndims
        if ndims > len(batch):
            raise ValueError("Expected reinterpreted_batch_ndims <= len(base_distribution.batch_shape), actual "
                             f"{ndims} vs {len(batch)}")
        self.base_dist, self.reinterpreted_batch_ndims = base_distribution, ndims
        cut = len(batch) - ndims
        super().__init__(batch[:cut], batch[cut:] + base_distribution.event_shape, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new, ndims = self._get_checked_instance(Independent, _instance), self.reinterpreted_batch_ndims
        base = self.base_dist.expand(Size(batch_shape) + self._event_shape[:ndims])
        Independent.__init__(new, base, ndims, validate_args=False)
        new._validate_args = self._validate_args
        return new

    has_rsample = property(lambda self: self.base_dist.has_rsample)
    mean = property(lambda self: self.base_dist.mean)
    mode = property(lambda self: self.base_dist.mode)
    variance = property(lambda self: self.base_dist.variance)

    @property
    def has_enumerate_support(self) -> bool:
        return not self.reinterpreted_batch_ndims and self.base_dist.has_enumerate_support

    @constraints.dependent_property
    def support(self) -> Any:
        ndims, support = self.reinterpreted_batch_ndims, self.base_dist.support
        return constraints.independent(support, ndims) if ndims else support

    def sample(self, sample_shape: Iterable[int] = ()) -> Any:
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape: Iterable[int] = ()) -> Any:
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value: Any) -> Any:
        return sum_rightmost(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def entropy(self) -> Any:
        return sum_rightmost(self.base_dist.entropy(), self.reinterpreted_batch_ndims)

    def enumerate_support(self, expand: bool = True) -> Any:
        if self.reinterpreted_batch_ndims:
            raise NotImplementedError("Enumeration over cartesian product is not implemented")
        return self.base_dist.enumerate_support(expand)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_dist}, {self.reinterpreted_batch_ndims})"


class TransformedDistribution(Distribution):
    """The distribution of samples of `base_distribution` after one transform, or several one after the other."""

    arg_constraints: ClassVar[dict[str, Any]] = {}

    def __init__(self, base_distribution: Distribution, transforms: Transform | list[Transform],
                 validate_args: bool | None = None) -> None:
        if not isinstance(transforms, (Transform, list)):
            raise ValueError(f"transforms must be a Transform or list, but was {transforms}")
        self.transforms = [transforms] if isinstance(transforms, Transform) else transforms
        if not all(isinstance(each, Transform) for each in self.transforms):
            raise ValueError("transforms must be a Transform or a list of Transforms")
        chain, events = ComposeTransform(self.transforms), len(base_distribution.event_shape)
        shape, domain = base_distribution.batch_shape + base_distribution.event_shape, chain.domain.event_dim
        if len(shape) < domain:
            raise ValueError(
                f"base_distribution needs to have shape with size at least {domain}, but got {shape}.")
        forward_shape = chain.forward_shape(shape)
        needed = chain.inverse_shape(forward_shape)
        if shape != needed:
            base_distribution = base_distribution.expand(needed[:len(needed) - events])
        if domain > events:
            base_distribution = Independent(base_distribution, domain - events)
        self.base_dist = base_distribution
        codomain = chain.codomain.event_dim
        cut = len(forward_shape) - max(codomain, events + codomain - domain)
        super().__init__(forward_shape[:cut], forward_shape[cut:], validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new, shape = self._get_checked_instance(TransformedDistribution, _instance), Size(batch_shape)
        inner = ComposeTransform(self.transforms).inverse_shape(shape + self._event_shape)
        new.base_dist = self.base_dist.expand(inner[:len(inner) - len(self.base_dist.event_shape)])
        new.transforms = self.transforms
        Distribution.__init__(new, shape, self._event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    @constraints.dependent_property(is_discrete=False)
    def support(self) -> Any:
        if not self.transforms:
            return self.base_dist.support
        support = self.transforms[-1].codomain
        more = len(self._event_shape) - support.event_dim
        return constraints.independent(support, more) if more > 0 else support

    has_rsample = property(lambda self: self.base_dist.has_rsample)

    def _forward(self, x: Any) -> Any:
        """`x` after all transforms."""
        return functools.reduce(lambda value, transform: transform(value), self.transforms, x)

    def sample(self, sample_shape: Iterable[int] = ()) -> Any:
        with no_grad():
            return self._forward(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape: Iterable[int] = ()) -> Any:
        return self._forward(self.base_dist.rsample(sample_shape))

    def log_prob(self, value: Any) -> Any:
        y, log_prob, event_dim = self._checked(value), 0.0, len(self._event_shape)
        for transform in reversed(self.transforms):
            x = transform.inv(y)
            event_dim += transform.domain.event_dim - transform.codomain.event_dim
            log_det = transform.log_abs_det_jacobian(x, y)
            log_prob = log_prob - sum_rightmost(log_det, event_dim - transform.domain.event_dim)
            y = x
        return log_prob + sum_rightmost(self.base_dist.log_prob(y), event_dim - len(self.base_dist.event_shape))

    def _turned(self, value: Any) -> Any:
        """A probability, turned into its opposite if the transforms are decreasing together."""
        sign: Any = functools.reduce(operator.mul, [each.sign for each in self.transforms], 1)
        return value if isinstance(sign, int) and sign == 1 else sign * (value - 0.5) + 0.5

    def cdf(self, value: Any) -> Any:
        for transform in reversed(self.transforms):
            value = transform.inv(value)
        if self._validate_args:
            self.base_dist._validate_sample(value)
        return self._turned(self.base_dist.cdf(value))

    def icdf(self, value: Any) -> Any:
        return self._forward(self.base_dist.icdf(self._turned(value)))


class LogNormal(TransformedDistribution):
    """Numbers whose logarithm is normal, of mean `loc` and standard deviation `scale`."""

    arg_constraints: ClassVar[dict[str, Any]] = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.positive
    has_rsample = True

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        super().__init__(Normal(loc, scale, validate_args), ExpTransform(), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        return super().expand(batch_shape, self._get_checked_instance(LogNormal, _instance))

    loc: Any = property(lambda self: self.base_dist.loc)
    scale: Any = property(lambda self: self.base_dist.scale)
    mean = property(lambda self: (self.loc + self.scale.pow(2) / 2).exp())
    mode = property(lambda self: (self.loc - self.scale.square()).exp())

    @property
    def variance(self) -> Any:
        squared = self.scale.pow(2)
        return squared.expm1() * (2 * self.loc + squared).exp()

    def entropy(self) -> Any:
        return self.base_dist.entropy() + self.loc
