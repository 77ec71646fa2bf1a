"""The constructors of early PyTorch, one per dtype: `FloatTensor(2, 3)`, `LongTensor([1, 2])`.

They are also names of what a tensor is: `x.type(LongTensor)`, `isinstance(x, FloatTensor)`. `tensor(..., dtype=)` is
what takes their place today.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minigrad._base.device import strided
from minigrad._base.dtype import DTYPES, Size
from minigrad._base.dtype import dtype as dtype_type
from minigrad._base.tensor_errors import IN_C
from minigrad.core import Tensor, plain
from minigrad.ops.factory.values import PLACED, check_device, sequence, size_of
from minigrad.ops.shape.slices import Alias

__all__ = ["BoolTensor", "ByteTensor", "CharTensor", "DoubleTensor", "FloatTensor", "HalfTensor", "IntTensor",
           "LongTensor", "ShortTensor"]

OPTIONS = ("TensorOptions(dtype={}, device=cpu, layout=Strided, requires_grad=false (default), pinned_memory=false "
           "(default), memory_format=(nullopt))")


class tensortype:
    """Makes tensors of one dtype, and knows those of that dtype as its instances."""

    __slots__ = ("__name__", "__qualname__", "dtype")

    __name__: str
    __qualname__: str
    dtype: dtype_type
    is_cuda = False
    layout = strided

    def __init__(self, kind: dtype_type) -> None:
        self.dtype = kind
        self.__name__ = f"{kind.type_name}Tensor"
        self.__qualname__ = f"torch.{self.__name__}"

    def __repr__(self) -> str:
        return f"<class '{self.__qualname__}'>"

    def __reduce__(self) -> str:
        return self.__name__

    def __instancecheck__(self, instance: object) -> bool:
        return isinstance(instance, Tensor) and instance.dtype is self.dtype

    def __call__(self, *data: Any, device: Any = PLACED) -> Tensor:
        """A tensor of that size, holding zeros; or of these values.

        Raises:
            RuntimeError: for another device than the CPU, and for any, also None, beside a tensor.
            TypeError: for anything but sizes, one sequence, one tensor of this dtype.
        """
        is_tensor = len(data) == 1 and isinstance(data[0], Tensor)
        if device is not PLACED and (is_tensor or device is not None):
            check_device(is_tensor, device)
        if len(data) != 1 or isinstance(data[0], (int, Size)):
            return plain(np.zeros(size_of(data or (0,), "new"), self.dtype.numpy))
        if not is_tensor:
            return plain(sequence(data[0], self.dtype))
        if data[0].dtype is not self.dtype:
            wanted, got = (OPTIONS.format(IN_C[each.name]) for each in (self.dtype, data[0].dtype))
            raise TypeError(f"expected {wanted} (got {got})")
        return Alias.forward(data[0])


TYPES = {kind.type_name: tensortype(kind) for kind in DTYPES}
BoolTensor, ByteTensor, CharTensor = TYPES["Bool"], TYPES["Byte"], TYPES["Char"]
ShortTensor, IntTensor, LongTensor = TYPES["Short"], TYPES["Int"], TYPES["Long"]
HalfTensor, FloatTensor, DoubleTensor = TYPES["Half"], TYPES["Float"], TYPES["Double"]
