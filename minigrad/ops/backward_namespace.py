"""The functions of a formula on Tensors: `minigrad.backends.protocol.Namespace` of ops that are themselves recorded."""

from __future__ import annotations

from typing import Any

from minigrad.backends.numpy import XP
from minigrad.backends.registry import Home, beside
from minigrad.core.tensor import Tensor, plain
from minigrad.ops.activation import basic as activation
from minigrad.ops.index import indexing as index
from minigrad.ops.linalg import matmul as linalg
from minigrad.ops.pointwise import elementary, power
from minigrad.ops.pointwise.where import Masked, Where
from minigrad.ops.reduce import sums as reduce
from minigrad.ops.shape import join
from minigrad.ops.shape import views as shape
from minigrad.ops.tensor import copy

__all__ = ["TensorNamespace"]


class TensorNamespace:
    """Each function by the op of that meaning."""

    exp = staticmethod(elementary.Exp.forward)
    log = staticmethod(elementary.Log.forward)
    sqrt = staticmethod(elementary.Sqrt.forward)
    sin = staticmethod(elementary.Sin.forward)
    cos = staticmethod(elementary.Cos.forward)
    sign = staticmethod(elementary.Sign.forward)
    sigmoid = staticmethod(activation.Sigmoid.forward)
    where = staticmethod(Where.forward)
    masked = staticmethod(Masked.forward)
    threshold_backward = staticmethod(activation.ThresholdBackward.forward)
    matmul = staticmethod(linalg.matmul)
    stack = staticmethod(join.stack)
    concatenate = staticmethod(join.cat)
    reshape = staticmethod(shape.reshape)
    broadcast_to = staticmethod(shape.Expand.forward)
    swapaxes = staticmethod(shape.transpose)
    transpose = staticmethod(shape.Permute.forward)
    cast = staticmethod(copy.cast)
    copy = staticmethod(copy.copied)

    @staticmethod
    def apply(op: Any, *args: Any) -> Any:
        """`op.forward` of Tensors."""
        return op.forward(*args)

    @staticmethod
    def power(x: Tensor, y: Any) -> Tensor:
        """`x ** y`, `y` a number or a Tensor."""
        return power.PowTensor.forward(x, y) if isinstance(y, Tensor) else power.Pow.forward(x, y)

    @staticmethod
    def moved(x: Tensor, place: Any) -> Tensor:
        """`x` in another place."""
        here = beside(x.array)
        if here is place or (isinstance(here, Home) and here == place):
            return x
        return copy.ToCopy.forward(x, x.array.dtype, place)

    @staticmethod
    def turned_product(x: Tensor, y: Tensor) -> Tensor:
        """The product of two matrices, turned."""
        return shape.transpose(linalg.matmul(x, y), -1, -2)

    @staticmethod
    def sum(x: Tensor, axes: tuple[int, ...] | None, keepdims: bool) -> Tensor:
        """The sum over `axes` (None: all)."""
        return reduce.sum(x, axes, keepdims)

    @staticmethod
    def getitem(x: Tensor, part: Any) -> Tensor:
        """`x[part]`, by one op."""
        return index.Index.forward(x, part)

    @staticmethod
    def scatter(x: Tensor, part: Any, size: tuple[int, ...]) -> Tensor:
        """Zeros of `size` to which `x` is added at `part`."""
        return index.Scatter.forward(x, part, size, XP)

    @staticmethod
    def put(x: Tensor, part: Any, value: Any) -> Tensor:
        """`x` with its elements at `part` replaced by a Tensor or a number."""
        return index.IndexPut.forward(x, value, part, ())

    @staticmethod
    def zeros(size: tuple[int, ...], like: Any, dtype: Any = None) -> Tensor:
        """Zeros where `like`, a Tensor or a place, lies; of its dtype if none is given."""
        return plain(XP.zeros(size, getattr(like, "array", like), dtype))

    @staticmethod
    def dtype(x: Tensor) -> Any:
        """NumPy's dtype of `x`."""
        return x.array.dtype


Tensor.backward_namespace = TensorNamespace()
