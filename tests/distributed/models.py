"""Models that are trained on one process and on several, in minigrad and in PyTorch: one text for both.

As a program, it trains all of them as one rank and writes their parameters to a file: models.py LIB FOLDER.
"""

from __future__ import annotations

import importlib
import os
import sys
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

STEPS, BATCH = 20, 12
HOOKS = "compressed"  # what is trained with hooks
RANKS = (2, 3, 4)  # groups of so many ranks, in one job of four
OPTIONS: dict[str, dict[str, Any]] = {
    "mlp": {},
    "mlp in small buckets": {"bucket_cap_mb": 0.0005, "gradient_as_bucket_view": True},
    "cnn": {},
    "transformer": {},
    "unused parameters": {"find_unused_parameters": True, "bucket_cap_mb": 0.0002},
    "shared weights": {},
    "reentrant checkpoint": {},
    "checkpoint": {"gradient_as_bucket_view": True},
    "gradient accumulation": {},
}


def special(torch: Any, name: str) -> Any:
    """A model that is no mere chain of layers, or None."""
    nn = torch.nn
    checkpoint = importlib.import_module(f"{torch.__name__}.utils.checkpoint").checkpoint

    class Unused(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.odd, self.never, self.last = (nn.Linear(8, 8) for _ in range(4))
            self.calls = 0

        def forward(self, x: Any) -> Any:
            self.calls += 1
            x = torch.tanh(self.first(x))
            return self.last(torch.tanh(self.odd(x)) if self.calls % 2 else x)

    class Shared(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner, self.head = nn.Linear(8, 8), nn.Linear(8, 8)
            self.head.weight = self.inner.weight

        def forward(self, x: Any) -> Any:
            return self.head(torch.tanh(self.inner(torch.tanh(self.inner(x)))))

    class Checkpointed(nn.Module):
        def __init__(self, use_reentrant: bool) -> None:
            super().__init__()
            self.blocks = nn.ModuleList(nn.Sequential(nn.Linear(8, 8), nn.Tanh()) for _ in range(3))
            self.use_reentrant = use_reentrant

        def forward(self, x: Any) -> Any:
            x = x.clone().requires_grad_()
            for block in self.blocks:
                x = checkpoint(block, x, use_reentrant=self.use_reentrant)
            return x

    made = {"unused parameters": Unused, "shared weights": Shared,
            "reentrant checkpoint": lambda: Checkpointed(True), "checkpoint": lambda: Checkpointed(False)}
    return made[name]() if name in made else None


def model_of(torch: Any, name: str) -> Any:
    """A model of float64, the same in both libraries."""
    nn = torch.nn
    torch.manual_seed(7)
    if (model := special(torch, name)) is not None:
        return model.double()
    if name == "cnn":
        layers = [nn.Unflatten(1, (1, 4, 2)), nn.Conv2d(1, 4, 2), nn.ReLU(), nn.Flatten(), nn.Linear(12, 8)]
        return nn.Sequential(*layers).double()
    if name == "transformer":
        block = nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, batch_first=True)
        return nn.Sequential(nn.Unflatten(1, (2, 4)), block, nn.Flatten()).double()
    return nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 8)).double()


def trained(torch: Any, name: str, rank: int = 0, ranks: int = 1, wrap: Any = None) -> dict[str, np.ndarray]:
    """The parameters after 20 steps on this rank's part of each batch."""
    module = model_of(torch, name)
    model = module if wrap is None else wrap(module, **OPTIONS[name])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    for step in range(STEPS):
        torch.manual_seed(100 + step)
        x, y = (torch.randn(BATCH, 8, dtype=torch.float64)[rank::ranks] for _ in range(2))
        parts = [slice(0, None)]
        if name == "gradient accumulation":
            parts = [slice(0, 1), slice(1, None)]
        for part in parts:
            with nullcontext() if wrap is None or part is parts[-1] else model.no_sync():
                (((model(x[part]) - y[part]) ** 2).sum() / len(x)).backward()
        optimizer.step()
        optimizer.zero_grad()
    return {key: value.detach().numpy().copy() for key, value in module.state_dict().items()}


def compress(torch: Any, group: Any, state: dict[str, Any], bucket: Any) -> Any:
    """The exercise of lesson 14: PowerSGD for one weight, as a communication hook."""
    dist = importlib.import_module(f"{torch.__name__}.distributed")
    m = bucket.gradients()[0] + state["error"]
    p = m @ state["q"]
    dist.all_reduce(p, op=dist.ReduceOp.SUM, group=group)  # qr takes care of a factor
    p = torch.linalg.qr(p).Q
    work = dist.all_reduce(m.T @ p, op=dist.ReduceOp.SUM, group=group, async_op=True)

    def finish(future: Any) -> Any:
        q = future.value()[0] / group.size()
        state["q"], state["error"] = q, m - p @ q.T
        bucket.set_buffer((p @ q.T).reshape(-1))
        return bucket.buffer()

    return work.get_future().then(finish)


def their_hook(torch: Any, group: Any, q: Any) -> tuple[Any, Any]:
    """PyTorch's own hook behind its state, in which it begins with this Q, in the first step."""
    hooks = importlib.import_module("torch.distributed.algorithms.ddp_comm_hooks.powerSGD_hook")
    state = hooks.PowerSGDState(group, matrix_approximation_rank=q.shape[1], start_powerSGD_iter=2)
    state.iter, state.q_memory_dict[0] = 2, q.reshape(-1).clone()
    state.p_memory_dict[0] = torch.empty(24 * q.shape[1], dtype=torch.float64)
    return state, hooks.powerSGD_hook


def compressed(torch: Any, rank: int, ranks: int, group: Any, own: bool) -> np.ndarray:
    """A weight after 20 steps with a hook that compresses: that of the lesson, or PyTorch's own."""
    torch.manual_seed(7)
    layer, q = torch.nn.Linear(16, 24, bias=False).double(), torch.randn(16, 2, dtype=torch.float64)
    parallel = importlib.import_module(f"{torch.__name__}.nn.parallel")
    model = parallel.DistributedDataParallel(layer, process_group=group)
    state = {"q": q, "error": torch.zeros(24, 16, dtype=torch.float64)}
    hook = partial(compress, torch, group)  # PyTorch takes no annotation of `bucket` but its own
    ours = state, lambda state, bucket: hook(state, bucket)
    model.register_comm_hook(*(their_hook(torch, group, q) if own else ours))
    for _ in range(STEPS):
        x, y = (torch.randn(BATCH, size, dtype=torch.float64)[rank::ranks] for size in (16, 24))
        layer.zero_grad()
        ((model(x) - y) ** 2).mean().backward()
        with torch.no_grad():
            layer.weight -= 0.1 * layer.weight.grad
    found: np.ndarray = layer.weight.detach().numpy().copy()
    return found


def start_group(lib: str, folder: str) -> Any:
    """Make the process group of a job, whose ranks share a folder; gives `distributed`."""
    dist = importlib.import_module(f"{lib}.distributed")
    if lib == "torch":
        rank, ranks = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
        dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=ranks)
    else:
        dist.init_process_group("mpi")
    return dist


def end_group(dist: Any) -> None:
    """Leave the process group; a rank of PyTorch's ends here.

    A thread of gloo may be the last to hold the group. It then waits for itself to end, which C++ refuses with
    "Resource deadlock avoided", and the process is aborted: two jobs of five on a busy machine. So nobody takes the
    group down.
    """
    if dist.__name__.startswith("torch"):
        dist.barrier()  # all have what they wait for
        os._exit(0)
    dist.destroy_process_group()


def main(lib: str, folder: str) -> None:
    """Train all models as one rank among several."""
    torch, dist = importlib.import_module(lib), start_group(lib, folder)
    rank = dist.get_rank()
    data_parallel = importlib.import_module(f"{lib}.nn.parallel").DistributedDataParallel
    for ranks, group in [(ranks, dist.new_group(list(range(ranks)))) for ranks in RANKS]:
        for name in OPTIONS if rank < ranks else ():
            values = trained(torch, name, rank, ranks, partial(data_parallel, process_group=group))
            np.savez(Path(folder) / f"{name}.{ranks}.{rank}.npz", **values)
        if rank < ranks:
            hooks = {"of the lesson": False} | ({"of PyTorch": True} if lib == "torch" else {})
            weights = {name: compressed(torch, rank, ranks, group, own) for name, own in hooks.items()}
            np.savez(Path(folder) / f"{HOOKS}.{ranks}.{rank}.npz", **weights)
    end_group(dist)


if __name__ == "__main__":
    main(*sys.argv[1:])
