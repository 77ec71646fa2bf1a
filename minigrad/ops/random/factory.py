"""Makes random tensors: `rand`, `randn`, `randint`, `randperm`, `normal` and their `_like` forms.

The numbers are those of `minigrad.backends.draws`; docs/random.md says which of them are PyTorch's, digit by digit.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minigrad._base.device import device as Device
from minigrad._base.dtype import dtype as DType
from minigrad._base.tensor_errors import check_tensor
from minigrad._base.type_name import type_name
from minigrad.backends import draws
from minigrad.backends.registry import backend_of, beside, device_guard, home
from minigrad.core import Node, Tensor, record_n
from minigrad.ops._dispatch import broadcast_shape, op
from minigrad.ops.factory.values import new_leaf, numpy_dtype
from minigrad.ops.index.flat_indexing import raw
from minigrad.ops.random.generator import Generator, stream_of
from minigrad.ops.random.inplace import RandomFill, integers, random_like

__all__ = ["normal", "rand", "rand_like", "randint", "randint_like", "randn", "randn_like", "randperm"]

Where = str | Device | None


def sized(name: str, draw: Any, what: str) -> tuple[Callable[..., Tensor], Callable[..., Tensor]]:
    """Register the two forms of one distribution: `name(2, 3)` or `name((2, 3))`, and `name_like(tensor)`."""
    def create(*size: Any, generator: Generator | None = None, dtype: DType | None = None, device: Where = None,
               requires_grad: bool = False, **named: Any) -> Tensor:
        stream = stream_of(generator, home(device))
        array = draw(stream, sizes(name, size, named), numpy_dtype(dtype, what=name))
        return new_leaf(array, requires_grad, name, device)

    def like(input: Tensor, *, dtype: DType | None = None, device: Where = None, requires_grad: bool = False,
             generator: Generator | None = None) -> Tensor:
        x, place = empty_beside(input, dtype, f"{name}_like", device)
        return new_leaf(random_like(x, stream_of(generator, place), draw), requires_grad, f"{name}_like")

    create.__doc__, like.__doc__ = what, f"`{name}` of the shape and dtype of `input`."
    return op(name=name)(create), op(name=f"{name}_like")(like)


def empty_beside(input: Tensor, dtype: DType | None, what: str, device: Where) -> tuple[Any, Any]:
    """An array with the shape, and the order in memory, of `input`, of its dtype or another; and where the numbers are
    to lie."""
    check_tensor(input, what)
    x = raw(input)
    return np.empty_like(x, numpy_dtype(dtype, None, what)), beside(x) if device is None else home(device)


rand, rand_like = sized("rand", draws.uniform, "Numbers of [0, 1), all equally likely: `rand(2, 3)` or `rand((2, 3))`.")
randn, randn_like = sized("randn", draws.normal, "Numbers of the standard normal distribution.")


@op
def randint(*bounds: Any, generator: Generator | None = None, dtype: DType | None = None, device: Where = None,
            requires_grad: bool = False, **named: Any) -> Tensor:
    """Integers of [low, high): `randint(high, size)` or `randint(low, high, size)`."""
    place = home(device)
    arguments = dict(zip(("low", "high", "size") if len(bounds) == 3 or "low" not in named and "high" in named
                     else ("high", "size"), bounds, strict=False)) | named
    if not arguments.keys() <= {"low", "high", "size"} or not {"high", "size"} <= arguments.keys() or len(bounds) + len(
            named) != len(arguments) or not isinstance(arguments["size"], (tuple, list)):
        raise TypeError(f"randint() received an invalid combination of arguments - got ({kinds(bounds, named)})\n\n"
                        "Give an upper end and a size: randint(10, (2, 3)) or randint(0, 10, (2, 3)).")
    low, high = (integer("randint", name, arguments.get(name, 0)) for name in ("low", "high"))
    array = draws.randint(stream_of(generator, place), low, high, sizes("randint", (arguments["size"],), {}),
                          numpy_dtype(dtype, np.int64, "randint"))
    return new_leaf(array, requires_grad, "randint", device)


def kinds(arguments: tuple[Any, ...], named: dict[str, Any]) -> str:
    """The types of arguments as PyTorch lists them in its errors."""
    names = {Tensor: "Tensor"}
    return ", ".join([names.get(type(value), type_name(value)) for value in arguments]
                     + [f"{name}={type_name(value)}" for name, value in named.items()])


def integer(op: str, argument: str, value: Any) -> int:
    """An argument that must be an integer of 64 bits."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{op}(): argument '{argument}' (position 1) must be int, not {type_name(value)}")
    number = int(value.__index__())
    if not -(2**63) <= number < 2**63:
        raise ValueError("Overflow when unpacking long long")
    return number


RANGE_OF = {"int8": "int8_t", "uint8": "uint8_t", "int16": "int16_t", "int32": "int"}


@op
def randperm(n: int, *, generator: Generator | None = None, dtype: DType | None = None, device: Where = None,
             requires_grad: bool = False) -> Tensor:
    """The numbers 0 to n - 1 in random order.

    Raises:
        RuntimeError: if `n` is negative, or the dtype does not hold that many numbers.
        NotImplementedError: for bool.
    """
    place = home(device)
    count = integer("randperm", "n", n)
    sizes("randperm", (count,), {})
    kind = numpy_dtype(dtype, np.dtype("int64"), "randperm")
    if kind.kind == "f" and count > draws.WHOLE[kind.name] + 1:
        name = {"float16": "Half", "float32": "Float", "float64": "Double"}[kind.name]
        raise RuntimeError(f"n cannot be greater than {draws.WHOLE[kind.name] + 1} for {name} type.")
    if kind.kind in "iu" and count > np.iinfo(kind).max:
        raise RuntimeError(f"value cannot be converted to type {RANGE_OF[kind.name]} without overflow")
    if kind.kind == "b":
        raise NotImplementedError("\"randperm\" not implemented for 'Bool'")
    drawn = draws.randperm(stream_of(generator, place), count)
    with device_guard(drawn):
        return new_leaf(drawn.astype(kind), requires_grad, "randperm", device)


@op
def randint_like(input: Tensor, *bounds: Any, dtype: DType | None = None, device: Where = None,
                 requires_grad: bool = False, generator: Generator | None = None, **named: Any) -> Tensor:
    """`randint` of the shape and dtype of `input`: `randint_like(t, high)` or `randint_like(t, low, high)`."""
    x, place = empty_beside(input, dtype, "randint_like", device)
    stream = stream_of(generator, place)
    arguments = dict(zip(("low", "high") if len(bounds) == 2 else ("high",), bounds, strict=False)) | named
    if not arguments.keys() <= {"low", "high"} or "high" not in arguments or len(bounds) + len(named) != len(arguments):
        raise TypeError("randint_like() received an invalid combination of arguments - got "
                        f"({kinds((input, *bounds), named)})")
    low, high = (integer("randint_like", name, arguments.get(name, 0)) for name in ("low", "high"))
    return new_leaf(random_like(x, stream, integers, low, high), requires_grad, "randint_like")


class NormalOf(Node, number=None):
    """`normal(mean, std)` with a tensor for one or both; the result has the dtype of the first tensor."""

    @classmethod
    def forward(cls, mean: Any, std: Any, stream: Any) -> Tensor:
        """Standard normal numbers times `std`, plus `mean`."""
        tensors = [v for v in (mean, std) if isinstance(v, Tensor)]
        x, y = [v.array if isinstance(v, Tensor) else v for v in (mean, std)]
        if isinstance(y, float) and y < 0:
            raise RuntimeError(f"normal expects std >= 0.0, but found std {y:g}")
        if not isinstance(y, float) and backend_of(y) is None and not (y >= 0).all():  # a GPU would be waited for
            raise RuntimeError("normal expects all elements of std >= 0.0")
        shape = functools.reduce(broadcast_shape, [v.array.shape for v in tensors])
        dtype = tensors[0].array.dtype
        array = ((draws.normal(stream, shape, dtype) * y).astype(dtype) + x).astype(dtype)
        return record_n(cls, array, tensors, input_metadata=tuple([(v.array.shape, v.array.dtype) for v in tensors]))

    backward = RandomFill.backward


NormalMean, NormalStd, NormalBoth = [
    type("Normal", (NormalOf,), {"__slots__": (), "__module__": __name__}, number=number) for number in (1, 2, 3)]


@op
def normal(mean: Any, std: Any = 1.0, size: Sequence[int] | None = None, *, generator: Generator | None = None,
           dtype: DType | None = None, device: Where = None, requires_grad: bool = False) -> Tensor:
    """Numbers of the normal distribution: `normal(mean, std)` with a tensor for one or both, or two numbers and a size.

    Raises:
        RuntimeError: for a negative standard deviation.
        NotImplementedError: for integers as means.
    """
    tensors = [v for v in (mean, std) if isinstance(v, Tensor)]
    stream = stream_of(generator, beside(tensors[0].array) if tensors else home(device))
    if tensors:
        op: Any = NormalBoth if len(tensors) == 2 else NormalMean if isinstance(mean, Tensor) else NormalStd
        mean, std = [v if isinstance(v, Tensor) else float(v) for v in (mean, std)]
        return op.forward(mean, std, stream)
    if size is None:
        raise TypeError(f"normal() received an invalid combination of arguments - got ({kinds((mean, std), {})})")
    array = draws.normal(stream, sizes("normal", (size,), {}), numpy_dtype(dtype, what="normal"), float(mean),
                         float(std))
    return new_leaf(array, requires_grad, "normal", device)


def sizes(op: str, arguments: tuple[Any, ...], named: dict[str, Any]) -> tuple[int, ...]:
    """A size given as separate numbers, as one sequence, or by its name.

    Raises:
        TypeError: for none, for two, and for an entry that is no integer.
        RuntimeError: for a negative entry.
    """
    if named.keys() - {"size"} or bool(arguments) == bool(named):
        raise TypeError(f"{op}() received an invalid combination of arguments - got ({kinds(arguments, named)})")
    arguments = arguments or (named["size"],)
    if len(arguments) == 1 and isinstance(arguments[0], (tuple, list)):
        arguments = tuple(arguments[0])
    for n in arguments:
        if isinstance(n, bool) or not hasattr(n, "__index__"):
            raise TypeError(f"{op}(): argument 'size' (position 1) must be tuple of ints, not {type(n).__name__}")
    shape = tuple([n.__index__() for n in arguments])
    for n in shape:
        if n < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {n}: {list(shape)}")
    return shape
