"""Defines the CUDA backend: CuPy's arrays, and its functions for what NumPy has no name for.

CuPy uses NumPy's names, and its arrays take part in NumPy's dispatch, so that no op is written twice (NOTE 9 in
registry.py). This file is imported when CUDA is first used; CuPy itself is an optional dependency.

Products of float matrices call cuBLAS directly. CuPy makes each operand of a batched product row-major first, even a
transposed one, which cuBLAS accepts: the scores of attention would be copied twice in each backward pass. And while a
graph is captured, CuPy refuses to call cuBLAS at all (`cublas.setStream`), although cuBLAS allows it: so a graph's
products use a separate handle with its own workspace, as NVIDIA requires for graphs. `matrix_layout` shows how an
array's strides become what `cublasGemmStridedBatchedEx` calls transposition, leading dimension and stride; cuBLAS is
column-major, and so receives the product's operands exchanged.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from typing import Any, NamedTuple
from weakref import WeakSet

import cupy
import cupyx
import numpy as np
from cupy_backends.cuda import libs  # its `cublas` loads the library on first use

from minigrad._base.device import out_of_memory
from minigrad.backends.kernels import KERNELS, ROW_KERNELS
from minigrad.backends.registry import copied_in_order

# By dtype: cudaDataType, cublasComputeType_t and the type of the factors 1 and 0. float16 products sum in float32.
KINDS = {np.dtype("float16"): (2, 68, ctypes.c_float), np.dtype("float32"): (0, 68, ctypes.c_float),
         np.dtype("float64"): (1, 70, ctypes.c_double)}
FACTORS: dict[Any, Any] = {kind: (kind(1), kind(0)) for kind in (ctypes.c_float, ctypes.c_double)}
DEFAULT = -1  # CUBLAS_GEMM_DEFAULT: cuBLAS chooses
WORKSPACE = 32 << 20  # NVIDIA's advice for Hopper, and PyTorch's choice; other cards need less
ARGUMENTS = "p iiiii p piiq piiq p piiq iii"  # the arguments: pointers, ints, long longs
C_TYPES: dict[str, Any] = {"p": ctypes.c_void_p, "i": ctypes.c_int, "q": ctypes.c_longlong}


class MatrixLayout(NamedTuple):
    """The layout of an operand's matrices: column- or row-major, the leading dimension, and the step from one matrix to
    the next."""

    turned: bool
    lead: int
    step: int


def matrix_layout(x: Any) -> MatrixLayout | None:
    """The layout of an operand, if cuBLAS supports it."""
    rows, columns = x.shape[-2:]
    down, across = x.strides[-2:]
    size, step, over = x.itemsize, 0, None
    for n, stride in zip(x.shape[-3::-1], x.strides[-3::-1], strict=True):
        if n > 1:
            if over not in (None, stride) or stride < 0 or stride % size:
                return None
            step, over = stride // size if over is None else step, stride * n
    if across == size or columns == 1:
        lead = down // size if rows > 1 else columns
        if lead >= columns and not (rows > 1 and down % size):
            return MatrixLayout(False, lead, step)
    if down == size or rows == 1:
        lead = across // size if columns > 1 else rows
        if lead >= rows and not (columns > 1 and across % size):
            return MatrixLayout(True, lead, step)
    return None


def operand(x: Any, batch: tuple[int, ...], whole: bool) -> tuple[Any, MatrixLayout] | None:
    """An operand expanded over the batch, copied if cuBLAS does not support its layout. `whole`: even if each matrix of
    the batch then needs its own copy."""
    wide = cupy.broadcast_to(x, (*batch, *x.shape[-2:]))
    found = matrix_layout(wide)
    if found is None:
        wide = cupy.broadcast_to(cupy.ascontiguousarray(x), wide.shape)
        found = matrix_layout(wide)
    if found is None and whole:
        wide = cupy.ascontiguousarray(wide)
        found = matrix_layout(wide)
    return None if found is None else (wide, found)


def cublas_product(x: Any, y: Any, out: Any = None, call: Callable[..., Any] | None = None) -> Any:
    """`x @ y`; None if cuBLAS has no function for it, or CuPy a better way. `call`: a graph's cuBLAS."""
    if x.dtype != y.dtype or x.dtype not in KINDS or not (x.size and y.size) or min(x.ndim, y.ndim) < 2:
        return None
    if x.shape[-1] != y.shape[-2]:
        return None  # CuPy raises the error
    batch = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    left, right = (operand(v, batch, call is not None) for v in (x, y))
    if left is None or right is None:
        return None
    rows, columns, inner = x.shape[-2], y.shape[-1], x.shape[-1]
    fits = out is not None and out.dtype == x.dtype and out.flags.c_contiguous
    result = out if fits else cupy.empty((*batch, rows, columns), x.dtype)
    (a, of_a), (b, of_b), (kind, compute, number) = left, right, KINDS[x.dtype]
    one, zero = [ctypes.addressof(factor) for factor in FACTORS[number]]
    count = result.size // (rows * columns)
    handle = cupy.cuda.device.get_cublas_handle() if call is None else None
    (libs.cublas.gemmStridedBatchedEx if call is None else call)(
        *([] if handle is None else [handle]), int(of_b.turned), int(of_a.turned), columns, rows, inner, one,
        b.data.ptr, kind, of_b.lead, of_b.step, a.data.ptr, kind, of_a.lead, of_a.step, zero,
        result.data.ptr, kind, columns, rows * columns, count, compute, DEFAULT)
    if out is not None and not fits:
        out[...] = result
    return result if out is None else out


class GraphProducts:
    """A cuBLAS handle for graphs, and its workspace, on one device."""

    def __init__(self) -> None:
        self.library = ctypes.CDLL(libs.cublas.__file__)  # also finds the library that it links
        self.memory = cupy.cuda.Memory(WORKSPACE)
        self.handle = ctypes.c_void_p()
        self.ask("cublasCreate_v2", ctypes.byref(self.handle))
        self.gemm = self.library.cublasGemmStridedBatchedEx
        self.gemm.argtypes = [C_TYPES[letter] for letter in ARGUMENTS.replace(" ", "")]

    def ask(self, name: str, *args: Any) -> None:
        """Call a function of the library; a non-zero status raises CuPy's error."""
        libs.cublas.check_status(getattr(self.library, name)(*args))

    def use(self, stream: Any) -> None:
        """Set the stream of the work. That resets the workspace, which is therefore set again."""
        self.ask("cublasSetStream_v2", self.handle, ctypes.c_void_p(stream.ptr))
        self.ask("cublasSetWorkspace_v2", self.handle, ctypes.c_void_p(self.memory.ptr), ctypes.c_size_t(WORKSPACE))

    def call(self, *args: Any) -> None:
        libs.cublas.check_status(self.gemm(self.handle, *args))


GRAPHS: dict[int, GraphProducts] = {}
REPLACED: dict[Any, tuple[str, ...]] = {cupy: ("dot", "matmul"), cupy.ndarray: ("dot", "__matmul__")}


@contextmanager
def captured_products(stream: Any) -> Iterator[None]:
    """A block in which all of CuPy's products go into the graph that a stream is about to capture."""
    index = cupy.cuda.runtime.getDevice()
    graphs = GRAPHS[index] if index in GRAPHS else GRAPHS.setdefault(index, GraphProducts())
    graphs.use(stream)
    before = {(owner, name): owner.__dict__.get(name) for owner in (cupy, cupy.ndarray) for name in REPLACED[owner]}
    for (owner, name), theirs in before.items():
        setattr(owner, name, with_fallback(graphs, theirs or getattr(owner, name)))
    try:
        yield
    finally:
        for (owner, name), theirs in before.items():
            if theirs is None:
                delattr(owner, name)
            else:
                setattr(owner, name, theirs)


def with_fallback(graphs: GraphProducts, theirs: Callable[..., Any]) -> Callable[..., Any]:
    """A product by the graph's own cuBLAS on its stream, otherwise, also on other streams meanwhile, by CuPy's."""
    def call(x: Any, y: Any, out: Any = None) -> Any:
        result = None
        if isinstance(x, cupy.ndarray) and isinstance(y, cupy.ndarray) and 0 < min(x.ndim, y.ndim) and (
                cupy.cuda.get_current_stream().is_capturing()):
            wide, turned = (x if x.ndim > 1 else x[None], y if y.ndim > 1 else y[:, None])
            result = cublas_product(wide, turned, None, graphs.call) if x.ndim + y.ndim > 2 else None
        if result is None:
            return theirs(x, y) if out is None else theirs(x, y, out)
        shape = result.shape
        result = result.reshape(shape[:-2] + shape[-2:-1] * (x.ndim > 1) + shape[-1:] * (y.ndim > 1))
        if out is None:
            return result
        out[...] = result
        return out
    return call


def allocate(size: int, room: Room | None = None) -> Any:
    """Memory from CuPy's pool, or from that of a graph, as an object that records the number of bytes requested.

    The pool rounds sizes up, and measures its use by iterating over all blocks. So `most` adds up what was allocated
    since the pool was last asked, as if nothing had been freed: below the peak there is no need to ask again. Raises
    OutOfMemoryError with PyTorch's message and the sizes; existing memory is unaffected.
    """
    pool = cupy.get_default_memory_pool() if room is None else room.pool
    try:
        pointer = pool.malloc(size)
    except cupy.cuda.memory.OutOfMemoryError:
        raise out_of_memory(size, BACKEND.current_device(), BACKEND.memory_stats(None)) from None
    memory, at, most, peaks = pointer.mem, pointer.device_id, BACKEND.most, BACKEND.peaks
    most[at] = most.get(at, 0) + memory.size
    if most[at] > peaks.get(at, 0):
        most[at] = used = BACKEND.used() if Room.count else pool.used_bytes()
        if used > peaks.get(at, 0):
            peaks[at] = used
    memory.size = size  # the pool needs only the address to free memory
    if room is None:
        return pointer
    owner = room, pointer  # a tuple releases its last element first, while the pool still exists
    return cupy.cuda.MemoryPointer(cupy.cuda.UnownedMemory(pointer.ptr, size, owner, at), 0)


class Room:
    """Memory of one CUDA graph. CuPy never frees the unused memory of a pool that is dropped; so each array allocated
    here refers to this object, which frees the memory after the last array and the graph."""

    count = 0  # the number of instances

    def __init__(self, index: int) -> None:
        self.pool, self.index = cupy.cuda.MemoryPool(), index
        Room.count += 1

    def malloc(self, size: int) -> Any:
        return allocate(size, self)

    def __del__(self) -> None:
        Room.count -= 1
        with BACKEND.on(self.index):
            self.pool.free_all_blocks()


class Cuda:
    """`minigrad.backends.registry.Backend` on CuPy; the protocol says what each method does."""

    type = "cuda"
    array_type = cupy.ndarray
    module = cupy

    def __init__(self) -> None:
        self.allocates = False
        # By device index, in bytes: the maximum held by arrays since `reset_peak`, and an upper bound of what they hold
        # now.
        self.peaks: dict[int, int] = {}
        self.most: dict[int, int] = {}
        self.known: dict[int, dict[str, Any]] = {}
        self.compiled: dict[str, Callable[..., Any]] = {}
        self.rooms = WeakSet[Room]()

    def device_count(self) -> int:
        try:
            count: int = cupy.cuda.runtime.getDeviceCount()
        except cupy.cuda.runtime.CUDARuntimeError:
            return 0
        if count and not self.allocates:
            self.allocates = True
            cupy.cuda.set_allocator(allocate)
        return count

    def current_device(self) -> int:
        return cupy.cuda.runtime.getDevice()

    def set_device(self, index: int) -> None:
        cupy.cuda.runtime.setDevice(index)

    def on(self, index: int | None) -> AbstractContextManager[Any]:
        return cupy.cuda.Device(index)

    def index_of(self, array: Any) -> int:
        return array.data.device_id  # stored as a number; `array.device` creates an object

    def from_host(self, array: Any, index: int | None) -> Any:
        """A copy of a NumPy array on a GPU, in the same order."""
        with self.on(index):
            return copied_in_order(array, partial(cupy.array, order="C"))

    def to_host(self, array: Any) -> Any:
        """A copy of an array as NumPy's, in the same order; waits for the GPU."""
        return copied_in_order(array, lambda turned: turned.get())

    def move(self, array: Any, index: int | None) -> Any:
        """A copy on another GPU, in the same order."""
        def sent(turned: Any) -> Any:
            with self.on(self.index_of(array)):  # between GPUs CuPy copies contiguous memory
                dense = turned if turned.flags.c_contiguous else turned.copy()
            with self.on(index):
                return dense.copy()

        return copied_in_order(array, sent)

    def address(self, array: Any) -> int:
        return array.data.ptr

    def bounds(self, array: Any) -> tuple[int, int]:
        low, high = cupy.byte_bounds(array)
        return int(low), int(high)

    def storage(self, array: Any) -> tuple[int, int]:
        """All views of an allocation share one memory object; the `.base` of an `as_strided` result is None."""
        memory = array.data.mem
        return memory.ptr, memory.size

    def bytes_of(self, array: Any, low: int, size: int) -> Any:
        pointer = array.data
        return cupy.ndarray((size,), np.uint8, pointer + (low - pointer.ptr))

    def as_strided(self, array: Any, shape: tuple[int, ...], strides: tuple[int, ...]) -> Any:
        return cupy.lib.stride_tricks.as_strided(array, shape, strides)

    def add_at(self, out: Any, index: Any, x: Any) -> None:
        """Atomic additions, which exist for floats, for integers of 32 bits, and for unsigned integers of 64 bits."""
        if out.dtype.kind == "f" or out.dtype == np.int32:
            cupy.add.at(out, index, x)
        elif out.dtype == np.int64:  # the same bits, since both wrap around
            cupy.add.at(out.view(np.uint64), index, cupy.asarray(x, np.int64).view(np.uint64))
        else:
            wide = out.astype(np.int32)
            cupy.add.at(wide, index, cupy.asarray(x, np.int32))
            out[...] = wide.astype(out.dtype)

    def matmul(self, x: Any, y: Any) -> Any:
        """By cuBLAS, or by CuPy's function where it has none."""
        result = None if cupy.cuda.get_current_stream().is_capturing() else cublas_product(x, y)
        return cupy.matmul(x, y) if result is None else result

    def linalg_errors(self) -> AbstractContextManager[Any]:
        """CuPy's own switch: without it a failed computation returns meaningless numbers."""
        return cupyx.errstate(linalg="raise")

    def synchronize(self, index: int | None) -> None:
        with self.on(index):
            cupy.cuda.runtime.deviceSynchronize()

    def memory_stats(self, index: int | None) -> dict[str, int]:
        at = self.current_device() if index is None else index
        with self.on(at):
            free, total = cupy.cuda.runtime.memGetInfo()
            used = self.used()
            return {"allocated": used, "peak": max(self.peaks.get(at, 0), used), "free": free, "total": total,
                    "reserved": sum(pool.total_bytes() for pool in self.pools())}

    def pools(self) -> list[Any]:
        return [cupy.get_default_memory_pool(), *[room.pool for room in self.rooms]]

    def used(self) -> int:
        """The bytes that arrays hold on the current GPU."""
        return sum(pool.used_bytes() for pool in self.pools())

    def reset_peak(self, index: int | None) -> None:
        at = self.current_device() if index is None else index
        with self.on(at):
            self.peaks[at] = self.most[at] = self.used()

    def empty_cache(self) -> None:
        cupy.get_default_memory_pool().free_all_blocks()

    def properties(self, index: int | None) -> dict[str, Any]:
        at = self.current_device() if index is None else index
        if at not in self.known:  # querying costs more than drawing the numbers that need it
            device = cupy.cuda.runtime.getDeviceProperties(at)
            self.known[at] = {"name": device["name"].decode(), "major": device["major"], "minor": device["minor"],
                              "total_memory": device["totalGlobalMem"],
                              "multi_processor_count": device["multiProcessorCount"],
                              "max_threads_per_multi_processor": device["maxThreadsPerMultiProcessor"]}
        return self.known[at]

    def composite(self, function: Callable[..., Any], *args: Any) -> None:
        """The array code is used."""

    def fused(self, name: str) -> Callable[..., Any] | None:
        """CuPy's elementwise kernel, compiled when it is first called."""
        if name not in self.compiled:
            inputs, outputs, body = KERNELS[name]
            kernel = cupy.ElementwiseKernel(inputs, outputs, body, f"minigrad_{name}")
            self.compiled[name] = partial(kernel, block_size=256)  # in 0.86 of the time of CuPy's default, 128
        return self.compiled[name]

    def fused_rows(self, name: str) -> Callable[..., Any] | None:
        """A kernel for each row, with a thread for every eight elements, at least 32 and at most 1,024."""
        if name not in self.compiled:
            outputs = len(ROW_KERNELS[name].outputs.split())
            by_dtype = {np.dtype(real): cupy.RawKernel(ROW_KERNELS[name].source(c), "rows")
                        for real, c in (("float32", "float"), ("float64", "double"))}

            def run(*inputs: Any) -> Any:
                x = inputs[0]
                results = [cupy.empty(x.shape, x.dtype) for _ in range(outputs)]
                width = x.shape[-1]
                threads = 1 << min(max((width - 1).bit_length() - 3, 5), 10)
                by_dtype[x.dtype]((x.size // width,), (threads,), (*inputs, *results, np.int64(width)))
                return results[0] if outputs == 1 else tuple(results)

            self.compiled[name] = run
        return self.compiled[name]

    def event(self, timing: bool, blocking: bool) -> Any:
        return cupy.cuda.Event(block=blocking, disable_timing=not timing)

    def elapsed(self, start: Any, end: Any) -> float:
        return cupy.cuda.get_elapsed_time(start, end)

    @contextmanager
    def capture(self) -> Iterator[Callable[[], None]]:
        """Capture work on a new stream, with a separate pool of memory."""
        noted: dict[str, Any] = {}
        stream = cupy.cuda.Stream(non_blocking=True)
        room = Room(self.current_device())
        self.rooms.add(room)
        with cupy.cuda.using_allocator(room.malloc), captured_products(stream), stream:
            stream.begin_capture()
            try:
                yield lambda: noted["graph"].launch()
            except BaseException:
                with suppress(cupy.cuda.runtime.CUDARuntimeError):  # the error may have ended the capture
                    stream.end_capture()  # the stream must not stay in capture mode
                raise
            noted["graph"], noted["memory"] = stream.end_capture(), room  # memory lives as long as the graph

    def capturing(self) -> bool:
        return cupy.cuda.get_current_stream().is_capturing()


BACKEND = Cuda()
