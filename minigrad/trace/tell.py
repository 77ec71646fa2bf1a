"""From the observer's log to the trace: what was taken down while the program ran becomes plain data.

While a program is recorded only what would be gone later is taken down: ids, sizes, copies of small arrays, one tuple
for each thing that happened. All that can wait waits until somebody looks at the trace: previews, byte counts, records
and events are made here. So a recorder disturbs the program that it watches as little as it can.
"""

from __future__ import annotations

import ast
import functools
import gc
import inspect
import textwrap
from collections.abc import Callable, Sequence
from typing import Any

from minigrad.trace.build import Builder
from minigrad.trace.ledger import ACTIVATION, GRADIENT, PARAMETER, SAVED, WAITING, Ledger, Storage

__all__ = ["SAME", "Teller"]

SAME = "same"  # in place of a copy: the value that is known already
Place = tuple[int | None, int | None]
Hold = tuple[int, int]  # the id() of a storage's owner, and its bytes


class Teller:
    """Turns a log into a trace. Each method tells one kind of entry; `tell` tells all that are new."""

    def __init__(self, builder: Builder, log: list[tuple[Any, ...]]) -> None:
        self.builder, self.log, self.parts = builder, log, builder.parts
        self.ledger = Ledger()
        self.parts.storages = self.ledger.sizes
        self.storages: list[tuple[Storage, int]] = []  # of each tensor, with the kind under which it holds it
        self.grads: dict[int, tuple[Storage, int | None]] = {}  # of a .grad, with the tensor whose it is
        self.holds: dict[int, list[Storage]] = {}  # by node: what it has saved
        self.kept: dict[int, list[Storage]] = {}  # what else is held for a pass: by checkpoints
        self.pending: dict[tuple[int, int], Storage] = {}
        self.bytes = [0, 0, 0, 0]
        self.forwarded: dict[str, Any] = {}  # the event of the last op that made a node
        self.nodes: list[int | None] = []  # of each tensor, its node now
        self.scope: int | None = None  # the call of a module that is running

    def tell(self) -> None:
        """Tell what has been logged since the last time."""
        entries = self.log[:]
        if not entries:
            return
        del self.log[:len(entries)]
        was_on = gc.isenabled()
        gc.disable()  # what is made here stays, and has no cycles: collections would walk over it for nothing
        try:
            for kind, *fields in entries:
                ENTRIES[kind](self, *fields)
        finally:
            if was_on:
                gc.enable()

    def value(self, copy: Any) -> int | None:
        """The preview of what was copied: an array, statistics, or None."""
        return None if copy is None else self.builder.value(copy)

    def emit(self, kind: str, at: Place, depth: int, /, **fields: Any) -> None:
        """Add an event, with the bytes if they have changed."""
        event = {"kind": kind, **fields}
        if at[0] is not None:
            event["file"], event["line"] = at
        if depth > 0:
            event["depth"] = depth
        if self.bytes != self.ledger.totals:
            self.bytes = event["bytes"] = self.ledger.totals.copy()
        if self.ledger.changed:
            for name, by in (("held", 1), ("dropped", -1)):
                found = [list(holder) for holder, change in self.ledger.changed.items() if change == by]
                if found:
                    event[name] = found
            self.ledger.changed.clear()
        self.parts.events.append(event)

    # tensors
    def tensor(self, requires_grad: bool, node: int | None, output_nr: int, parameter: bool, key: int, size: int,
               nbytes: int, copy: Any) -> None:
        kind = PARAMETER if parameter else ACTIVATION
        storage = self.ledger.hold(key, size, kind, len(self.storages))
        self.storages.append((storage, kind))
        self.nodes.append(node)
        index = self.builder.value(copy)
        value = self.parts.values[index]
        self.parts.tensors.append({
            "name": None, "shape": value["shape"], "dtype": value["dtype"], "requires_grad": requires_grad,
            "is_leaf": node is None, "node": node, "output_nr": output_nr, "parameter": parameter,
            "storage": storage.number, "bytes": nbytes, "value": index})

    def moved(self, tensor: int, key: int, size: int) -> None:
        """A tensor has another array. Who saved the tensor has it too, unless other tensors share the old memory."""
        storage, kind = self.storages[tensor]
        if storage.holders[PARAMETER] + storage.holders[ACTIVATION] == 1 and key not in self.ledger.live:
            self.ledger.move(storage, key, size)
            return
        self.ledger.drop(storage, kind, tensor)
        self.storages[tensor] = self.ledger.hold(key, size, kind, tensor), kind

    def shares(self, tensor: int, facts: dict[str, Any]) -> None:
        """What is to be told of a tensor that does not have a memory and a version counter of its own, from 0 on."""
        self.parts.tensors[tensor].update(facts)

    def gone(self, tensor: int) -> None:
        self.ledger.drop(*self.storages[tensor], tensor)

    def grad(self, number: int, key: int, size: int, tensor: int | None = None) -> None:
        self.grad_gone(number)
        self.grads[number] = self.ledger.hold(key, size, GRADIENT, tensor), tensor

    def grad_gone(self, number: int) -> None:
        storage, tensor = self.grads.pop(number, (None, None))
        self.ledger.drop(storage, GRADIENT, tensor)

    def name(self, tensor: int, name: str, parameter: bool) -> None:
        record = self.parts.tensors[tensor]
        record["name"] = record["name"] or name
        record["parameter"] = record["parameter"] or parameter

    # nodes
    def node(self, name: str, sequence_nr: int | None, at: Place) -> None:
        self.parts.nodes.append({"name": name, "sequence_nr": sequence_nr, "next": [], "inputs": [], "outputs": [],
                                 "saved": [], "file": at[0], "line": at[1]})
        if self.scope is not None:
            self.parts.nodes[-1]["scope"] = self.scope

    def module_begin(self, name: str | None, module: str) -> None:
        self.parts.scopes.append({"name": name, "module": module, "parent": self.scope})
        self.scope = len(self.parts.scopes) - 1

    def module_end(self) -> None:
        if self.scope is not None:
            self.scope = self.parts.scopes[self.scope]["parent"]

    def scope_name(self, scope: int, name: str) -> None:
        self.parts.scopes[scope]["name"] = self.parts.scopes[scope]["name"] or name

    def leaf(self, tensor: int, at: Place) -> None:
        self.node("AccumulateGrad", None, at)
        self.parts.nodes[-1]["variable"] = tensor

    def link(self, node: int, targets: Sequence[int | None], output_nrs: Sequence[int] | None) -> None:
        record = self.parts.nodes[node]
        output_nrs = output_nrs or (0,) * len(targets)
        record["next"] = [None if t is None else [t, nr] for t, nr in zip(targets, output_nrs, strict=True)]
        record["inputs"] = [None if t is None else self.parts.nodes[t].get("variable") for t in targets]

    def saved(self, node: int, rows: Sequence[tuple[str, int | None, Any]], holds: Sequence[Hold]) -> None:
        self.parts.nodes[node]["saved"] = [
            [name, tensor, self.parts.tensors[tensor]["value"] if copy is SAME and tensor is not None
             else self.value(copy)] for name, tensor, copy in rows]
        before = self.holds.pop(node, ())  # known already if a pack hook has replaced it since
        known = [self.storages[tensor][0] for _, tensor, _ in rows if tensor is not None]
        self.holds[node] = [self.ledger.hold(*hold, SAVED, node)
                            for hold in (*[(storage.key, storage.size) for storage in known], *holds)]
        for storage in before:
            self.ledger.drop(storage, SAVED, node)

    def let_go(self, node: int) -> None:
        for storage in self.holds.pop(node, ()):
            self.ledger.drop(storage, SAVED, node)

    def keep(self, number: int, holds: Sequence[Hold]) -> None:
        self.kept[number] = [self.ledger.hold(*hold, SAVED) for hold in holds]

    def unkeep(self, number: int) -> None:
        for storage in self.kept.pop(number, ()):
            self.ledger.drop(storage, SAVED)

    def formula(self, name: str, cls: type) -> None:
        source = formula(cls)
        if source is not None:
            self.parts.formulas[name] = source

    # events
    def record(self, at: Place, depth: int, op: str, index: int, name: str, sequence_nr: int,
               targets: Sequence[int | None], output_nrs: Sequence[int] | None, inputs: Sequence[int | None],
               outputs: Sequence[int], saved: tuple[Any, Any] | None) -> None:
        """An op ran, and made a node."""
        if index == len(self.parts.nodes):
            self.node(name, sequence_nr, at)
        self.link(index, targets, output_nrs)
        inputs, outputs = list(inputs), list(outputs)
        self.parts.nodes[index].update(inputs=inputs, outputs=outputs)
        others = [[tensor, self.nodes[tensor], index] for tensor in outputs if self.nodes[tensor] != index]
        self.emit("forward", at, depth, op=op_name(op), node=index, inputs=inputs, outputs=outputs,
                  **({"rebased": others} if others else {}))
        for tensor in outputs:
            self.nodes[tensor] = index
        self.forwarded = self.parts.events[-1]
        if saved is not None:
            self.saved(index, *saved)
            self.emit("save", at, depth, node=index)

    def renewed(self, tensor: int, node: int) -> None:
        """A view that was written to has another node, since its base has."""
        if self.nodes[tensor] != node:
            self.forwarded.setdefault("rebased", []).append([tensor, self.nodes[tensor], node])
            self.nodes[tensor] = node
            self.parts.nodes[node]["outputs"] = [tensor]

    def forward(self, at: Place, depth: int, op: str, inputs: Sequence[int | None], outputs: Sequence[int]) -> None:
        scope = {} if self.scope is None else {"scope": self.scope}
        self.emit("forward", at, depth, op=op_name(op), node=None, inputs=list(inputs), outputs=list(outputs), **scope)

    def version(self, at: Place, depth: int, tensor: int, version: int, copy: Any) -> None:
        self.emit("version", at, depth, tensor=tensor, version=version, value=self.value(copy))

    def set_grad(self, at: Place, depth: int, tensor: int, copy: Any) -> None:
        self.emit("grad", at, depth, tensor=tensor, grad=self.value(copy))

    def mode(self, at: Place, depth: int, name: str, on: bool) -> None:
        self.emit("mode", at, depth, mode=name, on=on)

    def backward_start(self, at: Place, depth: int, roots: Sequence[tuple[int, int, Any, Hold | None]],
                       needs: list[list[int]], create_graph: bool, retain_graph: bool,
                       inputs: list[int] | None) -> None:
        for node, output_nr, _, hold in roots:
            self.pile(node, output_nr, hold)
        self.emit("backward_start", at, depth, roots=[[n, nr, self.value(copy)] for n, nr, copy, _ in roots],
                  needs=needs, create_graph=create_graph, retain_graph=retain_graph, inputs=inputs)

    def pile(self, node: int, output_nr: int, hold: Hold | None) -> None:
        """What has piled up at a node counts as gradient until the node runs."""
        before = self.pending.pop((node, output_nr), None)
        if hold is not None:
            self.pending[node, output_nr] = self.ledger.hold(*hold, WAITING, node)
        self.ledger.drop(before, WAITING, node)

    def ready(self, at: Place, depth: int, node: int) -> None:
        self.emit("ready", at, depth, node=node)

    def run(self, at: Place, depth: int, node: int, gradients: Sequence[Any]) -> None:
        for output_nr in range(len(gradients)):
            self.pile(node, output_nr, None)
        self.emit("run", at, depth, node=node, gradient=[self.value(g) for g in gradients])

    def hook(self, at: Place, depth: int, node: int, kind: str, name: str, gradients: Sequence[Any],
             tensor: int | None, grad: Any) -> None:
        extra = {} if grad is None else {"grad": self.value(grad)}
        self.emit("hook", at, depth, node=node, hook=kind, name=name, gradient=[self.value(g) for g in gradients],
                  tensor=tensor, **extra)

    def release(self, at: Place, depth: int, node: int) -> None:
        if node in self.holds:
            self.let_go(node)
            self.emit("release", at, depth, node=node)

    def flow(self, at: Place, depth: int, node: int, index: int, to: int, output_nr: int, gradient: Any, total: Any,
             hold: Hold | None) -> None:
        self.pile(to, output_nr, hold)
        given = self.value(gradient)
        self.emit("flow", at, depth, node=node, index=index, to=to, output_nr=output_nr, gradient=given,
                  sum=given if total is SAME else self.value(total))

    def accumulate(self, at: Place, depth: int, node: int, tensor: int, gradient: Any, grad: Any) -> None:
        self.emit("accumulate", at, depth, node=node, tensor=tensor, gradient=self.value(gradient),
                  grad=self.value(grad))

    def capture(self, at: Place, depth: int, tensor: int, gradient: Any) -> None:
        self.emit("capture", at, depth, tensor=tensor, gradient=self.value(gradient))

    def backward_end(self, at: Place, depth: int) -> None:
        self.emit("backward_end", at, depth)
        self.leave(depth)

    def call(self, at: Place, depth: int, node: int, gradients: Sequence[Any], results: Sequence[Any]) -> None:
        self.emit("call", at, depth, node=node, gradient=[self.value(g) for g in gradients],
                  result=[self.value(g) for g in results])

    def checkpoint_begin(self, at: Place, depth: int, call: int, name: str, reentrant: bool) -> None:
        self.emit("checkpoint_begin", at, depth, call=call, name=name, reentrant=reentrant)

    def checkpoint_end(self, at: Place, depth: int, call: int) -> None:
        self.emit("checkpoint_end", at, depth, call=call)

    def recompute_begin(self, at: Place, depth: int, call: int) -> None:
        self.emit("recompute_begin", at, depth, call=call)

    def holder_filled(self, at: Place, depth: int, call: int, index: int, copy: Any) -> None:
        self.emit("holder_filled", at, depth, call=call, index=index, value=self.value(copy))

    def early_stop(self, at: Place, depth: int, call: int) -> None:
        self.emit("early_stop", at, depth, call=call)

    def recompute_end(self, at: Place, depth: int, call: int) -> None:
        self.emit("recompute_end", at, depth, call=call)

    def error(self, at: Place, depth: int, name: str, message: str) -> None:
        self.emit("error", at, depth, type=name, message=message)
        self.leave(depth)

    def leave(self, depth: int) -> None:
        """After the outermost pass nothing is pending."""
        if depth <= 0:
            for (node, _), storage in self.pending.items():
                self.ledger.drop(storage, WAITING, node)
            self.pending.clear()


ENTRIES: dict[str, Callable[..., None]] = {kind: getattr(Teller, kind) for kind in (
    "accumulate", "backward_end", "backward_start", "call", "capture", "checkpoint_begin", "checkpoint_end",
    "early_stop", "error", "flow", "formula", "forward", "gone", "grad", "grad_gone", "holder_filled", "hook",
    "keep", "leaf", "let_go", "link", "mode", "module_begin", "module_end", "moved", "name", "node", "ready",
    "recompute_begin", "recompute_end", "record", "release", "renewed", "run", "saved", "scope_name", "set_grad",
    "shares", "tensor", "unkeep", "version")}


@functools.cache
def op_name(name: str) -> str:
    """The name of an op as its function has it: `log_softmax` for LogSoftmax."""
    return "".join(["_" + c if c.isupper() and i and name[i - 1].islower() else c for i, c in enumerate(name)]).lower()


def formula(cls: Any) -> str | None:
    """The source text of a node's derivative; of a custom Function, that of its `backward`."""
    owner = getattr(cls, "_forward_cls", None) or cls
    source = source_of(getattr(owner, "backward", None))
    return source if source is None or owner is not cls else without_types(source)


@functools.lru_cache(256)
def source_of(function: Any) -> str | None:
    """The source text of a function."""
    try:
        return textwrap.dedent(inspect.getsource(function)).rstrip()
    except (OSError, TypeError):  # there is no source: typed into a console, or not written in Python
        return None


@functools.lru_cache(256)
def without_types(source: str) -> str:
    """A function's source as one would write it on a board: without annotations, which only a type checker reads."""
    try:
        function = ast.parse(source).body[0]
    except SyntaxError:  # a lambda, with what stands around it on its line
        return source
    if not isinstance(function, ast.FunctionDef):
        return source
    for argument in (*function.args.args, *function.args.kwonlyargs):
        argument.annotation = None
    function.returns = None
    return ast.unparse(function)
