"""Answers what programs ask before they use several processes. Mirrors the first names of `torch/distributed`."""

from typing import Any

__all__ = ["is_available", "is_initialized"]


def is_available() -> bool:
    """Whether several processes can work together: no."""
    return False


def is_initialized() -> bool:
    """Whether they do: no."""
    return False


def __getattr__(name: str) -> Any:
    """All else of `torch.distributed` is missing, and says what to do."""
    raise AttributeError(f"module 'minigrad.distributed' has no attribute '{name}'\n\nminigrad runs in one process. "
                         "Ask is_available() first; to look into a run of several processes, record PyTorch's own.")
