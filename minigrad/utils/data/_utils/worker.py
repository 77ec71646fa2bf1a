"""The workers of a loader: mirrors `torch/utils/data/_utils/worker.py`, with threads in place of processes.

Threads start at once and share the data's memory; NumPy releases the interpreter's lock while it copies or reads a
file, and then they run in parallel. What each of PyTorch's processes has for itself, a thread has as follows: a shallow
copy of the data set, so that `worker_init_fn` can set its attributes; and the generators of a process in
`get_worker_info().rng`, seeded as PyTorch seeds them. The default generators are those of the whole program.
"""

import copy
import random
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass, replace
from queue import SimpleQueue
from typing import Any

import numpy as np

from minigrad.ops.random import Generator
from minigrad.utils.data._utils.fetch import Plan, fetcher_of
from minigrad.utils.data.dataset import IterableDataset

__all__ = ["Ended", "Failed", "InPlace", "Restart", "WorkerInfo", "get_worker_info", "work"]


@dataclass(frozen=True, slots=True)
class _RNG:
    """The random generators of one worker."""

    random_generator: random.Random
    torch_generator: Generator
    numpy_generator: np.random.RandomState | None = None


@dataclass(frozen=True, slots=True)
class WorkerInfo:
    """Which worker this is, of how many; its seed, its copy of the data set, its random generators."""

    id: int
    num_workers: int
    seed: int
    dataset: Any
    rng: _RNG | None = None
    worker_method: str | None = "thread"


class Local(threading.local):
    """What each thread has for itself."""

    info: WorkerInfo | None = None


LOCAL = Local()


def get_worker_info() -> WorkerInfo | None:
    """Return which worker this is; None outside workers. A stream uses it to give each worker a different part."""
    return LOCAL.info


class Ended:
    """Sent in place of a batch when the worker's stream has ended."""


class Restart:
    """Sent to a worker at the beginning of an epoch."""


class Failed:
    """Sent in place of a batch that raised an error."""

    def __init__(self, error: BaseException, worker: int) -> None:
        self.error = error
        self.text = (f"Caught {type(error).__name__} in DataLoader worker process {worker}.\nOriginal "
                     + "".join(traceback.format_exception(error)))

    def error_to_raise(self) -> Exception:
        """Return the error to raise in the loop's thread: of the same type if a string makes one, else RuntimeError."""
        kind = type(self.error) if isinstance(self.error, Exception) else RuntimeError
        try:
            return kind(Text(self.text)) if kind is KeyError else kind(self.text)
        except Exception:  # noqa: BLE001 (whatever arguments it takes, one string is not enough)
            return RuntimeError(self.text)


class Text(str):
    """A string that a KeyError prints unchanged."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def start_worker(plan: Plan, worker: int, num_workers: int, base_seed: int,
                 init_fn: Callable[[int], None] | None) -> Plan:
    """Set up a worker, what `get_worker_info` returns there included; call its `init_fn`, and return its own plan."""
    plan = replace(plan, dataset=copy.copy(plan.dataset))
    seed = base_seed + worker
    words = np.random.SeedSequence([worker, base_seed & 0xFFFFFFFF, base_seed >> 32, 0]).generate_state(4)
    rng = _RNG(random.Random(seed), Generator().manual_seed(seed), np.random.RandomState(words))
    LOCAL.info = WorkerInfo(worker, num_workers, seed, plan.dataset, rng)
    if init_fn is not None:
        init_fn(worker)
    return plan


class Worker:
    """Makes batches: answers each order, a pair of a number and indices, by putting (number, batch) into `results`.

    An error before the first order, in `init_fn` or while copying the data, is the answer to every order.
    """

    def __init__(self, results: SimpleQueue[Any], plan: Plan, number: int, *settings: Any) -> None:
        self.results, self.number = results, number
        self.fetch: Callable[[Any], Any] | None = None
        self.refused: Failed | None = None
        try:
            plan = start_worker(plan, number, *settings)
        except BaseException as error:  # noqa: BLE001 (raised again in the loop's thread)
            self.refused = Failed(error, number)
        self.plan = plan

    def take(self, order: Any) -> None:
        """Answer an order, or begin a new epoch."""
        if order is Restart:
            self.fetch = None
            return
        number, indices = order
        try:
            self.fetch = self.fetch or fetcher_of(self.plan)
            answer = self.refused or self.fetch(indices)
        except StopIteration as error:
            answer = Ended if isinstance(self.plan.dataset, IterableDataset) else Failed(error, self.number)
        except BaseException as error:  # noqa: BLE001 (raised again in the loop's thread)
            answer = Failed(error, self.number)
        self.results.put((number, answer))


def work(orders: SimpleQueue[Any], *settings: Any) -> None:
    """Run a worker in this thread until an order is None. It keeps no memory while it waits."""
    worker = Worker(*settings)
    while (order := orders.get()) is not None:
        worker.take(order)
        del order


class InPlace:
    """The orders of a worker where no thread can be started, as under WebAssembly: each is answered when it is put."""

    def __init__(self, *settings: Any) -> None:
        outside = LOCAL.info
        self.worker, self.info, LOCAL.info = Worker(*settings), LOCAL.info, outside

    def put(self, order: Any) -> None:
        """Answer the order at once; while that goes on, `get_worker_info` returns the worker's."""
        if order is not None:
            outside, LOCAL.info = LOCAL.info, self.info
            try:
                self.worker.take(order)
            finally:
                LOCAL.info = outside
