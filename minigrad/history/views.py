"""Tracks views and what they share with their base. Mirrors the `DifferentiableViewMeta` of PyTorch's `variable.cpp`.

A view shows part of the memory of another tensor, its base, and shares its version counter. Writing to either changes
both, so it must change the history of both. The base gets a new node at once (`CopySlices`, in inplace.py); its views
get theirs when `grad_fn` is read: a view remembers the version at which its node was right, and a view whose version
has moved on gets an `AsStrided` node, which reads the view out of the base as it is now.
"""

import math
from typing import Any
from weakref import WeakSet

import numpy as np

from minigrad._base.dtype import BFLOAT16
from minigrad.backends.registry import BACKEND_OF, HOST, device_like, is_host
from minigrad.core import LOCAL, Node, counter_of, edge_target, record1, record_many
from minigrad.core.accumulate import repeats
from minigrad.core.saved import op_of
from minigrad.core.tensor import extras_of, set_requires_grad

__all__ = ["FUNCTION", "INFERENCE_MODE", "MANY", "NO_GRAD", "AsStrided", "Geometry", "View", "record_view",
           "record_views", "refuse_view", "set_history", "share"]

# How a view was made, where that forbids recorded in-place writes (PyTorch's CreationMeta).
MANY, NO_GRAD, INFERENCE_MODE, FUNCTION = "many", "no_grad", "inference_mode", "function"

HOW_MANY = (
    " This view is the output of a function that returns multiple views. Such functions do not allow the output views "
    "to be modified inplace. You should replace the inplace operation by an out-of-place one."
)
HOW_FUNCTION = (
    " This view was created inside a custom Function (or because an input was returned as-is) and the autograd logic "
    "to handle view+inplace would override the custom backward associated with the custom Function, leading to "
    "incorrect gradients. This behavior is forbidden. You can fix this by cloning the output of the custom Function."
)
HOW_MODE = (
    " Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your code by moving both "
    "the view and the inplace either both inside the {0} block (if you don't want the inplace to be tracked) or both "
    "outside (if you want the inplace to be tracked)."
)


class View:
    """What a tensor that is a view knows about itself."""

    __slots__ = ("base", "creation", "geometry", "grad_fn", "lasts", "own", "version")

    def __init__(self, base: Any, grad_fn: Node | None, version: int, creation: str | None) -> None:
        self.base = base  # the tensor whose memory it shares, never itself a view
        self.grad_fn = grad_fn  # its node, right at `version`
        self.version = version
        self.creation = creation  # how it was made, where that forbids recorded in-place writes; else None
        self.geometry: Geometry | None = None  # which elements of the base it shows; None until needed
        self.own = False  # it requires grad itself, as a leaf, not only because its base does
        self.lasts = False  # its node stays: a level differentiates by it, in which only unrecorded writes reach it

    def current_grad_fn(self, tensor: Any) -> Any:
        """Return the node of a view, a new one if its version has moved on. Raises RuntimeError for a view that was
        made in a way that forbids this (`creation`)."""
        version = tensor._version_counter.value
        if self.version != version and not self.lasts and (self.grad_fn is not None or self.base._requires_grad):
            if self.creation is not None:
                raise RuntimeError(refusal(tensor, self, "its base or another view of its base has been"))
            old, self.grad_fn = self.grad_fn, AsStrided(tensor, self.base)
            self.version = version
            move_retain(tensor, old, tensor._output_nr, self.grad_fn)
            tensor._output_nr = 0
        return self.grad_fn


class Geometry:
    """Where the elements of a view are among those of its base, both counted row by row.

    `index`: a slice where the view has one stride, else an array of numbers. It is an index into the flattened base.
    `repeats`: whether the view shows one of them more than once. `layout`: the shapes and strides that it is valid for.
    """

    __slots__ = ("base", "index", "layout", "repeats", "shape")

    def __init__(self, view: Any, base: Any, start: int) -> None:
        """Locate a view in its base; in memory it begins `start` elements after the base."""
        self.base, self.shape, self.repeats = base.shape, view.shape, repeats(view)
        self.layout = layout(view, base)
        steps = [s // view.itemsize for s in view.strides]
        self.index = positions(start, view.shape, steps, view)
        if not base.flags.c_contiguous:
            self.index = flat_order(base)[self.index]

    def select_view(self, xp: Any, x: Any) -> Any:
        """Return the view's part of something of the base's shape."""
        return xp.reshape(xp.getitem(xp.reshape(x, (-1,)), self.index), self.shape)

    def spread(self, xp: Any, part: Any) -> Any:
        """Add something of the view's shape to zeros of the base's shape, at the places of the view's elements."""
        return xp.reshape(xp.scatter(xp.reshape(part, (-1,)), self.index, (math.prod(self.base),)), self.base)

    def replaced(self, xp: Any, x: Any, part: Any) -> Any:
        """Return something of the base's shape with its part for the view replaced by `part`."""
        return xp.reshape(xp.put(xp.reshape(x, (-1,)), self.index, xp.reshape(part, (-1,))), self.base)


def geometry_of(tensor: Any) -> Geometry:
    """Return where a view lies in its base: kept until one of them is turned in place (`t_`)."""
    view: View = tensor._extras.view
    found, looks, base = view.geometry, tensor.array, view.base.array
    if found is None or found.layout != layout(looks, base):
        # As in PyTorch, offsets into two storages if the base was given other memory (`base.data = other`).
        start = tensor.storage_offset() - view.base.storage_offset()
        found = view.geometry = Geometry(looks, base, start)
    return found


def layout(view: Any, base: Any) -> tuple[tuple[int, ...], ...]:
    """Return the shapes and strides of a view and its base."""
    return view.shape, view.strides, base.shape, base.strides


def address(array: Any) -> int:
    """Return where an array begins in memory."""
    if type(array) is np.ndarray:
        return array.__array_interface__["data"][0]  # type: ignore[no-any-return]  # a third of the time of `ctypes.data`
    if array.dtype is BFLOAT16:
        return address(array.held)
    return BACKEND_OF[type(array)].address(array)


def host_or_device(array: Any) -> Any:
    """The handle of the device for positions in an array, which are the same for all examples of a batch."""
    like = device_like(array)
    return HOST if is_host(like) else like


def positions(start: int, shape: tuple[int, ...], steps: list[int], like: Any) -> Any:
    """Return the offsets, in elements, of the elements of an array of this shape and these steps, flat."""
    like = host_or_device(like)
    long = [(n, step) for n, step in zip(shape, steps, strict=True) if n != 1]
    size, step = 1, long[-1][1] if long else 1
    regular = step > 0
    for n, s in reversed(long):
        regular = regular and s == step * size
        size *= n
    if regular and size:
        return slice(start, start + step * (size - 1) + 1, step)
    offsets = np.array(start) if like is HOST else np.full((), start, like=like)
    for n, s in zip(shape, steps, strict=True):
        offsets = offsets[..., None] + np.arange(n, like=like) * s
    return offsets.reshape(-1)


def flat_order(base: Any) -> Any:
    """For each place in memory: which element of the base, counted row by row, is stored there."""
    offsets = positions(0, base.shape, [s // base.itemsize for s in base.strides], base)
    like = host_or_device(base)
    offsets = np.arange(offsets.stop, like=like)[offsets] if isinstance(offsets, slice) else offsets
    last = sum([max(0, (n - 1) * (s // base.itemsize)) for n, s in zip(base.shape, base.strides, strict=True)])
    order = np.zeros((last if base.size else 0) + 1, np.int64, like=like)
    order[offsets] = np.arange(base.size, like=like)
    return order


class AsStrided(Node):
    """The node of a view whose base, or another view of it, was written to since the view was taken."""

    constants = ("", "size", "stride", "storage_offset")

    def __init__(self, view: Any, base: Any) -> None:
        const = geometry_of(view), view.array.shape, view.stride(), view.storage_offset()
        self.fill((edge_target(base),), (), const, next_output_nrs=(base._output_nr,))

    def backward(self, xp: Any, g: Any, geometry: Geometry, *_: Any) -> Any:
        return geometry.spread(xp, g) if 0 not in g.shape else xp.zeros(geometry.base, g)  # without a graph, as there


def share(tensor: Any, a: Any, creation: str | None = None) -> None:
    """Make a tensor, the fresh result of an op, a view of `a`, with the same version counter and base.

    It requires grad if its base does, whatever the grad mode.
    """
    counter = tensor._version_counter = counter_of(a)
    extras = extras_of(tensor)
    extras.inference = a.is_inference()
    if extras.inference:
        tensor._grad_fn, tensor._requires_grad = None, False
        return
    above = None if a._extras is None else a._extras.view
    base = a if above is None else above.base
    if not LOCAL.recording:
        creation = INFERENCE_MODE if LOCAL.inference else NO_GRAD
    elif creation is None and above is not None:
        creation = above.creation
    extras.view = View(base, tensor._grad_fn, counter.value, creation)
    tensor._grad_fn = None
    if base._requires_grad:
        tensor._requires_grad = True
    if extras.view.grad_fn is None:  # from now on its base decides whether it requires grad
        if counter.views is None:
            counter.views = WeakSet()
        counter.views.add(tensor)
    if LOCAL.observer is not None:
        LOCAL.observer.view(tensor)


def record_view(cls: type[Node], array: Any, a: Any, const: tuple[Any, ...] = (),
                input_metadata: tuple[Any, ...] | None = None) -> Any:
    """Wrap `array`, the result of an op that shares the memory of its input `a`."""
    result = record1(cls, array, a, (), const, input_metadata)
    share(result, a)
    return result


def record_views(cls: Any, arrays: Any, a: Any, const: tuple[Any, ...] = ()) -> tuple[Any, ...]:
    """Wrap `arrays`, the results of an op with several outputs that share the memory of its input `a`."""
    observer, LOCAL.observer = LOCAL.observer, None
    try:
        results = record_many(cls, arrays, a, const)
        for result in results:
            share(result, a, MANY)
    finally:
        LOCAL.observer = observer
    if observer is not None:
        observer.forward(cls.op, results[0]._current_grad_fn if results else None, (a,), results)
    return results


def set_history(tensor: Any, node: Node, output_nr: int = 0) -> None:
    """Make a tensor the output of a node; its views, and itself if it is a view, require grad from now on."""
    view = None if tensor._extras is None else tensor._extras.view
    if view is None:
        tensor._grad_fn = node
    else:
        view.grad_fn, view.version = node, tensor._version_counter.value
    tensor._output_nr = output_nr
    set_requires_grad(tensor)


def move_retain(tensor: Any, old: Any, output_nr: int, new: Node) -> None:
    """Move the `retain_grad()` of a tensor to its new node; its hooks stay where they were registered."""
    if old is not None and old._extras is not None and old._extras.hooks is not None:
        retains = old._extras.hooks.retains
        reference = retains.get(output_nr)
        if reference is not None and reference() is tensor:
            new.node_hooks().retains[0] = retains.pop(output_nr)


def refuse_view(tensor: Any) -> None:
    """Raise PyTorch's error for a recorded in-place write to a view that was made in a way that forbids it."""
    view = None if tensor._extras is None else tensor._extras.view
    if view is not None and view.creation is not None:
        raise RuntimeError(refusal(tensor, view, "is being"))


def refusal(tensor: Any, view: View, what: str) -> str:
    """PyTorch's message about such a view; `what`: what happened to it."""
    node = view.grad_fn
    if view.creation in (NO_GRAD, INFERENCE_MODE) or node is None:
        made = "A view was created in" if node is None else (
            f"Output {tensor._output_nr} of {op_of(node)} is a view of a view which was created in")
        text = (f"{made} inference mode and {what} modified inplace in normal mode."
                if view.creation == INFERENCE_MODE else
                f"{made} no_grad mode and {what} modified inplace with grad mode enabled.")
    else:
        text = f"Output {tensor._output_nr} of {op_of(node)} is a view and {what} modified inplace."
    how = {MANY: HOW_MANY, FUNCTION: HOW_FUNCTION}.get(view.creation or "", HOW_MODE)
    return text + how.format("no_grad" if view.creation == NO_GRAD else "inference_mode")

