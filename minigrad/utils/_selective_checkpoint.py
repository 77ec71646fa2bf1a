"""Selective checkpointing: a policy decides for each op whether its result is kept or recomputed.

    contexts = functools.partial(create_selective_checkpoint_contexts, [torch.ops.aten.mm.default])
    y = checkpoint(function, x, use_reentrant=False, context_fn=contexts)

Both runs of the function are under a mode that sees every op. In the first, the results of chosen ops are kept; in the
second they are returned in the same order, and the op does not run. It still gets its node, which saves what it always
saves: an op computes and records, and here these two are separated (`Recorded`).
"""

import enum
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from typing import Any

from minigrad._base.nested import leaves
from minigrad.core import LOCAL, ManyOutputs, Node, Tensor, counter_of, plain, record_many, record_n
from minigrad.core.saved_tensor import pack_all
from minigrad.ops._dispatch.overloads import OpOverload, OpOverloadPacket, of_class
from minigrad.utils._python_dispatch import TorchDispatchMode

__all__ = ["CheckpointPolicy", "SelectiveCheckpointContext", "create_selective_checkpoint_contexts"]

MISMATCH = ("This can happen if the operations in the checkpointed region are nondeterministic or depend on global "
            "state that changed between forward and backward.")
TWICE = ("Trying to backward an extra time. You are only allowed to backward once on any region computed under "
         "selective activation checkpoint.")
MUTATED = "Tensor cached during selective activation checkpoint has been mutated"


class SelectiveCheckpointContext:
    """What a policy gets besides the op and its arguments: `op_output`, what the op returned.

    `is_recompute` is always False: a policy is called only in the first run.
    """

    def __init__(self, *, is_recompute: bool, op_output: Any = None) -> None:
        self.is_recompute = is_recompute
        self.op_output = op_output


class CheckpointPolicy(enum.Enum):
    """What a policy returns: SAVE keeps a result, the others have it recomputed. MUST and PREFER mean the same here; in
    PyTorch a compiler may overrule PREFER. Nothing is offloaded, as in PyTorch without a compiler."""

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3
    MUST_CPU_OFFLOAD = 4
    PREFER_CPU_OFFLOAD = 5


SAVE = (True, CheckpointPolicy.MUST_SAVE, CheckpointPolicy.PREFER_SAVE)
RECOMPUTE, CONSUMED = "to be run again", "was given"
Policy = Callable[..., CheckpointPolicy | bool]
Store = defaultdict[OpOverload, list[Any]]


class Listener:
    """Receives, in place of a recorder, what an op reports: its node, its inputs and its outputs."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, Node | None, Sequence[Any], Sequence[Any]]] = []

    def forward(self, op: str, node: Node | None, inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
        self.heard.append((op, node, inputs, outputs))

    def view(self, tensor: Any, source: Any = None) -> None:
        """A result was made a view; the recorder will see that later."""

    created = constant = aliased = to_be_written = view  # the recorder will see these too

    def pass_on(self) -> None:
        """Let the hooks pack what was saved, and report to the recorder, as would have happened at once."""
        for op, node, inputs, outputs in self.heard:
            if node is not None and node.saved and LOCAL.saved_tensors_hooks:
                if not isinstance(node, ManyOutputs):
                    node.extras().input_metadata = tuple([(x.array.shape, x.array.dtype) for x in inputs])
                pack_all(node, outputs)
            if LOCAL.observer is not None:
                LOCAL.observer.forward(op, node, inputs, outputs)


def run_unheard(func: OpOverload, args: Any, kwargs: Any) -> tuple[Any, Listener]:
    """Return the result of an op before any hook or recorder knows of it, and the listener that heard the op."""
    hooks, observer, listener = LOCAL.saved_tensors_hooks, LOCAL.observer, Listener()
    LOCAL.saved_tensors_hooks, LOCAL.observer = (), listener
    try:
        return func(*args, **kwargs), listener
    finally:
        LOCAL.saved_tensors_hooks, LOCAL.observer = hooks, observer


class Argument(int):
    """Stands for the tensor argument of an op with this number."""


class Output(int):
    """Stands for the output of an op with this number."""


class Recorded:
    """What an op returned and reported in the first run, so that the second can reuse it without the op.

    The op's tensor arguments are not kept, only their numbers: the second run has other tensors.
    """

    def __init__(self, node: Node | None, inputs: Sequence[Any], outputs: Sequence[Any], result: Any,
                 given: Sequence[Tensor]) -> None:
        stand_ins: dict[int, Argument | Output] = {id(x.array): Output(i) for i, x in enumerate(outputs)}
        stand_ins.update({id(x): Output(i) for i, x in enumerate(outputs)})
        stand_ins.update({id(x): Argument(i) for i, x in enumerate(given)})

        def without_tensors(values: Sequence[Any]) -> tuple[Any, ...]:
            return tuple([stand_ins.get(id(x), x) for x in values])

        self.cls = None if node is None else type(node)
        self.inputs = without_tensors(inputs)
        self.saved = () if node is None else without_tensors(node.saved or ())
        self.notes = ((), None) if node is None else (
            node.const, None if node._extras is None else node._extras.input_metadata)
        self.one = isinstance(result, Tensor)
        self.result = without_tensors([result] if self.one else result)
        self.arrays, self.counters = [x.array for x in outputs], [counter_of(x) for x in outputs]
        self.versions = [counter.value for counter in self.counters]

    def is_whole(self) -> bool:
        """Return whether nothing else was recorded inside the op, whose history would be lost."""
        return not any(isinstance(x, Tensor) and x._requires_grad for x in (*self.inputs, *self.saved, *self.result))

    def again(self, given: Sequence[Tensor], may_change: bool) -> Any:
        """Return the result for these tensors, recorded as the op records it. Raises RuntimeError if it was written to
        since."""
        if not may_change and self.versions != [counter.value for counter in self.counters]:
            raise RuntimeError(MUTATED)

        def fill_in(values: Sequence[Any]) -> tuple[Any, ...]:
            return tuple([given[x] if type(x) is Argument else self.arrays[x] if type(x) is Output else x
                          for x in values])

        inputs, saved = fill_in(self.inputs), fill_in(self.saved)
        const, input_metadata = self.notes
        if self.cls is None:
            made = tuple([plain(array) for array in self.arrays])
        elif issubclass(self.cls, ManyOutputs):
            made = record_many(self.cls, self.arrays, inputs, const, saved)
        else:
            made = (record_n(self.cls, self.arrays[0], inputs, saved, const, input_metadata),)
        result = tuple([made[x] if type(x) is Output else given[x] if type(x) is Argument else x for x in self.result])
        return result[0] if self.one else result


def recording_of(listener: Listener, result: Any, given: Sequence[Tensor]) -> Recorded | None:
    """Return what can be reused of an op that ran; None for a view, which holds no memory and is made again."""
    if not listener.heard or not (isinstance(result, Tensor) or type(result) is tuple):
        return None
    _, node, inputs, outputs = listener.heard[-1]
    if any(x._base is not None for x in outputs):
        return None
    found = Recorded(node, inputs, outputs, result, given)
    return found if found.is_whole() else None


class SavingMode(TorchDispatchMode):
    """The mode of the first run. `store`: for each op, what is kept of each of its runs."""

    def __init__(self, policy: Policy, store: Store) -> None:
        self.policy, self.store = policy, store

    def __torch_dispatch__(self, func: Any, types: tuple[Any, ...], args: tuple[Any, ...] = (),
                           kwargs: dict[str, Any] | None = None) -> Any:
        """Run the op, call the policy, then let the op's node be packed and reported."""
        kwargs = kwargs or {}
        result, listener = run_unheard(func, args, kwargs)
        if result is NotImplemented:
            return result
        policy = self.policy(SelectiveCheckpointContext(is_recompute=False, op_output=result), func, *args, **kwargs)
        found = None
        if policy in SAVE:
            found = recording_of(listener, result, [x for x in leaves((args, kwargs)) if isinstance(x, Tensor)])
        self.store[func].append(RECOMPUTE if found is None else found)
        listener.pass_on()
        return result


class ReplayMode(TorchDispatchMode):
    """The mode of the second run."""

    def __init__(self, store: Store, may_change: bool) -> None:
        self.store, self.may_change = store, may_change
        self.count: Counter[OpOverload] = Counter()

    def __enter__(self) -> Any:
        self.count.clear()
        return super().__enter__()

    def __torch_dispatch__(self, func: Any, types: tuple[Any, ...], args: tuple[Any, ...] = (),
                           kwargs: dict[str, Any] | None = None) -> Any:
        """Return what was kept, or run the op."""
        kwargs, index, runs = kwargs or {}, self.count[func], self.store.get(func)
        if runs is None:
            raise RuntimeError(f"{func} encountered during backward but not found in storage. {MISMATCH}")
        if index >= len(runs):
            raise RuntimeError(f"{func} invocation index {index} encountered during backward but not found in "
                               f"storage. {MISMATCH}")
        self.count[func] += 1
        found = runs[index]
        if found is CONSUMED:
            raise RuntimeError(TWICE)
        if found is RECOMPUTE:
            return func(*args, **kwargs)
        runs[index] = CONSUMED
        return found.again([x for x in leaves((args, kwargs)) if isinstance(x, Tensor)], self.may_change)


def create_selective_checkpoint_contexts(
        policy_fn_or_list: Policy | list[Any],
        allow_cache_entry_mutation: bool = False) -> tuple[TorchDispatchMode, TorchDispatchMode]:
    """Return two contexts, for the first and the second run of a checkpoint, in which chosen ops run only once.

    `policy_fn_or_list`: `policy(context, op, *args, **kwargs)` returns a `CheckpointPolicy`, or a bool: whether to
    save; or a list of the ops whose results are to be saved, as `torch.ops.aten.mm.default` or as minigrad's own class,
    `minigrad.ops.linalg.matmul.Mm`. Arguments are those of the op's `forward`. If a chosen result is changed in place,
    the backward pass raises an error, unless `allow_cache_entry_mutation`; a second pass always raises. Raises
    TypeError for an argument that is neither a function nor a list; ValueError for a list with an entry that is not an
    op.
    """
    if isinstance(policy_fn_or_list, list):
        policy = one_of([checked_op(x) for x in policy_fn_or_list])
    elif callable(policy_fn_or_list):
        policy = policy_fn_or_list
    else:
        raise TypeError("policy_fn_or_list must be either a function or a list of ops.")
    store: Store = defaultdict(list)
    return SavingMode(policy, store), ReplayMode(store, allow_cache_entry_mutation)


def one_of(ops: list[OpOverload]) -> Policy:
    """Return the policy that saves what these ops return."""
    def policy(context: SelectiveCheckpointContext, op: OpOverload, *args: Any, **kwargs: Any) -> CheckpointPolicy:
        return CheckpointPolicy.MUST_SAVE if op in ops else CheckpointPolicy.PREFER_RECOMPUTE

    return policy


def checked_op(x: Any) -> OpOverload:
    """Return an entry of a list of ops; raise an error if it is not an op."""
    if isinstance(x, type) and issubclass(x, Node):
        return of_class(x, x)
    if isinstance(x, OpOverload):
        return x
    more = ("Please update the OpOverloadPacket to a specific OpOverload.For example, if you have `torch.ops.aten.mm`, "
            "change it to `torch.ops.aten.mm.default`.") if isinstance(x, OpOverloadPacket) else ""
    raise ValueError(f"Expected op in `op_list` to be an OpOverload but got: {x} of type {type(x)}. {more}")
