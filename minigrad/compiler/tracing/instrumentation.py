"""What stands in minigrad while a step is traced: a backend, and functions that note what they do before they do it.

`tracing` puts all of it there, and back.
"""

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from threading import get_ident
from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds
from numpy.lib.stride_tricks import as_strided

from minigrad._base.contexts import contextmanager, ensure
from minigrad._base.dtype import BFLOAT16
from minigrad._base.locks import new_lock
from minigrad.autograd import _api, forward_ad
from minigrad.backends import draws, registry
from minigrad.backends.random import DEFAULT, Stream
from minigrad.backends.registry import HOST
from minigrad.compiler.tracing.trace import HALF, Active, Slot, Trace, TracedArray, dispatch, new_array, plain
from minigrad.core import UNUSUAL, Node, Packed, Tensor, engine
from minigrad.core.engine import start_grads
from minigrad.ops._dispatch.op_wrappers import OPS
from minigrad.ops.tensor.storage import memory_at

NO_TANGENTS = ("minigrad.compile cannot take a step that uses forward mode: jvp, jacfwd, hessian or dual_level. Call "
               "these outside of the compiled function")


class Module:
    """Where `Home` finds NumPy's names."""

    def __getattr__(self, name: str) -> Any:
        return lambda *args, **options: dispatch(name, getattr(np, name), args, options)


class TracingBackend:
    """`minigrad.backends.registry.Backend`, as far as ops ask for it; its device is the CPU."""

    type, array_type, module = "cpu", TracedArray, Module()
    current_device = index_of = fused = fused_rows = capturing = staticmethod(lambda *args: None)  # it has none
    on = linalg_errors = staticmethod(lambda *args: nullcontext())
    add_at, matmul = staticmethod(np.add.at), staticmethod(np.matmul)

    def from_host(self, array: Any, index: Any) -> TracedArray:
        return Active.trace.outside(array)

    def to_host(self, array: TracedArray) -> Any:
        Active.trace.stop("values are handed to NumPy")
        return array.value

    def address(self, array: TracedArray) -> int:
        address: int = array.value.__array_interface__["data"][0]
        return address

    def bounds(self, array: TracedArray) -> tuple[int, int]:
        return byte_bounds(array.value)

    def storage(self, array: TracedArray) -> tuple[int, int]:
        return array.memory.address, array.memory.nbytes

    def bytes_of(self, array: TracedArray, low: int, size: int) -> Any:
        Active.trace.stop("the memory of a tensor is looked at")
        return memory_at(array.value, low, size)

    def as_strided(self, array: TracedArray, shape: Any, strides: Any) -> TracedArray:
        return TracedArray(as_strided(array.value, shape, strides), array.memory)

    def composite(self, function: Callable[..., Any], *args: Any) -> Any:
        return Active.trace.composite(function, *args)


Options = dict[str, tuple[dict[str, Any], str]]
TRACING = new_lock()  # one step is traced at a time: the table of backends belongs to the process
draw, state_bytes, set_state_bytes = draws.drawn, Stream.state_bytes, Stream.set_state_bytes
NOTHING = np.zeros((), np.int8)


def end_of_draws(trace: Trace) -> None:
    """Break if somebody drew numbers that no statement draws."""
    if state_bytes(DEFAULT) != trace.drawn_until:
        trace.stop("random numbers are drawn by what is no distribution of minigrad")


@contextmanager
def random_state_kept(trace: Trace) -> Iterator[None]:
    """A block that draws for a later call, which has the numbers still to draw."""
    end_of_draws(trace)
    state = state_bytes(DEFAULT)
    try:
        yield
        end_of_draws(trace)
    finally:
        set_state_bytes(DEFAULT, state)
        trace.drawn_until = state


def traced_draw(here: Any, there: Any, stream: Any, shape: Any, *parameters: Any) -> Any:
    """`minigrad.backends.draws.drawn`, noted: a statement that calls the real generator."""
    if type(stream) is not Stream or not Active.here():
        return draw(here, there, stream, shape, *parameters)
    trace = Active.trace
    if stream is DEFAULT:
        end_of_draws(trace)
    out = draw(here, there, stream, shape, *[plain(p) for p in parameters])
    if out.dtype is BFLOAT16:
        trace.stop(HALF)
    else:
        out = new_array(out)
        trace.add("draw", here.__name__, here, (stream, out.size, *parameters), [out])
    if stream is DEFAULT:
        trace.drawn_until = state_bytes(DEFAULT)
    return out


def keep_state(stream: Stream, trace: Trace, name: str) -> Any:
    trace.states[name] = state_bytes(stream)
    return NOTHING


def restore_state(stream: Stream, trace: Trace, name: str) -> Any:
    set_state_bytes(stream, trace.states[name])
    return NOTHING


def traced_state_bytes(stream: Stream) -> bytes:
    """`Stream.state_bytes`, noted."""
    state = state_bytes(stream)
    if Active.here() and stream is DEFAULT and state not in Active.trace.known_states:
        trace = Active.trace
        trace.known_states[state] = name = f"state{len(trace.known_states)}"
        trace.add("state", "keep_state", keep_state, (stream, trace, name), [new_array(NOTHING)])
    return state


def traced_set_state_bytes(stream: Stream, state: bytes) -> None:
    """`Stream.set_state_bytes`, noted; a state that the step has not looked at is a break."""
    if Active.here():
        trace, name = Active.trace, Active.trace.known_states.get(state)
        if stream is DEFAULT and name is not None:
            end_of_draws(trace)
            trace.add("state", "restore_state", restore_state, (stream, trace, name), [new_array(NOTHING)])
        else:
            trace.stop("a random state is set that the step has not looked at")
        trace.drawn_until = state if stream is DEFAULT else trace.drawn_until
    set_state_bytes(stream, state)


def adopt(args: Any) -> None:
    for value in args:
        for each in value if isinstance(value, (tuple, list)) else (value,):
            if isinstance(each, Tensor) and each.array.dtype is not BFLOAT16:
                Active.trace.adopt(each)


def noting_op(forward: Any, cls: Any) -> Any:
    """An op that adopts its operands first, and is noted, with the node that it records."""
    def noted(*args: Any, **options: Any) -> Any:
        if not Active.here():
            return forward(*args, **options)
        calls = Active.trace.calls
        with calls.entered((args[0] if cls is None else cls).op):
            adopt(args)
            result = forward(*args, **options)
            for each in result if isinstance(result, (tuple, list)) else (result,):
                if isinstance(each, Tensor) and isinstance(each._current_grad_fn, Node):
                    calls.recorders.setdefault(each._current_grad_fn, calls.running)
        return result
    return noted


def noting_nodes(task: Any) -> None:
    """Let a backward pass note its nodes as they run."""
    if not Active.here():
        return
    evaluate, calls = task.evaluate, Active.trace.calls

    def evaluated(task: Any, buffer: Any) -> Any:
        with calls.entered(buffer.node.name(), buffer.node):
            return evaluate(task, buffer)

    task.evaluate = evaluated


def adopting_start_grads(roots: Any, grads: Any, batched: bool = False) -> list[Any]:
    """`engine.start_grads`, whose operands are adopted."""
    if Active.here():
        adopt((roots, grads))
    return start_grads(roots, grads, batched)


def breaking_bfloat16(trace: Trace, in_half: Any) -> Callable[[Any], Any]:
    """What makes an array of bfloat16 while a trace is made, which ends the program: it is computed, and not noted."""
    def made(value: Any) -> Any:
        trace.stop(HALF)
        return in_half(plain(value))
    return made


@contextmanager
def tracing(trace: Trace, slots: Sequence[Slot], tensors: Sequence[Tensor], options: Options) -> Iterator[None]:
    """A block in which tensors have traced arrays, and optimisers traced options; afterwards they have their own."""
    arrays = [(t, t.array) for t in {id(t): t for t in tensors}.values()]
    values = [(group, key, group[key]) for group, key in options.values()]
    changes: list[tuple[Any, str, Any]] = [
        (draws, "drawn", traced_draw), (BFLOAT16, "type", breaking_bfloat16(trace, BFLOAT16.type)),
        (engine, "start_grads", adopting_start_grads), (_api, "start_grads", adopting_start_grads),
        (Stream, "state_bytes", traced_state_bytes), (Stream, "set_state_bytes", traced_set_state_bytes),
        (forward_ad.STATE, "refused", NO_TANGENTS)]  # of this thread
    before = [(owner, name, getattr(owner, name)) for owner, name, _ in changes]
    trace.drawn_until = state_bytes(DEFAULT)
    backend: Any = TracingBackend()  # it has no graphs, events, statistics

    def leave() -> None:
        Active.thread = None
        for owner, name, value in before:
            setattr(owner, name, value)
        UNUSUAL.pass_wrappers = [each for each in UNUSUAL.pass_wrappers if each is not noting_nodes]
        OPS.wrap(noting_op, False)
        for t, array in arrays:
            if isinstance(t.array, TracedArray) and t.array.value is array:
                t.array = array
            else:
                trace.refuse("a tensor from outside is given other memory")
        for group, key, value in values:
            group[key] = restore_option(group[key], value, trace)

    with ensure(leave):
        Active.trace, Active.thread = trace, get_ident()
        for owner, name, value in changes:
            setattr(owner, name, value)
        UNUSUAL.pass_wrappers.append(noting_nodes)
        OPS.wrap(noting_op, True)
        for slot, t in zip(slots, tensors, strict=True):
            if not isinstance(t.array, TracedArray):  # a gradient may be known as a tensor, too
                t.array = trace.as_input(t.array, slot)
        for name, (group, key) in options.items():
            group[key] = traced_option(trace, name, group, key)
        with registry.serving(backend):
            yield
            end_of_draws(trace)


def traced_option(trace: Trace, name: str, group: dict[str, Any], key: str) -> Any:
    """An option of an optimiser, a float or some of them, as traced numbers."""
    value = group[key]
    if isinstance(value, tuple):
        return tuple([trace.scalar(v, f"{name}{k}", lambda tensors, k=k: group[key][k]) for k, v in enumerate(value)])
    return trace.scalar(value, name, lambda tensors: group[key])


def restore_option(now: Any, before: Any, trace: Trace) -> Any:
    """An option after a trace: what it was before, or what the step has made of it, which is a break."""
    if plain(now) == before:
        return before
    trace.refuse("the step changes an option of an optimiser")
    return plain(now)


def release_traced() -> list[Tensor]:
    """Give arrays of NumPy's to all tensors and nodes that still have traced ones; the tensors that were found."""
    found = []
    tensors, nodes = kinds_of(Tensor), kinds_of(Node) | {Packed}
    kinds = tensors | nodes  # to look a class up takes a tenth of `issubclass`, and a process has a million objects
    candidates: list[Any] = [each for each in gc.get_objects() if type(each) in kinds]
    for each in candidates:
        if type(each) in nodes:
            for slot in ("saved", "const", "output_info", "_input_info", "_output_info", "info"):
                if hasattr(each, slot):
                    setattr(each, slot, concrete_state(getattr(each, slot)))
        elif isinstance(getattr(each, "array", None), TracedArray):
            each.array = each.array.value
            found.append(each)
    return found


def concrete_state(value: Any) -> Any:
    """What a node keeps, with arrays of NumPy's, and the CPU where it names the device of traced ones."""
    if type(value) in (tuple, list):
        parts = [concrete_state(part) for part in value]
        return type(value)(parts) if any(a is not b for a, b in zip(parts, value)) else value
    traced_device = isinstance(value, registry.DeviceHandle) and value.backend.array_type is TracedArray
    return HOST if traced_device else plain(value)


def kinds_of(cls: type) -> set[type]:
    return {cls}.union(*map(kinds_of, type.__subclasses__(cls)))
