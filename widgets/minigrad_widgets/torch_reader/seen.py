"""What the reader has seen: PyTorch's tensors and nodes, by the numbers that they have in the trace.

A PyTorch node has no lasting Python object: its number depends on its sequence number, that of an AccumulateGrad on its
leaf. The dict of the hooks that the reader puts on a node lives as long as the node: a weak reference to it reports
when the node has gone.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Any

import torch

from minigrad.recorder import CHANGED, NOWHERE, SAME, Log, TrackedRef, Tracker
from minigrad_widgets.torch_reader.formulas import Metas
from minigrad_widgets.torch_reader.guard import Notes, guarded
from minigrad_widgets.torch_reader.previews import Previews, bytes_of
from minigrad_widgets.torch_reader.private import PRIVATE

__all__ = ["Hooked", "Seen", "leaf_of"]

NodeHook = Callable[..., None]
STRIDED = torch.strided
FAR = 1 << 62  # more than any sequence number


def leaf_of(node: Any) -> Any:
    """Return the leaf of an AccumulateGrad, or None for every other node."""
    return node.variable if type(node) is PRIVATE.accumulate_grad else None


def hooks_of(node: Any) -> Any:
    """Return the dict of a node's pre-hooks, which lives as long as the node."""
    handle = node.register_prehook(print)
    handle.remove()
    return handle.hooks_dict_ref()


def same_counter(a: Any, b: Any) -> bool:
    """Whether two tensors share a version counter: incrementing one changes both. The version is restored at once."""
    if a is None or b is None or a.is_inference() or b.is_inference():
        return False
    first, second = a._version, b._version
    PRIVATE.set_version(a, first + 1)
    found = bool(b._version != second)
    PRIVATE.set_version(a, first)
    return found


class Hooked:
    """The reader's two hooks on a node, and, through their dicts, the user's."""

    __slots__ = ("post", "post_id", "pre", "pre_id")

    def __init__(self, node: Any, pre: NodeHook, post: NodeHook) -> None:
        before, after = node.register_prehook(pre), node.register_hook(post)
        self.pre, self.pre_id = before.hooks_dict_ref, before.id
        self.post, self.post_id = after.hooks_dict_ref, after.id

    def remove(self) -> None:
        """Remove all hooks."""
        for reference, key in ((self.pre, self.pre_id), (self.post, self.post_id)):
            hooks = reference()
            if hooks is not None:
                hooks.pop(key, None)


class Seen(Tracker):
    """The tensors and nodes that were seen and are alive. New facts about them go into `log`.

    `next`: by node, its edges as (node, output_nr) or None; `made`: by node, the tensors that are its outputs;
    `leaves`: by node, for an AccumulateGrad, its leaf; `order`: by node, its sequence number; `hooked`: by node, the
    reader's hooks.
    """

    def __init__(self, log: Log, pre: NodeHook, post: NodeHook, notes: Notes, detail: str = "values") -> None:
        super().__init__(log)
        self.notes = notes
        self.arrays = {} if detail == "arrays" else None
        self.previews = Previews(self.copy, detail, self.whole)
        self.pre, self.post = pre, post
        self.next: dict[int, list[tuple[int, int] | None]] = {}
        self.made: dict[int, list[tuple[int, TrackedRef]]] = {}
        self.leaves: dict[int, TrackedRef] = {}
        self.order: dict[int, int] = {}
        self.metas = Metas()
        self.hooked: dict[int, Hooked] = {}
        self.saving: dict[type, list[tuple[str, str]]] = {}  # by class of nodes, the names of what they save
        self.names: dict[type, str] = {}  # of classes of nodes
        self.classes: dict[str, type] = {}
        self.silent: set[int] = set()  # nodes that run no code of the user's: C++, with nothing packed by hooks
        self.unlinked: list[tuple[Any, int]] = []
        self.linking = False
        self.several = False  # whether several threads have made nodes
        self.without_node: dict[int, TrackedRef] = {}  # by number: tensors that had no node when they were last noted
        self.known_grads: dict[int, tuple[int, int] | None] = {}  # by number of a leaf: its `.grad` as last reported
        self.at: Any = NOWHERE

    def memory_of(self, t: Any) -> tuple[int, int]:
        """Return the memory in which a tensor is stored, and its bytes."""
        return memory(t)

    def looked_at(self, t: Any) -> Any:
        """Return what is kept of the values that a tensor has now."""
        return self.copied(t)

    def operand(self, t: Any) -> int:
        """Return the number of an operand; a leaf that was given other memory, as by `.data = `, is read again."""
        ref = self.tensors.get(id(t))
        if ref is None or not t.is_leaf:
            return self.tensor(t)
        hold = memory(t)
        if hold[0] != ref.storage:
            ref.storage, ref.writes = hold[0], CHANGED
            self.log.append(("moved", ref.number, *hold))
            self.log.append(("found", ref.number, self.copied(t)))
        return int(ref.number)

    def copied(self, t: Any) -> Any:
        """Return what is kept of a tensor's values; None for no tensor."""
        if t is None:
            return None
        return self.previews.of(t)

    # tensors
    def tensor(self, t: Any, copy: Any = None, before: bool = False) -> int:
        """The number of a tensor, noted now if it is new; `copy`: its values, if already copied; `before`: report it as
        it was before its node was made."""
        ref = self.tensors.get(id(t))
        if ref is not None:
            return int(ref.number)
        node = t.grad_fn
        above = None if before or node is None else self.node(node)
        key, ref, hold, number = id(t), TrackedRef(t, self.on_tensor_gone), memory(t), self.tensor_count
        ref.key, ref.number, ref.storage, ref.writes = key, number, hold[0], self.writes.get(hold[0], 0)
        outputs = [] if above is None else [*self.made.get(above, ()), (t.output_nr, ref)]
        parameter = type(t) is not torch.Tensor and isinstance(t, torch.nn.Parameter)
        entry = ("tensor", t.requires_grad and not before, above, t.output_nr, parameter,
                 *hold, bytes_of(t),
                 copy if copy is not None else self.previews.all_values(t) if above is None else self.copied(t))
        self.tensors[key] = ref  # no interrupt comes between these (minigrad/recording/tracker.py, NOTE 2)
        self.tensor_count = number + 1
        if above is None:
            self.without_node[number] = ref
        else:
            self.made[above] = outputs
        self.log.append(entry)
        facts = self.shares(t)
        if facts:
            self.log.append(("shares", number, facts))
        if node is None:
            grad = t.grad
            if grad is not None:
                self.track_grad(grad, number)
                self.known_grads[number] = known_by(grad)
            if t.requires_grad or parameter:  # a frozen one has a name too
                self.unnamed.append(ref)
        return number

    def shares(self, t: Any) -> dict[str, Any]:
        """What a tensor is a view of, its version, and its place in its storage: only what is not the default."""
        base = t._base
        facts: dict[str, Any] = {} if base is None else {"base": self.tensor(base)}
        if not t.is_inference() and (version := t._version):
            facts["version"] = version
        if t.layout is STRIDED and (not t.is_contiguous() or t.storage_offset()):
            facts.update(offset=t.storage_offset(), strides=list(t.stride()))
        return facts

    def apart(self, made: int, given: int) -> None:
        """Note that a detached tensor has the version counter of its source, if it does; `.data` has its own."""
        tensors = {ref.number: ref() for ref in self.tensors.values() if ref.number in (made, given)}
        if same_counter(tensors.get(made), tensors.get(given)):
            self.log.append(("shares", made, {"counter": given}))

    def changed(self, t: Any) -> None:
        """Note that the values of a tensor were changed in place; its node may be another one."""
        number = self.tensor(t)
        if t.grad_fn is not None:
            self.join(t, self.node(t.grad_fn))
        elif number not in self.without_node:  # as after `detach_`
            self.without_node = dict(sorted([*self.without_node.items(), (number, self.tensors[id(t)])]))

    def join(self, t: Any, node: int) -> None:
        """Note that a tensor is now an output of a node."""
        self.tensor(t)
        ref, outputs = self.tensors[id(t)], self.made.setdefault(node, [])
        if all(each is not ref for _, each in outputs):
            outputs.append((t.output_nr, ref))

    def output_of(self, node: int, output_nr: int) -> int | None:
        """Return the number of the tensor that is this output of a node, if it was seen."""
        leaf = self.leaves.get(node)
        found = [ref.number for nr, ref in self.made.get(node, ()) if nr == output_nr]
        return int(leaf.number) if leaf is not None else found[-1] if found else None

    def track_grad(self, grad: Any, tensor: int) -> None:
        """Count the memory of a tensor's `.grad` as gradient for as long as that lives."""
        if id(grad) not in self.grads:
            key, ref, number, hold = id(grad), TrackedRef(grad, self.grad_gone), self.grad_count, memory(grad)
            ref.key, ref.number = key, number
            self.grads[key] = ref  # no interrupt comes between these (minigrad/recording/tracker.py, NOTE 2)
            self.grad_count = number + 1
            self.log.grad(number, hold, tensor)

    def tell_grads(self, at: Any, depth: int, written: Collection[int] = ()) -> None:
        """Report each `.grad` that has changed since the last report: it is another tensor, gone, or has a new version.

        `written`: the `id()` of tensors that an op has written to; foreach ops raise no version in a dispatch mode.
        """
        known = self.known_grads
        for number, ref in list(self.without_node.items()):
            leaf = ref()
            if leaf is None:
                del self.without_node[number]
            if leaf is None or not leaf.is_leaf:
                continue
            grad = leaf.grad
            if grad is None and known.get(number) is None:
                continue
            before, known[number] = known.get(number), known_by(grad)
            if before != known[number] or id(grad) in written:
                if grad is not None:
                    self.track_grad(grad, number)
                self.log.event("grad", at, depth, tensor=number, grad=self.copied(grad))

    # nodes
    def key_of(self, node: Any) -> int:
        """Return the key of a node; negative, so that it is not an `id()`. Each thread numbers its nodes from 0."""
        key = -1 - int(node._sequence_nr())
        if self.several:
            hooks = hooks_of(node)
            own = -id(hooks) - FAR
            number = self.numbers.get(key)
            if own in self.numbers or number is not None and self.hooked[number].pre() is not hooks:
                return own
        return key

    def number_of(self, node: Any) -> int | None:
        """Return the number of a node, None if it is new."""
        leaf = leaf_of(node)
        return self.numbers.get(self.key_of(node) if leaf is None else id(leaf))

    def node(self, node: Any) -> int:
        """Return the number of a node; it and all nodes above it are noted now if new."""
        found = self.node_number(node)
        if self.unlinked and not self.linking:
            self.link_all()
        return found

    def link_all(self) -> None:
        """Link what was placed but not linked yet, which places more. A loop, so that no graph is too deep."""
        self.linking = True
        while self.unlinked:
            node, number = self.unlinked.pop()
            targets, output_nrs = self.linked(node, number)
            self.log.append(("link", number, targets, output_nrs))
            saved = self.saved(node, (), unknown=True)
            if saved is not None:
                self.log.append(("saved", number, *saved))
        self.linking = False

    def linked(self, node: Any, number: int) -> tuple[list[int | None], list[int]]:
        """Return the edges of a node."""
        edges = node.next_functions
        self.next[number] = places = [None if fn is None else (self.node_number(fn), int(nr)) for fn, nr in edges]
        return [None if p is None else p[0] for p in places], [0 if p is None else p[1] for p in places]

    def node_number(self, node: Any) -> int:
        """Return the number of a node; the edges of a new one follow in `link_all`."""
        if type(node) is PRIVATE.accumulate_grad:
            leaf = leaf_of(node)
            if leaf is not None:
                return self.place_leaf(node, leaf)
        found = self.numbers.get(self.key_of(node) if self.several else -1 - node._sequence_nr())
        if found is None:
            found = self.new_node(node)
            self.unlinked.append((node, found))
        return found

    def place_leaf(self, node: Any, leaf: Any) -> int:
        """Return the number of an AccumulateGrad; PyTorch makes a new one when the last graph has gone."""
        found = self.numbers.get(id(leaf))
        if found is None:
            key, tensor, found = id(leaf), self.tensor(leaf), self.node_count
            ref, entry = self.tensors[key], ("leaf", tensor, self.at)
            self.numbers[key] = found  # no interrupt comes between these (minigrad/recording/tracker.py, NOTE 2)
            self.node_count = found + 1
            self.leaves[found] = ref
            self.next[found] = []
            self.log.append(entry)
            self.unnamed.append(ref)
        if found not in self.nodes:
            self.watch(node, found, found, node._sequence_nr())
        return found

    def new_node(self, node: Any) -> int:
        """Return the number of a new node, which is watched from now on."""
        key, name, number, order = self.key_of(node), self.name_of(node), self.node_count, node._sequence_nr()
        entry = ("node", name, order, self.at)
        self.numbers[key] = number  # no interrupt comes between these (minigrad/recording/tracker.py, NOTE 2)
        self.node_count = number + 1
        self.log.append(entry)
        self.watch(node, number, key, order)
        return number

    def name_of(self, node: Any) -> str:
        """Return a node's name, without the C++ namespace."""
        kind = type(node)
        name = self.names.get(kind)
        if name is None:
            name = str(node.name()).rpartition("::")[2]
            self.classes.setdefault(name, kind)
            if kind.__name__ != "CppFunction":  # which PyTorch uses for all that have no class of their own
                self.names[kind] = name
        return name

    def watch(self, node: Any, number: int, key: int, order: int) -> None:
        hooked = Hooked(node, partial(self.pre, number), partial(self.post, number))
        ref = TrackedRef(hooked.pre(), self.on_node_gone)
        ref.key, ref.number = key, number
        self.hooked[number] = hooked  # no interrupt comes between these (minigrad/recording/tracker.py, NOTE 2)
        self.nodes[number] = ref
        self.order[number] = order

    def outputs(self, node: int) -> int:
        """Return how many outputs a node has, as far as known."""
        return 1 + max([nr for nr, _ in self.made.get(node, ())], default=0)

    @guarded
    def node_gone(self, ref: TrackedRef) -> None:
        number = ref.number
        self.nodes.pop(number, None)
        self.hooked.pop(number, None)
        self.order.pop(number, None)
        self.silent.discard(number)
        self.metas.known.pop(number, None)
        if ref.key < 0:  # not a leaf: the number of a leaf stays
            self.numbers.pop(ref.key, None)
            self.next.pop(number, None)
            self.made.pop(number, None)
        self.log.append(("let_go", ("saved", number)))

    def saved(self, node: Any, outputs: Sequence[Any],
              unknown: bool = False) -> tuple[list[Any], list[tuple[int, int]]] | None:
        """Return what a node has saved: rows of name, tensor and value, and the memory; None if it saved nothing.

        `unknown`: whether the user's hooks may have packed it, for a PyTorch that does not say.
        """
        if not self.saved_names(node):
            return None
        rows: list[Any] = []
        holds: list[tuple[int, int]] = []
        with PRIVATE.without_dispatch():  # before 2.10, reading what is stored detaches it
            stored = self.stored(node) if PRIVATE.stored else self.unpacked(node, unknown)
        for name, kept, hooked in stored:
            if not isinstance(kept, torch.Tensor) or hooked:
                if kept is not None:
                    rows.append((name, None, None))
                if isinstance(kept, torch.Tensor):
                    holds.append(memory(kept))
                continue
            same = next((t for t in outputs if is_same(t, kept)), kept)
            number = self.tensor_number(same)
            fresh = number is not None and self.is_fresh(self.tensors[id(same)])
            rows.append((name, number, SAME if fresh else self.copied(kept)))
            holds.append(memory(kept))
        return (rows, holds) if rows else None

    def stored(self, node: Any) -> list[tuple[str, Any, bool]]:
        """Return the saved tensors of a node as they are stored, and whether hooks packed them: nothing is unpacked."""
        stored = PRIVATE.stored
        return [] if stored is None else [(name, *stored(raw)) for name, raw in self.raw_saved(node)]

    def unpacked(self, node: Any, unknown: bool) -> list[tuple[str, Any, bool]]:
        """Return the same where PyTorch does not show what is stored: unpacked, if no hook of the user's can run."""
        if unknown:
            return [(name, raw, True) for name, raw in self.raw_saved(node)]
        try:
            found: list[tuple[str, Any]] = []
            for _, name in self.saved_names(node):
                kept = getattr(node, "saved_tensors" if name == "tensors" else f"_saved_{name}")
                found += numbered(name, kept)
        except RuntimeError:  # it was released, or is out of date
            return []
        return [(name, kept, False) for name, kept in found]

    def saved_names(self, node: Any) -> list[tuple[str, str]]:
        """Return the attributes of a node that hold what it has saved, and their names."""
        names = self.saving.get(type(node))
        if names is None:
            names = self.saving[type(node)] = [(n, n.removeprefix("_raw_saved_")) for n in dir(type(node))
                                               if n.startswith("_raw_saved_")]
        return names

    def raw_saved(self, node: Any) -> list[tuple[str, Any]]:
        """Return PyTorch's objects for the saved tensors of a node."""
        return [each for attribute, name in self.saved_names(node)
                for each in numbered(name, getattr(node, attribute, None))]

    def forget(self) -> None:
        """Stop watching, and remove all hooks."""
        for hooked in self.hooked.values():
            hooked.remove()
        super().forget()
        self.previews.forget()
        for table in (self.next, self.made, self.leaves, self.order, self.hooked, self.without_node, self.metas.known,
                      self.silent):
            table.clear()


def numbered(name: str, found: Any) -> list[tuple[str, Any]]:
    """Return what a node has saved under one name: nothing, one thing, or several that are numbered."""
    if isinstance(found, (tuple, list)):
        return [(f"{name}{i}" if name != "tensors" else f"saved{i}", each) for i, each in enumerate(found)]
    return [] if found is None else [(name, found)]


def is_same(t: Any, kept: Any) -> bool:
    """Return whether a saved tensor is this one; it may be another object."""
    if t.layout is not torch.strided or kept.layout is not torch.strided:
        return t is kept
    return bool(t.data_ptr() == kept.data_ptr() and t.shape == kept.shape)


def known_by(grad: Any) -> tuple[int, int] | None:
    """Return what distinguishes one content of a `.grad` from another: the tensor and its version."""
    return None if grad is None else (id(grad), 0 if grad.is_inference() else grad._version)


def memory(t: Any) -> tuple[int, int]:
    """The storage of a tensor: its address, and its bytes; a tensor without one (a sparse one) stands for itself."""
    try:
        storage = t.untyped_storage()
    except (NotImplementedError, RuntimeError):
        return id(t), 0
    return storage._cdata, storage.nbytes()
