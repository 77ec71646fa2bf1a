"""Answers questions about dtypes: `finfo`, `iinfo`, `can_cast`, `promote_types` and `result_type`.

Ask here, before you compute, which dtype a sum will have (`result_type`) and how exact it is (`finfo`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from minigrad._base.dtype import (
    NOT_HERE,
    default_float,
    dtype,
    from_numpy_dtype,
    get_default_dtype,
    int64,
    result_dtype,
    set_default_dtype,
)
from minigrad._base.dtype import bool as bool_
from minigrad._base.dtype import promote_types as promoted
from minigrad._base.type_name import type_name
from minigrad.core import Tensor
from minigrad.ops._dispatch import op

__all__ = ["can_cast", "finfo", "get_default_dtype", "iinfo", "promote_types", "result_type", "set_default_dtype"]


def checked(value: Any, name: str, argument: str, position: int) -> dtype:
    """An argument that must be a dtype; PyTorch's error where it is not."""
    if not isinstance(value, dtype):
        raise TypeError(f"{name}(): argument '{argument}' (position {position}) must be torch.dtype, not "
                        f"{type_name(value)}")
    return value


def limit(name: str, kind: Callable[[Any], Any], text: str, attribute: str = "") -> property:
    """A property that reads one of NumPy's facts about a dtype."""
    return property(lambda self: kind(getattr(self._facts, attribute or name)), doc=text)


class Info:
    """What `finfo` and `iinfo` share."""

    __slots__ = ("_facts",)
    _facts: Any
    __hash__ = None  # type: ignore[assignment]  # as in PyTorch it cannot be a key
    bits = limit("bits", int, "How many bits a number takes.")
    dtype = limit("dtype", str, "The name of the dtype.")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and self.dtype == other.dtype


class finfo(Info):
    """The limits of a floating point dtype, the default one if none is given: `finfo(float32).eps`.

    Raises:
        TypeError: for another dtype, and for what is none.
    """

    __slots__ = ()
    eps = limit("eps", float, "The distance from 1 to the next larger number.")
    max = limit("max", float, "The largest number.")
    min = limit("min", float, "The smallest number: minus the largest.")
    smallest_normal = tiny = limit("tiny", float, "The smallest positive number of full precision.", "smallest_normal")
    resolution = limit("resolution", lambda digits: 10.0 ** -int(digits),
                       "The distance of decimal numbers near 1 that are told apart.", "precision")

    def __init__(self, type: Any = ...) -> None:
        kind = get_default_dtype() if type is ... else checked(type, "finfo", "type", 1)
        if not kind.is_floating_point:
            raise TypeError("torch.finfo() requires a floating point input type. Use torch.iinfo to handle "
                            "'torch.finfo'")
        self._facts = np.finfo(kind.numpy)

    def __repr__(self) -> str:
        return (f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, eps={self.eps:g}, "
                f"smallest_normal={self.tiny:g}, tiny={self.tiny:g}, dtype={self.dtype})")


class iinfo(Info):
    """The limits of an integer dtype: `iinfo(int8).max`.

    Raises:
        TypeError: for another dtype, and for what is none.
    """

    __slots__ = ()
    max = limit("max", int, "The largest number.")
    min = limit("min", int, "The smallest number.")

    def __init__(self, type: dtype) -> None:
        kind = checked(type, "iinfo", "type", 1)
        if kind.is_floating_point:
            raise TypeError("torch.iinfo() requires an integer input type. Use torch.finfo to handle 'torch.iinfo'")
        if kind is bool_:
            raise TypeError("torch.bool is not supported by torch.iinfo")
        self._facts = np.iinfo(kind.numpy)

    def __repr__(self) -> str:
        return f"iinfo(min={self.min:g}, max={self.max:g}, dtype={self.dtype})"


RANKS = {"b": 0, "u": 1, "i": 1, "f": 2}


@op
def can_cast(from_: dtype, to: dtype) -> bool:
    """Whether a result of dtype `from_` may be written into a tensor of dtype `to`: never from a higher kind."""
    kinds = [checked(from_, "can_cast", "from_", 1).numpy.kind, checked(to, "can_cast", "to", 2).numpy.kind]
    return RANKS[kinds[0]] <= RANKS[kinds[1]]


@op
def promote_types(type1: dtype, type2: dtype) -> dtype:
    """The smallest dtype of a kind at least as high as both, that holds both where they are of that kind."""
    first, second = checked(type1, "promote_types", "type1", 1), checked(type2, "promote_types", "type2", 2)
    return from_numpy_dtype(promoted(first.numpy, second.numpy))


@op
def result_type(tensor: Any, other: Any) -> dtype:
    """The dtype of a result of two operands, each a tensor or a Python number."""
    operands = [operand(v, (tensor, other)) for v in (tensor, other)]
    if isinstance(tensor, Tensor) == isinstance(other, Tensor):
        return from_numpy_dtype(result_dtype(*operands))
    array, number = operands if isinstance(tensor, Tensor) else operands[::-1]
    return from_numpy_dtype((array if RANKS[number.dtype.kind] <= RANKS[array.dtype.kind] else number).dtype)


def operand(value: Any, operands: tuple[Any, ...]) -> Any:
    """A tensor's array; for a number an array of the dtype that the number has alone."""
    if isinstance(value, Tensor):
        return value.array
    kinds = (((bool, np.bool_), bool_.numpy), ((int, np.integer), int64.numpy), ((float, np.floating), default_float()))
    for types, numpy_dtype in kinds:
        if isinstance(value, types):
            return np.zeros((), numpy_dtype)
    if isinstance(value, complex):
        raise TypeError(f"result_type() knows no dtype for a complex number{NOT_HERE}")
    names = ", ".join("Tensor" if isinstance(v, Tensor) else type_name(v) for v in operands)
    raise TypeError(f"result_type() received an invalid combination of arguments - got ({names})")

op(get_default_dtype)
op(set_default_dtype)
