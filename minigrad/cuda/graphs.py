"""CUDA graphs: mirrors `torch/cuda/graphs.py`.

A step of a small model launches hundreds of kernels of a few microseconds each, and Python takes longer to launch them
than the GPU to run them. A graph captures them once and launches them all at once, on the same memory each time:

    step()                                  # once without a graph: kernels are compiled, memory is allocated
    graph = minigrad.cuda.CUDAGraph()
    with minigrad.cuda.graph(graph):
        step()                              # is captured, not run
    x.copy_(next_batch); graph.replay()     # runs it on the present values of x

Shapes, and numbers that Python computes, are fixed at capture: a learning rate, and Adam's step count, unless it has
`capturable=True` and counts on the GPU. Ops that wait for the GPU (`item`, `nonzero`) raise an error during capture.
Random numbers (dropout) advance: each replay draws what would have been drawn next without a graph.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from minigrad._base.device import device
from minigrad.backends.philox import InGraph
from minigrad.backends.protocol import Backend
from minigrad.backends.registry import backend_for, device_handle
from minigrad.ops.random import Generator, default_of

OWNED = "This CUDAGraph instance already owns a captured graph. To capture a new graph, create a new instance."


class CUDAGraph:
    """GPU work that `graph(...)`, or `capture_begin` and `capture_end`, captures and `replay` runs.

    It keeps the memory that it works on, including that of its results, which each replay overwrites.
    """

    def __init__(self, keep_graph: bool = False) -> None:
        self.backend: Backend = backend_for("cuda")
        self.block: AbstractContextManager[Callable[[], None]] | None = None
        self.again: Callable[[], None] | None = None
        self.index = 0  # the GPU of the capture
        self.registered: list[Generator] = []
        self.streams: list[InGraph] = []

    def register_generator_state(self, generator: Generator) -> None:
        """Let the graph draw from a user's generator; it may always draw from the GPU's default one."""
        generator.philox(RuntimeError("Expected a 'cuda' device type for generator but found 'cpu'"))
        self.registered.append(generator)

    def capture_begin(self, pool: Any = None, capture_error_mode: str = "global") -> None:
        """Capture the work of the current GPU from now on.

        Raises:
            RuntimeError: during another capture, or if this graph has captured work that `reset` has not discarded.
        """
        if self.again is not None or self.backend.capturing():
            raise RuntimeError(OWNED if self.again is not None else "a CUDA graph is being captured already")
        self.index = self.backend.current_device()
        here = device("cuda", self.index)
        states: dict[int, Any] = {id(each.stream): each.stream for each in (default_of(here), *self.registered)}
        # Created before the capture, or the graph would empty them at each replay.
        self.streams = [InGraph(state, device_handle(here)) for state in states.values()]
        block = self.backend.capture()
        self.again, self.block = block.__enter__(), block
        for each in self.streams:
            each.stream.graph = each

    def capture_end(self) -> None:
        """Stop capturing.

        Raises:
            RuntimeError: if no capture has begun.
        """
        self.ended(None, None, None)

    def ended(self, *error: Any) -> None:
        """Stop capturing; after an error, even in stopping, nothing is kept."""
        block, self.block = self.block, None
        if block is None:
            raise RuntimeError("capture_end was called without capture_begin")
        again, self.again = self.again, None
        for each in self.streams:
            each.stream.graph = None
        block.__exit__(*error)
        if error[0] is None:
            self.again = again

    def replay(self) -> None:
        """Launch the captured work on the GPU.

        Raises:
            RuntimeError: if nothing was captured, or the capture has not ended.
        """
        if self.again is None or self.block is not None:
            raise RuntimeError("Called CUDAGraph::replay without a preceding successful capture.")
        with self.backend.on(self.index):
            for each in self.streams:
                if each.drawn:
                    each.replay()
            self.again()

    def reset(self) -> None:
        """Discard the captured work, and free its memory."""
        self.again, self.streams = None, []


class graph:
    """A `with` block whose GPU work is captured in a CUDAGraph instead of being run.

    `pool`, `stream`, `capture_error_mode` and the rest are PyTorch's, and have no effect: each graph has its own memory
    and stream.
    """

    def __init__(self, cuda_graph: CUDAGraph, pool: Any = None, stream: Any = None, capture_error_mode: str = "global",
                 enable_annotations: bool = False, check_input_liveness: bool = False) -> None:
        backend_for(device("cuda").type)
        self.cuda_graph = cuda_graph

    def __enter__(self) -> None:
        self.cuda_graph.backend.synchronize(None)
        self.cuda_graph.capture_begin()

    def __exit__(self, *error: Any) -> None:
        self.cuda_graph.ended(*error)
