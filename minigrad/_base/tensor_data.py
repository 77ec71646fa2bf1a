"""Defines the data of a tensor: its array, shape, dtype, and values as Python numbers. core/ adds autograd to it.

`TensorData` is the base class of `Tensor`. Nothing here is differentiable.
"""

from collections.abc import Callable, Iterator
from typing import Any

from minigrad._base.device import device
from minigrad._base.dtype import Size, dtype, from_numpy_dtype
from minigrad.backends.registry import device_of

READERS: list[Callable[[Any], None]] = []  # called with each tensor whose numbers are read unseen by autograd


def note_read(*tensors: Any) -> None:
    """Report that the numbers of these tensors influence something that no graph shows."""
    for reader in READERS:
        for tensor in tensors:
            reader(tensor)


class TensorData:
    """An array with PyTorch's names for its properties.

    `array` is a NumPy or CuPy array. A 0-d result is a NumPy scalar until it is written to or viewed.
    """

    __slots__ = ()
    array: Any

    @property
    def shape(self) -> Size:
        """The sizes of the dimensions."""
        return Size(self.array.shape)

    @property
    def dtype(self) -> dtype:
        """The type of the elements, for instance `minigrad.float32`."""
        return from_numpy_dtype(self.array.dtype)

    @property
    def device(self) -> device:
        """The device of the data."""
        return device_of(self.array)

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return int(self.array.ndim)

    def dim(self) -> int:
        """The number of dimensions."""
        return int(self.array.ndim)

    ndimension = dim

    def numel(self) -> int:
        """The number of elements."""
        return int(self.array.size)

    nelement = numel

    def element_size(self) -> int:
        """The size of one element in bytes."""
        return int(self.array.itemsize)

    def item(self) -> Any:
        """The value of a one-element tensor, as a Python number.

        Raises:
            RuntimeError: if the tensor has more than one element, or none.
        """
        if self.array.size != 1:
            raise RuntimeError(f"a Tensor with {self.array.size} elements cannot be converted to Scalar")
        note_read(self)
        return self.array.item()

    def tolist(self) -> Any:
        """The values as nested lists, or as a number for a 0-d tensor."""
        note_read(self)
        return self.array.tolist()

    def __len__(self) -> int:
        if self.array.ndim == 0:
            raise TypeError("len() of a 0-d tensor")
        return len(self.array)

    def __iter__(self) -> Iterator[Any]:
        if self.array.ndim == 0:
            raise TypeError("iteration over a 0-d tensor")
        return iter(self.unbind(0))  # type: ignore[attr-defined]  # an op, bound to Tensor by minigrad.ops

    def __bool__(self) -> bool:
        if self.array.size > 1:
            raise RuntimeError("Boolean value of Tensor with more than one value is ambiguous")
        if self.array.size == 0:
            raise RuntimeError("Boolean value of Tensor with no values is ambiguous")
        note_read(self)
        return bool(self.array)

    def __index__(self) -> int:
        if self.array.size != 1 or self.array.dtype.kind not in "iub":
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return int(self.item())
