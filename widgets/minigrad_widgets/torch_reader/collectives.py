"""Reports what several ranks of PyTorch do together, as minigrad's recorder does: each call, its wait, its end.

A call of c10d goes through the dispatch mode, even one that the reducer of `DistributedDataParallel` makes in C++,
since on the CPU it makes it in the thread of the pass. So nothing is registered with the module, and its only slot for
a communication hook stays the user's. A wait in Python calls `Work.wait`. A wait in C++ is inferred from what comes
next: nothing touches the memory of a call before it is over.
"""

from __future__ import annotations

import os
import sys
import weakref
from collections.abc import Iterable
from time import perf_counter
from types import CodeType, FrameType
from typing import Any

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from minigrad.recorder import Log
from minigrad_widgets.torch_reader.collective_calls import CollectiveCall, tensors_of
from minigrad_widgets.torch_reader.guard import Once
from minigrad_widgets.torch_reader.private import PRIVATE
from minigrad_widgets.torch_reader.seen import Seen, memory
from minigrad_widgets.torch_reader.waits import listen, listen_no_more, wait

__all__ = ["Collectives", "process_of"]

TORCH = os.path.join(os.path.dirname(torch.__file__), "")
PUBLIC = os.path.join(TORCH, "distributed", "distributed_c10d.py")  # its functions call `wait`, or leave it to others
DDP = DistributedDataParallel.__module__
VIEWS = frozenset({"as_strided", "slice"})  # the reducer splits a sum into gradients with these
OURS = 2  # references to a `Work` that nothing can wait for any more: that of its operation, and an argument
ORDER, USED = "the order of DDP's buckets", "which parameters were used"  # minigrad's labels
UNKNOWN = "gradients of DistributedDataParallel: which ones is not known"


class Operation:
    """A call in progress.

    `caller`: the code whose C++ made the call, and will wait for it there; None if Python made it. `ended`: when it was
    over, if known; `by_hook`: whether a communication hook, which is Python's, made it.
    """

    def __init__(self, number: int, call: CollectiveCall, bucket: int | None, caller: CodeType | None) -> None:
        self.number, self.bucket, self.caller, self.called = number, bucket, caller, perf_counter()
        self.memory = {memory(t)[0] for t in call.written}
        self.work: Any = None
        self.by_hook = False
        self.ended: float | None = None

    def done(self, future: Any) -> None:
        """Note the end; called by the thread in which it ended."""
        self.ended = perf_counter()


class Plan:
    """Which parameters are in which bucket of a module, after its forward, and how many buckets were sent since."""

    def __init__(self, module: DistributedDataParallel) -> None:
        self.module = weakref.ref(module)
        names = {id(p): name for name, p in module.module.named_parameters()}
        with PRIVATE.without_dispatch():  # PyTorch makes a tensor of zeros for each bucket, which is freed at once
            buckets = [(bucket.parameters(), bucket.buffer().numel())
                       for bucket in PRIVATE.buckets(module)]
        self.sizes = [size for _, size in buckets]
        self.parameters = [[names[id(p)] for p in parameters] for parameters, _ in buckets]
        self.names = {id(p): names[id(p)] for parameters, _ in buckets for p in parameters}
        self.sent = 0


class Collectives:
    """Notes what ranks do together. `level` knows how deep the program is, and which pass is running."""

    def __init__(self, seen: Seen, log: Log, level: Any, times: bool = False) -> None:
        self.seen, self.log, self.level, self.times = seen, log, level, times
        self.silent = frozenset({PRIVATE.ddp_forward, wait.__code__})  # what runs in C++ below them moves data: no op
        self.origin = self.mark = perf_counter()
        self.open: list[Operation] = []
        self.plans: dict[int, Plan] = {}  # by id() of a parameter
        self.reducing = False  # whether the reducer has sent something in this pass
        self.finishing = False  # whether the derivatives of a pass have been computed, and the reducer waits
        self.results: list[int] = []  # meanwhile: the memory of the sums that it has read, bucket by bucket

    def stop(self) -> None:
        """Stop watching."""
        listen_no_more(self)
        self.open.clear()
        self.plans.clear()

    def event(self, kind: str, when: float, operation: Operation, times: Any = None, **fields: Any) -> None:
        """Note an event that happened at `when`."""
        self.log.event(kind, self.level.line(), self.level.depth + 1, call=operation.number, **fields)
        if self.times:
            since = None if times is None else [None if each is None else each - self.origin for each in times]
            self.log.append(("timed", when - self.origin, since))

    # calls
    def run(self, once: Once, caller: FrameType, leaf: Any) -> Any:
        """Run a call of c10d, and note it; `leaf`: the one whose gradient a pass has just computed."""
        call = CollectiveCall(once.func, once.args, once.kwargs)
        if call.op is None:
            return once()
        listen(self)
        self.open = [each for each in self.open if each.caller is not None or sys.getrefcount(each.work) > OURS]
        label, bucket, parameters = self.purpose(caller, call, leaf)
        by_reducer = caller.f_code is PRIVATE.engine or bucket is not None
        self.reducing = self.reducing or by_reducer
        quiet = PRIVATE.engine if by_reducer else caller.f_code if in_library(caller) else None
        operation = Operation(self.log.calls, call, bucket, quiet)
        operation.by_hook = quiet is PRIVATE.engine and caller.f_code is not PRIVATE.engine
        self.log.calls += 1
        known: dict[str, Any] = {} if parameters is None else {"parameters": parameters}
        known |= {} if bucket is None else {"bucket": bucket}
        known |= {} if call.group is None else {"group": call.group}
        self.event("collective_start", operation.called, operation, op=call.op, label=label, size=call.size, **known)
        self.wrote(operation)
        self.open.append(operation)
        result = once()
        self.started(operation, result)
        return result

    def started(self, operation: Operation, result: Any) -> None:
        """Note that an operation is in progress, unless it is already over."""
        boxed = result[-1] if isinstance(result, (tuple, list)) and result else result
        if not isinstance(boxed, torch.ScriptObject):  # it has already waited
            self.reached(operation)
            return
        work = dist.Work.unbox(boxed)
        if operation.caller is None or operation.by_hook:
            operation.work = work  # while it lives, Python waits for this very object
        if self.times:
            try:
                work.get_future().add_done_callback(operation.done)
            except RuntimeError:  # gloo has no future for a send: it ends when the wait is over
                pass

    def purpose(self, caller: FrameType, call: CollectiveCall, leaf: Any) -> tuple[str, int | None, list[str] | None]:
        """Return what a call is for: its label, and for a bucket its number and parameters, as far as known."""
        bucket = bucket_of(caller)
        if bucket is not None:
            names = self.names_of(bucket.parameters())
            number = bucket.index()
            return label_of(number, names), number, names
        if caller.f_code is PRIVATE.ddp_forward:
            return ORDER, None, None
        if caller.f_code is not PRIVATE.engine:
            return "", None, None
        if not call.written[0].dtype.is_floating_point and not call.written[0].dtype.is_complex:
            return USED, None, None
        plan = None if leaf is None else self.plans.get(id(leaf))
        if plan is None or plan.sent >= len(plan.sizes) or plan.sizes[plan.sent] != call.written[0].numel():
            return UNKNOWN, None, None
        number, plan.sent = plan.sent, plan.sent + 1
        return label_of(number, plan.parameters[number]), number, plan.parameters[number]

    def names_of(self, parameters: Iterable[Any]) -> list[str] | None:
        """Return the names of parameters in their module; None if its forward was not recorded."""
        plans = [(p, self.plans.get(id(p))) for p in parameters]
        return None if any(plan is None for _, plan in plans) else [plan.names[id(p)] for p, plan in plans if plan]

    def forward_ended(self, module: Any) -> None:
        """A module has been called. PyTorch reveals the buckets only between forward and backward."""
        if not isinstance(module, DistributedDataParallel) or not torch.is_grad_enabled():
            return
        if module.require_backward_grad_sync:
            self.plans = {key: plan for key, plan in self.plans.items() if plan.module() not in (None, module)}
            try:
                plan = Plan(module)
            except RuntimeError:  # a bucket of sparse gradients has no buffer
                return
            self.plans |= dict.fromkeys(plan.names, plan)

    # waits and ends
    def operation_of(self, work: Any) -> Operation | None:
        """Return the operation of a `Work`, if its end is not known yet."""
        return next((each for each in self.open if each.work is work), None)

    def wait(self, operation: Operation, since: float | None = None) -> None:
        """This rank begins to wait, or began at `since`."""
        self.event("collective_wait", perf_counter() if since is None else since, operation)

    def end(self, operation: Operation) -> None:
        """An operation is over, and this rank knows it. PyTorch does not say when all ranks had called it."""
        now = perf_counter()
        ended = now if operation.ended is None else min(now, operation.ended)
        self.seen.previews.forget()
        self.event("collective_end", now, operation, *([(operation.called, None, ended)] if self.times else ()),
                   **self.seen.lying_in(operation.memory))
        self.open.remove(operation)
        operation.work = None

    def wrote(self, operation: Operation) -> None:
        """Copies of the memory that an operation writes to are out of date."""
        for storage in operation.memory:
            self.seen.wrote(storage)
        self.seen.previews.forget()

    def touched(self, caller: FrameType, func: Any, args: Any) -> None:
        """An op runs: the calls that the same code made in C++, on memory that the op now uses, are over."""
        code = caller.f_code
        if code is PRIVATE.engine and not self.finishing:
            return
        waited = [each for each in self.open if each.caller is code]
        if not waited:
            return
        places = [memory(t)[0] for t in tensors_of(args)]
        found = [each for each in waited if not each.memory.isdisjoint(places)]
        if code is PRIVATE.engine and func.overloadpacket.__name__ in VIEWS and places[0] not in self.results:
            # the sum of the next bucket; a hook may have made another tensor from it
            found = found or [each for each in waited if each.bucket == len(self.results)]
            self.results.append(places[0])
        for each in found:
            self.reached(each)

    def reached(self, operation: Operation) -> None:
        """The caller of an operation has waited for it, since the last thing that was seen."""
        self.wait(operation, max(self.mark, operation.called))
        self.end(operation)
        self.mark = perf_counter()

    def before_end(self) -> bool:
        """A pass has computed all gradients; return whether the reducer will wait now."""
        if self.finishing or not (self.reducing or self.plans):
            return False
        self.finishing, self.mark = True, perf_counter()
        self.results.clear()
        return True

    def at_end(self) -> list[Any]:
        """A pass is over. If the reducer has read its sums, it has waited for all its calls, and has given each leaf
        its part; return these leaves, those of the modules that were called."""
        if not self.finishing or not self.results:
            return []
        for each in [each for each in self.open if each.caller is PRIVATE.engine]:
            self.reached(each)
        modules = {id(module): module for plan in self.plans.values() if (module := plan.module()) is not None}
        return [p for module in modules.values() for p in module.parameters() if p.grad is not None]

    def pass_left(self, inside: bool) -> None:
        """A pass is over, successfully or not; `inside`: it was inside another one, which may be the reducer's."""
        self.finishing = False
        if not inside:
            self.reducing = False
            self.open = [each for each in self.open if each.caller is not PRIVATE.engine]


def bucket_of(caller: FrameType) -> Any:
    """The bucket passed to a communication hook that the pass called, or that PyTorch itself sends in a `join`; None if
    this is neither."""
    frame: FrameType | None = caller
    while frame is not None and (frame.f_back is None or frame.f_back.f_code is not PRIVATE.engine):
        frame = frame.f_back
    if frame is None and caller.f_globals.get("__name__") == DDP:
        frame = caller
    names = {} if frame is None else frame.f_locals
    return next((value for value in names.values() if type(value).__name__ == "GradBucket"), None)


def in_library(frame: FrameType) -> bool:
    """Return whether a call comes from C++ that a function of PyTorch called, and that waits there."""
    name = frame.f_code.co_filename
    return name.startswith(TORCH) and name != PUBLIC


def label_of(number: int, names: Iterable[str] | None) -> str:
    """Return the label of a bucket, as in minigrad."""
    return f"bucket {number}" + (f": {', '.join(names)}" if names else "")


def process_of() -> dict[str, Any] | None:
    """Return which of several processes this is; None if it is the only one."""
    if not dist.is_available() or not dist.is_initialized():
        return None
    return {"rank": dist.get_rank(), "ranks": dist.get_world_size(), "began": None}
