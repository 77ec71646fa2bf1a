"""Binds Python's operators, such as `x * y` and `x[0]`, directly to the forward of ops, without a wrapper.

For an operand of an unknown type an operator returns NotImplemented, and Python raises its own error.
"""

import functools
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np

from minigrad.backends.registry import MultiDevice
from minigrad.core import Tensor
from minigrad.ops import factory
from minigrad.ops._dispatch.device_guard import guarded
from minigrad.ops._dispatch.op_wrappers import OPS
from minigrad.ops._dispatch.registration import DIRECT_METHODS, METHODS
from minigrad.ops._dispatch.torch_function import begin, default
from minigrad.ops.index import indexing
from minigrad.ops.linalg import matmul
from minigrad.ops.pointwise import add, binary, compare, div, mul, pow, unary
from minigrad.ops.shape import flip
from minigrad.ops.tensor import properties, storage

OPERANDS = (Tensor, int, float, complex, np.number, np.bool_)


def asked(function: Callable[..., Any]) -> Callable[..., Any]:
    """An operator that leaves operands which it does not know to Python, which then asks the operand."""
    @functools.wraps(function)
    def operator(self: Tensor, other: Any) -> Any:
        known = isinstance(other, OPERANDS) or hasattr(type(other), "__torch_function__")
        return function(self, other) if known else NotImplemented

    return operator


OPERATORS: dict[str, Any] = {
    "__add__": add.Add.forward, "__radd__": add.Add.forward,
    "__sub__": add.Sub.forward, "__rsub__": add.Rsub.forward,
    "__mul__": mul.Mul.forward, "__rmul__": mul.Mul.forward,
    "__truediv__": div.Div.forward, "__rtruediv__": div.rdiv, "__rdiv__": div.rdiv,
    "__pow__": pow.pow, "__rpow__": pow.rpow,
    "__neg__": unary.Neg.forward, "__pos__": unary.positive, "__abs__": unary.Abs.forward,
    "__matmul__": matmul.at, "__rmatmul__": matmul.rat,
    "__floordiv__": asked(div.floor_divide), "__rfloordiv__": asked(div.rfloordiv),
    "__mod__": asked(div.remainder), "__rmod__": asked(div.rremainder),
    "__eq__": compare.equals, "__ne__": compare.ne,
    "__lt__": compare.lt, "__le__": compare.le, "__gt__": compare.gt, "__ge__": compare.ge,
    "__and__": binary.bitwise_and, "__rand__": binary.bitwise_and,
    "__or__": binary.bitwise_or, "__ror__": binary.bitwise_or,
    "__xor__": binary.bitwise_xor, "__rxor__": binary.bitwise_xor, "__invert__": binary.inverted,
    "__lshift__": binary.bitwise_left_shift, "__rlshift__": binary.rlshift,
    "__rshift__": binary.bitwise_right_shift, "__rrshift__": binary.rrshift,
    "__iadd__": asked(add.add_), "__isub__": asked(add.sub_), "__imul__": asked(mul.mul_),
    "__itruediv__": asked(div.div_), "__ipow__": asked(pow.pow_),
    **{name: asked(METHODS[method]) for name, method in (
        ("__iand__", "bitwise_and_"), ("__ior__", "bitwise_or_"), ("__ixor__", "bitwise_xor_"),
        ("__ilshift__", "bitwise_left_shift_"), ("__irshift__", "bitwise_right_shift_"),
        ("__ifloordiv__", "floor_divide_"), ("__imod__", "remainder_"))},
    "__getitem__": indexing.getitem, "__setitem__": indexing.setitem,
    "__delitem__": indexing.delitem, "__contains__": properties.contains,
    "__reversed__": flip.reversed_,
    "__new__": factory.construct, "__array__": storage.as_array, "__array_wrap__": storage.wrapped,
    "__deepcopy__": storage.deepcopy, "__reduce_ex__": storage.reduce_ex, "__setstate__": storage.setstate,
    "__dir__": properties.listed, "type": properties.type_of,
    "_make_subclass": staticmethod(properties.make_subclass), "__init_subclass__": classmethod(begin),
    "__torch_function__": classmethod(default),
}
NEED_NO_GUARD = {"__new__", "__dir__", "type"}


def guard(on: bool) -> None:
    """Put guards around what has no wrapper, or remove them; the forward of an op has its own."""
    forwards = {name for owner, name, _ in OPS.bound if owner is Tensor}
    for name, function in {**OPERATORS, **DIRECT_METHODS}.items():
        if isinstance(function, FunctionType) and name not in NEED_NO_GUARD | forwards:
            setattr(Tensor, name, guarded(function) if on else function)
    OPS.notify()


for operator, function in OPERATORS.items():
    setattr(Tensor, operator, function)
OPS.bind(Tensor)
MultiDevice.on_change(guard)
