"""The observer: what the core calls while a recorder is on, one method for each thing that happens.

It mirrors nothing in PyTorch. Read it to see what there is to be told of an op and of a backward pass: each method
turns what the core hands it into one event of docs/trace.md. While no recorder is on, nothing here runs. A *target* is
a node, or a leaf that stands for its AccumulateGrad; a *gradient* is an array, a tensor (in a recorded pass) or None.
"""

from __future__ import annotations

import functools
import gc
import inspect
import re
import sys
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from minigrad._trace.ledger import GRADIENT, Storage
from minigrad.autograd.grad_mode import LOCAL, UNUSUAL, switch
from minigrad.autograd.graph import Node
from minigrad.autograd.observed import CONSTANTS, NOWHERE, Graph
from minigrad.recorder import Builder, register_observer

__all__ = ["CONSTANTS", "Observer"]

MORE_CONTAINERS = 10  # lists and dicts per op that recording adds, over those of the op itself


class Observer:
    """Writes what the core tells it into a trace."""

    def __init__(self, builder: Builder) -> None:
        self.builder, self.trace, self.events = builder, builder.trace, builder.trace.events
        self.graph = Graph(builder)
        self.ledger = self.graph.ledger
        self.passes: list[tuple[int | None, int | None]] = []  # the user's line of each pass that is running
        self.pending: dict[tuple[int, int], Storage] = {}
        self.bytes = [0, 0, 0, 0]
        self.told: BaseException | None = None
        self.trace.library = library()

    def start(self) -> None:
        """Begin to listen to this thread.

        Raises:
            RuntimeError: if an observer does already.
        """
        if LOCAL.observer is not None:
            raise RuntimeError("a recorder is on already in this thread: record() cannot be used inside record()")
        LOCAL.observer = self
        UNUSUAL.add(1)
        # a trace makes many more containers than the program does; with a threshold that is as much higher, garbage
        # collections come about as often as they do without a recorder
        self.threshold = gc.get_threshold()
        gc.set_threshold(self.threshold[0] * MORE_CONTAINERS, *self.threshold[1:])

    def stop(self, error: BaseException | None, names: Mapping[str, Any]) -> None:
        """Stop listening, and finish the trace: names of tensors, formulas of nodes."""
        if LOCAL.observer is self:
            LOCAL.observer = None
            UNUSUAL.add(-1)
            gc.set_threshold(*self.threshold)
        if error is not None and error is not self.told:
            self.passes.clear()
            self.error(error)
        self.told = None
        self.name_tensors(names)
        for cls, name in self.graph.names.items():
            source = formula(cls)
            if source is not None:
                self.trace.formulas[name] = source
        self.graph.forget()

    def emit(self, event: Any, depth: int) -> None:
        """Add an event, with its place, its depth and the bytes that have changed."""
        if event["file"] is None:
            del event["file"], event["line"]
        if depth > 0:
            event["depth"] = depth
        if self.ledger.changed:
            self.ledger.changed = False
            if self.bytes != self.ledger.totals:
                self.bytes = event["bytes"] = self.ledger.totals.copy()
        self.events.append(event)

    def tell(self, kind: str, depth: int, **fields: Any) -> None:
        """Add an event of a rare kind."""
        file, line = self.graph.at
        self.emit({"kind": kind, **fields, "file": file, "line": line}, depth)

    def look(self) -> None:
        """Find the line of the user's code that called the core."""
        self.graph.at = self.builder.where(2) or NOWHERE

    def preview(self, gradient: Any) -> int | None:
        """The value of a gradient."""
        return None if gradient is None else self.builder.value(getattr(gradient, "array", gradient))

    def previews(self, gradients: Iterable[Any]) -> list[int | None]:
        """The values of several gradients."""
        return [self.preview(g) for g in gradients]

    # ops
    def forward(self, op: str, node: Node | None, inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
        """An op ran; `node` is None if it was not recorded."""
        graph, depth, op = self.graph, len(self.passes), op_name(op)
        outer = graph.at
        file, line = graph.at = self.builder.where(2) or NOWHERE
        given = [graph.tensor(t) for t in inputs]
        if node is None:
            index, made = None, [graph.tensor(t) for t in outputs]
        else:
            index, made = graph.forward(node, given, outputs)
        self.emit({"kind": "forward", "op": op, "node": index, "inputs": given, "outputs": made, "file": file,
                   "line": line}, depth)
        if index is not None and node is not None and node.saved and graph.save(node, index, outputs):
            self.emit({"kind": "save", "node": index, "file": file, "line": line}, depth)
        graph.at = outer

    def version(self, tensor: Any) -> None:
        """An in-place op raised the version of a tensor."""
        outer = self.graph.at
        self.look()
        index = self.graph.changed(tensor)
        self.tell("version", len(self.passes), tensor=index, version=tensor._version)
        self.graph.at = outer

    def mode(self, name: str, on: bool) -> None:
        """A grad mode was switched; only what the user's code switched is told, not what the library does inside."""
        frame = sys._getframe(1)
        while frame.f_back is not None and frame.f_code.co_filename == switch.__code__.co_filename:
            frame = frame.f_back
        if self.builder.file(frame.f_code.co_filename) < 0:
            return
        outer = self.graph.at
        self.look()
        self.tell("mode", len(self.passes), mode=name, on=on)
        self.graph.at = outer

    # a backward pass
    def backward_start(self, roots: Sequence[tuple[Any, int, Any]], needs: Mapping[Any, int], create_graph: bool,
                       retain_graph: bool, inputs: Sequence[Any] | None) -> None:
        """A pass begins: its roots and their gradients, and how many gradients each target will receive."""
        self.look()
        graph = self.graph
        self.passes.append(graph.at)
        starts = []
        for target, output_nr, gradient in roots:
            starts.append([graph.node(target), output_nr, self.preview(gradient)])
            self.pile(starts[-1][0], output_nr, gradient)
        counts = [[graph.node(target), count] for target, count in needs.items()]
        self.tell("backward_start", len(self.passes) - 1, roots=starts, needs=counts, create_graph=bool(create_graph),
                  retain_graph=bool(retain_graph), inputs=None if inputs is None else [graph.tensor(t) for t in inputs])

    def pile(self, target: int, output_nr: int, total: Any) -> None:
        """The memory of what has piled up at a target counts as gradient until it runs."""
        before = self.pending.pop((target, output_nr), None)
        if total is not None:
            self.pending[target, output_nr] = self.ledger.hold(getattr(total, "array", total), GRADIENT)
        if before is not None:
            self.ledger.drop(before, GRADIENT)

    def ready(self, target: Any) -> None:
        """The last gradient of a target has arrived."""
        graph = self.graph
        file, line = graph.at
        self.emit({"kind": "ready", "node": graph.node(target), "file": file, "line": line},
                  len(self.passes) - 1)

    def run(self, target: Any, gradients: Sequence[Any]) -> None:
        """The engine took a target from the queue, with one gradient per output."""
        graph = self.graph
        file, line = graph.at
        index = graph.node(target)
        for output_nr in range(len(gradients)):
            before = self.pending.pop((index, output_nr), None)
            if before is not None:
                self.ledger.drop(before, GRADIENT)
        self.emit({"kind": "run", "node": index, "gradient": [self.preview(g) for g in gradients], "file": file,
                   "line": line}, len(self.passes) - 1)

    def hook(self, target: Any, kind: str, fn: Callable[..., Any] | None, gradients: Sequence[Any],
             tensor: Any = None) -> None:
        """A hook ran and left these gradients."""
        graph, fields = self.graph, {}
        if kind == "retain_grad" and tensor is not None:
            fields["grad"] = self.preview(tensor._grad)
            graph.meet_grad(tensor._grad)
        self.tell("hook", len(self.passes) - 1, node=graph.node(target), hook=kind,
                  name="" if fn is None else getattr(fn, "__name__", type(fn).__name__),
                  gradient=self.previews(gradients), tensor=None if tensor is None else graph.tensor(tensor), **fields)

    def release(self, node: Node) -> None:
        """A node let go of what it had saved."""
        graph = self.graph
        file, line = graph.at
        index = graph.node_ids[id(node)]
        if graph.let_go(index):
            self.emit({"kind": "release", "node": index, "file": file, "line": line}, len(self.passes) - 1)

    def flow(self, node: Node, index: int, target: Any, output_nr: int, gradient: Any, total: Any) -> None:
        """A gradient goes along an edge; `total` is what has piled up there for that output."""
        ids = self.graph.node_ids
        file, line = self.graph.at
        to = ids.get(id(target))
        if to is None:
            to = self.graph.node(target)
        given = self.preview(gradient)
        self.pile(to, output_nr, total)
        self.emit({"kind": "flow", "node": ids[id(node)], "index": index, "to": to, "output_nr": output_nr,
                   "gradient": given, "sum": given if total is gradient else self.preview(total), "file": file,
                   "line": line}, len(self.passes) - 1)

    def accumulate(self, leaf: Any, gradient: Any) -> None:
        """A gradient was added to a leaf's `.grad`."""
        graph = self.graph
        graph.meet_grad(leaf._grad)
        self.tell("accumulate", len(self.passes) - 1, node=graph.node(leaf), tensor=graph.tensor(leaf),
                  gradient=self.preview(gradient), grad=self.preview(leaf._grad))

    def capture(self, tensor: Any, gradient: Any) -> None:
        """`autograd.grad` kept the gradient of one of its inputs."""
        self.tell("capture", len(self.passes) - 1, tensor=self.graph.tensor(tensor), gradient=self.preview(gradient))

    def backward_end(self) -> None:
        """The pass is over."""
        self.tell("backward_end", len(self.passes) - 1)
        self.leave()

    def leave(self) -> None:
        """Go back to the pass outside of this one, or to none."""
        if self.passes:
            self.passes.pop()
        self.graph.at = self.passes[-1] if self.passes else NOWHERE
        if not self.passes:
            for storage in self.pending.values():
                self.ledger.drop(storage, GRADIENT)
            self.pending.clear()

    # by hand, and gone wrong
    def call(self, target: Any, gradients: Sequence[Any], results: Sequence[Any]) -> None:
        """Somebody called a target by hand."""
        outer, depth = self.graph.at, len(self.passes)
        self.look()
        index = self.graph.node(target)
        self.tell("call", depth, node=index, gradient=self.previews(gradients), result=self.previews(results))
        if not isinstance(target, Node) and target._grad is not None:
            self.graph.meet_grad(target._grad)
            self.tell("accumulate", depth, node=index, tensor=self.graph.tensor(target),
                      gradient=self.preview(gradients[0]), grad=self.preview(target._grad))
        self.graph.at = outer

    def error(self, error: BaseException) -> None:
        """A pass, or the recorded block, ended in an exception."""
        self.tell("error", len(self.passes) - 1, type=type(error).__name__, message=str(error))
        self.told = error
        self.leave()

    def name_tensors(self, names: Mapping[str, Any]) -> None:
        """Name the tensors by the variables that hold them, parameters by their modules."""
        tensors = self.trace.tensors
        owners = []
        for name, value in list(names.items()):
            if name.startswith("_"):
                continue
            index = self.graph.known(value)
            if index is not None:
                tensors[index]["name"] = tensors[index]["name"] or name
            elif callable(getattr(value, "named_parameters", None)) and not isinstance(value, type):
                owners.append((name, value))
        for name, owner in owners:
            for path, parameter in owner.named_parameters():
                index = self.graph.known(parameter)
                if index is not None:
                    tensors[index]["name"] = tensors[index]["name"] or f"{name}.{path}"
                    tensors[index]["parameter"] = True


@functools.cache
def op_name(name: str) -> str:
    """The name of an op as its function has it: `log_softmax` for LogSoftmax."""
    return re.sub("(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


@functools.lru_cache(256)
def formula(cls: type) -> str | None:
    """The source text of a node's derivative, if there is any."""
    owner = getattr(cls, "_forward_cls", None) or cls
    try:
        return textwrap.dedent(inspect.getsource(owner.backward)).rstrip()
    except (AttributeError, OSError, TypeError):  # no Python source: typed into a console, or not written in Python
        return None


def library() -> str:
    """Who records."""
    return f"minigrad {getattr(sys.modules['minigrad'], '__version__', '')}".strip()


register_observer(Observer)
