"""Comparison and logic: results are bool tensors, which never require grad.

In place, `x.eq_(y)` writes 1 where they are equal, else 0; the old values get no gradient. As in PyTorch, an in-place
comparison has a node, since a tensor that requires grad must continue to.
"""

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from minigrad._base.contexts import SIGNALS, silently
from minigrad._base.dtype import as_dtype, default_float
from minigrad.autograd.grad_mode import no_grad
from minigrad.backends.batched import NO_FALLBACK, refuse_batches
from minigrad.backends.registry import BACKEND_OF, device_like
from minigrad.core import Node, Tensor, record1, record2, record_without_grad
from minigrad.history.inplace import in_place
from minigrad.ops._dispatch import (
    broadcast_and_promote,
    broadcast_shape,
    op,
    promote_scalar,
    same_device,
    tensor_method,
    together,
)
from minigrad.ops._dispatch.elementwise import BinaryFunction, UnaryFunction
from minigrad.ops.tensor.storage import from_numpy

__all__ = ["allclose", "eq", "equal", "ge", "greater", "greater_equal", "gt", "isclose", "isfinite", "isin", "isinf",
           "isnan", "isneginf", "isposinf", "isreal", "le", "less", "less_equal", "logical_and", "logical_not",
           "logical_or", "logical_xor", "lt", "ne", "not_equal", "signbit"]

Operand = Any
NAMES: dict[Any, str] = {np.equal: "eq", np.not_equal: "ne", np.less: "lt", np.less_equal: "le", np.greater: "gt",
                         np.greater_equal: "ge"}  # PyTorch's names for them


def compared(op: Callable[[Any, Any], Any], a: Tensor, b: Operand) -> Tensor:
    """A comparison in the dtype to which the operands are promoted, where an integer may wrap around, as in PyTorch."""
    try:
        x = a.array
        if isinstance(b, Tensor):
            y = b.array
            if x.dtype is not y.dtype or x.shape != y.shape or type(x) is not type(y) or not x.flags.c_contiguous:
                x, y, _ = broadcast_and_promote(x, y)
            return record_without_grad(NAMES[op], op(x, y), a, b)
        number = b.item() if isinstance(b, np.generic) else b
        if not isinstance(number, (bool, int, float)):
            return NotImplemented  # Python then tries the other operand
        return record_without_grad(NAMES[op], op(*promote_scalar(x, number)), a)
    except SIGNALS as error:
        return silently(error, compared, op, a, b)


class Comparison(Node, number=None):
    """A comparison with a tensor or a number."""

    ufunc: ClassVar[Callable[..., Any]]

    @classmethod
    def forward(cls, a: Tensor, b: Operand) -> Any:
        """The result to be written into `a`."""
        result = compared(cls.ufunc, a, b)
        if isinstance(b, Tensor):
            return record2(cls, result.array, a, b,
                           input_metadata=tuple([(v.array.shape, v.array.dtype) for v in (a, b)]))
        return result if result is NotImplemented else record1(cls, result.array, a)

    def backward(self, xp: Any, g: Any) -> Any:
        zeros = xp.zeros(g.shape, g)
        return zeros if len(self.next) == 1 else (zeros, zeros)


def comparison(name: str, ufunc: np.ufunc, operator: str, *aliases: str) -> Callable[[Tensor, Operand], Tensor]:
    """Register a comparison, also in place: there its node is `EqBackward0` with a number, `EqBackward1`
    with a tensor."""
    def function(input: Tensor, other: Operand) -> Tensor:
        return compared(ufunc, input, other)

    body = {"__slots__": (), "ufunc": ufunc, "__module__": __name__}
    with_number: Any = type(name.capitalize(), (Comparison,), dict(body))
    with_tensor: Any = type(name.capitalize(), (Comparison,), dict(body), number=1)

    def method(self: Tensor, other: Operand) -> Tensor:
        node_type = with_tensor if isinstance(other, Tensor) else with_number
        return in_place(node_type.forward, self, other)

    function.__doc__ = f"Elementwise `input {operator} other`."
    method.__doc__ = f"1 where `self {operator} other`, else 0, in place."
    tensor_method(name=f"{name}_", aliases=tuple([f"{each}_" for each in aliases]))(method)
    return op(method=True, aliases=aliases, name=name)(function)


def logical(ufunc: np.ufunc, doc: str) -> BinaryFunction:
    """The public function of a logical op on two tensors of any dtype; elements other than zero are true."""
    def function(input: Tensor, other: Tensor) -> Tensor:
        x, y = input.array, other.array
        broadcast_shape(x.shape, y.shape)
        array = ufunc(*(together(x, y) if BACKEND_OF else (x, y)))
        return record_without_grad(ufunc.__name__, array, input, other)

    function.__doc__ = doc
    return function


def predicate(ufunc: np.ufunc, doc: str) -> UnaryFunction:
    """The public function of an elementwise predicate."""
    def function(input: Tensor) -> Tensor:
        return record_without_grad(ufunc.__name__, ufunc(input.array), input)

    function.__doc__ = doc
    return function


eq = comparison("eq", np.equal, "==")
ne = not_equal = comparison("ne", np.not_equal, "!=", "not_equal")
lt = less = comparison("lt", np.less, "<", "less")
le = less_equal = comparison("le", np.less_equal, "<=", "less_equal")
gt = greater = comparison("gt", np.greater, ">", "greater")
ge = greater_equal = comparison("ge", np.greater_equal, ">=", "greater_equal")
logical_and = op(method=True, name="logical_and")(
    logical(np.logical_and, "Elementwise and; elements other than zero are true."))
logical_or = op(method=True, name="logical_or")(
    logical(np.logical_or, "Elementwise or; elements other than zero are true."))
logical_xor = op(method=True, name="logical_xor")(
    logical(np.logical_xor, "Elementwise exclusive or; elements other than zero are true."))
logical_not = op(method=True, name="logical_not")(
    predicate(np.logical_not, "Elementwise not; elements other than zero are true."))
isnan = op(method=True, name="isnan")(predicate(np.isnan, "Where the elements are NaN."))
isinf = op(method=True, name="isinf")(predicate(np.isinf, "Where the elements are infinite."))
isfinite = op(method=True, name="isfinite")(predicate(np.isfinite, "Where the elements are neither infinite nor NaN."))


def unrecorded(name: str, function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """The in-place method of an op that autograd ignores: even a leaf that requires grad may be overwritten."""
    def method(self: Tensor, *args: Any) -> Tensor:
        with no_grad():
            return in_place(function, self, *args)

    method.__doc__ = f"`{name}` in place, as if grad mode were off."
    return tensor_method(name=f"{name}_")(method)


for name, function in (("logical_and", logical_and), ("logical_or", logical_or), ("logical_xor", logical_xor),
                       ("logical_not", logical_not)):
    unrecorded(name, function)


def equals(input: Tensor, other: Operand) -> Tensor:
    """`input == other`, which also accepts a NumPy array; the other comparisons do not, as in PyTorch."""
    return eq(input, from_numpy(other) if isinstance(other, np.ndarray) else other)


@op(method=True)
def isposinf(input: Tensor) -> Tensor:
    """Where the elements are inf."""
    return record_without_grad("isposinf", np.equal(input.array, np.inf), input)


@op(method=True)
def isneginf(input: Tensor) -> Tensor:
    """Where the elements are -inf."""
    return record_without_grad("isneginf", np.equal(input.array, -np.inf), input)


@op(method=True)
def isreal(input: Tensor) -> Tensor:
    """Where the elements are real numbers: everywhere."""
    return record_without_grad("isreal", np.ones(input.array.shape, bool, like=device_like(input.array)), input)


@op(method=True)
def signbit(input: Tensor) -> Tensor:
    """Where the elements have a minus sign, including -0.0."""
    x = input.array
    return record_without_grad("signbit", np.signbit(x) if x.dtype.kind == "f" else x < 0, input)


@op
def isin(elements: Operand, test_elements: Operand, *, assume_unique: bool = False, invert: bool = False) -> Tensor:
    """Where `elements` occur in `test_elements`; one of the two may be a number. `invert`: where they do not. Raises
    RuntimeError for bools."""
    like = device_like((elements if isinstance(elements, Tensor) else test_elements).array)
    x, y = (v.array if isinstance(v, Tensor) else np.asarray(v, like=like) for v in (elements, test_elements))
    same_device(x, y)
    if "b" in (x.dtype.kind, y.dtype.kind):
        raise RuntimeError("Unsupported input type encountered for isin(): Bool")
    given = [v for v in (elements, test_elements) if isinstance(v, Tensor)]
    return record_without_grad("isin", np.isin(x, y, assume_unique, invert), *given)


@op(method=True)
def isclose(input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08,
            equal_nan: bool = False) -> Tensor:
    """Where |input - other| <= atol + rtol * |other|. Raises RuntimeError if the dtypes differ, or a tolerance is
    negative."""
    if input.array.dtype != other.array.dtype:
        raise RuntimeError(f"{input.dtype.type_name} did not match {other.dtype.type_name}")
    for name, value in (("rtol", rtol), ("atol", atol)):
        if value < 0:
            raise RuntimeError(f"{name} must be greater than or equal to zero, but got {value:g}")
    broadcast_shape(input.array.shape, other.array.shape)
    same_device(input.array, other.array)
    return record_without_grad("isclose", is_close(input.array, other.array, rtol, atol, equal_nan), input, other)


def is_close(x: Any, y: Any, rtol: float, atol: float, equal_nan: bool) -> Any:
    """PyTorch's `isclose` on arrays: integers are compared in the default dtype, infinities only with themselves."""
    close = x == y
    if equal_nan:
        close = close | ((x != x) & (y != y))
    if not (rtol or atol):
        return close
    if y.dtype.kind != "f":
        x, y = as_dtype(x, default_float()), as_dtype(y, default_float())
    difference = abs(x - y)
    return close | (np.isfinite(difference) & (difference <= atol + abs(rtol * y)))


@op(method=True)
def allclose(input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> bool:
    """Whether `isclose` holds for every element."""
    refuse_batches("vmap over allclose isn't supported yet. Please file an issue at "
                   "https://github.com/pytorch/pytorch/issues if you need this feature.", input.array, other.array)
    return bool(isclose(input, other, rtol, atol, equal_nan).array.all())


@op(method=True)
def equal(input: Tensor, other: Tensor) -> bool:
    """Whether two tensors have the same shape and elements."""
    refuse_batches(NO_FALLBACK.format("equal"), input.array, other.array)
    same_device(input.array, other.array)
    return bool(np.array_equal(input.array, other.array))
