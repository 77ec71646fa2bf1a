"""What an observer has seen: tensors and nodes of the core, and their records in the trace.

It mirrors nothing in PyTorch. Here objects of the core become the ids, sizes and copied values of a trace, and the
bytes that they hold are counted for as long as they live.

NOTE (nothing is kept alive). A trace holds no tensor. Tensors and nodes are known here by their `id()`, which is theirs
only as long as they live: a weak reference to each tells when it has gone.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

from minigrad._trace.ledger import ACTIVATION, GRADIENT, PARAMETER, SAVED, SERIAL, Ledger, Storage
from minigrad.autograd.graph import Node
from minigrad.autograd.saved import Packed, is_array, is_tensor
from minigrad.recorder import Builder

__all__ = ["CONSTANTS", "NOWHERE", "Graph"]

NOWHERE = (None, None)  # no line of the user's code
NONE: list[Any] = []  # what is filled in at once
CONSTANTS: list[Any] = []  # tensors that stand for an operand that is a Python number


class Watch(weakref.ref[Any]):
    """A weak reference to a tensor or a node, with what is known of it."""

    __slots__ = ("array_id", "index", "key", "kind", "storage", "value")

    array_id: int
    index: Any
    key: int
    kind: int
    storage: Storage | None
    value: int | None


class Graph:
    """Tensors and nodes, and their records in the trace."""

    def __init__(self, builder: Builder) -> None:
        self.builder, self.trace, self.value = builder, builder.trace, builder.value
        self.ledger = Ledger()
        self.tensors: dict[int, Watch] = {}  # by id()
        self.node_ids: dict[int, int] = {}  # by id(): of nodes, of leaves and of AccumulateGrads
        self.watches: dict[int, Watch] = {}  # of nodes, by id()
        self.grads: dict[int, Watch] = {}  # of tensors that are a .grad, by id()
        self.holds: dict[int, list[Storage]] = {}  # node: what it has saved
        self.unlinked: list[tuple[Node, int]] = []
        self.linking = False
        self.names: dict[type, str] = {}  # of classes of nodes
        self.on_tensor_gone: Any = self.tensor_gone
        self.on_node_gone: Any = self.node_gone
        self.at: tuple[int | None, int | None] = NOWHERE
        for constant in CONSTANTS:
            watch = self.watch(constant, self.tensors, self.tensor_gone)
            watch.index, watch.array_id = None, id(constant.array)

    def watch(self, what: Any, table: dict[int, Watch], gone: Any) -> Watch:
        """Begin to watch; `gone` is called when it has died."""
        watch = Watch(what, gone)
        watch.key = key = id(what)
        watch.storage = None
        table[key] = watch
        return watch

    # tensors
    def tensor(self, t: Any) -> Any:
        """The trace's id of a tensor, recorded now if it is new; None for a constant."""
        watch = self.tensors.get(id(t))
        if watch is None:
            return self.meet(t)
        if watch.array_id != id(t.array):
            self.moved(watch, t)
        return watch.index

    def meet(self, t: Any) -> int:
        """Record a tensor that was not seen before."""
        array, node, records, key = t.array, t._grad_fn, self.trace.tensors, id(t)
        watch = self.tensors[key] = Watch(t, self.on_tensor_gone)
        watch.key = key
        watch.index = index = len(records)
        watch.array_id = id(array)
        watch.kind = kind = PARAMETER if type(t).__name__ == "Parameter" else ACTIVATION
        watch.storage = storage = self.ledger.hold(array, kind)
        watch.value = value = self.value(array)
        records.append({
            "name": None, "shape": self.builder.shape(array.shape), "dtype": self.builder.dtype(array.dtype),
            "requires_grad": t._requires_grad, "is_leaf": node is None, "node": None if node is None else
            self.node(node), "output_nr": t._output_nr, "parameter": kind == PARAMETER, "storage": storage[SERIAL],
            "bytes": array.nbytes, "value": value})
        if t._grad is not None:
            self.meet_grad(t._grad)
        return index

    def moved(self, watch: Watch, t: Any) -> None:
        """A tensor has another array than before."""
        if watch.storage is not None:
            self.ledger.drop(watch.storage, watch.kind)
            watch.storage = self.ledger.hold(t.array, watch.kind)
        watch.array_id, watch.value = id(t.array), None

    def value_of(self, t: Any) -> int:
        """The preview of a tensor as it is now."""
        self.tensor(t)
        watch = self.tensors[id(t)]
        if watch.value is None:
            watch.value = self.value(t.array)
        return watch.value

    def tensor_gone(self, watch: Watch) -> None:
        key = watch.key
        self.tensors.pop(key, None)
        self.node_ids.pop(key, None)
        if watch.storage is not None:
            self.ledger.drop(watch.storage, watch.kind)

    def meet_grad(self, grad: Any) -> None:
        """The memory of a `.grad` counts as gradient for as long as the tensor lives."""
        watch = self.grads.get(id(grad))
        if watch is None:
            watch = self.watch(grad, self.grads, self.grad_gone)
        elif watch.array_id == id(grad.array):
            return
        if watch.storage is not None:
            self.ledger.drop(watch.storage, GRADIENT)
        watch.storage, watch.array_id = self.ledger.hold(grad.array, GRADIENT), id(grad.array)

    def grad_gone(self, watch: Watch) -> None:
        self.grads.pop(watch.key, None)
        if watch.storage is not None:
            self.ledger.drop(watch.storage, GRADIENT)

    # nodes
    def node(self, target: Any) -> int:
        """The trace's id of a node, or of a leaf's AccumulateGrad; it and all above it are recorded now if new."""
        found = self.node_ids.get(id(target))
        if found is None:
            found = self.place(target)
            if not self.linking:
                self.link_all()
        return found

    def link_all(self) -> None:
        """Link what was placed and is not linked yet; this places more. A loop, not a recursion."""
        self.linking = True
        while self.unlinked:
            node, index = self.unlinked.pop()
            self.link(node, index)
            self.save(node, index, ())
        self.linking = False

    def forward(self, node: Node, inputs: list[Any], outputs: Sequence[Any]) -> tuple[int, list[int]]:
        """Record a node that was made just now, with its inputs and outputs."""
        ids, edges, output_nrs = self.node_ids, [], node.output_nrs
        index = self.place_node(node)
        for i, target in enumerate(node.next):
            found = None if target is None else ids.get(id(target))
            if found is None and target is not None:
                found = self.node(target)
            edges.append(None if found is None else [found, 0 if output_nrs is None else output_nrs[i]])
        made = [self.tensor(t) for t in outputs]
        record = self.trace.nodes[index]
        record["next"], record["inputs"], record["outputs"] = edges, inputs, made
        return index, made

    def place(self, target: Any) -> int:
        """Make the record of a node; its edges follow in `link`, so that no depth of a graph is too great."""
        leaf = getattr(target, "variable", None) if isinstance(target, Node) else target
        if leaf is not None:
            return self.place_leaf(target, leaf)
        index = self.place_node(target)
        self.unlinked.append((target, index))
        return index

    def place_node(self, node: Node) -> int:
        """The record of a node, still without edges."""
        cls, records, key = type(node), self.trace.nodes, id(node)
        name = self.names.get(cls)
        if name is None:
            name = self.names[cls] = node.name()
        watch = self.watches[key] = Watch(node, self.on_node_gone)
        watch.key = key
        watch.index = index = self.node_ids[key] = len(records)
        file, line = self.at
        records.append({"name": name, "sequence_nr": node.sequence_nr, "next": NONE, "inputs": NONE, "outputs": NONE,
                        "saved": [], "file": file, "line": line})
        return index

    def place_leaf(self, target: Any, leaf: Any) -> int:
        """The record of an AccumulateGrad, made of its leaf, whether the object is there or not."""
        variable = self.tensor(leaf)
        index = self.node_ids.get(id(leaf))
        if index is None:
            index = self.node_ids[id(leaf)] = len(self.trace.nodes)
            record: Any = {"name": "AccumulateGrad", "sequence_nr": None, "next": [], "inputs": [], "outputs": [],
                           "saved": [], "variable": variable, "file": self.at[0], "line": self.at[1]}
            self.trace.nodes.append(record)
        if target is not leaf:
            self.node_ids[id(target)] = index
            self.watch(target, self.watches, self.node_gone).index = None
        return index

    def link(self, node: Node, index: int) -> None:
        """Fill in the edges of a node that was made before the recording."""
        ids, edges, inputs, output_nrs = self.node_ids, [], [], node.output_nrs
        for i, target in enumerate(node.next):
            found = None if target is None else ids.get(id(target))
            if found is None and target is not None:
                found = self.place(target)
            edges.append(None if found is None else [found, 0 if output_nrs is None else output_nrs[i]])
            inputs.append(None if found is None else self.trace.nodes[found].get("variable"))
        record = self.trace.nodes[index]
        record["next"], record["inputs"], record["outputs"] = edges, inputs, []

    def save(self, node: Node, index: int, outputs: Sequence[Any]) -> bool:
        """Note what a node has saved; whether there is anything."""
        rows, held, hold = [], [], self.ledger.hold
        names = type(node).saves
        for i, kept in enumerate(node.saved or ()):
            if kept is None:
                continue
            name = names[i] if i < len(names) else f"saved{i}"
            if is_array(kept):
                rows.append([name, next((self.tensor(t) for t in outputs if t.array is kept), None), self.value(kept)])
                held.append(hold(kept, SAVED))
            elif is_tensor(kept):
                rows.append([name, self.tensor(kept), self.value_of(kept)])
                held.append(hold(kept.array, SAVED))
            else:
                rows.append([name, None, None])
                if type(kept) is Packed and is_tensor(kept.value):
                    held.append(hold(kept.value.array, SAVED))
        if rows:
            self.trace.nodes[index]["saved"] = rows
            self.holds[index] = held
        return bool(rows)

    def let_go(self, index: int) -> bool:
        """A node holds its saved tensors no more; whether it had any."""
        held = self.holds.pop(index, None)
        for storage in held or ():
            self.ledger.drop(storage, SAVED)
        return held is not None

    def node_gone(self, watch: Watch) -> None:
        key = watch.key
        self.watches.pop(key, None)
        self.node_ids.pop(key, None)
        if watch.index in self.holds:
            self.let_go(watch.index)

    # the end
    def changed(self, t: Any) -> Any:
        """The id of a tensor whose values were changed in place."""
        index = self.tensor(t)
        watch = self.tensors[id(t)]
        watch.value = None
        return index

    def known(self, value: Any) -> int | None:
        """The trace's id of a tensor that was seen, else None; whatever else there may be is not touched."""
        watch = self.tensors.get(id(value))
        return watch.index if watch is not None and watch() is value else None

    def forget(self) -> None:
        """Watch no more."""
        for table in (self.tensors, self.watches, self.grads):
            table.clear()
        for made in (self.node_ids, self.holds, self.names):
            made.clear()
        self.on_tensor_gone = self.on_node_gone = None  # these were a cycle
