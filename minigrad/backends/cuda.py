"""The switches of CUDA's libraries: mirrors part of `torch/backends/cuda`.

They are stored, but change nothing: minigrad computes in the precision of the dtype. (CuPy, which does the work, uses
TF32 if the environment variable CUPY_TF32 is 1.)
"""

from types import SimpleNamespace

from minigrad.backends.registry import count

__all__ = ["is_built", "matmul"]

matmul = SimpleNamespace(allow_tf32=False)


def is_built() -> bool:
    """Whether minigrad can use CUDA here: CuPy is installed, and there is a GPU for it."""
    return count("cuda") > 0
