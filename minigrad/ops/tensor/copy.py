"""Copies: `clone`, `copy_`, and conversions of dtype. All of them are ops, recorded like any other."""

from __future__ import annotations

from typing import Any

import numpy as np

from minigrad._base.device import CPU
from minigrad._base.device import device as device_type
from minigrad._base.dtype import bool as bool_
from minigrad._base.dtype import dtype as dtype_type
from minigrad._base.dtype import float16, float32, float64, int8, int16, int32, int64, uint8
from minigrad.backends.registry import OF_TYPE, beside, home, located, moved
from minigrad.core.graph import Node
from minigrad.core.record import NUMBER, record1, record2
from minigrad.core.tensor import Tensor, plain
from minigrad.ops._dispatch.registration import op, tensor_method

__all__ = ["clone"]


class Clone(Node):
    __slots__ = ()

    @staticmethod
    def forward(a: Tensor, order: Any = "K") -> Tensor:
        return record1(Clone, a.array.copy() if a.array.ndim < 2 else a.array.copy(order), a)

    def backward(self, xp: Any, g: Any) -> Any:
        return g


class Copy(Node, number=None):
    """`dest.copy_(src)`, and what a recorded pass does with a leaf's first gradient (PyTorch's CopyBackwards)."""

    __slots__ = ()
    op = "Copy"

    @staticmethod
    def forward(dest: Tensor, src: Any) -> Tensor:
        x = dest.array
        if not isinstance(src, Tensor):
            value = np.asarray(src).astype(x.dtype)  # it may wrap around
            return record1(Copy, np.full(x.shape, value, like=beside(x)), dest)
        y, back = src.array, tuple[Any, ...]()
        if OF_TYPE and src.device != dest.device:
            y, back = moved(y, beside(x)), (beside(y),)
        try:
            out = np.broadcast_to(y, x.shape).astype(x.dtype)
        except ValueError:
            raise RuntimeError(mismatch(x.shape, y.shape)) from None
        if x.dtype.kind != "f":
            return plain(out)  # integers have no gradient
        return record2(Copy, out, dest, src, (), back, (None, (y.shape, y.dtype)))

    def backward(self, xp: Any, g: Any, place: Any = None) -> tuple[Any, ...]:
        zeros = None if self.next[0] is None else xp.zeros(g.shape, g)
        return (zeros, g if place is None else xp.moved(g, place))[:len(self.next)]

    def name(self) -> str:
        """PyTorch's qualified name of this node."""
        return "torch::autograd::CopyBackwards"


Copy.__name__ = Copy.__qualname__ = "CopyBackwards"


class ToCopy(Node):
    __slots__ = ()

    @staticmethod
    def forward(a: Tensor, dtype: Any) -> Tensor:
        if dtype.kind != "f":
            return plain(a.array.astype(dtype))  # integers have no gradient
        return record1(ToCopy, a.array.astype(dtype), a, (), (a.array.dtype,))

    def backward(self, xp: Any, g: Any, dtype: Any) -> Any:
        return xp.cast(g, dtype)


class Move(Node, name="ToCopy"):
    """`to` another device: a copy there, and the gradient back here."""

    __slots__ = ()

    @staticmethod
    def forward(a: Tensor, dtype: Any, place: Any) -> Tensor:
        x = a.array
        out = moved(x if x.dtype is dtype else x.astype(dtype), place)
        if dtype.kind != "f":
            return plain(out)  # integers have no gradient
        return record1(Move, out, a, (), (x.dtype, beside(x)))

    def backward(self, xp: Any, g: Any, dtype: Any, place: Any) -> Any:
        return xp.moved(xp.cast(g, dtype) if xp.dtype(g) is not dtype else g, place)


def mismatch(target: tuple[int, ...], source: tuple[int, ...]) -> str:
    """PyTorch's sentence for a source that cannot be broadcast into a target."""
    ndim = max(len(target), len(source))
    a, b = ((1,) * (ndim - len(shape)) + shape for shape in (target, source))
    for dim in reversed(range(ndim)):
        if a[dim] != b[dim] and 1 not in (a[dim], b[dim]):
            return (f"The size of tensor a ({a[dim]}) must match the size of tensor b ({b[dim]}) at non-singleton "
                    f"dimension {dim}")
    return f"output with shape {list(target)} doesn't match the broadcast shape {list(np.broadcast_shapes(a, b))}"


@op(method=True)
def clone(input: Tensor) -> Tensor:
    """A copy that stays in the graph."""
    return Clone.forward(input)


def copied(grad: Tensor) -> Tensor:
    """A leaf's first gradient in a recorded pass: a copy, by the op of `copy_`."""
    return record2(Copy, np.array(grad.array, like=beside(grad.array)), NUMBER, grad)


@tensor_method
def contiguous(input: Tensor) -> Tensor:
    """The tensor itself if its memory is in row-major order, else a copy that is."""
    return input if input.is_contiguous() else Clone.forward(input, "C")


def cast(input: Tensor, dtype: Any) -> Tensor:
    """The tensor in another NumPy dtype; itself if that is its own."""
    return input if input.array.dtype == dtype else ToCopy.forward(input, dtype)


PYTHONS = {float: float64, int: int64, bool: bool_}  # Python's types, where a dtype may stand


def parse_to(*args: Any, dtype: Any = None, device: Any = None, non_blocking: bool = False, copy: bool = False,
             memory_format: Any = None, **other: Any) -> tuple[Any, dtype_type | None, bool]:
    """Device, dtype and copy that the arguments of `to` ask for; the first two are None where they do not say.

    Raises:
        TypeError: for other arguments.
    """
    wrong = bool(other)
    if args:
        first, *rest = args
        names = ["non_blocking", "copy"]
        if isinstance(first, Tensor):
            device, dtype = first.device, first.dtype
        elif isinstance(first, dtype_type) or first in PYTHONS:
            dtype = first
        elif first is None or isinstance(first, (str, device_type, int)):
            device = first
            names.insert(0, "dtype")
        else:
            wrong = True
        given = dict(zip(names, rest, strict=False))
        dtype, copy = given.get("dtype", dtype), given.get("copy", copy)
        wrong |= len(rest) > len(names) or not isinstance(given.get("non_blocking", False), bool)
    if dtype is not None:
        dtype = PYTHONS.get(dtype, dtype)
        wrong |= not isinstance(dtype, dtype_type)
    if wrong:
        raise TypeError("to() received an invalid combination of arguments")
    return device, dtype, copy


@tensor_method
def to(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """The tensor in another dtype, or that of another tensor; itself where nothing changes (unless `copy`).

    `to(dtype, non_blocking, copy)`, `to(device, dtype, non_blocking, copy)` or `to(other, non_blocking, copy)`.
    A result is not a leaf if the tensor requires grad: the conversion is a recorded op.
    """
    device, dtype, copy = parse_to(*args, **kwargs)
    wanted = input.array.dtype if dtype is None else dtype.numpy
    if device is not None and (where := located(device)) != input.device:
        return Move.forward(input, wanted, home(where))
    return ToCopy.forward(input, wanted) if copy else cast(input, wanted)


@tensor_method
def double(input: Tensor) -> Tensor:
    """`to(float64)`."""
    return cast(input, float64.numpy)


@tensor_method(name="float")
def float_(input: Tensor) -> Tensor:
    """`to(float32)`."""
    return cast(input, float32.numpy)


@tensor_method
def half(input: Tensor) -> Tensor:
    """`to(float16)`."""
    return cast(input, float16.numpy)


@tensor_method
def long(input: Tensor) -> Tensor:
    """`to(int64)`."""
    return cast(input, int64.numpy)


@tensor_method(name="int")
def int_(input: Tensor) -> Tensor:
    """`to(int32)`."""
    return cast(input, int32.numpy)


@tensor_method
def short(input: Tensor) -> Tensor:
    """`to(int16)`."""
    return cast(input, int16.numpy)


@tensor_method
def char(input: Tensor) -> Tensor:
    """`to(int8)`."""
    return cast(input, int8.numpy)


@tensor_method
def byte(input: Tensor) -> Tensor:
    """`to(uint8)`."""
    return cast(input, uint8.numpy)


@tensor_method(name="bool")
def to_bool(input: Tensor) -> Tensor:
    """`to(bool)`."""
    return cast(input, bool_.numpy)


@tensor_method
def cpu(input: Tensor) -> Tensor:
    """The tensor on the CPU: itself if it is there."""
    return to(input, CPU)


@tensor_method
def cuda(input: Tensor, device: Any = None, non_blocking: bool = False) -> Tensor:
    """The tensor on a GPU, the current one or that of a number: itself if it is there.

    Raises:
        AssertionError: PyTorch's sentence for a build without CUDA, if CuPy is not installed.
        RuntimeError: if there is no GPU, or none of that number.
    """
    given = device_type("cuda") if device is None else device_type(device)
    if given.type != "cuda":
        raise ValueError(f"Invalid device, must be cuda device, not {given.type}")
    return to(input, given)
