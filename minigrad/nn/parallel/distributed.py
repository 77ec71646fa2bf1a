"""A module whose copies on several ranks are trained as one: mirrors `torch/nn/parallel/distributed.py`, `reducer.cpp`.

Each rank runs the module on its own part of a batch. What keeps the copies equal happens inside `backward`: a hook on
each AccumulateGrad puts the gradient, divided by the number of ranks, into a *bucket*, and a full bucket is summed over
all ranks while backward goes on. At the end of the pass each `.grad` gets its part of the sums; equal gradients then
make equal steps.

NOTE 1 (the order of buckets). All ranks must sum the same buckets in the same order, whichever is ready first. The
first pass uses one bucket for each dtype and notes the order in which the gradients arrive. From then on the buckets
hold them in the order of rank 0's first pass: up to 1 MiB in the first bucket, up to `bucket_cap_mb` in each other.
With `find_unused_parameters` their order is the reverse of `parameters()` from the beginning.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

from minigrad._base.nested import leaves, mapped
from minigrad.autograd.function import Function
from minigrad.core import Tensor, is_grad_enabled, plain, queue_callback
from minigrad.distributed import all_gather_single, all_reduce, broadcast
from minigrad.distributed._grad_bucket import MIB, GradBucket, assign_buckets
from minigrad.distributed._work import note_grad
from minigrad.distributed._world import group_of
from minigrad.nn.modules.module import Module

__all__ = ["DistributedDataParallel"]

NOTHING_TO_DO = (
    "DistributedDataParallel is not needed when a module doesn't have any parameter that requires a gradient.")
UNFINISHED = (
    "Expected to have finished reduction in the prior iteration before starting a new one. This error indicates that "
    "your module has parameters that were not used in producing loss. You can enable unused parameter detection by "
    "passing the keyword argument `find_unused_parameters=True` to `torch.nn.parallel.DistributedDataParallel`, and by "
    "\nmaking sure all `forward` function outputs participate in calculating loss. \nParameters which did not receive "
    "grad for rank {}: {}")
TWICE = (
    "Expected to mark a variable ready only once. This error is caused by one of the following reasons: 1) Use of a "
    "module parameter outside the `forward` function. 2) Reused parameters in multiple reentrant backward passes. For "
    "example, if you use multiple `checkpoint` functions to wrap the same part of your model, it would result in the "
    "same set of parameters been used by different reentrant backward passes multiple times. \nParameter {} had been "
    "marked as ready before.")
NO_HOOK = "Communication hook must be callable."
SECOND_HOOK = "register_comm_hook or register_builtin_comm_hook can only be called once."
NO_FUTURE = "DDP communication hook's callback must return a torch.futures.Future object, but got {}"


class DistributedDataParallel(Module):
    """Calls `module`, and makes its backward pass average gradients over the ranks.

    Parameters and buffers get the values of rank 0 when it is made; buffers get them again before each forward.
    """

    def __init__(self, module: Module, device_ids: Any = None, output_device: Any = None, dim: int = 0,
                 broadcast_buffers: bool = True, init_sync: bool = True, process_group: Any = None,
                 bucket_cap_mb: float | None = None, find_unused_parameters: bool = False,
                 check_reduction: bool = False, gradient_as_bucket_view: bool = False) -> None:
        super().__init__()
        self.process_group = group = group_of(process_group)
        named = [(name, p) for name, p in module.named_parameters() if p.requires_grad]
        if not named:
            raise RuntimeError(NOTHING_TO_DO)
        self.module, self.broadcast_buffers = module, broadcast_buffers
        self.find_unused_parameters = find_unused_parameters
        self.require_backward_grad_sync = self.require_forward_param_sync = True
        self.divides_by_all: bool | None = None  # inside `join`, its argument
        if init_sync:
            self._synchronize(module.state_dict(keep_vars=True).items(), 0)
        first, cap = (1, 25) if bucket_cap_mb is None else (bucket_cap_mb, bucket_cap_mb)
        self.reducer = Reducer(group, named, [first * MIB, cap * MIB], find_unused_parameters, gradient_as_bucket_view)

    def _synchronize(self, named: Iterable[tuple[str, Tensor]], source: int) -> None:
        """Give these tensors the values that they have on one rank."""
        for name, each in named:
            broadcast(each, group=self.process_group, group_src=source, label=name)

    def _before_forward(self, source: int, with_grad: bool) -> None:
        """Do what all ranks do before running the module; a rank with no inputs left joins in."""
        if with_grad:
            self.reducer.rebuild_buckets(source)
        if self.broadcast_buffers and self.require_forward_param_sync:
            self._synchronize(self.module.named_buffers(), source)

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """Return the output of the module."""
        syncs, source = is_grad_enabled() and self.require_backward_grad_sync, 0
        if syncs:
            self.reducer.check_finished()
        if self.divides_by_all is not None:
            source = max(self._active(2 if syncs else 1))
        self._before_forward(source, is_grad_enabled())
        output = self.module(*inputs, **kwargs)
        self.require_forward_param_sync = syncs
        if syncs:
            self.reducer.prepare(tensors_in(output) if self.find_unused_parameters else None)
        return through_sink(output) if syncs and self.find_unused_parameters else output

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """A block in which backward only adds to this rank's `.grad`; the next pass outside averages everything."""
        before, self.require_backward_grad_sync = self.require_backward_grad_sync, False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    def register_comm_hook(self, state: Any, hook: Callable[[Any, GradBucket], Any]) -> None:
        """Call `hook(state, bucket)` for the sum of undivided gradients: it returns a Future of the bucket's values."""
        if not callable(hook):
            raise TypeError(NO_HOOK)
        if self.reducer.comm_hook is not None:
            raise RuntimeError(SECOND_HOOK)
        self.reducer.comm_hook = partial(hook, state)

    @contextmanager
    def join(self, divide_by_initial_world_size: bool = True, enable: bool = True) -> Iterator[None]:
        """A block for ranks with different numbers of inputs: one that has none left takes part with zeros.

        At the end all get the parameters and buffers of the last rank that had inputs.
        """
        if not enable:
            yield
            return
        self.divides_by_all, self.last_active = divide_by_initial_world_size, 0
        try:
            yield
            while active := self._active(0):
                self._before_forward(max(active), with_grad=True)
                self.require_forward_param_sync = self.flags[max(active)] == 2
                if self.require_forward_param_sync:
                    self.reducer.take_part_with_zeros()
        finally:
            self.divides_by_all, self.reducer.divisor = None, self.process_group.size()
        self._synchronize(self.module.state_dict(keep_vars=True).items(), self.last_active)

    def _active(self, flag: int) -> list[int]:
        """Tell all ranks whether this one has inputs (1, or 2 if it will average gradients); return those that have."""
        self.flags = flags = np.zeros(self.process_group.size(), np.int64)
        all_gather_single(plain(flags), plain(np.array([flag])), self.process_group, label="join")
        active = [int(rank) for rank in np.flatnonzero(flags)]
        if active:
            self.last_active = max(active)
            self.reducer.divisor = len(flags) if self.divides_by_all else len(active)
        return active


class Reducer:
    """The buckets of a module, and the hooks that fill them."""

    def __init__(self, group: Any, named: Sequence[tuple[str, Tensor]], limits: list[float], find_unused: bool,
                 as_view: bool) -> None:
        self.group, self.named, self.limits, self.as_view = group, named, limits, as_view
        self.find_unused, self.divisor = find_unused, group.size()
        self.comm_hook: Callable[[GradBucket], Any] | None = None
        self.expects_hooks = self.rebuilt = False
        self.order: list[int] = []  # in which the gradients of the first pass arrived
        self.waiting: set[int] = set()  # the parameters that are not ready in this pass
        self.sizes = [(p.array.dtype, p.array.nbytes) for _, p in named]
        first = assign_buckets(self.sizes, range(len(named)), limits if find_unused else [float("inf")])
        self.set_buckets(sorted(first, key=min)[::-1])
        for i, (_, p) in enumerate(named):
            p.register_post_accumulate_grad_hook(partial(self.hook, i))

    def set_buckets(self, assignment: list[list[int]]) -> None:
        """Make the buckets that hold these parameters."""
        self.buckets = [GradBucket(number, number == len(assignment) - 1, [self.named[i] for i in indices])
                        for number, indices in enumerate(assignment)]
        self.missing = [set(indices) for indices in assignment]
        self.place = {i: (number, k) for number, indices in enumerate(assignment) for k, i in enumerate(indices)}

    def rebuild_buckets(self, source: int) -> None:
        """After the first pass, order the buckets as the gradients arrived on one rank (NOTE 1)."""
        if self.rebuilt or self.find_unused or not self.order:
            return
        self.rebuilt, order = True, np.array(self.order)
        broadcast(plain(order), group=self.group, group_src=source, label="the order of DDP's buckets")
        self.set_buckets(assign_buckets(self.sizes, order.tolist(), self.limits))

    def check_finished(self) -> None:
        """Refuse a new forward if a bucket of the last one was never filled."""
        if self.expects_hooks and self.launched:
            names = ", ".join(self.named[i][0] for i in sorted(self.waiting))
            raise RuntimeError(UNFINISHED.format(self.group.rank(), names))

    def prepare(self, outputs: Iterator[Tensor] | None) -> None:
        """Expect gradients of all parameters, or of those that these outputs were computed from."""
        self.expects_hooks, self.launched, self.futures = True, False, list[Any]()
        self.waiting, self.used = set(range(len(self.named))), np.zeros(len(self.named), np.int32)
        self.unused = self.waiting - (self.waiting if outputs is None else reached_from(outputs, self.named))

    def hook(self, index: int, param: Tensor) -> None:
        """Mark a gradient as ready after its accumulation; before the first one, also those of unused parameters."""
        if self.expects_hooks:
            self.launched = True
            while self.unused:
                self.mark_ready(self.unused.pop(), None)
            self.used[index] = 1
            self.mark_ready(index, param.grad)

    def mark_ready(self, index: int, grad: Tensor | None) -> None:
        """Put a gradient into its bucket; send all buckets that are full, in their order."""
        name, param = self.named[index]
        if index not in self.waiting:
            raise RuntimeError(TWICE.format(name))
        self.waiting.discard(index)
        number, k = self.place[index]
        view = self.buckets[number].views[k]
        if grad is None:
            view.fill(0)
        else:
            np.multiply(grad.array, 1 if self.comm_hook else 1 / self.divisor, out=view, casting="same_kind")
            if self.as_view:
                param.grad = plain(view)
        if not self.rebuilt and not self.find_unused:
            self.order.append(index)
        self.missing[number].discard(index)
        while len(self.futures) < len(self.buckets) and not self.missing[len(self.futures)]:
            self.futures.append(self.send(self.buckets[len(self.futures)]))
        if not self.waiting:
            queue_callback(self.finish)

    def send(self, bucket: GradBucket) -> Any:
        """Begin to sum a bucket over all ranks."""
        if self.comm_hook is None:
            work: Any = all_reduce(bucket.buffer(), group=self.group, async_op=True, label=bucket.label())
            return work.get_future()
        if not hasattr(future := self.comm_hook(bucket), "wait"):
            raise RuntimeError(NO_FUTURE.format(f"{type(future).__module__}.{type(future).__name__}"))
        return future

    def finish(self) -> None:
        """At the end of the pass, wait for the sums, and give each parameter its part."""
        self.receive()
        for i, (_, param) in enumerate(self.named):
            number, k = self.place[i]
            view = self.buckets[number].views[k]
            if self.used[i] and param.grad is not None and not self.as_view:
                param.grad.array[...] = view
                note_grad(param)
            elif self.used[i]:
                param.grad = plain(view if self.as_view else view.copy())

    def receive(self) -> None:
        """Wait for the sums of all buckets, and find out which parameters any rank used."""
        self.expects_hooks = False
        if self.find_unused:
            all_reduce(plain(self.used), group=self.group, label="which parameters were used")
        for bucket, future in zip(self.buckets, self.futures, strict=True):
            result = future.wait()
            bucket.set_buffer(result if isinstance(result, Tensor) else result[0])
        self.missing = [{i for i, place in self.place.items() if place[0] == b.number} for b in self.buckets]
        self.used |= not self.find_unused

    def take_part_with_zeros(self) -> None:
        """Sum the buckets with the ranks that still have inputs."""
        self.prepare(None)
        for bucket in self.buckets:
            bucket.array.fill(0)
            self.futures.append(self.send(bucket))
        self.order = self.order or list(range(len(self.named)))
        self.receive()


class Sink(Function):
    """Passes all outputs on, so that the parameters of one without influence on the loss still get a None."""

    @staticmethod
    def forward(ctx: Any, *outputs: Tensor) -> Any:
        ctx.set_materialize_grads(False)
        return tuple(output.clone() for output in outputs)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return grads


def through_sink(output: Any) -> Any:
    """Return an output whose tensors have gone through one Sink."""
    through = dict[int, Any]()
    inner = [each for each in tensors_in(output) if each.grad_fn is not None]
    if inner:
        through = dict(zip(map(id, inner), Sink.apply(*inner), strict=True))
    return mapped(lambda each: through.get(id(each), each), output)


def tensors_in(output: Any) -> Iterator[Tensor]:
    """Yield the tensors in lists, tuples and dicts, at any depth."""
    return (each for each in leaves(output) if isinstance(each, Tensor))


def reached_from(outputs: Iterable[Tensor], named: Sequence[tuple[str, Tensor]]) -> set[int]:
    """Return the indices of the parameters that the graph of these outputs reaches."""
    known, seen, outputs = {id(p): i for i, (_, p) in enumerate(named)}, set[Any](), list(outputs)
    found = {known[id(each)] for each in outputs if id(each) in known}
    stack = [each.grad_fn for each in outputs if each.grad_fn is not None]
    while stack:
        for node, _ in stack.pop().next_functions:
            if node is not None and node not in seen:
                seen.add(node)
                stack.append(node)
                if id(getattr(node, "variable", None)) in known:
                    found.add(known[id(node.variable)])
    return found
