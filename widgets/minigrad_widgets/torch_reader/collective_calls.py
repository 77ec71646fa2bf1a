"""Calls of c10d in the terms of minigrad's recorder: which operation it is, on what, and on how many bytes.

c10d is the C++ library behind `torch.distributed`; its operators have other names than the functions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import torch
import torch.distributed as dist

__all__ = ["CollectiveCall", "tensors_of"]

# The functions of `torch.distributed`, by the operators that they call.
FUNCTIONS = {
    "allreduce_": "all_reduce", "allreduce_coalesced_": "all_reduce_coalesced", "reduce_": "reduce",
    "broadcast_": "broadcast", "allgather_": "all_gather", "_allgather_base_": "all_gather_single",
    "allgather_coalesced_": "all_gather_coalesced", "allgather_into_tensor_coalesced_": "all_gather_coalesced",
    "reduce_scatter_": "reduce_scatter", "_reduce_scatter_base_": "reduce_scatter_single",
    "reduce_scatter_tensor_coalesced_": "reduce_scatter_coalesced", "gather_": "gather", "scatter_": "scatter",
    "alltoall_": "all_to_all", "alltoall_base_": "all_to_all_single", "send": "send", "recv_": "recv",
    "recv_any_source_": "recv", "barrier": "barrier", "monitored_barrier_": "monitored_barrier"}
GIVEN = ("input_tensors", "input_tensor", "input_list", "inputs", "input", "tensors")  # their names for what is sent,
MADE = ("output_tensors", "output_tensor", "output_lists", "outputs", "output", "tensors")  # and what is written to
TO = {"reduce_", "gather_"}  # whose root receives


class CollectiveCall:
    """A call of c10d: `op` is None if it is not an operation of several ranks; `written` are the tensors that it writes
    to or sends, `group` the ranks that take part, if not all."""

    def __init__(self, func: Any, args: Any, kwargs: Any) -> None:
        name = func.overloadpacket.__name__
        names = [argument.name for argument in func._schema.arguments]
        self.facts = {**dict(zip(names, args)), **kwargs}
        self.op: str | None = FUNCTIONS.get(name)
        self.written: list[torch.Tensor] = []
        self.size = 0
        self.group = self.part()
        if self.op is None or self.op.endswith("barrier"):
            return
        self.written = list(tensors_of(self.first(MADE)))
        self.size = sum(bytes_of(t) for t in self.written)
        given = self.written if name == "scatter_" else list(tensors_of(self.first(GIVEN)))
        words = [self.described(given, name), *self.reduction(), *self.partner(name)]
        self.op += f"({', '.join(words)})"

    def part(self) -> list[int] | None:
        """Return the ranks that take part, if not all."""
        if self.op is None or "process_group" not in self.facts:
            return None
        ranks = dist.get_process_group_ranks(dist.ProcessGroup.unbox(self.facts["process_group"]))
        return ranks if len(ranks) < dist.get_world_size() else None

    def first(self, names: Iterable[str]) -> Any:
        """Return the argument that has one of these names."""
        return next((self.facts[name] for name in names if name in self.facts), ())

    def described(self, tensors: list[torch.Tensor], name: str) -> str:
        """Return the dtype and shape of each rank's part; the rows of an all-to-all differ between ranks."""
        if len(tensors) != 1 and name.endswith("coalesced_"):
            return f"{len(tensors)} tensors"
        if not tensors:
            return "nothing"
        shape = list(tensors[0].shape)
        text = f"[{', '.join(['*', *map(str, shape[1:])])}]" if name == "alltoall_base_" else str(shape)
        return f"{str(tensors[0].dtype).removeprefix('torch.')} {text}"

    def reduction(self) -> list[str]:
        """Return the name of the reduction that combines the values of all ranks."""
        op = self.facts.get("reduce_op")
        return [] if op is None else [dist.ReduceOp.RedOpType(op.op()).name]

    def partner(self, name: str) -> list[str]:
        """Return the global rank that sends or receives."""
        if name == "recv_any_source_":
            return ["src=any"]
        place = next((self.facts[key] for key in ("root_rank", "src", "dst") if key in self.facts), None)
        if place is None:
            return []
        ranks = dist.get_process_group_ranks(dist.ProcessGroup.unbox(self.facts["process_group"]))
        return [f"{'dst' if name in TO or 'dst' in self.facts else 'src'}={ranks[place]}"]


def bytes_of(tensor: torch.Tensor) -> int:
    """Return the bytes that a tensor sends: for a sparse one, those of its values and indices."""
    if tensor.layout is torch.sparse_coo:
        return tensor._values().nbytes + tensor._indices().nbytes
    return tensor.numel() * tensor.element_size()


def tensors_of(values: Any) -> Iterator[torch.Tensor]:
    """Yield a tensor, or those in lists, and in lists of lists."""
    if isinstance(values, torch.Tensor):
        yield values
    elif isinstance(values, (list, tuple)):
        for value in values:
            yield from tensors_of(value)
