"""CUDA graphs: mirrors `torch/cuda/graphs.py`.

A step of a small model gives a GPU hundreds of kernels of a few microseconds each, and Python needs longer to name them
than the GPU to run them. A graph notes them once and gives them all at once, on the same memory each time:

    step()                                  # once as always, so that kernels are compiled and memory is there
    graph = minigrad.cuda.CUDAGraph()
    with minigrad.cuda.graph(graph):
        step()                              # is noted, not done
    x.copy_(next_batch); graph.replay()     # is done, with what is in x now

Shapes, and numbers that Python computes, stay what they were: a learning rate, and the steps that Adam counts, unless
it has `capturable=True` and counts on the GPU. What waits for the GPU (`item`, `nonzero`) is an error in a graph.
Random numbers (dropout) go on: each replay draws what would have been drawn next without a graph.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from minigrad._base.device import device
from minigrad.backends.philox import InGraph
from minigrad.backends.protocol import Backend
from minigrad.backends.registry import backend_for, device_handle
from minigrad.ops.random.generator import Generator, default_of

OWNED = "This CUDAGraph instance already owns a captured graph. To capture a new graph, create a new instance."


class CUDAGraph:
    """Work of a GPU, noted by `graph(...)` or between `capture_begin` and `capture_end`, to be done by `replay`.

    It keeps the memory that it works on: that of its results too, which each replay overwrites.
    """

    def __init__(self, keep_graph: bool = False) -> None:
        self.backend: Backend = backend_for("cuda")
        self.block: AbstractContextManager[Callable[[], None]] | None = None
        self.again: Callable[[], None] | None = None
        self.index = 0  # the GPU that it was captured on
        self.registered: list[Generator] = []
        self.streams: list[InGraph] = []

    def register_generator_state(self, generator: Generator) -> None:
        """Let the graph draw from a generator of one's own; from the default one of the GPU it may anyway."""
        generator.philox(RuntimeError("Expected a 'cuda' device type for generator but found 'cpu'"))
        self.registered.append(generator)

    def capture_begin(self, pool: Any = None, capture_error_mode: str = "global") -> None:
        """Note from now on what is given to the GPU in use.

        Raises:
            RuntimeError: if something is being noted already, or was noted and not forgotten by `reset`.
        """
        if self.again is not None or self.backend.capturing():
            raise RuntimeError(OWNED if self.again is not None else "a CUDA graph is being captured already")
        self.index = self.backend.current_device()
        here = device("cuda", self.index)
        states: dict[int, Any] = {id(each.stream): each.stream for each in (default_of(here), *self.registered)}
        # Before the capture, or the graph would empty them at each replay.
        self.streams = [InGraph(state, device_handle(here)) for state in states.values()]
        block = self.backend.capture()
        self.again, self.block = block.__enter__(), block
        for each in self.streams:
            each.stream.graph = each

    def capture_end(self) -> None:
        """Stop to note.

        Raises:
            RuntimeError: if nothing was begun.
        """
        self.ended(None, None, None)

    def ended(self, *error: Any) -> None:
        """Stop to note; after an error, that of the end too, nothing is kept."""
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
        """Give the GPU all of it.

        Raises:
            RuntimeError: if nothing was noted, or is still being noted.
        """
        if self.again is None or self.block is not None:
            raise RuntimeError("Called CUDAGraph::replay without a preceding successful capture.")
        with self.backend.on(self.index):
            for each in self.streams:
                if each.drawn:
                    each.replay()
            self.again()

    def reset(self) -> None:
        """Forget what was noted, and give its memory back."""
        self.again, self.streams = None, []


class graph:
    """A `with` block whose work for the GPU is noted in a CUDAGraph, and not done.

    `pool`, `stream`, `capture_error_mode` and the rest are PyTorch's, and mean nothing here: each graph has memory and
    a stream of its own.
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
