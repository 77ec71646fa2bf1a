"""Pointwise ops: each a class with its forward, and its derivative right under it.

Mirrors the rows of PyTorch's `derivatives.yaml`. In a formula `g` is the gradient of the result, `xp` the words of
`minigrad.backends.protocol`; the other arguments are what the forward saved. The same formula runs on arrays and, in
a pass that is recorded, on Tensors. A saved value is None where nobody wants the gradient that needs it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minigrad._base.dtype import default_float
from minigrad._base.warnings import warn_once
from minigrad.backends.numpy import WORDS
from minigrad.backends.registry import OF_TYPE
from minigrad.core.graph import Node
from minigrad.core.record import NUMBER, record1, record2, record_n
from minigrad.core.tensor import Tensor, plain
from minigrad.ops._dispatch.same_device import together
from minigrad.ops._dispatch.scalars import check_scale, number_in
from minigrad.ops._dispatch.shape_dtype_key import common_form
from minigrad.ops._dispatch.type_promotion import (
    NO_BOOL_MINUS,
    NO_BOOLS_MINUS,
    broadcast_and_promote,
    broadcast_shape,
    check_minus,
    input_metadata_of,
    promote_scalar,
)

Operand = Any  # a Tensor or a Python number
Grads = tuple[Any, Any]


UINT8 = ("where received a uint8 condition tensor. This behavior is deprecated and will be removed in a future version "
         "of PyTorch. Use a boolean condition instead.")


class Add(Node):
    __slots__ = ()
    constants = ("alpha",)

    @staticmethod
    def forward(a: Tensor, b: Operand) -> Any:
        x = a.array
        if not isinstance(b, Tensor):
            x, b = promote_scalar(x, b)
            return b if b is NotImplemented else record2(Add, x + b, a, NUMBER)
        form = a._form
        if form is None or form is not b._form:
            form = common_form(a, b)
        if form is not None:
            t = record2(Add, x + b.array, a, b)
            t._form = form
            return t
        x, y, input_metadata = broadcast_and_promote(x, b.array)
        return record2(Add, x + y, a, b, input_metadata=input_metadata)

    def backward(self, xp: Any, g: Any) -> Grads:
        return g, g


class Sub(Node):
    __slots__ = ()
    constants = ("alpha",)

    @staticmethod
    def forward(a: Tensor, b: Operand) -> Any:
        x = a.array
        if not isinstance(b, Tensor):
            if x.dtype.kind == "b" or isinstance(b, bool):
                raise RuntimeError(NO_BOOLS_MINUS if x.dtype.kind == "b" and isinstance(b, bool) else NO_BOOL_MINUS)
            x, b = promote_scalar(x, b)
            return b if b is NotImplemented else record2(Sub, x - b, a, NUMBER)
        y = b.array
        if x.dtype.kind == "b" or y.dtype.kind == "b":
            check_minus(x, y)
        if x.shape == y.shape and x.dtype is y.dtype and type(x) is type(y):
            return record2(Sub, x - y, a, b)
        x, y, input_metadata = broadcast_and_promote(x, y)
        return record2(Sub, x - y, a, b, input_metadata=input_metadata)

    def backward(self, xp: Any, g: Any) -> Grads:
        return g, -g


class AddScaled(Node, name="Add"):
    """`add` with `alpha`."""

    __slots__ = ()
    constants = ("alpha",)

    @staticmethod
    def forward(a: Tensor, b: Tensor, alpha: float) -> Tensor:
        x, y, input_metadata = broadcast_and_promote(a.array, b.array)
        check_scale("alpha", alpha, x.dtype)
        scaled = y * alpha if y.dtype.kind != "b" else y & bool(alpha)
        return record2(AddScaled, x + scaled, a, b, (), (alpha,), input_metadata)

    def backward(self, xp: Any, g: Any, alpha: float) -> Grads:
        return g, g * alpha


class SubScaled(Node, name="Sub"):
    """`sub` with `alpha`."""

    __slots__ = ()
    constants = ("alpha",)

    @staticmethod
    def forward(a: Tensor, b: Tensor, alpha: float) -> Tensor:
        check_minus(a.array, b.array)
        x, y, input_metadata = broadcast_and_promote(a.array, b.array)
        check_scale("alpha", alpha, x.dtype)
        return record2(SubScaled, x - y * alpha, a, b, (), (alpha,), input_metadata)

    def backward(self, xp: Any, g: Any, alpha: float) -> Grads:
        return g, g * -alpha


class Rsub(Node, number=1):
    """A number minus a tensor."""

    __slots__ = ()
    constants = ("alpha",)

    @staticmethod
    def forward(a: Tensor, c: Operand) -> Any:
        if isinstance(c, Tensor):
            return RsubTensor.forward(a, c, 1)
        if a.array.dtype.kind == "b" or isinstance(c, bool):
            raise RuntimeError(NO_BOOLS_MINUS if a.array.dtype.kind == "b" and isinstance(c, bool) else NO_BOOL_MINUS)
        x, c = promote_scalar(a.array, c)
        return c if c is NotImplemented else record1(Rsub, c - x, a)

    def backward(self, xp: Any, g: Any) -> Any:
        return -g


class RsubTensor(Node, name="Rsub"):
    """`b - alpha * a`."""

    __slots__ = ()
    constants = ("alpha",)

    @staticmethod
    def forward(a: Tensor, b: Tensor, alpha: float) -> Tensor:
        check_minus(a.array, b.array)
        y, x, input_metadata = broadcast_and_promote(b.array, a.array)
        check_scale("alpha", alpha, x.dtype)
        return record2(RsubTensor, y - (x if alpha == 1 else x * alpha), a, b, (), (alpha,),
                       type(input_metadata)(input_metadata[::-1]))

    def backward(self, xp: Any, g: Any, alpha: float) -> Grads:
        return g * -alpha, g


class Mul(Node):
    __slots__ = ()
    saves = ("self", "other")

    @staticmethod
    def forward(a: Tensor, b: Operand) -> Any:
        x = a.array
        if not isinstance(b, Tensor):
            x, b = promote_scalar(x, b, True)
            return b if b is NotImplemented else record2(MulNumber, x * b, a, NUMBER, (None, b))
        saved = a if b._requires_grad else None, b if a._requires_grad else None
        form = a._form
        if form is None or form is not b._form:
            form = common_form(a, b)
        if form is not None:
            t = record2(Mul, x * b.array, a, b, saved)
            t._form = form
            return t
        x, y, input_metadata = broadcast_and_promote(x, b.array)
        return record2(Mul, x * y, a, b, saved, input_metadata=input_metadata)

    def backward(self, xp: Any, g: Any, a: Any, b: Any) -> Grads:
        return None if b is None else g * b, None if a is None else g * a


class MulNumber(Node, name="Mul"):
    """A tensor times a number, which has no edge."""

    __slots__ = ()
    saves = ("self", "other")  # never the tensor: the number wants no gradient

    def backward(self, xp: Any, g: Any, a: None, c: float) -> Grads:
        return g * c, None


class Div(Node):
    __slots__ = ()
    saves = ("self", "other")

    @staticmethod
    def forward(a: Tensor, b: Operand) -> Any:
        x = a.array
        if x.dtype.kind != "f":
            x = x.astype(default_float()) if not isinstance(b, Tensor) or b.array.dtype.kind != "f" else x
        if not isinstance(b, Tensor):
            x, b = promote_scalar(x, b, True)
            return b if b is NotImplemented else record2(DivNumber, x / b, a, NUMBER, (None, b))
        y = b.array
        saved = a if b._requires_grad else None, b
        if x.shape == y.shape and x.dtype is y.dtype and type(x) is type(y):
            return record2(Div, x / y, a, b, saved)
        x, y, input_metadata = broadcast_and_promote(x, y)
        return record2(Div, x / y, a, b, saved, input_metadata=input_metadata)

    def backward(self, xp: Any, g: Any, a: Any, b: Any) -> Grads:
        return g / b, None if a is None else -g * ((a / b) / b)


class DivNumber(Node, name="Div"):
    """A tensor over a number, which has no edge."""

    __slots__ = ()
    saves = ("self", "other")  # never the tensor: the number wants no gradient

    def backward(self, xp: Any, g: Any, a: None, c: float) -> Grads:
        return g / c, None


class Reciprocal(Node):
    __slots__ = ()
    saves = ("result",)

    @staticmethod
    def forward(a: Tensor) -> Tensor:
        x = a.array if a.array.dtype.kind == "f" else a.array.astype(default_float())
        y = x.dtype.type(1) / x
        return record1(Reciprocal, y, a, (y,))

    def backward(self, xp: Any, g: Any, y: Any) -> Any:
        return -g * (y * y)


class Neg(Node):
    __slots__ = ()

    @staticmethod
    def forward(a: Tensor) -> Tensor:
        if a.array.dtype.kind == "b":
            raise RuntimeError("Negation, the `-` operator, on a bool tensor is not supported. If you are trying to "
                               "invert a mask, use the `~` or `logical_not()` operator instead.")
        return record1(Neg, -a.array, a)

    def backward(self, xp: Any, g: Any) -> Any:
        return -g


class Exp(Node):
    __slots__ = ()
    saves = ("result",)

    @staticmethod
    def forward(a: Tensor) -> Tensor:
        y = np.exp(floating(a.array))
        return record1(Exp, y, a, (y,))

    def backward(self, xp: Any, g: Any, y: Any) -> Any:
        return g * y


class Log(Node):
    __slots__ = ()
    saves = ("self",)

    @staticmethod
    def forward(a: Tensor) -> Tensor:
        return record1(Log, np.log(floating(a.array)), a, (a,))

    def backward(self, xp: Any, g: Any, a: Any) -> Any:
        return g / a


class Sqrt(Node):
    __slots__ = ()
    saves = ("result",)

    @staticmethod
    def forward(a: Tensor) -> Tensor:
        y = np.sqrt(floating(a.array))
        return record1(Sqrt, y, a, (y,))

    def backward(self, xp: Any, g: Any, y: Any) -> Any:
        return g / (2 * y)


class Sin(Node):
    __slots__ = ()
    saves = ("self",)

    @staticmethod
    def forward(a: Tensor) -> Tensor:
        return record1(Sin, np.sin(floating(a.array)), a, (a,))

    def backward(self, xp: Any, g: Any, a: Any) -> Any:
        return g * xp.cos(a)


class Cos(Node):
    __slots__ = ()
    saves = ("self",)

    @staticmethod
    def forward(a: Tensor) -> Tensor:
        return record1(Cos, np.cos(floating(a.array)), a, (a,))

    def backward(self, xp: Any, g: Any, a: Any) -> Any:
        return g * -xp.sin(a)


class Abs(Node):
    __slots__ = ()
    saves = ("self",)

    @staticmethod
    def forward(a: Tensor) -> Tensor:
        if a.array.dtype.kind == "b":
            raise NotImplementedError("\"abs_cpu\" not implemented for 'Bool'")
        return record1(Abs, abs(a.array), a, (a,))

    def backward(self, xp: Any, g: Any, a: Any) -> Any:
        return g * xp.sign(a)


class Sign(Node):
    __slots__ = ()

    @staticmethod
    def forward(a: Tensor) -> Tensor:
        return record1(Sign, WORDS.sign(a.array), a)

    def backward(self, xp: Any, g: Any) -> Any:
        return xp.zeros(g.shape, g)


class Masked(Node):
    """`x` where `mask`, else 0: the word `masked` on Tensors."""

    __slots__ = ()

    @staticmethod
    def forward(mask: Any, a: Tensor) -> Tensor:
        keep = mask.array if isinstance(mask, Tensor) else mask
        broadcast_shape(keep.shape, a.array.shape)  # a hook may have unpacked another shape
        return record1(Masked, np.where(keep, a.array, a.array.dtype.type(0)), a, (), (keep,))

    def backward(self, xp: Any, g: Any, keep: Any) -> Any:
        return xp.masked(keep, g)


class Where(Node):
    __slots__ = ()
    saves = ("condition",)

    @staticmethod
    def forward(condition: Tensor, a: Operand, b: Operand) -> Tensor:
        if condition.array.dtype == np.uint8:
            warn_once(UINT8)
            condition = plain(condition.array != 0)
        if condition.array.dtype.kind != "b":
            raise RuntimeError("where expected condition to be a boolean tensor, but got a tensor with dtype "
                               f"{condition.dtype.type_name}")
        a, b = as_operand(a, b, exact=True), as_operand(b, a, exact=True)
        broadcast_shape(broadcast_shape(condition.array.shape, a.array.shape), b.array.shape)
        x, y, input_metadata = broadcast_and_promote(a.array, b.array)
        choice = condition.array
        if OF_TYPE:
            choice, x, y = together(choice, x, y)
        out = np.where(choice, x, y)
        if type(input_metadata) is tuple:
            input_metadata = input_metadata_of(out.shape, out.dtype, a.array, b.array)
        return record_n(Where, out, (a, b), (condition,), (), input_metadata)

    def backward(self, xp: Any, g: Any, condition: Any) -> Grads:
        return xp.masked(condition, g), xp.masked(~condition, g)


OWN = {bool: np.dtype(bool), int: np.dtype("int64"), float: None}  # the dtype of a number that is alone


def as_operand(value: Operand, other: Operand, exact: bool = False) -> Tensor:
    """A tensor as it is; a number as a 0-d tensor, which meets `other` as the number would.

    Where it must be `exact`, an integer that the dtype of `other` does not reach is PyTorch's error.
    """
    if isinstance(value, Tensor):
        return value
    if type(value) in OWN and isinstance(other, Tensor) and other.array.ndim and not exact:
        return plain(np.asarray(value, OWN[type(value)] or default_float()))
    alone = default_float() if isinstance(other, float) else bool
    like = other.array if isinstance(other, Tensor) else np.zeros((), alone)
    x, number = promote_scalar(like, value)
    return plain(np.asarray(number_in(value, x.dtype) if exact and x.dtype.kind in "iu" else number, x.dtype))


def floating(x: Any) -> Any:
    """An array as the input of a function with real values: integers become floats."""
    return x if x.dtype.kind == "f" else x.astype(default_float())
