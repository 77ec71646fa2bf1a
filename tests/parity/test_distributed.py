"""One process in a process group of its own: names, results and errors of `torch.distributed`, compared over gloo."""

from __future__ import annotations

import importlib
import inspect
import random

import pytest

import minigrad
from tests.distributed.jobs import need_mpi
from tests.parity.outcome import outcome

need_mpi()
pytestmark = pytest.mark.torch

WITHOUT = """\
d.get_rank()
d.get_world_size()
d.get_backend()
d.all_reduce(m.ones(2))
d.destroy_process_group()
m.nn.parallel.DistributedDataParallel(m.nn.Linear(1, 1))
d.is_initialized(), d.group.WORLD
str(d.ReduceOp.SUM), repr(d.ReduceOp.AVG)
"""
WITHIN = """\
d.init_process_group("mpi")
d.get_rank(), d.get_world_size(), d.is_initialized()
d.all_reduce(3)
d.broadcast(m.ones(2), 3)
d.send(m.ones(2), 0)
d.gather(m.ones(2))
d.scatter(m.ones(2))
d.new_group([0, 3])
d.new_group([0]).size()
d.get_process_group_ranks(None), d.get_global_rank(d.group.WORLD, 0), d.get_group_rank(d.group.WORLD, 0)
wrote(m.ones(3), lambda x: d.all_reduce(x))
wrote(m.ones(2, 3).t(), lambda x: d.all_reduce(x, d.ReduceOp.MAX))
wrote(m.ones(3, dtype=m.bool), lambda x: d.all_reduce(x))
wrote(m.zeros(3), lambda x: d.all_gather([x], m.arange(3.0)))
wrote(m.zeros(3), lambda x: d.all_gather_into_tensor(x, m.arange(3.0)))
wrote(m.zeros(3), lambda x: d.reduce_scatter_tensor(x, m.arange(3.0)))
wrote(m.zeros(3), lambda x: d.all_gather_single(x, m.arange(3.0)))
wrote(m.zeros(3), lambda x: d.reduce_scatter_single(x, m.arange(3.0)))
wrote(m.zeros(3), lambda x: d.all_to_all_single(x, m.arange(3.0)))
wrote(m.zeros(3), lambda x: d.gather(m.arange(3.0), [x]))
wrote(m.zeros(3), lambda x: d.scatter(x, [m.arange(3.0)], src=0))
wrote(m.zeros(3), lambda x: d.reduce(x, 0))
wrote(m.arange(3.0), lambda x: d.all_reduce(x, async_op=True).get_future().wait())
d.all_reduce(m.ones(2), async_op=True).wait()
m.nn.parallel.DistributedDataParallel(m.nn.ReLU())
str(m.nn.parallel.DistributedDataParallel(m.nn.Linear(1, 1)))
list(m.nn.parallel.DistributedDataParallel(m.nn.Linear(1, 1)).state_dict())
m.nn.parallel.DistributedDataParallel(m.nn.Linear(1, 1)).register_comm_hook(None, 3)
twice(m.nn.parallel.DistributedDataParallel(m.nn.Linear(1, 1)))
"""
NAMES = """\
init_process_group destroy_process_group get_rank get_world_size new_group barrier broadcast all_reduce reduce send recv
all_gather all_gather_into_tensor all_gather_single reduce_scatter_tensor reduce_scatter_single gather scatter isend
irecv all_to_all_single"""


def of(m):
    return importlib.import_module(f"{m.__name__}.distributed")


def wrote(tensor, call):
    given = call(tensor)
    return tensor, given is None


def twice(model):
    hook = lambda state, bucket: None  # noqa: E731 (its parameters must have these names)
    model.register_comm_hook(None, hook)
    model.register_comm_hook(None, hook)


def same(expression, torch):
    def program(m):
        return eval(expression, {"m": m, "d": of(m), "wrote": wrote, "twice": twice})

    ours, theirs = outcome(program, minigrad), outcome(program, torch)
    assert str(ours) == str(theirs).replace("Gloo", "MPI")


def test_other_backends_are_refused():
    with pytest.raises(RuntimeError, match="Distributed package doesn't have NCCL built in\n\nminigrad moves tensors"):
        of(minigrad).init_process_group("nccl")
    with pytest.raises(AssertionError, match="Unknown backend type gloo\n\nminigrad has one backend, 'mpi'"):
        of(minigrad).init_process_group("gloo")
    assert not of(minigrad).is_initialized()


@pytest.fixture(scope="module")
def group(torch, tmp_path_factory):
    """A process group of one process in each library."""
    store = tmp_path_factory.mktemp("group") / "store"
    of(torch).init_process_group("gloo", init_method=f"file://{store}", rank=0, world_size=1)
    of(minigrad).init_process_group("mpi")
    yield
    of(minigrad).destroy_process_group()
    of(torch).destroy_process_group()


@pytest.mark.parametrize("expression", WITHOUT.splitlines())
def test_without_a_group(torch, expression):
    same(expression, torch)


@pytest.mark.filterwarnings("ignore:You are using a Backend:UserWarning")  # PyTorch's, of gloo without a device
@pytest.mark.parametrize("expression", WITHIN.splitlines())
def test_in_a_group_of_one(torch, group, expression):
    same(expression, torch)


@pytest.mark.parametrize("name", NAMES.split())
def test_parameters_have_pytorchs_names(torch, name):
    ours, theirs = (list(inspect.signature(getattr(of(m), name)).parameters) for m in (minigrad, torch))
    assert [each for each in ours if each != "label"] == [each for each in theirs if not each.startswith("_")]


@pytest.mark.parametrize("seed", range(30))
def test_sampler_draws_as_pytorch(torch, seed):
    draw = random.Random(seed)
    count, replicas = draw.randint(1, 30), draw.randint(1, 5)
    options = {"shuffle": draw.random() < 0.7, "seed": draw.randint(0, 9), "drop_last": draw.random() < 0.5}

    def drawn(m):
        sampler = importlib.import_module(f"{m.__name__}.utils.data.distributed").DistributedSampler
        samplers = [sampler(range(count), replicas, rank, **options) for rank in range(replicas)]
        for each in samplers:
            each.set_epoch(seed)
        return [(len(each), list(each)) for each in samplers]

    assert drawn(minigrad) == drawn(torch)


def test_sampler_refuses_a_rank_that_is_not_there(torch):
    for m in (minigrad, torch):
        sampler = importlib.import_module(f"{m.__name__}.utils.data.distributed").DistributedSampler
        with pytest.raises(ValueError, match=r"Invalid rank 5, rank should be in the interval \[0, 1\]"):
            sampler(range(4), 2, 5)


@pytest.mark.parametrize("seed", range(20))
def test_buckets_are_pytorchs(torch, seed):
    draw = random.Random(seed)
    tensors = [torch.empty(draw.randint(1, 300), dtype=draw.choice([torch.float32, torch.float64])) for _ in range(20)]
    limits = [draw.randint(200, 2000), draw.randint(200, 4000)]
    theirs, _ = of(torch)._compute_bucket_assignment_by_size(tensors, limits, [False] * len(tensors))
    assign = importlib.import_module("minigrad.distributed._grad_bucket").assign_buckets
    ours = assign([(each.dtype, each.nbytes) for each in tensors], range(len(tensors)), limits)
    assert sorted(ours, key=min) == theirs
