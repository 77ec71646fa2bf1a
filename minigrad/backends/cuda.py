"""The switches of CUDA's libraries, which minigrad does not use: mirrors a part of `torch/backends/cuda`.

They are kept and change nothing, as in PyTorch on a CPU.
"""

from __future__ import annotations

from types import SimpleNamespace

__all__ = ["is_built", "matmul"]

matmul = SimpleNamespace(allow_tf32=False)


def is_built() -> bool:
    """Whether minigrad could use CUDA: False."""
    return False
