"""From a program to its inspector in one line: `inspect(loss)`, `inspect(fn, *args)`.

Nothing is recorded here: minigrad's recorder listens to minigrad, the PyTorch reader to PyTorch, and both make the same
kind of trace. What is inspected decides which one is used.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from inspect import signature
from typing import Any, Protocol, overload, runtime_checkable

from minigrad.recorder import Trace, record
from minigrad_widgets.doctor.library import (
    READER,
    check_call,
    is_module,
    is_tensor,
    library_of,
    surroundings,
    uses_torch,
)
from minigrad_widgets.inspector.inspector import LENSES, Inspector
from minigrad_widgets.inspector.results import LOSS_FN, root_of
from minigrad_widgets.lenses.compiled_step import CompiledStep
from minigrad_widgets.lenses.rank_lanes import RankLanes

KEPT = "this pass kept the graph, for one of your own, so saved tensors are still held after it"

__all__ = ["LENSES", "Inspector", "inspect", "recorded", "recorder", "uses_torch"]


@runtime_checkable
class Inspected(Protocol):
    """An object that returns a record of itself to be shown, as a compiled step does."""

    def inspection(self) -> dict[str, Any]: ...


@overload
def inspect(what: list[Trace]) -> RankLanes: ...


@overload
def inspect(what: Inspected) -> CompiledStep: ...


@overload
def inspect(what: Any, *args: Any, target: Any = None, loss_fn: Callable[..., Any] | None = None,
            detail: str = "values", **kwargs: Any) -> Inspector: ...


def inspect(what: Any, *args: Any, target: Any = None, loss_fn: Callable[..., Any] | None = None,
            detail: str = "values", **kwargs: Any) -> Inspector | RankLanes | CompiledStep:
    """Show the inspector of a graph, of a call, of what several ranks did together, or of a compiled step.

    inspect(loss)       # the graph behind a tensor: its backward pass, and its nodes to call by hand
    inspect(fn, x, y)   # what fn(x, y) does, and the backward pass of the tensor that it returns
    inspect(x.mean, 0)  # anything that can be called: a method, a partial, a built-in or scripted function, a module
    inspect(model, batch, target=labels, loss_fn=cross_entropy)   # one training step, without its update
    inspect([trace0, trace1])   # recordings of several ranks on one time axis
    inspect(compiled)   # what minigrad.compile returned: its lines, the eager ops, and the program after each pass

    If the call returns several tensors, in a dict, a dataclass or any tree, the backward pass is that of the one called
    `loss`, else of the only one with a graph, else of the only scalar with a graph. If there is no such tensor, no pass
    is run: the inspector opens at the end of the forward pass. A banner then lists what could be meant; it also says
    so if the tensor is no loss.

    With `loss_fn` the backward pass is that of `loss_fn(output, target)`, or of `loss_fn(output)` if no target is
    given. A `target` without a `loss_fn` is an argument of the call.

    `detail` says how much of a PyTorch model is kept, and so what the recording costs: "values", "ops"
    (only shape and dtype of large tensors) or "modules" (only values of scalars, no arithmetic). "arrays" also keeps
    all values in memory, for `inspector.recording["h.0"].output.numpy()` (docs/ask_by_name.md).

    The backward pass is run for the inspector: hooks run, `retain_grad` takes effect, and afterwards every leaf has the
    `.grad` that it had before. It lets go of saved tensors, as yours does, if the call made the whole graph; a graph
    that was there before is kept for a pass of your own, which a note says. A tensor of several numbers gets a gradient
    of ones. For a graph that was not recorded while it was made, the forward pass is unknown, and the inspector says
    so.

    If a module of the model raises, what ran until then is shown, at its end, and a note names the module and the
    shapes that met in it. An error that was raised outside modules is the caller's.

    Raises:
        TypeError: if it is neither a tensor nor something to call, nor a list of traces, or is a generator function.
        ValueError: if it is a tensor without a graph, if traces have no ranks or times, if there is no such detail, or
            if it is "ops" or "modules" for minigrad.
        RuntimeError: if it is a compiled step that has no program.
    """
    names = sys._getframe(1).f_locals
    if isinstance(what, list) and what and all(isinstance(each, Trace) for each in what):
        return RankLanes(what)
    if isinstance(what, Inspected) and not args and not kwargs:
        return CompiledStep(what.inspection())
    if is_tensor(what):
        if not what.requires_grad:
            raise ValueError("there is no graph behind this tensor: it does not require grad")
        if args or kwargs or target is not None or loss_fn is not None:
            raise TypeError("inspect(tensor) takes nothing else; inspect(fn, *args) calls a function")
        trace = recorded(lambda: what, names, uses_torch([what]), what, detail, "Inspect the loss itself")
    elif callable(what):
        if target is not None and loss_fn is None:
            kwargs["target"] = target
        check_call(what, "inspect")
        used = library_of([what, *args, *kwargs.values(), *surroundings(what).values()]).name == "torch"

        def step() -> Any:
            output = what(*args, **kwargs)
            if loss_fn is None:
                return output
            return loss_fn(output) if target is None else loss_fn(output, target)

        trace = recorded(step, names, used, detail=detail, remedy=remedy(what, kwargs))
    else:
        hint = (": give it the loss in it, or, if it is a batch, inspect(model, **batch)" if isinstance(what, Mapping)
                else ": give it one of the tensors in it" if isinstance(what, (list, tuple)) else "")
        raise TypeError(f"inspect takes a tensor or a function, not {type(what).__name__}{hint}")
    at = len(trace) - 1 if trace.failed() else None
    if any(event["kind"] in ("backward_start", "error") for event in trace.events):
        return Inspector(trace, step=at, model=is_module(what))
    last = max(0, len(trace) - 1)  # the whole forward pass
    return Inspector(trace, lens="forward", step=last, model=is_module(what))


def remedy(what: Any, given: Mapping[str, Any]) -> str:
    """Return how to give a call a loss: by `labels` where it takes them, as models of transformers do."""
    try:
        labels = "labels" in signature(getattr(what, "forward", what)).parameters and "labels" not in given
    except (TypeError, ValueError):  # a built-in function may have no signature
        labels = False
    return "For a training step give labels=" if labels else LOSS_FN


def recorded(make: Callable[[], Any], names: Mapping[str, Any], torch: bool, known: Any = None,
             detail: str = "values", remedy: str = LOSS_FN) -> Trace:
    """Return the trace of what `make` does and of the backward pass of the tensor that it returns, or the `known` one.

    A pass that fails ends the trace with its error: if saved tensors of the graph are gone, its nodes are still shown.
    So does a module that raises: the first note then says which one it was, and what it was given.
    """
    recording: Any = recorder(names, torch, detail)
    trace: Trace
    failed: RuntimeError | None = None
    keep = False
    before, newest = 0, newest_node(torch)
    with ExitStack() as stack:  # no recorder sees that leaves get back what they had
        if known is not None:
            stack.enter_context(kept_grads(known))
        try:
            with recording as trace:
                root = root_of(make(), trace.notes, remedy)
                if root is not None:
                    if known is None:
                        stack.enter_context(kept_grads(root))
                    before = len(trace.events)
                    keep = known is not None or was_there(root, newest)
                    failed = backward(root, keep)
        except Exception:
            call = trace.failed()
            if call is None or call.error is None:
                raise
            trace.notes.insert(0, {"text": call.error, "where": f"in {call.label}", "count": 1})
            return trace
    own = next((event for event in trace.events[before:] if event["kind"] == "backward_start"), None)
    if own is not None:
        own["retain_graph"] = False  # the program did not ask for it
    if keep and failed is None and any(node["saved"] for node in trace.nodes):
        trace.notes.append({"text": KEPT, "where": "by inspect", "count": 1})
    if failed is not None and (not trace.events or trace.events[-1]["kind"] != "error"):  # no pass had begun
        raise failed
    return trace


def backward(root: Any, keep: bool) -> RuntimeError | None:
    """Run the backward pass of a tensor, with a gradient of ones; return its error, if any."""
    try:
        root.backward(root.new_ones(root.shape), retain_graph=keep)
    except RuntimeError as error:
        return error
    return None


def newest_node(torch: bool) -> float:
    """Return the sequence number of a node that is made now, or infinity where none can be made."""
    package = sys.modules["torch" if torch else "minigrad"]
    with package.enable_grad():
        node = package.zeros((), requires_grad=True).clone().grad_fn
    return float("inf") if node is None else node._sequence_nr()


def was_there(root: Any, newest: float) -> bool:
    """Return whether a graph has nodes, those of leaves aside, that are not newer than this one."""
    return any(node._sequence_nr() <= newest for node in nodes_of(root) if not hasattr(node, "variable"))


def recorder(names: Mapping[str, Any], torch: bool, detail: str = "values") -> Any:
    """Return minigrad's recorder, or the reader of PyTorch's graphs."""
    if torch:
        return importlib.import_module(READER).record(names=names, times=True, detail=detail)
    if detail not in record.DETAILS:
        raise ValueError(f"minigrad's recordings have all detail: detail={detail!r} is for a PyTorch model")
    return record(names=names, times=True, detail=detail)


@contextmanager
def kept_grads(root: Any) -> Iterator[None]:
    """A block in which the `.grad` of all leaves of a graph is None; restored afterwards."""
    leaves = list(leaves_of(root))
    grads = [leaf.grad for leaf in leaves]
    for leaf in leaves:
        leaf.grad = None
    try:
        yield
    finally:
        for leaf, grad in zip(leaves, grads, strict=True):
            leaf.grad = grad


def leaves_of(root: Any) -> Iterable[Any]:
    """Return the leaves that a backward pass leads to."""
    if root.grad_fn is None:
        return [root]
    return [node.variable for node in nodes_of(root) if hasattr(node, "variable")]


def nodes_of(root: Any) -> Iterator[Any]:
    """Yield the nodes of a graph, found along `next_functions`."""
    waiting = [] if root.grad_fn is None else [root.grad_fn]
    known = set(waiting)
    while waiting:
        node = waiting.pop()
        yield node
        fresh = {target for target, _ in node.next_functions if target is not None} - known
        known |= fresh
        waiting += fresh
