"""The functions of a formula on Tensors: those of `minigrad.backends.numpy.ArrayNamespace`, as recorded ops."""

from typing import Any

from minigrad.backends.numpy import XP
from minigrad.backends.registry import DeviceHandle, device_like
from minigrad.core import Tensor, plain
from minigrad.ops import activation
from minigrad.ops._dispatch.op_wrappers import OPS
from minigrad.ops.index import indexing as index
from minigrad.ops.index.indexing import IndexPut
from minigrad.ops.linalg import matmul as linalg
from minigrad.ops.pointwise import pow, unary
from minigrad.ops.pointwise.ternary import Masked, Where
from minigrad.ops.reduce import sums as reduce
from minigrad.ops.shape import join
from minigrad.ops.shape import views as shape
from minigrad.ops.tensor import copy


class TensorNamespace:
    """The functions of `ArrayNamespace`, each as the corresponding op."""

    exp = staticmethod(unary.Exp.forward)
    log = staticmethod(unary.Log.forward)
    sqrt = staticmethod(unary.Sqrt.forward)
    sin = staticmethod(unary.Sin.forward)
    cos = staticmethod(unary.Cos.forward)
    sign = staticmethod(unary.Sign.forward)
    sigmoid = staticmethod(activation.Sigmoid.forward)
    where = staticmethod(Where.forward)
    masked = staticmethod(Masked.forward)
    threshold_backward = staticmethod(activation.ThresholdBackward.forward)
    matmul = staticmethod(linalg.matmul)
    bmm = staticmethod(linalg.Bmm.forward)
    sum = staticmethod(reduce.sum)
    getitem = staticmethod(index.Index.forward)
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
        return op.forward(*args)

    @staticmethod
    def power(x: Tensor, y: Any) -> Tensor:
        return pow.PowTensor.forward(x, y) if isinstance(y, Tensor) else pow.Pow.forward(x, y)

    @staticmethod
    def moved(x: Tensor, handle: Any) -> Tensor:
        here = device_like(x.array)
        if here is handle or (isinstance(here, DeviceHandle) and here == handle):
            return x
        return copy.ToCopy.forward(x, x.array.dtype, handle)

    @staticmethod
    def t(x: Tensor) -> Tensor:
        return shape.T.forward(x) if x.array.ndim == 2 else shape.Transpose.forward(x, 1, 2)

    @staticmethod
    def turned_product(x: Tensor, y: Tensor) -> Tensor:
        return shape.T.forward(linalg.matmul(x, y))

    @staticmethod
    def scatter(x: Tensor, part: Any, size: tuple[int, ...]) -> Tensor:
        return index.Scatter.forward(x, part, size, XP)

    @staticmethod
    def put(x: Tensor, part: Any, value: Any) -> Tensor:
        return IndexPut.forward(x, value, part, ())

    @staticmethod
    def zeros(size: tuple[int, ...], like: Any, dtype: Any = None) -> Tensor:
        return plain(XP.zeros(size, getattr(like, "array", like), dtype))

    @staticmethod
    def dtype(x: Tensor) -> Any:
        return x.array.dtype


OPS.bind(TensorNamespace)
Tensor.backward_namespace = TensorNamespace()
