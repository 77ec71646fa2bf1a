"""The library for computation in a few bits, which minigrad leaves to PyTorch: mirrors `torch/backends/quantized`.

A program may choose one and never use it: the choice is stored.
"""

__all__ = ["engine", "supported_engines"]

engine = "none"
supported_engines: list[str] = []
