"""What is kept of a tensor's values: a copy, the statistics of a large one, or its shape and dtype alone.

`detail` says how much: "values" all of it, "ops" the values of small tensors, "modules" those of scalars only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from minigrad.recorder import Large

__all__ = ["DETAILS", "Previews", "array_of", "without_dispatch"]

SMALL = 64  # an array of at most so many numbers is copied, and has no statistics
DETAILS = {"values": None, "ops": SMALL, "modules": 1}  # how many numbers a tensor may have whose values are looked at
RECENT = 16  # so many storages are kept a little longer, with their statistics
USUAL = frozenset({torch.float32, torch.float64, torch.int64, torch.bool})
WIDER = {torch.bfloat16: torch.float32, torch.complex32: torch.complex64}  # NumPy has no such dtype
without_dispatch = torch._C._DisableTorchDispatch  # a block in which the reader does not see its own copies


class Previews:
    """Copies values, with `copy` for those that NumPy has.

    The same memory is looked at again and again: as a weight and its transpose, as a gradient that passes a view or
    becomes a `.grad`. Its statistics are taken once, until an op writes to any memory (`forget`). What NumPy writes to
    memory that it shares with a tensor, nobody sees.
    """

    def __init__(self, copy: Callable[[Any], Any], detail: str, whole: Callable[[Any, Any], Any]) -> None:
        self.copy, self.whole, self.most = copy, whole, DETAILS[detail]
        self.recent: dict[int, tuple[Any, Any]] = {}  # by storage: itself, so that it stays, and its statistics

    def forget(self) -> None:
        """Some memory was written to."""
        if self.recent:
            self.recent.clear()

    def all_values(self, t: Any) -> Any:
        """What is kept of a tensor that no op has made: all its values, if they are not too many."""
        kept = self.of(t)
        return self.whole(kept, array_of(t)) if isinstance(kept, Large) and not isinstance(kept, Unreadable) else kept

    def of(self, t: Any) -> Any:
        """What is kept of a tensor's values."""
        size = t.numel()
        if self.most is not None and size > self.most:
            return Unreadable(t)
        with without_dispatch():
            try:
                storage = t.untyped_storage() if size > SMALL and is_whole(t) else None
                known = None if storage is None else self.recent.get(storage._cdata)
                if known is not None and known[1].dtype == str(t.dtype).removeprefix("torch."):
                    return Same(t, known[1])
                kept = self.copy(array_of(t))
            except (NotImplementedError, RuntimeError, TypeError):  # a "meta" tensor, and what else has no memory
                return Unreadable(t)
        if storage is not None and isinstance(kept, Large):
            self.recent[storage._cdata] = storage, kept
            if len(self.recent) > RECENT:
                del self.recent[next(iter(self.recent))]
        return kept


class Unreadable(Large):
    """What is kept of a tensor whose values nobody can look at, or is to look at."""

    def __init__(self, t: Any) -> None:
        self.dtype, self.shape = t.dtype, tuple(t.shape)
        self.stats = {"min": None, "max": None, "mean": None, "norm": None, "nan": 0, "inf": 0}


class Same(Large):
    """The statistics of memory that is known already, in another shape."""

    def __init__(self, t: Any, known: Large) -> None:
        self.dtype, self.shape, self.stats = known.dtype, tuple(t.shape), known.stats


def is_whole(t: Any) -> bool:
    """Whether a tensor has each element of its memory once, in whatever order."""
    if t.layout is not torch.strided or t.is_neg() or t.untyped_storage().nbytes() != t.nbytes:
        return False
    expected = 1
    for stride, size in sorted(zip(t.stride(), t.shape)):
        if size != 1 and stride != expected:
            return False
        expected *= size
    return True


def array_of(t: Any) -> Any:
    """The values of a tensor as a NumPy array, of which no recorder is told.

    Raises:
        NotImplementedError, RuntimeError or TypeError: if it has no values, as one of the device "meta".
    """
    with without_dispatch():
        return plain(t).numpy(force=True)  # `force` detaches it, too


def plain(t: Any) -> Any:
    """A tensor as NumPy can have it: dense, of a dtype that it knows, without the wrappers of `torch.func`."""
    while torch._C._functorch.is_functorch_wrapped_tensor(t):
        t = torch._C._functorch.get_unwrapped(t)
    if t.dtype in USUAL and t.layout is torch.strided:
        return t
    t = t.detach() if t.layout is torch.strided else t.detach().to_dense()
    narrow = t.dtype.itemsize == 1 and t.dtype.is_floating_point
    return t.float() if narrow else t.to(WIDER[t.dtype]) if t.dtype in WIDER else t
