"""A module on several devices: mirrors `torch/nn/parallel`."""

from minigrad.nn.parallel.data_parallel import DataParallel

__all__ = ["DataParallel"]
