"""Distributions of real numbers by location and scale, and normal vectors."""

import math
from collections.abc import Iterable
from typing import Any, ClassVar

from minigrad import linalg
from minigrad.core import Tensor
from minigrad.distributions import constraints
from minigrad.distributions.distribution import Distribution, lazy_property, standard_normal
from minigrad.ops import public as ops
from minigrad.ops.tensor.properties import finfo

__all__ = ["Laplace", "MultivariateNormal", "Normal", "Uniform"]


class _LocationScale(Distribution):
    """A distribution of real numbers that is moved by `loc` and stretched by `scale`."""

    arg_constraints: ClassVar = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    loc: Any
    scale: Any

    def __init__(self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None) -> None:
        self._set(validate_args, loc=loc, scale=scale)

    mean = mode = property(lambda self: self.loc)


class Normal(_LocationScale):
    """The normal distribution of mean `loc` and standard deviation `scale`."""

    _expanded: ClassVar = {"loc": 0, "scale": 0}

    stddev = property(lambda self: self.scale)
    variance = property(lambda self: self.stddev.pow(2))

    def sample(self, sample_shape: Iterable[int] = ()) -> Any:
        shape = self._extended_shape(sample_shape)
        return ops.normal(self.loc.detach().expand(shape), self.scale.detach().expand(shape))

    def rsample(self, sample_shape: Iterable[int] = ()) -> Any:
        return self.loc + standard_normal(self._extended_shape(sample_shape), self.loc) * self.scale

    def log_prob(self, value: Any) -> Any:
        squared = (self._checked(value) - self.loc) ** 2
        return -squared / (2 * self.scale**2) - self.scale.log() - math.log(math.sqrt(2 * math.pi))

    def cdf(self, value: Any) -> Any:
        return 0.5 * (1 + ((self._checked(value) - self.loc) * self.scale.reciprocal() / math.sqrt(2)).erf())

    def icdf(self, value: Any) -> Any:
        return self.loc + self.scale * (2 * value - 1).erfinv() * math.sqrt(2)

    def entropy(self) -> Any:
        return 0.5 + 0.5 * math.log(2 * math.pi) + self.scale.log()


class Laplace(_LocationScale):
    """The Laplace distribution, of density `exp(-|x - loc| / scale) / (2 * scale)`."""

    _expanded: ClassVar = {"loc": 0, "scale": 0}

    variance = property(lambda self: 2 * self.scale.pow(2))
    stddev = property(lambda self: 2**0.5 * self.scale)

    def rsample(self, sample_shape: Iterable[int] = ()) -> Any:
        u = self.loc.new(self._extended_shape(sample_shape)).uniform_(finfo(self.loc.dtype).eps - 1, 1)
        return self.loc - self.scale * u.sign() * (-u.abs()).log1p()

    def log_prob(self, value: Any) -> Any:
        return -(2 * self.scale).log() - (self._checked(value) - self.loc).abs() / self.scale

    def cdf(self, value: Any) -> Any:
        off = self._checked(value) - self.loc
        return 0.5 - 0.5 * off.sign() * (-off.abs() / self.scale).expm1()

    def icdf(self, value: Any) -> Any:
        off = value - 0.5
        return self.loc - self.scale * off.sign() * (-2 * off.abs()).log1p()

    def entropy(self) -> Any:
        return 1 + (2 * self.scale).log()


class Uniform(Distribution):
    """The uniform distribution on [low, high)."""

    has_rsample = True
    _expanded: ClassVar = {"low": 0, "high": 0}
    low: Any
    high: Any

    def __init__(self, low: Tensor | float, high: Tensor | float, validate_args: bool | None = None) -> None:
        self._set(validate_args, low=low, high=high)

    @property
    def arg_constraints(self) -> dict[str, constraints.Constraint]:
        return {"low": constraints.less_than(self.high), "high": constraints.greater_than(self.low)}

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        return constraints.interval(self.low, self.high)

    mean = property(lambda self: (self.high + self.low) / 2)
    mode = property(lambda self: math.nan * self.high)
    stddev = property(lambda self: (self.high - self.low) / 12**0.5)
    variance = property(lambda self: (self.high - self.low).pow(2) / 12)

    def rsample(self, sample_shape: Iterable[int] = ()) -> Any:
        drawn = ops.rand(self._extended_shape(sample_shape), dtype=self.low.dtype, device=self.low.device)
        return self.low + drawn * (self.high - self.low)

    def log_prob(self, value: Any) -> Any:
        inside = self.low.le(self._checked(value)).type_as(self.low) * self.high.gt(value).type_as(self.low)
        return inside.log() - (self.high - self.low).log()

    def cdf(self, value: Any) -> Any:
        return ((self._checked(value) - self.low) / (self.high - self.low)).clamp(min=0, max=1)

    def icdf(self, value: Any) -> Any:
        return value * (self.high - self.low) + self.low

    def entropy(self) -> Any:
        return (self.high - self.low).log()


def squared_distance(factor: Any, x: Any) -> Any:
    """The squared Mahalanobis distance xᵀ(LLᵀ)⁻¹x, for a lower-triangular factor L; batch dimensions broadcast."""
    return linalg.solve_triangular(factor, x.unsqueeze(-1), upper=False).squeeze(-1).pow(2).sum(-1)


def log_diagonal(factor: Any) -> Any:
    """The sum of the logarithms on the diagonal: half the log determinant of LLᵀ."""
    return factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)


def factor_of_inverse(precision: Any) -> Any:
    """The lower Cholesky factor of the inverse of a matrix: that of the matrix turned by 180° is the transposed inverse
    of the one wanted, turned."""
    turned = linalg.cholesky(precision.flip((-2, -1)))
    eye = ops.eye(precision.shape[-1], dtype=precision.dtype, device=precision.device)
    return linalg.solve_triangular(turned.flip((-2, -1)).mT, eye, upper=False)


class MultivariateNormal(Distribution):
    """Normal vectors of mean `loc`, with one of three: their covariance matrix, its inverse, the precision matrix, or
    its lower Cholesky factor, `scale_tril`, with which all is computed."""

    arg_constraints: ClassVar = {
        "loc": constraints.real_vector, "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite, "scale_tril": constraints.lower_cholesky}
    support = constraints.real_vector
    has_rsample = True
    _expanded: ClassVar = {"loc": 1, "covariance_matrix": 2, "precision_matrix": 2, "scale_tril": 2}

    def __init__(self, loc: Any, covariance_matrix: Tensor | None = None, precision_matrix: Tensor | None = None,
                 scale_tril: Tensor | None = None, validate_args: bool | None = None) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        matrices: dict[str, Any] = {"scale_tril": scale_tril, "covariance_matrix": covariance_matrix,
                                    "precision_matrix": precision_matrix}
        given = [(name, value) for name, value in matrices.items() if value is not None]
        if len(given) != 1:
            raise ValueError(
                "Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
        [(name, matrix)] = given
        if matrix.dim() < 2:
            raise ValueError(f"{name}{' matrix' * (name == 'scale_tril')} must be at least two-dimensional, with "
                             "optional leading batch dimensions")
        batch_shape = ops.broadcast_shapes(matrix.shape[:-2], loc.shape[:-1])
        setattr(self, name, matrix.expand((*batch_shape, -1, -1)))
        self.loc = loc.expand((*batch_shape, -1))
        super().__init__(batch_shape, self.loc.shape[-1:], validate_args=validate_args)
        factor_of = {"scale_tril": lambda m: m, "covariance_matrix": linalg.cholesky}
        self._unbroadcasted_scale_tril = factor_of.get(name, factor_of_inverse)(matrix)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(MultivariateNormal, _instance)
        new._unbroadcasted_scale_tril = self._unbroadcasted_scale_tril
        return super().expand(batch_shape, new)

    def _matrix(self, value: Any) -> Any:
        """A matrix for each distribution."""
        return value.expand(self._batch_shape + self._event_shape + self._event_shape)

    @lazy_property
    def scale_tril(self) -> Any:
        return self._matrix(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self) -> Any:
        return self._matrix(self._unbroadcasted_scale_tril @ self._unbroadcasted_scale_tril.mT)

    @lazy_property
    def precision_matrix(self) -> Any:
        return self._matrix(ops.cholesky_inverse(self._unbroadcasted_scale_tril))

    mean = mode = property(lambda self: self.loc)

    @property
    def variance(self) -> Any:
        return self._unbroadcasted_scale_tril.pow(2).sum(-1).expand(self._batch_shape + self._event_shape)

    def rsample(self, sample_shape: Iterable[int] = ()) -> Any:
        drawn = standard_normal(self._extended_shape(sample_shape), self.loc)
        return self.loc + (self._unbroadcasted_scale_tril @ drawn.unsqueeze(-1)).squeeze(-1)

    def log_prob(self, value: Any) -> Any:
        distance = squared_distance(self._unbroadcasted_scale_tril, self._checked(value) - self.loc)
        constant = self._event_shape[0] * math.log(2 * math.pi)
        return -0.5 * (constant + distance) - log_diagonal(self._unbroadcasted_scale_tril)

    def entropy(self) -> Any:
        constant = 0.5 * self._event_shape[0] * (1.0 + math.log(2 * math.pi))
        return (constant + log_diagonal(self._unbroadcasted_scale_tril)).expand(self._batch_shape)
