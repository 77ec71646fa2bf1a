"""Recording: how the result of an op gets its history. Mirrors what PyTorch's generated `VariableType.cpp` does.

Every op ends in one of these functions. Whether a result requires grad is decided here and nowhere else: it does if an
input does and grad mode is on. Straight code for one and for two inputs, general code for more; whatever is unusual
(a grad mode, saved-tensor hooks, an observer) is behind one truth test of a global count.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np

from minigrad.autograd.anomaly_mode import ANOMALY
from minigrad.autograd.observed import CONSTANTS
from minigrad.autograd.saved_hooks import pack_all
from minigrad.autograd.views import MANY, edge_of, share
from minigrad.backends.registry import Apart, Several, check_in_use, info_of
from minigrad.core.grad_mode import LOCAL, UNUSUAL
from minigrad.core.graph import ManyOutputs, Node, next_sequence_nr
from minigrad.core.saved import versions_of
from minigrad.core.tensor import Tensor, blank, plain

__all__ = ["NUMBER", "node_for", "record1", "record2", "record_many", "record_n", "record_view"]

N = TypeVar("N", bound=Node)
BETWEEN = ("Copy", "ToCopy")  # ops that lead from one device to another
Several.notice.append(lambda known: UNUSUAL.add(1 if known else -1))
NUMBER = plain(np.zeros(()))  # stands for an operand that is a Python number: an input without an edge
CONSTANTS.append(NUMBER)


def record1(cls: type[Node], array: Any, a: Tensor, saved: tuple[Any, ...] = (), const: tuple[Any, ...] = (),
            input_metadata: tuple[Any, ...] | None = None) -> Tensor:
    """The result `array` of an op with one input."""
    if UNUSUAL.count:
        return record_unusual(cls, array, (a,), saved, const, input_metadata)
    t = blank()
    t.array = array
    t._grad = t._rare = t._form = None
    if a._requires_grad:
        n = cls()
        n._notes = n.rare = None
        n.saved = saved
        n.const = const
        n.sequence_nr = next_sequence_nr()
        if a._rare is None and input_metadata is None:
            n.next = (a._grad_fn or a,)
        else:
            n.next = edges_of((a,))
            annotate(n, (a,), input_metadata)
        t._grad_fn = n
        t._requires_grad = True
    else:
        t._grad_fn = None
        t._requires_grad = False
    return t


def record2(cls: type[Node], array: Any, a: Tensor, b: Tensor, saved: tuple[Any, ...] = (),
            const: tuple[Any, ...] = (), input_metadata: tuple[Any, ...] | None = None) -> Tensor:
    """The result `array` of an op with two inputs."""
    if UNUSUAL.count:
        return record_unusual(cls, array, (a, b), saved, const, input_metadata)
    t = blank()
    t.array = array
    t._grad = t._rare = t._form = None
    a_needs, b_needs = a._requires_grad, b._requires_grad
    if a_needs or b_needs:
        n = cls()
        n._notes = n.rare = None
        n.saved = saved
        n.const = const
        n.sequence_nr = next_sequence_nr()
        if a._rare is None and b._rare is None and input_metadata is None:
            n.next = (a._grad_fn or a) if a_needs else None, (b._grad_fn or b) if b_needs else None
        else:
            n.next = edges_of((a, b))
            annotate(n, (a, b), input_metadata)
        t._grad_fn = n
        t._requires_grad = True
    else:
        t._grad_fn = None
        t._requires_grad = False
    return t


def record_n(cls: type[Node], array: Any, inputs: Sequence[Tensor], saved: tuple[Any, ...] = (),
             const: tuple[Any, ...] = (), input_metadata: tuple[Any, ...] | None = None) -> Tensor:
    """The result `array` of an op with any number of inputs."""
    if UNUSUAL.count:
        return record_unusual(cls, array, inputs, saved, const, input_metadata)
    t = plain(array)
    if any(x._requires_grad for x in inputs):
        t._grad_fn, t._requires_grad = node_for(cls, inputs, saved, const, input_metadata), True
    return t


def node_for(cls: type[N], inputs: Sequence[Tensor], saved: tuple[Any, ...], const: tuple[Any, ...],
             input_metadata: tuple[Any, ...] | None) -> N:
    """A node over these inputs, in general code."""
    n = cls()
    if (input_metadata is not None or cls.special or ANOMALY.enabled or [x for x in inputs if x._rare is not None]
            or [s for s in saved if isinstance(s, Tensor) and s._rare is not None]):
        n.begin(edges_of(inputs), None, saved, const)
        annotate(n, inputs, input_metadata)
        return n
    n._notes = n.rare = None
    n.saved = saved
    n.const = const
    n.sequence_nr = next_sequence_nr()
    n.next = tuple([x._grad_fn or x if x._requires_grad else None for x in inputs])
    return n


def edges_of(inputs: Sequence[Tensor]) -> tuple[Any, ...]:
    """The edges of a node (`Node.next`), in general code."""
    return tuple([edge_of(x) if x._requires_grad else None for x in inputs])


def annotate(node: Node, inputs: Sequence[Tensor], input_metadata: tuple[Any, ...] | None) -> None:
    """Note what is to be said of a node that most have not: see `Node`."""
    for x in inputs:
        if x._rare is not None and x._rare.output_nr:
            node.output_nrs = tuple([x._output_nr if x._requires_grad else 0 for x in inputs])
            break
    for s in node.saved or ():
        if isinstance(s, Tensor) and s._rare is not None:
            node.versions = versions_of(node.saved or ())
            break
    if input_metadata is not None:
        node.input_metadata = input_metadata
        if type(input_metadata) is Apart:
            node.versions = versions_of(node.saved or ())  # no straight way to the arrays: see `saved.arrays`


def record_unusual(cls: type[Node], array: Any, inputs: Sequence[Tensor], saved: tuple[Any, ...],
                   const: tuple[Any, ...], input_metadata: tuple[Any, ...] | None) -> Tensor:
    """The same when something unusual is on, in this thread or in another."""
    t = plain(array)
    if Several.known and cls.op not in BETWEEN:
        check_in_use(array, [x.array for x in inputs])
    node = None
    if LOCAL.recording and [x for x in inputs if x._requires_grad]:
        t._grad_fn, t._requires_grad = node, _ = node_for(cls, inputs, saved, const, input_metadata), True
        if LOCAL.saved_tensors_hooks and saved:
            # a hook may unpack another dtype
            node.input_metadata = tuple([(x.array.shape, x.array.dtype) for x in inputs])
            pack_all(node, (t,))
    observer = LOCAL.observer
    if observer is not None:
        observer.forward(cls.op, node, inputs, (t,))
    return t


def record_many(cls: type[ManyOutputs], arrays: Sequence[Any], a: Tensor | tuple[Tensor, ...],
                const: tuple[Any, ...] = (), views: bool = False, saved: tuple[Any, ...] = ()) -> tuple[Tensor, ...]:
    """The results of an op with several outputs; `a` is its input, or all its inputs."""
    made = tuple([plain(array) for array in arrays])
    node, inputs = None, a if isinstance(a, tuple) else (a,)
    if Several.known and arrays:
        check_in_use(arrays[0], [x.array for x in inputs])
    if LOCAL.recording and any(x._requires_grad for x in inputs):
        node = node_for(cls, inputs, saved, const, None)
        node.outputs = len(arrays)
        node.output_info = [info_of(x) for x in arrays]
        for i, t in enumerate(made):
            t._grad_fn, t._output_nr, t._requires_grad = node, i, True
        if LOCAL.saved_tensors_hooks and saved:
            pack_all(node, made)
    if views:
        for t in made:
            share(t, inputs[0], MANY)
    if LOCAL.observer is not None:
        LOCAL.observer.forward(cls.op, node, inputs, made)
    return made


def record_view(cls: type[Node], array: Any, a: Tensor, const: tuple[Any, ...] = (),
                input_metadata: tuple[Any, ...] | None = None) -> Tensor:
    """The result of an op that looks at the same memory as its input."""
    made = record1(cls, array, a, (), const, input_metadata)
    share(made, a)
    return made
