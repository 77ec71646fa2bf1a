"""Prints tensors. Mirrors `torch/_tensor_str.py`.

`tensor_repr` returns, character for character, what PyTorch prints for the same tensor. The code shows why a tensor
of integral values prints as `1.`, when the exponent form is chosen, and where the dots of a large tensor come from. All
lessons compare printed tensors with PyTorch's.
"""

import math
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np

from minigrad._base.contexts import contextmanager, ensure
from minigrad._base.dtype import default_dtype
from minigrad.backends.registry import host

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
            self.scientific = spread(numbers) if OPTIONS.sci_mode is None else OPTIONS.sci_mode
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


def spread(values: list[float]) -> bool:
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


def graph_name(tensor: Any) -> str | None:
    """The name of the node that created the tensor; "Invalid" if getting it is an error."""
    try:
        node = tensor.grad_fn
    except RuntimeError:  # a view that was created and changed in place without grad mode has no history
        return "Invalid"
    return None if node is None else type(node).__name__


def tensor_repr(tensor: Any) -> str:
    """The result of `repr(tensor)`."""
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
    return f"Parameter containing:\n{text}" if is_parameter else text
