"""Begins and ends the work of all processes: `init_process_group` and the queries about it.

Mirrors the first part of `torch/distributed/distributed_c10d.py`.
"""

import atexit
import importlib.util
import os
import sys
from collections.abc import Sequence
from datetime import timedelta
from types import TracebackType
from typing import Any

from minigrad._base.optional import optional
from minigrad.distributed._process_group import NON_MEMBER, ProcessGroup
from minigrad.distributed._work import Call
from minigrad.trace.data import PROCESS

__all__ = ["GroupMember", "default_pg_timeout", "destroy_process_group", "get_backend", "get_global_rank",
           "get_group_rank", "get_process_group_ranks", "get_rank", "get_world_size", "group",
           "init_process_group", "is_available", "is_gloo_available", "is_initialized", "is_mpi_available",
           "is_nccl_available", "new_group"]

default_pg_timeout = timedelta(minutes=30)
NOT_INITIALIZED = "Default process group has not been initialized, please make sure to call init_process_group."
NO_NCCL = ("Distributed package doesn't have NCCL built in\n\nminigrad moves tensors between processes through MPI, in "
           "the memory of the CPU: use backend='mpi', and keep the model on the CPU.")
NO_BACKEND = ("Unknown backend type {}\n\nminigrad has one backend, 'mpi': call init_process_group('mpi'), and start "
              "the program with `minigrad run -n 4 program.py` or `mpiexec -n 4 python program.py`.")
EVERYBODY: list[ProcessGroup] = []  # the default group, if there is one, then those of `new_group`


class GroupMember:
    """What `new_group` returns to a rank outside the group."""

    WORLD: ProcessGroup | None = None
    NON_GROUP_MEMBER = NON_MEMBER


class _Group(type):
    @property
    def WORLD(cls) -> ProcessGroup | None:
        """The default group: all ranks."""
        return EVERYBODY[0] if EVERYBODY else None


class group(metaclass=_Group):
    """`group.WORLD` is the default group."""


def is_available() -> bool:
    """Return whether several processes can work together: whether mpi4py is installed."""
    return importlib.util.find_spec("mpi4py") is not None


def is_mpi_available() -> bool:
    """Return whether the backend "mpi" can be used."""
    return is_available()


def is_nccl_available() -> bool:
    """Return whether tensors on GPUs can be sent: no."""
    return False


def is_gloo_available() -> bool:
    """Return whether PyTorch's own library for CPUs is available: no."""
    return False


def is_initialized() -> bool:
    """Return whether `init_process_group` was called, and `destroy_process_group` was not."""
    return bool(EVERYBODY)


def init_process_group(backend: str | None = None, init_method: str | None = None, timeout: timedelta | None = None,
                       world_size: int = -1, rank: int = -1, store: Any = None, group_name: str = "",
                       pg_options: Any = None, device_id: Any = None) -> None:
    """Join the other processes that MPI has started. Call it first, in each of them.

    Until `destroy_process_group`, an uncaught error ends all processes, since the others would wait for this one.
    `timeout`: how long a call waits for the other ranks (30 minutes, as in PyTorch). `init_method`, `store` and the
    later arguments mean nothing to MPI.

    Raises:
        ValueError: if there is already a default group, or `rank` and `world_size` are not those that MPI knows.
        RuntimeError: for NCCL.
        AssertionError: for any other backend.
        MissingExtra: without mpi4py.
        DistBackendError: if another process does not call it in time.
    """
    if EVERYBODY:
        raise ValueError("trying to initialize the default process group twice!")
    if (name := "mpi" if backend is None else str(backend).lower()) == "nccl":
        raise RuntimeError(NO_NCCL)
    if name not in ("mpi", "cpu:mpi"):
        raise AssertionError(NO_BACKEND.format(backend))
    seconds = seconds_of(default_pg_timeout if timeout is None else timeout)
    mpi = optional("mpi4py.MPI", extra="mpi")
    world = mpi.COMM_WORLD
    for what, given, real in (("rank", rank, world.rank), ("world_size", world_size, world.size)):
        if given not in (-1, real):
            raise ValueError(f"{what}={given}, but MPI has started this process with {what} {real}\n\nLeave `{what}` "
                             "out: MPI knows it.")
    ranks = range(world.size)
    first = ProcessGroup(mpi, world, ranks, seconds)
    first.run(Call("init_process_group"), [], world.Ibarrier).wait()
    EVERYBODY.append(ProcessGroup(mpi, world.Dup(), ranks, seconds))
    PROCESS.update(rank=world.rank, ranks=world.size)
    LAST.begin(mpi)


class _Last:
    """What happens if the program of this process ends while there is a group."""

    mpi: Any = None

    def begin(self, mpi: Any) -> None:
        """From now on, make an uncaught error end all processes, and call `leave` at the end."""
        if self.mpi is None:
            self.mpi, self.hook = mpi, sys.excepthook
            sys.excepthook = self.uncaught
            atexit.register(leave_all)

    def uncaught(self, kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
        """Print the error as usual, then end all processes of the job."""
        self.hook(kind, error, traceback)
        if EVERYBODY and self.mpi.COMM_WORLD.size > 1:
            sys.stdout.flush()
            sys.stderr.flush()
            self.mpi.COMM_WORLD.Abort(1)
            os._exit(1)  # some MPIs' Abort returns, and the others must not hear that this rank merely left


LAST = _Last()


def leave_all() -> None:
    """Tell the other ranks that this one makes no more calls, so that they do not wait for it."""
    PROCESS.clear()
    while EVERYBODY:
        EVERYBODY.pop().leave()


def seconds_of(timeout: Any) -> float:
    """Return a time limit in seconds. Raises TypeError if it is not a `timedelta`."""
    if not isinstance(timeout, timedelta):
        raise TypeError(f"Expected timeout argument to be of type datetime.timedelta, got {timeout}")
    return timeout.total_seconds()


def destroy_process_group(group: Any = None) -> None:
    """Leave a group; without an argument, all groups. All its ranks should do so. Raises AssertionError if there is
    none."""
    if group is None or (EVERYBODY and group is EVERYBODY[0]):
        if not EVERYBODY:
            raise AssertionError("Process group cannot be None")
        leave_all()
    elif group is not NON_MEMBER:
        if group not in EVERYBODY:
            raise ValueError("Invalid process group specified")
        EVERYBODY.remove(group)
        group.leave()


def group_of(group: Any) -> Any:
    """Return the given group, by default the one of all ranks. Raises ValueError if there is no default group."""
    if group is None:
        if not EVERYBODY:
            raise ValueError(NOT_INITIALIZED)
        return EVERYBODY[0]
    return group


def get_rank(group: Any = None) -> int:
    """Return the number of this process, from 0; -1 outside the group."""
    return -1 if group is NON_MEMBER else int(group_of(group).rank())


def get_world_size(group: Any = None) -> int:
    """Return the number of processes; -1 outside the group."""
    return -1 if group is NON_MEMBER else int(group_of(group).size())


def get_backend(group: Any = None) -> str:
    """Return the name of what moves the data: "mpi"."""
    return str(group_of(group).name())


def get_process_group_ranks(group: Any = None) -> list[int]:
    """Return the ranks of a group, as the default group numbers them."""
    return list(group_of(group).ranks)


def get_group_rank(group: Any, global_rank: int) -> int:
    """Return the rank inside a group of a rank of the default group. Raises ValueError if it is not in the group."""
    ranks = group_of(group).ranks
    if global_rank not in ranks:
        raise ValueError(f"Global rank {global_rank} is not part of group {group}")
    return int(ranks.index(global_rank))


def get_global_rank(group: Any, group_rank: int) -> int:
    """Return the rank in the default group of a rank of a group. Raises ValueError if the group has no such rank."""
    ranks = group_of(group).ranks
    if not 0 <= group_rank < len(ranks):
        raise ValueError(f"Group rank {group_rank} is not part of group {group}")
    return int(ranks[group_rank])


def new_group(ranks: Sequence[int] | None = None, timeout: timedelta | None = None, backend: str | None = None,
              pg_options: Any = None, use_local_synchronization: bool = False, group_desc: str | None = None,
              device_id: Any = None, sort_ranks: bool = True) -> Any:
    """Make a group of some ranks. All ranks of the default group must call it, even those that will not be in it.
    Raises ValueError for ranks that the default group does not have, or that are given twice."""
    world = group_of(None)
    chosen = list(world.ranks) if ranks is None else sorted(ranks) if sort_ranks else list(ranks)
    if len(chosen) > world.size():
        raise ValueError("the new group's world size should be less or equal to the world size set by "
                         "init_process_group")
    if any(not 0 <= rank < world.size() for rank in chosen) or len(set(chosen)) < len(chosen):
        raise ValueError("The new group's rank should be within the world_size set by init_process_group")
    seconds = world.seconds if timeout is None else seconds_of(timeout)
    world.run(Call(f"new_group({chosen})"), [], world.comm.Ibarrier).wait()
    comm = world.comm.Create(world.comm.Get_group().Incl(chosen))
    if comm == world.mpi.COMM_NULL:
        return NON_MEMBER
    EVERYBODY.append(ProcessGroup(world.mpi, comm, chosen, seconds))
    return EVERYBODY[-1]
