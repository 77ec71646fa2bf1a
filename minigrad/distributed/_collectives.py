"""What the ranks of a group do together with tensors: mirrors the second part of `distributed_c10d.py`.

Each function passes the memory of its tensors to one non-blocking MPI operation, through mpi4py's buffer interface:
nothing is pickled, and only tensors that are not contiguous are copied. As in PyTorch, a tensor's values change without
an increment of its version.
"""

import warnings
from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any

import numpy as np

from minigrad.core import Tensor, materialized
from minigrad.distributed._process_group import NON_MEMBER
from minigrad.distributed._work import Call, DistBackendError, Work
from minigrad.distributed._world import get_group_rank, group_of

__all__ = ["ReduceOp", "all_gather", "all_gather_into_tensor", "all_gather_single",
           "all_reduce", "all_to_all_single", "barrier", "broadcast", "gather", "irecv", "isend", "recv", "reduce",
           "reduce_scatter_single", "reduce_scatter_tensor", "scatter", "send"]


class RedOpType(Enum):
    """How the values of the ranks are combined."""

    SUM = 0
    AVG = 1
    PRODUCT = 2
    MIN = 3
    MAX = 4


class ReduceOp:
    """`ReduceOp.SUM` and the like."""

    RedOpType = RedOpType
    SUM, AVG, PRODUCT, MIN, MAX = RedOpType.SUM, RedOpType.AVG, RedOpType.PRODUCT, RedOpType.MIN, RedOpType.MAX


NAMES = {RedOpType.SUM: "SUM", RedOpType.AVG: "SUM", RedOpType.PRODUCT: "PROD", RedOpType.MIN: "MIN",
         RedOpType.MAX: "MAX"}
DEPRECATED = "`distributed.{}` is deprecated. Please use `distributed.{}` instead."
OF_BOOLS = {"SUM": "MAX", "PROD": "MIN"}  # or, and


class Memory:
    """The memory of a tensor as MPI needs it: contiguous. If it is not, it is copied, and copied back by `store`."""

    def __init__(self, tensor: Any, name: str) -> None:
        if not isinstance(tensor, Tensor):
            raise TypeError(f"Invalid function argument. Expected parameter `{name}` of type torch.Tensor\n"
                            f"             but got {type(tensor)} instead.")
        if not isinstance(tensor.array, np.ndarray | np.generic):
            raise ValueError(f"`{name}` is on {tensor.device}, and MPI takes tensors on the CPU\n\nCopy it there with "
                             f"{name}.cpu(), and the result back.")
        self.tensor, self.array = tensor, materialized(tensor)
        self.flat = np.ascontiguousarray(self.array).reshape(-1)  # a view, if possible
        if self.flat.dtype.kind == "b":
            self.flat = self.flat.view(np.uint8)

    def store(self, status: Any = None) -> None:
        """Copy what MPI wrote into the tensor's memory."""
        if not np.shares_memory(self.flat, self.array):
            self.array[...] = self.flat.view(self.array.dtype).reshape(self.array.shape)

    def __str__(self) -> str:
        return f"{self.array.dtype} {list(self.tensor.shape)}"


def ready(work: Work, async_op: bool) -> Work | None:
    """Return the work if it runs on asynchronously; else wait for its end and return None."""
    if async_op:
        work.group.go_on_in_background()
        return work
    work.wait()
    return None


def outside(group: Any) -> bool:
    """Return whether this rank is not in the group, and warn if so."""
    if group is NON_MEMBER:
        warnings.warn("Running a collective on a process group that this rank does not belong to does nothing.",
                      stacklevel=3)
    return group is NON_MEMBER


def member(group: Any, op: str, name: str, rank: int | None, group_rank: int | None) -> int:
    """Return the rank inside the group that `src=` or `group_src=` of an op names; 0 without either."""
    if rank is not None and group_rank is not None:
        raise ValueError(f"Can't specify both group_{name} and {name}")
    if rank is None:
        rank = group.ranks[0 if group_rank is None else group_rank]
    if rank not in group.ranks:
        raise RuntimeError(f"ProcessGroupMPI::{op}: invalid root rank: {rank}\n\nThe ranks of this group are "
                           f"{group.ranks}.")
    return get_group_rank(group, rank)


def reducing(group: Any, memory: Memory, op: Any) -> tuple[Any, Callable[[Any], None]]:
    """Return MPI's operation, and a function that completes its result in `memory`."""
    if not isinstance(op, RedOpType):
        raise TypeError(f"op={op!r} is not a ReduceOp: it is one of {', '.join(f'ReduceOp.{o.name}' for o in NAMES)}")
    name, dtype = NAMES[op], memory.array.dtype
    if op is ReduceOp.AVG and dtype.kind != "f":
        raise RuntimeError(f"result type Float can't be cast to the desired output type {str(memory).split()[0]}")

    def finish(status: Any) -> None:
        if op is ReduceOp.AVG:
            memory.flat /= group.size()
        memory.store()

    return getattr(group.mpi, OF_BOOLS.get(name, name) if dtype.kind == "b" else name), finish


def barrier(group: Any = None, async_op: bool = False, device_ids: Any = None, timeout: Any = None) -> Work | None:
    """Wait until all ranks have called it."""
    if outside(group):
        return None
    group = group_of(group)
    work = group.run(Call("barrier"), [], group.comm.Ibarrier)
    if timeout is not None and not async_op:
        work.wait(timeout)
    return ready(work, async_op)


def broadcast(tensor: Tensor, src: int | None = None, group: Any = None, async_op: bool = False,
              group_src: int | None = None, *, label: str = "") -> Work | None:
    """Give `tensor` on all ranks the values that it has on rank `src`."""
    memory = Memory(tensor, "tensor")
    if outside(group):
        return None
    root = member(group := group_of(group), "broadcast", "src", src, group_src)
    work = group.run(Call(f"broadcast({memory}, src={group.ranks[root]})", label), [tensor],
                     lambda: group.comm.Ibcast(memory.flat, root), memory.store)
    return ready(work, async_op)


def all_reduce(tensor: Tensor, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False, *,
               label: str = "") -> Work | None:
    """Give `tensor` on all ranks the sum of its values on all ranks, or another reduction by `op`.

    `label`: says in errors and recordings what this is for.
    """
    memory = Memory(tensor, "tensor")
    if outside(group):
        return None
    group = group_of(group)
    how, finish = reducing(group, memory, op)
    work = group.run(Call(f"all_reduce({memory}, {op.name})", label), [tensor],
                     lambda: group.comm.Iallreduce(group.mpi.IN_PLACE, memory.flat, how), finish)
    return ready(work, async_op)


def reduce(tensor: Tensor, dst: int | None = None, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False,
           group_dst: int | None = None) -> Work | None:
    """As `all_reduce`, but only rank `dst` gets the result; on the others `tensor` is unchanged."""
    memory = Memory(tensor, "tensor")
    if outside(group):
        return None
    root = member(group := group_of(group), "reduce", "dst", dst, group_dst)
    how, finish = reducing(group, memory, op)
    here = group.rank() == root
    send, receive = (group.mpi.IN_PLACE, memory.flat) if here else (memory.flat, None)
    work = group.run(Call(f"reduce({memory}, {op.name}, dst={group.ranks[root]})"), [tensor],
                     lambda: group.comm.Ireduce(send, receive, how, root), finish if here else None)
    return ready(work, async_op)


def in_a_row(tensors: Sequence[Tensor], like: Memory, count: int, name: str) -> tuple[Any, Callable[[Any], None]]:
    """Return contiguous memory for one tensor of each rank, and a function that copies it to `tensors`. Raises
    RuntimeError unless there are as many as ranks, each like what a rank sends."""
    parts = [Memory(tensor, name) for tensor in tensors]
    if len(parts) != count:
        raise RuntimeError(f"invalid output tensor list at index 0 (expected length {count}, got {len(parts)})")
    for i, part in enumerate(parts):
        if str(part) != str(like):
            raise RuntimeError(f"invalid tensor at index {i} of {name} (expected {like}, got {part})")
    row = np.empty((count, like.flat.size), like.flat.dtype)

    def copy(status: Any) -> None:
        for part, values in zip(parts, row, strict=True):
            part.flat[...] = values
            part.store()

    return row, copy


def all_gather(tensor_list: list[Tensor], tensor: Tensor, group: Any = None, async_op: bool = False) -> Work | None:
    """Give each tensor of `tensor_list` the values of `tensor` on the rank with its index."""
    memory = Memory(tensor, "tensor")
    if outside(group):
        return None
    row, copy = in_a_row(tensor_list, memory, (group := group_of(group)).size(), "tensor_list")
    work = group.run(Call(f"all_gather({memory})"), list(tensor_list),
                     lambda: group.comm.Iallgather(memory.flat, row), copy)
    return ready(work, async_op)


def all_gather_single(output_tensor: Tensor, input_tensor: Tensor, group: Any = None, async_op: bool = False,
                      *, label: str = "") -> Work | None:
    """Concatenate `input_tensor` of all ranks into `output_tensor`."""
    source, target = Memory(input_tensor, "input_tensor"), Memory(output_tensor, "output_tensor")
    if outside(group):
        return None
    group = group_of(group)
    check_whole(target, source, group.size(), "output_tensor", "input_tensor")
    work = group.run(Call(f"all_gather_single({source})", label), [output_tensor],
                     lambda: group.comm.Iallgather(source.flat, target.flat), target.store)
    return ready(work, async_op)


def check_whole(whole: Memory, part: Memory, size: int, whole_name: str, part_name: str) -> None:
    """Refuse a tensor that is not as large as the parts of all ranks together."""
    if whole.flat.size != size * part.flat.size or whole.array.dtype != part.array.dtype:
        raise RuntimeError(f"{whole_name} ({whole}) must have {size} times the elements of {part_name} ({part}), and "
                           "its dtype")


def reduce_scatter_single(output: Tensor, input: Tensor, op: Any = ReduceOp.SUM, group: Any = None,
                          async_op: bool = False, *, label: str = "") -> Work | None:
    """Cut the sum of `input` over all ranks into equal parts, one for each rank: `output` gets the one of this rank."""
    source, target = Memory(input, "input"), Memory(output, "output")
    if outside(group):
        return None
    group = group_of(group)
    check_whole(source, target, group.size(), "input", "output")
    how, finish = reducing(group, target, op)
    work = group.run(Call(f"reduce_scatter_single({source}, {op.name})", label), [output],
                     lambda: group.comm.Ireduce_scatter_block(source.flat, target.flat, how), finish)
    return ready(work, async_op)


def all_gather_into_tensor(output_tensor: Tensor, input_tensor: Tensor, group: Any = None,
                           async_op: bool = False) -> Work | None:
    """The deprecated name of `all_gather_single`."""
    warnings.warn(DEPRECATED.format("all_gather_into_tensor", "all_gather_single"), FutureWarning, stacklevel=2)
    return all_gather_single(output_tensor, input_tensor, group, async_op)


def reduce_scatter_tensor(output: Tensor, input: Tensor, op: Any = ReduceOp.SUM, group: Any = None,
                          async_op: bool = False) -> Work | None:
    """The deprecated name of `reduce_scatter_single`."""
    warnings.warn(DEPRECATED.format("reduce_scatter_tensor", "reduce_scatter_single"), FutureWarning, stacklevel=2)
    return reduce_scatter_single(output, input, op, group, async_op)


def gather(tensor: Tensor, gather_list: list[Tensor] | None = None, dst: int | None = None, group: Any = None,
           async_op: bool = False, group_dst: int | None = None) -> Work | None:
    """Give rank `dst` the values of `tensor` on all ranks, in its `gather_list`."""
    memory = Memory(tensor, "tensor")
    if outside(group):
        return None
    root = member(group := group_of(group), "gather", "dst", dst, group_dst)
    row, copy = None, None
    if group.rank() == root:
        if not gather_list:
            raise ValueError("Argument ``gather_list`` must be specified on destination rank.")
        row, copy = in_a_row(gather_list, memory, group.size(), "gather_list")
    elif gather_list:
        raise ValueError("Argument ``gather_list`` must NOT be specified on non-destination ranks.")
    work = group.run(Call(f"gather({memory}, dst={group.ranks[root]})"), list(gather_list or []),
                     lambda: group.comm.Igather(memory.flat, row, root), copy)
    return ready(work, async_op)


def scatter(tensor: Tensor, scatter_list: list[Tensor] | None = None, src: int | None = None, group: Any = None,
            async_op: bool = False, group_src: int | None = None) -> Work | None:
    """Give `tensor` on each rank the values of the tensor at its rank in the `scatter_list` of rank `src`."""
    memory = Memory(tensor, "tensor")
    if outside(group):
        return None
    root = member(group := group_of(group), "scatter", "src", src, group_src)
    row = None
    if group.rank() == root:
        if not scatter_list:
            raise ValueError("Argument ``scatter_list`` must be specified on source rank.")
        row, _ = in_a_row(scatter_list, memory, group.size(), "scatter_list")
        for values, part in zip(row, scatter_list, strict=True):
            values[...] = Memory(part, "scatter_list").flat
    elif scatter_list:
        raise ValueError("Argument ``scatter_list`` must NOT be specified on non-source ranks.")
    work = group.run(Call(f"scatter({memory}, src={group.ranks[root]})"), [tensor],
                     lambda: group.comm.Iscatter(row, memory.flat, root), memory.store)
    return ready(work, async_op)


def all_to_all_single(output: Tensor, input: Tensor, output_split_sizes: list[int] | None = None,
                      input_split_sizes: list[int] | None = None, group: Any = None,
                      async_op: bool = False) -> Work | None:
    """Cut `input` along dimension 0, send one part to each rank, and concatenate what they send in `output`."""
    source, target = Memory(input, "input"), Memory(output, "output")
    if outside(group):
        return None
    group = group_of(group)
    sends = splits(input_split_sizes, input, group.size())
    receives = splits(output_split_sizes, output, group.size())
    rest = str(source.array.dtype), source.array.shape[1:]
    if rest != (str(target.array.dtype), target.array.shape[1:]):
        raise RuntimeError(f"output ({target}) and input ({source}) may differ in dimension 0 alone")
    row = int(np.prod(rest[1]))
    call = Call(f"all_to_all_single({rest[0]} {['*', *rest[1]]})".replace("'", ""), "", sends, receives)
    work = group.run(call, [output],
                     lambda: group.comm.Ialltoallv([source.flat, [n * row for n in sends]],
                                                   [target.flat, [n * row for n in receives]]), target.store)
    return ready(work, async_op)


def splits(sizes: list[int] | None, tensor: Tensor, size: int) -> list[int]:
    """Return how many rows go to each rank, or come from it: equally many by default. Raises RuntimeError if they do
    not add up to those of the tensor."""
    rows = len(tensor)
    if sizes:
        if len(sizes) != size:
            raise RuntimeError(f"Number of tensor splits not equal to group size: {len(sizes)}, but there are {size}")
        if sum(sizes) != rows:
            raise RuntimeError(f"Split sizes doesn't match total dim 0 size: {list(sizes)}, but there are {rows} rows")
        return list(sizes)
    if rows % size:
        raise RuntimeError(f"Tensor's dim 0 does not divide equally across group size: {rows} rows, {size} ranks")
    return [rows // size] * size


def isend(tensor: Tensor, dst: int | None = None, group: Any = None, tag: int = 0,
          group_dst: int | None = None) -> Work | None:
    """Begin to send `tensor` to rank `dst`, which must call `recv` or `irecv`."""
    memory = Memory(tensor, "tensor")
    if outside(group):
        return None
    to = member(group := group_of(group), "send", "dst", dst, group_dst)
    if to == group.rank():
        raise ValueError("Invalid destination rank: destination rank should not be the same as the rank of the "
                         "current process.")
    work: Work = group.run_pair(Call(f"send({memory}, dst={group.ranks[to]})"), [tensor],
                                lambda: group.comm.Isend(memory.flat, to, tag + 1))
    return ready(work, True)


def irecv(tensor: Tensor, src: int | None = None, group: Any = None, tag: int = 0,
          group_src: int | None = None) -> Work | None:
    """Begin to receive into `tensor` what rank `src`, or any rank, sends.

    The message must have as many bytes as `tensor`; the sender's shape and dtype are not sent.
    """
    memory = Memory(tensor, "tensor")
    if outside(group):
        return None
    group = group_of(group)
    anybody = src is None and group_src is None
    source = group.mpi.ANY_SOURCE if anybody else member(group, "recv", "src", src, group_src)
    call = Call(f"recv({memory}, src={'any' if anybody else group.ranks[source]})")

    def finish(status: Any) -> None:
        work.source = group.ranks[status.source]
        if (count := status.Get_count(group.mpi.BYTE)) != memory.flat.nbytes:
            raise DistBackendError(f"{call} on rank {group.rank()} got {count} bytes from rank {work.source}, not "
                                   f"{memory.flat.nbytes}: both sides must name the same shape and dtype")
        memory.store()

    work: Any = group.run_pair(call, [tensor], lambda: group.comm.Irecv(memory.flat, source, tag + 1), finish)
    return ready(work, True)


def send(tensor: Tensor, dst: int | None = None, group: Any = None, tag: int = 0,
         group_dst: int | None = None) -> None:
    """Send `tensor` to rank `dst`; return when its memory can be reused."""
    work = isend(tensor, dst, group, tag, group_dst)
    if work is not None:
        work.wait()


def recv(tensor: Tensor, src: int | None = None, group: Any = None, tag: int = 0,
         group_src: int | None = None) -> int:
    """Receive into `tensor` what rank `src`, or any rank, sends; return the rank of the sender."""
    work: Any = irecv(tensor, src, group, tag, group_src)
    if work is None:
        return -1
    work.wait()
    return int(work.source)
