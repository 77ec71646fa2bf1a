"""What three ranks check about data parallelism; an assertion that fails on one of them ends the job."""

from __future__ import annotations

import gc
import re
import time
import warnings
import weakref
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import numpy as np

import minigrad as torch
import minigrad.distributed as dist
from minigrad import nn
from minigrad.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook, fp16_compress_hook
from minigrad.distributed.fsdp import fully_shard
from minigrad.nn.parallel import DistributedDataParallel
from tests.distributed.models import model_of, trained

CHECKS: list[Callable[[int, int], None]] = []


def check(function: Callable[[int, int], None]) -> Callable[[int, int], None]:
    CHECKS.append(function)
    return function


def refused(call: Callable[[], Any], sentence: str) -> None:
    """The call raises an error with this sentence."""
    try:
        call()
    except (RuntimeError, ValueError, AssertionError, TypeError) as error:
        assert re.search(sentence, str(error), re.S), str(error)
    else:
        raise AssertionError(f"nothing was raised: {sentence}")


def linear(out: int = 2) -> nn.Linear:
    torch.manual_seed(0)
    return nn.Linear(2, out).double()


def mean_gradient(ranks: int) -> np.ndarray:
    """Of the weight of `linear()`, where rank r has an input of r + 1."""
    return np.full((2, 2), np.mean([rank + 1.0 for rank in range(ranks)]))


def data(rank: int) -> torch.Tensor:
    return torch.full((1, 2), rank + 1.0, dtype=torch.float64)


@check
def collectives(rank: int, ranks: int) -> None:
    x = torch.arange(6.0).reshape(2, 3) + rank
    dist.all_reduce(x)
    assert x.tolist() == [[3, 6, 9], [12, 15, 18]]
    x = torch.arange(6.0).reshape(2, 3).t() + rank  # not contiguous
    dist.all_reduce(x, dist.ReduceOp.AVG)
    assert x.tolist() == [[1, 4], [2, 5], [3, 6]]
    for op, value in ((dist.ReduceOp.MIN, 1), (dist.ReduceOp.MAX, 3), (dist.ReduceOp.PRODUCT, 6)):
        for dtype in (torch.float16, torch.float32, torch.int64, torch.uint8):
            x = torch.full((2,), rank + 1, dtype=dtype)
            dist.all_reduce(x, op)
            assert x.tolist() == [value] * 2
    x = torch.tensor([rank == 0, True, False])
    dist.all_reduce(x)
    assert x.tolist() == [True, True, False]
    x = torch.tensor(rank + 1.0) * 2  # its array is a NumPy scalar
    dist.reduce(x, 1)
    assert x.item() == (12 if rank == 1 else 2 * (rank + 1))
    x = torch.full((2,), float(rank))
    dist.broadcast(x, 1)
    assert x.tolist() == [1, 1]


@check
def gathers(rank: int, ranks: int) -> None:
    mine, all_of_them = torch.full((2,), float(rank)), [torch.zeros(2) for _ in range(ranks)]
    dist.all_gather(all_of_them, mine)
    assert [each.tolist() for each in all_of_them] == [[0, 0], [1, 1], [2, 2]]
    row = torch.zeros(ranks, 2)
    work = dist.all_gather_single(row, mine, async_op=True)
    assert work.wait() and work.is_completed() and work.is_success() and row[2].tolist() == [2, 2]
    part = torch.zeros(2)
    dist.reduce_scatter_single(part, torch.arange(6.0))
    assert part.tolist() == [6 * rank, 6 * rank + 3]
    gathered = [torch.zeros(2) for _ in range(ranks)] if rank == 2 else None
    dist.gather(mine, gathered, dst=2)
    assert gathered is None or [each[0].item() for each in gathered] == [0, 1, 2]
    dist.scatter(part, [torch.full((2,), 10.0 + i) for i in range(ranks)] if rank == 1 else None, src=1)
    assert part.tolist() == [10 + rank] * 2
    out = torch.zeros(ranks)
    dist.all_to_all_single(out, torch.arange(3.0) + 10 * rank)
    assert out.tolist() == [rank, 10 + rank, 20 + rank]
    uneven = torch.zeros(rank * ranks)  # each rank sends r rows to rank r
    dist.all_to_all_single(uneven, torch.arange(3.0), [rank] * ranks, [0, 1, 2])
    assert uneven.tolist() == {0: [], 1: [0.0] * 3, 2: [1.0, 2] * 3}[rank]
    refused(lambda: dist.all_to_all_single(torch.zeros(3), torch.zeros(3), [3, 0, 0] if rank == 0 else [1, 1, 1]),
            "Detected mismatch")


@check
def pairs_and_groups(rank: int, ranks: int) -> None:
    got, work = torch.tensor(-1.0), dist.isend(torch.tensor(float(rank)), (rank + 1) % ranks, tag=5)
    assert dist.recv(got, tag=5) == (rank - 1) % ranks == got.item()
    work.wait()
    group = dist.new_group([0, 2])
    x = torch.ones(1)
    if rank == 1:
        assert group is dist.GroupMember.NON_GROUP_MEMBER and dist.get_rank(group) == -1
        with warnings.catch_warnings(record=True) as noted:
            warnings.simplefilter("always")
            dist.all_reduce(x, group=group)
        assert "does not belong to" in str(noted[0].message) and x.item() == 1
    else:
        dist.all_reduce(x, group=group)
        dist.broadcast(x, 2, group)
        assert x.item() == 2 and dist.get_group_rank(group, 2) == 1 and dist.get_process_group_ranks(group) == [0, 2]
        refused(lambda: dist.broadcast(x, 1, group), "invalid root rank: 1")
        dist.destroy_process_group(group)


@check
def a_mismatch_leaves_tensors_and_group_as_they_were(rank: int, ranks: int) -> None:
    x = torch.full((2 + (rank == 1),), 5.0)
    refused(lambda: dist.all_reduce(x), r"Rank \d is running collective: all_reduce\(float32 \[\d\], SUM\), but Rank")
    assert set(x.tolist()) == {5}
    y = torch.ones(1)
    dist.all_reduce(y)
    assert y.item() == ranks


@check
def limits_of_one_wait(rank: int, ranks: int) -> None:
    group = dist.new_group([0, 1], timeout=timedelta(seconds=1))
    if rank == 0:
        refused(lambda: dist.recv(torch.zeros(2), 1, group), r"Timed out after 1 s: rank 0 is running recv\(float32 ")
        refused(lambda: dist.barrier(group), "cannot be used any more, since an earlier call failed: Timed out")
    dist.barrier()


@check
def buffers_and_parameters_are_those_of_rank_0(rank: int, ranks: int) -> None:
    module = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2)).double()
    with torch.no_grad():
        module[0].weight.fill_(rank)
    model = DistributedDataParallel(module)
    assert module[0].weight.tolist() == [[0, 0], [0, 0]]
    module[1].running_mean.fill_(rank)
    model.eval()
    model(torch.ones(2, 2, dtype=torch.float64))
    assert module[1].running_mean.tolist() == [0, 0]


@check
def averages_over_ranks(rank: int, ranks: int) -> None:
    for hook in (None, allreduce_hook, fp16_compress_hook):
        model = DistributedDataParallel(linear())
        if hook is not None:
            model.register_comm_hook(None, hook)
        model(data(rank)).sum().backward()
        np.testing.assert_allclose(model.module.weight.grad.numpy(), mean_gradient(ranks), rtol=1e-3)
        assert model.module.weight.grad.dtype == torch.float64


@check
def buckets_are_rebuilt_in_order_of_arrival(rank: int, ranks: int) -> None:
    model = DistributedDataParallel(model_of(torch, "mlp"), bucket_cap_mb=0.001)
    sizes = []
    for _ in range(3):
        model(torch.ones(1, 8, dtype=torch.float64)).sum().backward()
        sizes.append([bucket.names for bucket in model.reducer.buckets])
    assert [len(each) for each in sizes] == [1, 3, 3] and sizes[1] == sizes[2]
    assert [name for bucket in sizes[2] for name in bucket][:2] in (["4.weight", "4.bias"], ["4.bias", "4.weight"])


@check
def a_parameter_that_only_some_ranks_use(rank: int, ranks: int) -> None:
    layers = nn.ModuleDict({"all": linear(), "one": linear(), "none": linear()})
    layers.forward = lambda x: layers["all"](x) + (layers["one"](x) if rank == 1 else 0)
    model = DistributedDataParallel(layers, find_unused_parameters=True)
    model(data(rank)).sum().backward()
    assert layers["none"].weight.grad is None
    np.testing.assert_allclose(layers["all"].weight.grad.numpy(), mean_gradient(ranks))
    np.testing.assert_allclose(layers["one"].weight.grad.numpy(), 2 / ranks)


@check
def unfinished_and_twice(rank: int, ranks: int) -> None:
    layers = nn.ModuleDict({"used": linear(), "unused": linear()})
    layers.forward = lambda x: layers["used"](x)
    model = DistributedDataParallel(layers)
    model(data(rank)).sum().backward()
    refused(lambda: model(data(rank)), rf"Expected to have finished reduction.*grad for rank {rank}: unused.weight, un")
    dist.barrier()
    refused(lambda: DistributedDataParallel(nn.ReLU()), "not needed when a module doesn't have any parameter")
    model = DistributedDataParallel(linear())
    model.register_comm_hook(None, lambda state, bucket: 3)
    refused(lambda: model(data(rank)).sum().backward(), "must return a torch.futures.Future object, but got")


@check
def uneven_inputs_join(rank: int, ranks: int) -> None:
    for by_all in (True, False):
        model = DistributedDataParallel(linear())
        optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
        before = model.module.bias.detach().clone()
        with model.join(divide_by_initial_world_size=by_all):
            for _ in range(rank + 1):
                optimizer.zero_grad()
                model(data(rank)).sum().backward()
                optimizer.step()
        steps = sum((ranks - i) / (ranks if by_all else ranks - i) for i in range(ranks))
        np.testing.assert_allclose((before - model.module.bias).detach().numpy(), steps)


def sharded(module: Any, **options: Any) -> Any:
    for part in [*module.children()] if not hasattr(module, "inner") else []:
        for each in part if isinstance(part, nn.ModuleList) else [part]:
            if list(each.parameters()):
                fully_shard(each)
    return fully_shard(module)


@check
def shards_train_as_one_process(rank: int, ranks: int) -> None:
    for name in ("mlp", "cnn", "transformer", "shared weights", "checkpoint", "unused parameters"):
        values = whole(name, rank, ranks)
        for key, value in trained(torch, name).items():
            np.testing.assert_allclose(values[key].numpy(), value, rtol=0, atol=1e-6)


def whole(name: str, rank: int, ranks: int) -> dict[str, Any]:
    """The parameters of a model that was trained in shards, gathered."""
    kept: list[Any] = []
    trained(torch, name, rank, ranks, lambda module, **_: kept.append(sharded(module)) or kept[0])
    for module in kept[0].modules():
        if hasattr(module, "unshard"):
            module.unshard()
    return {key: value.detach() for key, value in kept[0].state_dict().items()}


@check
def whole_parameters_live_while_they_are_needed(rank: int, ranks: int) -> None:
    model = model_of(torch, "mlp")
    rows = -(-16 // ranks)
    for layer in (model[0], model[2]):
        fully_shard(layer)
    fully_shard(model)
    assert type(model).__name__ == "FSDPSequential"
    assert model[2].weight.shape == (len(range(16)[rank * rows:(rank + 1) * rows]), 16)
    alive, gather = [], type(model._group).gather

    def noted(group: Any) -> None:
        gather(group)
        alive.extend(weakref.ref(each.full.array) for each in group.parameters)

    type(model._group).gather = noted
    try:
        output = model(torch.ones(3, 8, dtype=torch.float64))
        gc.collect()
        # Those of the outermost group stay for backward: weight and bias of the last layer.
        assert len(alive) == 6 and sum(each() is not None for each in alive) == 2
        output.sum().backward()
        gc.collect()
        assert len(alive) > 6 and sum(each() is not None for each in alive) == 0
    finally:
        type(model._group).gather = gather
    assert model[2].weight.grad.shape == model[2].weight.shape


@check
def shards_accumulate_without_sync(rank: int, ranks: int) -> None:
    model = fully_shard(linear())
    model.set_requires_gradient_sync(False)
    model(data(rank)).sum().backward()
    assert model.weight.grad is None
    model.set_requires_gradient_sync(True)
    model(data(rank)).sum().backward()
    np.testing.assert_allclose(model.weight.grad.numpy(), 2 * mean_gradient(ranks)[:len(model.weight)])
    refused(lambda: fully_shard(model), "applied to this module already")
    scalar = nn.Module()
    scalar.register_parameter("scale", nn.Parameter(torch.tensor(1.0)))
    refused(lambda: fully_shard(scalar), "doesn't support scalar parameters. Change scale to a 1D tensor")


def main() -> None:
    dist.init_process_group("mpi", timeout=timedelta(seconds=60))
    for each in CHECKS:
        begun = time.perf_counter()
        each(dist.get_rank(), dist.get_world_size())
        dist.barrier()
        if dist.get_rank() == 0:
            print(f"passed {each.__name__} in {time.perf_counter() - begun:.2f} s", flush=True)


if __name__ == "__main__":
    main()
