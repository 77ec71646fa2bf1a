"""How many bytes are held, and by what: the honest count behind the recorder's `bytes`.

A storage is the memory that an array owns; views share the storage of their base. It is counted once, whoever holds
it. The ledger knows sizes and the identity of the owner, never the array itself.
"""

from __future__ import annotations

__all__ = ["ACTIVATION", "GRADIENT", "PARAMETER", "SAVED", "Ledger", "Storage"]

PARAMETER, ACTIVATION, SAVED, GRADIENT = range(4)  # the order of `bytes` in docs/trace.md
NONE = -1


class Storage:
    """One storage: `holders` counts its holders of each kind, `kind` is the one under which it is counted now."""

    __slots__ = ("holders", "key", "kind", "number", "size")

    def __init__(self, key: int, size: int, number: int) -> None:
        self.key, self.size, self.number, self.kind = key, size, number, NONE
        self.holders = [0, 0, 0, 0]


class Ledger:
    """The storages that are alive, and `totals`: bytes of parameters, activations, saved tensors and gradients."""

    def __init__(self) -> None:
        self.live: dict[int, Storage] = {}
        self.totals = [0, 0, 0, 0]
        self.made = 0

    def hold(self, key: int, size: int, kind: int) -> Storage:
        """One more holder, of this kind, of the storage whose owner has the `id()` key."""
        storage = self.live.get(key)
        if storage is not None and storage.size != size:  # the id of one that died unnoticed
            storage.holders = [0, 0, 0, 0]
            self.settle(storage)
            storage = None
        if storage is None:
            storage = self.live[key] = Storage(key, size, self.made)
            self.made += 1
        storage.holders[kind] += 1
        self.settle(storage)
        return storage

    def drop(self, storage: Storage | None, kind: int) -> None:
        """One holder less."""
        if storage is not None and storage.holders[kind]:
            storage.holders[kind] -= 1
            self.settle(storage)

    def move(self, storage: Storage, key: int, size: int) -> None:
        """All holders of a storage have another one now."""
        if self.live.get(storage.key) is storage:
            del self.live[storage.key]
        if storage.kind != NONE:
            self.totals[storage.kind] += size - storage.size
        storage.key, storage.size = key, size
        self.live[key] = storage

    def settle(self, storage: Storage) -> None:
        """Count a storage under its first kind of holder: parameter, saved, gradient, activation; or no more."""
        parameters, activations, saved, gradients = storage.holders
        kind = (PARAMETER if parameters else SAVED if saved else GRADIENT if gradients
                else ACTIVATION if activations else NONE)
        if kind != storage.kind:
            if storage.kind != NONE:
                self.totals[storage.kind] -= storage.size
            if kind != NONE:
                self.totals[kind] += storage.size
            elif self.live.get(storage.key) is storage:
                del self.live[storage.key]
            storage.kind = kind
