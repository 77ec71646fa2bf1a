"""The base of all distributions, and what they share: mirrors `torch/distributions/distribution.py` and `utils.py`."""

import warnings
from collections.abc import Callable, Iterable
from typing import Any, ClassVar

from minigrad._base.dtype import Size
from minigrad.autograd.grad_mode import enable_grad, no_grad
from minigrad.core import Tensor
from minigrad.distributions import constraints
from minigrad.ops import public as ops
from minigrad.ops.nn.softmax import softmax
from minigrad.ops.tensor.properties import finfo

__all__ = ["Distribution"]

Number = int | float


def broadcast_all(*values: Any) -> tuple[Any, ...]:
    """The values as tensors of one shape; numbers get the dtype of the first tensor. Raises ValueError for anything
    that is neither a number nor a tensor."""
    if not all(isinstance(each, (Tensor, int, float)) for each in values):
        raise ValueError("Input arguments must all be instances of Number, torch.Tensor or objects implementing "
                         "__torch_function__.")
    first = next((each for each in values if isinstance(each, Tensor)), None)
    like = {"dtype": ops.get_default_dtype()} if first is None else {"dtype": first.dtype, "device": first.device}
    made: Any = [each if isinstance(each, Tensor) else ops.tensor(each, **like) for each in values]
    return tuple(ops.broadcast_tensors(*made))


def standard_normal(shape: Any, like: Any) -> Any:
    """Numbers of the standard normal distribution in the dtype and on the device of a tensor."""
    return ops.empty(shape, dtype=like.dtype, device=like.device).normal_()


def sum_rightmost(value: Any, dim: int) -> Any:
    """The sums over the last `dim` dimensions."""
    return value.reshape((*value.shape[:-dim], -1)).sum(-1) if dim else value


def clamp_probs(probs: Any) -> Any:
    """Probabilities, moved by one rounding into the open interval (0, 1)."""
    eps = finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def logits_to_probs(logits: Any, is_binary: bool = False) -> Any:
    """The probabilities of log odds; of several categories along the last dimension unless `is_binary`."""
    return ops.sigmoid(logits) if is_binary else softmax(logits, -1)


def probs_to_logits(probs: Any, is_binary: bool = False) -> Any:
    """The logarithms of probabilities; the log odds if `is_binary`."""
    inside = clamp_probs(probs)
    return inside.log() - (-inside).log1p() if is_binary else inside.log()


class lazy_property:
    """A property that is computed when it is first read, with grad mode on, and is an attribute from then on."""

    def __init__(self, wrapped: Callable[[Any], Any]) -> None:
        self.wrapped = wrapped
        self.__doc__ = wrapped.__doc__

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self
        with enable_grad():
            value = self.wrapped(instance)
        setattr(instance, self.wrapped.__name__, value)
        return value


def unsupported(cls: type, what: str) -> NotImplementedError:
    """The error of a distribution that cannot do something."""
    return NotImplementedError(f"{cls} does not implement {what}")


class Distribution:
    """The base class of distributions. A sample has the shape `sample_shape + batch_shape + event_shape`.

    Parameters are checked when an instance is created, and values when their probability is asked for, unless
    `validate_args` is False: a ValueError names the constraint and shows the values.
    """

    has_rsample: Any = False
    has_enumerate_support: Any = False
    arg_constraints: ClassVar[Any]
    support: Any
    # The parameters that `expand` expands, with the dimensions of one event of each.
    _expanded: ClassVar[dict[str, int]] = {}
    _validate_args = __debug__

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Check arguments by default, or not."""
        if value not in (True, False):
            raise ValueError
        Distribution._validate_args = value

    def __init__(self, batch_shape: Any = (), event_shape: Any = (), validate_args: bool | None = None) -> None:
        self._batch_shape, self._event_shape = Size(batch_shape), Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if not self._validate_args:
            return
        limits = getattr(self, "arg_constraints", None)
        if limits is None:
            limits = {}
            warnings.warn(f"{type(self)} does not define `arg_constraints`. Please set `arg_constraints = {{}}` or "
                          "initialize the distribution with `validate_args=False` to turn off validation.",
                          stacklevel=2)
        for name, constraint in limits.items():
            if constraints.is_dependent(constraint):
                continue
            if name not in vars(self) and isinstance(getattr(type(self), name), lazy_property):
                continue  # made from another parameter, which is checked
            value = getattr(self, name)
            if not constraints.all_true(constraint.check(value)):
                raise ValueError(
                    f"Expected parameter {name} ({type(value).__name__} of shape {tuple(value.shape)}) of distribution "
                    f"{self!r} to satisfy the constraint {constraint!r}, but found invalid values:\n{value}")

    def _set(self, validate_args: bool | None, **parameters: Any) -> None:
        """Set the parameters of a distribution of single numbers, broadcast to one shape, and check them."""
        values = broadcast_all(*parameters.values())
        vars(self).update(zip(parameters, values, strict=True))
        Distribution.__init__(self, values[0].shape, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The same distribution with its batch dimensions expanded, as `Tensor.expand` does it."""
        owner = next(cls for cls in type(self).__mro__ if "_expanded" in vars(cls))
        if owner is Distribution:
            raise NotImplementedError
        new = self._get_checked_instance(owner, _instance)
        for name, dims in self._expanded.items():
            if name in vars(self):
                value = vars(self)[name]
                shape = value.batch_shape + value.event_shape if isinstance(value, Distribution) else value.shape
                setattr(new, name, value.expand(Size(batch_shape) + shape[len(shape) - dims:]))
        Distribution.__init__(new, batch_shape, self._event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    def _get_checked_instance(self, cls: Any, _instance: Any = None) -> Any:
        """An empty instance to be filled by `expand`; NotImplementedError for a subclass that is made otherwise."""
        if _instance is None and type(self).__init__ != cls.__init__:
            raise NotImplementedError(
                f"Subclass {type(self).__name__} of {cls.__name__} that defines a custom __init__ method must also "
                "define a custom .expand() method.")
        return object.__new__(type(self)) if _instance is None else _instance

    @property
    def batch_shape(self) -> Size:
        """The shape of the parameters: one distribution for each element."""
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The shape of a single sample of one distribution."""
        return self._event_shape

    @property
    def mean(self) -> Any:
        raise NotImplementedError

    @property
    def mode(self) -> Any:
        raise unsupported(type(self), "mode")

    @property
    def variance(self) -> Any:
        raise NotImplementedError

    @property
    def stddev(self) -> Any:
        return self.variance.sqrt()

    def sample(self, sample_shape: Iterable[int] = ()) -> Any:
        """Draw samples, of shape `sample_shape + batch_shape + event_shape`, which have no graph."""
        with no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Iterable[int] = ()) -> Any:
        """Draw samples through which a gradient flows to the parameters (the reparameterisation trick)."""
        raise NotImplementedError

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the probability, or of its density, at `value`, one for each event."""
        raise NotImplementedError

    def cdf(self, value: Any) -> Any:
        """The probability that a sample is at most `value`."""
        raise NotImplementedError

    def icdf(self, value: Any) -> Any:
        """The number below which a sample is with probability `value`."""
        raise NotImplementedError

    def enumerate_support(self, expand: bool = True) -> Any:
        """All values of a discrete distribution, along a new first dimension."""
        raise NotImplementedError

    def entropy(self) -> Any:
        """The entropy, in nats, of shape `batch_shape`."""
        raise NotImplementedError

    def perplexity(self) -> Any:
        """The exponential of the entropy."""
        return self.entropy().exp()

    def _extended_shape(self, sample_shape: Iterable[int] = ()) -> Size:
        """The shape of samples."""
        return Size(Size(sample_shape) + self._batch_shape + self._event_shape)

    def _validate_sample(self, value: Any) -> None:
        """Check the shape of a value, and that it is in the support; a ValueError says what is wrong."""
        if not isinstance(value, Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        shape, events = value.shape, self._event_shape
        if shape[len(shape) - len(events):] != events:
            raise ValueError(f"The right-most size of value must match event_shape: {shape} vs {events}.")
        expected = self._batch_shape + events
        if any(1 != i != j != 1 for i, j in zip(reversed(shape), reversed(expected), strict=False)):
            raise ValueError(f"Value is not broadcastable with batch_shape+event_shape: {shape} vs {expected}.")
        support = getattr(self, "support", None)
        if support is None:
            warnings.warn(f"{type(self)} does not define `support` to enable sample validation. Please initialize the "
                          "distribution with `validate_args=False` to turn off validation.", stacklevel=2)
        elif not constraints.all_true(support.check(value)):
            raise ValueError(
                f"Expected value argument ({type(value).__name__} of shape {tuple(shape)}) to be within the support "
                f"({support!r}) of the distribution {self!r}, but found invalid values:\n{value}")

    def _checked(self, value: Any) -> Any:
        """`value`, checked if arguments are."""
        if self._validate_args:
            self._validate_sample(value)
        return value

    def __repr__(self) -> str:
        given = {name: vars(self)[name] for name in self.arg_constraints if name in vars(self)}
        shown = [f"{name}: {value if value.numel() == 1 else value.size()}" for name, value in given.items()]
        return f"{type(self).__name__}({', '.join(shown)})"
