"""Counts the bytes that are held, and by what, for the recorder's `bytes`, `held` and `dropped`.

A storage is the memory that an array owns; views share the storage of their base. It is counted once, whoever holds
it. The ledger knows sizes and the identity of the owner, never the array itself.
"""

__all__ = ["ACTIVATION", "GRADIENT", "OPTIMIZER", "PARAMETER", "SAVED", "WAITING", "Ledger", "Storage"]

PARAMETER, ACTIVATION, SAVED, GRADIENT = range(4)
WAITING = 4  # a gradient that no `.grad` holds: one that has arrived at a node
OPTIMIZER = 5  # the state of an optimizer
COUNTED = (0, 1, 2, 3, 3, 4)  # by kind of holder: its place in `bytes` (docs/trace.md)
NONE = -1
Holder = tuple[int, int | None]  # the kind, and which tensor or node; None where it has no record


class Storage:
    """One storage: `holders` counts its holders by kind, `who` one by one; `kind` is what it counts as now."""

    __slots__ = ("holders", "key", "kind", "number", "size", "who")

    def __init__(self, key: int, size: int, number: int) -> None:
        self.key, self.size, self.number, self.kind = key, size, number, NONE
        self.holders = [0, 0, 0, 0, 0]
        self.who: dict[Holder, int] = {}


class Ledger:
    """The storages that are alive, and `totals`: bytes of parameters, activations, saved tensors, gradients and
    the state of optimizers.

    `sizes`: of all storages, by number. `changed`: who has begun (1) or ceased (-1) to hold one since it was last read.
    """

    def __init__(self) -> None:
        self.live: dict[int, Storage] = {}
        self.totals = [0, 0, 0, 0, 0]
        self.sizes: list[int] = []
        self.changed: dict[tuple[int, int, int | None], int] = {}

    def hold(self, key: int, size: int, what: int, who: int | None = None) -> Storage:
        """Add a holder of this kind to the storage whose owner has the `id()` `key`."""
        storage = self.live.get(key)
        if storage is not None and storage.size != size:  # the id of one that died unnoticed
            storage.holders = [0, 0, 0, 0, 0]
            self.note(storage, -1)
            storage.who.clear()
            self.settle(storage)
            storage = None
        if storage is None:
            storage = self.live[key] = Storage(key, size, len(self.sizes))
            self.sizes.append(size)
        storage.holders[COUNTED[what]] += 1
        count = storage.who.get((what, who), 0)
        storage.who[what, who] = count + 1
        if not count:
            self.mark(storage.number, what, who, 1)
        self.settle(storage)
        return storage

    def drop(self, storage: Storage | None, what: int, who: int | None = None) -> None:
        """Remove a holder."""
        count = 0 if storage is None else storage.who.get((what, who), 0)
        if storage is None or not count:
            return
        storage.holders[COUNTED[what]] -= 1
        storage.who[what, who] = count - 1
        if count == 1:
            del storage.who[what, who]
            self.mark(storage.number, what, who, -1)
        self.settle(storage)

    def move(self, storage: Storage, key: int, size: int) -> None:
        """Make all holders of a storage hold another one."""
        if self.live.get(storage.key) is storage:
            del self.live[storage.key]
        if storage.kind != NONE:
            self.totals[storage.kind] += size - storage.size
        if size != storage.size:
            self.note(storage, -1)
            storage.number = len(self.sizes)
            self.sizes.append(size)
            self.note(storage, 1)
        storage.key, storage.size = key, size
        self.live[key] = storage

    def note(self, storage: Storage, by: int) -> None:
        """Note that all holders of a storage have begun or ceased to hold it."""
        for holder in storage.who:
            self.mark(storage.number, *holder, by)

    def mark(self, number: int, what: int, who: int | None, by: int) -> None:
        """Note that one holder has begun or ceased to hold a storage; the two cancel out."""
        left = self.changed.pop((number, what, who), 0) + by
        if left:
            self.changed[number, what, who] = left

    def settle(self, storage: Storage) -> None:
        """Count a storage under its first kind (parameter, optimizer, saved, gradient, activation), or no longer."""
        parameters, activations, saved, gradients, states = storage.holders
        kind = (PARAMETER if parameters else COUNTED[OPTIMIZER] if states else SAVED if saved
                else GRADIENT if gradients else ACTIVATION if activations else NONE)
        if kind != storage.kind:
            if storage.kind != NONE:
                self.totals[storage.kind] -= storage.size
            if kind != NONE:
                self.totals[kind] += storage.size
            elif self.live.get(storage.key) is storage:
                del self.live[storage.key]
            storage.kind = kind
