"""Divides parameters among the ranks, and gathers them when they are needed: mirrors PyTorch's FSDP2 (`fully_shard`).

Between steps each rank holds some rows of each parameter, and the optimizer sees nothing else. A module gathers the
whole parameters before its forward and frees them afterwards; before its backward it gathers them again, and when their
gradients have arrived it sums these over the ranks, each of which keeps its own rows. DistributedDataParallel sends as
much in one all-reduce as this does in one reduce-scatter and one all-gather; the second all-gather is the price for the
saved memory.

NOTE 1 (what the graph holds). The graph of a forward pass would keep the whole parameters alive, since its nodes save
them. So a hook on saved tensors (`pack`) saves in their place which parameter it was, and which view of it; `unpack`
takes that view of what the backward pass has gathered. The leaf in the graph is always the same tensor,
`ShardedParameter.full`: between passes it has a shape but no memory.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any, cast

import numpy as np

from minigrad.autograd.graph import saved_tensors_hooks
from minigrad.core import Tensor, is_grad_enabled, plain, queue_callback
from minigrad.distributed import ReduceOp, all_gather_single, reduce_scatter_single
from minigrad.distributed._world import group_of
from minigrad.nn.modules.module import Module
from minigrad.nn.parallel.distributed import tensors_in
from minigrad.nn.parameter import Parameter

__all__ = ["FSDPModule", "fully_shard"]

SCALAR = "fully_shard doesn't support scalar parameters. Change {} to a 1D tensor with numel equal to 1."
DTYPES = "FSDP expects uniform original parameter dtype but got {}"
OWNER = "_sharded_by"  # the attribute in which a whole parameter stores its group
RUNNING: list[ShardedGroup] = []  # the groups whose forward is running, outermost first


class FSDPModule:
    """What a module becomes, in addition to what it was."""

    _group: ShardedGroup

    def unshard(self) -> None:
        """Gather the whole parameters, and put them in place of the module's own."""
        self._group.gather()
        self._group.show(full=True)

    def reshard(self) -> None:
        """Free the whole parameters."""
        self._group.release()

    def set_requires_gradient_sync(self, requires_gradient_sync: bool, *, recurse: bool = True) -> None:
        """Set whether backward passes sum gradients; if not, whole ones add up on each rank until one that does."""
        for module in cast(Module, self).modules() if recurse else [self]:
            if isinstance(module, FSDPModule):
                module._group.syncs = requires_gradient_sync


def fully_shard(module: Module, *, reshard_after_forward: bool | None = None) -> Module:
    """Divide the parameters of a module among all ranks, along dimension 0; return the module, changed.

    Parts to which `fully_shard` was applied before stay as they are: apply it to the layers first, then to the whole.
    Make the optimizer afterwards. `reshard_after_forward`: whether the whole parameters are freed after forward, and
    gathered again for backward (default: all but those of the outermost module, which backward needs at once). Raises
    ValueError for a parameter without dimensions; if there is no process group, and AssertionError if the parameters
    have different dtypes.
    """
    if isinstance(module, FSDPModule):
        raise AssertionError("fully_shard was applied to this module already")
    found = dict[int, ShardedParameter]()
    group = group_of(None)
    taken = {id(p) for part in module.modules() if isinstance(part, FSDPModule) for _, p in part._group.owners_now()}
    for prefix, part in module.named_modules():
        for name, p in part._parameters.items():
            if p is not None and id(p) not in taken:
                label = f"{prefix}.{name}" if prefix else name
                if p.array.ndim == 0:
                    raise ValueError(SCALAR.format(label))
                found.setdefault(id(p), ShardedParameter(label, p, group)).owners.append((part, name))
    if len(dtypes := {str(each.full.dtype) for each in found.values()}) > 1:
        raise AssertionError(DTYPES.format(dtypes))
    wrapped = cast(FSDPModule, module)
    module.__class__ = type(f"FSDP{type(module).__name__}", (FSDPModule, type(module)), {})
    wrapped._group = sharded = ShardedGroup(group, list(found.values()), reshard_after_forward)
    module.register_forward_pre_hook(sharded.before_forward, prepend=True)
    module.register_forward_hook(sharded.after_forward, always_call=True)
    return module


class ShardedParameter:
    """One parameter: the rows of this rank, and the whole one, which has memory only while it is needed."""

    def __init__(self, label: str, parameter: Tensor, group: Any) -> None:
        self.label, self.shape, self.owners = label, parameter.array.shape, list[tuple[Module, str]]()
        self.rows = -(-self.shape[0] // group.size())  # of each rank; the last ones may have fewer, or none
        self.size = self.rows * int(np.prod(self.shape[1:]))
        mine = slice(group.rank() * self.rows, (group.rank() + 1) * self.rows)
        self.sharded = Parameter(plain(parameter.array[mine].copy()), parameter.requires_grad)
        self.full = Parameter(plain(np.broadcast_to(parameter.array.dtype.type(0), self.shape)),
                              parameter.requires_grad)

    def pad_rows(self, array: Any, rows: int) -> Any:
        """Return an array with rows of zeros appended, flattened."""
        result = np.zeros((rows, *self.shape[1:]), array.dtype)
        result[:len(array)] = array
        return result.reshape(-1)


class ShardedGroup:
    """The parameters of one `fully_shard`: they are gathered and released together."""

    def __init__(self, group: Any, parameters: list[ShardedParameter], reshard: bool | None) -> None:
        self.group, self.parameters, self.reshard_after_forward = group, parameters, reshard
        self.gathered = self.in_backward = False
        self.syncs = True
        self.waiting: set[int] = set()  # the parameters whose gradients have not arrived yet in this pass
        self.label = ", ".join(each.label for each in parameters)
        for i, each in enumerate(parameters):
            setattr(each.full, OWNER, self)
            if each.full.requires_grad:
                each.full.register_post_accumulate_grad_hook(partial(self.after_accumulate, i))
        self.show(full=False)

    def owners_now(self) -> Iterable[tuple[Module, Tensor]]:
        """Return the parameters that the modules hold now, with these modules."""
        return [(module, cast(Tensor, module._parameters[name]))
                for each in self.parameters for module, name in each.owners]

    def show(self, full: bool) -> None:
        """Make the modules hold the whole parameters, or the rows of this rank."""
        for each in self.parameters:
            for module, name in each.owners:
                module._parameters[name] = each.full if full else each.sharded

    def gather(self) -> None:
        """Gather the rows of all ranks."""
        if self.gathered or not self.parameters:
            return
        mine = np.concatenate([each.pad_rows(each.sharded.array, each.rows) for each in self.parameters])
        everything = np.empty((self.group.size(), mine.size), mine.dtype)
        all_gather_single(plain(everything), plain(mine), self.group, label=self.label)
        parts = np.split(everything, np.cumsum([each.size for each in self.parameters])[:-1], axis=1)
        for each, part in zip(self.parameters, parts, strict=True):
            rows = self.group.size() * each.rows
            each.full.array = part.reshape(rows, *each.shape[1:])[:each.shape[0]].copy()
        self.gathered = True

    def release(self) -> None:
        """Free the memory of the whole parameters; each rank has its rows."""
        for each in self.parameters:
            each.full.array = np.broadcast_to(each.sharded.array.dtype.type(0), each.shape)
        self.gathered = False
        self.show(full=False)

    def before_forward(self, module: Module, args: Any) -> None:
        """Gather, and save only the names of views of whole parameters (NOTE 1)."""
        self.gather()
        self.show(full=True)
        if self.reshard_after_forward is None:
            self.reshard_after_forward = bool(RUNNING)
        RUNNING.append(self)
        self.saving = saved_tensors_hooks(pack, unpack)
        self.saving.__enter__()

    def after_forward(self, module: Module, args: Any, output: Any) -> None:
        """Release, and register a hook for when the gradient of an output arrives."""
        if not RUNNING or RUNNING[-1] is not self:
            return  # an error came before this forward had begun
        RUNNING.pop()
        self.saving.__exit__(None, None, None)
        outputs = [each for each in tensors_in(output) if each.requires_grad] if is_grad_enabled() else []
        for each in outputs:
            each.register_hook(self.before_backward)
        if self.in_backward:  # a checkpoint runs forward again
            return
        if self.reshard_after_forward or not outputs:
            self.release()
        else:
            self.show(full=False)

    def before_backward(self, grad: Tensor) -> None:
        """Gather again, when the first gradient of an output arrives."""
        if not self.in_backward:
            self.gather()
            self.in_backward, self.works = True, list[Any]()
            self.waiting = {i for i, each in enumerate(self.parameters) if each.full.requires_grad}
            queue_callback(self.after_backward)

    def after_accumulate(self, index: int, parameter: Tensor) -> None:
        """Note that a whole gradient has arrived. After the last one, sum all over the ranks, and release."""
        self.waiting.discard(index)
        if not self.waiting and self.in_backward:
            self.scatter()
            self.release()

    def scatter(self) -> None:
        """Begin to sum the whole gradients; each rank gets its rows."""
        trained = [each for each in self.parameters if each.full.requires_grad]
        if not self.syncs or all(each.full.grad is None for each in trained):
            return
        size, parts = self.group.size(), []
        for each in trained:
            grad = np.zeros(0, each.full.array.dtype) if each.full.grad is None else each.full.grad.array
            grad = grad.reshape(-1, *each.shape[1:])
            parts.append(each.pad_rows(grad, size * each.rows).reshape(size, -1))
            each.full.grad = None
        whole = np.concatenate(parts, axis=1)
        mine = np.empty(whole.shape[1], whole.dtype)
        work = reduce_scatter_single(plain(mine), plain(whole), ReduceOp.AVG, self.group, async_op=True,
                                     label=self.label)
        self.works.append((work, mine, trained))

    def after_backward(self) -> None:
        """At the end of the pass, sum groups of which some parameter took no part; then wait for the sums."""
        if self.waiting:
            self.scatter()
            self.release()
        self.in_backward, self.waiting = False, set()
        for work, mine, trained in self.works:
            work.wait()
            for each, part in zip(trained, np.split(mine, np.cumsum([each.size for each in trained])[:-1])):
                grad = part.reshape(-1, *each.shape[1:])[:len(each.sharded.array)].copy()
                old = each.sharded.grad
                each.sharded.grad = plain(grad if old is None else old.array + grad)


def pack(tensor: Tensor) -> Any:
    """Return what to save: for a view of a whole parameter its place and form, anything else unchanged."""
    base = tensor if tensor._base is None else tensor._base
    if not hasattr(base, OWNER):
        return tensor
    array, whole = tensor.array, base.array
    offset = array.__array_interface__["data"][0] - whole.__array_interface__["data"][0]
    return base, offset, array.shape, array.strides


def unpack(saved: Any) -> Any:
    """Return the saved tensor; a parameter that was released too early is gathered once more."""
    if isinstance(saved, Tensor):
        return saved
    whole, offset, shape, strides = saved
    getattr(whole, OWNER).gather()
    return plain(np.ndarray(shape, whole.array.dtype, whole.array, offset, strides))
