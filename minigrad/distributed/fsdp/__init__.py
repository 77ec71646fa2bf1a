"""Models whose parameters are divided among the ranks: mirrors `torch/distributed/fsdp`, as `fully_shard` has it."""

from minigrad.distributed.fsdp._fully_shard import FSDPModule, fully_shard

__all__ = ["FSDPModule", "fully_shard"]
