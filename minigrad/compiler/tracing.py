"""Runs a step once on traced arrays, and puts everything back."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from threading import get_ident
from typing import Any

import numpy as np

from minigrad._base.contexts import contextmanager, ensure
from minigrad._base.dtype import BFLOAT16
from minigrad._base.locks import new_lock
from minigrad.autograd import _api
from minigrad.backends import draws, registry
from minigrad.backends.random import DEFAULT, Stream
from minigrad.backends.registry import HOST
from minigrad.compiler.functions import TracingBackend
from minigrad.compiler.origin import AUTOGRAD
from minigrad.compiler.tracer import HALF, Active, Trace, Traced, fresh, plain
from minigrad.core import Node, Tensor, engine
from minigrad.core.engine import start_grads
from minigrad.core.grad_mode import UNUSUAL
from minigrad.core.saved import Packed
from minigrad.ops._dispatch.op_wrappers import wrap_ops

__all__ = ["TRACING", "random_state_kept", "released", "tracing"]

Options = dict[str, tuple[dict[str, Any], str]]
TRACING = new_lock()  # one step is traced at a time: the table of backends belongs to the process
drawn_eagerly, state_bytes, set_state_bytes = draws.drawn, Stream.state_bytes, Stream.set_state_bytes
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


def drawn(here: Any, there: Any, stream: Any, shape: Any, *parameters: Any) -> Any:
    """`minigrad.backends.draws.drawn`, noted: a statement that calls the real generator."""
    if type(stream) is not Stream or not Active.here():
        return drawn_eagerly(here, there, stream, shape, *parameters)
    trace = Active.trace
    if stream is DEFAULT:
        end_of_draws(trace)
    out = drawn_eagerly(here, there, stream, shape, *[plain(p) for p in parameters])
    if out.dtype is BFLOAT16:
        trace.stop(HALF)
    else:
        out = fresh(out)
        trace.add("draw", here.__name__, here, (stream, out.size, *parameters), [out])
    if stream is DEFAULT:
        trace.drawn_until = state_bytes(DEFAULT)
    return out


def keep_state(stream: Stream, states: dict[str, bytes], name: str) -> Any:
    """Keep the state of a stream under a name."""
    states[name] = state_bytes(stream)
    return NOTHING


def restore_state(stream: Stream, states: dict[str, bytes], name: str) -> Any:
    """Go back to a state that was kept."""
    set_state_bytes(stream, states[name])
    return NOTHING


def state_noted(stream: Stream) -> bytes:
    """`Stream.state_bytes`, noted."""
    state = state_bytes(stream)
    if Active.here() and stream is DEFAULT and state not in Active.trace.known_states:
        trace = Active.trace
        trace.known_states[state] = name = f"state{len(trace.known_states)}"
        trace.add("state", "keep_state", keep_state, (stream, trace.states, name), [fresh(NOTHING)])
    return state


def state_set(stream: Stream, state: bytes) -> None:
    """`Stream.set_state_bytes`, noted; a state that the step has not looked at is a break."""
    if Active.here():
        trace = Active.trace
        if stream is DEFAULT and state in trace.known_states:
            end_of_draws(trace)
            name = trace.known_states[state]
            trace.add("state", "restore_state", restore_state, (stream, trace.states, name), [fresh(NOTHING)])
        else:
            trace.stop("a random state is set that the step has not looked at")
        if stream is DEFAULT:
            trace.drawn_until = state
    set_state_bytes(stream, state)


def adopt(args: Any) -> None:
    """Give operands traced arrays: `zeros` and its kind make arrays of NumPy's on the CPU."""
    for value in args:
        for each in value if isinstance(value, (tuple, list)) else (value,):
            if isinstance(each, Tensor) and not isinstance(each.array, Traced) and each.array.dtype is not BFLOAT16:
                each.array = Active.trace.outside(np.asarray(each.array))


def noting(forward: Any, cls: Any) -> Any:
    """An op that adopts its operands first, and is noted, with the node that it records."""
    def noted(*args: Any, **options: Any) -> Any:
        if not Active.here():
            return forward(*args, **options)
        calls = Active.trace.calls
        before = calls.enter((args[0] if cls is None else cls).op)
        try:
            adopt(args)
            result = forward(*args, **options)
            for each in result if isinstance(result, (tuple, list)) else (result,):
                if isinstance(each, Tensor) and isinstance(each._current_grad_fn, Node):
                    calls.recorders.setdefault(each._current_grad_fn, calls.running)
        finally:
            calls.running = before
        return result
    return noted


def noting_nodes(task: Any) -> None:
    """Let a backward pass note its nodes as they run."""
    if not Active.here():
        return
    evaluate, calls = task.evaluate, Active.trace.calls

    def evaluated(task: Any, buffer: Any) -> Any:
        before = calls.enter(buffer.node.name().removeprefix(AUTOGRAD), buffer.node)
        try:
            return evaluate(task, buffer)
        finally:
            calls.running = before

    task.evaluate = evaluated


def adopting_start(roots: Any, grads: Any, batched: bool = False) -> list[Any]:
    """`engine.start_grads`, whose operands are adopted."""
    if Active.here():
        adopt((roots, grads))
    return start_grads(roots, grads, batched)


def stopping(trace: Trace, in_half: Any) -> Callable[[Any], Any]:
    """What makes an array of bfloat16 while a trace is made, which ends the program: it is computed, and not noted."""
    def made(value: Any) -> Any:
        trace.stop(HALF)
        return in_half(plain(value))
    return made


@contextmanager
def tracing(trace: Trace, named: list[tuple[str, Tensor]], options: Options) -> Iterator[None]:
    """A block in which tensors have traced arrays, and optimisers traced options; afterwards they have their own."""
    arrays = [(t, t.array) for t in {id(t): t for _, t in named}.values()]
    values = [(group, key, group[key]) for group, key in options.values()]
    changes: list[tuple[Any, str, Any]] = [
        (draws, "drawn", drawn), (BFLOAT16, "type", stopping(trace, BFLOAT16.type)),
        (engine, "start_grads", adopting_start), (_api, "start_grads", adopting_start),
        (Stream, "state_bytes", state_noted), (Stream, "set_state_bytes", state_set)]
    before = [(owner, name, getattr(owner, name)) for owner, name, _ in changes]
    trace.drawn_until = state_bytes(DEFAULT)
    backend: Any = TracingBackend()  # it has no graphs, events, statistics

    def leave() -> None:
        Active.thread = None
        for owner, name, value in before:
            setattr(owner, name, value)
        UNUSUAL.pass_wrappers = [each for each in UNUSUAL.pass_wrappers if each is not noting_nodes]
        wrap_ops(noting, False)
        put_back(arrays, trace)
        for group, key, value in values:
            group[key] = restored(group[key], value, trace)

    with ensure(leave):
        Active.trace, Active.thread = trace, get_ident()
        for owner, name, value in changes:
            setattr(owner, name, value)
        UNUSUAL.pass_wrappers.append(noting_nodes)
        wrap_ops(noting, True)
        for number, (name, t) in enumerate(named):
            if not isinstance(t.array, Traced):  # a gradient may be known as a tensor, too
                t.array = trace.as_input(t.array, name, number)
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


def put_back(arrays: list[tuple[Tensor, Any]], trace: Trace) -> None:
    """Give tensors the arrays that they had; other memory than they had is a break."""
    for t, array in arrays:
        if isinstance(t.array, Traced) and t.array.value is array:
            t.array = array
        else:
            trace.refuse("a tensor from outside is given other memory")


def restored(now: Any, before: Any, trace: Trace) -> Any:
    """An option after a trace: what it was before, or what the step has made of it, which is a break."""
    if plain(now) == before:
        return before
    trace.refuse("the step changes an option of an optimiser")
    return plain(now)


def released() -> list[Tensor]:
    """Give arrays of NumPy's to all tensors and nodes that still have traced ones; the tensors that were found."""
    found = []
    tensors, nodes = kinds_of(Tensor), kinds_of(Node) | {Packed}
    kinds = tensors | nodes  # to look a class up takes a tenth of `issubclass`, and a process has a million objects
    candidates: list[Any] = [each for each in gc.get_objects() if type(each) in kinds]
    for each in candidates:
        if type(each) in tensors:
            if isinstance(getattr(each, "array", None), Traced):
                each.array = each.array.value
                found.append(each)
        else:
            for slot in ("saved", "const", "output_info", "_input_info", "_output_info", "info"):
                if hasattr(each, slot):
                    setattr(each, slot, untraced(getattr(each, slot)))
    return found


def untraced(value: Any) -> Any:
    """What a node keeps, with arrays of NumPy's, and the CPU where it names the device of traced ones."""
    if type(value) in (tuple, list):
        parts = [untraced(part) for part in value]
        return type(value)(parts) if any(a is not b for a, b in zip(parts, value)) else value
    return HOST if isinstance(value, registry.DeviceHandle) and value.backend.array_type is Traced else plain(value)


def kinds_of(cls: type) -> set[type]:
    """A class and all classes that come from it."""
    return {cls}.union(*map(kinds_of, type.__subclasses__(cls)))
