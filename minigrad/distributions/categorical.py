"""Distributions of categories and of single bits, by their probabilities or by their logits."""

import math
from collections.abc import Iterable
from typing import Any, ClassVar

from minigrad._base.dtype import Size
from minigrad.core import Tensor
from minigrad.distributions import constraints
from minigrad.distributions.distribution import (
    Distribution,
    broadcast_all,
    lazy_property,
    logits_to_probs,
    probs_to_logits,
)
from minigrad.nn.functional import binary_cross_entropy_with_logits, one_hot
from minigrad.ops import public as ops
from minigrad.ops.tensor.properties import finfo

__all__ = ["Bernoulli", "Categorical", "OneHotCategorical", "OneHotCategoricalStraightThrough"]

EITHER = "Either `probs` or `logits` must be specified, but not both."


class Bernoulli(Distribution):
    """1 with the probability `probs`, else 0; or by its log odds, `logits`."""

    arg_constraints: ClassVar = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.boolean
    has_enumerate_support = True
    _expanded: ClassVar = {"probs": 0, "logits": 0}

    def __init__(self, probs: Tensor | float | None = None, logits: Tensor | float | None = None,
                 validate_args: bool | None = None) -> None:
        if (probs is None) == (logits is None):
            raise ValueError(EITHER)
        self._set(validate_args, **({"probs": probs} if logits is None else {"logits": logits}))

    @lazy_property
    def logits(self) -> Any:
        return probs_to_logits(self.probs, is_binary=True)

    @lazy_property
    def probs(self) -> Any:
        return logits_to_probs(self.logits, is_binary=True)

    _param = property(lambda self: vars(self)["probs" if "probs" in vars(self) else "logits"])
    param_shape = property(lambda self: self._batch_shape)
    mean = property(lambda self: self.probs)
    variance = property(lambda self: self.probs * (1 - self.probs))

    @property
    def mode(self) -> Any:
        return (self.probs >= 0.5).to(self.probs).masked_fill(self.probs == 0.5, math.nan)

    def sample(self, sample_shape: Iterable[int] = ()) -> Any:
        return ops.bernoulli(self.probs.detach().expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Any) -> Any:
        logits, value = broadcast_all(self.logits, self._checked(value))
        return -binary_cross_entropy_with_logits(logits, value, reduction="none")

    def entropy(self) -> Any:
        return binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")

    def enumerate_support(self, expand: bool = True) -> Any:
        values: Any = ops.arange(2, dtype=self._param.dtype, device=self._param.device)
        values = values.view((-1, *[1] * len(self._batch_shape)))
        return values.expand((-1, *self._batch_shape)) if expand else values


class Categorical(Distribution):
    """One of K categories, 0 to K - 1, by their relative probabilities along the last dimension of `probs`, or by the
    logarithms of these, `logits`."""

    arg_constraints: ClassVar = {"probs": constraints.simplex, "logits": constraints.real_vector}
    has_enumerate_support = True
    _expanded: ClassVar = {"probs": 1, "logits": 1}

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        if (probs is None) == (logits is None):
            raise ValueError(EITHER)
        name, given = ("probs", probs) if logits is None else ("logits", logits)
        if given.dim() < 1:
            raise ValueError(f"`{name}` parameter must be at least one-dimensional.")
        normalized = (given / given.sum(-1, keepdim=True) if name == "probs" else
                      given - given.logsumexp(dim=-1, keepdim=True))
        setattr(self, name, normalized)
        super().__init__(normalized.shape[:-1], validate_args=validate_args)

    @lazy_property
    def logits(self) -> Any:
        return probs_to_logits(self.probs)

    @lazy_property
    def probs(self) -> Any:
        return logits_to_probs(self.logits)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        return constraints.integer_interval(0, self._num_events - 1)

    _param = property(lambda self: vars(self)["probs" if "probs" in vars(self) else "logits"])
    _num_events = property(lambda self: self._param.shape[-1])
    param_shape = property(lambda self: self._param.shape)
    mode = property(lambda self: self.probs.argmax(dim=-1))

    @property
    def mean(self) -> Any:
        return ops.full(self._batch_shape, math.nan, dtype=self.probs.dtype, device=self.probs.device)

    variance = mean

    def sample(self, sample_shape: Iterable[int] = ()) -> Any:
        shape = Size(sample_shape)
        drawn: Any = ops.multinomial(self.probs.reshape(-1, self._num_events), shape.numel(), True)
        return drawn.T.reshape(self._extended_shape(shape))

    def log_prob(self, value: Any) -> Any:
        value, log_pmf = ops.broadcast_tensors(self._checked(value).long().unsqueeze(-1), self.logits)
        return log_pmf.gather(-1, value[..., :1]).squeeze(-1)

    def entropy(self) -> Any:
        return -(self.logits.clamp(min=finfo(self.logits.dtype).min) * self.probs).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Any:
        values: Any = ops.arange(self._num_events, device=self._param.device)
        values = values.view((-1, *[1] * len(self._batch_shape)))
        return values.expand((-1, *self._batch_shape)) if expand else values


class OneHotCategorical(Distribution):
    """`Categorical`, whose samples are vectors with a 1 at the category."""

    arg_constraints: ClassVar = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.one_hot
    has_enumerate_support = True
    _expanded: ClassVar = {"_categorical": 0}

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        self._categorical = Categorical(probs, logits)
        super().__init__(self._categorical.batch_shape, self._categorical.param_shape[-1:], validate_args)

    _param = property(lambda self: self._categorical._param)
    param_shape = property(lambda self: self._categorical.param_shape)
    probs = mean = property(lambda self: self._categorical.probs)
    logits = property(lambda self: self._categorical.logits)
    variance = property(lambda self: self.probs * (1 - self.probs))

    @property
    def mode(self) -> Any:
        return self._vectors(self._categorical.mode)

    def _vectors(self, categories: Any) -> Any:
        """The categories as vectors of the dtype of the probabilities."""
        return one_hot(categories, self._event_shape[0]).to(self.probs)

    def sample(self, sample_shape: Iterable[int] = ()) -> Any:
        return self._vectors(self._categorical.sample(sample_shape))

    def log_prob(self, value: Any) -> Any:
        return self._categorical.log_prob(self._checked(value).max(-1)[1])

    def entropy(self) -> Any:
        return self._categorical.entropy()

    def enumerate_support(self, expand: bool = True) -> Any:
        n, batch = self._event_shape[0], self._batch_shape
        values: Any = ops.eye(n, dtype=self._param.dtype, device=self._param.device)
        values = values.view((n, *[1] * len(batch), n))
        return values.expand((n, *batch, n)) if expand else values


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """`OneHotCategorical` with a gradient: that of the probabilities, straight through the draw (Bengio et al.,
    2013)."""

    has_rsample = True

    def rsample(self, sample_shape: Iterable[int] = ()) -> Any:
        samples = self.sample(sample_shape)
        return samples + (self.probs - self.probs.detach())
