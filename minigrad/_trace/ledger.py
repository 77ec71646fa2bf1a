"""How many bytes are held, and by what: the honest count behind the recorder's `bytes`.

A storage is the memory that an array owns; views share the storage of their base. It is counted once, whoever holds
it. The ledger keeps sizes and the identity of the owner, never the array itself: a ledger that kept memory alive would
falsify what it counts.
"""

from __future__ import annotations

from typing import Any

__all__ = ["ACTIVATION", "GRADIENT", "PARAMETER", "SAVED", "SERIAL", "Ledger", "Storage"]

PARAMETER, ACTIVATION, SAVED, GRADIENT = range(4)  # the order of `bytes` in docs/trace.md

# A storage is a list, since an object costs four times as much to make: first how many holders of each kind it has, then
Storage = list[int]
KEY, SIZE, SERIAL, KIND = 4, 5, 6, 7  # id() of its owner, bytes, its number, the kind under which it is counted now
NONE = -1


class Ledger:
    """The storages that are alive, and `totals`: bytes of parameters, activations, saved tensors and gradients."""

    __slots__ = ("changed", "live", "made", "totals")

    def __init__(self) -> None:
        self.live: dict[int, Storage] = {}
        self.totals = [0, 0, 0, 0]
        self.made = 0
        self.changed = False

    def hold(self, array: Any, kind: int) -> Storage:
        """One more holder, of this kind, of the storage behind an array."""
        base = array.base
        while base is not None:
            array, base = base, getattr(base, "base", None)
        key, size = id(array), getattr(array, "nbytes", 0)  # 0: memory that is no array's, a file or a bytes object
        storage = self.live.get(key)
        if storage is not None:
            if storage[SIZE] == size:
                storage[kind] += 1
                if storage[KIND] != kind:
                    self.settle(storage)
                return storage
            storage[:KEY] = 0, 0, 0, 0  # the id of one that died unnoticed
            self.settle(storage)
        storage = self.live[key] = [0, 0, 0, 0, key, size, self.made, kind]
        storage[kind] = 1
        self.made += 1
        self.totals[kind] += size
        self.changed = True
        return storage

    def drop(self, storage: Storage, kind: int) -> None:
        """One holder less."""
        left = storage[kind] - 1
        if left >= 0:
            storage[kind] = left
            if left == 0 and storage[KIND] == kind:
                self.settle(storage)

    def settle(self, storage: Storage) -> None:
        """Count a storage under its first kind of holder: parameter, saved, gradient, activation; or no more."""
        kind = (PARAMETER if storage[PARAMETER] else SAVED if storage[SAVED] else GRADIENT if storage[GRADIENT]
                else ACTIVATION if storage[ACTIVATION] else NONE)
        before = storage[KIND]
        if kind != before:
            if before != NONE:
                self.totals[before] -= storage[SIZE]
            if kind != NONE:
                self.totals[kind] += storage[SIZE]
            else:
                self.live.pop(storage[KEY], None)
            storage[KIND] = kind
            self.changed = True
