"""Ops of three tensors: `where`, `lerp`, `addcmul`, `addcdiv`. Mirrors PyTorch's `Lerp.cpp` and `PointwiseOps.cpp`."""

from typing import Any

import numpy as np

from minigrad._base.dtype import as_dtype
from minigrad._base.tensor_errors import IN_C
from minigrad._base.warnings import warn_once
from minigrad.backends import intp
from minigrad.backends.batched import refuse_dynamic
from minigrad.backends.registry import BACKEND_OF
from minigrad.core import Node, Tensor, record1, record2, record_n, record_without_grad
from minigrad.ops._dispatch import (
    Operand,
    as_operand,
    broadcast_and_promote,
    broadcast_and_promote_all,
    broadcast_shape,
    check_kind,
    input_metadata_of,
    needed_by_product,
    number_in,
    op,
    tensor_method,
    together,
)

__all__ = ["addcdiv", "addcmul", "lerp", "where"]

UINT8_CONDITION = (
    "where received a uint8 condition tensor. This behavior is deprecated and will be removed in a future version of "
    "PyTorch. Use a boolean condition instead."
)
NO_INTEGERS = (
    "Integer division with addcdiv is no longer supported, and in a future  release addcdiv will perform a true "
    "division of tensor1 and tensor2. The historic addcdiv behavior can be implemented as (input + value * "
    "torch.trunc(tensor1 / tensor2)).to(input.dtype) for integer inputs and as (input + value * tensor1 / tensor2) "
    "for float inputs. The future addcdiv behavior is just the latter implementation: (input + value * tensor1 / "
    "tensor2), for all dtypes."
)


class Masked(Node):
    """`a` where `mask`, else 0: `xp.masked` on Tensors."""

    @staticmethod
    def forward(mask: Any, a: Tensor) -> Tensor:
        keep = mask.array if isinstance(mask, Tensor) else mask
        broadcast_shape(keep.shape, a.array.shape)  # a hook may have unpacked another shape
        return record1(Masked, np.where(keep, a.array, a.array.dtype.type(0)), a, (), (keep,))

    def backward(self, xp: Any, g: Any, keep: Any) -> Any:
        return xp.masked(keep, g)


class Where(Node):
    saves = ("condition",)

    @staticmethod
    def forward(condition: Tensor, a: Operand, b: Operand) -> Tensor:
        if condition.array.dtype == np.uint8:
            warn_once(UINT8_CONDITION)
            condition = record_without_grad("ne", condition.array != 0, condition)
        if condition.array.dtype.kind != "b":
            raise RuntimeError("where expected condition to be a boolean tensor, but got a tensor with dtype "
                               f"{condition.dtype.type_name}")
        a, b = as_operand(a, b, exact=True), as_operand(b, a, exact=True)
        broadcast_shape(broadcast_shape(condition.array.shape, a.array.shape), b.array.shape)
        x, y, input_metadata = broadcast_and_promote(a.array, b.array)
        mask = condition.array
        if BACKEND_OF:
            mask, x, y = together(mask, x, y)
        out = np.where(mask, x, y)
        if type(input_metadata) is tuple:
            input_metadata = input_metadata_of(out.shape, out.dtype, a.array, b.array)
        return record_n(Where, out, (a, b), (condition,), (), input_metadata)

    def backward(self, xp: Any, g: Any, condition: Any) -> tuple[Any, Any]:
        return xp.masked(condition, g), xp.masked(~condition, g)


@op
def where(condition: Tensor, input: Operand = None, other: Operand = None) -> Any:
    """`input` where `condition`, else `other`; given only the condition, the indices of its non-zero elements, a tuple.
    Raises RuntimeError if the condition is neither bool nor uint8."""
    if input is None and other is None:
        refuse_dynamic(condition.array, "where")
        found = intp.nonzero(np.atleast_1d(condition.array))
        return tuple([record_without_grad("nonzero", index, condition) for index in found])
    return Where.forward(condition, input, other)


@tensor_method(name="where")
def where_of(input: Tensor, condition: Tensor, other: Operand) -> Tensor:
    """The tensor where `condition`, else `other`: the method of Tensor."""
    return where(condition, input, other)


class Lerp(Node):
    """Interpolation from `a` to `b` by a number."""

    constants = ("weight",)

    @staticmethod
    def forward(a: Tensor, b: Tensor, weight: float) -> Tensor:
        x, y, input_metadata = broadcast_and_promote(a.array, b.array)
        check_kind(x, "bui", "lerp_kernel_scalar")
        return record2(Lerp, between(x, y, weight), a, b, (), (weight,), input_metadata)

    def backward(self, xp: Any, g: Any, weight: float) -> tuple[Any, Any]:
        return g * (1 - weight), g * weight


class LerpTensor(Node, name="Lerp", number=1):
    """Interpolation from `a` to `b` by a tensor."""

    saves = ("self", "end", "weight")

    @staticmethod
    def forward(a: Tensor, b: Tensor, weight: Tensor) -> Tensor:
        (x, y, w), input_metadata = broadcast_and_promote_all(a.array, b.array, weight.array)
        check_kind(x, "bui", "lerp_kernel_tensor")
        saved = (a, b) if weight._requires_grad else (None, None)
        return record_n(LerpTensor, between(x, y, w), (a, b, weight), (*saved, weight), (), input_metadata)

    def backward(self, xp: Any, g: Any, a: Any, b: Any, w: Any) -> tuple[Any, Any, Any]:
        return g * (1 - w), g * w, None if a is None else g * (b - a)


def between(x: Any, y: Any, w: Any) -> Any:
    """x + w (y - x), which is exactly y where w is 1."""
    if not hasattr(w, "dtype"):
        return x + w * (y - x) if abs(w) < 0.5 else y - (y - x) * (1 - w)
    near = abs(w) < w.dtype.type(0.5)
    return as_dtype(near * (x + w * (y - x)) + ~near * (y - (y - x) * (1 - w)), x.dtype)


class Addcmul(Node):
    """a + value · b · c."""

    saves = ("tensor1", "tensor2")
    constants = ("value",)

    @staticmethod
    def forward(a: Tensor, b: Tensor, c: Tensor, value: float) -> Tensor:
        (x, y, z), input_metadata = broadcast_and_promote_all(a.array, b.array, c.array)
        check_kind(x, "b", "addcmul_cpu_out")
        saved = needed_by_product(b, c)
        return record_n(Addcmul, x + number_in(value, x.dtype) * y * z, (a, b, c), saved, (value,), input_metadata)

    def backward(self, xp: Any, g: Any, b: Any, c: Any, value: float) -> tuple[Any, Any, Any]:
        return g, None if c is None else g * (c * value), None if b is None else g * (b * value)


class Addcdiv(Node):
    """a + value · b / c."""

    saves = ("tensor1", "tensor2")
    constants = ("value",)

    @staticmethod
    def forward(a: Tensor, b: Tensor, c: Tensor, value: float) -> Tensor:
        if b.array.dtype.kind != "f" and c.array.dtype.kind != "f":
            raise RuntimeError(NO_INTEGERS)
        (x, y, z), input_metadata = broadcast_and_promote_all(a.array, b.array, c.array)
        saved = b if c._requires_grad else None, c
        return record_n(Addcdiv, x + x.dtype.type(value) * y / z, (a, b, c), saved, (value,), input_metadata)

    def backward(self, xp: Any, g: Any, b: Any, c: Any, value: float) -> tuple[Any, Any, Any]:
        return g, g * (value / c), None if b is None else -g * (value * b / (c * c))


@op(method=True, in_place=True)
def lerp(input: Tensor, end: Tensor, weight: Any) -> Tensor:
    """input + weight (end - input) for a number or a tensor `weight`; a 0-d one may have another dtype. Raises
    RuntimeError if the dtypes differ, and NotImplementedError for integers."""
    for name, each in (("end", end), ("weight", weight)):
        if isinstance(each, Tensor) and each.array.dtype is not input.array.dtype and (each.ndim or name == "end"):
            have, got = (IN_C.get(v.array.dtype.name, "bool") for v in (input, each))
            raise RuntimeError(f"expected dtype {have} for `{name}` but got dtype {got}")
    return LerpTensor.forward(input, end, weight) if isinstance(weight, Tensor) else Lerp.forward(input, end, weight)


@op(method=True, in_place=True)
def addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: float = 1) -> Tensor:
    """input + value · tensor1 · tensor2."""
    return Addcmul.forward(input, tensor1, tensor2, value)


@op(method=True, in_place=True)
def addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: float = 1) -> Tensor:
    """input + value · tensor1 / tensor2. Raises RuntimeError if both `tensor1` and `tensor2` are integers."""
    return Addcdiv.forward(input, tensor1, tensor2, value)
