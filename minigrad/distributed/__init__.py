"""Several processes that work together through MPI: mirrors `torch/distributed`.

`init_process_group("mpi")` in a program started by `minigrad run -n 4 program.py` or `mpiexec -n 4 python program.py`.
Nothing here moves bytes: MPI does, through mpi4py (extra `mpi`), which is imported when first needed.
"""

# ruff: noqa: F403, F405 - the `__all__` of each file says what is public

from typing import Any

from minigrad._base.optional import missing
from minigrad.distributed._collectives import *
from minigrad.distributed._grad_bucket import GradBucket
from minigrad.distributed._process_group import ProcessGroup
from minigrad.distributed._work import DistBackendError, DistError, DistNetworkError, Work
from minigrad.distributed._world import *

__all__ = [
    "DistBackendError", "DistError", "DistNetworkError", "GradBucket", "GroupMember", "ProcessGroup", "ReduceOp",
    "Work", "all_gather", "all_gather_into_tensor", "all_gather_single", "all_reduce", "all_to_all_single",
    "barrier", "broadcast", "default_pg_timeout", "destroy_process_group", "gather", "get_backend",
    "get_global_rank", "get_group_rank", "get_process_group_ranks", "get_rank", "get_world_size", "group",
    "init_process_group", "irecv", "is_available", "is_gloo_available", "is_initialized", "is_mpi_available",
    "is_nccl_available", "isend", "new_group", "recv", "reduce", "reduce_scatter_single", "reduce_scatter_tensor",
    "scatter", "send",
]


def __getattr__(name: str) -> Any:
    missing("module 'minigrad.distributed'", name)
