"""Which values a parameter or a sample may have: mirrors `torch/distributions/constraints.py`.

A constraint's `check` returns a tensor of bools, one for each event; `event_dim` says how many of the last dimensions
belong to one event.
"""

from collections.abc import Callable
from typing import Any, ClassVar

from minigrad import linalg
from minigrad.backends.batched import Batched
from minigrad.core import Tensor
from minigrad.ops import public as ops
from minigrad.ops.tensor.properties import finfo

__all__ = [
    "Constraint", "boolean", "cat", "corr_cholesky", "dependent", "dependent_property", "greater_than",
    "greater_than_eq", "half_open_interval", "independent", "integer_interval", "interval", "is_dependent",
    "less_than", "lower_cholesky", "lower_triangular", "multinomial", "nonnegative", "nonnegative_integer", "one_hot",
    "positive", "positive_definite", "positive_integer", "positive_semidefinite", "real", "real_vector", "simplex",
    "square", "stack", "symmetric", "unit_interval",
]


def all_true(valid: Tensor) -> bool:
    """Whether all elements are true, of all examples inside of `vmap`."""
    array: Any = valid.array
    while isinstance(array, Batched):
        array = array.value
    return bool(array.all())


class Constraint:
    """The base class: override `check`."""

    is_discrete: Any = False
    event_dim: Any = 0

    def check(self, value: Tensor) -> Tensor:
        """Whether each event of `value` satisfies the constraint: a tensor of bools without the event dimensions."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__[1:]}()"


class _Dependent(Constraint):
    """The place of a constraint that depends on parameters, which only an instance of the distribution knows."""

    def __init__(self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented) -> None:
        self._is_discrete, self._event_dim = is_discrete, event_dim

    @property
    def is_discrete(self) -> Any:
        return self.known("is_discrete")

    @property
    def event_dim(self) -> Any:
        return self.known("event_dim")

    def known(self, name: str) -> Any:
        """An attribute, if it does not depend on parameters."""
        value = getattr(self, f"_{name}")
        if value is NotImplemented:
            raise NotImplementedError(f".{name} cannot be determined statically")
        return value

    def __call__(self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented) -> "_Dependent":
        return _Dependent(is_discrete=self._is_discrete if is_discrete is NotImplemented else is_discrete,
                          event_dim=self._event_dim if event_dim is NotImplemented else event_dim)

    def check(self, value: Tensor) -> Tensor:
        raise ValueError("Cannot determine validity of dependent constraint")


def is_dependent(constraint: Any) -> bool:
    """Whether a constraint depends on parameters, so that it cannot be checked by itself."""
    return isinstance(constraint, _Dependent)


class _DependentProperty(property, _Dependent):
    """A property of instances that is a `dependent` constraint on the class: `@dependent_property(event_dim=0)`."""

    def __init__(self, fn: Any = None, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented) -> None:
        property.__init__(self, fn)
        _Dependent.__init__(self, is_discrete=is_discrete, event_dim=event_dim)

    def __call__(self, fn: Any) -> Any:  # type: ignore[override]  # a decorator here, as in PyTorch
        return _DependentProperty(fn, is_discrete=self._is_discrete, event_dim=self._event_dim)


class _IndependentConstraint(Constraint):
    """Counts the last batch dimensions as part of an event, which is valid if all its parts are."""

    def __init__(self, base_constraint: Constraint, reinterpreted_batch_ndims: int) -> None:
        self.base_constraint, self.reinterpreted_batch_ndims = base_constraint, reinterpreted_batch_ndims

    @property
    def is_discrete(self) -> bool:
        return bool(self.base_constraint.is_discrete)

    @property
    def event_dim(self) -> int:
        return int(self.base_constraint.event_dim + self.reinterpreted_batch_ndims)

    def check(self, value: Tensor) -> Any:
        valid: Any = self.base_constraint.check(value)
        if valid.dim() < self.reinterpreted_batch_ndims:
            raise ValueError(f"Expected value.dim() >= {self.event_dim} but got {value.dim()}")
        return valid.reshape((*valid.shape[:valid.dim() - self.reinterpreted_batch_ndims], -1)).all(-1)

    def __repr__(self) -> str:
        return f"{type(self).__name__[1:]}({self.base_constraint!r}, {self.reinterpreted_batch_ndims})"


class _Bounded(Constraint):
    """A constraint with bounds, which may be tensors."""

    ends: ClassVar[tuple[str, ...]] = ("lower_bound",)
    lower_bound: Any
    upper_bound: Any

    def __init__(self, *bounds: Any, **named: Any) -> None:
        named |= zip(self.ends, bounds, strict=False)
        if len(bounds) > len(self.ends) or named.keys() != set(self.ends):
            raise TypeError(f"{type(self).__name__} takes {' and '.join(self.ends)}")
        vars(self).update(named)

    def __repr__(self) -> str:
        return f"{type(self).__name__[1:]}({', '.join(f'{end}={getattr(self, end)}' for end in self.ends)})"


def _bounded(name: str, doc: str, holds: Callable[[Any, Any], Any], *ends: str, discrete: bool = False) -> Any:
    """A class of constraints with bounds: `holds(constraint, value)`."""
    return type(name, (_Bounded,), {"check": holds, "ends": ends, "is_discrete": discrete, "__doc__": doc,
                                    "__module__": __name__})


LOWER, UPPER = "lower_bound", "upper_bound"
_GreaterThan = _bounded("_GreaterThan", "(lower_bound, inf]", lambda c, v: c.lower_bound < v, LOWER)
_GreaterThanEq = _bounded("_GreaterThanEq", "[lower_bound, inf)", lambda c, v: c.lower_bound <= v, LOWER)
_LessThan = _bounded("_LessThan", "[-inf, upper_bound)", lambda c, v: v < c.upper_bound, UPPER)
_Interval = _bounded("_Interval", "[lower_bound, upper_bound]",
                     lambda c, v: (c.lower_bound <= v) & (v <= c.upper_bound), LOWER, UPPER)
_HalfOpenInterval = _bounded("_HalfOpenInterval", "[lower_bound, upper_bound)",
                             lambda c, v: (c.lower_bound <= v) & (v < c.upper_bound), LOWER, UPPER)
_IntegerInterval = _bounded(
    "_IntegerInterval", "Integers in [lower_bound, upper_bound].",
    lambda c, v: (v % 1 == 0) & (c.lower_bound <= v) & (v <= c.upper_bound), LOWER, UPPER, discrete=True)
_IntegerGreaterThan = _bounded("_IntegerGreaterThan", "Integers from lower_bound on.",
                               lambda c, v: (v % 1 == 0) & (v >= c.lower_bound), LOWER, discrete=True)


def _fixed(name: str, doc: str, holds: Callable[[Any], Any], event_dim: int = 0, discrete: bool = False,
           base: type[Constraint] = Constraint) -> Any:
    """The constraint without parameters that `holds(value)` decides."""
    names = {"check": lambda self, value: holds(value), "event_dim": event_dim, "is_discrete": discrete,
             "__doc__": doc, "__module__": __name__}
    return type(name, (base,), names)()


class _Multinomial(_Bounded):
    """Nonnegative integers along the last dimension, of sum `upper_bound` at most."""

    ends = (UPPER,)
    is_discrete, event_dim = True, 1

    def check(self, value: Any) -> Any:
        return (value >= 0).all(-1) & (value.sum(-1) <= self.upper_bound)

    __repr__ = Constraint.__repr__


class _Joined(Constraint):
    """Constraints of the parts of a tensor, whose sizes along `dim` are `lengths`."""

    def __init__(self, cseq: Any, dim: int = 0, lengths: Any = None) -> None:
        self.cseq, self.dim = list(cseq), dim
        self.lengths = [1] * len(self.cseq) if lengths is None else list(lengths)

    @property
    def is_discrete(self) -> bool:
        return any(each.is_discrete for each in self.cseq)

    @property
    def event_dim(self) -> Any:
        return max(each.event_dim for each in self.cseq)


class _Cat(_Joined):
    def check(self, value: Any) -> Tensor:
        parts = value.split(self.lengths, self.dim)
        return ops.cat([each.check(part) for each, part in zip(self.cseq, parts, strict=True)], self.dim)


class _Stack(_Joined):
    def check(self, value: Any) -> Tensor:
        parts = value.unbind(self.dim)
        return ops.stack([each.check(part) for each, part in zip(self.cseq, parts, strict=True)], self.dim)


def is_lower(value: Any) -> Any:
    """Whether matrices are lower-triangular."""
    return (value.tril() == value).flatten(-2).all(-1)


def is_lower_cholesky(value: Any) -> Any:
    """Whether matrices are lower-triangular with a positive diagonal."""
    return is_lower(value) & (value.diagonal(dim1=-2, dim2=-1) > 0).all(-1)


def has_unit_rows(value: Any) -> Any:
    """Whether the rows have length 1, up to ten roundings for each element."""
    near = finfo(value.dtype).eps * value.size(-1) * 10
    return ((linalg.norm(value.detach(), dim=-1) - 1).abs() <= near).all(-1)


def is_square(value: Any) -> Any:
    """Whether matrices are square, which all of one tensor are or none."""
    return ops.full(value.shape[:-2], value.shape[-2] == value.shape[-1], dtype=ops.eq(value, value).dtype,
                    device=value.device)


def is_symmetric(value: Any) -> Any:
    """Whether matrices are symmetric, up to 1e-6."""
    square = is_square(value)
    return ops.isclose(value, value.mT, atol=1e-6).all(-2).all(-1) if all_true(square) else square


def where_symmetric(further: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Whether matrices are symmetric, and all of them also satisfy `further`."""
    def holds(value: Any) -> Any:
        symmetric = is_symmetric(value)
        return further(value) if all_true(symmetric) else symmetric
    return holds


dependent = _Dependent()
dependent_property = _DependentProperty
independent = _IndependentConstraint
greater_than, greater_than_eq, less_than = _GreaterThan, _GreaterThanEq, _LessThan
interval, half_open_interval, integer_interval = _Interval, _HalfOpenInterval, _IntegerInterval
multinomial, cat, stack = _Multinomial, _Cat, _Stack
real = _fixed("_Real", "Any number but NaN.", lambda v: v == v)
boolean = _fixed("_Boolean", "0 or 1.", lambda v: (v == 0) | (v == 1), discrete=True)
one_hot = _fixed("_OneHot", "One 1 along the last dimension, else 0.",
                 lambda v: ((v == 0) | (v == 1)).all(-1) & v.sum(-1).eq(1), 1, discrete=True)
simplex = _fixed("_Simplex", "Nonnegative, of sum 1 along the last dimension.",
                 lambda v: (v >= 0).all(-1) & ((v.sum(-1) - 1).abs() < 1e-6), 1)
lower_triangular = _fixed("_LowerTriangular", "Lower-triangular matrices.", is_lower, 2)
lower_cholesky = _fixed("_LowerCholesky", "Lower-triangular matrices with a positive diagonal.", is_lower_cholesky, 2)
corr_cholesky = _fixed("_CorrCholesky", "Cholesky factors of correlation matrices: rows of length 1.",
                       lambda v: is_lower_cholesky(v) & has_unit_rows(v), 2)
square = _fixed("_Square", "Square matrices.", is_square, 2)
symmetric = _fixed("_Symmetric", "Symmetric matrices.", is_symmetric, 2, base=type(square))
positive_semidefinite = _fixed(
    "_PositiveSemidefinite", "Symmetric matrices without negative eigenvalues.",
    where_symmetric(lambda v: linalg.eigvalsh(v).ge(0).all(-1)), 2, base=type(symmetric))
positive_definite = _fixed(
    "_PositiveDefinite", "Symmetric matrices of positive eigenvalues.",
    where_symmetric(lambda v: linalg.cholesky_ex(v).info.eq(0)), 2, base=type(symmetric))
real_vector = independent(real, 1)
positive, nonnegative, unit_interval = _GreaterThan(0.0), _GreaterThanEq(0.0), _Interval(0.0, 1.0)
nonnegative_integer, positive_integer = _IntegerGreaterThan(0), _IntegerGreaterThan(1)
