"""What PyTorch's operators do, seen from below autograd: a dispatch mode that only observes.

The mode sees an op's operands and results before autograd has given the results their node. So an op waits, with copies
of its results, until the next thing happens: then its results have their node, or never will.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Iterable, Iterator
from time import perf_counter
from typing import Any, NamedTuple

import torch
from torch.autograd import forward_ad
from torch.autograd.function import BackwardCFunction

from minigrad.recorder import Log
from minigrad_widgets.torch_reader.calls import call_of
from minigrad_widgets.torch_reader.guard import Once
from minigrad_widgets.torch_reader.previews import PLAIN, is_jagged
from minigrad_widgets.torch_reader.private import PRIVATE
from minigrad_widgets.torch_reader.seen import Seen, memory

__all__ = ["Facts", "Ops", "facts_of"]

Tensor = torch.Tensor
# What PyTorch does as part of other things, and what makes a tensor from none; minigrad has no op for these.
UNTOLD = frozenset({"lift_fresh", "_local_scalar_dense", "is_same_size", "set_", "empty_like", "ones_like",
                    "_has_same_storage_numel",
                    "zeros_like", "full_like", "new_empty", "new_full", "new_ones", "new_zeros", "resize_",
                    "record_stream", "equal", "is_nonzero", "rand_like", "randn_like"})
EMPTY = frozenset({"empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided"})
PATIENCE = 32  # ops: a tangent takes fewer
READING = frozenset({"_local_scalar_dense", "equal", "is_nonzero"})  # they return a Python number or bool


class Facts(NamedTuple):
    """What is known of an operator: its name; which arguments it writes to, by position and name; whether it writes to
    any memory; whether several ranks do it; whether it is told otherwise than most, or not at all."""

    func: Any
    name: str
    places: list[tuple[int, str]]
    mutable: bool
    collective: bool
    special: bool


class Written(NamedTuple):
    """A tensor that an op has written to: its number, weak references to it and to its base, its values now, the
    version that it gets, and the values now of other tensors that share its memory."""

    number: int
    tensor: Any
    base: Any
    copy: Any
    version: int
    others: list[tuple[int, Any]]


class Op:
    """An op that has run, and waits for its node.

    `given`: numbers of tensors; for a `detach` that was set aside, a weak reference to its operand, and which result of
    the op before the operand is.
    """

    __slots__ = ("at", "call", "copies", "depth", "given", "name", "outputs", "packing", "written")

    def __init__(self, at: Any, depth: int, name: str, given: Any, written: list[Written],
                 outputs: list[Any], copies: list[Any], call: Any = None) -> None:
        self.at, self.depth, self.name, self.given, self.call = at, depth, name, given, call
        self.written, self.copies = written, copies
        self.outputs = [weakref.ref(t) for t in outputs]
        self.packing = packing()


class Ops:
    """Notes ops.

    `waiting`: the one that ran last; `detached`: what may be autograd's own `detach` of its results, in order to save
    them; `returned`: tensors that a Function of the user's has returned; `fills`: what a checkpoint's run has found
    again, while it is not known which op saved it.
    """

    def __init__(self, seen: Seen, log: Log, times: bool = False) -> None:
        self.seen, self.log, self.times = seen, log, times
        self.seconds = 0.0  # the time of the op that waits
        self.waiting: Op | None = None
        self.detached: list[Op] = []
        self.returned: list[Any] = []
        self.applied: dict[type, Any] = {}
        self.fills: list[tuple[Any, int, int, Any]] = []
        self.unwritten: list[weakref.ref[Tensor]] = []  # what `empty` has made, while it lives
        self.wrapped = 0  # how many transforms of torch.func are running: they have wrappers around what is seen here
        self.moving: list[list[Any]] = []  # results that may get a tangent, with their numbers and how often to look
        self.on_tangent: Callable[[], None] = lambda: None

    def run(self, op: Once, facts: Facts, at: Any, depth: int) -> Any:
        """Run an op that will be reported, and note what is known about it now."""
        args, kwargs, name, seen = op.args, op.kwargs, facts.name, self.seen
        operands = tensors_in((*args, *kwargs.values()) if kwargs else args)
        if any_jagged(operands):
            return op()
        written = list(written_by(facts.places, args, kwargs)) if facts.places else []
        own = self.waiting is not None and name == "detach" and any(r() is operands[0] for r in self.waiting.outputs)
        if self.waiting is not None and not own:
            self.settle()
        seen.at = at
        if facts.special:
            if name in READING:
                self.read(operands)
            return self.empty(op()) if name in EMPTY else op()
        if not operands:
            return op()
        if torch.is_grad_enabled():
            self.find_functions(operands, at, depth)
        if own:
            return self.set_aside(op, operands[0], at, depth)
        fresh = [t for t in written if id(t) not in seen.tensors and self.is_empty(t)]
        given: list[Any] = [None if fresh and any(t is f for f in fresh) else seen.operand(t) for t in operands]
        if seen.unnamed:
            seen.name_leaves()
        if seen.bindings.files:
            seen.look_at_names(sys._getframe(1))
        if seen.copies:
            seen.drop_copies()
        began = perf_counter() if self.times else 0
        result = op()
        if self.times:
            self.seconds = perf_counter() - began
        outputs = tensors_in(result if isinstance(result, (tuple, list)) else (result,))
        if not any_jagged(outputs):
            call = self.call_of(name, args, kwargs, operands, outputs)
            if written:
                self.wait_written(name, at, depth, operands, given, written, outputs, call)
            else:
                self.waiting = Op(at, depth, name, given, [], outputs, [seen.copied(t) for t in outputs], call)
        return result

    def wait_written(self, name: str, at: Any, depth: int, operands: list[Tensor], given: list[Any],
                     written: list[Tensor], outputs: list[Tensor], call: Any) -> None:
        """Keep what is known of an op that has written to memory until its results have their node."""
        for t in written:
            self.seen.wrote(memory(t)[0])
        for i, t in enumerate(operands):
            given[i] = self.seen.tensor(t) if given[i] is None else given[i]
        same = {id(t): self.seen.copied(t) for t in (*outputs, *written)}
        self.waiting = Op(at, depth, name, given, [
            Written(self.seen.tensor(t), weakref.ref(t), weakref.ref(t if t._base is None else t._base), same[id(t)],
                    0 if t.is_inference() else t._version + 1,
                    self.seen.others(memory(t)[0], [id(each) for each in written])) for t in written],
            outputs, [same[id(t)] for t in outputs], call)

    def set_aside(self, op: Once, operand: Tensor, at: Any, depth: int) -> Any:
        """Run what may be autograd's own `detach`; it must not touch its operand, which has no node yet."""
        result = op()
        outputs = [] if self.waiting is None else [reference() for reference in self.waiting.outputs]
        given = weakref.ref(operand), next(i for i, t in enumerate(outputs) if t is operand)
        self.detached.append(Op(at, depth, "detach", given, [], [result], [self.seen.copied(result)],
                                self.call_of("detach", op.args, op.kwargs, [operand], [result])))
        return result

    def read(self, tensors: Iterable[Tensor]) -> None:
        """The program reads the values of these tensors: no op shows what it makes of them."""
        for t in tensors:
            self.log.append(("read", self.seen.tensor(t)))

    def empty(self, tensor: Tensor) -> Tensor:
        """The result of `empty` is arbitrary: it counts as seen once the program has written to it."""
        self.unwritten = [reference for reference in self.unwritten if reference() is not None]
        self.unwritten.append(weakref.ref(tensor))
        return tensor

    def is_empty(self, tensor: Tensor) -> bool:
        """Return whether a tensor, or the base that it views, was made by `empty` and never written to."""
        return any(tensor is made or tensor._base is made for made in [reference() for reference in self.unwritten])

    def drop(self) -> None:
        """Forget the op that ran last: it did not finish."""
        self.waiting = None
        self.detached.clear()

    def settle(self) -> None:
        """Report the op that waits: its results have their node by now."""
        op = self.waiting
        if op is None:
            return
        self.waiting = None
        outputs = [reference() for reference in op.outputs]
        if op.written and op.written[0].base() is not None:  # a view that was written to has given its base a new node
            outputs[:1] = [op.written[0].base()]
        self.seen.at = op.at
        nodes = [node for t in outputs if t is not None and (node := t.grad_fn) is not None]
        node = nodes[0] if nodes else None
        foreign = isinstance(node, BackwardCFunction) and self.seen.number_of(node) is None
        own = 0
        if node is None or foreign or self.seen.number_of(node) is not None:
            made = [self.output(t, copy, foreign) for t, copy in zip(outputs, op.copies)]
            self.log.event("forward", op.at, op.depth, op=op.name.lstrip("_"), node=None, inputs=op.given, outputs=made,
                           expressions=op.call)
            if op.name == "detach":
                self.seen.apart(made[0], op.given[0])
            self.returned += [weakref.ref(t) for t in outputs if foreign and t is not None]
        else:
            own, made = self.record(op, node, outputs)
        if PRIVATE.tangent is not None and forward_ad._current_level >= 0 and not self.wrapped:
            self.moving += [[reference, number, PATIENCE] for reference, number in zip(op.outputs, made, strict=True)]
        detached, self.detached = self.detached, []
        if op.written:
            self.tell_written(op)
        for each in detached[own:]:
            (reference, at), self.waiting = each.given, each
            operand = reference()
            each.given = [made[at] if operand is None else self.seen.tensor(operand)]
            self.settle()

    def tell_tangents(self) -> None:
        """Note the tangents that results have got in forward mode. A result gets its own when the ops have run that
        compute it, so it is looked for at several ops."""
        waiting, self.moving = self.moving, []
        for reference, number, patience in waiting:
            t = reference()
            moves = None if t is None or PRIVATE.tangent is None else PRIVATE.tangent(t)
            if moves is not None:
                self.log.append(("shares", number, {"tangent": self.seen.tensor(moves)}))
                self.on_tangent()
            elif t is not None and patience:
                self.moving.append([reference, number, patience - 1])

    def tell_written(self, op: Op) -> None:
        """Report the tensors that an op has written to."""
        for written in op.written:
            self.version(op, written)
        written_to = [t for written in op.written if (t := written.tensor()) is not None]
        if any(t.is_leaf and not t.requires_grad for t in written_to):  # it may be a `.grad`
            self.seen.tell_grads(op.at, op.depth, [id(t) for t in written_to])

    def record(self, op: Op, node: Any, outputs: list[Any]) -> tuple[int, list[int]]:
        """Report an op that made a node; return how many of its results the node has saved, and their numbers."""
        seen = self.seen
        name, targets, output_nrs, number = self.enter(node)
        made = [self.output(t, copy) for t, copy in zip(outputs, op.copies)]
        saved = seen.saved(node, [t for t in outputs if t is not None], op.packing)
        if saved is not None:
            self.tell_fills(op.depth, len(saved[0]))
        told = op.name if op.written else word(name)
        self.log.append(("record", op.at, op.depth, told, number, name, seen.order[number], targets, output_nrs,
                         op.given, made, saved, self.formula(node, name, number, saved), op.call))
        if self.times:
            self.log.append(("took", number, False, self.seconds))
        if name == "CopySlices":  # it hides what is saved
            return len(self.detached), made
        packed = saved is not None and any(copy is None for _, _, copy in saved[0])
        if not packed and not isinstance(node, BackwardCFunction) and PRIVATE.stored is not None:
            seen.silent.add(number)
        if saved is None:
            return 0, made
        return len(self.detached) if packed else sum(number in made for _, number, _ in saved[0]), made

    def call_of(self, *call: Any) -> Any:
        """Return minigrad's function that stands for an operator, if the arithmetic is kept."""
        return None if self.seen.previews.most == 1 else call_of(*call)

    def formula(self, node: Any, name: str, number: int, saved: Any) -> Any:
        """Return what knows the arithmetic of a node, if that is kept."""
        if self.seen.previews.most == 1:
            return None
        return self.seen.metas.note(node, name, number, self.seen.next[number],
                                    [row[0] for row in saved[0]] if saved else ())

    def tell_functions(self, depth: int) -> None:
        """Report the user's Functions that have finished."""
        tensors, self.returned = [reference() for reference in self.returned], []
        self.find_functions([t for t in tensors if t is not None], self.seen.at, depth)

    def find_functions(self, tensors: Iterable[Tensor], at: Any, depth: int) -> None:
        """Report the user's Functions that made these tensors: no op runs at the end of one."""
        for t in tensors:
            node = t.grad_fn if t.requires_grad else None
            if isinstance(node, BackwardCFunction) and self.seen.number_of(node) is None:
                at = self.seen.at = self.applied.get(type(node)._forward_cls, at)
                name, targets, output_nrs, number = self.enter(node)
                given = [self.seen.output_of(*edge) for edge in self.seen.next[number] if edge is not None]
                saved = self.seen.saved(node, (), packing())
                self.seen.join(t, number)
                self.log.append(("record", at, depth, word(name), number, name, node._sequence_nr(), targets,
                                 output_nrs, given, [self.seen.tensor(t)], saved))

    def enter(self, node: Any) -> tuple[str, list[int | None], list[int], int]:
        """Number a node that an op has made, after those that its edges lead to."""
        seen = self.seen
        edges = [None if fn is None else (seen.node(fn), int(nr)) for fn, nr in node.next_functions]
        number = seen.new_node(node)
        seen.next[number] = edges
        return (seen.name_of(node), [None if e is None else e[0] for e in edges],
                [0 if e is None else e[1] for e in edges], number)

    def tell_fills(self, depth: int, count: int | None = None) -> None:
        """Report what a checkpoint's run has found again: what one op saved, or everything."""
        for at, call, index, copy in self.fills[:count]:
            self.log.event("holder_filled", at, depth, call=call, index=index, value=copy)
        del self.fills[:count]

    def output(self, t: Any, copy: Any, before: bool = False) -> int:
        """Return the number of a result; one that nobody kept is reported all the same."""
        if t is not None:
            return self.seen.tensor(t, copy, before)
        number = self.seen.tensor_count
        self.seen.tensor_count += 1
        self.log.append(("tensor", False, None, 0, False, 0, 0, copy.dtype.itemsize, copy))
        self.log.append(("gone", number))
        return number

    def version(self, op: Op, written: Written) -> None:
        """An in-place op has changed a tensor; a view has its base's version."""
        number, t, base = written.number, written.tensor(), written.base()
        if t is not None:
            self.seen.changed(t)
            if base is not t and t.grad_fn is not None:
                self.log.append(("renewed", number, self.seen.node(t.grad_fn)))
        if base is None and not (written.version and written.others) or base is not None and base.is_inference():
            return
        others = {"others": written.others} if written.others else {}
        self.log.event("version", op.at, op.depth, tensor=number, value=written.copy,
                       version=written.version if base is None else base._version, **others)


def packing() -> bool:
    """Return whether the user's hooks pack what is saved now, where PyTorch does not show it afterwards."""
    return PRIVATE.stored is None and PRIVATE.packing()


def any_jagged(tensors: list[Tensor]) -> bool:
    """Return whether one of these tensors is a jagged one."""
    return not PLAIN.issuperset(map(type, tensors)) and any(map(is_jagged, tensors))


def word(name: str) -> str:
    """Return the name of the class of a node's op: `Mul` for MulBackward0."""
    return name.rpartition("Backward")[0] or name


def tensors_in(values: Iterable[Any]) -> list[Tensor]:
    """Return the tensors among an op's operands, and in lists of them."""
    found: list[Tensor] = []
    for value in values:
        if type(value) in PLAIN or isinstance(value, Tensor):
            found.append(value)
        elif isinstance(value, (list, tuple)):
            found += [v for v in value if isinstance(v, Tensor)]
    return found


KNOWN: dict[int, Facts] = {}  # by `id()` of an operator, which is kept alive: its hash is computed in Python


def facts_of(func: Any) -> Facts:
    """Return what is known of an operator."""
    known = KNOWN.get(id(func))
    if known is None:
        schema = func._schema
        places = [(i, a.name) for i, a in enumerate(schema.arguments) if schema.is_mutable
                  and a.alias_info is not None and a.alias_info.is_write]
        name = func.overloadpacket.__name__
        known = KNOWN[id(func)] = Facts(func, name, places, schema.is_mutable, func.namespace == "c10d",
                                        name in READING or name in EMPTY or name in UNTOLD)
    return known


def written_by(places: Iterable[tuple[int, str]], args: Any, kwargs: Any) -> Iterator[Tensor]:
    """Yield the operands that an op writes to."""
    for i, name in places:
        yield from tensors_in((args[i] if i < len(args) else kwargs.get(name),))
