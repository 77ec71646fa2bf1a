"""Python's `multiprocessing`, with the names that PyTorch adds: mirrors part of `torch/multiprocessing`.

A tensor that is sent to another process is copied there; PyTorch shares its memory.
"""

import multiprocessing
from collections.abc import Callable
from multiprocessing import *  # noqa: F403 - the module is that one, with more names
from typing import Any

__all__ = [*multiprocessing.__all__, "get_all_sharing_strategies",
           "get_sharing_strategy", "set_sharing_strategy", "spawn"]

STRATEGIES = {"file_descriptor", "file_system"}
CHOSEN = ["file_descriptor"]


def get_all_sharing_strategies() -> set[str]:
    """The ways of sharing memory that PyTorch has; minigrad uses none."""
    return STRATEGIES


def get_sharing_strategy() -> str:
    """The chosen one."""
    return CHOSEN[0]


def set_sharing_strategy(new_strategy: str) -> None:
    """Choose one, which changes nothing. Raises AssertionError for another name."""
    if new_strategy not in STRATEGIES:
        raise AssertionError(f"invalid sharing strategy {new_strategy!r}, expected one of {STRATEGIES}")
    CHOSEN[0] = new_strategy


def spawn(fn: Callable[..., Any], args: tuple[Any, ...] = (), nprocs: int = 1, join: bool = True, daemon: bool = False,
          start_method: str = "spawn") -> Any:
    """Run `fn(rank, *args)` in `nprocs` new processes, and wait for them; without `join` return them.

    Raises RuntimeError if one fails: its own error is in its output.
    """
    context = multiprocessing.get_context(start_method)
    running = [context.Process(target=fn, args=(rank, *args), daemon=daemon)  # type: ignore[attr-defined]  # all have it
               for rank in range(nprocs)]
    for process in running:
        process.start()
    if not join:
        return running
    for process in running:
        process.join()
    for rank, process in enumerate(running):
        if process.exitcode:
            raise RuntimeError(f"process {rank} terminated with exit code {process.exitcode}")
    return None
