"""Data sets, samplers, batches and loaders: what they give, in which order, and what they refuse."""

from __future__ import annotations

import collections
import inspect
import types
from typing import Any, NamedTuple

import numpy as np
import pytest

import minigrad
from tests.parity.alike import alike, ending

pytestmark = pytest.mark.torch


class Squares:
    """Numbers and their squares; no library in it."""

    def __init__(self, n=7):
        self.n = n

    def __getitem__(self, i):
        if not 0 <= i < self.n:
            raise IndexError(f"no square {i}")
        return i, float(i * i)

    def __len__(self):
        return self.n


class Batched(Squares):
    """Squares that come many at a time."""

    def __getitems__(self, indices):
        return [self[i] for i in indices] + [(-1, -1.0)] * (self.n == 3)


class Point(NamedTuple):
    x: Any
    y: Any


class Pairs(collections.UserDict):
    """A mapping that is no dict."""


def ordered(m, n=7):
    """A TensorDataset of two tensors."""
    return m.utils.data.TensorDataset(m.arange(2.0 * n).view(n, 2), m.arange(n))


def streamed(m, n=7, length=None):
    """A stream of n numbers, which says that it has another length."""
    class Stream(m.utils.data.IterableDataset):
        def __iter__(self):
            return iter(range(n))

    class Known(Stream):
        def __len__(self):
            return length

        def __repr__(self):
            return "Known"

    return Stream() if length is None else Known()


def seen(loader):
    """The batches of two passes, and how many there should be."""
    return [list(loader), list(loader), len(loader)]


def loaded(*args, data=ordered, **named):
    """A program that goes through a loader twice; numbers by name of a function of the library."""
    return lambda m: seen(m.utils.data.DataLoader(
        data(m), *args, **{k: v(m) if isinstance(v, types.FunctionType) else v for k, v in named.items()}))


def collated(*batch):
    """A program that puts samples together."""
    return lambda m: m.utils.data.default_collate([b(m) if callable(b) else b for b in batch])


DATASETS = {
    "abstract": lambda m: m.utils.data.Dataset()[0],
    "no length": lambda m: len(m.utils.data.Dataset()),
    "abstract stream": lambda m: iter(m.utils.data.IterableDataset()),
    "tensors": lambda m: [ordered(m)[2], ordered(m)[1:3], ordered(m)[[0, 4]], ordered(m)[-1], len(ordered(m))],
    "tensors, outside": lambda m: ordered(m)[7],
    "tensors of two sizes": lambda m: m.utils.data.TensorDataset(m.zeros(3), m.zeros(4)),
    "no tensors": lambda m: len(m.utils.data.TensorDataset()),
    "stack": lambda m: [(s := m.utils.data.StackDataset(Squares(), ordered(m)))[3], s.__getitems__([0, 1]), len(s)],
    "stack by name": lambda m: [(s := m.utils.data.StackDataset(a=Squares(), b=Batched()))[3], s.__getitems__([0, 5])],
    "stack of two sizes": lambda m: m.utils.data.StackDataset(Squares(3), Squares(4)),
    "stack of two sizes by name": lambda m: m.utils.data.StackDataset(a=Squares(3), b=Squares(4)),
    "stack of both": lambda m: m.utils.data.StackDataset(Squares(3), b=Squares(4)),
    "stack of none": lambda m: m.utils.data.StackDataset(),
    "stack, wrong nest": lambda m: m.utils.data.StackDataset(Batched(3)).__getitems__([0, 1]),
    "stack, wrong nest by name": lambda m: m.utils.data.StackDataset(a=Batched(3)).__getitems__([0, 1]),
    "concat": lambda m: [[(c := m.utils.data.ConcatDataset([Squares(2), Squares(0), Squares(3)]))[i]
                          for i in (0, 1, 2, 4, -1, -5)], len(c), c.cumulative_sizes],
    "concat, old name": lambda m: m.utils.data.ConcatDataset([Squares(2)]).cummulative_sizes,
    "concat, outside": lambda m: m.utils.data.ConcatDataset([Squares(2)])[2],
    "concat, before": lambda m: m.utils.data.ConcatDataset([Squares(2)])[-3],
    "concat of none": lambda m: m.utils.data.ConcatDataset([]),
    "concat of a stream": lambda m: m.utils.data.ConcatDataset([streamed(m)]),
    "sum": lambda m: [(s := ordered(m) + Squares(2))[7], len(s)],
    "chain": lambda m: [list(streamed(m, 2) + streamed(m, 3)), len(streamed(m, 2, 5) + streamed(m, 3, 4))],
    "chain of a list": lambda m: list(m.utils.data.ChainDataset([streamed(m, 2), Squares()])),
    "chain of a list, length": lambda m: len(m.utils.data.ChainDataset([Squares()])),
    "subset": lambda m: [(s := m.utils.data.Subset(Squares(), [5, 1]))[0], s[1], s.__getitems__([1, 0]), len(s)],
    "subset of many": lambda m: m.utils.data.Subset(ordered(m), [5, 1, 2])[[2, 0]],
    "subset, outside": lambda m: m.utils.data.Subset(Squares(), [5, 1])[2],
    "subset, half overridden": lambda m: type("S", (m.utils.data.Subset,), {"__getitem__": lambda s, i: 0})(
        Squares(), [1]),
    "split": lambda m: [list(part) for part in m.utils.data.random_split(Squares(10), [3, 7])],
    "split by seed": lambda m: [part.indices for part in m.utils.data.random_split(
        range(10), [3, 0, 7], generator=m.Generator().manual_seed(42))],
    "split by fractions": lambda m: [part.indices for part in m.utils.data.random_split(
        range(11), (0.3, 0.3, 0.4), m.Generator().manual_seed(1))],
    "split, empty part": lambda m: [len(p) for p in m.utils.data.random_split(range(2), [0.9, 0.05, 0.05])],
    "split, wrong sum": lambda m: m.utils.data.random_split(range(10), [3, 6]),
    "split, no fraction": lambda m: m.utils.data.random_split(range(10), [1.5, -0.5]),
    "split, whole": lambda m: m.utils.data.random_split(range(1), [1])[0].indices,
}
SAMPLERS = {
    "abstract": lambda m: iter(m.utils.data.Sampler()),
    "sequential": lambda m: [list(s := m.utils.data.SequentialSampler(range(4))), len(s)],
    "random": lambda m: [list(s := m.utils.data.RandomSampler(range(9))), list(s), len(s)],
    "random, generator": lambda m: [list(m.utils.data.RandomSampler(range(9), generator=(g := m.Generator()
                                                                                        .manual_seed(3)))),
                                    m.rand(1, generator=g)],
    "random, more": lambda m: list(m.utils.data.RandomSampler(range(4), num_samples=10)),
    "random, fewer": lambda m: list(m.utils.data.RandomSampler(range(4), num_samples=3)),
    "random, with replacement": lambda m: list(m.utils.data.RandomSampler(range(5), True)),
    "random, many with replacement": lambda m: [[*m.utils.data.RandomSampler(
        range(5), True, n, generator=(g := m.Generator().manual_seed(3))), m.rand(1, generator=g)]
        for n in (31, 32, 33, 70)],
    "random, wrong replacement": lambda m: m.utils.data.RandomSampler(range(4), replacement=1),
    "random, wrong number": lambda m: m.utils.data.RandomSampler(range(4), num_samples=-1),
    "random, a float": lambda m: m.utils.data.RandomSampler(range(4), num_samples=1.0),
    "random of none": lambda m: m.utils.data.RandomSampler([]),
    "subset": lambda m: [list(s := m.utils.data.SubsetRandomSampler([3, 8, 1])), list(s), len(s)],
    "weighted": lambda m: [list(s := m.utils.data.WeightedRandomSampler([0.1, 5, 0, 2], 6)), len(s)],
    "weighted, without": lambda m: list(m.utils.data.WeightedRandomSampler([1, 5, 0, 2], 3, replacement=False)),
    "weighted, generator": lambda m: list(m.utils.data.WeightedRandomSampler(
        m.ones(5), 4, generator=m.Generator().manual_seed(9))),
    "weighted, flag": lambda m: m.utils.data.WeightedRandomSampler([1.0], 3, replacement=0),
    "weighted, number": lambda m: m.utils.data.WeightedRandomSampler([1.0], True),
    "weighted, matrix": lambda m: m.utils.data.WeightedRandomSampler([[1.0]], 2),
    "weighted, too few": lambda m: list(m.utils.data.WeightedRandomSampler([1, 0], 2, False)),
    "batch": lambda m: [list(s := m.utils.data.BatchSampler(range(7), 3, False)), len(s)],
    "batch, drop": lambda m: [list(s := m.utils.data.BatchSampler(range(7), 3, True)), len(s)],
    "batch, size": lambda m: m.utils.data.BatchSampler(range(7), 0, True),
    "batch, size True": lambda m: m.utils.data.BatchSampler(range(7), True, True),
    "batch, flag": lambda m: m.utils.data.BatchSampler(range(7), 1, 1),
    "batch, no length": lambda m: len(m.utils.data.BatchSampler(iter(range(7)), 1, False)),
}
COLLATED = {
    "tensors": collated(lambda m: m.ones(2), lambda m: m.zeros(2)),
    "tensors on record": collated(lambda m: m.ones(2, requires_grad=True), lambda m: m.zeros(2)),
    "tensors of no dimension": collated(lambda m: m.tensor(1), lambda m: m.tensor(2)),
    "tensors of two shapes": collated(lambda m: m.ones(2), lambda m: m.zeros(3)),
    "tensors of two dtypes": collated(lambda m: m.ones(2), lambda m: m.zeros(2, dtype=m.float64)),
    "arrays": collated(np.arange(3), np.arange(3)),
    "arrays of halves": collated(np.ones((2, 2), np.float16), np.zeros((2, 2), np.float16)),
    "arrays of texts": collated(np.array(["a"]), np.array(["b"])),
    "arrays of objects": collated(np.array([None]), np.array([None])),
    "float32": collated(np.float32(1.5), np.float32(2)),
    "float64": collated(np.float64(1.5), np.float64(2)),
    "int8": collated(np.int8(1), np.int8(2)),
    "bool of NumPy": collated(np.True_, np.False_),
    "floats": collated(1.5, 2.0),
    "ints": collated(1, 2),
    "bools": collated(True, False),
    "int then float": collated(1, 2.5),
    "float then int": collated(2.5, 1),
    "texts": collated("a", "b"),
    "bytes": collated(b"a", b"b"),
    "None": collated(None, None),
    "objects": collated(3j, 4j),
    "a set": collated({1}, {2}),
    "dicts": collated({"a": 1, "b": [1.0, 2.0]}, {"a": 2, "b": [3.0, 4.0]}),
    "dicts, a key less": collated({"a": 1, "b": 2}, {"a": 2}),
    "user dicts": collated(Pairs(a=1), Pairs(a=2)),
    "fixed dicts": collated(types.MappingProxyType({"a": 1}), types.MappingProxyType({"a": 2})),
    "default dicts": collated(collections.defaultdict(int, a=1), collections.defaultdict(int, a=2)),
    "ordered dicts": collated(collections.OrderedDict(a=1, b=2), collections.OrderedDict(a=2, b=3)),
    "named": collated(Point(1, np.ones(1)), Point(2, np.zeros(1))),
    "pairs": collated((1, "a"), (2, "b")),
    "lists": collated([1, 2], [3, 4]),
    "lists of two lengths": collated([1, 2], [3]),
    "tuples of two lengths": collated((1, 2), (3,)),
    "empty lists": collated([], []),
    "ranges": collated(range(2), range(2)),
    "deques": collated(collections.deque([1, 2]), collections.deque([3, 4])),
    "nested": collated([{"a": (1, [2.0])}], [{"a": (3, [4.0])}]),
    "a wrong one inside": collated([1, None], [2, None]),
    "none": collated(),
    "of a map": lambda m: m.utils.data._utils.collate.collate(
        [Point(1, 2), Point(3, 4)], collate_fn_map={Point: lambda batch, collate_fn_map: len(batch)}),
    "of no map": lambda m: m.utils.data._utils.collate.collate([1, 2]),
    "of a base class": lambda m: m.utils.data._utils.collate.collate(
        [(True,)], collate_fn_map={int: lambda batch, collate_fn_map: list(batch)}),
    "convert": lambda m: m.utils.data.default_convert(
        [1, "a", b"b", np.float32(2), np.arange(2), np.array(["x"]), {"a": np.int64(3)}, (1, np.ones(1)),
         Point(np.ones(1), 2), m.ones(2), None, 2.5, Pairs(a=np.ones(1)), range(2)]),
}
LOADERS = {
    "plain": loaded(3),
    "one by one": loaded(),
    "drop last": loaded(3, drop_last=True),
    "shuffled": loaded(3, shuffle=True),
    "shuffled by seed": loaded(3, True, generator=lambda m: m.Generator().manual_seed(5)),
    "of squares": loaded(4, data=lambda m: Squares()),
    "of squares at once": loaded(4, data=lambda m: Batched()),
    "of a list": loaded(2, data=lambda m: [1.0, 2.0, 3.0]),
    "of a subset": loaded(2, data=lambda m: m.utils.data.random_split(ordered(m), [3, 4])[1]),
    "of a subset of a subset": loaded(2, data=lambda m: m.utils.data.Subset(
        m.utils.data.Subset(ordered(m), [5, 1, 6, 0]), [3, 0, 1])),
    "of a turned tensor": loaded(2, data=lambda m: m.utils.data.TensorDataset(m.arange(6.0).view(2, 3).T)),
    "of a leaf": loaded(2, data=lambda m: m.utils.data.TensorDataset(m.ones(4, 2, requires_grad=True))),
    "of one tensor": loaded(2, data=lambda m: m.utils.data.TensorDataset(m.arange(4))),
    "of flags": loaded(2, sampler=[True, False], data=ordered),
    "negative": loaded(2, sampler=[-1, -2]),
    "outside": loaded(2, sampler=[6, 7]),
    "outside, a subset": loaded(2, sampler=[2], data=lambda m: m.utils.data.Subset(ordered(m), [0])),
    "no batches": loaded(None),
    "no batches, squares": loaded(None, data=lambda m: Squares(), shuffle=True),
    "sampler": loaded(2, sampler=[4, 2, 0]),
    "weighted": loaded(2, sampler=lambda m: m.utils.data.WeightedRandomSampler([1.0] * 7, 5)),
    "sampler, no batches": loaded(None, sampler=[4, 2, 0]),
    "batch sampler": loaded(batch_sampler=[[1, 2], [0], [3, 4, 5]]),
    "an empty batch": loaded(batch_sampler=[[]]),
    "batches as tuples": loaded(batch_sampler=[(1, 2), (0, 3)]),
    "batches as ranges": loaded(batch_sampler=[range(2), range(3, 5)]),
    "batches as tensors": loaded(batch_sampler=lambda m: [m.tensor([0, 1])]),
    "batches as tuples, of a subset": loaded(batch_sampler=[(1, 2), (0, 1)], data=lambda m: m.utils.data.Subset(
        ordered(m), [5, 1, 6])),
    "collate_fn": loaded(3, collate_fn=lambda m: len),
    "stream": lambda m: list(m.utils.data.DataLoader(streamed(m), 3)),
    "stream, drop": lambda m: list(m.utils.data.DataLoader(streamed(m), 3, drop_last=True)),
    "stream, no batches": lambda m: list(m.utils.data.DataLoader(streamed(m), None)),
    "stream of a length": loaded(3, data=lambda m: streamed(m, 7, 7)),
    "stream of a wrong length": lambda m: [len(d := m.utils.data.DataLoader(streamed(m, 7, 4), 3)), list(d)],
    "stream of a wrong length, two": lambda m: [len(d := m.utils.data.DataLoader(streamed(m, 7, 1), 3)), list(d)],
    "stream without a length": lambda m: len(m.utils.data.DataLoader(streamed(m), 3)),
    "stream, shuffle": lambda m: m.utils.data.DataLoader(streamed(m), shuffle=True),
    "stream, shuffle 0": lambda m: m.utils.data.DataLoader(streamed(m), shuffle=False).batch_size,
    "stream, sampler": lambda m: m.utils.data.DataLoader(streamed(m), sampler=[1]),
    "stream, batch sampler": lambda m: m.utils.data.DataLoader(streamed(m), batch_sampler=[[1]]),
    "shuffle and sampler": loaded(shuffle=True, sampler=[1]),
    "batch sampler and size": loaded(2, batch_sampler=[[1]]),
    "batch sampler and sampler": loaded(sampler=[1], batch_sampler=[[1]]),
    "no batch and drop": loaded(None, drop_last=True),
    "size 0": loaded(0),
    "size 1.0": loaded(1.0),
    "shuffle nothing": loaded(shuffle=True, data=lambda m: []),
    "nothing": loaded(2, data=lambda m: []),
    "workers -1": loaded(num_workers=-1),
    "timeout -1": loaded(timeout=-1),
    "timeout": loaded(timeout=1),
    "prefetch": loaded(prefetch_factor=2),
    "prefetch -1": loaded(prefetch_factor=-1, num_workers=1),
    "persistent": loaded(persistent_workers=True),
    "context": loaded(multiprocessing_context="fork"),
    "pinned": loaded(3, pin_memory=True),
    "pinned for": loaded(3, pin_memory=True, pin_memory_device="cuda"),
    "too many workers": lambda m: m.utils.data.DataLoader(ordered(m), num_workers=10**6).num_workers,
    "fixed": lambda m: setattr(m.utils.data.DataLoader(ordered(m)), "batch_size", 3),
    "fixed data": lambda m: setattr(m.utils.data.DataLoader(ordered(m)), "dataset", 3),
    "free": lambda m: setattr(m.utils.data.DataLoader(ordered(m)), "timeout", 3),
    "facts": lambda m: [getattr(m.utils.data.DataLoader(ordered(m), 3, True), name) for name in (
        "batch_size", "drop_last", "num_workers", "prefetch_factor", "pin_memory", "timeout", "worker_init_fn",
        "persistent_workers", "pin_memory_device", "in_order", "generator", "multiprocessing_context")],
    "facts of parts": lambda m: [(d := m.utils.data.DataLoader(ordered(m), 3, True)) and [
        type(each).__name__ for each in (d.sampler, d.batch_sampler, d.batch_sampler.sampler)]],
    "an iterator": lambda m: [len(i := iter(m.utils.data.DataLoader(ordered(m), 3))), iter(i) is i, next(i),
                              list(i), next(i, "end")],
    "an error inside": loaded(2, sampler=[0, 9], data=lambda m: Squares()),
    "no worker": lambda m: m.utils.data.get_worker_info(),
}
TABLES = {"dataset": DATASETS, "sampler": SAMPLERS, "collate": COLLATED, "loader": LOADERS}


@pytest.mark.parametrize(("table", "name"), [(table, name) for table in TABLES for name in TABLES[table]])
def test_program(torch, table, name):
    program = TABLES[table][name]

    def told(m):
        """The program's end, and where the default generator is after it, be it an error or not."""
        m.manual_seed(7)
        return ending(program, m), m.rand(1).item()

    assert told(minigrad) == told(torch)


def test_a_batch_of_rows_has_memory_of_its_own():
    x = minigrad.arange(4.0)
    (batch,), = minigrad.utils.data.DataLoader(minigrad.utils.data.TensorDataset(x), 4)
    batch[0] = 9
    assert x[0] == 0


def test_public_names_are_here_or_left_out(torch):
    pipes = {"DFIterDataPipe", "DataChunk", "IterDataPipe", "MapDataPipe", "argument_validation", "functional_datapipe",
             "guaranteed_datapipes_determinism", "non_deterministic", "runtime_validation",
             "runtime_validation_disabled"}
    left_out = set(torch.utils.data.__all__) - set(minigrad.utils.data.__all__)
    assert left_out == pipes | {"DistributedSampler", "_DatasetKind"}


@pytest.mark.parametrize("name", sorted(minigrad.utils.data.__all__))
def test_signature(torch, name):
    def parameters(m):
        return [(p.name, p.kind, p.default if isinstance(p.default, (int, str)) else type(p.default).__name__)
                for p in inspect.signature(getattr(m.utils.data, name)).parameters.values()]

    assert parameters(minigrad) == parameters(torch)


def test_generic(torch):
    alike(torch, lambda m: isinstance(m.utils.data.Dataset[int], object) and m.utils.data.DataLoader[int].__name__)
