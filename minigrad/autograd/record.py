"""Recording: how the result of an op gets its history. Mirrors what PyTorch's generated `VariableType.cpp` does.

Every op ends in one of these functions. Whether a result requires grad is decided here and nowhere else: it does if an
input does and grad mode is on. Straight code for one and for two inputs, general code for more; whatever is unusual
(a grad mode, saved-tensor hooks, an observer) is behind one truth test of a global count.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from minigrad._tensor import Tensor, owned, plain
from minigrad.autograd.grad_mode import LOCAL, UNUSUAL
from minigrad.autograd.graph import ManyOutputs, Node, edge_of, extras_of, next_sequence_nr
from minigrad.autograd.observed import CONSTANTS
from minigrad.autograd.saved import WRITTEN_TWICE, VersionCounter, counter_of, pack, versions_of

__all__ = ["NUMBER", "in_place", "node_for", "record1", "record2", "record_many", "record_n", "record_view"]

N = TypeVar("N", bound=Node)
NUMBER = plain(np.zeros(()))  # stands for an operand that is a Python number: an input without an edge
CONSTANTS.append(NUMBER)


def record1(cls: type[Node], array: Any, a: Tensor, saved: tuple[Any, ...] = (), const: tuple[Any, ...] = (),
            fit: tuple[Any, ...] | None = None) -> Tensor:
    """The result `array` of an op with one input."""
    if UNUSUAL.count:
        return record_unusual(cls, array, (a,), saved, const, fit)
    t = Tensor()
    t.array = array
    t._grad = t._version_counter = t._rare = None
    t._output_nr = 0
    if a._requires_grad:
        n = cls()
        n.next = (a._grad_fn or (a if a._rare is None else edge_of(a)),)
        n.output_nrs = (a._output_nr,) if a._output_nr else None
        n.saved = saved
        n.const = const
        n.fit = fit
        n.sequence_nr = next_sequence_nr()
        n.rare = None
        n.versions = None if a._version_counter is None or not saved else versions_of(saved)
        t._grad_fn = n
        t._requires_grad = True
    else:
        t._grad_fn = None
        t._requires_grad = False
    return t


def record2(cls: type[Node], array: Any, a: Tensor, b: Tensor, saved: tuple[Any, ...] = (),
            const: tuple[Any, ...] = (), fit: tuple[Any, ...] | None = None) -> Tensor:
    """The result `array` of an op with two inputs."""
    if UNUSUAL.count:
        return record_unusual(cls, array, (a, b), saved, const, fit)
    t = Tensor()
    t.array = array
    t._grad = t._version_counter = t._rare = None
    t._output_nr = 0
    a_needs, b_needs = a._requires_grad, b._requires_grad
    if a_needs or b_needs:
        n = cls()
        n.next = ((a._grad_fn or (a if a._rare is None else edge_of(a))) if a_needs else None,
                  (b._grad_fn or (b if b._rare is None else edge_of(b))) if b_needs else None)
        n.output_nrs = (a._output_nr, b._output_nr) if a._output_nr or b._output_nr else None
        n.saved = saved
        n.const = const
        n.fit = fit
        n.sequence_nr = next_sequence_nr()
        n.rare = None
        n.versions = None if a._version_counter is None and b._version_counter is None or not saved \
            else versions_of(saved)
        t._grad_fn = n
        t._requires_grad = True
    else:
        t._grad_fn = None
        t._requires_grad = False
    return t


def record_n(cls: type[Node], array: Any, inputs: Sequence[Tensor], saved: tuple[Any, ...] = (),
             const: tuple[Any, ...] = (), fit: tuple[Any, ...] | None = None) -> Tensor:
    """The result `array` of an op with any number of inputs."""
    if UNUSUAL.count:
        return record_unusual(cls, array, inputs, saved, const, fit)
    t = plain(array)
    if any(x._requires_grad for x in inputs):
        t._grad_fn, t._requires_grad = node_for(cls, inputs, saved, const, fit), True
    return t


def node_for(cls: type[N], inputs: Sequence[Tensor], saved: tuple[Any, ...], const: tuple[Any, ...],
             fit: tuple[Any, ...] | None) -> N:
    """A node over these inputs, in general code."""
    n = cls()
    n.next = tuple([edge_of(x) if x._requires_grad else None for x in inputs])
    n.output_nrs = tuple([x._output_nr if x._requires_grad else 0 for x in inputs])
    n.saved, n.const, n.fit, n.rare = saved, const, fit, None
    n.versions = versions_of(saved) if saved else None
    n.sequence_nr = next_sequence_nr()
    return n


def record_unusual(cls: type[Node], array: Any, inputs: Sequence[Tensor], saved: tuple[Any, ...],
                   const: tuple[Any, ...], fit: tuple[Any, ...] | None) -> Tensor:
    """The same when something unusual is on, in this thread or in another."""
    t = plain(array)
    node = None
    if LOCAL.grad_enabled and any(x._requires_grad for x in inputs):
        t._grad_fn, t._requires_grad = node, _ = node_for(cls, inputs, saved, const, fit), True
        if LOCAL.saved_tensors_hooks and saved:
            node.saved = tuple([pack(node, i, s) for i, s in enumerate(saved)])
            node.extras()  # off the straight path: what was saved has to be unpacked
    if LOCAL.observer is not None:
        LOCAL.observer.forward(cls.op, node, inputs, (t,))
    return t


def record_many(cls: type[ManyOutputs], arrays: Sequence[Any], a: Tensor, const: tuple[Any, ...] = (),
                views: bool = False) -> tuple[Tensor, ...]:
    """The results of an op with one input and several outputs."""
    made = tuple([plain(array) for array in arrays])
    node = None
    if a._requires_grad and LOCAL.grad_enabled:
        node = node_for(cls, (a,), (), const, None)
        node.extras()
        node.outputs = len(arrays)
        node.output_info = [(x.shape, x.dtype) for x in arrays]
        for i, t in enumerate(made):
            t._grad_fn, t._output_nr, t._requires_grad = node, i, True
    if views:
        for t in made:
            share(t, a)
            extras_of(t).view_of_many = True
    if LOCAL.observer is not None:
        LOCAL.observer.forward(cls.op, node, (a,), made)
    return made


def record_view(cls: type[Node], array: Any, a: Tensor, const: tuple[Any, ...] = (),
                fit: tuple[Any, ...] | None = None) -> Tensor:
    """The result of an op that looks at the same memory as its input."""
    made = record1(cls, array, a, (), const, fit)
    share(made, a)
    return made


def share(view: Tensor, a: Tensor) -> None:
    """A view and its base share one version counter; a view says that it requires grad if its base does."""
    view._version_counter = counter = counter_of(a)
    extras_of(view).base = base = a if a._base is None else a._base
    if base._grad_fn is not None or not base._requires_grad:  # no leaf that requires grad is ever written to on record
        if counter.views is None:
            counter.views = weakref.WeakSet()
        counter.views.add(view)
    if a._requires_grad and not view._requires_grad:  # made with grad mode off
        extras_of(view).cut = view._requires_grad = True


def in_place(forward: Callable[..., Tensor], x: Tensor, *args: Any, **options: Any) -> Tensor:
    """`x.op_(*args)`: the op out of place, its result written into `x`, its history taken over.

    Raises:
        RuntimeError: on a leaf that requires grad or a view of one, where the result has another shape or a dtype of
            a higher kind, where elements of `x` share memory; `x` is left as it was.
    """
    target = owned(x)
    needs = LOCAL.grad_enabled and (x._requires_grad or any(isinstance(a, Tensor) and a._requires_grad for a in args))
    if needs:
        refuse_leaf(x)
    observer, LOCAL.observer = LOCAL.observer, None
    try:
        before = plain(target)
        before._requires_grad, before._grad_fn, before._output_nr = x._requires_grad, x._grad_fn, x._output_nr
        result = forward(before, *args, **options)
    finally:
        LOCAL.observer = observer
    if result is NotImplemented:
        raise TypeError(f"{result_op(forward).lower()}(): argument 'other' (position 1) must be Tensor, not "
                        f"{type(args[0]).__name__}")
    check_written(target, result)
    node = result._grad_fn
    if node is not None and node.saved and any(s is before for s in node.saved):
        before.array = target.copy()
    target[...] = result.array
    counter = counter_of(x)
    counter.value += 1
    if node is not None:
        rebase(x, node, result.array, counter)
    if observer is not None:
        observer.forward(result_op(forward), node, (x, *[a for a in args if isinstance(a, Tensor)]), (x,))
        observer.version(x)
    return x


class OldView(Node, number=None):
    """The history of a view whose base got a new one in place: an error, where a gradient would be wrong."""

    __slots__ = ()
    op = "OldView"

    def __init__(self) -> None:
        self.next, self.output_nrs, self.saved, self.versions = (), None, (), None
        self.const, self.fit, self.rare, self.sequence_nr = (), None, None, next_sequence_nr()

    def backward(self, xp: Any, g: Any) -> Any:
        raise NotImplementedError("minigrad does not follow a view through an in-place op on its base yet.\n\nTake the "
                                  "view after the op, or do the op out of place.")


def leave_views(base: Tensor) -> None:
    """Take the history from the views of a tensor that got a new one; what is detached shares the counter only."""
    for view in counter_of(base).views or ():
        if view._base is base:
            view._grad_fn, view._requires_grad, view._output_nr = OldView(), True, 0


def result_op(forward: Callable[..., Tensor]) -> str:
    """The name of an in-place op, from the forward that it uses."""
    return f"{forward.__qualname__.split('.')[0].removesuffix('Backward0')}_"


def rebase(x: Tensor, node: Node, result: Any, counter: VersionCounter) -> None:
    """Give a tensor that was written to the history of what was written; a result that the node saved is its data."""
    retains = x.retains_grad
    if retains and x._grad_fn is not None:
        del x._grad_fn.node_hooks().retains[x._output_nr]
    x._grad_fn, x._requires_grad, x._output_nr = node, True, 0
    if retains:
        x.retain_grad()
    leave_views(x)
    if node.saved and any(s is result for s in node.saved):
        node.versions = tuple([counter.value if s is result else v
                               for s, v in zip(node.saved, node.versions or (0,) * len(node.saved), strict=True)])
        node.saved = tuple([x.array if s is result else s for s in node.saved])
        node.extras().watch = {0: counter}


def refuse_leaf(x: Tensor) -> None:
    """PyTorch's errors for an in-place op that autograd cannot record."""
    if x._requires_grad and x._grad_fn is None:
        raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")
    base = x._base
    if base is None:
        return
    if base._requires_grad and base._grad_fn is None:
        raise RuntimeError("a view of a leaf Variable that requires grad is being used in an in-place operation.")
    if x._rare.view_of_many:
        raise RuntimeError(
            f"Output {x._output_nr} of {x._grad_fn.op if x._grad_fn is not None else 'a view'} is a view and is being "
            "modified inplace. This view is the output of a function that returns multiple views. Such functions do "
            "not allow the output views to be modified inplace. You should replace the inplace operation by an "
            "out-of-place one.")
    raise NotImplementedError("minigrad does not record in-place ops on views yet.\n\nWrite to a clone(), or do the "
                              "op out of place.")


def check_written(target: np.ndarray[Any, Any], result: Tensor) -> None:
    """Whether a result fits into the tensor that it is to be written to."""
    if result.array.shape != target.shape:
        raise RuntimeError(f"output with shape {list(target.shape)} doesn't match the broadcast shape "
                           f"{list(result.array.shape)}")
    if "biuf".index(result.array.dtype.kind) > max("biuf".index(target.dtype.kind), 2 * (target.dtype.kind == "i")):
        raise RuntimeError(f"result type {result.dtype.type_name} can't be cast to the desired output type "
                           f"{plain(target).dtype.type_name}")
    if not target.flags.writeable:
        raise RuntimeError(WRITTEN_TWICE)
