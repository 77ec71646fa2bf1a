"""Defines what a backend is: an array module, and the few functions that NumPy has no name for.

NOTE 9 (one source for all devices). The ops are written with NumPy's names, and run on CuPy's arrays as they stand:
NumPy hands a call to the module of the array that it is about (`__array_ufunc__`, `__array_function__`), and
`np.zeros(3, like=x)` makes an array where `x` lies (NEPs 13, 18 and 35). On a CPU this costs nothing but the word
`like` (15 ns). So an op keeps to three rules: what it makes of a size, of numbers or of a list, it makes `like` an
operand (`device_like` where that may be a number); it calls only functions of CuPy too, with arguments that CuPy takes;
it never asks an array for a truth value or a number, which would wait for the device, unless its result needs it.
Arrays of two devices do not mix: CuPy refuses, and `minigrad.ops._dispatch.device_guard` says it in PyTorch's words.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Protocol

Shape = tuple[int, ...]


class Backend(Protocol):
    """A kind of device. Its devices are numbered from 0; `None` for an index is the current one."""

    array_type: type
    """The type of its arrays, which take part in NumPy's dispatch (NOTE 9)."""
    type: str
    """What `Tensor.device.type` says."""
    module: Any
    """Where NumPy's names are found for them."""

    def device_count(self) -> int: ...
    def current_device(self) -> int: ...
    def set_device(self, index: int) -> None: ...
    def on(self, index: int | None) -> AbstractContextManager[Any]:
        """A `with` block in which this device is the current one: new arrays lie there."""

    def index_of(self, array: Any) -> int:
        """The number of the device on which an array lies."""

    def from_host(self, array: Any, index: int | None) -> Any:
        """A copy of a NumPy array on a device."""

    def to_host(self, array: Any) -> Any:
        """A copy of an array as NumPy's. It waits for the device."""

    def move(self, array: Any, index: int | None) -> Any:
        """A copy on another device of this kind."""

    def address(self, array: Any) -> int:
        """Of the first element, in bytes."""

    def bounds(self, array: Any) -> tuple[int, int]:
        """The addresses of the first byte and of that after the last."""

    def storage(self, array: Any) -> tuple[int, int]:
        """The memory that was allocated for an array, or for the one that it is a view of: where it begins, and how
        many bytes it has. All views of it answer the same; the chain of `.base` may be broken."""

    def bytes_of(self, array: Any, low: int, size: int) -> Any:
        """`size` bytes from an address on, in the memory that an array lies in, as an array of uint8."""

    def as_strided(self, array: Any, shape: Shape, strides: Shape) -> Any:
        """A view of this shape, whose elements lie so many bytes apart."""

    def add_at(self, out: Any, index: Any, x: Any) -> None:
        """Add `x` to the elements of `out` at an index, as often as one is named."""

    def matmul(self, x: Any, y: Any) -> Any:
        """`x @ y`, of batches too; an operand that is turned is not copied."""

    def linalg_errors(self) -> AbstractContextManager[Any]:
        """A `with` block in which linear algebra waits for the device, to raise NumPy's LinAlgError where it fails."""

    def synchronize(self, index: int | None) -> None:
        """Wait until a device has done what it was given."""

    def memory_stats(self, index: int | None) -> dict[str, int]:
        """Bytes: `allocated` to arrays, the most `peak` of it since `reset_peak`, `reserved` by the pool, `free` and
        `total` of the device."""

    def reset_peak(self, index: int | None) -> None: ...
    def empty_cache(self) -> None:
        """Give back what the pool keeps."""

    def properties(self, index: int | None) -> dict[str, Any]:
        """`name`, `major` and `minor` of the compute capability, `total_memory` in bytes, `multi_processor_count`,
        `max_threads_per_multi_processor`."""

    def fused(self, name: str) -> Callable[..., Any] | None:
        """A kernel of `minigrad.backends.kernels`, as a function on arrays and scalars that broadcast; arrays for its
        results may follow, which it then changes. None: there is none, and array code has to do."""

    def fused_rows(self, name: str) -> Callable[..., Any] | None:
        """A kernel of `minigrad.backends.kernels` for rows, as a function on arrays of one shape and dtype that lie row
        by row; their last dimension is that of a row. None: as for `fused`."""

    def composite(self, function: Callable[..., Any], *args: Any) -> Any:
        """What `function`, of the array code of an op, gives for these arguments; None: the array code has to do."""

    def event(self, timing: bool, blocking: bool) -> Any:
        """A moment in the device's work: `record()`, `synchronize()`, `done`; `blocking`: waiting is sleeping."""

    def elapsed(self, start: Any, end: Any) -> float:
        """The milliseconds between two moments."""

    def capture(self) -> AbstractContextManager[Callable[[], None]]:
        """A `with` block whose work is noted, not done, on memory that stays its own; returns what does it."""

    def capturing(self) -> bool:
        """Whether what is given to the device now goes into a graph instead of being done."""
