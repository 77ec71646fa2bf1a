"""Gives a tensor that an in-place op writes to its new history. Mirrors `rebase_history` of PyTorch's
`variable.cpp`, and the `CopySlices` node of its `tensor.h`.

An in-place op runs the op out of place, writes its result into the tensor, and takes over its node. Where the tensor is
a view, it is the *base* that has changed: the base's new node, a `CopySlices`, runs the op's node on the view's part of
the gradient, and passes the rest on unchanged.
"""

import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from minigrad._base.contexts import SIGNALS, silently
from minigrad._base.type_name import type_name
from minigrad._base.warnings import warn
from minigrad.backends.numpy import add_at
from minigrad.backends.registry import BACKEND_OF, bounds, check_devices
from minigrad.core import LOCAL, UNUSUAL, Node, Tensor, counter_of, edge_target, materialized, plain
from minigrad.core.accumulate import repeats
from minigrad.core.evaluate import call_function
from minigrad.core.grad_mode import switch
from minigrad.core.saved import FREED, WRITTEN_TWICE, refuse_outside_inference_mode
from minigrad.core.tensor import VersionCounter, extras_of
from minigrad.history.views import geometry_of, move_retain, refuse_view, set_history

__all__ = ["CopySlices", "check_inplace", "in_place", "rebase_history", "turn_in_place"]

LEAF = "a leaf Variable that requires grad is being used in an in-place operation."
LIE_ACROSS = (
    "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single memory "
    "location. Please clone() the tensor before performing the operation."
)
CONSTANT = ("Zero.forward", "Fill.forward")  # with a number these may write to one place twice
# Their arguments may share memory with the tensor that they write to: they read before they write.
READ_FIRST = ("Fill.forward", "FillTensor.forward", "index_fill", "masked_fill", "masked_scatter")
LEAF_VIEW = "a view of a leaf Variable that requires grad is being used in an in-place operation."
DEPRECATED = ("Use of {} on expanded tensors is deprecated. Please clone() the tensor before performing this "
              "operation. This also applies to advanced indexing e.g. tensor[{}")
INDEX_PUT, MASKED_FILL, INDEX_FILL = [
    DEPRECATED.format(*of) for of in (("index_put_", "indices] = tensor"), ("masked_fill_", "mask] = scalar"),
                                      ("index_fill_", "mask] = scalar"))]
WARNINGS = {"IndexPut.forward": INDEX_PUT, "index_put": INDEX_PUT, "masked_fill": MASKED_FILL, "index_fill": INDEX_FILL}
WITHOUT_WARNING = ("tril", "triu")
ADD = ("index_add", "scatter_add")
NOT_EXPANDED = ("scatter", "put", "index_copy", "masked_scatter", *ADD)
WRITE_SOME = {*WARNINGS, *WITHOUT_WARNING, *NOT_EXPANDED}


def in_place(forward: Callable[..., Tensor], x: Tensor, *args: Any, **options: Any) -> Tensor:
    """Run `x.op_(*args)`: the op out of place, its result written into `x`, its history taken over.

    Raises RuntimeError for a leaf that requires grad or a view of one, for a view that may not be written to, if the
    result has another shape or a dtype of a higher kind, or if elements of `x` share memory; `x` stays as it was.
    """
    target = materialized(x)
    check_inplace(x, x._requires_grad or any(isinstance(a, Tensor) and a._requires_grad for a in args), forward, args)
    name = forward.__qualname__
    onto_itself = name == "Copy.forward" and args[0] is x  # nothing is written then
    check_memory(target, () if onto_itself else (*args, *options.values()), onto_itself or name in CONSTANT, name)
    keeps = LOCAL.saved_tensors_hooks or UNUSUAL.tangents is not None  # somebody may keep what is about to be replaced
    before = stand_in(x, target.copy() if keeps else target)
    if keeps:
        before._version_counter = VersionCounter()  # a copy: a write to `x` does not change it
    observer, LOCAL.observer = LOCAL.observer, None
    if observer is not None:
        observer.to_be_written(x)
    try:
        result = forward(before, *args, **options)
    finally:
        LOCAL.observer = observer
    if result is NotImplemented:
        raise TypeError(f"{result_op(forward).lower()}(): argument 'other' (position 1) must be Tensor, not "
                        f"{type_name(args[0])}")
    check_written(target, result)
    node, counter = result._grad_fn, counter_of(x)
    if node is not None and node.saved and any(s is before for s in node.saved):
        before.array = target.copy()
    if counter.before_write is not None:
        counter.before_write()
    write_some(forward, target, args, options, result.array)
    counter.value += 1
    if node is not None:
        save_written(node, x, result.array, counter)
        rebase_history(x, node)
    if UNUSUAL.tangents is not None:
        UNUSUAL.tangents.written(x, result)
    if observer is not None:
        observer.written(x)
        written = x if x._base is None else x._base
        observer.forward(result_op(forward), None if node is None else written.grad_fn,
                         (x, *[a for a in args if isinstance(a, Tensor)]), (written,))
        observer.version(x)
    return x


def turn_in_place(forward: Callable[..., Tensor], x: Tensor, *args: Any) -> Tensor:
    """Run `x.t_()` or its like: `x` becomes the view of itself that `forward` returns. Its base gets no new history.
    Raises RuntimeError as for an op that writes; `x` is unchanged then."""
    check_inplace(x, x._requires_grad, forward, args)
    before, counter = stand_in(x, materialized(x)), counter_of(x)
    before._version_counter = counter
    observer, LOCAL.observer = LOCAL.observer, None
    if observer is not None:
        observer.to_be_written(x)
    try:
        result = forward(before, *args)
    finally:
        LOCAL.observer = observer
    x.array = result.array
    counter.value += 1
    node = result._current_grad_fn
    if node is not None:
        if x.retains_grad:
            extras_of(x).retained = True  # by the old node, as in PyTorch
        set_history(x, node)
    if UNUSUAL.tangents is not None:
        UNUSUAL.tangents.turned(x, result)
    if observer is not None:
        observer.forward(result_op(forward), node, (x,), (x,))
        observer.version(x)
    return x


def stand_in(x: Tensor, array: Any) -> Tensor:
    """Return what an in-place op gets for `x`: a tensor with its present history."""
    before = plain(array)
    before._requires_grad, before._output_nr = x._requires_grad, x._output_nr
    before._grad_fn = x.grad_fn if LOCAL.recording else None
    if UNUSUAL.tangents is not None:
        UNUSUAL.tangents.lend(x, before)
    return before


def result_op(forward: Callable[..., Tensor]) -> str:
    """Return the name of an in-place op, from the forward that it uses, which several classes may share."""
    owner: Any = getattr(forward, "__self__", None)
    return f"{owner.op if owner is not None else forward.__qualname__.split('.')[0].removesuffix('Backward0')}_"


def check_inplace(x: Tensor, requires_grad: bool, forward: Any = None, args: Any = ()) -> None:
    """Raise PyTorch's errors for an in-place op that autograd cannot record, or whose `forward` of `x` and `args` a
    transform forbids; `requires_grad`: that of any input."""
    if UNUSUAL.transforms is not None:
        UNUSUAL.transforms.refuse_write(x, forward, args)
    if x._extras is not None and x._extras.inference:
        refuse_outside_inference_mode(x)
    if not (requires_grad and LOCAL.recording):
        return
    base = x._base
    if base is not None:
        refuse_view(x)
        if x._requires_grad and base.is_leaf:
            raise RuntimeError(LEAF_VIEW)
    if x._requires_grad and x._current_grad_fn is None:
        raise RuntimeError(LEAF)


def check_memory(target: np.ndarray[Any, Any], args: tuple[Any, ...], constant: bool, name: str = "") -> None:
    """Raise PyTorch's errors where one place would be written twice, or read after it was written."""
    tensors = [a for a in args if isinstance(a, Tensor)]
    if tensors or not constant:
        check_overlap(target, name, args)
    if name not in READ_FIRST and any(lie_across(target, a.array) for a in tensors):
        raise RuntimeError(LIE_ACROSS)


def check_written(target: np.ndarray[Any, Any], result: Tensor) -> None:
    """Raise PyTorch's errors unless a result fits into the tensor that it will be written to."""
    if BACKEND_OF:
        check_devices(target, result.array)
    if result.array.shape != target.shape:
        raise RuntimeError(f"output with shape {list(target.shape)} doesn't match the broadcast shape "
                           f"{list(result.array.shape)}")
    if "biuf".index(result.array.dtype.kind) > max("biuf".index(target.dtype.kind), 2 * (target.dtype.kind == "i")):
        raise RuntimeError(f"result type {result.dtype.type_name} can't be cast to the desired output type "
                           f"{plain(target).dtype.type_name}")


def lie_across(a: Any, b: Any) -> bool:
    """Return whether two dense arrays share a part of their memory, but are not the same elements in the same order."""
    if isinstance(b, np.generic) or a is b or not (a.size and b.size):
        return False
    if type(a) is type(b) is np.ndarray and not np.may_share_memory(a, b):  # nearly always: compares their bounds
        return False
    (start, end), (other_start, other_end) = bounds(a), bounds(b)
    if end - start != a.nbytes or other_end - other_start != b.nbytes:
        return False
    if (start, end) == (other_start, other_end):
        return steps_of(a) != steps_of(b)
    return bool(start < other_end and other_start < end)


def steps_of(array: Any) -> list[tuple[int, int]]:
    """Return sizes and strides of the dimensions of more than one element."""
    return [(n, step) for n, step in zip(array.shape, array.strides, strict=True) if n > 1]


def save_written(node: Node, x: Tensor, result: Any, counter: VersionCounter) -> None:
    """Make a node that saved its own result save what is now in `x`, at the present version of `x`."""
    if node.saved and any(s is result for s in node.saved):
        extras = node.extras()
        versions = extras.versions or (0,) * len(node.saved)
        extras.versions = tuple([counter.value if s is result else v
                                 for s, v in zip(node.saved, versions, strict=True)])
        extras.result_counters = {0: counter}
        node.replace_saved(result, x.array)


def rebase_history(x: Tensor, node: Node, output_nr: int = 0) -> None:
    """Make what was written to `x` part of its history, and of that of its base where `x` is a view."""
    base = x._base
    if base is None:
        old, old_nr = x._grad_fn, x._output_nr
        set_history(x, node, output_nr)
        move_retain(x, old, old_nr, node)
        return
    old, old_nr = base._grad_fn, base._output_nr
    slices = CopySlices(base, x, node)
    set_history(base, slices)
    move_retain(base, old, old_nr, slices)
    x._requires_grad = True
    # PyTorch renews the node of this view at once, those of other views when they are read
    node.extras().written = weakref.ref(x.grad_fn)


class CopySlices(Node, number=None):
    """The node of a base that was written to through a view, by an op whose node is `function`.

    Its first edge leads to where the base came from; the others are those of `function`.
    """

    own_input_grads = True
    op = "CopySlices"

    def __init__(self, base: Tensor, view: Tensor, function: Node) -> None:
        self.fill((edge_target(base), *function.next[1:]), (function,), (geometry_of(view),),
                  next_output_nrs=(base._output_nr, *function.output_nrs()[1:]))

    def name(self) -> str:
        """PyTorch's qualified name of this node."""
        return "torch::autograd::CopySlices"

    def input_grads(self, task: Any, grad: Any) -> tuple[Any, ...]:
        """Run the function on the view's part of the gradient, and replace that part by what it returns."""
        if self.saved is None:
            raise RuntimeError(FREED)
        (geometry,), (function,), xp = self.const, self.saved, task.xp
        if grad is None:
            return (None,) * len(self.next)
        part, *others = call_function(task, function, [geometry.select_view(xp, grad)])
        if part is None:  # as in PyTorch, if it returns None, the whole base gets no gradient
            return None, *others
        if geometry.repeats:
            raise RuntimeError(WRITTEN_TWICE)
        return geometry.replaced(xp, grad, part), *others


# Writes to a tensor of which several elements lie in one place: the result of `expand`, or windows that overlap. Most
# in-place ops refuse an expanded tensor. Those that write some of its elements take it, with a warning or without. They
# write these elements one after another, and no others: what is copied back to an element that the op left alone would
# undo what was written to its place.
def check_overlap(target: Any, name: str, args: tuple[Any, ...]) -> None:
    """What PyTorch says of an op that writes into an expanded tensor. Raises RuntimeError if it is none that writes
    only some elements."""
    if target.flags.c_contiguous or not repeats(target):
        return
    if name not in WARNINGS and name not in WITHOUT_WARNING:
        raise RuntimeError(WRITTEN_TWICE)
    if name in WARNINGS:
        warn(WARNINGS[name])
    if WARNINGS.get(name) == INDEX_PUT:
        value, index, accumulate = put_arguments(name, args)
        arrays = [i for i in index if isinstance(i, np.ndarray)]
        if value.size == 1 and not accumulate and [i.dtype.kind for i in arrays] == ["b"]:
            warn(MASKED_FILL)  # which PyTorch then calls


def overlaps(array: Any) -> bool:
    """Whether several elements may lie in one place in memory."""
    if array.flags.c_contiguous or type(array) is not np.ndarray or not array.size:
        return False
    end = 0
    for step, n in sorted((abs(step), n) for step, n in zip(array.strides, array.shape, strict=True) if n > 1):
        if step <= end:
            return True
        end += step * (n - 1)
    return False


def put_arguments(name: str, args: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...], bool]:
    """What an index_put writes, where, and whether it adds."""
    if name == "index_put":
        indices, value, *accumulate = args
        index = tuple([i.array for i in indices])
    else:
        value, index, _, *accumulate = args
        index = index if isinstance(index, tuple) else (index,)
    return value.array if isinstance(value, Tensor) else np.asarray(value), index, any(accumulate)


def write_some(forward: Callable[..., Tensor], target: Any, args: tuple[Any, ...], options: Any, result: Any) -> None:
    """Write `result`, which `forward` gave, into `target`: where elements overlap, only those that it changes."""
    name = forward.__qualname__
    if name not in WRITE_SOME or not overlaps(target):
        try:
            target[...] = result
        except SIGNALS as error:  # a cast overflowed
            silently(error, target.__setitem__, ..., result)
        return
    if WARNINGS.get(name) == INDEX_PUT:
        value, index, accumulate = put_arguments(name, (*args, *options.values()))
        value = value.astype(target.dtype, copy=False)
        if accumulate:
            add_at(target, index, value)
        else:
            target[index] = value
        return
    grad_enabled = LOCAL.grad_enabled
    try:
        switch(False)
        zeros, ones = [forward(plain(make(target.shape, target.dtype)), *args, **options).array
                       for make in (np.zeros, np.ones)]
    finally:
        switch(grad_enabled)
    if name in ADD:
        added = np.nonzero(zeros)
        add_at(target, added, zeros[added])
    else:
        written = ~((zeros == 0) & (ones == 1))  # it does not depend on what was there
        target[written] = result[written]
