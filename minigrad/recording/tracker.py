"""Tracks the tensors and nodes of a program while it is recorded: which numbers they have, and how long they live.

Objects go in; numbers, sizes and copies of small arrays come out and are added to the log, from which `encode` makes
the trace. `minigrad.recording.seen` and the PyTorch reader add how to read their library's tensors and nodes.

NOTE 1 (nothing is kept alive). A log holds no tensor. Objects are known here by their `id()`, which is theirs only as
long as they live: a weak reference to each reports when it has gone.

NOTE 2 (interrupts). Ctrl-C raises KeyboardInterrupt where a function begins, where one written in C has returned, or at
the end of a loop iteration, never between two plain assignments. What must agree (a table, a count and the log's entry)
is therefore computed first, and then stored by assignments, with the call of `log.append` as the last.
"""

import gc
import weakref
from collections.abc import Callable, Collection, Container, Iterator, Mapping
from hashlib import blake2b
from types import FrameType
from typing import Any

from minigrad._base.locks import new_lock
from minigrad.recording.bindings import Bindings
from minigrad.recording.builder import Kept, Large, Whole
from minigrad.recording.ledger import GRADIENT, OPTIMIZER, SAVED, WAITING
from minigrad.recording.names import Copies, ModulePaths, drop_refilled, held_by, names_in

__all__ = ["CHANGED", "NOWHERE", "OBSERVERS", "RARER", "Log", "TrackedRef", "Tracker"]

SHOWN = 64  # an array of at most this many values is copied whole
BUDGET = 200_000  # after this many numbers, only arrays of at most FEW values are: a long trace stays small
FEW = 8
WHOLE, WHOLE_IN_ALL = 10_000, 40_000  # a large array that no op made is copied too, up to this many values
TRIES = 100  # how often leaves are searched for in variables without success
NOWHERE = (None, None)  # no line of the user's code
CHANGED = -1  # in place of the count of writes to a tensor's memory: it has other memory now
# Makes the observer of `record`, from the class of its trace and whether it measures time. The core registers its own
# here, since the recorder is on a lower floor and cannot import it; the last one is used.
OBSERVERS: list[Callable[[type, bool], Any]] = []


class Log(list[tuple[Any, ...]]):
    """What is noted while a program runs: entries from which `Encoder` makes the trace."""

    calls = 0  # how many operations of several ranks have begun

    def event(self, kind: str, at: tuple[int | None, int | None], depth: int, /, **fields: Any) -> None:
        """Note an event, with the fields that the schema requires; a copy of an array stands for its preview."""
        self.append(("event", kind, at, depth, fields))

    def wait(self, node: int, output_nr: int, memory: tuple[int, int] | None) -> None:
        """Note the memory of the sum that waits at a node for an output; None if there is no gradient."""
        self.append(("hold", ("waiting", node, output_nr), () if memory is None else (memory,), WAITING, node))

    def grad(self, number: int, memory: tuple[int, int], tensor: int | None) -> None:
        """Note the memory of a tensor's `.grad`."""
        self.append(("let_go", ("grad", number)))
        self.append(("hold", ("grad", number), (memory,), GRADIENT, tensor))


class TrackedRef(weakref.ref[Any]):
    """A weak reference to a tensor or a node, with what is known about it."""

    __slots__ = ("array_id", "key", "number", "storage", "writes")

    array_id: int  # of the array that the tensor had when it was last read
    key: int
    number: Any
    storage: int  # for a tensor: what identifies its memory
    writes: int  # how often it had been written to when the tensor's record was made, or CHANGED


class Tracker:
    """What was seen and is alive. New facts go into `log`."""

    def __init__(self, log: Log) -> None:
        self.log = log
        self.tensors: dict[int, TrackedRef] = {}  # by id()
        self.nodes: dict[int, TrackedRef] = {}
        self.grads: dict[int, TrackedRef] = {}  # of tensors that are a .grad, by id()
        self.states: dict[int, TrackedRef] = {}  # of tensors that an optimizer remembers, by id()
        self.calls: dict[int, TrackedRef] = {}  # of functions that are checkpointed, by id()
        self.kept: dict[int, TrackedRef] = {}  # other holders of memory for a backward pass, by their own numbers
        self.writes: dict[int, int] = {}  # by storage: how often it was written to
        self.numbers: dict[int, int] = {}  # of nodes, of leaves, of their AccumulateGrads
        self.tensor_count = self.node_count = self.grad_count = self.call_count = self.kept_count = 0
        self.state_count = 0
        self.modules: list[weakref.ref[Any]] = []  # those that are running, the outermost first
        self.outermost: list[tuple[weakref.ref[Any], int]] = []  # modules called outside others, with their scope
        self.scope_count = 0
        self.base: Any = None  # the frame where the recording began, if variables of functions may be read
        self.unnamed: list[TrackedRef] = []  # leaves that are new since variables were last read
        self.local_names: list[tuple[Any, ...]] = []  # entries that name what variables of functions hold
        self.tries = TRIES
        self.paths = ModulePaths()
        self.copies: Copies = {}
        self.bindings = Bindings(log, self.tensors)
        self.left, self.limit, self.whole_left = BUDGET, SHOWN, WHOLE_IN_ALL
        self.arrays: dict[bytes, Kept] | None = None  # by their contents: all large arrays, if they are to be kept
        self.on_tensor_gone: Any = self.tensor_gone
        self.on_node_gone: Any = self.node_gone
        self.on_kept_gone: Any = self.kept_gone

    def copy(self, array: Any) -> Any:
        """Return what is kept of an array: a copy, or the statistics of a large one."""
        if array.size > self.limit:
            return Large(array) if self.arrays is None else self.keep_array(self.arrays, array)
        self.left -= array.size
        if self.left < 0:
            self.limit = FEW
        return array.copy()

    def keep_array(self, arrays: dict[bytes, Kept], array: Any) -> Kept:
        """Return a large array with all its values; equal ones are kept once."""
        copy = array.copy()
        digest = blake2b(repr((copy.dtype, copy.shape)).encode() + copy.tobytes(), digest_size=16).digest()
        if digest not in arrays:
            arrays[digest] = Kept(copy, digest)
        return arrays[digest]

    def copy_given(self, array: Any) -> Any:
        """Return what is kept of an array that no op made: from such arrays a reader can recompute all others."""
        return self.whole(self.copy(array), array)

    def whole(self, kept: Any, array: Any) -> Any:
        """Return what is kept of an array, with all its values beside its statistics while there is room for them."""
        if not isinstance(kept, Large) or array.size > min(WHOLE, self.whole_left):
            return kept
        self.whole_left -= array.size
        if isinstance(kept, Kept):
            kept.shown = True
            return kept
        return Whole(kept, array)

    def tensor(self, t: Any) -> Any:
        """Return the number of a tensor, noted now if it is new."""
        raise NotImplementedError

    def wrote(self, storage: int) -> None:
        """Memory was written to: copies of the tensors stored there are out of date."""
        self.writes[storage] = self.writes.get(storage, 0) + 1

    def others(self, storage: int, written: Container[int]) -> list[tuple[int, Any]]:
        """Return what tensors stored in memory that was written to hold now, except those that the op itself wrote."""
        there = [ref for ref in list(self.tensors.values()) if ref.storage == storage and ref.key not in written]
        alive = [(ref, ref()) for ref in there]
        return [(ref.number, self.looked_at(t)) for ref, t in alive if t is not None and ref.number is not None]

    def lying_in(self, storages: Collection[int]) -> dict[str, list[tuple[int, Any]]]:
        """What tensors, and the `.grad` of leaves, hold now in memory that something other than an op wrote to."""
        for storage in storages:
            self.wrote(storage)
        written = [entry for storage in storages for entry in self.others(storage, ())]
        leaves = [(ref.number, t) for ref in list(self.tensors.values()) if (t := ref()) is not None and t.is_leaf]
        grads = [(number, self.looked_at(t.grad)) for number, t in leaves if number is not None and t.grad is not None
                 and self.storage_of(t.grad) in storages]
        return {name: entries for name, entries in (("written", written), ("grads", grads)) if entries}

    def storage_of(self, t: Any) -> int:
        """Return the memory in which a tensor is stored."""
        return self.memory_of(t)[0]

    def memory_of(self, t: Any) -> tuple[int, int]:
        """Return the memory in which a tensor is stored, and its bytes."""
        raise NotImplementedError

    def looked_at(self, t: Any) -> Any:
        """Return what is kept of the values that a tensor has now."""
        raise NotImplementedError

    def is_fresh(self, ref: TrackedRef) -> bool:
        """Return whether a tensor's values are still those of its record."""
        return ref.writes == self.writes.get(ref.storage, 0)

    def tensor_gone(self, ref: TrackedRef) -> None:
        key = ref.key
        if key in self.tensors:  # without calls: a profile function would be told of each
            del self.tensors[key]
        if key in self.numbers:
            del self.numbers[key]
        self.log.append(("gone", ref.number))

    def grad_gone(self, ref: TrackedRef) -> None:
        self.grads.pop(ref.key, None)
        self.log.append(("let_go", ("grad", ref.number)))

    def hold_state(self, optimizer: Any) -> None:
        """Count the memory of what an optimizer remembers as its state, for as long as that lives."""
        for parameter, state in list(optimizer.state.items()):
            who = self.tensor_number(parameter)
            for t in tensors_of(state):
                ref = self.states.get(id(t))
                if ref is None or ref.storage != self.storage_of(t):
                    self.track_state(t, who, ref)

    def track_state(self, t: Any, who: int | None, known: TrackedRef | None) -> None:
        """Note a tensor that an optimizer remembers about a parameter, or that a known one has other memory."""
        key, ref, number, hold = id(t), TrackedRef(t, self.state_gone), self.state_count, self.memory_of(t)
        ref.key, ref.number, ref.storage = key, number if known is None else known.number, hold[0]
        self.states[key] = ref
        self.state_count = number + 1
        self.log.append(("hold", ("state", ref.number), (hold,), OPTIMIZER, who))

    def state_gone(self, ref: TrackedRef) -> None:
        self.states.pop(ref.key, None)
        self.log.append(("let_go", ("state", ref.number)))

    def node_gone(self, ref: TrackedRef) -> None:
        key = ref.key
        self.nodes.pop(key, None)
        self.numbers.pop(key, None)
        self.log.append(("let_go", ("saved", ref.number)))

    # modules
    def module_begin(self, module: Any) -> None:
        """A module is called; inside another one it is known by its path from there."""
        running = [owner for each in reversed(self.modules) if (owner := each()) is not None]
        name = self.paths.path(module, running)
        outermost: list[tuple[weakref.ref[Any], int]] = []
        called: list[tuple[Any, ...]] = []
        if not self.modules:
            outermost = [(weakref.ref(module), self.scope_count)]
            found = names_in(self.base, {id(module): module}, self.copies, self.paths).values()
            called = [("scope_name", self.scope_count, variable) for variable, _ in found]
        entry, reference = ("module_begin", name, type(module).__name__), weakref.ref(module)
        self.outermost += outermost  # from here on, see NOTE 2
        self.local_names += called
        self.scope_count += 1
        self.modules += [reference]
        self.log.append(entry)

    def module_end(self, given: Any, result: Any, raised: bool) -> None:
        """The module call that began last is over, with these arguments and this result, or it raised."""
        if raised and (module := self.modules[-1]()) is not None:  # what met there, even if no op has seen it
            given = given, list(module._parameters.values())
            for t in tensors_of(given):
                self.tensor(t)
        entry = ("module_end", self.numbers_in(given), None if raised else self.numbers_in(result))
        self.modules.pop()
        self.log.append(entry)

    def transform_begin(self, name: str) -> None:
        """A transform of functions begins to run its function: a frame like that of a module, but of its own name."""
        self.scope_count += 1
        self.log.append(("module_begin", name, name.split()[0]))

    def transform_end(self, raised: bool) -> None:
        """It has run."""
        self.log.append(("module_end", [], None if raised else []))

    def numbers_in(self, value: Any) -> list[int]:
        """Return the numbers of the tensors in a value, at any depth, that were seen."""
        return [number for t in tensors_of(value) if (number := self.tensor_number(t)) is not None]

    # checkpoints
    def call(self, call: Any) -> int:
        """Return the number of a checkpointed call."""
        ref = self.calls.get(id(call))
        if ref is None or ref() is not call:
            key, ref = id(call), TrackedRef(call)
            ref.number = self.call_count
            self.calls[key] = ref
            self.call_count += 1
        number: int = ref.number
        return number

    def keep(self, owner: Any, holds: list[tuple[int, int]]) -> None:
        """Count this memory as saved for as long as `owner` lives."""
        ref = TrackedRef(owner, self.on_kept_gone)
        ref.number = self.kept_count
        self.kept[ref.number] = ref
        self.kept_count += 1
        self.log.append(("hold", ("kept", ref.number), holds, SAVED))

    def kept_gone(self, ref: TrackedRef) -> None:
        self.kept.pop(ref.number, None)
        self.log.append(("let_go", ("kept", ref.number)))

    # the end
    def tensor_number(self, value: Any) -> int | None:
        """Return the number of a tensor that was seen, else None; any other object is left untouched."""
        ref = self.tensors.get(id(value))
        return ref.number if ref is not None and ref() is value else None

    def name_leaves(self) -> None:
        """Name new leaves after the variables of the running functions, for want of better names."""
        refs, self.unnamed = self.unnamed, []
        leaves = {ref.key: leaf for ref in refs if (leaf := ref()) is not None}
        if not leaves or self.tries == 0:
            return
        found = names_in(self.base, leaves, self.copies, self.paths)
        self.tries -= not found
        self.local_names += [("name", ref.number, *found[ref.key]) for ref in refs if ref.key in found]

    def look_at_names(self, frame: FrameType) -> None:
        """An op runs, called from `frame`: find what the names of the running functions hold."""
        if self.base is not None and self.bindings.files:
            self.bindings.look(frame, self.base, self.copies)

    def leave(self, frame: FrameType) -> None:
        """A function is about to return, as a profile function is told: the copy of its variables, which Python then
        writes back, stays unchanged."""
        self.bindings.leave(id(frame), frame.f_locals)

    def drop_copies(self) -> None:
        """Empty the copies of functions' variables that Python has refilled."""
        if self.copies:
            drop_refilled(self.copies)

    def name_tensors(self, names: Mapping[str, Any]) -> None:
        """Name tensors after the variables that hold them, parameters after their modules; the first name counts."""
        scopes: dict[int, list[int]] = {}
        for reference, scope in self.outermost:
            if (module := reference()) is not None:
                scopes.setdefault(id(module), []).append(scope)
        self.bindings.leave(self.bindings.within, names)
        numbers = {key: each.number for key, each in list(self.tensors.items())
                   if each.number is not None and each() is not None}
        held = [*held_by(names, numbers.keys() | scopes, self.paths)]
        if self.bindings.rebound:
            held.sort(key=lambda entry: entry[1] in self.bindings.rebound)
        for key, name, is_path in held:
            if key in numbers:
                self.log.append(("name", numbers[key], name, is_path))
            elif not is_path:
                self.log.extend([("scope_name", scope, name) for scope in scopes[key]])
        self.log.extend(self.local_names)

    def forget(self) -> None:
        """Stop watching."""
        self.base = None
        self.drop_copies()
        self.copies.clear()
        for table in (self.tensors, self.nodes, self.grads, self.states, self.calls, self.kept, self.numbers):
            table.clear()
        self.on_tensor_gone = self.on_node_gone = self.on_kept_gone = None  # these were a cycle


def tensors_of(state: Any) -> Iterator[Any]:
    """Yield the tensors in a value, at any depth of dicts, lists and tuples."""
    if hasattr(type(state), "requires_grad"):
        yield state
    elif isinstance(state, (Mapping, list, tuple)):
        for each in list(state.values() if isinstance(state, Mapping) else state):
            yield from tensors_of(each)


class RarerCollections:
    """Raises the threshold of garbage collections while a recorder is on: a log makes many more containers than the
    program does. So collections run about as often as without a recorder. The threshold is that of the process:
    recorders of several threads share it, and one that the user sets meanwhile stays."""

    MORE = 8  # how many containers a recorded op leaves behind for each one that an unrecorded op leaves

    def __init__(self) -> None:
        self.lock = new_lock()
        self.on: weakref.WeakSet[Any] = weakref.WeakSet()  # the observers that listen, of all threads
        self.usual, self.raised = gc.get_threshold(), (0, 0, 0)

    def start(self, observer: Any) -> None:
        """An observer begins to listen."""
        with self.lock:
            if not self.on and gc.get_threshold() != self.raised:
                self.usual = gc.get_threshold()
                self.raised = (min(self.usual[0] * self.MORE, 1 << 30), *self.usual[1:])
                gc.set_threshold(*self.raised)
            self.on.add(observer)

    def stop(self, observer: Any) -> None:
        """An observer stops listening, if it did."""
        with self.lock:
            self.on.discard(observer)
            if not self.on and gc.get_threshold() == self.raised:
                gc.set_threshold(*self.usual)


RARER = RarerCollections()
