"""Loops in several threads, which PyTorch has by OpenMP: mirrors `torch/backends/openmp`."""

__all__ = ["is_available"]


def is_available() -> bool:
    """Whether minigrad uses it: False."""
    return False
