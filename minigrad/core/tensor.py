"""Defines Tensor: an array, and what autograd knows about it. Mirrors `torch/_tensor.py`.

Read this file first. Autograd adds five facts to an array: whether it requires grad, its `.grad`, the node that made it
(`grad_fn`), which output of that node it is, and how often its memory was written to. Lesson 1 reads them one by one.
The ops are in `minigrad.ops`, which binds them to this class as methods; `backward` is bound in engine.py.
"""

from __future__ import annotations

import functools
import itertools
import warnings
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from minigrad._base.hooks import HookDict, NodeHooks, RemovableHandle
from minigrad._base.tensor_data import TensorData, tensor_repr
from minigrad._base.tensor_errors import DETACH_IT, DETACH_VIEW, NO_LEAF, NON_LEAF_GRAD, SCALAR, check_data, check_grad
from minigrad._base.type_name import type_name
from minigrad._base.warnings import warn_once
from minigrad.core.grad_mode import LOCAL, UNUSUAL

__all__ = ["Tensor", "TensorExtras", "VersionCounter", "alias", "blank", "counter_of", "extras_of",
           "forget_accumulator", "materialized", "next_sequence_nr", "plain", "set_requires_grad"]

next_sequence_nr = itertools.count().__next__  # numbers nodes, and stamps `detach_` and hooks, in order of time


class VersionCounter:
    """Counts how often a storage was written to in place; a tensor and all its views share one."""

    __slots__ = ("before_write", "value", "views")

    def __init__(self) -> None:
        self.value = 0
        self.before_write: Callable[[], None] | None = None  # called before a write (allow_mutation_on_saved_tensors)
        self.views: weakref.WeakSet[Any] | None = None  # views taken while grad mode was off (history/views.py)


class TensorExtras:
    """Rarely used facts about a tensor, allocated on demand."""

    __slots__ = ("accumulator", "accumulator_hooks", "detached_at", "hooked_at", "hooks", "inference", "output_nr",
                 "post_accumulate", "replaced_at", "retained", "version_counter", "view")

    def __init__(self) -> None:
        self.output_nr = 0  # which output of `grad_fn` this tensor is
        self.version_counter: VersionCounter | None = None
        self.hooks: HookDict | None = None  # of a leaf, from register_hook; those of other tensors are on their node
        self.post_accumulate: HookDict | None = None  # of a leaf, from register_post_accumulate_grad_hook
        self.accumulator: Callable[[], Any] | None = None  # returns the AccumulateGrad of a leaf (a weak reference)
        self.accumulator_hooks: NodeHooks | None = None  # of the AccumulateGrad of a leaf (NOTE 6 in graph.py)
        self.hooked_at = 0  # the sequence number when the first of the accumulator_hooks was registered
        self.replaced_at = 0  # the sequence number when `set_` or `.data` gave this leaf another AccumulateGrad
        self.view: Any = None  # a View (history/views.py), if this tensor is one
        self.detached_at = 0  # the sequence number at which detach_() took this tensor out of its graph
        self.retained = False  # retain_grad() was called, and `retains` of the present node does not show it
        self.inference = False  # made inside inference_mode


def extras_of(tensor: Tensor) -> TensorExtras:
    """Return the extras of a tensor, allocated now if it had none."""
    if tensor._extras is None:
        tensor._extras = TensorExtras()
    return tensor._extras


class Tensor(TensorData):
    """An array that knows how it was computed."""

    __slots__ = ("__dict__", "__weakref__", "_extras", "_grad", "_grad_fn", "_requires_grad", "array")

    array: Any  # the data: a NumPy or CuPy array, or a NumPy scalar (see TensorData)
    _requires_grad: bool
    _grad: Tensor | None
    _grad_fn: Any  # the Node that made this tensor; None for a leaf, and for a view, whose node is in its extras
    _extras: TensorExtras | None

    backward_namespace: Any  # the functions that formulas call in a recorded pass (ops/backward_namespace.py)

    __array_priority__ = 1000  # NumPy's operators defer to ours
    __hash__ = object.__hash__

    @property
    def grad_fn(self) -> Any:
        """The node that made this tensor; None for a leaf. A view gets a new one after a write to its base."""
        if self._extras is None or self._extras.view is None:
            return self._grad_fn
        return self._extras.view.current_grad_fn(self)

    @property
    def _current_grad_fn(self) -> Any:
        """The node as it is now: unlike `grad_fn`, reading it changes nothing."""
        return self._grad_fn if self._extras is None or self._extras.view is None else self._extras.view.grad_fn

    @property
    def _output_nr(self) -> int:
        return 0 if self._extras is None else self._extras.output_nr

    @_output_nr.setter
    def _output_nr(self, output_nr: int) -> None:
        if output_nr or self._extras is not None:
            extras_of(self).output_nr = output_nr

    @property
    def output_nr(self) -> int:
        """Which output of `grad_fn` this tensor is."""
        return self._output_nr

    @property
    def _version_counter(self) -> VersionCounter | None:
        return None if self._extras is None else self._extras.version_counter

    @_version_counter.setter
    def _version_counter(self, counter: VersionCounter | None) -> None:
        if counter is not None or self._extras is not None:
            extras_of(self).version_counter = counter

    @property
    def requires_grad(self) -> bool:
        """Whether gradients flow to this tensor. It can be set on leaves, of floating point dtype."""
        return self._requires_grad

    @requires_grad.setter
    def requires_grad(self, on: bool) -> None:
        if not isinstance(on, bool):
            raise RuntimeError("requires_grad must be a bool")
        if self._current_grad_fn is not None:
            raise RuntimeError(NO_LEAF if on else NO_LEAF + DETACH_IT)
        if on and self.array.dtype.kind not in "fc":
            raise RuntimeError("only Tensors of floating point and complex dtype can require gradients")
        if on and self.is_inference() and not LOCAL.inference:
            raise RuntimeError("Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.")
        set_requires_grad(self, on)

    @requires_grad.deleter
    def requires_grad(self) -> None:
        raise RuntimeError("requires_grad must be a bool")

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Set `requires_grad` and return this tensor."""
        if not isinstance(requires_grad, bool):
            raise TypeError("requires_grad_(): argument 'requires_grad' (position 1) must be bool, not "
                            f"{type_name(requires_grad)}")
        if requires_grad and self.array.dtype.kind not in "fc":
            raise RuntimeError("only Tensors of floating point dtype can require gradients")
        if self._current_grad_fn is None or not requires_grad:
            self.requires_grad = requires_grad
        return self

    @property
    def is_leaf(self) -> bool:
        """True unless this tensor is the result of a recorded op."""
        return self.grad_fn is None

    @property
    def grad(self) -> Tensor | None:
        """The sum of what backward passes have added here, or None. Warns on a tensor that will not get one."""
        if self._grad is None and self._current_grad_fn is not None and not self.retains_grad:
            warnings.warn(NON_LEAF_GRAD, UserWarning, stacklevel=2)
        return self._grad

    @grad.setter
    def grad(self, new: Tensor | None) -> None:
        if new is not None:
            if not isinstance(new, Tensor):
                raise TypeError("assigned grad expected to be a Tensor or None but got grad of type "
                                f"{type_name(new)}")
            check_grad(self, new)
        changed, self._grad = new is not self._grad, new
        if changed and LOCAL.observer is not None:
            LOCAL.observer.set_grad(self)

    @grad.deleter
    def grad(self) -> None:
        self.grad = None

    @property
    def retains_grad(self) -> bool:
        """Whether a backward pass will keep the gradient of this non-leaf (`retain_grad`)."""
        node = self._current_grad_fn
        if self._extras is not None and self._extras.retained:
            return True
        if node is None or node._extras is None or node._extras.hooks is None:
            return False
        reference = node._extras.hooks.retains.get(self._output_nr)
        return reference is not None and reference() is self

    @property
    def _version(self) -> int:
        """How often this tensor's storage was changed in place. Raises RuntimeError for one made in inference mode."""
        if self.is_inference():
            raise RuntimeError("Inference tensors do not track version counter.")
        return 0 if self._version_counter is None else self._version_counter.value

    @property
    def _base(self) -> Tensor | None:
        """The tensor that this one is a view of, or None."""
        return None if self._extras is None or self._extras.view is None else self._extras.view.base

    def _is_view(self) -> bool:
        return self._base is not None

    def is_inference(self) -> bool:
        """Return whether this tensor was made inside `inference_mode`."""
        return self._extras is not None and self._extras.inference

    @property
    def _backward_hooks(self) -> HookDict | None:
        node = self._current_grad_fn
        if node is None:
            return None if self._extras is None else self._extras.hooks
        if node._extras is None or node._extras.hooks is None:
            return None
        hooks: HookDict | None = node._extras.hooks.tensor.get(self._output_nr)
        return hooks

    def retain_grad(self) -> None:
        """Keep the gradient of this non-leaf in `.grad`; nothing happens on a leaf.

        As in PyTorch a view that has no node yet, though its base has been given one, counts as a leaf here.
        """
        if not self._requires_grad:
            raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
        if self._current_grad_fn is not None and not self.retains_grad:
            self.grad_fn.node_hooks().retains[self._output_nr] = weakref.ref(self)

    def register_hook(self, hook: Callable[[Tensor], Tensor | None]) -> RemovableHandle:
        """Call `hook(grad)` when this tensor's gradient is known; a tensor that it returns replaces the gradient."""
        if not self._requires_grad:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        held = self._backward_hooks
        if held is not None:  # as in PyTorch, of a view whose base was written to since, they are those of its old node
            return held.register(hook)
        try:
            node = self.grad_fn
        except RuntimeError:  # a view whose base was written to: PyTorch asks for the node at the first hook only
            extras = extras_of(self)
            if extras.hooks is None:
                extras.hooks = HookDict()
                raise
            return extras.hooks.register(hook)
        if node is not None:
            hooks: HookDict = node.node_hooks().tensor.setdefault(self._output_nr, HookDict())
            return hooks.register(hook)
        extras = extras_of(self)
        if extras.hooks is None:
            extras.hooks = HookDict()
        return extras.hooks.register(hook)

    def register_post_accumulate_grad_hook(self, hook: Callable[[Tensor], None]) -> RemovableHandle:
        """Call `hook(param)` after a backward pass has added to this leaf's `.grad`, or found no gradient for it."""
        if not self._requires_grad:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        if not self.is_leaf:
            raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
        extras = extras_of(self)
        if extras.post_accumulate is None:
            extras.post_accumulate = HookDict()
        return extras.post_accumulate.register(hook)

    def detach(self) -> Tensor:
        """Return a leaf that shares the data and the version counter, and requires no grad."""
        return alias(self, counter=counter_of(self))

    def detach_(self) -> Tensor:
        """Take this tensor out of its graph: it becomes a leaf that requires no grad."""
        if self._is_view():
            raise RuntimeError(DETACH_VIEW)
        if self.retains_grad:
            extras_of(self).retained = True  # PyTorch's flag stays on, though nothing will be retained any more
        if self._grad_fn is not None:
            counter_of(self)  # `check_versions` reads `detached_at` only where there is a counter
            extras_of(self).detached_at = next_sequence_nr()
        self._grad_fn, self._output_nr = None, 0
        set_requires_grad(self, False)
        return self

    @property
    def data(self) -> Tensor:
        """The same data, outside the graph and the version check: writing to it changes what was saved."""
        return alias(self)

    @data.setter
    def data(self, new: Tensor) -> None:
        check_data(self, new)
        if (new.dtype, new.device) != (self.dtype, self.device):
            forget_accumulator(self)
        self.array = materialized(new)

    @data.deleter
    def data(self) -> None:
        raise RuntimeError("Deleting tensor data is not allowed. Delete tensor instead!")

    def __float__(self) -> float:
        return float(self._number(warn=True))

    def __complex__(self) -> complex:
        return complex(self._number(warn=True))

    def __int__(self) -> int:
        return int(self._number())

    def _number(self, warn: bool = False) -> Any:
        if warn and self._requires_grad and LOCAL.grad_enabled:
            warn_once(SCALAR)
        if self.array.size != 1:
            raise ValueError("only one element tensors can be converted to Python scalars")
        return self.item()

    def __repr__(self) -> str:
        return tensor_repr(self)

    if TYPE_CHECKING:  # what minigrad.ops binds, for a type checker
        def __getattr__(self, name: str) -> Any: ...
        def __getitem__(self, index: Any) -> Tensor: ...
        def __add__(self, other: Any) -> Tensor: ...
        def __sub__(self, other: Any) -> Tensor: ...
        def __mul__(self, other: Any) -> Tensor: ...
        def __truediv__(self, other: Any) -> Tensor: ...
        def __pow__(self, other: Any) -> Tensor: ...
        def __matmul__(self, other: Tensor) -> Tensor: ...
        def __neg__(self) -> Tensor: ...
        def __radd__(self, other: Any) -> Tensor: ...
        def __rsub__(self, other: Any) -> Tensor: ...
        def __rmul__(self, other: Any) -> Tensor: ...
        def __rtruediv__(self, other: Any) -> Tensor: ...

    def __format__(self, spec: str) -> str:
        plain_number = self.array.ndim == 0 and type(self) is Tensor
        return format(self.item(), spec) if plain_number else object.__format__(self, spec)


blank = functools.partial(object.__new__, Tensor)  # a tensor with empty slots: `Tensor(...)` is PyTorch's constructor


def plain(array: Any, requires_grad: bool = False, cls: type[Any] = Tensor) -> Tensor:
    """Return a leaf, of class `cls`, that shares `array`."""
    tensor: Tensor = object.__new__(cls)
    tensor.array = array
    tensor._requires_grad = requires_grad
    tensor._grad = tensor._grad_fn = tensor._extras = None
    if LOCAL.unusual_leaves:
        UNUSUAL.on_new_leaf(tensor)
    return tensor


def alias(tensor: Tensor, cls: type[Any] = Tensor, counter: VersionCounter | None = None) -> Tensor:
    """Return a leaf that shares the data; it belongs to inference mode if `tensor` does, whatever the mode is now."""
    result = plain(materialized(tensor), cls=cls)
    if counter is not None:
        result._version_counter = counter
    if LOCAL.observer is not None:
        LOCAL.observer.aliased(result, tensor)
    if tensor.is_inference() != LOCAL.inference:
        extras_of(result).inference = not LOCAL.inference
    return result


def materialized(tensor: Tensor) -> Any:
    """Return the data as an array with memory of its own, which views, `detach()` and in-place ops can share.

    A 0-d result is a NumPy scalar until this function is called, since ops on scalars take half the time. A node that
    saved the scalar as its result saves the array from then on.
    """
    scalar = tensor.array
    if not isinstance(scalar, np.generic):
        return scalar
    tensor.array = array = np.asarray(scalar)
    if tensor._grad_fn is not None:
        tensor._grad_fn.replace_saved(scalar, array)
    return array


def counter_of(tensor: Tensor) -> VersionCounter:
    """Return the version counter of a tensor, made now if there was none and registered with the tensor's node.

    All tensors around one result of a node, such as the one that `_saved_result` returns, share one counter (NOTE 2 in
    saved.py).
    """
    extras = extras_of(tensor)
    if extras.version_counter is None:
        extras.version_counter = VersionCounter()
        if tensor._grad_fn is not None:
            extras.version_counter = tensor._grad_fn.extras().counter(extras.output_nr, extras.version_counter)
    counter: VersionCounter = extras.version_counter
    return counter


def forget_accumulator(leaf: Tensor) -> None:
    """Give a leaf a new AccumulateGrad from now on; graphs that were recorded before call the hooks of the old one."""
    extras = leaf._extras
    if extras is not None:
        extras.accumulator, extras.hooked_at = None, next_sequence_nr()
        extras.replaced_at = extras.hooked_at


def set_requires_grad(tensor: Tensor, on: bool = True) -> None:
    """Set `requires_grad` of a tensor, and of those views of it that were taken while grad mode was off.

    A view requires grad whenever its base does.
    """
    view = None if tensor._extras is None else tensor._extras.view
    tensor._requires_grad = on or (view is not None and view.base._requires_grad)
    if view is not None:
        view.own = on and view.grad_fn is None
    counter = tensor._version_counter
    if counter is not None and counter.views is not None:
        # A copy in one step, since another thread may be taking views.
        for reference in tuple(counter.views.data):  # type: ignore[attr-defined]  # typeshed leaves `data` out
            other = reference()
            view = None if other is None else other._extras.view
            if view is not None and view.base is tensor:
                other._requires_grad = on or view.own or view.grad_fn is not None
