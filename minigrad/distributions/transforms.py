"""Invertible functions with the log determinant of their derivative: mirrors `torch/distributions/transforms.py`."""

import functools
import math
import operator
from collections.abc import Callable
from typing import Any

from minigrad import linalg
from minigrad._base.dtype import Size
from minigrad.distributions import constraints
from minigrad.distributions.distribution import broadcast_all, lazy_property, sum_rightmost
from minigrad.nn.functional import logsigmoid, pad, softplus
from minigrad.ops import public as ops
from minigrad.ops.tensor.properties import finfo

__all__ = [
    "AbsTransform", "AffineTransform", "ComposeTransform", "ExpTransform", "IndependentTransform",
    "LowerCholeskyTransform", "PositiveDefiniteTransform", "PowerTransform", "ReshapeTransform", "SigmoidTransform",
    "SoftmaxTransform", "SoftplusTransform", "StickBreakingTransform", "TanhTransform", "Transform",
    "identity_transform",
]

TOO_FEW = "Too few dimensions on input"


class Transform:
    """The base class: override `_call`, `_inverse` and `log_abs_det_jacobian`.

    With `cache_size=1`, the last pair is kept, so that the inverse of a result is the very tensor that it came from.
    """

    bijective: Any = False
    domain: Any
    codomain: Any
    sign: Any
    _alike: tuple[str, ...] | None = None  # the attributes that decide equality; None: only itself is equal

    def __init__(self, cache_size: int = 0) -> None:
        if cache_size not in (0, 1):
            raise ValueError("cache_size must be 0 or 1")
        self._cache_size, self._cached_x_y = cache_size, (None, None)
        self._inv: Any = None

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"_inv": None}

    @property
    def event_dim(self) -> int:
        if self.domain.event_dim == self.codomain.event_dim:
            return int(self.domain.event_dim)
        raise ValueError("Please use either .domain.event_dim or .codomain.event_dim")

    @property
    def inv(self) -> Any:
        """The inverse; its own inverse is this transform."""
        if self._inv is None:
            self._inv = _InverseTransform(self)
        return self._inv

    def __getattr__(self, name: str) -> Any:
        if name == "sign":  # not every transform has one
            raise NotImplementedError
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'", name=name, obj=self)

    def _arguments(self) -> tuple[Any, ...]:
        """The arguments that make an equal transform."""
        if type(self).__init__ is Transform.__init__:
            return ()
        raise NotImplementedError(f"{type(self)}.with_cache is not implemented")

    def with_cache(self, cache_size: int = 1) -> Any:
        """This transform with another size of its cache."""
        made: Any = type(self)
        return self if self._cache_size == cache_size else made(*self._arguments(), cache_size=cache_size)

    def __eq__(self, other: object) -> bool:
        if self is other or self._alike is None or type(self) is not type(other):
            return self is other
        pairs = [(getattr(self, name), getattr(other, name)) for name in self._alike]
        return all(bool(ops.all(ops.eq(*broadcast_all(a, b)))) for a, b in pairs)

    __hash__ = None  # type: ignore[assignment]  # as in PyTorch: equal transforms may differ in their hash

    def __call__(self, x: Any) -> Any:
        return self._cached(x, 0, self._call)

    def _inv_call(self, y: Any) -> Any:
        return self._cached(y, 1, self._inverse)

    def _cached(self, value: Any, side: int, compute: Callable[[Any], Any]) -> Any:
        """The other side of the kept pair if `value` is one side of it, else computed."""
        if self._cache_size and value is self._cached_x_y[side]:
            return self._cached_x_y[1 - side]
        result = compute(value)
        if self._cache_size:
            self._cached_x_y = (result, value) if side else (value, result)
        return result

    def _call(self, x: Any) -> Any:
        raise NotImplementedError

    def _inverse(self, y: Any) -> Any:
        raise NotImplementedError

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """log |dy/dx|, without the dimensions of an event."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    def forward_shape(self, shape: Any) -> Any:
        """The shape of the result for an input of `shape`."""
        return shape

    def inverse_shape(self, shape: Any) -> Any:
        """The shape of the input for a result of `shape`."""
        return shape


def of_wrapped(wrapped: str, name: str) -> Any:
    """A property that a wrapper has from the transform that it wraps."""
    return property(lambda self: getattr(getattr(self, wrapped), name))


class _InverseTransform(Transform):
    """The inverse of a transform."""

    def __init__(self, transform: Transform) -> None:
        super().__init__(transform._cache_size)
        self._inv = transform

    domain, codomain = of_wrapped("_inv", "codomain"), of_wrapped("_inv", "domain")
    bijective, sign = of_wrapped("_inv", "bijective"), of_wrapped("_inv", "sign")

    def with_cache(self, cache_size: int = 1) -> Any:
        return self._inv.with_cache(cache_size).inv

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _InverseTransform) and self._inv == other._inv

    __hash__ = None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._inv!r})"

    def __call__(self, x: Any) -> Any:
        return self._inv._inv_call(x)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return -self._inv.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape: Any) -> Any:
        return self._inv.inverse_shape(shape)

    def inverse_shape(self, shape: Any) -> Any:
        return self._inv.forward_shape(shape)


def chained(parts: list[Any], start: str, end: str) -> Any:
    """The constraint at the `start` of a chain, with as many event dimensions as its parts make of it."""
    if not parts:
        return constraints.real
    event_dim = getattr(parts[-1], end).event_dim
    for part in reversed(parts):
        event_dim += getattr(part, start).event_dim - getattr(part, end).event_dim
        event_dim = max(event_dim, getattr(part, start).event_dim)
    first = getattr(parts[0], start)
    return constraints.independent(first, event_dim - first.event_dim) if event_dim > first.event_dim else first


class ComposeTransform(Transform):
    """Transforms one after the other."""

    def __init__(self, parts: list[Any], cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.parts = [part.with_cache(cache_size) for part in parts] if cache_size else parts

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ComposeTransform) and self.parts == other.parts

    __hash__ = None

    def _arguments(self) -> tuple[Any, ...]:
        return (self.parts,)

    domain = property(lambda self: chained(self.parts, "domain", "codomain"))
    codomain = property(lambda self: chained(self.parts[::-1], "codomain", "domain"))
    bijective = property(lambda self: all(part.bijective for part in self.parts))
    sign = property(lambda self: functools.reduce(operator.mul, [part.sign for part in self.parts], 1))

    @property
    def inv(self) -> Any:
        if self._inv is None:
            self._inv = ComposeTransform([part.inv for part in reversed(self.parts)])
            self._inv._inv = self
        return self._inv

    def __call__(self, x: Any) -> Any:
        return functools.reduce(lambda value, part: part(value), self.parts, x)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        if not self.parts:
            return ops.zeros_like(x)
        values = [x]
        for part in self.parts[:-1]:
            values.append(part(values[-1]))
        values.append(y)
        terms, event_dim = [], self.domain.event_dim
        for part, before, after in zip(self.parts, values[:-1], values[1:], strict=True):
            log_det = part.log_abs_det_jacobian(before, after)
            terms.append(sum_rightmost(log_det, event_dim - part.domain.event_dim))
            event_dim += part.codomain.event_dim - part.domain.event_dim
        return functools.reduce(operator.add, terms)

    def forward_shape(self, shape: Any) -> Any:
        return functools.reduce(lambda size, part: part.forward_shape(size), self.parts, shape)

    def inverse_shape(self, shape: Any) -> Any:
        return functools.reduce(lambda size, part: part.inverse_shape(size), self.parts[::-1], shape)

    def __repr__(self) -> str:
        parts = ",\n    ".join(map(repr, self.parts))
        return f"{type(self).__name__}(\n    {parts}\n)"


identity_transform = ComposeTransform([])


class IndependentTransform(Transform):
    """A transform whose last batch dimensions count as one event: their log determinants are summed."""

    def __init__(self, base_transform: Transform, reinterpreted_batch_ndims: int, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.base_transform = base_transform.with_cache(cache_size)
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    def _arguments(self) -> tuple[Any, ...]:
        return self.base_transform, self.reinterpreted_batch_ndims

    def _wider(self, constraint: Any) -> Any:
        """A constraint on events of more dimensions."""
        return constraints.independent(constraint, self.reinterpreted_batch_ndims)

    domain = property(lambda self: self._wider(self.base_transform.domain))
    codomain = property(lambda self: self._wider(self.base_transform.codomain))
    bijective, sign = of_wrapped("base_transform", "bijective"), of_wrapped("base_transform", "sign")

    def _call(self, x: Any) -> Any:
        if x.dim() < self.domain.event_dim:
            raise ValueError(TOO_FEW)
        return self.base_transform(x)

    def _inverse(self, y: Any) -> Any:
        if y.dim() < self.codomain.event_dim:
            raise ValueError(TOO_FEW)
        return self.base_transform.inv(y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return sum_rightmost(self.base_transform.log_abs_det_jacobian(x, y), self.reinterpreted_batch_ndims)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_transform!r}, {self.reinterpreted_batch_ndims})"

    def forward_shape(self, shape: Any) -> Any:
        return self.base_transform.forward_shape(shape)

    def inverse_shape(self, shape: Any) -> Any:
        return self.base_transform.inverse_shape(shape)


class ReshapeTransform(Transform):
    """Reshapes each event from `in_shape` to `out_shape`."""

    bijective = True

    def __init__(self, in_shape: Any, out_shape: Any, cache_size: int = 0) -> None:
        self.in_shape, self.out_shape = Size(in_shape), Size(out_shape)
        if self.in_shape.numel() != self.out_shape.numel():
            raise ValueError("in_shape, out_shape have different numbers of elements")
        super().__init__(cache_size)

    def _arguments(self) -> tuple[Any, ...]:
        return self.in_shape, self.out_shape

    domain = property(lambda self: constraints.independent(constraints.real, len(self.in_shape)))
    codomain = property(lambda self: constraints.independent(constraints.real, len(self.out_shape)))

    def _call(self, x: Any) -> Any:
        return x.reshape(x.shape[:x.dim() - len(self.in_shape)] + self.out_shape)

    def _inverse(self, y: Any) -> Any:
        return y.reshape(y.shape[:y.dim() - len(self.out_shape)] + self.in_shape)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return x.new_zeros(x.shape[:x.dim() - len(self.in_shape)])

    def forward_shape(self, shape: Any) -> Any:
        return reshaped(shape, self.in_shape, self.out_shape)

    def inverse_shape(self, shape: Any) -> Any:
        return reshaped(shape, self.out_shape, self.in_shape)


def reshaped(shape: Any, old: Size, new: Size) -> Any:
    """A shape whose last dimensions, `old`, become `new`."""
    if len(shape) < len(old):
        raise ValueError(TOO_FEW)
    cut = len(shape) - len(old)
    if shape[cut:] != old:
        raise ValueError(f"Shape mismatch: expected {shape[cut:]} but got {old}")
    return shape[:cut] + new


class _Monotone(Transform):
    """An increasing function of single real numbers."""

    domain, bijective, sign, _alike = constraints.real, True, 1, ()


class ExpTransform(_Monotone):
    """y = exp(x)"""

    codomain = constraints.positive

    def _call(self, x: Any) -> Any:
        return x.exp()

    def _inverse(self, y: Any) -> Any:
        return y.log()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return x


def clipped_sigmoid(x: Any) -> Any:
    """The logistic function, kept inside (0, 1)."""
    info = finfo(x.dtype)
    return ops.sigmoid(x).clamp(min=info.tiny, max=1.0 - info.eps)


class SigmoidTransform(_Monotone):
    """y = 1 / (1 + exp(-x))"""

    codomain = constraints.unit_interval

    def _call(self, x: Any) -> Any:
        return clipped_sigmoid(x)

    def _inverse(self, y: Any) -> Any:
        info = finfo(y.dtype)
        y = y.clamp(min=info.tiny, max=1.0 - info.eps)
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return -softplus(-x) - softplus(x)


class SoftplusTransform(_Monotone):
    """y = log(1 + exp(x))"""

    codomain = constraints.positive

    def _call(self, x: Any) -> Any:
        return softplus(x)

    def _inverse(self, y: Any) -> Any:
        return (-y).expm1().neg().log() + y

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return -softplus(-x)


class TanhTransform(_Monotone):
    """y = tanh(x). Near ±1 its inverse loses precision: use `cache_size=1`."""

    codomain = constraints.interval(-1.0, 1.0)

    def _call(self, x: Any) -> Any:
        return x.tanh()

    def _inverse(self, y: Any) -> Any:
        return y.atanh()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return 2.0 * (math.log(2.0) - x - softplus(-2.0 * x))


class AbsTransform(Transform):
    """y = |x|, which is not invertible: the inverse returns y."""

    domain, codomain, _alike = constraints.real, constraints.positive, ()

    def _call(self, x: Any) -> Any:
        return x.abs()

    def _inverse(self, y: Any) -> Any:
        return y


class _Broadcasting(Transform):
    """A transform with parameters, which broadcast with the input."""

    bijective = True
    _names: tuple[str, ...]

    def forward_shape(self, shape: Any) -> Any:
        return ops.broadcast_shapes(shape, *[getattr(getattr(self, name), "shape", ()) for name in self._names])

    inverse_shape = forward_shape


class PowerTransform(_Broadcasting):
    """y = x ** exponent, of positive numbers."""

    domain = codomain = constraints.positive
    _alike = _names = ("exponent",)

    def __init__(self, exponent: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.exponent, = broadcast_all(exponent)

    def _arguments(self) -> tuple[Any, ...]:
        return (self.exponent,)

    @lazy_property
    def sign(self) -> Any:
        return self.exponent.sign()

    def _call(self, x: Any) -> Any:
        return x.pow(self.exponent)

    def _inverse(self, y: Any) -> Any:
        return y.pow(1 / self.exponent)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return (self.exponent * y / x).abs().log()


class AffineTransform(_Broadcasting):
    """y = loc + scale * x; `event_dim` of the last dimensions count as one event."""

    _alike = _names = ("loc", "scale")

    def __init__(self, loc: Any, scale: Any, event_dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.loc, self.scale, self._event_dim = loc, scale, event_dim

    def _arguments(self) -> tuple[Any, ...]:
        return self.loc, self.scale, self._event_dim

    @property
    def domain(self) -> Any:
        return constraints.independent(constraints.real, self._event_dim) if self._event_dim else constraints.real

    codomain = domain
    event_dim = property(lambda self: self._event_dim)

    @property
    def sign(self) -> Any:
        if isinstance(self.scale, (int, float)):
            return (self.scale > 0) - (self.scale < 0)
        return self.scale.sign()

    def _call(self, x: Any) -> Any:
        return self.loc + self.scale * x

    def _inverse(self, y: Any) -> Any:
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        number = isinstance(self.scale, (int, float))
        result = ops.full_like(x, math.log(abs(self.scale))) if number else self.scale.abs().log()
        return sum_rightmost(result, self._event_dim).expand(x.shape[:x.dim() - self._event_dim])


class _Vectors(Transform):
    """A transform from real vectors to vectors of probabilities."""

    domain, codomain, _alike = constraints.real_vector, constraints.simplex, ()

    longer = 0
    """How many elements the result has more than the input."""

    def forward_shape(self, shape: Any) -> Any:
        if len(shape) < 1:
            raise ValueError(TOO_FEW)
        return Size((*shape[:-1], shape[-1] + self.longer))

    def inverse_shape(self, shape: Any) -> Any:
        if len(shape) < 1:
            raise ValueError(TOO_FEW)
        return Size((*shape[:-1], shape[-1] - self.longer))


class SoftmaxTransform(_Vectors):
    """Vectors to probabilities by `softmax`, which forgets a constant that is added: not invertible."""

    def _call(self, x: Any) -> Any:
        probs = (x - x.max(-1, True)[0]).exp()
        return probs / probs.sum(-1, True)

    def _inverse(self, y: Any) -> Any:
        return y.log()


class StickBreakingTransform(_Vectors):
    """Vectors to probabilities of one category more: each element breaks its share off what is left of a stick."""

    bijective, longer = True, 1

    def _call(self, x: Any) -> Any:
        z = clipped_sigmoid(x - left(x, x.shape[-1] + 1).log())
        return pad(z, [0, 1], value=1) * pad((1 - z).cumprod(-1), [1, 0], value=1)

    def _inverse(self, y: Any) -> Any:
        kept = y[..., :-1]
        rest = (1 - kept.cumsum(-1)).clamp(min=finfo(y.dtype).tiny)
        return kept.log() - rest.log() + left(kept, y.shape[-1]).log()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        x = x - left(x, x.shape[-1] + 1).log()
        return (-x + logsigmoid(x) + y[..., :-1].log()).sum(-1)


def left(x: Any, count: int) -> Any:
    """How many categories are left after each element."""
    return count - x.new_ones(x.shape[-1]).cumsum(-1)


class LowerCholeskyTransform(Transform):
    """Square matrices to lower-triangular ones with a positive diagonal."""

    domain, codomain, _alike = constraints.independent(constraints.real, 2), constraints.lower_cholesky, ()

    def _call(self, x: Any) -> Any:
        return x.tril(-1) + x.diagonal(dim1=-2, dim2=-1).exp().diag_embed()

    def _inverse(self, y: Any) -> Any:
        return y.tril(-1) + y.diagonal(dim1=-2, dim2=-1).log().diag_embed()


class PositiveDefiniteTransform(Transform):
    """Square matrices to positive-definite ones."""

    domain, codomain, _alike = constraints.independent(constraints.real, 2), constraints.positive_definite, ()

    def _call(self, x: Any) -> Any:
        factor = LowerCholeskyTransform()(x)
        return factor @ factor.mT

    def _inverse(self, y: Any) -> Any:
        return LowerCholeskyTransform().inv(linalg.cholesky(y))
