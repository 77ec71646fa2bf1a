"""Data for a training loop: mirrors `torch/utils/data`. Data pipes and pinned memory are not here."""

# ruff: noqa: F403, F405 - the `__all__` of each file says what is public

from typing import TYPE_CHECKING

from minigrad._base.optional import module_getattr
from minigrad.utils.data._utils.collate import default_collate, default_convert
from minigrad.utils.data._utils.worker import get_worker_info
from minigrad.utils.data.dataloader import DataLoader
from minigrad.utils.data.dataset import *
from minigrad.utils.data.sampler import *

__all__ = [
    "BatchSampler", "ChainDataset", "ConcatDataset", "DataLoader", "Dataset", "IterableDataset", "RandomSampler",
    "Sampler", "SequentialSampler", "StackDataset", "Subset", "SubsetRandomSampler", "TensorDataset",
    "WeightedRandomSampler", "default_collate", "default_convert", "get_worker_info", "random_split",
]

if not TYPE_CHECKING:  # a type checker reports missing names by itself
    __getattr__ = module_getattr(__name__)
