"""Copies tensors (`clone`, `copy_`, and `to` another dtype or device) and fills them. All of these are recorded ops."""

from collections.abc import Callable
from functools import partial
from numbers import Number
from operator import methodcaller
from types import NoneType
from typing import Any

import numpy as np

from minigrad._base.device import CPU, contiguous_format, preserve_format
from minigrad._base.device import device as device_type
from minigrad._base.device import memory_format as format_type
from minigrad._base.dtype import as_dtype, float16, float32, float64, int8, int16, int32, int64, load_bfloat16, uint8
from minigrad._base.dtype import bool as bool_
from minigrad._base.dtype import dtype as dtype_type
from minigrad._base.tensor_errors import check_tensor, mismatch
from minigrad._base.type_name import type_name
from minigrad.backends.registry import BACKEND_OF, device_handle, device_like, moved, resolve_device
from minigrad.core import SCALAR_OPERAND, Node, Tensor, materialized, record1, record2, record_without_grad
from minigrad.history.inplace import in_place
from minigrad.ops._dispatch import number_in, op, tensor_method
from minigrad.ops._dispatch.memory_order import in_dense_order, in_format, suggests_channels_last

__all__ = ["clone", "fill_", "zero_"]

COPY = methodcaller("copy", "K")


class Clone(Node):
    @staticmethod
    def forward(a: Tensor, order: Any = "K") -> Tensor:
        return record1(Clone, in_dense_order(COPY, a.array) if order == "K" else a.array.copy(order), a)

    def backward(self, xp: Any, g: Any) -> Any:
        return g


class Copy(Node, number=None):
    """`dest.copy_(src)`; a recorded pass also copies a leaf's first gradient this way (PyTorch's CopyBackwards)."""

    op = "Copy"

    @staticmethod
    def forward(dest: Tensor, src: Any) -> Tensor:
        x = dest.array
        if not isinstance(src, Tensor):
            value = as_dtype(np.asarray(src), x.dtype)  # it may wrap around
            return record1(Copy, np.full(x.shape, value, like=device_like(x)), dest)
        y, back = src.array, tuple[Any, ...]()
        if BACKEND_OF and src.device != dest.device:
            y, back = moved(y, device_like(x)), (device_like(y),)
        try:
            out = as_dtype(np.broadcast_to(y, x.shape), x.dtype)
        except ValueError:
            raise RuntimeError(mismatch(x.shape, y.shape)) from None
        if x.dtype.kind != "f":
            return record_without_grad("copy", out, src)  # integers have no gradient
        return record2(Copy, out, dest, src, (), back, (None, (y.shape, y.dtype)))

    def backward(self, xp: Any, g: Any, handle: Any = None) -> tuple[Any, ...]:
        zeros = None if self.next[0] is None else xp.zeros(g.shape, g)
        return (zeros, g if handle is None else xp.moved(g, handle))[:len(self.next)]

    def name(self) -> str:
        """PyTorch's qualified name of this node."""
        return "torch::autograd::CopyBackwards"


Copy.__name__ = Copy.__qualname__ = "CopyBackwards"


class ToCopy(Node):
    """A copy in another dtype, or on another device; the gradient is converted and moved back."""

    @staticmethod
    def forward(a: Tensor, dtype: Any, handle: Any = None) -> Tensor:
        x = array = a.array
        if handle is None or x.dtype is not dtype or 0 in x.strides:
            array = in_dense_order(partial(as_dtype, dtype=dtype), x)
        array = array if handle is None else moved(array, handle)
        if dtype.kind != "f":
            return record_without_grad("ToCopy", array, a)  # integers have no gradient
        return record1(ToCopy, array, a, (), (x.dtype,) if handle is None else (x.dtype, device_like(x)))

    def backward(self, xp: Any, g: Any, dtype: Any, handle: Any = None) -> Any:
        g = g if xp.dtype(g) is dtype else xp.cast(g, dtype)
        return g if handle is None else xp.moved(g, handle)


def laid_out(result: Tensor, format: format_type | None) -> Tensor:
    """The new result of an op, in a memory format if one is given."""
    result.array = in_format(result.array, format)
    return result


def lies_in(x: Any, format: format_type) -> bool:
    """Whether an array is in a memory format; `preserve_format` here means row-major."""
    order = format.order
    if order is None:
        return bool(x.flags.c_contiguous)
    return x.ndim == len(order) and bool(x.transpose(order).flags.c_contiguous)


@op(method=True)
def clone(input: Tensor, *, memory_format: format_type = preserve_format) -> Tensor:
    """A copy that stays in the graph, in the same memory order or in a format."""
    result = Clone.forward(input)
    return result if memory_format is preserve_format else laid_out(result, memory_format)


def copied(grad: Tensor) -> Tensor:
    """A leaf's first gradient in a recorded pass: a copy, by the op of `copy_`."""
    return record2(Copy, np.array(grad.array, like=device_like(grad.array)), SCALAR_OPERAND, grad)


@tensor_method
def contiguous(input: Tensor, *, memory_format: format_type = contiguous_format) -> Tensor:
    """The tensor itself if its memory is row-major, or in another given format; otherwise a copy that is. Raises
    RuntimeError if its number of dimensions is not the format's, and for `preserve_format`."""
    if lies_in(materialized(input), memory_format):
        return input
    if memory_format is preserve_format:
        raise RuntimeError("preserve memory format is unsupported by the contiguous operator")
    return Clone.forward(input, "C") if memory_format is contiguous_format else laid_out(Clone.forward(input),
                                                                                         memory_format)


def cast(input: Tensor, dtype: Any) -> Tensor:
    """The tensor in another NumPy dtype; the tensor itself if it has that dtype."""
    return input if input.array.dtype == dtype else ToCopy.forward(input, dtype)


PYTHON_DTYPES = {float: float64, int: int64, bool: bool_}  # Python types accepted as dtypes


def parse_to(*args: Any, dtype: Any = None, device: Any = None, non_blocking: bool = False, copy: bool = False,
             memory_format: Any = None, **other: Any) -> tuple[Any, dtype_type | None, bool, Any]:
    """The device, dtype, copy and memory format that the arguments of `to` request; None if they do not. Raises
    TypeError for other arguments."""
    wrong = bool(other) or not isinstance(memory_format, (format_type, NoneType))
    if args:
        first, *rest = args
        names = ["non_blocking", "copy"]
        if isinstance(first, Tensor):
            device, dtype = first.device, first.dtype
        elif isinstance(first, dtype_type) or first in PYTHON_DTYPES:
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
        dtype = PYTHON_DTYPES.get(dtype, dtype)
        wrong |= not isinstance(dtype, dtype_type)
    if wrong:
        raise TypeError("to() received an invalid combination of arguments")
    return device, dtype, copy, memory_format


@tensor_method
def to(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """The tensor in another dtype or on another device; the tensor itself if nothing changes (unless `copy`).

    `to(dtype, non_blocking, copy)`, `to(device, dtype, non_blocking, copy)` or `to(other, non_blocking, copy)`.
    A result is not a leaf if the tensor requires grad: the conversion is a recorded op.
    """
    device, dtype, copy, format = parse_to(*args, **kwargs)
    if format is not None and format.order is not None:  # for either format PyTorch treats the strides as row-major
        x = materialized(input)
        copy |= not (lies_in(x, format) and suggests_channels_last(x))
    target_dtype = input.array.dtype if dtype is None else dtype.numpy
    if device is not None and (where := resolve_device(device)) != input.device:
        return laid_out(ToCopy.forward(input, target_dtype, device_handle(where)), format)
    if copy:
        return laid_out(ToCopy.forward(input, target_dtype), format)
    return cast(input, target_dtype)


def conversion(name: str, dtype: dtype_type) -> Callable[[Tensor], Tensor]:
    """Create `Tensor.name`, the method that converts to one dtype."""
    @tensor_method(name=name)
    def convert(input: Tensor, *, memory_format: Any = None) -> Tensor:
        if memory_format is None:
            return cast(input, dtype.numpy)
        if not isinstance(memory_format, format_type):
            raise TypeError(f"{name}(): argument 'memory_format' must be torch.memory_format, not "
                            f"{type_name(memory_format)}")
        return to(input, dtype, memory_format=memory_format)
    convert.__doc__ = f"`to({dtype.name}, memory_format=memory_format)`."
    return convert


double, float_, half = conversion("double", float64), conversion("float", float32), conversion("half", float16)
long, int_, short = conversion("long", int64), conversion("int", int32), conversion("short", int16)
char, byte, to_bool = conversion("char", int8), conversion("byte", uint8), conversion("bool", bool_)


@tensor_method
def bfloat16(input: Tensor) -> Tensor:
    """`to(bfloat16)`.

    Raises:
        MissingExtra: if ml_dtypes is not installed.
    """
    return cast(input, load_bfloat16().numpy)


@tensor_method
def cpu(input: Tensor) -> Tensor:
    """The tensor on the CPU; the tensor itself if it is there."""
    return to(input, CPU)


@tensor_method
def cuda(input: Tensor, device: Any = None, non_blocking: bool = False) -> Tensor:
    """The tensor on a GPU, the current one or the given one; the tensor itself if it is there.

    Raises:
        AssertionError: PyTorch's error of a build without CUDA, if CuPy is not installed.
        RuntimeError: if there is no GPU, or none with that index.
    """
    given = device_type("cuda") if device is None else device_type(device)
    if given.type != "cuda":
        raise ValueError(f"Invalid device, must be cuda device, not {given.type}")
    return to(input, given)


class Zero(Node):
    @staticmethod
    def forward(a: Tensor) -> Tensor:
        return record1(Zero, np.zeros_like(a.array), a)

    def backward(self, xp: Any, g: Any) -> Any:
        return xp.zeros(g.shape, g)


class Fill(Node, number=2):
    @classmethod
    def forward(cls, a: Tensor, value: Any) -> Tensor:
        if isinstance(value, Tensor):
            return FillTensor.forward(a, value)
        x = a.array
        return record1(cls, np.full(x.shape, number_in(value, x.dtype), x.dtype, like=device_like(x)), a)

    backward = Zero.backward


class FillTensor(Node, name="Fill", number=3):
    """Fills with a 0-d tensor, whose gradient is the sum of the gradients."""

    @classmethod
    def forward(cls, a: Tensor, value: Tensor) -> Tensor:
        x, y = a.array, value.array
        if y.ndim:
            raise RuntimeError(f"fill_ only supports 0-dimension value tensor but got tensor with {y.ndim} dimensions.")
        filled = np.full(x.shape, moved(y, device_like(x)), x.dtype, like=device_like(x))
        return record2(cls, filled, a, value, input_metadata=(None, ((), y.dtype)))

    def backward(self, xp: Any, g: Any) -> tuple[Any, Any]:
        return xp.zeros(g.shape, g), xp.sum(g, None, False)


@op(method=True)
def zero_(self: Tensor) -> Tensor:
    """Fill with zeros."""
    return in_place(Zero.forward, self)


class FillCopy(Fill, name="Fill", number=0):
    __slots__ = ()


class FillCopyTensor(FillTensor, name="Fill", number=1):
    __slots__ = ()


@op
def fill(input: Tensor, value: Any) -> Tensor:
    """A tensor of the shape and dtype of `input`, filled with one value."""
    return (FillCopyTensor if isinstance(value, Tensor) else FillCopy).forward(input, value)


@op(method=True)
def fill_(self: Tensor, value: Any) -> Tensor:
    """Fill with one value."""
    return in_place(Fill.forward, self, value)


@tensor_method
def copy_(self: Tensor, src: Tensor) -> Tensor:
    """Fill with the values of another tensor, which is broadcast and converted, or with a number."""
    if not isinstance(src, (Number, np.generic)):
        check_tensor(src, "copy_", "other")
    return in_place(Copy.forward, self, src)
