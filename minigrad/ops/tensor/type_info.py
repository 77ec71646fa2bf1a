"""Questions about dtypes: mirrors `torch.finfo`, `torch.iinfo`, and the functions that say how dtypes meet.

A reader can ask here, before computing, what dtype a sum will have (`result_type`) and how exact it is (`finfo`).
"""

from __future__ import annotations

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
from minigrad.core.tensor import Tensor
from minigrad.ops._dispatch.registration import op

__all__ = ["can_cast", "finfo", "get_default_dtype", "iinfo", "promote_types", "result_type", "set_default_dtype"]


def checked(value: Any, name: str, argument: str, position: int) -> dtype:
    """An argument that must be a dtype; PyTorch's error where it is not."""
    if not isinstance(value, dtype):
        raise TypeError(f"{name}(): argument '{argument}' (position {position}) must be torch.dtype, not "
                        f"{type_name(value)}")
    return value


class Info:
    """What `finfo` and `iinfo` share: the NumPy facts of a dtype, and equality."""

    __slots__ = ("_facts",)
    _facts: Any
    __hash__ = None  # type: ignore[assignment]  # as in PyTorch it cannot be a key

    @property
    def bits(self) -> int:
        """How many bits a number takes."""
        return int(self._facts.bits)

    @property
    def dtype(self) -> str:
        """The name of the dtype."""
        return str(self._facts.dtype)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and self.dtype == other.dtype


class finfo(Info):
    """The limits of a floating point dtype, the default one if none is given: `finfo(float32).eps`.

    Raises:
        TypeError: for another dtype, and for what is none.
    """

    __slots__ = ()

    def __init__(self, type: Any = ...) -> None:
        kind = get_default_dtype() if type is ... else checked(type, "finfo", "type", 1)
        if not kind.is_floating_point:
            raise TypeError("torch.finfo() requires a floating point input type. Use torch.iinfo to handle "
                            "'torch.finfo'")
        self._facts = np.finfo(kind.numpy)

    @property
    def eps(self) -> float:
        """The distance from 1 to the next larger number."""
        return float(self._facts.eps)

    @property
    def max(self) -> float:
        """The largest number."""
        return float(self._facts.max)

    @property
    def min(self) -> float:
        """The smallest number: minus the largest."""
        return float(self._facts.min)

    @property
    def tiny(self) -> float:
        """The smallest positive number that has all its digits."""
        return float(self._facts.smallest_normal)

    smallest_normal = tiny

    @property
    def resolution(self) -> float:
        """The distance of decimal numbers near 1 that are told apart."""
        return 10.0 ** -int(self._facts.precision)

    def __repr__(self) -> str:
        return (f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, eps={self.eps:g}, "
                f"smallest_normal={self.tiny:g}, tiny={self.tiny:g}, dtype={self.dtype})")


class iinfo(Info):
    """The limits of an integer dtype: `iinfo(int8).max`.

    Raises:
        TypeError: for another dtype, and for what is none.
    """

    __slots__ = ()

    def __init__(self, type: dtype) -> None:
        kind = checked(type, "iinfo", "type", 1)
        if kind.is_floating_point:
            raise TypeError("torch.iinfo() requires an integer input type. Use torch.finfo to handle 'torch.iinfo'")
        if kind is bool_:
            raise TypeError("torch.bool is not supported by torch.iinfo")
        self._facts = np.iinfo(kind.numpy)

    @property
    def max(self) -> int:
        """The largest number."""
        return int(self._facts.max)

    @property
    def min(self) -> int:
        """The smallest number."""
        return int(self._facts.min)

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
    operands = [operand(each, (tensor, other)) for each in (tensor, other)]
    if isinstance(tensor, Tensor) == isinstance(other, Tensor):
        return from_numpy_dtype(result_dtype(*operands))
    array, number = operands if isinstance(tensor, Tensor) else operands[::-1]
    if RANKS[number.dtype.kind] <= RANKS[array.dtype.kind]:
        return from_numpy_dtype(array.dtype)
    return from_numpy_dtype(number.dtype)


def operand(value: Any, given: tuple[Any, ...]) -> Any:
    """An array as it is; a number as an array of the dtype that it has alone."""
    if isinstance(value, Tensor):
        return value.array
    if isinstance(value, (bool, np.bool_)):
        return np.zeros((), bool_.numpy)
    if isinstance(value, (int, np.integer)):
        return np.zeros((), int64.numpy)
    if isinstance(value, (float, np.floating)):
        return np.zeros((), default_float())
    if isinstance(value, complex):
        raise TypeError(f"result_type() knows no dtype for a complex number{NOT_HERE}")
    kinds = ", ".join("Tensor" if isinstance(each, Tensor) else type_name(each) for each in given)
    raise TypeError(f"result_type() received an invalid combination of arguments - got ({kinds})")

op(get_default_dtype)
op(set_default_dtype)
