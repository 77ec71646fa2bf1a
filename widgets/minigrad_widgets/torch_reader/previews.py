"""What is kept of a tensor's values: a copy, the statistics of a large one, or only its shape and dtype.

`detail` says how much: "arrays" everything, "values" copies of small tensors and statistics of large ones,
"ops" the values of small tensors, "modules" those of scalars only.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import prod
from typing import Any

import torch

from minigrad.recorder import Large
from minigrad_widgets.torch_reader.arrivals import Arrivals, Late, Unreadable
from minigrad_widgets.torch_reader.private import PRIVATE

__all__ = ["DETAILS", "PLAIN", "Previews", "array_of", "bytes_of", "is_jagged", "shape_of"]

PLAIN = frozenset({torch.Tensor, torch.nn.Parameter})
STRIDED = torch.strided
COMPRESSED = {torch.sparse_csr: ("crow", "col"), torch.sparse_bsr: ("crow", "col"),
              torch.sparse_csc: ("ccol", "row"), torch.sparse_bsc: ("ccol", "row")}
PARTS = {torch.sparse_coo: ("_values", "_indices"),
         **{layout: ("values", *[f"{name}_indices" for name in names]) for layout, names in COMPRESSED.items()}}
LARGEST = 1 << 20  # how many numbers a tensor that is not dense may have, and be made dense to be shown
SMALL = 64  # an array of at most this many numbers is copied, and has no statistics
# How many numbers a tensor whose values are read may have.
DETAILS = {"arrays": None, "values": None, "ops": SMALL, "modules": 1}
RECENT = 16  # how many storages are kept a little longer, with their statistics
USUAL = frozenset({torch.float32, torch.float64, torch.int64, torch.bool})
WIDER = {torch.bfloat16: torch.float32, torch.complex32: torch.complex64}  # NumPy has no such dtype


class Previews:
    """Copies values, with `copy` for those whose dtype NumPy has.

    The same memory is read again and again: as a weight and its transpose, as a gradient that passes a view or becomes
    a `.grad`. Its statistics are computed once, until an op writes to any memory (`forget`). NumPy's writes to memory
    that it shares with a tensor go unnoticed.
    """

    def __init__(self, copy: Callable[[Any], Any], detail: str, whole: Callable[[Any, Any], Any]) -> None:
        self.copy, self.whole, self.most, self.shared = copy, whole, DETAILS[detail], detail != "arrays"
        self.arrivals = Arrivals()
        self.unread: dict[Any, Unreadable] = {}  # by dtype and shape: what stands for values that are not read
        self.recent: dict[int, tuple[Any, Any]] = {}  # by storage: itself, to keep it alive, and its statistics

    def forget(self) -> None:
        """Forget statistics: some memory was written to."""
        if self.recent:
            self.recent.clear()

    def all_values(self, t: Any) -> Any:
        """Return what is kept of a tensor that no op made: all its values, if they are not too many."""
        kept = self.of(t, entire=True)
        return self.whole(kept, array_of(t)) if isinstance(kept, Large) and not isinstance(kept, Unreadable) else kept

    def of(self, t: Any, entire: bool = False) -> Any:
        """Return what is kept of a tensor's values. `entire`: all of them, if they are late and not too many."""
        if self.most is not None and type(t) in PLAIN and t.layout is STRIDED and not t.is_nested:
            if t.numel() > self.most and not t.is_meta:
                key = t.dtype, t.shape
                return self.unread.get(key) or self.unread.setdefault(key, Unreadable(t.dtype, tuple(t.shape)))
        size = LARGEST + 1 if t.is_nested else t.numel()
        if self.most is not None and size > self.most or t.layout is not torch.strided and size > LARGEST:
            return Unreadable(described(t), shape_of(t))
        with PRIVATE.without_dispatch():
            try:
                storage = t.untyped_storage() if self.shared and size > SMALL and is_whole(t) else None
                known = None if storage is None or entire and not t.is_cpu else self.recent.get(storage._cdata)
                if known is not None and known[1].dtype in (t.dtype, str(t.dtype).removeprefix("torch.")):
                    if isinstance(known[1], Late):
                        return Late(t, partial(Same, t.shape, known[1]))
                    return Same(t.shape, known[1])
                kept = self.copy(array_of(t)) if t.is_cpu else self.late(t, entire)
            except (NotImplementedError, RuntimeError, TypeError):  # a "meta" tensor, or another without memory
                return Unreadable(described(t), shape_of(t))
        if storage is not None and isinstance(kept, (Large, Late)):
            self.recent[storage._cdata] = storage, kept
            if len(self.recent) > RECENT:
                del self.recent[next(iter(self.recent))]
        return kept

    def late(self, t: Any, entire: bool) -> Any:
        """Return what will be kept of the values of a tensor on a device."""
        t = PRIVATE.unwrapped(t)
        if PRIVATE.without_memory(t):
            return self.copy(array_of(t))
        return self.arrivals.of(t if t.layout is torch.strided else t.to_dense(), partial(self.arrived, entire))

    def arrived(self, entire: bool, t: Any) -> Any:
        """Return what is kept of the copy of a tensor, which has arrived."""
        array = array_of(t)
        kept = self.copy(array)
        return self.whole(kept, array) if entire and isinstance(kept, Large) else kept


class Same(Large):
    """The statistics of memory that is already known, in another shape."""

    def __init__(self, shape: Any, known: Any) -> None:
        known = known.arrived() if isinstance(known, Late) else known
        self.dtype, self.shape, self.stats = known.dtype, tuple(shape), known.stats


def shape_of(t: Any) -> tuple[int, ...]:
    """Return the shape of a tensor; of a nested one, whose rows have several lengths, how many numbers it holds."""
    if t.is_nested:
        return (int(t.values().numel() if t.layout is torch.jagged else t.numel()),)
    shape = tuple(t.shape)
    return shape if type(t) in PLAIN else tuple([int(size) for size in shape])  # a subclass may have sizes of its own


class Kind(str):
    """A dtype with what else sets a tensor apart from a plain one: its layout, device or class."""

    itemsize = 0


def described(t: Any) -> Any:
    """Return the dtype of a tensor, for one that is not plain as a `Kind`."""
    if type(t) in PLAIN and t.layout is torch.strided and not t.is_nested and not t.is_meta:
        return t.dtype
    words = [str(t.dtype).removeprefix("torch.")]
    if t.layout is not torch.strided:
        words.append(str(t.layout).removeprefix("torch.").lstrip("_"))
    if t.is_nested:
        words.append("nested")
    if t.device.type == "meta":
        words.append("meta")
    if type(t) not in PLAIN:
        words.append(type(t).__name__)
    if len(words) == 1:
        return t.dtype
    kind = Kind(" ".join(words))
    kind.itemsize = t.dtype.itemsize
    return kind


def is_jagged(t: Any) -> bool:
    """Return whether a tensor is a jagged one: asked for its node, it may wait for ever."""
    return type(t) not in PLAIN and t.layout is torch.jagged


def bytes_of(t: Any) -> int:
    """Return how many bytes the numbers of a tensor take; of a sparse one, those that it stores."""
    if type(t) in PLAIN and t.layout is torch.strided and not t.is_nested:
        return int(t.nbytes)
    if t.layout in PARTS:
        return sum(bytes_of(getattr(t, part)()) for part in PARTS[t.layout])
    return int(t.element_size() * prod(shape_of(t)))


def is_whole(t: Any) -> bool:
    """Return whether a tensor has each element of its memory exactly once, in any order."""
    if t.layout is not STRIDED or t.untyped_storage().nbytes() != t.nbytes or t.is_neg():
        return False
    if t.is_contiguous():
        return True
    expected = 1
    for stride, size in sorted(zip(t.stride(), t.shape)):
        if size != 1 and stride != expected:
            return False
        expected *= size
    return True


def array_of(t: Any) -> Any:
    """Return the values of a tensor as a NumPy array, unseen by any recorder.

    Raises:
        NotImplementedError, RuntimeError or TypeError: if it has no values, like one on the device "meta".
    """
    with PRIVATE.without_dispatch():
        return plain(t).numpy(force=True)  # `force` also detaches it


def plain(t: Any) -> Any:
    """Return a tensor in a form for NumPy: dense, of a dtype that it has, without the wrappers of `torch.func`."""
    t = PRIVATE.unwrapped(t)
    if PRIVATE.without_memory(t):
        return torch.zeros(t.shape, dtype=t.dtype)
    if t.dtype in USUAL and t.layout is torch.strided:
        return t
    t = t.detach() if t.layout is torch.strided else t.detach().to_dense()
    narrow = t.dtype.itemsize == 1 and t.dtype.is_floating_point
    return t.float() if narrow else t.to(WIDER[t.dtype]) if t.dtype in WIDER else t
