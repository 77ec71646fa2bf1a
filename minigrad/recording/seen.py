"""Maps the tensors and nodes that an observer has seen to their numbers in the trace.

It mirrors nothing in PyTorch. Objects of the core go in; numbers, sizes and copies of small arrays come out and are
added to the log, which the encoder turns into events. The part shared by every library is in tracker.py.
"""

import weakref
from collections.abc import Sequence
from sys import getrefcount
from typing import Any

from numpy import asarray, generic

from minigrad.backends.batched import in_all_examples
from minigrad.backends.registry import BACKEND_OF, is_array, storage
from minigrad.core import SCALAR_OPERAND, Node, Packed, edge_target, is_tensor
from minigrad.history.views import address
from minigrad.recording.encoder import SAME
from minigrad.recording.tracker import CHANGED, NOWHERE, Log, TrackedRef, Tracker

__all__ = ["CONSTANTS", "Seen"]

UNEXPLAINED = 1000  # at this many, freed tensors are removed from those that no event has explained
OWN = 3  # `getrefcount` of a counter that one tensor has: of that tensor, of the local variable and of the argument
CONSTANTS = (SCALAR_OPERAND,)  # tensors that stand for an operand that is a Python number


class Seen(Tracker):
    """The tensors and nodes that were seen and are alive. New facts about them go into `log`."""

    def __init__(self, log: Log) -> None:
        super().__init__(log)
        self.names: dict[type, str] = {}  # of classes of nodes
        self.unlinked: list[tuple[Node, int]] = []
        self.linking = False
        self.unexplained: dict[int, weakref.ref[Any]] = {}  # by id(): what the library has made, until its op is seen
        self.most_unexplained = UNEXPLAINED
        self.results: set[int] = set()  # the numbers of tensors made by ops without a node
        self.unwritten: dict[int, weakref.ref[Any]] = {}  # by id(): what `empty` has made, until it is seen
        self.at: tuple[int | None, int | None] = NOWHERE
        # forward mode: the numbers of the tensors that have tangents; where an edge to such a tensor leads if it has no
        # node of its own; and the same by id() of what an op's node leads to, if the op ran on stand-ins
        self.moving: set[int] = set()
        self.origins: dict[int, tuple[int, int]] = {}
        self.stood: dict[int, tuple[weakref.ref[Any], tuple[int, int] | None]] = {}
        self.stand_ins: dict[int, weakref.ref[Any]] = {}
        for constant in CONSTANTS:
            ref = self.tensors[id(constant)] = TrackedRef(constant)
            ref.key, ref.number, ref.array_id, ref.storage, ref.writes = id(constant), None, id(constant.array), 0, 0

    def copy(self, array: Any) -> Any:
        """Return what is kept of an array: of a batch, that of all examples. A NumPy scalar never changes."""
        return array if isinstance(array, generic) else super().copy(in_all_examples(array))

    def copy_given(self, array: Any) -> Any:
        """Return what is kept of an array that no op made."""
        return super().copy_given(in_all_examples(array))

    def memory_of(self, t: Any) -> tuple[int, int]:
        """Return the memory in which a tensor is stored, and its bytes."""
        return memory(t.array)

    def looked_at(self, t: Any) -> Any:
        """Return what is kept of the values that a tensor has now."""
        return self.copy(t.array)

    def gradient(self, g: Any) -> Any:
        """Return what is kept of a gradient: an array, a tensor, or None."""
        if g is None or isinstance(g, generic):
            return g
        return self.copy(g if is_array(g) else g.array)

    # tensors
    def tensor(self, t: Any) -> Any:
        """Return the number of a tensor, noted now if it is new; None for a constant."""
        ref = self.tensors.get(id(t))
        if ref is None:
            return self.track_tensor(t)
        if ref.array_id != id(t.array):
            hold = memory(t.array)
            ref.array_id, ref.storage, ref.writes = id(t.array), hold[0], CHANGED
            self.log.append(("moved", ref.number, *hold))
            if t._grad_fn is None and ref.number is not None:
                self.log.append(("found", ref.number, self.copy(t.array)))
        return ref.number

    def created(self, t: Any) -> None:
        """The library has made a tensor: a result that an event will report, or an intermediate of one."""
        if len(self.unexplained) >= self.most_unexplained:
            self.unexplained = {key: made for key, made in self.unexplained.items() if made() is not None}
            self.most_unexplained = max(UNEXPLAINED, 2 * len(self.unexplained))
        self.unexplained[id(t)] = weakref.ref(t)

    def constant(self, t: Any, written: bool = True) -> None:
        """The values of a tensor that was just created come from no other one; there are none yet if not `written`."""
        self.unexplained.pop(id(t), None)
        if not written:
            self.unwritten[id(t)] = weakref.ref(t)

    def aliased(self, t: Any, source: Any) -> None:
        """A tensor was just created that shares the memory of `source`: what is known of `source` holds for it too."""
        if self.is_unexplained(source):
            return
        if not source._requires_grad and self.tensor_number(source) not in self.results:
            self.constant(t, not self.is_unwritten(source))
        elif type(t) is type(source):  # else it will be another kind of leaf, such as a Parameter
            self.tensor(source)
            self.results.add(self.track_tensor(t, made=True))

    def is_unexplained(self, t: Any) -> bool:
        """Return whether the library made a tensor while the program ran, and nothing said from what."""
        reference = self.unexplained.get(id(t))
        return reference is not None and reference() is t

    def is_unwritten(self, t: Any) -> bool:
        """Whether a tensor from `empty`, or the base that it views, was never written to: its values are arbitrary."""
        reference = self.unwritten.get(id(t if t._base is None else t._base))
        return reference is not None and reference() is (t if t._base is None else t._base)

    def output(self, t: Any) -> Any:
        """Return the number of a tensor that an op has returned."""
        number = self.tensor(t) if id(t) in self.tensors else self.track_tensor(t, made=True)
        self.results.add(number)
        return number

    def track_tensor(self, t: Any, made: bool = False, alone: bool = False) -> int:
        """Note a tensor that was not seen before, `made` by an op; a view's base is noted before it. `alone`: without
        base and node."""
        array, above, rare, key = t.array, t._grad_fn, t._extras, id(t)
        if alone:
            above = rare = None
        if rare is not None and rare.view is not None:
            self.tensor(rare.view.base)  # taking a view may have given it another array
            above = t._current_grad_fn
        if above is not None:
            node = self.numbers.get(id(above))
            above = self.node(above) if node is None else node
        ref, number, size = TrackedRef(t, self.on_tensor_gone), self.tensor_count, array.nbytes
        there = type(array) in BACKEND_OF
        hold = (id(array), size) if array.base is None and not there else memory(array)
        ref.key, ref.number, ref.array_id, ref.storage = key, number, id(array), hold[0]
        ref.writes = self.writes.get(hold[0], 0)
        entry = ("tensor", t._requires_grad, above, 0 if rare is None else rare.output_nr,
                 type(t).__name__ == "Parameter", *hold, size,
                 self.copy(array) if made or above is not None else self.copy_given(array))
        self.tensors[key] = ref  # no interrupt comes between these three (tracker.py, NOTE 2)
        self.tensor_count = number + 1
        self.log.append(entry)
        if not made and above is None and self.is_unexplained(t):
            self.log.append(("shares", number, {"unexplained": True}))
        self.unexplained.pop(key, None)
        self.unwritten.pop(key, None)
        if not alone and (t._extras is not None or array.base is not None or there):
            self.shares(t, number)
        if t._grad is not None:
            self.track_grad(t._grad, number)
        return number

    def shares(self, t: Any, number: int) -> None:
        """Note how a tensor shares memory or a version counter with others, if it does."""
        facts: dict[str, Any] = window(t.array)
        base, counter = t._base, t._version_counter
        if base is not None:
            facts["base"] = self.tensor(base)
        elif counter is not None:
            # A search for each parameter would be quadratic: there is none if nobody shares the counter.
            others = self.tensors.values() if getrefcount(counter) > OWN else ()
            known = (w.number for w in others if w.number not in (None, number)
                     and (other := w()) is not None and other._version_counter is counter)
            facts.update({"counter": first} if (first := next(known, None)) is not None else {})
        if counter is not None and counter.value:
            facts["version"] = counter.value
        if facts:
            self.log.append(("shares", number, facts))

    def changed(self, t: Any) -> Any:
        """Return the number of a tensor whose values were changed in place."""
        number = self.tensor(t)
        self.wrote(self.tensors[id(t)].storage)
        return number

    def track_grad(self, grad: Any, tensor: int | None) -> None:
        """Count the memory of a tensor's `.grad` as gradient for as long as that lives."""
        ref = self.grads.get(id(grad))
        if ref is None:
            ref, key, array_id = TrackedRef(grad, self.grad_gone), id(grad), id(grad.array)
            ref.key, ref.number, ref.array_id = key, self.grad_count, array_id
            self.grads[key] = ref
            self.grad_count += 1
        elif ref.array_id == id(grad.array):
            return
        else:
            ref.array_id = id(grad.array)
        self.log.grad(ref.number, memory(grad.array), tensor)

    # forward mode
    def tangent(self, t: Any) -> Any:
        """Return the number of a tangent. The ops that made it are not noted, nor are their nodes, which PyTorch has
        too, until somebody differentiates by them."""
        known = self.tensor_number(t) is not None or not self.is_unexplained(t)
        return self.tensor(t) if known else self.track_tensor(t, alone=True)

    def stand_in(self, stand_in: Any, dual: Any, recorded: bool) -> None:
        """Know a tensor by the number of the dual in whose place an op gets it."""
        number, key, target = self.tensor(dual), id(stand_in), edge_target(stand_in)
        if dual._requires_grad:
            origin: tuple[int, int] | None = self.node(edge_target(dual)), dual._output_nr
        else:
            origin = None if recorded else self.origin(number)
        ref = TrackedRef(stand_in, self.stand_in_gone)
        ref.key, ref.number, ref.array_id, ref.storage = key, number, id(stand_in.array), self.tensors[id(dual)].storage
        ref.writes = self.tensors[id(dual)].writes
        self.tensors[key] = self.stand_ins[key] = ref
        at = id(target)
        self.stood[at] = weakref.ref(target, lambda _: self.stood.pop(at, None)), origin

    def stand_in_gone(self, ref: TrackedRef) -> None:
        self.tensors.pop(ref.key, None)
        self.stand_ins.pop(ref.key, None)

    def origin(self, number: int) -> tuple[int, int]:
        """Where an edge to a tensor with a tangent leads: to what made it, or to itself, where the tangent begins."""
        if number not in self.origins:
            entry, self.origins[number] = ("leaf", number, self.at, "Dual"), (self.node_count, 0)
            self.node_count += 1
            self.log.append(entry)
            self.unnamed += [ref for ref in list(self.tensors.values()) if ref.number == number][:1]
        return self.origins[number]

    def edges(self, node: Node) -> tuple[tuple[int | None, ...], tuple[int, ...]]:
        """Where the edges of a node lead; one to a stand-in leads where that of its dual does."""
        found = []
        for target, nr in zip(node.next, node.output_nrs() or (0,) * len(node.next), strict=True):
            stood = self.stood.get(id(target))
            own = None if target is None or stood is not None else (self.node(target), nr)
            found.append((own if stood is None else stood[1]) or (None, 0))
        return tuple([number for number, _ in found]), tuple([nr for _, nr in found])

    def passing(self, name: str, operands: Sequence[int], outputs: Sequence[Any]) -> tuple[Any, ...]:
        """Note a box for an op that left no node, though a tangent went through it: its number, its name and place,
        its edges, operands and results."""
        edges = [self.origin(each) if each in self.moving else None for each in operands]
        index, entry = self.node_count, ("node", name, None, self.at)
        self.node_count = index + 1
        self.log.append(entry)
        results = tuple([self.output(t) for t in outputs])
        self.origins.update({result: (index, nr) for nr, result in enumerate(results)})
        return (index, name, None, tuple([edge and edge[0] for edge in edges]),
                tuple([edge[1] if edge else 0 for edge in edges]), operands, results)

    # nodes
    def node(self, target: Any) -> int:
        """The number of a node, or of a leaf's AccumulateGrad; it and all nodes above it are noted now if new."""
        found = self.numbers.get(id(target))
        if found is None:
            found = self.track_node(target)
            if not self.linking:
                self.link_all()
        return found

    def link_all(self) -> None:
        """Link what was placed but not linked yet, which places more. A loop, so that no graph is too deep."""
        self.linking = True
        while self.unlinked:
            node, number = self.unlinked.pop()
            targets = [None if t is None else self.track_node(t) for t in node.next]
            self.log.append(("link", number, targets, node.output_nrs()))
            saved = self.saved(node, ())
            if saved is not None:
                self.log.append(("saved", number, *saved))
        self.linking = False

    def track_node(self, target: Any) -> int:
        """Return the number of a node or of a leaf's AccumulateGrad; the edges of a new one follow in `link_all`."""
        found = self.numbers.get(id(target))
        if found is not None:
            return found
        leaf = getattr(target, "variable", None) if isinstance(target, Node) else target
        if leaf is None:
            found = self.new_node(target)
            self.unlinked.append((target, found))
            return found
        tensor = self.tensor(leaf)
        found = self.numbers.get(id(leaf))
        if found is None:
            key, entry = id(leaf), ("leaf", tensor, self.at)
            found = self.numbers[key] = self.node_count
            self.node_count += 1
            self.log.append(entry)
            self.unnamed.append(self.tensors[key])
        if target is not leaf:
            ref, key = TrackedRef(target, self.on_node_gone), id(target)
            ref.key, ref.number = key, found
            self.nodes[key], self.numbers[key] = ref, found
        return found

    def name(self, node: Node) -> str:
        name = self.names.get(type(node))
        if name is None:
            name = self.names[type(node)] = node.name().rpartition("::")[2]
        return name

    def new_node(self, node: Node) -> int:
        """Return the number of a new node, which is watched from now on."""
        key, number, ref = id(node), self.node_count, TrackedRef(node, self.on_node_gone)
        entry = ("node", self.name(node), node.sequence_nr, self.at)
        ref.key, ref.number = key, number
        self.nodes[key], self.numbers[key] = ref, number
        self.node_count = number + 1
        self.log.append(entry)
        return number

    def saved(self, node: Node, outputs: Sequence[Any]) -> tuple[Any, tuple[tuple[int, int], ...]] | None:
        """What a node has saved: rows of name, tensor and value, and the memory that belongs to no tensor; None if it
        saved nothing."""
        rows: list[Any] = []
        holds = []
        if node.saved and isinstance(node.saved[0], Node):  # a CopySlices: what its function saved
            node = node.saved[0]
        names, tensors = type(node).saves, self.tensors
        for i, kept in enumerate(node.saved or ()):
            if kept is None:
                continue
            name = names[i] if i < len(names) else f"saved{i}"
            ref = tensors.get(id(kept))
            if ref is not None and ref.array_id == id(kept.array) and ref.writes == self.writes.get(ref.storage, 0):
                rows.append((name, ref.number, SAME))
                continue
            if ref is None and is_array(kept):
                array, owner = kept, next((t for t in outputs if t.array is kept), None)
            elif ref is not None or is_tensor(kept):
                array, owner = kept.array, kept
            else:
                rows.append((name, None, asarray(kept)[()] if isinstance(kept, (bool, int, float)) else None))
                if type(kept) is Packed and is_tensor(kept.value):
                    holds.append(memory(kept.value.array))
                continue
            if owner is None:
                rows.append((name, None, self.copy(array)))
                holds.append(memory(array))
            else:
                number = self.tensor(owner)
                rows.append((name, number, SAME if self.is_fresh(tensors[id(owner)]) else self.copy(array)))
        return (tuple(rows), tuple(holds)) if rows else None

    def arguments(self, node: Node) -> list[tuple[int, int]]:
        """Return the memory of the tensors that a node has saved."""
        kept = [k.value if type(k) is Packed else k for k in node.saved or ()]
        return [memory(t.array) for t in kept if is_tensor(t)]


def window(array: Any) -> dict[str, Any]:
    """Return where in its storage an array lies, in elements; empty if it begins there and is in row-major order."""
    array = in_all_examples(array)
    if type(array) in BACKEND_OF:
        begin = storage(array)[0]
    elif isinstance(array, generic) or array.base is None and array.flags.c_contiguous:
        return {}
    else:
        owner = array
        while is_array(owner.base):
            owner = owner.base
        begin = address(owner)
    offset = (address(array) - begin) // array.itemsize
    if not offset and array.flags.c_contiguous:
        return {}
    return {"offset": offset, "strides": [step // array.itemsize for step in array.strides]}


def memory(array: Any) -> tuple[int, int]:
    """The storage of an array: the `id()` of the owner of its memory (on a device: its address), and its bytes."""
    if type(array) in BACKEND_OF:
        return storage(array)
    base = array.base
    while base is not None:
        array, base = base, getattr(base, "base", None)
    return id(array), getattr(array, "nbytes", 0)  # 0: memory of no array, but of a file or a bytes object
