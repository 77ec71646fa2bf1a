"""A module whose batches are split among GPUs: mirrors `torch/nn/parallel/data_parallel.py` without a GPU."""

from typing import Any

from minigrad.backends.registry import count
from minigrad.nn.modules.module import Module

__all__ = ["DataParallel"]

SEVERAL = ("minigrad does not split batches among GPUs.\n\nCall the module itself, on one device; DataParallel passes "
           "through to it where there is no GPU, or one.")


class DataParallel(Module):
    """Calls `module`. Its parameters are those of `module`, with names that begin with "module.". Raises RuntimeError
    if there are several GPUs, among which PyTorch would split the batch."""

    def __init__(self, module: Module, device_ids: Any = None, output_device: Any = None, dim: int = 0) -> None:
        super().__init__()
        used = list(range(count("cuda"))) if device_ids is None else list(device_ids)
        if len(used) > 1:
            raise RuntimeError(SEVERAL)
        self.dim, self.module, self.device_ids = dim, module, used
        self.output_device = output_device

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        return self.module(*inputs, **kwargs)
