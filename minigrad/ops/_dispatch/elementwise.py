"""The forms that pointwise ops share: a function of one tensor, of two, of a tensor and a number,
and one without a derivative.

A class of this kind names its function (`of`) and what it saves (`saves`); its body holds the derivative. What the
forward does with the function is written here, once.
"""

from collections.abc import Callable
from typing import Any, ClassVar, Protocol

from minigrad._base.dtype import HALVES
from minigrad.core import Node, Tensor, record1, record2, record_n
from minigrad.core.graph import MAX_SEQUENCE_NR
from minigrad.core.saved import NothingSaved
from minigrad.ops._dispatch.templates import refuse
from minigrad.ops._dispatch.type_promotion import broadcast_and_promote, floating, promote_scalar

__all__ = ["BinaryFunction", "ByNumber", "OfNumber", "OfOne", "OfTwo", "UnaryFunction", "Underived", "binary_function",
           "check_kind", "unary_function", "underived"]

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


def binary_function(op: Any, doc: str) -> BinaryFunction:
    """The public function of an op of two tensors, with its docstring."""
    def function(input: Tensor, other: Tensor) -> Tensor:
        result: Tensor = op.forward(input, other)
        return result

    function.__doc__, function.__module__ = doc, op.__module__
    return function


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
