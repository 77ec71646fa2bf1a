"""Defines a backend: an array module, and the few functions for which NumPy has no name.

NOTE 9 (one source for all devices). The ops are written with NumPy's names, and run unchanged on CuPy's arrays: NumPy
passes a call to the module of its array arguments (`__array_ufunc__`, `__array_function__`), and `np.zeros(3, like=x)`
creates an array on the device of `x` (NEPs 13, 18 and 35). On a CPU this costs only the argument `like` (15 ns). So an
op keeps to three rules: what it creates from a size, numbers or a list, it creates `like` an operand (`device_like` if
that may be a number); it calls only functions, with arguments, that CuPy has too; and it asks an array for a truth
value or a number, which blocks until the device is done, only if its result needs it. Arrays of two devices do not mix:
CuPy refuses, and `minigrad.ops._dispatch.device_guard` raises PyTorch's error.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Protocol

Shape = tuple[int, ...]


class Backend(Protocol):
    """A type of device. Its devices are numbered from 0; `None` for an index is the current one."""

    array_type: type
    """The type of its arrays, which take part in NumPy's dispatch (NOTE 9)."""
    type: str
    """The value of `Tensor.device.type`."""
    module: Any
    """The module with NumPy's names for them."""

    def device_count(self) -> int: ...
    def current_device(self) -> int: ...
    def set_device(self, index: int) -> None: ...
    def on(self, index: int | None) -> AbstractContextManager[Any]:
        """A `with` block in which this device is current: new arrays are created there."""

    def index_of(self, array: Any) -> int:
        """The index of an array's device."""

    def from_host(self, array: Any, index: int | None) -> Any:
        """A copy of a NumPy array on a device."""

    def to_host(self, array: Any) -> Any:
        """A copy of an array as a NumPy array; it blocks until the device is done."""

    def move(self, array: Any, index: int | None) -> Any:
        """A copy on another device of this kind."""

    def address(self, array: Any) -> int:
        """The address of the first element, in bytes."""

    def bounds(self, array: Any) -> tuple[int, int]:
        """The addresses of the first byte and one past the last."""

    def storage(self, array: Any) -> tuple[int, int]:
        """The memory allocated for an array, or for the one that it is a view of: its address and its size in bytes.
        All views of it give the same answer, even if the chain of `.base` is broken."""

    def bytes_of(self, array: Any, low: int, size: int) -> Any:
        """`size` bytes from an address on, in the memory of an array, as a uint8 array."""

    def as_strided(self, array: Any, shape: Shape, strides: Shape) -> Any:
        """A view of this shape with these strides, in bytes."""

    def add_at(self, out: Any, index: Any, x: Any) -> None:
        """Add `x` to the elements of `out` at an index, repeats included."""

    def matmul(self, x: Any, y: Any) -> Any:
        """`x @ y`, also for batches; a transposed operand is not copied."""

    def linalg_errors(self) -> AbstractContextManager[Any]:
        """A `with` block in which linear algebra waits for the device and raises NumPy's LinAlgError if it fails."""

    def synchronize(self, index: int | None) -> None:
        """Wait until a device has finished its work."""

    def memory_stats(self, index: int | None) -> dict[str, int]:
        """Bytes: `allocated` to arrays, its `peak` since `reset_peak`, `reserved` by the pool, `free` and
        `total` on the device."""

    def reset_peak(self, index: int | None) -> None: ...
    def empty_cache(self) -> None:
        """Free the unused memory of the pool."""

    def properties(self, index: int | None) -> dict[str, Any]:
        """`name`, `major` and `minor` of the compute capability, `total_memory` in bytes, `multi_processor_count`,
        `max_threads_per_multi_processor`."""

    def fused(self, name: str) -> Callable[..., Any] | None:
        """A kernel of `minigrad.backends.kernels`, as a function on arrays and scalars that broadcast; arrays for its
        results may follow, which it then updates. None: there is none, and the array code runs."""

    def fused_rows(self, name: str) -> Callable[..., Any] | None:
        """A kernel of `minigrad.backends.kernels` for rows, as a function on row-major arrays of one shape and dtype;
        their last dimension is a row. None: as for `fused`."""

    def composite(self, function: Callable[..., Any], *args: Any) -> Any:
        """The backend's result for `function`, part of the array code of an op; None: the array code runs."""

    def event(self, timing: bool, blocking: bool) -> Any:
        """A point in the device's work: `record()`, `synchronize()`, `done`; `blocking`: waiting sleeps."""

    def elapsed(self, start: Any, end: Any) -> float:
        """The milliseconds between two events."""

    def capture(self) -> AbstractContextManager[Callable[[], None]]:
        """A `with` block whose work is captured, not run, in its own memory; it gives the function that runs it."""

    def capturing(self) -> bool:
        """Whether the device's work is now captured in a graph instead of being run."""
