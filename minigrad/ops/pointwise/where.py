"""Selects between two tensors: `where`, and the op that keeps a gradient only where a mask is True."""

from typing import Any

import numpy as np

from minigrad._base.warnings import warn_once
from minigrad.backends.registry import BACKEND_OF
from minigrad.core import Node, Tensor, record1, record_n, record_without_grad
from minigrad.ops._dispatch import (
    Operand,
    as_operand,
    broadcast_and_promote,
    broadcast_shape,
    input_metadata_of,
    together,
)

UINT8_CONDITION = (
    "where received a uint8 condition tensor. This behavior is deprecated and will be removed in a future version of "
    "PyTorch. Use a boolean condition instead."
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
