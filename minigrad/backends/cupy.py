"""Defines the CUDA backend: CuPy's arrays, and its functions for what NumPy has no name for.

CuPy uses NumPy's names, and its arrays take part in NumPy's dispatch, so that no op is written twice (NOTE 9 in
protocol.py). This file is imported when CUDA is first used; CuPy itself is an optional dependency.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from typing import Any
from weakref import WeakSet

import cupy
import cupyx
import numpy as np

from minigrad._base.device import out_of_memory
from minigrad.backends import gemm
from minigrad.backends.kernels import KERNELS, ROW_KERNELS
from minigrad.backends.registry import copied_in_order


def allocate(size: int, room: Room | None = None) -> Any:
    """Memory from CuPy's pool, or from that of a graph, as an object that records the number of bytes requested.

    The pool rounds sizes up, and measures its use by iterating over all blocks. So `most` adds up what was allocated
    since the pool was last asked, as if nothing had been freed: below the peak there is no need to ask again.

    Raises:
        OutOfMemoryError: with PyTorch's message and the sizes; existing memory is unaffected.
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
    """`minigrad.backends.protocol.Backend` on CuPy; the protocol says what each method does."""

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
        product = None if cupy.cuda.get_current_stream().is_capturing() else gemm.product(x, y)
        return cupy.matmul(x, y) if product is None else product

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
        """CuPy's pool, and those of graphs."""
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
        with cupy.cuda.using_allocator(room.malloc), gemm.captured(stream), stream:
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
