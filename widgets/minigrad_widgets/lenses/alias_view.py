"""The alias view: which tensors share memory, what version it has, and which node saved which version. For lesson 8.

    AliasView(trace)

Each storage is a row of elements, with the tensors that share it below: views, and results of `detach()` and `.data`.
Nodes that have saved one of them are at the bottom, with the version at which they did; where the counter has moved on,
the backward pass will raise, and where the values were changed unnoticed, the gradient will be wrong. Stepping works in
both directions, without a kernel; what is shown is computed here, once, by `aliases`.

A storage is memory that one or several tensors show. A version counter counts writes to it: a tensor shares the counter
with its views and with results of `detach()`, but not of `.data`. A node that saves a tensor notes the version, and
raises an error if it finds another one. All this follows from the events of a trace.
"""

from __future__ import annotations

from collections.abc import Container
from itertools import product
from typing import Any, TypedDict

import traitlets

from minigrad.recorder import Trace
from minigrad.trace.format import Data, Names, number, shape_text
from minigrad.trace.sentences import describe
from minigrad_widgets.widget.base import Widget

KINDS = ("forward", "save", "version", "backward_start", "run", "release", "error", "backward_end")
CELLS = 16
CHANGED = "modified by an inplace operation"


class Seen(TypedDict):
    """A tensor of a storage: since which step, how it came to share it, and which elements it shows (None: unknown)."""

    tensor: int
    name: str
    shape: str
    kind: str
    counter: int
    since: int
    cells: list[int] | None


class Save(TypedDict):
    """A tensor that a node saved at a version; `released`, `raised`, `wrong`: the steps of these, or None.

    `raised`: the pass found another version. `wrong`: the values were changed without a new version.
    """

    node: str
    name: str
    tensor: int
    counter: int
    version: int
    step: int
    released: int | None
    raised: int | None
    wrong: int | None


class Storage(TypedDict):
    """One storage: how many of its elements are known, which tensors show it, what was written, who saved it."""

    storage: int
    size: int
    tensors: list[Seen]
    writes: list[tuple[int, dict[int, str]]]
    saves: list[Save]


class Aliases(TypedDict):
    """The storages that are shared, written to or saved; the versions of the counters, by step; the steps in words."""

    storages: list[Storage]
    versions: list[tuple[int, int, int]]
    steps: list[tuple[int, str]]


def status(save: Save, versions: dict[int, int], step: int) -> str:
    """Return what has become of a saved tensor at a step."""
    if save["raised"] is not None and save["raised"] <= step:
        return f"✗ raised: it is at version {versions[save['counter']]}"
    if save["released"] is not None and save["released"] <= step:
        return "– released"
    now = versions[save["counter"]]
    if now != save["version"]:
        return f"✗ now at version {now}: backward will raise"
    if save["wrong"] is not None and save["wrong"] <= step:
        return "! changed, and the version does not tell: the gradient will be wrong"
    return "✓ unchanged"


class AliasView(Widget):
    """Shows the memory behind a trace's tensors; `step` can be set and observed, as an inspector's."""

    STATE = ("aliases", "step")
    PICTURE = "alias_view"

    aliases = traitlets.Dict(help="what is shown, by step").tag(sync=True)
    step = traitlets.Int(0, help="the event that is shown").tag(sync=True)

    def __init__(self, trace: Trace, step: int | None = None) -> None:
        self._found: Aliases = aliases(trace.to_dict())
        self._steps = [each for each, _ in self._found["steps"]]
        first = self._steps[0] if self._steps else 0
        super().__init__(aliases=dict(self._found), step=first if step is None else step)

    @traitlets.validate("step")
    def _known_step(self, proposal: dict[str, Any]) -> int:
        """Return the last stop at or before the requested step."""
        return max((each for each in self._steps if each <= int(proposal["value"])), default=self._first())

    def _first(self) -> int:
        return self._steps[0] if self._steps else 0

    @property
    def versions(self) -> dict[int, int]:
        """The version of each counter at this step, by the tensor that it is named after."""
        return {counter: version for step, counter, version in self._found["versions"] if step <= self.step}

    @property
    def storages(self) -> list[Storage]:
        """The storages that are known at this step, with their known tensors and saves."""
        now = self.step
        shown = []
        for each in self._found["storages"]:
            tensors = [seen for seen in each["tensors"] if seen["since"] <= now]
            saves = [save for save in each["saves"] if save["step"] <= now]
            if tensors:
                shown.append(Storage(storage=each["storage"], size=each["size"], tensors=tensors,
                                     writes=[(step, cells) for step, cells in each["writes"] if step <= now],
                                     saves=saves))
        return shown

    def _told(self) -> str:
        """What happened at this step. Without its number, which would not be that of the counter: most are left out."""
        return dict(self._found["steps"]).get(self.step, "nothing was recorded")

    @property
    def text(self) -> str:
        """The storages at this step in words."""
        lines = [f"AliasView, {self._told()}"]
        versions = self.versions
        for storage in self.storages:
            memory = contents(storage)
            lines.append(f"storage {storage['storage']}" + (f": {' '.join(memory)}" if memory else ""))
            for seen in storage["tensors"]:
                lines.append(f"  {seen['name']} {seen['shape']}, version {versions[seen['counter']]}: "
                             f"{seen['kind']}{looks_at(seen['cells'], storage['size'])}")
            names = {seen["tensor"]: seen["name"] for seen in storage["tensors"]}
            for save in storage["saves"]:
                lines.append(f"  {save['node']} saved {names[save['tensor']]} ({save['name']}) at version "
                             f"{save['version']}: {status(save, versions, self.step)}")
        return "\n".join(lines)

def contents(storage: Storage) -> list[str]:
    """Return the known elements of a storage; empty for a large one."""
    known: dict[int, str] = {}
    for _, cells in storage["writes"]:
        known.update(cells)
    return [known.get(cell, "?") for cell in range(storage["size"])]


def looks_at(cells: list[int] | None, size: int) -> str:
    """Return which elements a tensor shows, unless it shows all of them in order."""
    return "" if cells is None or cells == list(range(size)) else f", elements {' '.join(map(str, cells))}"


def aliases(data: Data) -> Aliases:
    """Return what a trace says about shared memory."""
    return _Reading(data).replay()


class _Reading:
    """One trace, read once from its beginning to its end."""

    def __init__(self, data: Data) -> None:
        self.data, self.words, self.tensors = data, Names(data), data["tensors"]
        self.since: dict[int, int] = {}
        self.begun = {who: step for step, event in reversed(list(enumerate(data["events"])))
                      for _, what, who in event.get("held", ()) if what < 2}  # by tensor: when it first existed
        self.looked: set[int] = set()
        self.storages: dict[int, Storage] = {}
        self.version: dict[int, int] = {}
        self.versions: list[tuple[int, int, int]] = []
        self.saved: dict[int, list[Save]] = {}  # by node
        self.op = ""
        self.running: int | None = None

    def replay(self) -> Aliases:
        for step, event in enumerate(self.data["events"]):
            for tensor in [each for each, begun in self.begun.items() if begun == step]:
                self.meet(tensor, step)
            for tensor in self.named(event):
                self.meet(tensor, step)
                self.look(tensor, step)
            rule = getattr(self, f"on_{event['kind']}", None)
            if rule is not None:
                rule(step, event)
        shown = [each for each in self.storages.values() if self.matters(each)]
        steps = [(step, describe(self.words, event)) for step, event in enumerate(self.data["events"])
                 if event["kind"] in KINDS]
        return {"storages": shown, "versions": self.versions, "steps": steps}

    def matters(self, storage: Storage) -> bool:
        written = any(counter == seen["counter"] and version > 0
                      for _, counter, version in self.versions for seen in storage["tensors"])
        return len(storage["tensors"]) > 1 or written or bool(storage["saves"])

    def named(self, event: Data) -> list[int]:
        """Return the tensors that an event names."""
        found = [*(event.get("inputs") or []), *event.get("outputs", []), event.get("tensor")]
        if event["kind"] == "save":
            found += [tensor for _, tensor, _ in self.data["nodes"][event["node"]]["saved"]]
        return [each for each in found if each is not None]

    def meet(self, tensor: int, step: int) -> None:
        """Note a tensor that begins, or is named for the first time, after the one that it shares memory with."""
        if tensor in self.since:
            return
        self.since[tensor] = step
        record = self.tensors[tensor]
        for other in (record.get("base"), record.get("counter")):
            if other is not None:
                self.meet(other, step)
        number_ = record["storage"]
        storage = self.storages.setdefault(number_, {"storage": number_, "size": 0, "tensors": [], "writes": [],
                                                     "saves": []})
        counter, cells = self.counter(tensor), self.cells(record)
        seen: Seen = {"tensor": tensor, "name": self.words.tensor(tensor), "shape": shape_text(record["shape"]),
                      "kind": self.kind(tensor, storage), "counter": counter, "since": step, "cells": cells}
        storage["tensors"].append(seen)
        storage["size"] = max([storage["size"], *(cell + 1 for cell in cells or ())])
        if counter not in self.version:
            self.version[counter] = record.get("version", 0)
            self.versions.append((step, counter, self.version[counter]))

    def look(self, tensor: int, step: int) -> None:
        """Write down what a tensor holds when an event first names it: its record has no earlier values."""
        if tensor in self.looked:
            return
        self.looked.add(tensor)
        record = self.tensors[tensor]
        for other in (record.get("base"), record.get("counter")):
            if other is not None:
                self.look(other, step)
        storage, cells = self.storages[record["storage"]], self.cells(record)
        before = self.begun.get(tensor, step) < step  # what it held then may have been overwritten since
        known = {cell for _, written in storage["writes"] for cell in written} if before else set()
        self.write(storage, step, cells, record["value"], known)

    def counter(self, tensor: int) -> int:
        """Return the tensor after which a version counter is named: the first one that has it."""
        record = self.tensors[tensor]
        shared = record.get("counter", record.get("base"))
        return tensor if shared is None else self.counter(shared)

    def kind(self, tensor: int, storage: Storage) -> str:
        record = self.tensors[tensor]
        if record.get("base") is not None:
            return f"a view of {self.words.tensor(record['base'])}"
        if record.get("counter") is not None:
            return f"detached from {self.words.tensor(record['counter'])}: one version counter"
        if storage["tensors"]:
            own = ", with a version counter of its own" if self.data["library"].startswith("minigrad") else ""
            return f"the memory of {storage['tensors'][0]['name']}{own}"
        return "the first tensor in this memory"

    def cells(self, record: Data) -> list[int] | None:
        """Return the places of a tensor's elements in its storage; None for a large one."""
        shape, size = record["shape"], 1
        for length in shape:
            size *= length
        if size > CELLS:
            return None
        strides = record.get("strides")
        if strides is None:
            return list(range(size))
        first = record.get("offset", 0)
        return [first + sum(i * step for i, step in zip(index, strides, strict=True))
                for index in product(*map(range, shape))]

    def write(self, storage: Storage, step: int, cells: list[int] | None, value: int | None,
              known: Container[int] = ()) -> None:
        preview = self.words.value(value)
        if cells is None or preview is None or "data" not in preview:
            return
        texts = [number(each, preview["dtype"]) for each in preview["data"]]
        written = zip(cells, texts, strict=False)
        storage["writes"].append((step, {cell: text for cell, text in written if cell not in known}))

    def on_forward(self, step: int, event: Data) -> None:
        self.op = event["op"]

    def on_save(self, step: int, event: Data) -> None:
        node = event["node"]
        for name, tensor, _ in self.data["nodes"][node]["saved"]:
            if tensor is None:
                continue
            counter = self.counter(tensor)
            # An in-place op saves its result as it is after the write, which the next event reports.
            ahead = name == "result" and self.op.endswith("_") and self.written_next(step, counter)
            save: Save = {"node": self.words.node(node), "name": name, "tensor": tensor, "counter": counter,
                          "version": self.version[counter] + ahead, "step": step, "released": None, "raised": None,
                          "wrong": None}
            self.saved.setdefault(node, []).append(save)
            self.storages[self.tensors[tensor]["storage"]]["saves"].append(save)

    def written_next(self, step: int, counter: int) -> bool:
        later = self.data["events"][step + 1: step + 2]
        return any(event["kind"] == "version" and self.counter(event["tensor"]) == counter for event in later)

    def on_version(self, step: int, event: Data) -> None:
        tensor = event["tensor"]
        counter, storage = self.counter(tensor), self.storages[self.tensors[tensor]["storage"]]
        self.version[counter] = event["version"]
        self.versions.append((step, counter, event["version"]))
        cells = self.cells(self.tensors[tensor])
        self.write(storage, step, cells, event.get("value"))
        for save in storage["saves"]:
            theirs = self.cells(self.tensors[save["tensor"]])
            apart = cells is not None and theirs is not None and not set(cells) & set(theirs)
            if save["counter"] != counter and save["wrong"] is None and not apart:
                save["wrong"] = step

    def on_run(self, step: int, event: Data) -> None:
        self.running = event["node"]

    def on_release(self, step: int, event: Data) -> None:
        for save in self.saved.get(event["node"], ()):
            save["released"] = save["released"] or step

    def on_error(self, step: int, event: Data) -> None:
        if CHANGED not in event["message"] or self.running is None:
            return
        stale = [save for save in self.saved.get(self.running, ()) if save["version"] != self.version[save["counter"]]]
        for save in stale[:1]:
            save["raised"] = step
