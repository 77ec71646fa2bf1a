"""Provides functions under the older module name that some programs import. Mirrors `torch/functional.py`."""

from typing import Any

from minigrad._base.optional import missing
from minigrad.ops import FUNCTIONS

NAMES = ("atleast_1d", "atleast_2d", "atleast_3d", "block_diag", "broadcast_shapes", "broadcast_tensors",
         "cartesian_prod", "cdist", "chain_matmul", "einsum", "meshgrid", "norm", "split", "tensordot", "unique",
         "unique_consecutive", "unravel_index")


def __getattr__(name: str) -> Any:
    """Return the function of `minigrad` with this name."""
    if name in NAMES:
        return FUNCTIONS[name]
    missing(f"module {__name__!r}", name)
