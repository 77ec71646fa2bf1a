"""Queues of work on a GPU: mirrors part of `torch/cuda/streams.py`.

minigrad keeps all work of a GPU in one queue, where everything waits for what came before. So a stream says when its
work is done, but choosing another changes nothing.
"""

from __future__ import annotations

from typing import Any

from minigrad.backends.registry import count

__all__ = ["Stream", "StreamContext"]


class Stream:
    """The queue of a GPU. Raises RuntimeError where there is no GPU."""

    def __init__(self, device: Any = None, priority: int = 0, **kwargs: Any) -> None:
        if not count("cuda"):
            raise RuntimeError("torch.cuda.Stream requires CUDA support")
        self.device, self.priority = device, priority

    def wait_stream(self, stream: Any) -> None:
        """Wait for another stream: in one queue nothing is left to do."""

    wait_event = wait_stream


class StreamContext:
    """A block whose work is done in a stream; None, or the only queue, changes nothing."""

    def __init__(self, stream: Stream | None) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        """There is one queue."""

    def __exit__(self, *error: object) -> None:
        """There is one queue."""
