"""Turns the log of a recording into a trace of plain data.

While a program is recorded, only what would be lost later is noted: ids, sizes, copies of small arrays, one entry for
each thing that happened. Everything else waits until somebody reads the trace: previews, byte counts, records and
events are made here. So a recorder disturbs the program that it records as little as possible.
"""

import ast
import functools
import gc
import inspect
import textwrap
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from minigrad._base.contexts import ensure
from minigrad.recording.builder import CELL, Builder
from minigrad.recording.ledger import ACTIVATION, PARAMETER, SAVED, WAITING, Ledger, Storage
from minigrad.trace.format import op_name
from minigrad.trace.schema import EVENTS

__all__ = ["CALLS", "FORMULAS", "SAME", "Encoder"]

FORMULAS: list[Any] = []  # functions that find a formula for another library's node, by name; registered by themselves
CALLS: list[Any] = []  # functions that find minigrad's call for another library's operator, by name
VIEW = "AsStridedBackward0"  # the new node of a view after a write to its base
SAME = "same"  # in place of a copy: the value that is already known
Place = tuple[int | None, int | None]
Hold = tuple[int, int]  # the id() of a storage's owner, and its bytes


class Encoder:
    """Turns a log into a trace. An entry of the log is the name of a method and its arguments."""

    def __init__(self, builder: Builder, log: list[tuple[Any, ...]]) -> None:
        self.builder, self.log, self.parts = builder, log, builder.parts
        self.ledger = Ledger()
        self.parts.storages = self.ledger.sizes
        self.storages: list[tuple[Storage, int]] = []  # of each tensor, with the kind under which it holds it
        self.held: dict[tuple[Any, ...], list[tuple[Storage, int, int | None]]] = {}  # by other holders: see `hold`
        self.bytes = [0, 0, 0, 0, 0]
        self.forwarded: dict[str, Any] = {}  # the event of the last op that made a node
        self.nodes: list[int | None] = []  # of each tensor, its node now
        self.scope: int | None = None  # the running call of a module
        # The innermost call of a module that raised, how many events there were then, and who else must raise.
        self.raised: tuple[int | None, int, int | None] = None, -1, None
        self.called_by_path: set[int] = set()  # the parameters that are named by their modules
        self.expressions: dict[str, int] = {}  # by their text
        self.failed: Callable[[Exception], None] | None = None  # is told of entries that fit nothing, and are left out
        self.moves: list[tuple[int, Any]] = []  # operands of the next op to be noted that have other memory now

    def encode(self) -> None:
        """Encode what has been logged since the last call."""
        entries = self.log[:]
        if not entries:
            return
        del self.log[:len(entries)]
        with ensure(gc.enable if gc.isenabled() else gc.disable):
            gc.disable()  # what is made here stays and has no cycles: collections would be wasted
            for method, *arguments in entries:
                try:
                    getattr(self, method)(*arguments)
                except Exception as error:
                    if self.failed is None:
                        raise
                    self.failed(error)

    # events
    def event(self, kind: str, at: Place, depth: int, fields: dict[str, Any]) -> None:
        """Note that something happened. What is held for a backward pass may change with it."""
        if kind == "forward":
            fields["op"] = op_name(fields["op"])
            if self.moves:
                fields["found"], self.moves = self.moves, []
            self.computed(fields)
            if fields["node"] is None and self.scope is not None:
                fields["scope"] = self.scope
        elif kind == "run":
            for output_nr in range(len(fields["gradient"])):
                self.let_go(("waiting", fields["node"], output_nr))
        elif kind == "error" and self.raised[0] is not None and self.raised[1:] == (len(self.parts.events), None):
            fields["scope"] = self.raised[0]
        elif kind == "release":
            if ("saved", fields["node"]) not in self.held:
                return
            self.let_go(("saved", fields["node"]))
        self.append(kind, at, depth, fields)
        if kind in ("backward_end", "error") and depth <= 0:  # after the outermost pass nothing is pending
            for key in [key for key in self.held if key[0] == "waiting"]:
                self.let_go(key)

    def run(self, at: Place, depth: int, node: int, gradient: Sequence[Any]) -> None:
        """Note that the engine took a node from its queue."""
        self.event("run", at, depth, {"node": node, "gradient": gradient})

    def flow(self, at: Place, depth: int, node: int, index: int, to: int, output_nr: int, gradient: Any, total: Any,
             held: Hold | None, last: bool) -> None:
        """Note that a gradient goes along an edge, and what waits there then; the last one makes the node ready."""
        self.hold(("waiting", to, output_nr), () if held is None else (held,), WAITING, to)
        self.event("flow", at, depth, {"node": node, "index": index, "to": to, "output_nr": output_nr,
                                       "gradient": gradient, "sum": total})
        if last:
            self.event("ready", at, depth, {"node": to})

    def append(self, kind: str, at: Place, depth: int, fields: dict[str, Any]) -> None:
        """Add an event that follows the schema, with the bytes if they have changed."""
        schema = EVENTS[kind]
        if not schema.required <= fields.keys() <= schema.fields.keys():
            raise TypeError(f"an event {kind!r} has the fields {', '.join(schema.fields)}, not {', '.join(fields)}")
        event: dict[str, Any] = {"kind": kind}
        for name in schema.fields:
            if name in fields:
                value = fields[name]
                event[name] = value if value is None or type(value) in (int, str) else self.plain(value)
        if at[0] is not None:
            event["file"], event["line"] = at
        if depth > 0:
            event["depth"] = depth
        if self.bytes != self.ledger.totals:
            self.bytes = self.ledger.totals.copy()
            event["bytes"] = self.bytes if self.bytes[-1] else self.bytes[:-1]
        if self.ledger.changed:
            for name, by in (("held", 1), ("dropped", -1)):
                holders = [list(holder) for holder, change in self.ledger.changed.items() if change == by]
                if holders:
                    event[name] = holders
            self.ledger.changed.clear()
        self.parts.events.append(event)

    def plain(self, x: Any) -> Any:
        """Return a field as plain data, with the index of a preview in place of the copy of an array."""
        if x is None or isinstance(x, (int, str)):
            return x
        if isinstance(x, (list, tuple)):
            return [each if each is None or type(each) in (int, str) else self.plain(each) for each in x]
        return self.builder.value(x)

    def record(self, at: Place, depth: int, op: str, index: int, name: str, sequence_nr: int,
               targets: Sequence[int | None], output_nrs: Sequence[int] | None, inputs: Sequence[int | None],
               outputs: Sequence[int], saved: tuple[Any, Any] | None, formula: Any = None,
               call: Any = None, reads: Sequence[int] = ()) -> None:
        """Note an op that made a node; `formula` has the expressions of its gradients, `call` those of its results."""
        if index == len(self.parts.nodes):
            self.node(name, sequence_nr, at)
        self.link(index, targets, output_nrs)
        fields = {"op": op, "node": index, "inputs": inputs, "outputs": outputs, "expressions": call, "reads": reads}
        rebased = [[tensor, self.nodes[tensor], index] for tensor in outputs if self.nodes[tensor] != index]
        rebased += self.looked_up(inputs, targets, outputs)
        if rebased:
            fields["rebased"] = rebased
        self.event("forward", at, depth, fields)
        for tensor in outputs:
            self.nodes[tensor] = index
        self.forwarded = self.parts.events[-1]
        self.parts.nodes[index].update(inputs=self.forwarded["inputs"], outputs=self.forwarded["outputs"])
        if saved is not None:
            self.saved(index, *saved)
            self.event("save", at, depth, {"node": index})
        if formula is not None or call is not None:
            self.derivatives(index, formula, call)

    def computed(self, fields: dict[str, Any]) -> None:
        """Note the arithmetic of an op: the expression of each result."""
        call, reads = fields.pop("expressions", None), fields.pop("reads", ())
        found = None if call is None else call.arithmetic()
        if found is not None:
            fields["expressions"] = [self.expression(each) for each in found.results]
            if reads:
                fields["reads"] = reads

    def derivatives(self, node: int, formula: Any, call: Any = None) -> None:
        """Note the arithmetic of a node: for each input the expression of its gradient. Operands of these that are not
        tensors of the op are noted as expressions too, as far as `call` knows them."""
        record, values = self.parts.nodes[node], self.parts.values
        saved = {name: (tuple(values[value]["shape"]), values[value]["dtype"]) for name, _, value in record["saved"]
                 if value is not None}
        known = None if call is None else call.arithmetic()
        found = None if formula is None else formula.derivatives(saved)
        if found is None and known is not None and known.node == record["name"] and known.derivatives is not None:
            edges = record["next"]
            found = [each and expression for each, expression in zip(edges, known.derivatives, strict=False)]
            found += [None] * (len(edges) - len(found))
        if not found or all(expression is None for expression in found):
            return
        record["derivatives"] = [None if expression is None else self.expression(expression) for expression in found]
        if known is not None and known.parameters:
            own = {name for name, tensor, _ in record["saved"] if tensor in (*record["inputs"], *record["outputs"])
                   and tensor is not None}
            names = operands_in(found).union([name for name, *_ in record["saved"]]) - own
            parameters = [[name, self.expression(known.parameters[name])] for name in sorted(names)
                          if name in known.parameters]
            if parameters:
                record["parameters"] = parameters

    def expression(self, expression: Any) -> int:
        """Return the index of an expression; equal ones are stored once."""
        index = self.expressions.setdefault(repr(expression), len(self.parts.expressions))
        if index == len(self.parts.expressions):
            self.parts.expressions.append(expression)
        return index

    def renewed(self, tensor: int, node: int) -> None:
        """Note that a view that was written to has another node, since its base has."""
        if self.nodes[tensor] != node:
            self.forwarded.setdefault("rebased", []).append(self.rebase(tensor, node))

    def rebase(self, tensor: int, node: int) -> list[int | None]:
        """Note that a tensor has another node from now on; return what an event says about it."""
        before, self.nodes[tensor] = self.nodes[tensor], node
        self.parts.nodes[node]["outputs"] = [tensor]
        return [tensor, before, node]

    def looked_up(self, inputs: Sequence[int | None], targets: Sequence[int | None],
                  outputs: Sequence[int]) -> list[list[int | None]]:
        """Return the views among the operands that got a new node when the op read it: their base was written to."""
        found: list[list[int | None]] = []
        for tensor, node in zip(inputs, targets, strict=False) if len(inputs) == len(targets) else ():
            if tensor is None or node is None or tensor in outputs or self.nodes[tensor] == node:
                continue
            if self.parts.nodes[node]["name"] == VIEW and self.parts.tensors[tensor].get("base") is not None:
                found.append(self.rebase(tensor, node))
        return found

    # source
    def block(self, file: int, line: int) -> None:
        """The recording has reached the end of the `with` block that begins at a line. Of a notebook cell, nothing
        after it is shown: that code reads the trace, and is not the program that was recorded."""
        source = self.parts.files[file]
        end = end_of_block(source["lines"], line) if source["name"].startswith(CELL) else None
        if end is not None:
            used = [record.get("line") or 0 for record in (*self.parts.events, *self.parts.nodes)
                    if record.get("file") == file]
            del source["lines"][max([end, *used]):]

    def bound(self, call: int, file: int, line: int | None, names: list[list[Any]]) -> None:
        """Note that a running function has reached a line, and that its names hold other tensors than before."""
        self.parts.bindings.append({"step": len(self.parts.events), "call": call, "file": file, "line": line,
                                    "names": names})

    def marked(self, places: list[int]) -> None:
        """Note in a list how many events there are by now."""
        places.append(len(self.parts.events))

    # time
    def took(self, node: int, backward: bool, seconds: float) -> None:
        """Note how long a node's op, or its derivative, took; several runs of a derivative add up."""
        times = self.parts.nodes[node].setdefault("seconds", [None, None])
        times[backward] = round((times[backward] or 0) + seconds, 9)

    def timed(self, time: float, times: Sequence[float | None] | None = None) -> None:
        """Note when the last event happened; for one of several ranks, also when it was called, begun and over."""
        self.parts.events[-1]["time"] = round(time, 9)
        if times is not None:
            self.parts.events[-1]["times"] = [None if each is None else round(each, 9) for each in times]

    # what is held
    def hold(self, key: tuple[Any, ...], holds: Iterable[Hold], what: int, who: int | None = None) -> None:
        """Note that something holds this memory from now on, instead of what it held before: `("saved", node)` what a
        node saved, `("kept", number)` what is kept for a checkpoint, `("grad", number)` a `.grad`, `("state", number)`
        an optimizer, `("waiting", node, output_nr)` a gradient that has arrived at a node and waits there until the
        node runs."""
        before = self.held.pop(key, ())
        self.held[key] = [(self.ledger.hold(*hold, what, who), what, who) for hold in holds]
        for held in before:
            self.ledger.drop(*held)

    def let_go(self, key: tuple[Any, ...]) -> None:
        """Note that something no longer holds anything."""
        for held in self.held.pop(key, ()):
            self.ledger.drop(*held)

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

    def read(self, tensor: int) -> None:
        """Note that the program has read the values of a tensor."""
        self.parts.tensors[tensor].setdefault("read", max(0, len(self.parts.events) - 1))

    def moved(self, tensor: int, key: int, size: int) -> None:
        """A tensor has another array. So have nodes that saved it, unless other tensors share the old memory."""
        storage, kind = self.storages[tensor]
        if storage.holders[PARAMETER] + storage.holders[ACTIVATION] == 1 and key not in self.ledger.live:
            self.ledger.move(storage, key, size)
            return
        self.ledger.drop(storage, kind, tensor)
        self.storages[tensor] = self.ledger.hold(key, size, kind, tensor), kind

    def found(self, tensor: int, copy: Any) -> None:
        """Note that an operand of the next op to be noted was given this memory."""
        self.moves.append((tensor, copy))

    def shares(self, tensor: int, facts: dict[str, Any]) -> None:
        """Note how a tensor shares memory or a version counter, if it does not have its own, starting at 0; and its
        tangent."""
        self.parts.tensors[tensor].update(facts)

    def gone(self, tensor: int) -> None:
        self.ledger.drop(*self.storages[tensor], tensor)

    def name(self, tensor: int, name: str, parameter: bool) -> None:
        """A variable or, for a parameter, a module holds a tensor: a parameter is named after its first module, since
        `p` in `for p in net.parameters()` holds it too; any other tensor after its first variable."""
        record = self.parts.tensors[tensor]
        if record["name"] is None or (parameter and tensor not in self.called_by_path):
            record["name"] = name
        if parameter:
            self.called_by_path.add(tensor)
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

    def module_end(self, inputs: list[int], outputs: list[int] | None) -> None:
        if self.scope is not None:
            scope = self.parts.scopes[self.scope]
            scope["inputs"] = inputs
            if outputs is None:
                now = len(self.parts.events), self.scope
                innermost = self.raised[0] if self.raised[1:] == now else self.scope  # else it passes through this one
                self.raised = innermost, now[0], scope["parent"]
            else:
                scope["outputs"] = outputs
            self.scope = scope["parent"]

    def scope_name(self, scope: int, name: str) -> None:
        self.parts.scopes[scope]["name"] = self.parts.scopes[scope]["name"] or name

    def leaf(self, tensor: int, at: Place, name: str = "AccumulateGrad") -> None:
        self.node(name, None, at)
        self.parts.nodes[-1]["variable"] = tensor

    def link(self, node: int, targets: Sequence[int | None], output_nrs: Sequence[int] | None) -> None:
        record = self.parts.nodes[node]
        output_nrs = output_nrs or (0,) * len(targets)
        record["next"] = [None if t is None else [t, nr] for t, nr in zip(targets, output_nrs, strict=True)]
        record["inputs"] = [None if t is None else self.parts.nodes[t].get("variable") for t in targets]

    def saved(self, node: int, rows: Sequence[tuple[str, int | None, Any]], holds: Sequence[Hold]) -> None:
        self.parts.nodes[node]["saved"] = [
            [name, tensor, self.parts.tensors[tensor]["value"] if copy is SAME and tensor is not None
             else self.plain(copy)] for name, tensor, copy in rows]
        known = [self.storages[tensor][0] for _, tensor, _ in rows if tensor is not None]
        self.hold(("saved", node), [*[(storage.key, storage.size) for storage in known], *holds], SAVED, node)

    def formula(self, name: str, cls: type) -> None:
        source = formula(cls)
        if source is not None:
            self.parts.formulas[name] = source


def end_of_block(lines: Sequence[str], line: int) -> int | None:
    """Return the last line of the `with` block that begins at a line; None if no block begins there."""
    try:
        tree = ast.parse("\n".join(lines))
    except SyntaxError:
        return None
    ends = [node.end_lineno for node in ast.walk(tree) if isinstance(node, ast.With) and node.lineno == line]
    return max(filter(None, ends), default=None)


def formula(cls: Any) -> str | None:
    """Return the source text of a node's derivative; of a custom Function, that of its `backward`."""
    owner = getattr(cls, "_forward_cls", None) or cls
    source = source_of(getattr(owner, "backward", None))
    return source if source is None or owner is not cls else without_types(source)


@functools.lru_cache(256)
def source_of(function: Any) -> str | None:
    """Return the source text of a function."""
    try:
        return textwrap.dedent(inspect.getsource(function)).rstrip()
    except (OSError, TypeError):  # there is no source: typed into a console, or not written in Python
        return None


@functools.lru_cache(256)
def without_types(source: str) -> str:
    """A function's source as one would write it on a blackboard: without annotations, which only type checkers read."""
    try:
        function = ast.parse(source).body[0]
    except SyntaxError:  # a lambda, with what is around it on its line
        return source
    if not isinstance(function, ast.FunctionDef):
        return source
    for argument in (*function.args.args, *function.args.kwonlyargs):
        argument.annotation = None
    function.returns = None
    return ast.unparse(function)


def operands_in(expression: Any) -> set[str]:
    """Return the names in an expression, or in a list of them."""
    if isinstance(expression, str):
        return {expression}
    parts = expression[isinstance(expression[:1], list) and isinstance(expression[0], str):] if isinstance(
        expression, list) and expression else ()
    return set().union(*[operands_in(part) for part in parts])
