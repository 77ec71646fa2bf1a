"""What few nodes and few tensors have: one slot of each, `rare`, holds it, and most leave it empty.

PyTorch keeps the same behind pointers that are null until needed: `AutogradMeta` of a tensor, `PyNode` and hook lists
of a node. For the engine an empty slot means that nothing unusual can happen here.
"""

from __future__ import annotations

import operator
import weakref
from typing import Any

from minigrad.autograd.hooks import NodeHooks

__all__ = ["NodeExtras", "TensorExtras", "extras_of"]


class Notes:
    """What there may be to say of a node, and of most there is not (`Node.output_nrs`, `versions`, `fit`)."""

    __slots__ = ("input_metadata", "output_nrs", "versions")

    def __init__(self) -> None:
        self.input_metadata: tuple[Any, ...] | None = None
        self.output_nrs: tuple[int, ...] | None = None
        self.versions: tuple[int, ...] | None = None


def noted(name: str) -> Any:
    """An attribute of nodes that is kept in their notes: None as long as there are none."""
    value_of = operator.attrgetter(name)

    def get(node: Any) -> Any:
        return None if node._notes is None else value_of(node._notes)

    def note(node: Any, value: Any) -> None:
        if value is None and node._notes is None:
            return
        if node._notes is None:
            node._notes = Notes()
        setattr(node._notes, name, value)

    return property(get, note)


class NodeExtras:
    """Of a node: its hooks and metadata; `handles` on saved values (`_raw_saved_self`); `watch`, by output number the
    version counters of its results (NOTE 2); `written`, the node of the view that its result was written into;
    `output_info`, shape, place and dtype of those outputs that somebody has asked the gradient edge of."""

    __slots__ = ("handles", "hooks", "metadata", "output_info", "watch", "written")

    def __init__(self) -> None:
        self.handles: weakref.WeakValueDictionary[int | None, Any] | None = None
        self.hooks: NodeHooks | None = None
        self.metadata: dict[Any, Any] | None = None
        self.watch: dict[int, Any] | None = None
        self.written: weakref.ref[Any] | None = None
        self.output_info: dict[int, tuple[tuple[int, ...], Any, Any]] = {}

    def watched(self) -> dict[int, Any]:
        """`watch`, made now if there was none."""
        if self.watch is None:
            self.watch = {}
        return self.watch


class TensorExtras:
    """Of a tensor.

    `hooks`, `post_accumulate`: of a leaf; `accumulator`: a weak reference to its AccumulateGrad, with the hooks that
    were hung on one and when (`kept_hooks`, `hooked_at`); `view`: what a view knows of itself, its node included
    (views.py); `detached_at`: the sequence number at which `detach_()` took it out of its graph, `retained` if it had
    asked for `retain_grad()` before; `inference`; `version_counter` and `output_nr`, as of PyTorch's tensors.
    """

    __slots__ = ("accumulator", "detached_at", "hooked_at", "hooks", "inference", "kept_hooks", "output_nr",
                 "post_accumulate", "retained", "version_counter", "view")

    def __init__(self) -> None:
        self.hooks: Any = None
        self.post_accumulate: Any = None
        self.accumulator: weakref.ref[Any] | None = None
        self.kept_hooks: NodeHooks | None = None
        self.hooked_at = 0
        self.view: Any = None
        self.detached_at = 0
        self.retained = False
        self.inference = False
        self.output_nr = 0
        self.version_counter: Any = None


def kept(name: str, usual: Any) -> Any:
    """An attribute of tensors that is kept in their rarely needed part: `usual` as long as there is none."""
    value_of = operator.attrgetter(name)

    def get(tensor: Any) -> Any:
        return usual if tensor._rare is None else value_of(tensor._rare)

    def keep(tensor: Any, value: Any) -> None:
        if value is not usual or tensor._rare is not None:
            setattr(extras_of(tensor), name, value)

    return property(get, keep)


def extras_of(tensor: Any) -> TensorExtras:
    """The rarely needed part of a tensor, made now if it was not there."""
    if tensor._rare is None:
        tensor._rare = TensorExtras()
    extras: TensorExtras = tensor._rare
    return extras
