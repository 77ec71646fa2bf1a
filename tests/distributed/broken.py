"""A program in which rank 1 goes wrong: broken.py HOW MARK. The others call `all_reduce` and wait for it."""

import os
import sys
import time
from datetime import timedelta

import minigrad as torch
import minigrad.distributed as dist

PATIENT, SECONDS = 120, 15  # a rank of a busy machine may be slow, and is not to be taken for one that hangs


def main(how: str) -> None:
    dist.init_process_group("mpi", timeout=timedelta(seconds=PATIENT))
    short = dist.new_group(timeout=timedelta(seconds=SECONDS)) if how in ("hangs", "graph") else None
    one = dist.get_rank() == 1
    dist.barrier()
    if one and how == "raises":
        raise KeyError("no such key")
    if one and how == "ends":
        return
    if one and how == "dies":
        print("half a line", end="", file=sys.stderr, flush=True)
        os.kill(os.getpid(), 9)
    if one and how == "hangs":
        time.sleep(1000)
    if one and how == "order":
        dist.broadcast(torch.ones(2), 0)
    if how == "graph":
        two_layers(one, short)
    dist.all_reduce(torch.ones(3 if one and how == "shape" else 2,
                               dtype=torch.float64 if one and how == "dtype" else torch.float32), group=short)
    dist.barrier()


def two_layers(one: bool, group: object) -> None:
    """Rank 1 uses one layer, the others use two."""
    first, second = torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.ModuleDict({"first": first, "second": second}),
                                                      process_group=group)
    model.module.forward = lambda x: first(x) if one else second(first(x))
    model(torch.ones(1, 2)).sum().backward()
    if one:
        time.sleep(1000)


if __name__ == "__main__":
    main(sys.argv[1])
