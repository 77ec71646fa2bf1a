"""The constructors of early PyTorch, one per dtype: `FloatTensor(2, 3)`, `LongTensor([1, 2])`.

They also name types of tensors: `x.type(LongTensor)`, `isinstance(x, FloatTensor)`. Today `tensor(..., dtype=)`
replaces them.
"""

from typing import Any

from minigrad._base.device import strided
from minigrad._base.dtype import DTYPES
from minigrad._base.dtype import dtype as dtype_type
from minigrad._base.tensor_errors import IN_C
from minigrad.core import Tensor
from minigrad.ops.factory import PLACED, legacy_tensor

__all__ = ["BoolTensor", "ByteTensor", "CharTensor", "DoubleTensor", "FloatTensor", "HalfTensor", "IntTensor",
           "LongTensor", "ShortTensor"]

OPTIONS = ("TensorOptions(dtype={}, device=cpu, layout=Strided, requires_grad=false (default), pinned_memory=false "
           "(default), memory_format=(nullopt))")


class tensortype:
    """Creates tensors of one dtype; its instances are the tensors of that dtype."""

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
        """A tensor of that size, filled with zeros; or with these values (errors: `legacy_tensor`)."""
        tensor = legacy_tensor(self.dtype, data, device)
        if tensor.dtype is not self.dtype:
            wanted, got = (OPTIONS.format(IN_C[dtype.name]) for dtype in (self.dtype, tensor.dtype))
            raise TypeError(f"expected {wanted} (got {got})")
        return tensor


TYPES = {kind.type_name: tensortype(kind) for kind in DTYPES}
BoolTensor, ByteTensor, CharTensor = TYPES["Bool"], TYPES["Byte"], TYPES["Char"]
ShortTensor, IntTensor, LongTensor = TYPES["Short"], TYPES["Int"], TYPES["Long"]
HalfTensor, FloatTensor, DoubleTensor = TYPES["Half"], TYPES["Float"], TYPES["Double"]
