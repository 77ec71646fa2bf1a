"""Views: mirrors the `DifferentiableViewMeta` of PyTorch's `variable.cpp`.

A view looks at the memory of another tensor, its base, and shares its version counter. Writing to either changes both,
so writing must change the history of both. The base gets a new node at once (`CopySlices`, in inplace.py); its views
get theirs when somebody looks: a view remembers the version at which its node was right, and a view whose version has
moved on is given an `AsStrided` node, which reads the view out of the base as it is now.
"""

from __future__ import annotations

import math
from typing import Any
from weakref import WeakSet

import numpy as np

from minigrad.backends.registry import HERE, OF_TYPE, beside
from minigrad.core.extras import extras_of
from minigrad.core.grad_mode import LOCAL
from minigrad.core.graph import Node
from minigrad.core.saved import counter_of, op_of

__all__ = ["FUNCTION", "INFERENCE_MODE", "MANY", "NO_GRAD", "AsStrided", "Geometry", "View", "edge_of", "grad_fn_of",
           "refuse_view", "set_history", "share"]

# How a view came to be, where that forbids to write to it on record (PyTorch's CreationMeta).
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
    """What a view knows of itself.

    `base`: the tensor whose memory it looks at, never a view itself; `geometry`: where it looks, None until somebody
    asks; `grad_fn`: its node, right at `version`; `creation`: how it came to be, None for the usual way; `own`: it
    requires grad of itself, as a leaf, and not only because its base does.
    """

    __slots__ = ("base", "creation", "geometry", "grad_fn", "own", "version")

    def __init__(self, base: Any, grad_fn: Node | None, version: int, creation: str | None) -> None:
        self.base, self.grad_fn, self.version, self.creation = base, grad_fn, version, creation
        self.geometry: Geometry | None = None
        self.own = False


class Geometry:
    """Where the elements of a view are among those of its base, both counted row by row.

    `index`: a slice where the view has one stride, else an array of numbers. It is an index into the flattened base.
    `repeats`: the view names one of them more than once. `layout`: what it holds for.
    """

    __slots__ = ("base", "index", "layout", "repeats", "shape")

    def __init__(self, view: Any, base: Any) -> None:
        self.base, self.shape, self.repeats = base.shape, view.shape, repeats(view)
        self.layout = layout(view, base)
        start = (address(view) - address(base)) // base.itemsize
        steps = [s // view.itemsize for s in view.strides]
        self.index = positions(start, view.shape, steps, view)
        if not base.flags.c_contiguous:
            self.index = flat_order(base)[self.index]

    def taken(self, xp: Any, x: Any) -> Any:
        """The view's part of something of the base's shape."""
        return xp.reshape(xp.getitem(xp.reshape(x, (-1,)), self.index), self.shape)

    def spread(self, xp: Any, part: Any) -> Any:
        """Something of the view's shape, added up where its elements are among zeros of the base's shape."""
        return xp.reshape(xp.scatter(xp.reshape(part, (-1,)), self.index, (math.prod(self.base),)), self.base)

    def replaced(self, xp: Any, x: Any, part: Any) -> Any:
        """Something of the base's shape with the view's part in the place of its own."""
        return xp.reshape(xp.put(xp.reshape(x, (-1,)), self.index, xp.reshape(part, (-1,))), self.base)


def geometry_of(tensor: Any) -> Geometry:
    """Where a view looks in its base: known until one of them is turned in place (`t_`)."""
    view: View = tensor._rare.view
    found, looks, base = view.geometry, tensor.array, view.base.array
    if found is None or found.layout != layout(looks, base):
        found = view.geometry = Geometry(looks, base)
    return found


def layout(view: Any, base: Any) -> tuple[tuple[int, ...], ...]:
    """The shapes and strides of a view and its base."""
    return view.shape, view.strides, base.shape, base.strides


def address(array: Any) -> int:
    """Where an array begins in memory."""
    if type(array) is np.ndarray:
        return array.__array_interface__["data"][0]  # type: ignore[no-any-return]  # a third of the time of `ctypes.data`
    return OF_TYPE[type(array)].address(array)


def repeats(array: Any) -> bool:
    """Whether an array of the kind that `expand` makes names one place in memory more than once."""
    return array.size > 0 and any(step == 0 and n > 1 for n, step in zip(array.shape, array.strides, strict=True))


def positions(start: int, shape: tuple[int, ...], steps: list[int], like: Any) -> Any:
    """The places in memory, in elements, of an array of this shape and these steps, as one dimension."""
    like = beside(like)
    long = [(n, step) for n, step in zip(shape, steps, strict=True) if n != 1]
    size, step = 1, long[-1][1] if long else 1
    regular = step > 0
    for n, s in reversed(long):
        regular = regular and s == step * size
        size *= n
    if regular and size:
        return slice(start, start + step * (size - 1) + 1, step)
    places = np.array(start) if like is HERE else np.full((), start, like=like)
    for n, s in zip(shape, steps, strict=True):
        places = places[..., None] + np.arange(n, like=like) * s
    return places.reshape(-1)


def flat_order(base: Any) -> Any:
    """By place in memory: which element of the base, counted row by row, lies there."""
    places = positions(0, base.shape, [s // base.itemsize for s in base.strides], base)
    like = beside(base)
    places = np.arange(places.stop, like=like)[places] if isinstance(places, slice) else places
    last = sum([max(0, (n - 1) * (s // base.itemsize)) for n, s in zip(base.shape, base.strides, strict=True)])
    order = np.zeros((last if base.size else 0) + 1, np.int64, like=like)
    order[places] = np.arange(base.size, like=like)
    return order


class AsStrided(Node):
    """The node of a view whose base, or another view of it, was written to since the view was taken."""

    __slots__ = ()

    def __init__(self, view: Any, base: Any) -> None:
        edge = edge_of(base) if base._requires_grad else None
        self.begin((edge,), (base._output_nr,) if base._output_nr else None, const=(geometry_of(view),))

    def backward(self, xp: Any, g: Any, geometry: Geometry) -> Any:
        return geometry.spread(xp, g)


def grad_fn_of(tensor: Any) -> Any:
    """The node that made a tensor, None for a leaf; a view gets a new one if its version has moved on.

    Raises:
        RuntimeError: for a view that was made in a way that forbids this (`View.creation`).
    """
    rare = tensor._rare
    if rare is None or rare.view is None:
        return tensor._grad_fn
    view: View = rare.view
    version = tensor._version_counter.value
    if view.version != version and (view.grad_fn is not None or view.base._requires_grad):
        if view.creation is not None:
            raise RuntimeError(refusal(tensor, view, "its base or another view of its base has been"))
        old, view.grad_fn = view.grad_fn, AsStrided(tensor, view.base)
        view.version = version
        move_retain(tensor, old, tensor._output_nr, view.grad_fn)
        tensor._output_nr = 0
    return view.grad_fn


def grad_fn_now(tensor: Any) -> Any:
    """The node that a tensor has at this moment: to look at it changes nothing."""
    return tensor._grad_fn if tensor._rare is None or tensor._rare.view is None else tensor._rare.view.grad_fn


def edge_of(tensor: Any) -> Any:
    """What an op's node holds for this input: its node, the leaf itself, or its AccumulateGrad if that is there.

    None for what requires grad only because its base does: no gradient goes through a view made with grad mode off.
    """
    if tensor._grad_fn is not None:
        return tensor._grad_fn
    rare = tensor._rare
    if rare is None:
        return tensor
    if rare.view is not None:
        node = grad_fn_of(tensor)
        if node is not None or not rare.view.own:
            return node
    found = None if rare.accumulator is None else rare.accumulator()
    return tensor if found is None else found


def share(tensor: Any, a: Any, creation: str | None = None) -> None:
    """Make a tensor, the fresh result of an op, a view of `a`: one version counter, one base.

    It requires grad if its base does, in whatever mode it was made.
    """
    counter = tensor._version_counter = counter_of(a)
    extras = extras_of(tensor)
    extras.inference = a.is_inference()
    if extras.inference:
        tensor._grad_fn, tensor._requires_grad = None, False
        return
    above = None if a._rare is None else a._rare.view
    base = a if above is None else above.base
    if not LOCAL.recording:
        creation = INFERENCE_MODE if LOCAL.inference else NO_GRAD
    elif creation is None and above is not None:
        creation = above.creation
    extras.view = View(base, tensor._grad_fn, counter.value, creation)
    tensor._grad_fn = None
    if base._requires_grad:
        tensor._requires_grad = True
    if extras.view.grad_fn is None:  # whether it requires grad is up to its base from now on
        if counter.views is None:
            counter.views = WeakSet()
        counter.views.add(tensor)
    if LOCAL.observer is not None:
        LOCAL.observer.view(tensor)


def set_history(tensor: Any, node: Node, output_nr: int = 0) -> None:
    """Make a tensor the output of a node; its views, and it if it is one, require grad from now on."""
    view = None if tensor._rare is None else tensor._rare.view
    if view is None:
        tensor._grad_fn = node
    else:
        view.grad_fn, view.version = node, tensor._version_counter.value
    tensor._output_nr = output_nr
    require_grad(tensor)


def require_grad(base: Any, on: bool = True) -> None:
    """Set `requires_grad` of a tensor, and of those of its views that were taken off record."""
    view = None if base._rare is None else base._rare.view
    base._requires_grad = on or (view is not None and view.base._requires_grad)
    if view is not None:
        view.own = on and view.grad_fn is None
    counter = base._version_counter
    if counter is not None and counter.views is not None:
        for tensor in counter.views:
            view = tensor._rare.view
            if view is not None and view.base is base:
                tensor._requires_grad = on or view.own or view.grad_fn is not None


def move_retain(tensor: Any, old: Any, output_nr: int, new: Node) -> None:
    """A tensor that gets another node takes its `retain_grad()` along; its hooks stay where they were hung."""
    if old is not None and old.rare is not None and old.rare.hooks is not None:
        retains = old.rare.hooks.retains
        reference = retains.get(output_nr)
        if reference is not None and reference() is tensor:
            new.node_hooks().retains[0] = retains.pop(output_nr)


def refuse_view(tensor: Any) -> None:
    """PyTorch's error for writing on record to a view that was made in a way that forbids it."""
    view = None if tensor._rare is None else tensor._rare.view
    if view is not None and view.creation is not None:
        raise RuntimeError(refusal(tensor, view, "is being"))


def refusal(tensor: Any, view: View, what: str) -> str:
    """What PyTorch says of such a view, `what` having happened to it."""
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

