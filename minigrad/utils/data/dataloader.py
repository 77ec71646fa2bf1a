"""Defines `DataLoader`: mirrors `torch/utils/data/dataloader.py`.

`for inputs, targets in DataLoader(dataset, batch_size=32, shuffle=True)`: an order of indices is cut into batches,
whose samples are collated. A pass draws one seed, and a shuffled pass a second, so that the random numbers that follow
are PyTorch's. Workers are threads here: see `_utils/worker.py`.
"""

from __future__ import annotations

import itertools
import math
import os
import warnings
import weakref
from collections.abc import Callable, Iterable, Iterator
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, Generic, TypeVar

from minigrad.backends.registry import count
from minigrad.ops.random import Generator
from minigrad.utils.data._utils.collate import default_collate, default_convert
from minigrad.utils.data._utils.fetch import Plan, fetcher_of
from minigrad.utils.data._utils.worker import Ended, Failed, InPlace, Restart, get_worker_info, work
from minigrad.utils.data.dataset import IterableDataset
from minigrad.utils.data.sampler import BatchSampler, RandomSampler, SequentialSampler, drawn_seed

__all__ = ["DataLoader", "default_collate", "default_convert", "get_worker_info"]

Item = TypeVar("Item", covariant=True)
FIXED = {"batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers"}


class DataLoader(Generic[Item]):
    """Batches of a data set, pass after pass.

    `batch_size`: None for single samples. `shuffle`: in random order, from `generator` if given. `sampler`: your own
    order; `batch_sampler`: one of lists of indices. `num_workers`: threads that make batches ahead of the loop (where
    none can be started, the loop's own makes them),
    `prefetch_factor` each (2), kept from pass to pass if `persistent_workers`; `worker_init_fn(i)` is called in each;
    `timeout`: seconds to wait for a batch. `in_order=False`: batches come as they are ready. `collate_fn`: makes a
    batch from a list of samples. `drop_last`: drop a smaller last batch. Memory is never pinned, as in PyTorch without
    a GPU.
    """

    batch_size: int | None
    drop_last: bool
    persistent_workers: bool
    sampler: Any
    batch_sampler: Any
    _iterator: _ThreadsDataLoaderIter | None
    _fixed = False

    def __init__(self, dataset: Any, batch_size: int | None = 1, shuffle: bool | None = None, sampler: Any = None,
                 batch_sampler: Any = None, num_workers: int = 0, collate_fn: Callable[[Any], Any] | None = None,
                 pin_memory: bool = False, drop_last: bool = False, timeout: float = 0,
                 worker_init_fn: Callable[[int], None] | None = None, multiprocessing_context: Any = None,
                 generator: Generator | None = None, *, prefetch_factor: int | None = None,
                 persistent_workers: bool = False, pin_memory_device: str = "", in_order: bool = True) -> None:
        check_workers(num_workers, timeout, prefetch_factor, persistent_workers, multiprocessing_context)
        check_order(dataset, batch_size, shuffle, sampler, batch_sampler, drop_last)
        self.dataset, self.generator, self.worker_init_fn = dataset, generator, worker_init_fn
        self.num_workers, self.timeout, self.in_order = num_workers, timeout, in_order
        self.prefetch_factor = 2 if num_workers and prefetch_factor is None else prefetch_factor
        self.pin_memory, self.pin_memory_device = pin_memory, pin_memory_device
        self.multiprocessing_context, self.persistent_workers = multiprocessing_context, persistent_workers
        if sampler is None:
            sampler = (Endless() if isinstance(dataset, IterableDataset)
                       else RandomSampler(dataset, generator=generator) if shuffle else SequentialSampler(dataset))
        if batch_sampler is not None:
            batch_size, drop_last = None, False
        elif batch_size is not None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size, self.drop_last = batch_size, drop_last
        self.sampler, self.batch_sampler = sampler, batch_sampler
        self.collate_fn = collate_fn or (default_convert if batch_sampler is None else default_collate)
        self._iterator = self._IterableDataset_len_called = None
        self._fixed = True
        self.check_worker_number_rationality()

    def __setattr__(self, attr: str, val: Any) -> None:
        if self._fixed and attr in FIXED:
            raise ValueError(f"{attr} attribute should not be set after {type(self).__name__} is initialized")
        super().__setattr__(attr, val)

    @property
    def _index_sampler(self) -> Any:
        return self.sampler if self.batch_sampler is None else self.batch_sampler

    def __iter__(self) -> Iterator[Any]:
        if self.num_workers == 0:
            return _SingleDataLoaderIter(self)
        if self._iterator is not None:
            self._iterator._reset(self)
            return self._iterator
        self.check_worker_number_rationality()
        made = _ThreadsDataLoaderIter(self)
        if self.persistent_workers:
            self._iterator = made
        return made

    def __len__(self) -> int:
        """Return the number of batches in a pass; for a stream, as follows from its own length."""
        if not isinstance(self.dataset, IterableDataset):
            return len(self._index_sampler)
        length: Any = len(self.dataset)  # type: ignore[arg-type]  # a stream without a length raises the error itself
        self._IterableDataset_len_called = length
        if self.batch_size is None:
            return int(length)
        return int(length // self.batch_size if self.drop_last else math.ceil(length / self.batch_size))

    def check_worker_number_rationality(self) -> None:
        """Warn if there are more workers than processors."""
        processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        if self.num_workers > processors:
            unknown = "" if hasattr(os, "sched_getaffinity") else " (`cpuset` is not taken into account)"
            warnings.warn(TOO_MANY.format(self.num_workers, processors, unknown), stacklevel=3)


TOO_MANY = (
    "This DataLoader will create {} worker processes in total. Our suggested max number of worker in current system is "
    "{}{}, which is smaller than what this DataLoader is going to create. Please be aware that excessive worker "
    "creation might get DataLoader running slow or even freeze, lower the worker number to avoid potential "
    "slowness/freeze if necessary.")


def check_workers(num_workers: int, timeout: float, prefetch_factor: int | None, persistent: bool,
                  context: Any) -> None:
    """Refuse arguments that make no sense for workers."""
    if num_workers < 0:
        raise ValueError("num_workers option should be non-negative; use num_workers=0 to disable multiprocessing.")
    if timeout < 0:
        raise ValueError("timeout option should be non-negative")
    if num_workers == 0 and prefetch_factor is not None:
        raise ValueError("prefetch_factor option could only be specified in multiprocessing.let num_workers > 0 to "
                         "enable multiprocessing, otherwise set prefetch_factor to None.")
    if prefetch_factor is not None and prefetch_factor < 0:
        raise ValueError("prefetch_factor option should be non-negative")
    if persistent and num_workers == 0:
        raise ValueError("persistent_workers option needs num_workers > 0")
    if context is not None and num_workers == 0:
        raise ValueError("multiprocessing_context can only be used with multi-process loading (num_workers > 0), but "
                         f"got num_workers={num_workers}")
    if context is not None:
        warnings.warn("minigrad's workers are threads: multiprocessing_context is not used.", stacklevel=3)


def check_order(dataset: Any, batch_size: int | None, shuffle: bool | None, sampler: Any, batch_sampler: Any,
                drop_last: bool) -> None:
    """Refuse an order that is given twice, or given for a stream, which has its own."""
    if isinstance(dataset, IterableDataset):
        for name, given in (("shuffle", shuffle or None), ("sampler", sampler), ("batch_sampler", batch_sampler)):
            if given is not None:
                raise ValueError(f"DataLoader with IterableDataset: expected unspecified {name} option, but got "
                                 f"{name}={given}")
    if sampler is not None and shuffle:
        raise ValueError("sampler option is mutually exclusive with shuffle")
    if batch_sampler is not None and (batch_size != 1 or shuffle or sampler is not None or drop_last):
        raise ValueError("batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last")
    if batch_sampler is None and batch_size is None and drop_last:
        raise ValueError("batch_size=None option disables auto-batching and is mutually exclusive with drop_last")


class Endless:
    """The sampler of a stream: as many indices as are asked for, each None."""

    def __iter__(self) -> Iterator[None]:
        return itertools.repeat(None)


class _BaseDataLoaderIter:
    """One pass through a loader."""

    def __init__(self, loader: DataLoader[Any]) -> None:
        warn_pinned(loader)
        self._plan = Plan(loader.dataset, loader.batch_sampler is not None, loader.collate_fn, loader.drop_last)
        self._workers, self._timeout = loader.num_workers, loader.timeout
        self._reset(loader)
        self._base_seed = drawn_seed(loader.generator)

    def _reset(self, loader: DataLoader[Any]) -> None:
        self._index_sampler: Iterable[Any] = loader._index_sampler
        self._indices = iter(self._index_sampler)
        self._num_yielded = 0
        self._promised: int | None = loader._IterableDataset_len_called

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        data = self._next_data()
        if self._promised is not None:
            self._num_yielded += 1
            if self._num_yielded > self._promised:
                text = LONGER.format(self._plan.dataset, self._promised, self._num_yielded)
                warnings.warn(text + REPLICAS if self._workers else text, stacklevel=2)
        return data

    def _next_data(self) -> Any:
        raise NotImplementedError

    def __len__(self) -> int:
        return len(self._index_sampler)  # type: ignore[arg-type]  # a sampler without a length raises the error itself

    def __getstate__(self) -> Any:
        raise NotImplementedError("{} cannot be pickled", type(self).__name__)


LONGER = ("Length of IterableDataset {} was reported to be {}(when accessing len(dataloader)), but {} samples have "
          "been fetched. ")
REPLICAS = (
    "For multiprocessing data-loading, this could be caused by not properly configuring the IterableDataset replica at "
    "each worker. Please see https://pytorch.org/docs/stable/data.html#torch.utils.data.IterableDataset for examples.")


def warn_pinned(loader: DataLoader[Any]) -> None:
    """Issue PyTorch's warnings if there is no GPU to pin memory for."""
    if loader.pin_memory and loader.pin_memory_device:
        warnings.warn("pin_memory_device is deprecated, the current accelerator will be used as the device,ignore "
                      f"pin_memory_device='{loader.pin_memory_device}'.", stacklevel=5)
    if loader.pin_memory and not count("cuda"):
        warnings.warn("'pin_memory' argument is set as true but no accelerator is found, then device pinned memory "
                      "won't be used.", stacklevel=5)


class _SingleDataLoaderIter(_BaseDataLoaderIter):
    """A pass in the loop's own thread."""

    def __init__(self, loader: DataLoader[Any]) -> None:
        super().__init__(loader)
        if self._timeout != 0:
            raise AssertionError("_SingleProcessDataLoaderIter requires timeout == 0")
        self._fetch = fetcher_of(self._plan)

    def _next_data(self) -> Any:
        return self._fetch(next(self._indices))


class _ThreadsDataLoaderIter(_BaseDataLoaderIter):
    """Passes whose batches are made by threads, ahead of the loop.

    Orders are numbered from the first pass on, so that leftovers of an earlier pass can be told from what is awaited.
    """

    def __init__(self, loader: DataLoader[Any]) -> None:
        self._numbers, self._in_order, self._ahead = itertools.count(), loader.in_order, loader.prefetch_factor or 0
        self._persistent = loader.persistent_workers
        self._orders: list[SimpleQueue[Any] | InPlace] = [SimpleQueue() for _ in range(loader.num_workers)]
        self._results: SimpleQueue[Any] = SimpleQueue()
        super().__init__(loader)
        if self._ahead <= 0:
            raise AssertionError("prefetch_factor must be greater than 0 for MultiProcessingDataLoaderIter")
        for i, orders in enumerate(self._orders):
            settings = self._results, self._plan, i, self._workers, self._base_seed, loader.worker_init_fn
            try:
                Thread(target=work, name=f"minigrad_data_worker_{i}", daemon=True, args=(orders, *settings)).start()
            except RuntimeError:
                self._orders[i] = InPlace(*settings)
        self._dismiss = weakref.finalize(self, send_to_all, self._orders, None)  # also when a loop is left early
        self._send_ahead()

    def _reset(self, loader: DataLoader[Any]) -> None:
        again = hasattr(self, "_base_seed")
        super()._reset(loader)
        self._awaited: dict[int, int] = {}  # from the number of an order to its worker
        self._ready: dict[int, Any] = {}
        self._turns = itertools.cycle(range(self._workers))
        self._active = set(range(self._workers))
        if again:
            send_to_all(self._orders, Restart)
            self._send_ahead()

    def _send_ahead(self) -> None:
        for _ in range(self._ahead * self._workers):
            self._send(next(self._turns))

    def _send(self, worker: int) -> None:
        """Order the next batch from this worker, or from the next one whose stream has not ended."""
        indices = next(self._indices, Ended)
        if indices is Ended or not self._active:
            return
        while worker not in self._active:
            worker = next(self._turns)
        number = next(self._numbers)
        self._awaited[number] = worker
        self._orders[worker].put((number, indices))

    def _receive(self) -> None:
        try:
            number, answer = self._results.get(timeout=self._timeout or None)
        except Empty:
            raise RuntimeError(f"DataLoader timed out after {self._timeout} seconds") from None
        if number in self._awaited:
            self._ready[number] = answer

    def _next_data(self) -> Any:
        while self._awaited:
            number = next(iter(self._awaited if self._in_order else self._ready), None)
            if number is None or number not in self._ready:
                self._receive()
                continue
            worker, answer = self._awaited.pop(number), self._ready.pop(number)
            if answer is Ended:
                self._active.discard(worker)
            self._send(next(self._turns) if self._in_order else worker)
            if isinstance(answer, Failed):
                raise answer.error_to_raise() from answer.error
            if answer is not Ended:
                return answer
        if not self._persistent:
            self._dismiss()
        raise StopIteration


def send_to_all(orders: list[SimpleQueue[Any] | InPlace], message: Any) -> None:
    """Put this message into the queue of each worker; None ends it."""
    for queue in orders:
        queue.put(message)
