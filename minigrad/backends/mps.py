"""Apple's GPUs, which minigrad does not use: mirrors part of `torch/backends/mps`."""

__all__ = ["is_available", "is_built"]


def is_available() -> bool:
    """Whether such a GPU is available: False."""
    return False


def is_built() -> bool:
    """Whether minigrad supports them: False."""
    return False
