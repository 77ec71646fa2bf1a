"""Builds parts of a trace: previews of values, names of files, lines of the user's code.

Arrays are read by their own attributes (`shape`, `dtype`, `tolist`, …), so nothing here imports an array library.
"""

import functools
import linecache
import math
import os
import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any

from minigrad._base.contexts import quiet
from minigrad._base.files import is_cell
from minigrad.trace.schema import Parts

__all__ = ["CELL", "LIBRARIES", "Builder", "Kept", "Large", "Whole", "in_libraries"]

LIBRARIES = [os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep,
             "<frozen importlib"]  # whose lines are not the user's, as those that import a module
STRIPPED: dict[str, tuple[list[str], list[str]]] = {}  # by path: the lines as `linecache` has them, and stripped
CELL = "cell "  # the names of a notebook's cells begin like this
PIECE = 1 << 16  # how many numbers of a large array are read at a time
BLOCK = 1 << 13  # how many of them are multiplied at a time
INSIDE = -1  # in place of a file's index: a file of this library


class Builder:
    """Adds values and files to a trace, equal ones once."""

    def __init__(self) -> None:
        self.parts = Parts()
        self._cells = 0
        self._values: dict[Any, int] = {}
        self._dtypes: dict[Any, str] = {}
        self._shapes: dict[tuple[int, ...], list[int]] = {}
        self.files: dict[str, int] = {}  # by path; INSIDE for those of this library

    def value(self, array: Any) -> int:
        """Return the index of the preview of a small array, or of a `Large` one."""
        whole = array.entries if isinstance(array, Whole) else None
        if isinstance(array, Kept):
            key: Any = array.digest
            whole = array.array if array.shown else None
        elif isinstance(array, Large):
            key = (array.dtype, array.shape, *array.stats.values(), None if whole is None else whole.tobytes())
        else:
            key = (array.dtype, array.shape, array.tobytes())
        index = self._values.get(key)
        if index is None:
            index = self._values[key] = len(self.parts.values)
            shown: dict[str, Any] = {"stats": array.stats} if isinstance(array, Large) else {"data": entries(array)}
            if whole is not None:
                shown["entries"] = entries(whole)
            if isinstance(array, Kept):
                self.parts.arrays[index] = array.array
            self.parts.values.append({"shape": self.shape(array.shape), "dtype": self.dtype(array.dtype), **shown})
        return index

    def shape(self, shape: tuple[int, ...]) -> list[int]:
        """Return a shape as a list; records of one shape share it."""
        known = self._shapes.get(shape)
        if known is None:
            known = self._shapes[shape] = list(shape)
        return known

    def dtype(self, dtype: Any) -> str:
        """Return the name of an array's dtype."""
        name = self._dtypes.get(dtype)
        if name is None:
            name = self._dtypes[dtype] = str(getattr(dtype, "name", dtype)).removeprefix("torch.")
        return name

    def user_frame(self, frame: FrameType | None) -> FrameType | None:
        """Return the nearest frame of the user's code, outside this library, from this one outwards; None without one.

        Frames are fetched one by one, since Python creates each on request.
        """
        known = self.files.get
        while frame is not None:
            name = frame.f_code.co_filename
            index = known(name)
            if (self.file(name) if index is None else index) >= 0:
                break
            frame = frame.f_back
        return frame

    def where(self, depth: int) -> tuple[int, int] | None:
        """Return file index and line of the user's code. `depth`: how many callers are known to be inside."""
        frame = self.user_frame(sys._getframe(depth))
        return None if frame is None else (self.files[frame.f_code.co_filename], frame.f_lineno)

    def file(self, path: str) -> int:
        """Return the index of a file, added with its lines if it is new; INSIDE for a file of this library."""
        known = self.files.get(path)
        if known is None:
            known = self.files[path] = INSIDE if self.is_library(path) else self._add_file(path)
        return known

    def is_library(self, path: str) -> bool:
        """Return whether a file is one of this library, or of another one whose code is left out of traces."""
        return in_libraries(path, len(LIBRARIES))

    def _add_file(self, path: str) -> int:
        if is_cell(path):
            self._cells += 1
            name = f"{CELL}{self._cells}"
        else:
            name = os.path.basename(path)
        self.parts.files.append({"name": name, "lines": list(lines_of(path))})
        return len(self.parts.files) - 1


@functools.lru_cache(4096)
def in_libraries(path: str, known: int) -> bool:
    """Return whether a file belongs to one of the `known` libraries."""
    return path.startswith(tuple(LIBRARIES))


def lines_of(path: str) -> list[str]:
    """Return the lines of a file, without what ends them. Those of a file that many recordings show are stripped once:
    `linecache` keeps the list that it has read until the file changes."""
    read = linecache.getlines(path)
    known = STRIPPED.get(path)
    if known is None or known[0] is not read:
        known = STRIPPED[path] = read, [line.rstrip("\r\n") for line in read]
    return known[1]


class Large:
    """What is kept of a large array: its statistics."""

    __slots__ = ("dtype", "shape", "stats")

    def __init__(self, array: Any) -> None:
        self.dtype, self.shape, self.stats = array.dtype, array.shape, statistics(array)


class Whole(Large):
    """The statistics of a large array, and a copy of all of it."""

    __slots__ = ("entries",)

    def __init__(self, large: Large, array: Any) -> None:
        self.dtype, self.shape, self.stats, self.entries = large.dtype, large.shape, large.stats, array.copy()


class Kept(Large):
    """The statistics of a large array, and the array itself, a copy. `shown`: its values are part of the trace too."""

    __slots__ = ("array", "digest", "shown")

    def __init__(self, array: Any, digest: bytes) -> None:
        super().__init__(array)
        self.array, self.digest, self.shown = array, digest, False


def entries(array: Any) -> list[Any]:
    """Return the values of a small array in row-major order, as JSON can hold them."""
    data = array.tolist() if len(array.shape) < 2 else array.ravel().tolist()
    if not array.shape:
        data = [data]
    if array.dtype.kind in "iub":
        return list(data)
    total = sum(data)  # a quick test: only unusual data goes to the slow one
    return [plain(x) for x in data] if not isinstance(total, float) or total - total != 0 else data


def plain(number: Any) -> Any:
    """Return a number as JSON can hold it: what JSON lacks becomes a string."""
    if isinstance(number, float):
        return number if number - number == 0 else "nan" if number != number else "inf" if number > 0 else "-inf"
    return number if isinstance(number, int) else str(number)


@quiet  # squares may overflow
def statistics(array: Any) -> dict[str, Any]:
    """What is recorded of a large array: statistics of its finite entries, the count of others, the norm of all."""
    flat = array.ravel()
    nan, count, total, squares, low, high = 0, 0, 0.0, 0.0, math.inf, -math.inf
    for values, square, missing in finite_pieces(flat):
        nan += missing
        squares += square
        if values.size:
            count += int(values.size)
            total += float(values.sum())
            low, high = min(low, values.min().item()), max(high, values.max().item())
    inf = int(flat.size) - nan - count
    if not count:
        norm = "nan" if nan else "inf" if inf else None
        return {"min": None, "max": None, "mean": None, "norm": norm, "nan": nan, "inf": inf}
    scale = 1.0
    if squares - squares != 0:  # finite values, but their squares are not
        scale = max(-low, high)
        squares = sum([float((values / scale).dot(values / scale)) for values, _, _ in finite_pieces(flat)])
    if flat.dtype.kind in "iub":
        low, high = int(low), int(high)
    return {"min": low, "max": high, "mean": plain(total / count),
            "norm": "nan" if nan else "inf" if inf else plain(scale * math.sqrt(squares)), "nan": nan, "inf": inf}


def finite_pieces(flat: Any) -> Iterator[tuple[Any, float, int]]:
    """Yield the finite entries as floats of 64 bits (magnitudes, if they are complex), the sum of their squares, and
    how many entries were nan. An array of NumPy's is read in pieces, which stay in the processor's cache and take
    little memory; BLAS would compute longer products in several threads, which wait for each other busily."""
    size = int(flat.size)
    piece, block = (PIECE, BLOCK) if hasattr(flat, "__array_interface__") else (size or 1, size or 1)
    for start in range(0, size, piece):
        values = flat[start:start + piece].astype("complex128" if flat.dtype.kind == "c" else "float64")
        if flat.dtype.kind == "c":
            values = abs(values)
        squares, nan = square_sum(values, block), 0
        if squares - squares != 0:  # there is an inf or a nan, or the squares are too large for a float
            numbers = values == values
            nan = int(values.size) - int(numbers.sum())
            values = values[numbers & (abs(values) != math.inf)]
            squares = square_sum(values, block)
        yield values, squares, nan


def square_sum(values: Any, block: int) -> float:
    """Return the sum of squares, with so many numbers in one product."""
    if values.size <= block:
        return float(values.dot(values))
    parts = [values[start:start + block] for start in range(0, values.size, block)]
    return sum([float(part.dot(part)) for part in parts])
