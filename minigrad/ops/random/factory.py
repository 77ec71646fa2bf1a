"""Creates random tensors: `rand`, `randn`, `randint`, `randperm`, `normal` and their `_like` forms.

The numbers are those of `minigrad.backends.draws`; docs/random.md says which of them equal PyTorch's, digit by digit.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minigrad._base.device import device as Device
from minigrad._base.device import memory_format
from minigrad._base.dtype import as_dtype
from minigrad._base.dtype import dtype as DType
from minigrad.backends import draws
from minigrad.backends.registry import backend_of, device_guard, device_handle, device_like
from minigrad.core import Node, Tensor, record_n
from minigrad.ops._dispatch import broadcast_shape, op, refuse
from minigrad.ops._dispatch.memory_order import in_dense_order, in_format
from minigrad.ops.factory.values import new_leaf, numpy_dtype, size_of
from minigrad.ops.index.flat_indexing import raw
from minigrad.ops.random.generator import Generator, stream_of
from minigrad.ops.random.inplace import RandomFill, by_name, integers, long, random_like

__all__ = ["normal", "rand", "rand_like", "randint", "randint_like", "randn", "randn_like", "randperm"]

Where = str | Device | None


def drawn(name: str, draw: Any, what: str) -> tuple[Callable[..., Tensor], Callable[..., Tensor]]:
    """Register the two forms of one distribution: `name(2, 3)` or `name((2, 3))`, and `name_like(tensor)`."""
    def create(*size: Any, generator: Generator | None = None, dtype: DType | None = None, device: Where = None,
               requires_grad: bool = False) -> Tensor:
        array = draw(stream_of(generator, device_handle(device)), size_of(size, name), numpy_dtype(dtype, what=name))
        return new_leaf(array, requires_grad, name, device)

    def like(input: Tensor, *, dtype: DType | None = None, device: Where = None, requires_grad: bool = False,
             generator: Generator | None = None, memory_format: memory_format | None = None) -> Tensor:
        x, handle = empty_like_input(input, dtype, f"{name}_like", device, memory_format)
        return new_leaf(random_like(x, stream_of(generator, handle), draw), requires_grad, f"{name}_like")

    create.__doc__, like.__doc__ = what, f"`{name}` with the shape and dtype of `input`."
    return op(name=name)(create), op(name=f"{name}_like")(like)


def empty_like_input(input: Tensor, dtype: DType | None, what: str, device: Where,
                     format: memory_format | None) -> tuple[Any, Any]:
    """An array with the shape and dtype of `input`, or another dtype, in its memory order or in a format; and the
    device for the numbers."""
    x = raw(input.array)
    array = in_dense_order(functools.partial(np.empty_like, dtype=numpy_dtype(dtype, None, what)), x)
    return in_format(array, format), device_like(x) if device is None else device_handle(device)


rand, rand_like = drawn("rand", draws.uniform, "Uniform numbers in [0, 1): `rand(2, 3)` or `rand((2, 3))`.")
randn, randn_like = drawn("randn", draws.normal, "Numbers from the standard normal distribution.")


@op
def randint(*bounds: Any, generator: Generator | None = None, dtype: DType | None = None, device: Where = None,
            requires_grad: bool = False, **named: Any) -> Tensor:
    """Integers in [low, high): `randint(high, size)` or `randint(low, high, size)`."""
    arguments = by_name(("low", "high", "size"), bounds, named)
    if not isinstance(arguments["size"], (tuple, list)):
        raise TypeError("size")
    low, high = long(arguments.get("low", 0)), long(arguments["high"])
    stream, size = stream_of(generator, device_handle(device)), size_of((arguments["size"],), "randint")
    array = draws.randint(stream, low, high, size, numpy_dtype(dtype, np.int64, "randint"))
    return new_leaf(array, requires_grad, "randint", device)


RANGE_OF = {"int8": "int8_t", "uint8": "uint8_t", "int16": "int16_t", "int32": "int"}


@op
def randperm(n: int, *, generator: Generator | None = None, dtype: DType | None = None, device: Where = None,
             requires_grad: bool = False) -> Tensor:
    """The numbers 0 to n - 1 in random order.

    Raises:
        RuntimeError: if `n` is negative, or the dtype cannot represent that many numbers.
        NotImplementedError: for bool.
    """
    handle = device_handle(device)
    count, = size_of((long(n),), "randperm")
    kind = numpy_dtype(dtype, np.dtype("int64"), "randperm")
    if kind.kind == "f" and count > draws.WHOLE[kind.name] + 1:
        name = {"float16": "Half", "float32": "Float", "float64": "Double"}[kind.name]
        raise RuntimeError(f"n cannot be greater than {draws.WHOLE[kind.name] + 1} for {name} type.")
    if kind.kind in "iu" and count > np.iinfo(kind).max:
        raise RuntimeError(f"value cannot be converted to type {RANGE_OF[kind.name]} without overflow")
    if kind.kind == "b":
        refuse("randperm", kind)
    permutation = draws.randperm(stream_of(generator, handle), count)
    with device_guard(permutation):
        return new_leaf(as_dtype(permutation, kind), requires_grad, "randperm", device)


@op
def randint_like(input: Tensor, *bounds: Any, dtype: DType | None = None, device: Where = None,
                 requires_grad: bool = False, generator: Generator | None = None,
                 memory_format: memory_format | None = None, **named: Any) -> Tensor:
    """`randint` with the shape and dtype of `input`: `randint_like(t, high)` or `randint_like(t, low, high)`."""
    x, handle = empty_like_input(input, dtype, "randint_like", device, memory_format)
    arguments = by_name(("low", "high"), bounds, named)
    low, high = long(arguments.get("low", 0)), long(arguments["high"])
    return new_leaf(random_like(x, stream_of(generator, handle), integers, low, high), requires_grad, "randint_like")


class NormalOf(Node, number=None):
    """`normal(mean, std)` with a tensor for one or both; the result has the dtype of the first tensor."""

    @classmethod
    def forward(cls, mean: Any, std: Any, stream: Any) -> Tensor:
        """Standard normal numbers times `std`, plus `mean`."""
        tensors = [v for v in (mean, std) if isinstance(v, Tensor)]
        x, y = [v.array if isinstance(v, Tensor) else v for v in (mean, std)]
        if isinstance(y, float) and y < 0:
            raise RuntimeError(f"normal expects std >= 0.0, but found std {y:g}")
        if not isinstance(y, float) and backend_of(y) is None and not (y >= 0).all():  # checking a GPU would block
            raise RuntimeError("normal expects all elements of std >= 0.0")
        shape = functools.reduce(broadcast_shape, [v.array.shape for v in tensors])
        dtype = tensors[0].array.dtype
        array = as_dtype(as_dtype(draws.normal(stream, shape, dtype) * y, dtype) + x, dtype)
        metadata = tuple([(v.array.shape, v.array.dtype) for v in tensors])
        return record_n(cls, array, tensors, (), tuple([shape for shape, _ in metadata]), metadata)

    backward = RandomFill.backward


NormalMean, NormalStd, NormalBoth = [
    type("Normal", (NormalOf,), {"__slots__": (), "__module__": __name__, "constants": names}, number=number)
    for number, names in enumerate([("mean_sym_sizes",), ("std_sym_sizes",), ("mean_sym_sizes", "std_sym_sizes")], 1)]


@op
def normal(mean: Any, std: Any = 1.0, size: Sequence[int] | None = None, *, generator: Generator | None = None,
           dtype: DType | None = None, device: Where = None, requires_grad: bool = False) -> Tensor:
    """Normally distributed numbers: `normal(mean, std)` with a tensor for one or both, or two numbers and a size.

    Raises:
        RuntimeError: for a negative standard deviation.
        NotImplementedError: for integer means.
    """
    tensors = [v for v in (mean, std) if isinstance(v, Tensor)]
    stream = stream_of(generator, device_like(tensors[0].array) if tensors else device_handle(device))
    if tensors:
        op: Any = NormalBoth if len(tensors) == 2 else NormalMean if isinstance(mean, Tensor) else NormalStd
        mean, std = [v if isinstance(v, Tensor) else float(v) for v in (mean, std)]
        return op.forward(mean, std, stream)
    array = draws.normal(stream, size_of((size,), "normal"), numpy_dtype(dtype, what="normal"), float(mean), float(std))
    return new_leaf(array, requires_grad, "normal", device)
