"""Intel's library for layers, which minigrad does not use: mirrors part of `torch/backends/mkldnn`.

The switch is stored, but changes nothing.
"""

__all__ = ["enabled", "is_available"]

enabled = True


def is_available() -> bool:
    """Whether the library is available: False."""
    return False
