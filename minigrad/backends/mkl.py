"""Intel's library for matrices, which PyTorch uses itself: mirrors part of `torch/backends/mkl`."""

__all__ = ["is_available"]


def is_available() -> bool:
    """Whether minigrad calls it: False, though NumPy may."""
    return False
