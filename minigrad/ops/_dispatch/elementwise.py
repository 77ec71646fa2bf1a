"""The forms that ops share: a function of one tensor, of two, of a tensor and a number, one without a derivative.

A class of such a form says only what it computes (`of` or `values`, on arrays) and what it saves (`saves`); its body
holds the derivative, `backward`. What the forward does with the function is written here, once. Long formulas run block
by block (`in_blocks`), so that intermediate results stay in the processor's cache.
"""

import functools
from collections.abc import Callable
from typing import Any, ClassVar, NoReturn, Protocol

import numpy as np

from minigrad._base.dtype import HALVES, as_dtype, from_numpy_dtype
from minigrad.backends.numpy import FLOAT32
from minigrad.core import LOCAL, UNUSUAL, Node, NothingSaved, Tensor, record1, record2, record_n
from minigrad.core.graph import MAX_SEQUENCE_NR
from minigrad.ops._dispatch.registration import DIRECT_METHODS, METHODS, op
from minigrad.ops._dispatch.type_promotion import (
    broadcast_and_promote,
    floating,
    in_dtype,
    input_metadata_of,
    promote_scalar,
)

__all__ = [
    "BackwardOf", "BinaryFunction", "ByNumber", "Gate", "OfInput", "OfNumber", "OfOne", "OfResult", "OfTwo", "Scaled",
    "UnaryFunction", "Underived", "backward_of", "binary_function", "binary_op", "check_kind", "needed_by_product",
    "refuse", "unary_function", "unary_op", "underived", "widely", "widened",
]

BLOCK = 1 << 18  # bytes of each array


def in_blocks(formula: Callable[..., Any], *arrays: Any, width: int = 0) -> Any:
    """Apply `formula` to arrays of one shape and dtype, elementwise or, given a `width`, row by row of that length.

    The derivative of gelu, 1,024 × 256, takes 0.7 of the time, 1,024 × 1,024 0.45; log_softmax, 256 × 10,000, 0.7.
    """
    x = arrays[0]
    if type(x) is not np.ndarray or x.nbytes <= 2 * BLOCK or any(not v.flags.c_contiguous for v in arrays):
        return formula(*arrays)
    rows = (-1, width) if width else (-1,)
    out, step = np.empty_like(x), max(1, BLOCK // (x.itemsize * (width or 1)))
    flat, given = out.reshape(rows), [v.reshape(rows) for v in arrays]
    for start in range(0, len(flat), step):
        flat[start:start + step] = formula(*[v[start:start + step] for v in given])
    return out


def refuse(kernel: str, dtype: Any) -> NoReturn:
    """Raise PyTorch's error for a dtype that an op does not implement."""
    raise NotImplementedError(f"\"{kernel}\" not implemented for '{from_numpy_dtype(dtype).type_name}'")


def widened(x: Any) -> Any:
    """An array in the dtype PyTorch computes with: float16 and bfloat16 become float32."""
    return x.astype(FLOAT32) if x.dtype in HALVES else x


def widely(values: Callable[..., Any], kernel: str, x: Any, *const: Any) -> Any:
    """`values(x, *const)`, computed in float32 for float16 and bfloat16 and rounded once. Raises PyTorch's error if `x`
    is not of a real dtype."""
    dtype = x.dtype
    if dtype.kind != "f":
        refuse(kernel, dtype)
    return as_dtype(values(in_dtype(x, FLOAT32), *const), dtype) if dtype in HALVES else values(x, *const)


class OfReals(Node, number=None):
    """An op on one tensor of real numbers."""

    kernel: ClassVar[str]  # what PyTorch's error calls the op
    values: ClassVar[Callable[..., Any]]  # the op on arrays


class OfInput(OfReals, number=None):
    """An op on one tensor whose derivative needs the input."""

    saves = ("self",)

    @classmethod
    def forward(cls: Any, a: Tensor, *const: Any) -> Tensor:
        """The op on a Tensor."""
        result: Tensor = record1(cls, widely(cls.values, cls.kernel, a.array, *const), a, (a,), const)
        return result


class OfResult(OfReals, number=None):
    """An op on one tensor whose derivative needs the result."""

    saves = ("result",)

    @classmethod
    def forward(cls: Any, a: Tensor, *const: Any) -> Tensor:
        """The op on a Tensor."""
        y = widely(cls.values, cls.kernel, a.array, *const)
        result: Tensor = record1(cls, y, a, (y,), const)
        return result


class Gate(Node):
    """The derivative of a piecewise linear function: `g` where `keep`, else `g * other` (`other` 0: none).

    `keep` was computed from `a`: as in PyTorch the result has an edge to it, along which zeros flow.
    """

    saves = ("self",)

    @staticmethod
    def values(g: Any, a: Any, keep: Any, other: Any = 0) -> Any:
        """On arrays."""
        return np.where(keep, g, g.dtype.type(0) if type(other) is int else g * other)

    @staticmethod
    def forward(g: Tensor, a: Tensor, keep: Any, other: Any = 0) -> Tensor:
        kept = keep.array if isinstance(keep, Tensor) else keep
        return record2(Gate, Gate.values(g.array, a.array, kept, other), g, a, (a,), (kept, other))

    def backward(self, xp: Any, g: Any, a: Any, keep: Any, other: Any) -> tuple[Any, Any]:
        return xp.apply(Gate, g, a, keep, other), xp.zeros(g.shape, g)


class BackwardOf(Node, number=None):
    """A gradient that PyTorch computes by an op of `a` too: as there, it has an edge to `a`, along which zeros flow."""

    @staticmethod
    def values(g: Any, a: Any) -> Any:
        """On arrays."""
        return g

    @classmethod
    def forward(cls, g: Tensor, a: Tensor) -> Tensor:
        if UNUSUAL.transforms is not None or UNUSUAL.tangents is not None or not (a._requires_grad and LOCAL.recording):
            return g  # whose outer levels and tangent go on
        return record2(cls, g.array, g, a, (), (a.array.shape,))

    def backward(self, xp: Any, g: Any, shape: tuple[int, ...]) -> tuple[Any, Any]:
        return g, xp.zeros(shape, g)


@functools.cache
def backward_of(node: type[Node]) -> type[BackwardOf]:
    """The op of the gradient of this node, which PyTorch calls `NllLossBackward`."""
    class Op(BackwardOf, name=f"{node.op}Backward"):
        __slots__ = ()
    return Op


class Scaled(Node):
    """A tensor times an array that needs no gradient."""

    @staticmethod
    def values(x: Any, factor: Any) -> Any:
        return x * factor

    @staticmethod
    def forward(a: Tensor, factor: Any) -> Tensor:
        x, y = a.array, a.array * factor
        return record1(Scaled, y, a, (), (factor,), input_metadata_of(y.shape, y.dtype, x))

    def backward(self, xp: Any, g: Any, factor: Any) -> Any:
        return xp.apply(Scaled, g, factor)


Kernel = Callable[..., Any]
NOTHING_OF_TWO = NothingSaved((None, None))
NOTHING, INPUT = ("", ""), ("self",)


class Elementwise(Node, number=None):
    """What these forms share: a formula uses such a function as `xp.apply(Sinh, a)`."""

    values: ClassVar[Kernel]  # the function on arrays
    integers: ClassVar[bool] = False  # whether the function accepts integers; otherwise they become float32
    refuses: ClassVar[tuple[str, str]] = NOTHING  # the arguments of `check_kind`

    def __init_subclass__(cls, of: Kernel | None = None, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if of is not None:
            setattr(cls, "values", staticmethod(of))  # noqa: B010 (mypy knows no staticmethod as a variable)


class OfOne(Elementwise, number=None):
    """A function of one tensor; it saves nothing, `self`, `result`, or both in this order."""

    @classmethod
    def forward(cls, a: Tensor) -> Tensor:
        """The function of each element."""
        x = a.array if cls.integers else floating(a.array)
        if cls.refuses is not NOTHING:
            check_kind(x, *cls.refuses)
        y = cls.values(x)
        if len(cls.saves) == 1:
            return record1(cls, y, a, (a,) if cls.saves == INPUT else (y,))
        return record1(cls, y, a, (a, y) if cls.saves else ())


class OfTwo(Elementwise, number=None):
    """A function of two tensors, which are broadcast and promoted to one dtype."""

    @classmethod
    def forward(cls, a: Tensor, b: Tensor) -> Tensor:
        """The function of each pair of elements."""
        x, y, input_metadata = a.array, b.array, None
        if x.dtype is not y.dtype or x.shape != y.shape or type(x) is not type(y) or not x.flags.c_contiguous:
            x, y, input_metadata = broadcast_and_promote(x, y)
        if cls.refuses is not NOTHING:
            check_kind(x, *cls.refuses)
        z = cls.values(x, y) if cls.integers else cls.values(floating(x), floating(y))
        values = {"self": a, "result": z}  # any other name is that of the second tensor
        return record2(cls, z, a, b, tuple([values.get(name, b) for name in cls.saves]), input_metadata=input_metadata)


class OfNumber(Elementwise, number=None):
    """A function of a Python number and a tensor."""

    @classmethod
    def forward(cls, c: Any, b: Tensor) -> Tensor:
        """The function of the number and each element."""
        y, c = promote_scalar(floating(b.array), c)
        return record1(cls, cls.values(c, y), b, (b,) * len(cls.saves), (c,) * len(cls.constants))


class ByNumber(Elementwise, number=None):
    """A function of a tensor and a Python number."""

    @classmethod
    def forward(cls, a: Tensor, c: Any) -> Tensor:
        """The function of each element and the number."""
        x, c = promote_scalar(floating(a.array), c)
        y = cls.values(x, c)
        return record1(cls, y, a, tuple([a if name == "self" else y for name in cls.saves]), (c,) * len(cls.constants))


class UnaryFunction(Protocol):
    """The type of a public function of one tensor."""

    def __call__(self, input: Tensor) -> Tensor: ...


class BinaryFunction(Protocol):
    """The type of a public function of two tensors."""

    def __call__(self, input: Tensor, other: Tensor) -> Tensor: ...


def needed_by_product(a: Tensor, b: Tensor) -> tuple[Tensor | None, ...]:
    """What a product saves: each operand only if the gradient of the other is needed."""
    if not (a._requires_grad or b._requires_grad):  # only the gradient of a bias is needed
        return NOTHING_OF_TWO
    return a if b._requires_grad else None, b if a._requires_grad else None


def unary_function(op: type[OfOne] | Any, doc: str) -> UnaryFunction:
    """The public function of an op of one tensor, with its docstring."""
    def function(input: Tensor) -> Tensor:
        result: Tensor = op.forward(input)
        return result

    function.__doc__, function.__module__ = doc, op.__module__
    return function


def unary_op(name: str, node: Any, doc: str, *, direct_method: bool = False, in_place: bool = True,
             in_place_function: bool = True, aliases: tuple[str, ...] = ()) -> UnaryFunction:
    """Register an op of one tensor as `torch.name` and `Tensor.name`, and unless told otherwise both in place.

    A direct method is the op's forward itself.
    """
    function = op(name=name, method=True, in_place=in_place, in_place_function=in_place and in_place_function,
                  aliases=aliases)(unary_function(node, doc))
    if direct_method:
        node.forward.__doc__ = doc
        DIRECT_METHODS[name] = METHODS[name] = node.forward
        setattr(Tensor, name, node.forward)
    return function


def binary_function(op: Any, doc: str) -> BinaryFunction:
    """The public function of an op of two tensors, with its docstring."""
    def function(input: Tensor, other: Tensor) -> Tensor:
        result: Tensor = op.forward(input, other)
        return result

    function.__doc__, function.__module__ = doc, op.__module__
    return function


def binary_op(name: str, node: Any, doc: str, *, in_place: bool = False,
              aliases: tuple[str, ...] = ()) -> BinaryFunction:
    """Register an op of two tensors as `torch.name` and `Tensor.name`, and if told so in place."""
    return op(name=name, method=True, in_place=in_place, aliases=aliases)(binary_function(node, doc))


class Underived(Node, number=None):
    """The node of an op without a derivative in PyTorch: it raises that error when a pass arrives, even if no input
    behind it needs a gradient."""

    op = "NotImplemented"
    prunes = False

    def fill(self, next_nodes: tuple[Any, ...], saved: tuple[Any, ...] = (), const: tuple[Any, ...] = (),
             sequence_nr: int | None = None, next_output_nrs: tuple[int, ...] | None = None) -> None:
        """Fill a new node that runs before all others once it is ready, as every node that only raises does."""
        super().fill(next_nodes, saved, const, MAX_SEQUENCE_NR, next_output_nrs)

    def name(self) -> str:
        """PyTorch's qualified name of this node."""
        return "torch::autograd::NotImplemented"

    def backward(self, xp: Any, g: Any, op: str) -> Any:
        """Raise PyTorch's error; there is no gradient."""
        raise RuntimeError(f"derivative for aten::{op} is not implemented")


Underived.__name__ = Underived.__qualname__ = Underived.op


def underived(op: str, array: Any, *inputs: Tensor) -> Tensor:
    """The result of an op that has no derivative; its node has an edge for each input that requires grad."""
    return record_n(Underived, array, [x for x in inputs if x._requires_grad] or inputs, (), (op,))


def check_kind(x: Any, kinds: str, kernel: str) -> None:
    """Raise PyTorch's error if the dtype of `x` is one of these kinds, which `kernel` does not support.

    The kinds are NumPy's: b (bool), u, i, f, and e for float16 and bfloat16.
    """
    if x.dtype.kind in kinds or ("e" in kinds and x.dtype in HALVES):
        refuse(kernel, x.dtype)
