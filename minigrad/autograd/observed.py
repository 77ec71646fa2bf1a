"""What an observer has seen: tensors and nodes of the core, by the numbers that they have in the trace.

It mirrors nothing in PyTorch. Objects of the core go in; numbers, sizes and copies of small arrays come out and are
put into the log. What is the same for every library is in `minigrad._trace.watch`, what becomes of the log in
`minigrad._trace.tell`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy import asarray, generic

from minigrad._trace.tell import SAME
from minigrad._trace.watch import NOWHERE, Watch, Watched
from minigrad.autograd.graph import Node
from minigrad.autograd.saved import Packed, is_array, is_tensor
from minigrad.autograd.views import grad_fn_now

__all__ = ["CONSTANTS", "Seen"]

CONSTANTS: list[Any] = []  # tensors that stand for an operand that is a Python number


class Seen(Watched):
    """The tensors and nodes that were seen and are alive. What is new of them goes into `log`."""

    def __init__(self, log: list[tuple[Any, ...]]) -> None:
        super().__init__(log)
        self.names: dict[type, str] = {}  # of classes of nodes
        self.unlinked: list[tuple[Node, int]] = []
        self.linking = False
        self.at: tuple[int | None, int | None] = NOWHERE
        for constant in CONSTANTS:
            watch = self.tensors[id(constant)] = Watch(constant)
            watch.key, watch.number, watch.array_id, watch.fresh = id(constant), None, id(constant.array), True

    # tensors
    def tensor(self, t: Any) -> Any:
        """The number of a tensor, noted now if it is new; None for a constant."""
        watch = self.tensors.get(id(t))
        if watch is None:
            return self.meet(t)
        if watch.array_id != id(t.array):
            watch.array_id, watch.fresh = id(t.array), False
            self.log.append(("moved", watch.number, *memory(t.array)))
        return watch.number

    def meet(self, t: Any) -> int:
        """Note a tensor that was not seen before."""
        array, node, key = t.array, grad_fn_now(t), id(t)
        if t._base is not None and id(t._base) in self.tensors:
            self.tensor(t._base)  # taking a view can have given it another array
        above = None
        if node is not None:
            above = self.numbers.get(id(node))
            if above is None:
                above = self.node(node)
        watch = self.tensors[key] = Watch(t, self.on_tensor_gone)
        number = self.tensors_made
        self.tensors_made = number + 1
        watch.key, watch.number, watch.array_id, watch.fresh = key, number, id(array), True
        self.log.append(("tensor", t._requires_grad, above, t._output_nr, type(t).__name__ == "Parameter",
                         *memory(array), array.nbytes, array if isinstance(array, generic) else self.copy(array)))
        if t._grad is not None:
            self.meet_grad(t._grad)
        return number

    def changed(self, t: Any) -> Any:
        """The number of a tensor whose values were changed in place."""
        number = self.tensor(t)
        self.tensors[id(t)].fresh = False
        return number

    def meet_grad(self, grad: Any) -> None:
        """The memory of a `.grad` counts as gradient for as long as the tensor lives."""
        watch = self.grads.get(id(grad))
        if watch is None:
            watch = self.grads[id(grad)] = Watch(grad, self.grad_gone)
            watch.key, watch.number = id(grad), self.grads_made
            self.grads_made += 1
        elif watch.array_id == id(grad.array):
            return
        watch.array_id = id(grad.array)
        self.log.append(("grad", watch.number, *memory(grad.array)))

    # nodes
    def node(self, target: Any) -> int:
        """The number of a node, or of a leaf's AccumulateGrad; it and all above it are noted now if new."""
        found = self.numbers.get(id(target))
        if found is None:
            found = self.place(target)
            if not self.linking:
                self.link_all()
        return found

    def link_all(self) -> None:
        """Link what was placed and is not linked yet; this places more. A loop, so that no graph is too deep."""
        self.linking = True
        while self.unlinked:
            node, number = self.unlinked.pop()
            targets = [None if t is None else self.place(t) for t in node.next]
            self.log.append(("link", number, targets, node.output_nrs))
            saved = self.saved(node, ())
            if saved is not None:
                self.log.append(("saved", number, *saved))
        self.linking = False

    def place(self, target: Any) -> int:
        """The number of a node or of a leaf's AccumulateGrad; the edges of a new one follow in `link_all`."""
        found = self.numbers.get(id(target))
        if found is not None:
            return found
        leaf = getattr(target, "variable", None) if isinstance(target, Node) else target
        if leaf is None:
            self.log.append(("node", self.name(target), target.sequence_nr, self.at))
            found = self.number(target)
            self.unlinked.append((target, found))
            return found
        tensor = self.tensor(leaf)
        found = self.numbers.get(id(leaf))
        if found is None:
            found = self.numbers[id(leaf)] = self.nodes_made
            self.nodes_made += 1
            self.log.append(("leaf", tensor, self.at))
        if target is not leaf:
            self.numbers[id(target)] = found
            watch = self.nodes[id(target)] = Watch(target, self.on_node_gone)
            watch.key, watch.number = id(target), found
        return found

    def name(self, node: Node) -> str:
        name = self.names.get(type(node))
        if name is None:
            name = self.names[type(node)] = node.name().rpartition("::")[2]
        return name

    def number(self, node: Node) -> int:
        """The number of a new node, which is watched from now on."""
        key, number = id(node), self.nodes_made
        self.nodes_made = number + 1
        watch = self.nodes[key] = Watch(node, self.on_node_gone)
        watch.key = key
        watch.number = self.numbers[key] = number
        return number

    def saved(self, node: Node, outputs: Sequence[Any]) -> tuple[list[Any], list[tuple[int, int]]] | None:
        """What a node has saved: rows of name, tensor and value, and the memory; None if it saved nothing."""
        rows: list[Any] = []
        holds = []
        if node.saved and isinstance(node.saved[0], Node):  # of a CopySlices: what its function has saved
            node = node.saved[0]
        names = type(node).saves
        for i, kept in enumerate(node.saved or ()):
            if kept is None:
                continue
            name = names[i] if i < len(names) else f"saved{i}"
            if is_tensor(kept):
                tensor = self.tensor(kept)
                rows.append((name, tensor, SAME if self.tensors[id(kept)].fresh else self.copy(kept.array)))
                holds.append(memory(kept.array))
            elif is_array(kept):
                made = next((t for t in outputs if t.array is kept), None)
                number = None if made is None else self.tensor(made)
                fresh = made is not None and self.tensors[id(made)].fresh
                rows.append((name, number, SAME if fresh else self.copy(kept)))
                holds.append(memory(kept))
            elif isinstance(kept, (bool, int, float)):
                rows.append((name, None, asarray(kept)[()]))
            else:
                rows.append((name, None, None))
                if type(kept) is Packed and is_tensor(kept.value):
                    holds.append(memory(kept.value.array))
        return (rows, holds) if rows else None


def memory(array: Any) -> tuple[int, int]:
    """The storage of an array: the `id()` of the owner of its memory, and its bytes."""
    base = array.base
    while base is not None:
        array, base = base, getattr(base, "base", None)
    return id(array), getattr(array, "nbytes", 0)  # 0: memory that is no array's, a file or a bytes object
