"""A module on several devices, or in several processes: mirrors `torch/nn/parallel`."""

import importlib
from typing import TYPE_CHECKING, Any

from minigrad._base.optional import missing
from minigrad.nn.parallel.data_parallel import DataParallel

if TYPE_CHECKING:
    from minigrad.nn.parallel.distributed import DistributedDataParallel

__all__ = ["DataParallel", "DistributedDataParallel"]


def __getattr__(name: str) -> Any:
    """Import `DistributedDataParallel` on first access."""
    if name == "DistributedDataParallel":
        return importlib.import_module("minigrad.nn.parallel.distributed").DistributedDataParallel
    missing("module 'minigrad.nn.parallel'", name)
