"""The layer between a call of an op and its formula: argument parsing, promotion, devices, `out=`."""

from minigrad.ops._dispatch.device_guard import same_device, together, where_is
from minigrad.ops._dispatch.elementwise import (
    ByNumber,
    OfInput,
    OfOne,
    OfResult,
    OfTwo,
    Scaled,
    binary_function,
    check_kind,
    needed_by_product,
    refuse,
    unary_function,
    unary_op,
    underived,
    widely,
    widened,
)
from minigrad.ops._dispatch.registration import op, tensor_method
from minigrad.ops._dispatch.type_promotion import (
    NO_BOOLS_MINUS,
    Operand,
    as_operand,
    broadcast_and_promote,
    broadcast_and_promote_all,
    broadcast_shape,
    check_cast,
    check_minus,
    check_scale,
    floating,
    input_metadata_of,
    number_in,
    promote_scalar,
)

__all__ = [
    "ByNumber", "NO_BOOLS_MINUS", "OfInput", "OfOne", "OfResult", "OfTwo", "Operand", "Scaled", "as_operand",
    "binary_function", "broadcast_and_promote", "broadcast_and_promote_all", "broadcast_shape", "check_cast",
    "check_kind", "check_minus", "check_scale", "floating", "input_metadata_of", "needed_by_product", "number_in", "op",
    "promote_scalar", "refuse", "same_device", "tensor_method", "together", "unary_function", "unary_op", "underived",
    "where_is", "widely", "widened",
]
