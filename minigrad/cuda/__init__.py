"""GPUs: mirrors `torch/cuda/__init__.py`, and parts of its `random.py`, `memory.py`, `streams.py` and `graphs.py`.

minigrad computes on NVIDIA's GPUs with CuPy (docs/gpu.md). Without one, the queries of a script that chooses a device
are answered as PyTorch answers them, so that `torch.device("cuda" if torch.cuda.is_available() else "cpu")` is the
CPU; everything that needs a GPU raises PyTorch's error.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from minigrad._base.device import NO_GPU, OutOfMemoryError
from minigrad._base.device import device as Device
from minigrad._base.dtype import DTYPES
from minigrad._base.optional import module_getattr
from minigrad.backends import registry
from minigrad.backends.registry import Backend
from minigrad.compat.legacy import tensortype
from minigrad.core import Tensor
from minigrad.cuda.graphs import CUDAGraph, graph, make_graphed_callables
from minigrad.cuda.streams import Stream, StreamContext
from minigrad.ops.random import default_of, manual_seed_of_devices

__all__ = ["CUDAGraph", "Event", "OutOfMemoryError", "Stream", "StreamContext", "current_device", "current_stream",
           "default_stream", "device", "device_count", "empty_cache", "get_device_capability", "get_device_name",
           "get_device_properties", "get_rng_state", "get_rng_state_all", "graph", "initial_seed", "ipc_collect",
           "is_available", "is_bf16_supported", "is_current_stream_capturing", "is_initialized",
           "make_graphed_callables", "manual_seed", "manual_seed_all", "max_memory_allocated", "max_memory_reserved",
           "mem_get_info", "memory_allocated", "memory_reserved", "reset_peak_memory_stats", "seed", "seed_all",
           "set_device", "set_rng_state", "set_rng_state_all", "set_stream", "stream", "synchronize"]

Where = Device | str | int | None


def backend() -> Backend:
    """The backend of the GPUs.

    Raises AssertionError if there is none, with PyTorch's message for a build without CUDA.
    """
    if not device_count():
        raise AssertionError(f"Torch not compiled with CUDA enabled{NO_GPU}")
    return registry.BACKENDS["cuda"]


def index_of(where: Where) -> int:
    """The index of a GPU; None and "cuda" are the current one. Raises AssertionError if there is no GPU, ValueError for
    another type of device, and RuntimeError for an index without a GPU."""
    using = backend()
    if isinstance(where, int) or where is None:
        where = Device("cuda", where)
    asked = Device(where)
    if asked.type != "cuda":
        raise ValueError(f"Expected a cuda device, but got: {asked}")
    return registry.resolve_device(asked).index or 0 if asked.index is not None else using.current_device()


def is_available() -> bool:
    """Whether there is a GPU, and CuPy to compute on it."""
    return device_count() > 0


def is_initialized() -> bool:
    """Whether a GPU has been used, and there is one."""
    return "cuda" in registry.BACKENDS and is_available()


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether bfloat16 is supported: False, since minigrad has it on the CPU only."""
    return False


def is_current_stream_capturing() -> bool:
    """Whether a CUDA graph is being captured."""
    return is_initialized() and backend().capturing()


def device_count() -> int:
    """The number of GPUs."""
    return registry.count("cuda")


def current_device() -> int:
    """The index of the current GPU. Raises: AssertionError, if there is none."""
    return backend().current_device()


def set_device(device: Where) -> None:
    """Make a GPU the current one. A negative index changes nothing."""
    if not isinstance(device, int) or device >= 0:
        backend().set_device(index_of(device))


class device:
    """A `with` block in which a GPU is current. None or a negative index changes nothing."""

    def __init__(self, device: Any) -> None:
        changes_nothing = device is None or (isinstance(device, int) and device < 0)
        self.block: AbstractContextManager[Any] = nullcontext() if changes_nothing else backend().on(index_of(device))

    def __enter__(self) -> None:
        self.block.__enter__()

    def __exit__(self, *error: Any) -> None:
        self.block.__exit__(*error)


def synchronize(device: Where = None) -> None:
    """Wait until a GPU has finished its work. Raises: AssertionError, if there is none."""
    backend().synchronize(index_of(device))


def current_stream(device: Where = None) -> Stream:
    """The queue of a GPU. Raises: AssertionError, if there is none."""
    return Stream(index_of(device))


default_stream = current_stream


def stream(stream: Stream | None) -> StreamContext:
    """A block whose work is done in a stream."""
    return StreamContext(stream)


def set_stream(stream: Stream | None) -> None:
    """Choose a stream from now on: there is one queue."""


def ipc_collect() -> None:
    """Free memory that other processes have let go of: there is none. Raises: AssertionError, if there is no GPU."""
    backend()


class Event:
    """A point in the work of the current GPU, to wait for or to measure time with.

        start, end = Event(enable_timing=True), Event(enable_timing=True)
        start.record(); ...; end.record(); end.synchronize()
        start.elapsed_time(end)   # milliseconds
    """

    def __init__(self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False,
                 external: bool = False) -> None:
        if interprocess or external:
            raise NotImplementedError("events cannot be shared with other processes or graphs\n\nOmit `interprocess` "
                                      "and `external`.")
        self.timed, self.recorded, self.backend = enable_timing, False, backend()
        self.event = self.backend.event(enable_timing, blocking)

    def record(self, stream: None = None) -> None:
        """Record the point after the work submitted so far. Raises NotImplementedError for a stream: there is only the
        current one."""
        if stream is not None:
            raise NotImplementedError("events can only be recorded on the current stream\n\nOmit `stream`.")
        self.event.record()
        self.recorded = True

    def synchronize(self) -> None:
        """Wait until the GPU has reached the event."""
        self.event.synchronize()

    def query(self) -> bool:
        """Whether the GPU has reached the event."""
        return bool(self.event.done)

    def elapsed_time(self, end_event: Event) -> float:
        """The milliseconds from this event to a later one. Raises ValueError if either was created without
        `enable_timing`, was not recorded, or has not been reached."""
        if not (self.timed and end_event.timed):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        if not (self.recorded and end_event.recorded):
            raise ValueError("Both events must be recorded before calculating elapsed time.")
        if not (self.query() and end_event.query()):
            raise ValueError("Both events must be completed before calculating elapsed time.\n\nCall synchronize() of "
                             "the later one first.")
        return self.backend.elapsed(self.event, end_event.event)


def stats(device: Where) -> dict[str, int]:
    """The memory statistics of a GPU; zeros if there is no GPU."""
    if not device_count():
        return dict.fromkeys(("allocated", "peak", "reserved"), 0)
    return backend().memory_stats(index_of(device))


def memory_allocated(device: Where = None) -> int:
    """The bytes that arrays hold on a GPU; 0 if there is none."""
    return stats(device)["allocated"]


def max_memory_allocated(device: Where = None) -> int:
    """The maximum of bytes that arrays held on a GPU since `reset_peak_memory_stats`; 0 if there is none."""
    return stats(device)["peak"]


def memory_reserved(device: Where = None) -> int:
    """The bytes that CuPy's pool keeps, in use or not; 0 if there is no GPU."""
    return stats(device)["reserved"]


def max_memory_reserved(device: Where = None) -> int:
    """The bytes reserved now: the pool frees nothing except by `empty_cache`, and its former size is unknown."""
    return stats(device)["reserved"]


def reset_peak_memory_stats(device: Where = None) -> None:
    """Reset the maximum. Raises: AssertionError, if there is no GPU."""
    backend().reset_peak(index_of(device))


def mem_get_info(device: Where = None) -> tuple[int, int]:
    """The free and the total bytes of a GPU, for all its users. Raises: AssertionError, if there is none."""
    stats = backend().memory_stats(index_of(device))
    return stats["free"], stats["total"]


def empty_cache() -> None:
    """Free the unused memory of the pool; nothing if there is no GPU."""
    if is_initialized():
        backend().empty_cache()


class _CudaDeviceProperties(SimpleNamespace):
    """`name`, `major`, `minor`, `total_memory`, `multi_processor_count`, `max_threads_per_multi_processor`."""


def get_device_properties(device: Where = None) -> _CudaDeviceProperties:
    """The properties of a GPU. Raises: AssertionError, if there is none."""
    return _CudaDeviceProperties(**backend().properties(index_of(device)))


def get_device_name(device: Where = None) -> str:
    """The name of a GPU. Raises: AssertionError, if there is none."""
    return str(get_device_properties(device).name)


def get_device_capability(device: Where = None) -> tuple[int, int]:
    """The compute capability of a GPU, (major, minor). Raises: AssertionError, if there is none."""
    properties = get_device_properties(device)
    return properties.major, properties.minor


def manual_seed(seed: int) -> None:
    """Restart the generator of the current GPU from a seed; nothing if there is none."""
    seed = int(seed)
    if device_count():
        default_of(Device("cuda", current_device())).manual_seed(seed)


def manual_seed_all(seed: int) -> None:
    """Restart the generators of all GPUs from a seed, including those that are first used later."""
    manual_seed_of_devices(int(seed))


def seed() -> None:
    """Restart the generator of the current GPU from an unpredictable seed; nothing if there is none."""
    if device_count():
        default_of(Device("cuda", current_device())).seed()


def seed_all() -> None:
    """Restart the generators of all GPUs from one unpredictable seed; nothing if there is none."""
    if device_count():
        seed()
        manual_seed_of_devices(initial_seed())


def initial_seed() -> int:
    """The seed from which the generator of the current GPU started. Raises: AssertionError, if there is none."""
    return default_of(Device("cuda", index_of(None))).initial_seed()


def get_rng_state(device: Where = "cuda") -> Tensor:
    """The state of a GPU's generator, 16 bytes: seed and offset. Raises: AssertionError, if there is none."""
    return default_of(Device("cuda", index_of(device))).get_state()


def set_rng_state(new_state: Tensor, device: Where = "cuda") -> None:
    """Set the state of a GPU's generator; nothing if there is no GPU."""
    if device_count():
        default_of(Device("cuda", index_of(device))).set_state(new_state)


def get_rng_state_all() -> list[Tensor]:
    """The states of all GPUs' generators."""
    return [get_rng_state(index) for index in range(device_count())]


def set_rng_state_all(new_states: Iterable[Tensor]) -> None:
    """Set the states of all GPUs' generators."""
    for index, state in enumerate(new_states):
        set_rng_state(state, index)


globals().update({f"{kind.type_name}Tensor": tensortype(kind, True) for kind in DTYPES})  # `cuda.FloatTensor`
if not TYPE_CHECKING:  # a type checker reports missing names by itself
    __getattr__ = module_getattr(__name__)
