"""The part of a data set that one rank takes: mirrors `torch/utils/data/distributed.py`."""

import math
from collections.abc import Iterator, Sized

from minigrad.distributed import get_rank, get_world_size
from minigrad.ops.random import Generator, randperm
from minigrad.utils.data.sampler import Sampler

__all__ = ["DistributedSampler"]


class DistributedSampler(Sampler[int]):
    """Every `num_replicas`-th index, starting at this rank's number; all ranks shuffle alike, by `seed` and epoch.

    Every rank gets equally many: some indices come twice, or with `drop_last` the last ones are dropped. Call
    `set_epoch` before each epoch, or all epochs have the same order. Raises ValueError for a rank outside 0 to
    `num_replicas - 1`; if one of them is missing and there is no process group.
    """

    def __init__(self, dataset: Sized, num_replicas: int | None = None, rank: int | None = None, shuffle: bool = True,
                 seed: int = 0, drop_last: bool = False) -> None:
        num_replicas = get_world_size() if num_replicas is None else num_replicas
        rank = get_rank() if rank is None else rank
        if not 0 <= rank < num_replicas:
            raise ValueError(f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]")
        self.dataset, self.num_replicas, self.rank, self.epoch = dataset, num_replicas, rank, 0
        self.shuffle, self.seed, self.drop_last = shuffle, seed, drop_last
        count = len(dataset)
        self.num_samples = count // num_replicas if drop_last else math.ceil(count / num_replicas)
        self.total_size = self.num_samples * num_replicas

    def __iter__(self) -> Iterator[int]:
        count = len(self.dataset)
        indices = list(range(count))
        if self.shuffle:
            indices = randperm(count, generator=Generator().manual_seed(self.seed + self.epoch)).tolist()
        if not self.drop_last:
            indices *= math.ceil(self.total_size / max(count, 1))
        return iter(indices[self.rank:self.total_size:self.num_replicas])

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Shuffle differently in this epoch."""
        self.epoch = epoch
