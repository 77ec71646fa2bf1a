"""Marks in the timeline of NVIDIA's profilers: mirrors `torch/cuda/nvtx`. minigrad sets none."""

from collections.abc import Iterator
from typing import Any, NoReturn

from minigrad._base.contexts import contextmanager

__all__ = ["mark", "range", "range_end", "range_pop", "range_push", "range_start"]


def range_push(msg: str) -> NoReturn:
    """Raise PyTorch's RuntimeError; `minigrad.profiler.record_function` names a part of a program."""
    raise RuntimeError("NVTX functions not installed. Are you sure you have a CUDA build?\n\nminigrad sets no marks: "
                       "minigrad.profiler.record_function names a part of a program for its own profiler.")


def range_pop(*args: Any) -> NoReturn:
    """Raise the same error."""
    range_push("")


mark = range_push
range_start = range_end = range_pop


@contextmanager
def range(msg: str, *args: Any, **kwargs: Any) -> Iterator[None]:
    """A block, which raises the same error."""
    range_push(msg)
    yield
