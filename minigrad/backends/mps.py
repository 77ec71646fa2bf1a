"""Apple's graphics cards, which minigrad does not use: mirrors a part of `torch/backends/mps`."""

__all__ = ["is_available", "is_built"]


def is_available() -> bool:
    """Whether one is there to compute on: False."""
    return False


def is_built() -> bool:
    """Whether minigrad could use one: False."""
    return False
