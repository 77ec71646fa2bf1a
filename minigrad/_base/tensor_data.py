"""Defines the data of a tensor, its array, shape, dtype, and values as Python numbers, and how it is printed.

`TensorData` is the base class of `Tensor`, to which core/ adds autograd: nothing here is differentiable. `tensor_repr`
returns, character for character, what PyTorch prints for the same tensor; it mirrors `torch/_tensor_str.py`. The code
shows why a tensor of integral values prints as `1.`, when the exponent form is chosen, and where the dots of a large
tensor come from.
"""

import math
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np

from minigrad._base.contexts import contextmanager, ensure
from minigrad._base.device import device
from minigrad._base.dtype import Size, default_dtype, dtype, from_numpy_dtype
from minigrad.backends.registry import device_of, host

READERS: list[Callable[[Any], None]] = []  # called with each tensor whose numbers are read unseen by autograd


def note_read(*tensors: Any) -> None:
    """Report that the numbers of these tensors influence something that no graph shows."""
    for reader in READERS:
        for tensor in tensors:
            reader(tensor)


NEW = tuple.__new__  # to look it up takes a tenth of the time of `shape`


class TensorData:
    """An array with PyTorch's names for its properties.

    `array` is a NumPy or CuPy array. A 0-d result is a NumPy scalar until it is written to or viewed.
    """

    __slots__ = ()
    array: Any

    @property
    def shape(self) -> Size:
        """The sizes of the dimensions."""
        return NEW(Size, self.array.shape)  # without a look at each, which are integers

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
        """The value of a one-element tensor, as a Python number. Raises RuntimeError if the tensor has more than one
        element, or none."""
        note_read(self)
        try:
            return self.array.item()
        except ValueError:  # NumPy's; a batch of `vmap` has an error of its own, whatever its size
            message = f"a Tensor with {self.array.size} elements cannot be converted to Scalar"
            raise RuntimeError(message) from None

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
        if self.array.size == 0:
            raise RuntimeError("Boolean value of Tensor with no values is ambiguous")
        note_read(self)
        try:
            return bool(self.array)
        except ValueError:  # as in `item`
            raise RuntimeError("Boolean value of Tensor with more than one value is ambiguous") from None

    def __index__(self) -> int:
        if self.array.size != 1 or self.array.dtype.kind not in "iub":
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return int(self.item())


Array = np.ndarray[Any, Any]


DEFAULT: dict[str, Any] = {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80, "sci_mode": None}
PROFILES = {"default": DEFAULT, "short": DEFAULT | {"precision": 2, "edgeitems": 2},
            "full": DEFAULT | {"threshold": math.inf}}
OPTIONS = SimpleNamespace(**DEFAULT)  # the settings of `set_printoptions`


def set_printoptions(precision: int | None = None, threshold: float | None = None, edgeitems: int | None = None,
                     linewidth: int | None = None, profile: str | None = None, sci_mode: bool | None = None) -> None:
    """Change how tensors print; omitted options keep their values, except `sci_mode`, which None resets to automatic.

    `precision`: digits after the point. `threshold`: a tensor of more elements is shortened. `edgeitems`: how many
    elements are then shown at each end of each dimension. `linewidth`: characters per line. `profile`: "default",
    "short" or "full". `sci_mode`: exponent form always (True), never (False), or where it helps (None).
    """
    given = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    vars(OPTIONS).update(PROFILES.get(profile or "", {}))
    vars(OPTIONS).update({name: value for name, value in given.items() if value is not None}, sci_mode=sci_mode)


def get_printoptions() -> dict[str, Any]:
    """The settings now, as keyword arguments for `set_printoptions`."""
    return dict(vars(OPTIONS))


@contextmanager
def printoptions(**options: Any) -> Iterator[None]:
    """Use these settings in a `with` block."""
    with ensure(vars(OPTIONS).update, get_printoptions()):
        set_printoptions(**options)
        yield


class Writer:
    """The format of a tensor's elements: the same for all, padded to the same width.

    The formats of floats: integral (`1.`) if every element is an integer, scientific if the largest element is more
    than 1000 times the smallest, or above 1e8, or the smallest is below 1e-4; fixed (`1.5000`) else. Zeros, infinities
    and NaNs are ignored.
    """

    def __init__(self, values: Array) -> None:
        self.is_float = values.dtype.kind == "f"
        self.whole, self.scientific, self.width = True, False, 1
        numbers: list[Any] = values.ravel().tolist()
        if self.is_float:
            numbers = [v for v in numbers if v and math.isfinite(v)]
            if not numbers:
                return
            self.whole = all(v == math.ceil(v) for v in numbers)
            self.scientific = needs_exponent(numbers) if OPTIONS.sci_mode is None else OPTIONS.sci_mode
        self.width = max([self.width, *[len(self.bare(v)) for v in numbers]])

    def bare(self, value: Any) -> str:
        """One element, without padding."""
        if not self.is_float:
            return str(value)
        if self.scientific:
            return f"{value:.{OPTIONS.precision}e}"
        if not self.whole:
            return f"{value:.{OPTIONS.precision}f}"
        return f"{value:.0f}." if math.isfinite(value) else f"{value:.0f}"

    def __call__(self, value: Any) -> str:
        return self.bare(value).rjust(self.width)


def needs_exponent(values: list[float]) -> bool:
    """Whether these finite non-zero values are too different, or too far from 1, for the fixed form."""
    smallest, largest = min(map(abs, values)), max(map(abs, values))
    return largest / smallest > 1000.0 or largest > 1.0e8 or smallest < 1.0e-4


def corners(array: Array) -> Array:
    """The elements that a shortened tensor shows: only they determine its format and width."""
    edge = OPTIONS.edgeitems
    if not edge:
        return array if array.ndim < 2 else array[:0]
    for axis, n in enumerate(array.shape):
        if n > 2 * edge:
            # by an index: `take` would first copy a non-contiguous array
            index: Any = (*(slice(None),) * axis, [*range(edge), *range(n - edge, n)])
            array = array[index]
    return array


def write_row(array: Array, indent: int, shorten: bool, write: Writer) -> str:
    """One row, broken into lines of `linewidth`."""
    edge = OPTIONS.edgeitems
    if shorten and not edge:
        parts = ["..."]
    elif shorten and len(array) > 2 * edge:
        parts = [*map(write, array[:edge].tolist()), " ...", *map(write, array[-edge:].tolist())]
    else:
        parts = [*map(write, array.tolist())]
    per_line = max(1, (OPTIONS.linewidth - indent) // (write.width + 2))
    lines = [", ".join(parts[i:i + per_line]) for i in range(0, len(parts), per_line)]
    return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"


def write_array(array: Array, indent: int, shorten: bool, write: Writer) -> str:
    """An array in brackets; blank lines between blocks, one more for each additional dimension."""
    if array.ndim == 0:
        return write(array.item())
    if array.ndim == 1:
        return write_row(array, indent, shorten, write)
    edge = OPTIONS.edgeitems
    if shorten and len(array) > 2 * edge:
        shown: list[Array | None] = [*array[:edge], None, *(array[-edge:] if edge else ())]
    else:
        shown = [*array]
    parts = ["..." if part is None else write_array(part, indent + 1, shorten, write) for part in shown]
    return "[" + ("," + "\n" * (array.ndim - 1) + " " * (indent + 1)).join(parts) + "]"


def write_data(array: Array, indent: int) -> str:
    """All elements or, if there are more than `threshold`, the corners."""
    if array.size == 0:
        return "[]"
    shorten = array.size > OPTIONS.threshold
    return write_array(array, indent, shorten, Writer(corners(array) if shorten else array))


SUFFIXES: list[Callable[[Any], str | None]] = []  # what else tensors show at present: forward mode, a tangent


def suffixes(tensor: Any, array: Array) -> Iterator[str]:
    """Yield what follows the data: device, size if it is not visible, dtype if it is not the default, graph."""
    if tensor.device.type != "cpu":
        yield f"device='{tensor.device}'"
    if (array.size == 0 and array.ndim != 1) or (array.size and not OPTIONS.edgeitems):
        yield f"size={array.shape}"
    usual = tensor.dtype is default_dtype()
    if not usual and (array.size == 0 or array.dtype not in (np.int64, np.bool_)):
        yield f"dtype={tensor.dtype}"
    name = graph_name(tensor)
    if name is not None:
        yield f"grad_fn=<{name}>"
    elif tensor.requires_grad:
        yield "requires_grad=True"
    for suffix in SUFFIXES:
        if (text := suffix(tensor)) is not None:
            yield text


def graph_name(tensor: Any) -> str | None:
    """The name of the node that created the tensor; "Invalid" if getting it is an error."""
    try:
        node = tensor.grad_fn
    except RuntimeError:  # a view that was created and changed in place without grad mode has no history
        return "Invalid"
    return None if node is None else type(node).__name__


def tensor_repr(tensor: Any) -> str:
    kind = type(tensor).__name__
    is_parameter = any(base.__name__ == "Parameter" for base in type(tensor).__mro__)
    prefix = "tensor(" if kind in ("Tensor", "Parameter", "Buffer") else f"{kind}("
    array = host(tensor.array)
    array = np.asarray(array) if isinstance(array, np.generic) else array
    parts = [prefix + write_data(array, len(prefix))]
    length = len(parts[0]) - parts[0].rfind("\n") + 1
    for suffix in suffixes(tensor, array):
        if length + len(suffix) + 2 > OPTIONS.linewidth:
            parts.append(",\n" + " " * len(prefix) + suffix)
            length = len(prefix) + len(suffix)
        else:
            parts.append(", " + suffix)
            length += len(suffix) + 2
    text = "".join(parts) + ")"
    if not is_parameter and getattr(tensor, "_is_param", False):  # of a subclass
        return f"Parameter({text})"
    return f"Parameter containing:\n{text}" if is_parameter else text
