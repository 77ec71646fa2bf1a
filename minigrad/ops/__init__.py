"""The ops. This is the one place that binds them to Tensor as methods and operators."""

from __future__ import annotations

from typing import Any

from minigrad._tensor import Tensor
from minigrad._warnings import warn_once
from minigrad.ops import (
    compare,
    copy,
    create,
    functions,
    index,
    inplace,
    join,
    linalg,
    memory,
    pointwise,
    properties,
    rebuild,
    reduce,
    shape,
    words,
)

__all__ = ["bind", "words"]

OPERATORS: dict[str, Any] = {
    "__add__": pointwise.Add.forward, "__radd__": pointwise.Add.forward,
    "__sub__": pointwise.Sub.forward, "__rsub__": pointwise.Rsub.forward,
    "__mul__": pointwise.Mul.forward, "__rmul__": pointwise.Mul.forward,
    "__truediv__": pointwise.Div.forward, "__rtruediv__": functions.rdiv,
    "__pow__": functions.pow, "__rpow__": functions.rpow,
    "__neg__": pointwise.Neg.forward, "__abs__": pointwise.Abs.forward, "__matmul__": linalg.at,
    "__iadd__": inplace.add_, "__isub__": inplace.sub_, "__imul__": inplace.mul_, "__itruediv__": inplace.div_,
    "__ipow__": inplace.pow_,
    "__eq__": compare.equals, "__ne__": compare.ne, "__lt__": compare.lt, "__le__": compare.le, "__gt__": compare.gt,
    "__ge__": compare.ge, "__and__": compare.bitwise_and, "__or__": compare.bitwise_or,
    "__xor__": compare.bitwise_xor, "__rand__": compare.bitwise_and, "__ror__": compare.bitwise_or,
    "__rxor__": compare.bitwise_xor,
    "__invert__": compare.bitwise_not,
    "__getitem__": index.getitem, "__setitem__": index.setitem, "__contains__": properties.contains,
    "__new__": create.construct, "__array__": memory.as_array, "__array_wrap__": memory.wrapped,
    "__deepcopy__": rebuild.deepcopy, "__reduce_ex__": rebuild.reduce_ex, "__setstate__": rebuild.setstate,
    "__dir__": properties.listed, "type": properties.type_of,
    "_make_subclass": staticmethod(properties.make_subclass),
}

METHODS: dict[str, Any] = {
    "sum": reduce.sum_, "bool": copy.to_bool, "float": copy.float_, "int": copy.int_, "double": copy.double,
    "half": copy.half, "long": copy.long, "to": copy.to, "cpu": copy.cpu, "clone": copy.clone,
    "contiguous": copy.contiguous, "any": compare.any_, "all": compare.all_, "mean": reduce.mean, "norm": reduce.norm,
    "matmul": linalg.matmul, "mm": linalg.mm, "bmm": linalg.bmm, "mv": linalg.mv, "dot": linalg.dot,
    "addmm": linalg.addmm, "swapaxes": shape.transpose,
}
SHAPE = ("expand", "expand_as", "flatten", "movedim", "permute", "reshape", "squeeze", "t", "transpose", "unsqueeze",
         "view", "view_as")
CREATE = ("new_empty", "new_full", "new_ones", "new_tensor", "new_zeros")
MEMORY = ("data_ptr", "is_contiguous", "is_set_to", "numpy", "size", "storage_offset", "stride", "untyped_storage")
OF_ITSELF = ("get_device", "is_complex", "is_floating_point", "is_nonzero", "is_same_size", "is_signed", "type_as")
JOIN = ("chunk", "split", "unbind")
POINTWISE = ("abs", "add", "cos", "div", "exp", "log", "mul", "neg", "pow", "reciprocal", "relu", "sigmoid", "sign",
             "sin", "sqrt", "square", "sub", "tanh")
COMPARE = ("allclose", "eq", "equal", "ge", "gt", "isclose", "isfinite", "isinf", "isnan", "le", "logical_and",
           "logical_not", "logical_or", "lt", "ne")
IN_PLACE = ("abs_", "add_", "copy_", "cos_", "div_", "exp_", "fill_", "log_", "mul_", "neg_", "pow_", "reciprocal_",
            "relu_", "sigmoid_", "sign_", "sin_", "sqrt_", "square_", "sub_", "tanh_", "zero_")


OF_A_NUMBER = "Tensor.{} is deprecated on 0-D tensors. This function is the identity in these cases."
NOT_OF_A_MATRIX = (
    "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is deprecated and it will throw an "
    "error in a future release. Consider `x.mT` to transpose batches of matrices or `x.permute(*torch.arange(x.ndim - "
    "1, -1, -1))` to reverse the dimensions of a tensor."
)


def transposed(self: Tensor) -> Tensor:
    """The tensor with its dimensions reversed."""
    if self.array.ndim == 0:
        warn_once(OF_A_NUMBER.format("T"))
    elif self.array.ndim != 2:
        warn_once(NOT_OF_A_MATRIX)
    return shape.Permute.forward(self, tuple(range(self.array.ndim))[::-1])


def matrix_transposed(self: Tensor) -> Tensor:
    """The tensor with its last two dimensions swapped."""
    if self.array.ndim == 0:
        warn_once(OF_A_NUMBER.format("mT"))
        return self
    if self.array.ndim == 1:
        raise RuntimeError("tensor.mT is only supported on matrices or batches of matrices. Got 1-D tensor.")
    return shape.Transpose.forward(self, -2, -1)


def bind() -> None:
    """Give Tensor its methods and operators."""
    for name, function in {**OPERATORS, **METHODS}.items():
        setattr(Tensor, name, function)
    modules = {shape: SHAPE, join: JOIN, functions: POINTWISE, compare: COMPARE, inplace: IN_PLACE, memory: MEMORY,
               properties: OF_ITSELF, create: CREATE}
    for module, names in modules.items():
        for name in names:
            setattr(Tensor, name, getattr(module, name))
    for name, each in properties.PROPERTIES.items():
        setattr(Tensor, name, each)
    setattr(Tensor, "T", property(transposed))  # noqa: B010 (mypy knows no attribute T to assign to)
    setattr(Tensor, "mT", property(matrix_transposed))  # noqa: B010 (as above)


bind()
