"""Defines a backend, an array module and the few functions for which NumPy has no name, and finds the one that holds an
array or serves a device.

The CPU needs none of the methods of `Backend`: its arrays are NumPy's own. This file turns `device="cuda"` into a
handle, which NumPy's `like` uses to create arrays on a device, and raises if there is none.

NOTE 9 (one source for all devices). The ops are written with NumPy's names, and run unchanged on CuPy's arrays: NumPy
passes a call to the module of its array arguments (`__array_ufunc__`, `__array_function__`), and `np.zeros(3, like=x)`
creates an array on the device of `x` (NEPs 13, 18 and 35). On a CPU this costs only the argument `like` (15 ns). So an
op keeps to three rules: what it creates from a size, numbers or a list, it creates `like` an operand (`device_like` if
that may be a number); it calls only functions, with arguments, that CuPy has too; and it asks an array for a truth
value or a number, which blocks until the device is done, only if its result needs it. Arrays of two devices do not mix:
CuPy refuses, and `minigrad.ops._dispatch.device_guard` raises PyTorch's error.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.lib.array_utils import byte_bounds
from numpy.lib.stride_tricks import as_strided as strided

from minigrad._base.contexts import contextmanager, ensure
from minigrad._base.device import ACCELERATOR, CPU, NO_CUPY, NO_GPU, Default, device
from minigrad._base.dtype import BFLOAT16
from minigrad._base.optional import MissingExtra, optional

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


HOST = np.empty(0)  # the handle of the CPU, for NumPy's `like`
ARRAYS: tuple[type, ...] = (np.ndarray, np.generic)
FUSED = (np.dtype("float32"), np.dtype("float64"))
BACKENDS: dict[str, Backend] = {}
BACKEND_OF: dict[type, Backend] = {}
BROKEN: dict[str, str] = {}  # by device type: why its backend did not load
CPU_ONLY = "minigrad has bfloat16 on the CPU only.\n\nConvert the tensor first: x.float(), or x.half()."
MODULES = {"cuda": ("minigrad.backends.cupy", "cuda12x")}


def install(backend: Backend) -> None:
    global ARRAYS
    BACKENDS[backend.type] = BACKEND_OF[backend.array_type] = backend
    ARRAYS = (*ARRAYS, backend.array_type)


def serve(backend: Backend) -> None:
    """Use a backend for the arrays of its type, without a device name."""
    global ARRAYS
    BACKEND_OF[backend.array_type], ARRAYS = backend, (*ARRAYS, backend.array_type)


@contextmanager
def serving(backend: Backend) -> Iterator[None]:
    """A block in which a backend is used for the arrays of its type, without a device name."""
    global ARRAYS
    serve(backend)
    try:
        yield
    finally:
        del BACKEND_OF[backend.array_type]
        ARRAYS = tuple([each for each in ARRAYS if each is not backend.array_type])


def find_backend(kind: str) -> Backend | None:
    """The backend of a type of device, loaded on first use; None if it is not installed or does not load, which is not
    tried again."""
    if kind not in BACKENDS and kind in MODULES and kind not in BROKEN:
        try:
            install(optional(*MODULES[kind]).BACKEND)
        except MissingExtra:
            return None
        except ModuleNotFoundError:  # of a module of minigrad: a bug in minigrad
            raise
        except ImportError as error:  # CuPy is installed, but its libraries are missing or of another version
            BROKEN[kind] = str(error)
        except OSError as error:  # it creates a folder for compiled kernels in the user's home
            BROKEN[kind] = f"{error}. Set CUPY_CACHE_DIR to a writable folder for its kernels"
    return BACKENDS.get(kind)


def count(kind: str) -> int:
    """The number of devices of a type."""
    backend = find_backend(kind)
    return 0 if backend is None else backend.device_count()


ACCELERATOR.append(partial(count, "cuda"))


def backend_for(kind: str) -> Backend:
    """The backend of a type of device that can be used.

    Raises:
        AssertionError: PyTorch's for a build without CUDA, if CuPy is not installed or does not load.
        RuntimeError: PyTorch's for a machine without a GPU.
        NotImplementedError: PyTorch's for a type that it knows but was not built for.
    """
    backend = find_backend(kind)
    if backend is not None and backend.device_count():
        return backend
    if backend is not None:
        raise RuntimeError("Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU and "
                           f"installed a driver from http://www.nvidia.com/Download/index.aspx{NO_GPU}")
    if kind == "cuda":
        why = f"\n\nCuPy is installed, but does not load: {BROKEN[kind]}" if kind in BROKEN else NO_CUPY
        raise AssertionError(f"Torch not compiled with CUDA enabled{why}")
    if kind == "xpu":
        raise AssertionError(f"Torch not compiled with XPU enabled{NO_GPU}")
    raise NotImplementedError("Could not run 'aten::empty.memory_format' with arguments from the "
                              f"'{kind.upper()}' backend.{NO_GPU}")


class MultiDevice:
    """Whether tensors were put on a device other than the current one. From then on it matters where tensors are:
    recording checks it, and ops run under guards (`minigrad.ops._dispatch.device_guard`)."""

    active = False
    callbacks: ClassVar[list[Callable[[bool], None]]] = []

    @classmethod
    def on_change(cls, callback: Callable[[bool], None]) -> None:
        """Call `callback(True)` when a device is first named that is not current (at once if that has happened), and
        `callback(False)` when that is reset."""
        cls.callbacks.append(callback)
        if cls.active:
            callback(True)

    @classmethod
    def set_active(cls, active: bool = True) -> None:
        """Note that a device is named that is not current; `active=False` resets it and removes all guards."""
        if cls.active is not active:
            cls.active = active
            for callback in cls.callbacks:
                callback(active)


def use_device_of(array: Any) -> None:
    backend = BACKEND_OF.get(type(array))
    if backend is not None and backend.index_of(array) != backend.current_device():
        backend.set_device(backend.index_of(array))


@contextmanager
def device_guard(array: Any = None) -> Iterator[None]:
    """A block in which the device of an array is current; the previous one is restored, whatever the block did."""
    before = [(backend, backend.current_device()) for backend in BACKENDS.values() if backend.device_count()]

    def put_back() -> None:
        for backend, index in before:
            backend.set_device(index)

    with ensure(put_back):
        use_device_of(array)
        yield


def check_in_use(result: Any, operands: Sequence[Any]) -> None:
    """Raise an error for work on arrays of a device that is not current and that no guard saw: its result is on the
    current device, while PyTorch's stays with the operands. PyTorch's error for operands on two devices."""
    backend = BACKEND_OF.get(type(result))
    if backend is None:
        return
    there = [x for x in operands if type(x) is backend.array_type]
    check_devices(*there)
    current = backend.index_of(result)
    for x in there:
        if (index := backend.index_of(x)) != current:
            kind = backend.type
            raise RuntimeError(f"minigrad computes on the current device, {kind}:{current}, but a tensor is on "
                               f"{kind}:{index}.\n\nPut the op into `with minigrad.cuda.device({index}):`.")


def resolve_device(asked: str | device | int | None) -> device:
    """The requested device, with its index; None is the device for new tensors. Raises RuntimeError for an index
    without a device; see `backend_for` for the others."""
    where = Default.device if asked is None else asked if isinstance(asked, device) else device(asked)
    if where.type == "cpu":
        return CPU
    backend = backend_for(where.type)
    if where.index is None:
        return device(where.type, backend.current_device())
    if where.index >= backend.device_count():
        raise RuntimeError(f"CUDA error: invalid device ordinal\n\nThere are {backend.device_count()} devices of type "
                           f"'{where.type}', numbered from 0.")
    if where.index != backend.current_device():
        MultiDevice.set_active()
    return where


class MixedDeviceMetadata(tuple[Any, ...]):
    """The `Node.input_metadata` of operands of which one is a CPU number and another is on a device: for each input the
    (shape, dtype, handle) of its gradient."""

    __slots__ = ()


def check_copy(backend: Backend) -> None:
    """Raise PyTorch's error for a copy from the CPU to a device while a CUDA graph is captured."""
    if backend.capturing():
        raise RuntimeError("CUDA error: operation not permitted when stream is capturing\n\nCPU values cannot be "
                           "copied to a GPU during capture: each replay would read memory that is gone. Create the "
                           "tensor before.")


class DeviceHandle:
    """A device, for NumPy's `like`: `np.zeros(3, like=DeviceHandle(backend, 1))`."""

    __slots__ = ("backend", "index")

    def __init__(self, backend: Backend, index: int) -> None:
        self.backend, self.index = backend, index

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DeviceHandle) and (self.backend, self.index) == (other.backend, other.index)

    def __hash__(self) -> int:
        return hash((self.backend, self.index))

    def __array_function__(self, func: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if func.__name__ in ("array", "asarray") and type(args[0]) is not self.backend.array_type:
            check_copy(self.backend)
        kwargs.pop("device", None)  # NumPy's own `ones`, `full` and `eye` pass on arguments that CuPy's do not accept
        make = getattr(self.backend.module, func.__name__)
        if self.index == self.backend.current_device():
            return make(*args, **kwargs)
        with self.backend.on(self.index):
            return make(*args, **kwargs)


def device_handle(given: str | device | int | None, dtype: Any = None) -> Any:
    """The handle of the device for a new tensor, of a dtype; see `resolve_device` for the errors."""
    if dtype is BFLOAT16:
        if resolve_device(given) is not CPU:
            raise RuntimeError(CPU_ONLY)
        return BFLOAT16.handle
    if given is None and Default.device is CPU:
        return HOST
    where = resolve_device(given)
    return HOST if where is CPU else DeviceHandle(backend_for(where.type), where.index or 0)


def placed(array: Any, given: str | device | int | None) -> Any:
    """A new array on the device for a new tensor; one that is already on a device stays there if none is given."""
    if given is None and (Default.device is CPU or type(array) in BACKEND_OF):
        return array
    return moved(array, device_handle(given))


def moved(array: Any, handle: Any) -> Any:
    """An array on the device of a handle; the array itself if it is there."""
    backend = BACKEND_OF.get(type(array))
    if is_host(handle):
        return host(array)
    if backend is None:
        if array.dtype is BFLOAT16:
            raise RuntimeError(CPU_ONLY)
        check_copy(handle.backend)
        return handle.backend.from_host(np.asarray(array), handle.index)
    return array if backend.index_of(array) == handle.index else handle.backend.move(array, handle.index)


def is_array(value: Any) -> bool:
    """Whether an object is an array of any backend, or a NumPy scalar."""
    return isinstance(value, ARRAYS)


def backend_of(array: Any) -> Backend | None:
    """The backend that holds an array; None for a NumPy array, or a number."""
    return BACKEND_OF.get(type(array))


def by_kernel(name: str, x: Any, *others: Any) -> Any:
    """The result of a device's kernel (`minigrad.backends.kernels`), in the layout of the first array; the others may
    be numbers. None if there is no kernel: on the CPU, for Tensors, and for dtypes other than float32 and float64."""
    backend = BACKEND_OF.get(type(x))
    if backend is None or x.dtype not in FUSED or any(is_array(v) and not alike(x, v) for v in others):
        return None
    kernel = backend.fused(name)
    if kernel is None:
        return None
    return kernel(x, *others) if x.flags.c_contiguous else kernel(x, *others, np.empty_like(x))


def by_row_kernel(name: str, dim: int, *arrays: Any) -> Any:
    """The result of a device's kernel for rows, for arrays of one shape along a dimension, row-major. None if there is
    no kernel, as for `by_kernel`."""
    x = arrays[0]
    backend = BACKEND_OF.get(type(x))
    if backend is None or x.dtype not in FUSED or not (x.size and x.ndim) or any(
            type(v) is not type(x) or v.dtype != x.dtype or v.shape != x.shape for v in arrays):
        return None
    kernel = backend.fused_rows(name)
    if kernel is None:
        return None
    rows = [v.swapaxes(dim, -1) for v in arrays]
    result = kernel(*[v if v.flags.c_contiguous else v.copy() for v in rows]).swapaxes(dim, -1)
    return result if result.flags.c_contiguous else result.copy()


def composite(function: Callable[..., Any], x: Any, y: Any, *others: Any) -> Any:
    """The result of a backend that replaces the whole of `function`, as the compiler does for convolutions; None if it
    runs the array code that calls this. The backend is that of the first array, or of the second if that has none."""
    backend = BACKEND_OF.get(type(x)) or BACKEND_OF.get(type(y))
    return None if backend is None else backend.composite(function, x, y, *others)


def alike(x: Any, other: Any) -> bool:
    """Whether an array on a device and another can share a kernel, whose result has the shape of the first."""
    return type(other) is type(x) and other.dtype == x.dtype and (other.shape == x.shape or (
        other.ndim <= x.ndim and all(n in (1, m) for n, m in zip(other.shape[::-1], x.shape[::-1]))))


def on_host(backend: Any) -> bool:
    """Whether a backend is for NumPy's own arrays, or for batches of them (batched.py). A program that is being traced
    has the CPU as its device, too, but its arrays must not be mixed with NumPy's."""
    return backend is None or getattr(backend, "has_batches", False)


def device_of(array: Any) -> device:
    """The device of an array."""
    backend = BACKEND_OF.get(type(array))
    return CPU if backend is None or on_host(backend) else device(backend.type, backend.index_of(array))


def check_devices(*arrays: Any) -> None:
    """Raise PyTorch's error for arrays on several devices."""
    devices = list(dict.fromkeys([str(device_of(v)) for v in arrays]))
    if len(devices) > 1:
        devices.sort(key=lambda name: name == "cpu")
        raise RuntimeError("Expected all tensors to be on the same device, but found at least two devices, "
                           f"{devices[0]} and {devices[1]}!\n\nMove one of them: x.to({devices[0]!r}).")


def device_like(array: Any, dtype: Any = None) -> Any:
    """The handle of the device of an array (or a handle), for NumPy's `like`; a number is on the CPU. `dtype`: of the
    new array, if it differs. `like` accepts arrays, but no scalars, and NumPy passes on arguments that CuPy lacks."""
    if type(array) is np.ndarray and dtype is not BFLOAT16:
        return HOST
    backend = BACKEND_OF.get(type(array))
    if dtype is BFLOAT16:
        if type(array) is DeviceHandle or (backend is not None and backend.type != "meta"):
            raise RuntimeError(CPU_ONLY)
        return BFLOAT16.handle
    if backend is not None:
        return DeviceHandle(backend, backend.index_of(array))
    if getattr(array, "dtype", None) is BFLOAT16 or array is BFLOAT16.handle:
        return BFLOAT16.handle
    return array if type(array) is DeviceHandle else HOST


def is_host(handle: Any) -> bool:
    """Whether a handle is one of the CPU's: for NumPy arrays, for bfloat16 arrays, and for batches (batched.py)."""
    return handle is HOST or handle is BFLOAT16.handle or (type(handle) is DeviceHandle and on_host(handle.backend))


def lies_on(array: Any, handle: Any) -> bool:
    """Whether an array is on the device of a handle."""
    backend = BACKEND_OF.get(type(array))
    if backend is None or on_host(backend) or is_host(handle):
        return on_host(backend) and is_host(handle)
    return bool(handle == DeviceHandle(backend, backend.index_of(array)))


def name_of(handle: Any) -> device:
    """The device of a handle."""
    return CPU if is_host(handle) else device(handle.backend.type, handle.index)


def info_of(array: Any) -> tuple[tuple[int, ...], Any, Any]:
    """Shape, device handle and dtype of an array, from which `xp.zeros` can create one like it later."""
    return array.shape, device_like(array), array.dtype


def in_memory(array: Any) -> Any:
    """The NumPy array that holds the memory of a CPU array: itself, or the array inside a bfloat16 array."""
    return array.held if array.dtype is BFLOAT16 else array


def bounds(array: Any) -> tuple[int, int]:
    """The addresses of the first byte of an array and one past its last."""
    backend = BACKEND_OF.get(type(array))
    return byte_bounds(in_memory(array)) if backend is None else backend.bounds(array)


def storage(array: Any) -> tuple[int, int]:
    """The memory of an array on a device that all its views share: its address, and its size in bytes."""
    return BACKEND_OF[type(array)].storage(array)


def as_strided(array: Any, shape: tuple[int, ...], strides: tuple[int, ...]) -> Any:
    """A view of this shape with these strides, in bytes."""
    backend = BACKEND_OF.get(type(array))
    if backend is not None:
        return backend.as_strided(array, shape, strides)
    return array.as_strided(shape, strides) if array.dtype is BFLOAT16 else strided(array, shape, strides)


def copied_in_order(array: Any, copy: Callable[[Any], Any]) -> Any:
    """The result of `copy` for an array, in the order of its strides, as NumPy's order "K" and PyTorch's
    `preserve_format`: a dense array keeps its strides.

    CuPy's "K" for host arrays, and its "A", mean Fortran or C order: so `copy` gets the axes in the order of descending
    strides, contiguous if the array was dense, and they are permuted back afterwards.
    """
    if array.flags.c_contiguous:
        return copy(array)
    strides = array.strides
    axes = sorted(range(array.ndim), key=lambda axis: -abs(strides[axis]))
    return copy(array.transpose(axes)).transpose([axes.index(axis) for axis in range(array.ndim)])


def host(array: Any) -> Any:
    """An array as a NumPy array: itself if it is one. From a device it is a copy, for which it waits."""
    backend = BACKEND_OF.get(type(array))
    return array if backend is None else backend.to_host(array)
