"""The ops. This is the one place that binds them to Tensor as methods and operators."""

from __future__ import annotations

from collections.abc import Iterator
from types import FunctionType, ModuleType
from typing import Any

from minigrad.backends.registry import Several
from minigrad.compat import complex
from minigrad.core.tensor import Tensor
from minigrad.ops import backward_namespace as words
from minigrad.ops._dispatch.arg_parser import framed, in_frames
from minigrad.ops._dispatch.device_guard import guarded
from minigrad.ops._dispatch.overloads import aten
from minigrad.ops.activation import piecewise as rectify
from minigrad.ops.activation import smooth, softmax
from minigrad.ops.factory import sequences
from minigrad.ops.factory import sizes as create
from minigrad.ops.factory import values as data
from minigrad.ops.index import gather, mask, scatter_reduce
from minigrad.ops.index import index_select as pick
from minigrad.ops.index import indexing as index
from minigrad.ops.linalg import add_products, distance, einsum, lu, matrix_functions, products, solve, spectral
from minigrad.ops.linalg import cholesky_qr as factor
from minigrad.ops.linalg import matmul as linalg
from minigrad.ops.linalg import norms as matrix_norm
from minigrad.ops.nn import adaptive_pool, batch_norm, conv, ctc, dropout, fold, pool, rnn, rnn_cell
from minigrad.ops.nn import embedding as embed
from minigrad.ops.nn import normalization as norm
from minigrad.ops.pointwise import (
    aliases,
    binary,
    compare,
    compare_inplace,
    division,
    functions,
    inplace,
    rounding,
    ternary,
    unary,
)
from minigrad.ops.pointwise import arithmetic as pointwise
from minigrad.ops.pointwise import bitwise as bits
from minigrad.ops.pointwise import minmax as extremes
from minigrad.ops.random import factory as random
from minigrad.ops.random import generator
from minigrad.ops.random import inplace as fill
from minigrad.ops.reduce import count, cumulative, quantile, sort
from minigrad.ops.reduce import minmax as extrema
from minigrad.ops.reduce import sums as reduce
from minigrad.ops.reduce import variance as moments
from minigrad.ops.shape import broadcast, diagonal, join, repeat, slices, split
from minigrad.ops.shape import flip as turn
from minigrad.ops.shape import meshgrid as grid
from minigrad.ops.shape import views as shape
from minigrad.ops.shape import views_inplace as shape_inplace
from minigrad.ops.special import binary as special_pairs
from minigrad.ops.special import unary as special
from minigrad.ops.tensor import copy, properties
from minigrad.ops.tensor import pickling as rebuild
from minigrad.ops.tensor import storage as memory
from minigrad.ops.tensor import type_info as dtypes

__all__ = ["FUNCTIONS", "IN_PLACE", "METHODS", "MODULES", "STRAIGHT", "aten", "bind", "words"]

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
    "__ge__": compare.ge, "__and__": bits.bitwise_and, "__or__": bits.bitwise_or,
    "__xor__": bits.bitwise_xor, "__rand__": bits.bitwise_and, "__ror__": bits.bitwise_or,
    "__rxor__": bits.bitwise_xor, "__invert__": bits.inverted, "__lshift__": bits.bitwise_left_shift,
    "__rlshift__": bits.rlshift, "__rshift__": bits.bitwise_right_shift, "__rrshift__": bits.rrshift,
    "__floordiv__": division.floor_divide, "__rfloordiv__": division.rfloordiv, "__mod__": division.remainder,
    "__rmod__": division.rremainder, "__pos__": aliases.positive, "__rdiv__": functions.rdiv,
    "__getitem__": index.getitem, "__setitem__": index.setitem, "__contains__": properties.contains,
    "__new__": data.construct, "__array__": memory.as_array, "__array_wrap__": memory.wrapped,
    "__deepcopy__": rebuild.deepcopy, "__reduce_ex__": rebuild.reduce_ex, "__setstate__": rebuild.setstate,
    "__dir__": properties.listed, "type": properties.type_of,
    "_make_subclass": staticmethod(properties.make_subclass),
}

AUGMENTED = {"__iand__": "bitwise_and_", "__ior__": "bitwise_or_", "__ixor__": "bitwise_xor_",
             "__ilshift__": "bitwise_left_shift_", "__irshift__": "bitwise_right_shift_",
             "__ifloordiv__": "floor_divide_", "__imod__": "remainder_"}

# Methods whose function has another name, mostly since that one is Python's own.
RENAMED: dict[str, Any] = {"bool": copy.to_bool, "float": copy.float_, "int": copy.int_,
                           "polygamma": special.polygamma_of, "where": functions.where_of}

# Each module says itself which of its functions are functions of `minigrad` (`__all__`), which are methods of Tensor
# (METHODS), which of these have a form in place (IN_PLACE), and what Tensor's properties are (PROPERTIES).
MODULES: tuple[ModuleType, ...] = (
    adaptive_pool, add_products, aliases, batch_norm, binary, bits, broadcast, compare, compare_inplace,
    complex, conv, copy, count, create, ctc, cumulative, data, diagonal, distance, division, dropout, dtypes, einsum,
    embed, extrema, extremes, factor, fill, fold, functions, gather, generator, grid, index, inplace, join, linalg, lu,
    mask, matrix_functions, matrix_norm, memory, moments, norm, pick, pool, products, properties, quantile, random,
    rectify, reduce, repeat, rnn, rnn_cell, rounding, scatter_reduce, sequences, shape, shape_inplace, slices, smooth,
    softmax, solve, sort, special, special_pairs, spectral, split, ternary, turn, unary,
)


def names(kind: str) -> Iterator[tuple[ModuleType, str]]:
    """What the modules list under one of these names, with the module of each."""
    for module in MODULES:
        for name in vars(module).get(kind, ()):
            yield module, name


# Methods that are the op's own function: in a chain of small ops a frame would cost a tenth. Their errors for arguments
# of a wrong type are Python's. What has an operator (`add`) needs it not: the operators go straight.
STRAIGHT = {"exp", "relu", "sigmoid", "sum", "tanh"}

FUNCTIONS_IN_PLACE = """
    abs_ acos_ acosh_ addmv_ arccos_ arccosh_ arcsin_ arcsinh_ arctan_ arctanh_ asin_ asinh_ atan_ atanh_ ceil_ clamp_
    clamp_max_ clamp_min_ clip_ cos_ cosh_ deg2rad_ erf_ erfc_ exp2_ exp_ expm1_ fill_ fix_ floor_ frac_ gcd_ i0_
    index_put_ lcm_ ldexp_ log10_ log1p_ log2_ log_ logit_ nan_to_num_ neg_ negative_ rad2deg_ reciprocal_ relu_ round_
    rsqrt_ sigmoid_ sin_ sinc_ sinh_ sqrt_ square_ tan_ tanh_ trunc_ xlogy_ zero_""".split()


def in_its_frame(name: str, method: Any) -> Any:
    """A method as it is bound to Tensor."""
    return method if name in STRAIGHT else framed(method, name, method=True)


FUNCTIONS: dict[str, Any] = {name: getattr(module, name) for module, name in names("__all__")}
FUNCTIONS |= in_frames(FUNCTIONS, FUNCTIONS | {"__name__": "minigrad"})
METHODS: dict[str, Any] = {
    name: in_its_frame(name, each) for name, each in (
        *((name, getattr(module, name)) for module, name in names("METHODS")), *RENAMED.items())}
IN_PLACE: dict[str, Any] = {
    f"{name}_": in_its_frame(f"{name}_", own) if (own := vars(module).get(f"{name}_")) is not None
    else inplace.in_place_of(name, getattr(module, name)) for module, name in names("IN_PLACE")}
# Ops in place that PyTorch has as functions too: `torch.relu_(x)` is `x.relu_()`.
FUNCTIONS |= in_frames(FUNCTIONS_IN_PLACE, IN_PLACE | {"__name__": "minigrad"})
PROPERTIES: dict[str, property] = {name: vars(module)["PROPERTIES"][name] for module, name in names("PROPERTIES")}


def bind() -> None:
    """Give Tensor its methods and operators."""
    augmented = {name: IN_PLACE[method] for name, method in AUGMENTED.items()}
    for name, each in {**OPERATORS, **augmented, **METHODS, **IN_PLACE, **PROPERTIES}.items():
        setattr(Tensor, name, each)


def guard(on: bool) -> None:
    """Put guards around the operators and methods of Tensor that go without a frame, or take them off."""
    for name, each in {**OPERATORS, **{name: METHODS[name] for name in STRAIGHT}}.items():
        if isinstance(each, FunctionType) and name not in ("__new__", "__dir__", "type"):
            setattr(Tensor, name, guarded(each) if on else each)


bind()
Several.notice.append(guard)
