"""Programs of several ranks that are recorded with minigrad and with PyTorch: one text for both.

As a program, it runs all of them as one rank and saves their traces: stories.py LIB FOLDER.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np

from tests.distributed.models import end_group, start_group

SMALL = 0.0005  # MiB: so small a limit makes several buckets of the MLP
DDP: dict[str, dict[str, Any]] = {
    "one bucket": {},
    "small buckets": {"bucket_cap_mb": SMALL},
    "views of buckets": {"bucket_cap_mb": SMALL, "gradient_as_bucket_view": True},
    "unused parameters": {"bucket_cap_mb": SMALL, "find_unused_parameters": True},
    "no_sync": {"bucket_cap_mb": SMALL},
}
THEIRS: dict[str, dict[str, Any]] = {  # what is recorded of PyTorch only
    "hook": {"bucket_cap_mb": SMALL},
    "backward alone": {"bucket_cap_mb": SMALL},
    "static graph": {"bucket_cap_mb": SMALL, "static_graph": True},
}


def mlp(torch: Any) -> Any:
    """An MLP from one seed; its layer `odd` takes no part in every second call."""
    nn = torch.nn

    class MLP(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.odd, self.last = nn.Linear(8, 16), nn.Linear(16, 16), nn.Linear(16, 4)
            self.skips, self.calls = False, 0

        def forward(self, x: Any) -> Any:
            self.calls += 1
            x = torch.tanh(self.first(x))
            return self.last(x if self.skips and self.calls % 2 else torch.tanh(self.odd(x)))

    torch.manual_seed(3)
    return MLP().double()


def halved(lib: str) -> Callable[[Any, Any], Any]:
    """A communication hook whose sums are tensors of its own."""
    dist = importlib.import_module(f"{lib}.distributed")

    return lambda state, bucket: dist.all_reduce(bucket.buffer(), async_op=True).get_future().then(
        lambda future: future.value()[0] / 2)  # PyTorch takes no annotation of `bucket` but its own


def steps(lib: str, name: str, recordings: Sequence[Any]) -> tuple[list[Any], dict[str, np.ndarray]]:
    """Two steps of DDP, each inside of its recording; gives what these have made, and the gradients."""
    torch, dist = importlib.import_module(lib), importlib.import_module(f"{lib}.distributed")
    net, traces = mlp(torch), []
    net.skips = name == "unused parameters"
    parallel = importlib.import_module(f"{lib}.nn.parallel")
    ddp = parallel.DistributedDataParallel(net, **(DDP | THEIRS)[name])
    if name == "hook":
        ddp.register_comm_hook(None, halved(lib))
    x = torch.full((3, 8), 1.0 + dist.get_rank(), dtype=torch.float64)
    for recording in recordings:
        loss = ddp(x).sum() if name == "backward alone" else None
        with recording as trace, ddp.no_sync() if name == "no_sync" else nullcontext():
            if loss is None:
                loss = ddp(x).sum()
            loss.backward()
        traces.append(trace)
    return traces, {key: p.grad.numpy().copy() for key, p in net.named_parameters() if p.grad is not None}


def calls(lib: str) -> None:
    """Operations of several ranks, called by the program."""
    torch, dist = importlib.import_module(lib), importlib.import_module(f"{lib}.distributed")
    x, row = torch.ones(3), torch.ones(4)
    first = dist.all_reduce(x, async_op=True)
    second = dist.broadcast(torch.ones(2, 2), src=1, async_op=True)
    second.wait()
    first.wait()
    first.wait()
    dist.all_reduce(x, op=dist.ReduceOp.MAX)
    dist.broadcast(x, src=1)
    dist.reduce(x, dst=1)
    dist.all_gather_into_tensor(torch.zeros(6), x)
    dist.all_gather([torch.zeros(3), torch.zeros(3)], x)
    dist.reduce_scatter_tensor(torch.zeros(2), row)
    dist.all_to_all_single(torch.zeros(4), row)
    dist.scatter(x, [torch.ones(3), torch.ones(3)] if dist.get_rank() == 0 else None, src=0)
    dist.gather(x, [torch.ones(3), torch.ones(3)] if dist.get_rank() == 0 else None, dst=0)
    if dist.get_rank() == 0:
        dist.send(x, 1)
    else:
        dist.recv(x, 0)
    dist.barrier()
    dist.all_reduce(x, async_op=True)  # nobody waits for it


def sums(lib: str) -> None:
    """What the program sums over the ranks: a `.grad`, and a tensor that has been used before."""
    torch, dist = importlib.import_module(lib), importlib.import_module(f"{lib}.distributed")
    w = torch.ones(2, requires_grad=True)
    x = torch.full((2,), 1.0 + dist.get_rank())
    y = (x * w).sum()
    y.backward()
    dist.all_reduce(w.grad)
    dist.all_reduce(x)
    z = x * w
    z.sum().backward()
    groups = [dist.new_group([rank]) for rank in range(2)]
    dist.all_reduce(torch.ones(2), group=groups[dist.get_rank()])


def broken(recording: Any) -> Any:
    """A pass of PyTorch's that an error ends while a bucket is on its way, and a call behind it; gives the trace."""
    torch, dist = importlib.import_module("torch"), importlib.import_module("torch.distributed")
    ddp = torch.nn.parallel.DistributedDataParallel(mlp(torch), **DDP["small buckets"])
    x = torch.ones(3, 8, dtype=torch.float64)
    ddp(x).sum().backward()
    with recording as trace:
        ddp.module.first.weight.register_hook(lambda grad: 1 / 0)
        try:
            ddp(x).sum().backward()
        except ZeroDivisionError:
            dist.all_reduce(x)
    return trace


def main(lib: str, folder: str) -> None:
    """Record everything as one rank of two, and see that it changes no gradient."""
    reader = {"minigrad": "minigrad.recorder", "torch": "minigrad_widgets.torch_reader"}[lib]
    record = importlib.import_module(reader).record
    dist = start_group(lib, folder)
    for name in DDP | THEIRS if lib == "torch" else DDP:
        _, plain = steps(lib, name, [nullcontext()] * 2)
        traces, found = steps(lib, name, [record(), record(times=True)])
        assert plain.keys() == found.keys() and all((plain[key] == found[key]).all() for key in plain), name
        for step, trace in enumerate(traces):
            trace.save(f"{folder}/{name}.{step}.{dist.get_rank()}.json")
    with record() as trace:
        calls(lib)
    trace.save(f"{folder}/calls.0.{dist.get_rank()}.json")
    with record() as trace:
        sums(lib)
    trace.save(f"{folder}/sums.0.{dist.get_rank()}.json")
    if lib == "torch":
        broken(record()).save(f"{folder}/broken.0.{dist.get_rank()}.json")
        # PyTorch's own function is there again
        assert type(dist.Work.__dict__["wait"]).__name__ == "instancemethod"
    end_group(dist)


if __name__ == "__main__":
    main(*sys.argv[1:])
