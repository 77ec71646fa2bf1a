"""Activation checkpointing: mirrors `torch/utils/checkpoint.py`.

`checkpoint(function, *args)` returns what `function(*args)` returns, but does not keep what the function would save for
the backward pass: it is computed again when the pass needs it. Memory is saved at the price of a second run. Lesson 10
compares the two ways to do it.

`use_reentrant=True`: the function runs as the forward of a custom Function (`CheckpointFunction`), with grad mode off,
so nothing inside it is recorded, and only its tensor arguments are saved. Its outputs are outputs of that one node,
which is why all of them require grad if an input does. In the backward pass the node runs the function once more, with
grad mode on, on detached inputs, and then calls `backward` inside the running pass: that is what "reentrant" means.

`use_reentrant=False` (`Frame`): the function runs and is recorded as always, so flags and graph are those of the plain
function. But every tensor that a node inside it saves is replaced by an empty `Holder`. When the backward pass first
opens a holder, the function runs again, the tensors that it saves this time are put into the holders in the same order,
and it is stopped as soon as the last holder is filled.

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

from __future__ import annotations

import os
import sys
import threading
import warnings
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import Any

from minigrad._base.contexts import contextmanager, safe_exit
from minigrad.amp import same_autocast
from minigrad.autograd._api import backward
from minigrad.autograd.function import Function
from minigrad.autograd.grad_mode import enable_grad, no_grad
from minigrad.autograd.graph import saved_tensors_hooks
from minigrad.backends.registry import device_like, device_of, is_host
from minigrad.core import LOCAL, Node, Tensor, edge_target
from minigrad.core.exec_info import inside_full_passes
from minigrad.core.saved import saved_tensors, versions_of
from minigrad.core.saved_tensor import pack_all
from minigrad.nn.modules.container import Sequential
from minigrad.ops import random as random_ops
from minigrad.random import fork_rng, get_rng_state, set_rng_state
from minigrad.utils._python_dispatch import TorchDispatchMode
from minigrad.utils._selective_checkpoint import (
    CheckpointPolicy,
    SelectiveCheckpointContext,
    create_selective_checkpoint_contexts,
)

__all__ = ["CheckpointError", "CheckpointFunction", "CheckpointPolicy", "GraphExecGroup", "SelectiveCheckpointContext",
           "check_backward_validity", "checkpoint", "checkpoint_sequential", "create_selective_checkpoint_contexts",
           "detach_variable", "noop_context_fn", "set_checkpoint_debug_enabled", "set_checkpoint_early_stop"]

Contexts = tuple[AbstractContextManager[Any], AbstractContextManager[Any]]
EARLY_STOP: list[bool] = []  # the settings of set_checkpoint_early_stop, innermost block last
DEBUG: list[bool | None] = []  # those of set_checkpoint_debug_enabled
CHECKS: dict[str, Callable[[Any], Any]] = {
    "default": lambda tensor: {"shape": tensor.shape, "dtype": tensor.dtype, "device": tensor.device},
    "none": lambda tensor: None,
}
NOT_SAID = (
    "torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly. Starting in PyTorch 2.9, calling "
    "checkpoint without use_reentrant will raise an exception. use_reentrant=False is recommended, but if you need to "
    "preserve the current default behavior, you can pass use_reentrant=True. Refer to docs for more details on the "
    "differences between the two variants."
)
NOT_SAID_OF_SEQUENTIAL = (
    "torch.utils.checkpoint.checkpoint_sequential: the use_reentrant parameter should be passed explicitly. In version "
    "2.9 we will raise an exception if use_reentrant is not passed. use_reentrant=False is recommended, but if you "
    "need to preserve the current default behavior, you can pass use_reentrant=True. Refer to docs for more details on "
    "the differences between the two variants."
)
SUPPRESSED = (
    "torch.utils.checkpoint: the forward context provided by context_fn suppressed an exception raised during the "
    "checkpointed forward. This is not supported because checkpoint cannot return a value for a failed forward."
)
GROUP = threading.local()
NO_INPUTS_ARGUMENT = (
    "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or passing an `inputs` parameter to "
    ".backward(). To resolve this error, you can either set use_reentrant=False, or call .backward() without passing "
    "the `inputs` argument."
)
TIP = """
Tip: To see a more detailed error message, either pass `debug=True` to
`torch.utils.checkpoint.checkpoint(...)` or wrap the code block
with `with torch.utils.checkpoint.set_checkpoint_debug_enabled(True):` to
enable checkpoint‑debug mode globally.
"""
OVERLAP = (
    "Performing two backward calls that overlap (i.e. require the same saved activation in order to compute gradients) "
    "is not allowed while under the torch.utils.checkpoint.GraphExecGroup context. "
)


def noop_context_fn() -> Contexts:
    """Return two contexts that do nothing: the default `context_fn`."""
    return nullcontext(), nullcontext()


@contextmanager
def set_checkpoint_early_stop(enable: bool) -> Iterator[None]:
    """A block in whose checkpoints, whatever they say, a recomputation stops at the last tensor needed, or never."""
    before = list(EARLY_STOP)
    try:
        EARLY_STOP.append(enable)
        yield
    finally:
        EARLY_STOP[:] = before


@contextmanager
def set_checkpoint_debug_enabled(enabled: bool | None) -> Iterator[None]:
    """A block whose checkpoints use this setting, whatever their `debug` says; None: each uses its own."""
    before = list(DEBUG)
    try:
        DEBUG.append(enabled)
        yield
    finally:
        DEBUG[:] = before


def checkpoint(function: Callable[..., Any], *args: Any, use_reentrant: bool | None = None,
               context_fn: Callable[[], Contexts] = noop_context_fn, determinism_check: str = "default",
               debug: bool = False, early_stop: bool = True, **kwargs: Any) -> Any:
    """Return `function(*args, **kwargs)`, with what it saves for the backward pass recomputed instead of kept.

    `use_reentrant`: which of the module's two ways; pass it explicitly, since the default (True) is going to change.
    `preserve_rng_state=True`: the second run draws the random numbers of the first. The others are for
    `use_reentrant=False` only: `context_fn` makes the contexts of the first and the second run;
    `determinism_check="none"` compares nothing, "default" the shapes, dtypes and devices of what is saved;
    `early_stop`: the second run stops at the last tensor that is needed; `debug`: an error lists the ops of both runs.
    Raises ValueError for arguments that the chosen way does not have; CheckpointError in the backward pass, if the
    second run saves other tensors than the first.
    """
    if use_reentrant is None:
        warnings.warn(NOT_SAID, stacklevel=2)
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs and use_reentrant:
        raise ValueError(f"Unexpected keyword arguments: {','.join(kwargs)}")
    if not use_reentrant:
        if DEBUG and DEBUG[-1] is not None:
            debug = DEBUG[-1]
        return non_reentrant(function, args, kwargs, preserve, context_fn, determinism_check, early_stop, debug)
    if context_fn is not noop_context_fn or debug is not False:
        raise ValueError("Passing `context_fn` or `debug` is only supported when use_reentrant=False.")
    return CheckpointFunction.apply(function, preserve, *args)


def non_reentrant(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], preserve: bool,
                  context_fn: Callable[[], Contexts], determinism_check: str, early_stop: bool, debug: bool) -> Any:
    """Do the first run, under hooks that keep nothing; with grad mode off there is nothing to keep."""
    logs = Logs() if debug else None
    if logs is not None:
        if context_fn is not noop_context_fn:
            raise ValueError("debug=True is incompatible with non-default context_fn")
        context_fn = logs.contexts
    if determinism_check not in CHECKS:
        raise ValueError(f"determinism_check should be one of {list(CHECKS)}, but got {determinism_check}")
    first, second = context_fn()
    state, settings = random_state(preserve, args), same_autocast()

    def run(*args: Any) -> None:
        with state(), settings(), second:
            function(*args, **kwargs)

    if not LOCAL.grad_enabled:
        return function(*args, **kwargs)
    frame = Frame(run, args, EARLY_STOP[-1] if EARLY_STOP else early_stop, CHECKS[determinism_check])
    events = Run("checkpoint", frame, function, False, frame.arguments)
    unpack = frame.unpack if logs is None else logs.explaining(frame.unpack)
    with saved_tensors_hooks(frame.pack, unpack), first, events:
        result = function(*args, **kwargs)
        frame.complete = True
    if not frame.complete:
        raise RuntimeError(SUPPRESSED)
    return result


def checkpoint_sequential(functions: Sequential | Sequence[Callable[[Any], Any]], segments: int, input: Any,
                          use_reentrant: bool | None = None, **kwargs: Any) -> Any:
    """Send `input` through all functions, in `segments` segments, of which all but the last are checkpointed. Raises
    ValueError for keyword arguments other than `preserve_rng_state`."""
    if use_reentrant is None:
        warnings.warn(NOT_SAID_OF_SEQUENTIAL, stacklevel=2)
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError(f"Unexpected keyword arguments: {','.join(kwargs)}")
    steps = list(functions.children()) if isinstance(functions, Sequential) else functions
    size = len(steps) // segments

    def through(part: Sequence[Callable[[Any], Any]]) -> Callable[[Any], Any]:
        def forward(input: Any) -> Any:
            for step in part:
                input = step(input)
            return input

        return forward

    last = size * (segments - 1)
    for start in range(0, last, size):
        input = checkpoint(through(steps[start:start + size]), input, use_reentrant=use_reentrant,
                           preserve_rng_state=preserve)
    return through(steps[last:])(input)


# use_reentrant=True
def detach_variable(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return leaves with the same values that require grad where the inputs do; what is not a tensor stays as it is.
    Raises RuntimeError if `inputs` is not a tuple."""
    if not isinstance(inputs, tuple):
        raise RuntimeError("Only tuple of tensors is supported. Got Unsupported input type: "
                           f"{type(inputs).__name__}")
    return tuple([x.detach().requires_grad_(x.requires_grad) if isinstance(x, Tensor) else x for x in inputs])


def check_backward_validity(inputs: Iterable[Any]) -> None:
    """Warn if no input requires grad: then there will be no gradients, not even for parameters."""
    if not any(x.requires_grad for x in inputs if isinstance(x, Tensor)):
        warnings.warn("None of the inputs have requires_grad=True. Gradients will be None", stacklevel=2)


class CheckpointFunction(Function):
    """A function as one op: saves the tensors among its arguments, and runs it again for their gradients."""

    @staticmethod
    def forward(ctx: Any, run_function: Callable[..., Any], preserve_rng_state: bool, *args: Any) -> Any:
        """Return what the function returns. The `no_grad` changes nothing under `apply`: it is for a direct call."""
        check_backward_validity(args)
        ctx.run_function = run_function
        ctx.random_state, ctx.autocast = random_state(preserve_rng_state, args), same_autocast()
        ctx.inputs = [None if isinstance(x, Tensor) else x for x in args]
        ctx.tensor_indices = [i for i, x in enumerate(args) if isinstance(x, Tensor)]
        ctx.save_for_backward(*[args[i] for i in ctx.tensor_indices])
        with no_grad(), Run("checkpoint", ctx, run_function, True):
            return run_function(*args)

    @staticmethod
    def backward(ctx: Any, *args: Any) -> Any:
        """Return the gradients of the tensor arguments; those of parameters are added to their `.grad` on the way.

        Raises RuntimeError inside `grad()` or a pass with `inputs`, since it would reach the parameters anyway; if no
        output requires grad.
        """
        if not inside_full_passes():
            raise RuntimeError(NO_INPUTS_ARGUMENT)
        inputs = list(ctx.inputs)
        for index, tensor in zip(ctx.tensor_indices, ctx.saved_tensors, strict=True):
            inputs[index] = tensor
        detached = detach_variable(tuple(inputs))
        with ctx.random_state(), enable_grad(), ctx.autocast(), Run("recompute", ctx):
            outputs = ctx.run_function(*detached)
        outputs = (outputs,) if isinstance(outputs, Tensor) else outputs
        differentiable = [i for i, out in enumerate(outputs) if isinstance(out, Tensor) and out.requires_grad]
        if not differentiable:
            raise RuntimeError("none of output has requires_grad=True, this checkpoint() is not necessary")
        backward([outputs[i] for i in differentiable], [args[i] for i in differentiable])
        return None, None, *[x.grad if isinstance(x, Tensor) else None for x in detached]


# use_reentrant=False
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
                    raise too_many_tensors()
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
            raise other_metadata(differing)


class GraphExecGroup:
    """A block in which several passes count as one: what they need of a checkpointed call is computed once.

    No two of them may need the same saved tensor, even if the graph is retained. Raises RuntimeError on entering a
    block inside another one.
    """

    def __enter__(self) -> GraphExecGroup:
        if self.current() is not None:
            raise RuntimeError(f"GraphExecGroup contexts cannot be nested. Already inside group {self.current()}")
        GROUP.current, self._entered = self, True
        return self

    @safe_exit
    def __exit__(self, *error: object) -> None:
        GROUP.current = None

    @classmethod
    def current(cls) -> GraphExecGroup | None:
        """Return the block that this thread is in."""
        return getattr(GROUP, "current", None)


# of both
def emit(what: str, *facts: Any) -> None:
    """Tell the observer of this thread, if there is one."""
    if LOCAL.observer is not None:
        getattr(LOCAL.observer, what)(*facts)


class Run:
    """A block that is a run of a checkpointed call: the first one ("checkpoint"), or one in a pass ("recompute")."""

    def __init__(self, which: str, call: Any, *facts: Any) -> None:
        self.which, self.call, self.facts = which, call, facts

    def __enter__(self) -> None:
        emit(f"{self.which}_begin", self.call, *self.facts)

    def __exit__(self, *error: object) -> None:
        emit(f"{self.which}_end", self.call)


def random_state(preserve: bool, args: Sequence[Any]) -> Callable[[], AbstractContextManager[None]]:
    """Note the present random state of the CPU and of the devices of the tensor arguments; return a function that makes
    a block that starts from it and leaves no trace."""
    if not preserve:
        return nullcontext
    state, devices = get_rng_state(), devices_of(args)
    states = random_ops.device_states(devices)

    @contextmanager
    def as_it_was() -> Iterator[None]:
        with fork_rng(devices=devices):
            set_rng_state(state)
            random_ops.set_device_states(states)
            yield

    return as_it_was


def devices_of(args: Any) -> list[Any]:
    """Return the devices of tensors, other than the CPU, also of those in tuples, lists and dicts."""
    if isinstance(args, Tensor):
        return [] if is_host(device_like(args.array)) else [device_of(args.array)]
    inner = args.values() if isinstance(args, dict) else args if isinstance(args, (tuple, list)) else ()
    return list(dict.fromkeys([each for arg in inner for each in devices_of(arg)]))


# the errors for functions that do not repeat themselves
class CheckpointError(RuntimeError):
    """Raised when a function did not do the same on its second run."""


def too_many_tensors() -> CheckpointError:
    """Return the error for a second run that saves more tensors."""
    return CheckpointError("torch.utils.checkpoint: trying to save more tensors during recomputation than during the "
                           f"original forward pass.\n{TIP}")


def another_number(then: int, now: int) -> CheckpointError:
    """Return the error for a second run that saved a different number of tensors."""
    return CheckpointError(
        "torch.utils.checkpoint: A different number of tensors was saved during the original forward and "
        f"recomputation.\nNumber of tensors saved during forward: {then}\nNumber of tensors saved during "
        f"recomputation: {now}.\n{TIP}")


def other_metadata(differing: Iterable[tuple[int, Any, Any]]) -> CheckpointError:
    """Return the error for tensors of another kind: with their positions, what was noted, and what was found."""
    rows = [f"tensor at position {index}:\nsaved metadata: {then}\nrecomputed metadata: {now}\n"
            for index, then, now in differing]
    return CheckpointError("torch.utils.checkpoint: Recomputed values for the following tensors have different "
                           f"metadata than during the forward pass.\n{''.join(rows)}.\n{TIP}")


def unpacked_twice(in_group: bool) -> CheckpointError:
    """Return the error for a pass that needs one saved tensor twice."""
    return CheckpointError(
        "torch.utils.checkpoint: Unpack is being triggered for a tensor that was already unpacked once. "
        f"{OVERLAP if in_group else ''}If you are calling ctx.saved_tensors in backward, make sure to do so only once. "
        "Otherwise please open an issue with details on your use case.")


# debug=True: the error lists the ops of both runs, with lines of the user's code, the innermost first
LIBRARY = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
RULE = "+------------------------------------------------------------------------------+"
WAVE = RULE.replace("-", "~")
HEAD = """ \
An error happened while unpacking tensors; dumping logs of latest computation
because you passed `debug=True` to `torch.utils.checkpoint.checkpoint()`.
Scroll all the way down for guidance on how to navigate these logs.
"""
TITLES = (
    "|        1. Stack traces of the operators that ran in the original forward     |",
    "|        2. Stack traces of the operators that ran during recomputation        |",
    "|       3. Log of operators in the original forward and recomputation          |",
)
CORRELATE = """\
(Scroll up to correlate stack traces with each operation listed below. This
 helps identify their source in the code.)

IMPORTANT: Differences in "detach" calls between the original forward and the
           recomputation are expected. They are introduced by the checkpointing
           mechanism and can be ignored.
"""
FOOT = """\
 ERROR: Detected non-determinism while running activation checkpointing

 You are seeing this error because you passed `debug=True` to checkpoint and
 tensors to be saved during the original forward and differ between those saved
 during recomputation. This can happen if different operators were ran in the
 original forward and in the recomputation.

 To identify where the mismatch may be coming from, you can do the following:

 1) Compare the operators ran during original forward and recomputation to
    see where they differ. These operators are printed above in the order they
    were executed.

 2) Review the stack trace for each operator to locate its invocation source.
    Each operator's stack trace is printed in their execution order.

 Note that the logs can be quite long. Here's how they are structured:
 (Tip: you can Ctrl-f for these headers)

 1. Stack traces of the operators that ran in the original forward
 2. Stack traces of the operators that ran during recomputation
 3. Log of operators in the original forward and recomputation
 4. Error message                                             <--- You are here
--------------------------------------------------------------------------------
"""


class Log(TorchDispatchMode):
    """The mode of one run: notes each op and the lines of the user's code that led to it."""

    def __init__(self, run: str) -> None:
        self.run = run
        self.ops: list[tuple[str, list[str]]] = []
        self.numbers: dict[int, int] = {}
        self.alive: list[Any] = []  # so that ids are not reused

    def __enter__(self) -> Any:
        self.ops, self.numbers, self.alive = [], {}, []
        return super().__enter__()

    def __exit__(self, *error: Any) -> None:
        self.alive = []
        super().__exit__(*error)

    def __torch_dispatch__(self, func: Any, types: tuple[Any, ...], args: tuple[Any, ...] = (),
                           kwargs: dict[str, Any] | None = None) -> Any:
        """Run the op and note it; an op that the end of a recomputation interrupts has no results."""
        given, result = ", ".join([self.text_of(x) for x in args]), None
        try:
            result = func(*args, **(kwargs or {}))
            return result
        finally:
            made = result if isinstance(result, tuple) else (result,)
            results = ", ".join([f"{self.text_of(x)}: {kind(x)}" for x in made if isinstance(x, Tensor)])
            self.ops.append((f"{results or '?'} = torch._ops.{func}({given})", list(users_lines())))

    def text_of(self, x: Any) -> str:
        """Return a tensor by its number, anything else as it is printed."""
        if isinstance(x, (tuple, list)) and any(isinstance(each, Tensor) for each in x):
            return f"[{', '.join([self.text_of(each) for each in x])}]"
        if not isinstance(x, Tensor):
            return repr(x)
        if id(x) not in self.numbers:
            self.numbers[id(x)] = len(self.numbers)
            self.alive.append(x)
        return f"${self.numbers[id(x)]}"

    def traces(self) -> str:
        """Return each op with the lines that it came from."""
        blocks = []
        for i, (op, lines) in enumerate(self.ops):
            blocks.append("".join([f"{op}   ({i + 1} of {len(self.ops)} in {self.run})\n\n",
                                   *[f"{each}\n" for each in lines], "\n\n"]))
        return "".join(blocks)


def kind(x: Tensor) -> str:
    """dtype and shape: `f32[3, 4]`."""
    dtype = x.array.dtype
    return f"{dtype.kind}{8 * dtype.itemsize}[{', '.join(map(str, x.array.shape))}]"


def users_lines() -> Iterator[str]:
    """Yield the lines of the user's code that are running, the innermost first."""
    frame = sys._getframe(1)
    while frame.f_back is not None:
        frame = frame.f_back
        if not frame.f_code.co_filename.startswith(LIBRARY):
            yield f"{frame.f_code.co_filename}:{frame.f_lineno}:{frame.f_code.co_name}"


class Logs:
    """The modes of both runs, and the error that shows what they noted."""

    def __init__(self) -> None:
        self.first, self.second = Log("original"), Log("recompute")

    def contexts(self) -> tuple[Log, Log]:
        """Return both modes, as a `context_fn`."""
        return self.first, self.second

    def explaining(self, unpack: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """Wrap an unpack hook so that its error is the long one."""
        def explained(holder: Any) -> Any:
            try:
                return unpack(holder)
            except CheckpointError as error:
                raise self.error() from error

        return explained

    def error(self) -> CheckpointError:
        """Return the error to raise in place of the short one."""
        ops = [each for log in (self.first, self.second) for each in ("\n".join([op for op, _ in log.ops]), "")]
        return CheckpointError("\n".join([
            HEAD, WAVE, TITLES[0], RULE, "", self.first.traces() + WAVE, TITLES[1], RULE, "",
            self.second.traces() + WAVE, TITLES[2], RULE, CORRELATE, "Operations executed during the original forward:",
            "", *ops[:2], "Operations executed during recomputation:", "", *ops[2:], RULE, FOOT]))
