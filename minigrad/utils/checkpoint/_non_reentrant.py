"""Implements `use_reentrant=False` with hooks on saved tensors, which recompute what they did not keep.

The function runs and is recorded as always, so flags and graph are those of the plain function. But every tensor that a
node inside it saves is replaced by an empty `Holder`. When the backward pass first opens a holder, the function runs
again, the tensors that it saves this time are put into the holders in the same order, and it is stopped as soon as the
last holder is filled.

NOTE 4 (nested checkpoint). A checkpointed function may itself call checkpoint. Four rules say what happens.
1. A saved tensor belongs to the innermost checkpoint: of nested hooks only the innermost pair counts.
2. The arguments of an inner call are saved before its own hooks are set, so they belong to the outer call, like every
other tensor that is saved there. They are kept by a node of their own, `Arguments`. To open an inner holder the inner
function must run, which opens its arguments, for which the outer function must run: each of them once in a pass.
3. A recomputation starts as if no checkpoint were on: it sets its own hooks over those that are there. An inner call
that it meets is a checkpoint again.
4. What was recomputed belongs to one pass, and is freed when its node has taken it, even if the graph is retained: a
second pass computes it again. The pass itself is the key, held weakly.
"""

import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from minigrad.autograd.grad_mode import enable_grad
from minigrad.autograd.graph import saved_tensors_hooks
from minigrad.core import LOCAL, Node, edge_target
from minigrad.core.saved import saved_tensors, versions_of
from minigrad.core.saved_tensor import pack_all
from minigrad.utils.checkpoint._errors import another_number, other_facts, too_many, unpacked_twice
from minigrad.utils.checkpoint._events import Run, emit
from minigrad.utils.checkpoint._group import GraphExecGroup

__all__ = ["Frame"]


class StopRecomputation(Exception):
    """Not an error: the last holder is filled, and the rest of the function is not needed."""


class Arguments(Node, number=None):
    """Tensors kept as a node keeps its inputs: packed by the hooks that are on, and checked for in-place changes."""

    own_input_grads = True

    def __init__(self, kept: Sequence[Any]) -> None:
        self.fill(tuple([edge_target(tensor) for tensor in kept]), tuple(kept))
        self.extras().versions = versions_of(tuple(kept))
        if LOCAL.saved_tensors_hooks:
            pack_all(self, ())


class Holder:
    """Stands in a graph for a tensor that is not kept. `found`: what each pass recomputed, None once taken."""

    __slots__ = ("__weakref__", "found")

    def __init__(self) -> None:
        self.found: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()


class Outside:
    """Stands for a pass where a saved tensor is read outside one."""


class Frame:
    """One checkpointed call: how to run it again, and for each tensor that it saved a holder and what is known about
    it.

    `run(*args)` runs the function from the random state of the first run; `facts(tensor)` is what must be the same
    again. `complete`: whether the first run has ended.
    """

    def __init__(self, run: Callable[..., Any], args: Sequence[Any], early_stop: bool,
                 facts: Callable[[Any], Any]) -> None:
        self.run, self.early_stop, self.facts = run, early_stop, facts
        self.others = [None if hasattr(x, "requires_grad") else x for x in args]
        self.places = [i for i, x in enumerate(args) if hasattr(x, "requires_grad")]
        self.arguments = Arguments([args[i] for i in self.places])
        self.holders: list[weakref.ref[Holder]] = []
        self.noted: list[Any] = []
        self.done: weakref.WeakSet[Any] = weakref.WeakSet()
        self.complete, self.may_differ = False, False

    def pack(self, tensor: Any) -> Holder:
        """Keep a holder instead of a tensor."""
        holder = Holder()
        self.holders.append(weakref.ref(holder))
        self.noted.append(self.facts(tensor))
        return holder

    def unpack(self, holder: Holder) -> Any:
        """Return the tensor that belongs in a holder; the first that a pass asks for makes the function run again."""
        task = GraphExecGroup.current() or LOCAL.graph_task or Outside()
        if task not in self.done:
            count = self.recompute(task)
            self.done.add(task)
            self.compare(task, count)
        if holder.found[task] is None:
            raise unpacked_twice(GraphExecGroup.current() is not None)
        tensor, holder.found[task] = holder.found[task], None
        return tensor

    def recompute(self, task: Any) -> int:
        """Run the function again and fill the holders that still exist; return how many tensors it saved."""
        args, count = list(self.others), 0
        for place, tensor in zip(self.places, saved_tensors(self.arguments), strict=True):
            args[place] = tensor

        def pack(tensor: Any) -> Any:
            nonlocal count
            tensor = tensor.detach() if tensor.requires_grad else tensor
            count += 1
            if count > len(self.holders):
                if self.complete:
                    raise too_many()
                self.may_differ = True  # asked by a pass inside the first run, which has not saved everything yet
                return tensor
            holder = self.holders[count - 1]()
            if holder is not None:  # else its node is gone: a pass inside the function has used it
                holder.found[task] = tensor
                emit("holder_filled", self, count - 1, tensor)
            if self.early_stop and count == len(self.holders):
                emit("early_stop", self)
                raise StopRecomputation
            return tensor

        hooks = saved_tensors_hooks(pack, lambda tensor: tensor)
        with suppress(StopRecomputation), hooks, enable_grad(), Run("recompute", self):
            self.run(*args)
        return count

    def compare(self, task: Any, count: int) -> None:
        """Raise CheckpointError if the function saved more, fewer or other tensors than the first time."""
        if self.may_differ:
            return
        if count != len(self.holders):
            raise another_number(len(self.holders), count)
        differing = []
        for index, (ref, then) in enumerate(zip(self.holders, self.noted, strict=True)):
            holder = ref()
            now = then if holder is None else self.facts(holder.found[task])
            if now != then:
                differing.append((index, then, now))
        if differing:
            raise other_facts(differing)
