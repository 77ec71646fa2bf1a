"""The tensor: mirrors `torch/_tensor.py`.

A tensor is an array and what autograd knows of it: whether it requires grad, its `.grad`, the node that made it
(`grad_fn`) and which output of that node it is, its version. Lesson 1 reads these off, one by one. The ops are in
`minigrad.ops`, which binds them to this class as methods.
"""

from __future__ import annotations

import functools
import warnings
import weakref
from collections.abc import Callable, Iterator
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from minigrad._base.device import device
from minigrad._base.dtype import Size, dtype, from_numpy_dtype
from minigrad._base.tensor_errors import (
    DETACH_IT,
    DETACH_VIEW,
    NON_LEAF_GRAD,
    NOT_A_LEAF,
    TO_SCALAR,
    check_data,
    check_grad,
)
from minigrad._base.tensor_str import tensor_repr
from minigrad._base.type_name import type_name
from minigrad._base.warnings import warn_once
from minigrad.autograd import _api
from minigrad.autograd.hooks import HookDict, RemovableHandle
from minigrad.autograd.views import edge_of, grad_fn_now, grad_fn_of, require_grad
from minigrad.backends.registry import device_of
from minigrad.core.extras import extras_of, kept
from minigrad.core.grad_mode import LOCAL
from minigrad.core.graph import Node, accumulator_of, next_sequence_nr
from minigrad.core.saved import REGISTRY, VersionCounter, counter_of

__all__ = ["Tensor", "blank", "owned", "plain"]


class Tensor:
    """An array that knows how it was computed.

    `array` is its data: a NumPy array, or a NumPy scalar for a 0-d result that nobody has written to or taken a view
    of. `_form` is its shape and dtype as one object, once somebody asked (ops/_form.py). The other slots are
    autograd's; user code reads them through the properties below. What few tensors have is kept in `_rare`.
    """

    __slots__ = ("__dict__", "__weakref__", "_form", "_grad", "_grad_fn", "_rare", "_requires_grad", "array")

    array: Any
    _form: Any
    _grad: Tensor | None
    _grad_fn: Node | None
    _rare: Any
    _requires_grad: bool

    __array_priority__ = 1000  # NumPy's operators leave the work to ours
    __hash__ = object.__hash__

    # what autograd knows
    grad_fn = property(grad_fn_of, doc="The node that made this tensor; None for a leaf.")
    _output_nr, _version_counter = kept("output_nr", 0), kept("version_counter", None)
    output_nr = property(attrgetter("_output_nr"), doc="Which output of `grad_fn` this tensor is.")

    @property
    def requires_grad(self) -> bool:
        """Whether gradients flow to this tensor. It can be set on leaves, of floating point dtype."""
        return self._requires_grad

    @requires_grad.setter
    def requires_grad(self, on: bool) -> None:
        if not isinstance(on, bool):
            raise RuntimeError("requires_grad must be a bool")
        if grad_fn_now(self) is not None:
            raise RuntimeError(NOT_A_LEAF if on else NOT_A_LEAF + DETACH_IT)
        if on and self.array.dtype.kind not in "fc":
            raise RuntimeError("only Tensors of floating point and complex dtype can require gradients")
        if on and self.is_inference() and not LOCAL.inference:
            raise RuntimeError("Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.")
        require_grad(self, on)

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Set `requires_grad` and return this tensor."""
        if not isinstance(requires_grad, bool):
            raise TypeError("requires_grad_(): argument 'requires_grad' (position 1) must be bool, not "
                            f"{type_name(requires_grad)}")
        if requires_grad and self.array.dtype.kind not in "fc":
            raise RuntimeError("only Tensors of floating point dtype can require gradients")
        if grad_fn_now(self) is None or not requires_grad:
            self.requires_grad = requires_grad
        return self

    @property
    def is_leaf(self) -> bool:
        """True unless this tensor is the result of a recorded op; asking renews a view's node, as `grad_fn` does."""
        return grad_fn_of(self) is None

    @property
    def grad(self) -> Tensor | None:
        """What backward passes have added up here, or None. Warns on a tensor that will not get one."""
        if self._grad is None and grad_fn_now(self) is not None and not self.retains_grad:
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
        node = grad_fn_now(self)
        if node is None:
            return self._rare is not None and self._rare.retained
        if node.rare is None or node.rare.hooks is None:
            return False
        reference = node.rare.hooks.retains.get(self._output_nr)
        return reference is not None and reference() is self

    @property
    def _version(self) -> int:
        """How often this tensor's storage was changed in place; a RuntimeError for one made in inference mode."""
        if self.is_inference():
            raise RuntimeError("Inference tensors do not track version counter.")
        return 0 if self._version_counter is None else self._version_counter.value

    @property
    def _base(self) -> Tensor | None:
        """The tensor that this one is a view of, or None."""
        return None if self._rare is None or self._rare.view is None else self._rare.view.base

    def _is_view(self) -> bool:
        return self._base is not None

    def is_inference(self) -> bool:
        """Whether this tensor was made inside `inference_mode`."""
        return self._rare is not None and self._rare.inference

    @property
    def _backward_hooks(self) -> HookDict | None:
        node = grad_fn_now(self)
        if node is None:
            return None if self._rare is None else self._rare.hooks
        return None if node.rare is None or node.rare.hooks is None else node.rare.hooks.tensor.get(self._output_nr)

    # autograd's verbs
    def backward(self, gradient: Tensor | None = None, retain_graph: bool | None = None, create_graph: bool = False,
                 inputs: Any = None) -> None:
        """Add the gradient of this tensor to the `.grad` of the leaves that it was computed from.

        `gradient`: of this tensor's shape; may be left out for a tensor of one element, then it is 1.
        `retain_graph`: keep what the nodes saved (default: `create_graph`). `create_graph`: record the pass itself.
        `inputs`: the tensors to accumulate into (default: all leaves).

        Raises:
            RuntimeError: if this tensor has no graph, `gradient` is missing or has another shape, the graph was freed
                by an earlier pass, or a saved tensor was changed in place.
        """
        _api.backward(self, gradient, retain_graph, create_graph, inputs=inputs)

    def retain_grad(self) -> None:
        """Keep the gradient of this non-leaf in `.grad`; nothing happens on a leaf.

        As in PyTorch a view that has no node yet, though its base has been given one, counts as a leaf here.
        """
        if not self._requires_grad:
            raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
        if grad_fn_now(self) is not None:
            grad_fn_of(self).node_hooks().retains[self._output_nr] = weakref.ref(self)

    def register_hook(self, hook: Callable[[Tensor], Tensor | None]) -> RemovableHandle:
        """Call `hook(grad)` when the gradient of this tensor is known; what it returns takes its place."""
        if not self._requires_grad:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        node = grad_fn_of(self)
        if node is not None:
            hooks: HookDict = node.node_hooks().tensor.setdefault(self._output_nr, HookDict())
            return hooks.register(hook)
        extras = extras_of(self)
        if extras.hooks is None:
            extras.hooks = HookDict()
        handle: RemovableHandle = extras.hooks.register(hook)
        return handle

    def register_post_accumulate_grad_hook(self, hook: Callable[[Tensor], None]) -> RemovableHandle:
        """Call `hook(param)` after a backward pass has added to this leaf's `.grad`."""
        if not self._requires_grad:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        if not self.is_leaf:
            raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
        extras = extras_of(self)
        if extras.post_accumulate is None:
            extras.post_accumulate = HookDict()
        handle: RemovableHandle = extras.post_accumulate.register(hook)
        return handle

    def detach(self) -> Tensor:
        """The same data and version counter outside of the graph: a leaf that requires no grad."""
        made = alias(self)
        made._version_counter = counter_of(self)
        return made

    def detach_(self) -> Tensor:
        """Take this tensor out of its graph: it becomes a leaf that requires no grad."""
        if self._is_view():
            raise RuntimeError(DETACH_VIEW)
        if self.retains_grad:
            extras_of(self).retained = True  # PyTorch's flag stays on, though nothing will be kept any more
        if self._grad_fn is not None:
            counter_of(self)  # a node that saved this tensor looks twice at one that has a counter (`check_versions`)
            extras_of(self).detached_at = next_sequence_nr()
        self._grad_fn, self._output_nr = None, 0
        require_grad(self, False)
        return self

    @property
    def data(self) -> Tensor:
        """The same data, outside of the graph and of the version check: writing to it changes what was saved."""
        return alias(self)

    @data.setter
    def data(self, new: Tensor) -> None:
        check_data(self, new)
        self.array, self._form = owned(new), None

    @data.deleter
    def data(self) -> None:
        raise RuntimeError("Deleting tensor data is not allowed. Delete tensor instead!")

    def gradient_edge(self) -> tuple[Node | None, int]:
        """Where a gradient of this tensor goes: its node, or its AccumulateGrad; (None, 0) if nowhere."""
        target = edge_of(self) if self._requires_grad else None
        return (accumulator_of(self), 0) if target is self else (target, self._output_nr)

    # the data, and its shape
    @property
    def shape(self) -> Size:
        """The sizes of the dimensions."""
        return Size(self.array.shape)

    @property
    def dtype(self) -> dtype:
        """The type of the elements, for instance `minigrad.float32`."""
        return from_numpy_dtype(self.array.dtype)

    @property
    def device(self) -> device:
        """Where the data lives."""
        return device_of(self.array)

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return int(self.array.ndim)

    def dim(self) -> int:
        """The number of dimensions."""
        return int(self.array.ndim)

    ndimension = dim

    def numel(self) -> int:
        """The number of elements."""
        return int(self.array.size)

    nelement = numel

    def element_size(self) -> int:
        """The bytes of one element."""
        return int(self.array.itemsize)

    def item(self) -> Any:
        """The value of a tensor of one element, as a Python number."""
        if self.array.size != 1:
            raise RuntimeError(f"a Tensor with {self.array.size} elements cannot be converted to Scalar")
        return self.array.item()

    def tolist(self) -> Any:
        """The values as nested lists, or a number."""
        return self.array.tolist()

    def __len__(self) -> int:
        if self.array.ndim == 0:
            raise TypeError("len() of a 0-d tensor")
        return len(self.array)

    def __iter__(self) -> Iterator[Tensor]:
        if self.array.ndim == 0:
            raise TypeError("iteration over a 0-d tensor")
        return iter(self.unbind(0))

    def __bool__(self) -> bool:
        if self.array.size > 1:
            raise RuntimeError("Boolean value of Tensor with more than one value is ambiguous")
        if self.array.size == 0:
            raise RuntimeError("Boolean value of Tensor with no values is ambiguous")
        return bool(self.array)

    def __float__(self) -> float:
        return float(self._number(warn=True))

    def __complex__(self) -> complex:
        return complex(self._number(warn=True))

    def __int__(self) -> int:
        return int(self._number())

    def _number(self, warn: bool = False) -> Any:
        if warn and self._requires_grad and LOCAL.grad_enabled:
            warn_once(TO_SCALAR)
        if self.array.size != 1:
            raise ValueError("only one element tensors can be converted to Python scalars")
        return self.array.item()

    def __index__(self) -> int:
        if self.array.size != 1 or self.array.dtype.kind not in "iub":
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return int(self.item())

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


blank = functools.partial(object.__new__, Tensor)  # nothing in its slots: `Tensor(...)` is PyTorch's constructor


def plain(array: Any, requires_grad: bool = False, cls: type[Any] = Tensor) -> Tensor:
    """A leaf around an array, which it shares; of a subclass where one is given."""
    made: Tensor = object.__new__(cls)
    made.array = array
    made._requires_grad = requires_grad
    made._grad = made._grad_fn = made._rare = made._form = None
    if LOCAL.inference:
        extras_of(made).inference = True
        made._version_counter = VersionCounter()  # so that saving it is not the straight path
    return made


def alias(tensor: Tensor, cls: type[Any] = Tensor) -> Tensor:
    """A leaf that looks at the same memory; one of inference mode if `tensor` is, wherever it is made."""
    made = plain(owned(tensor), cls=cls)
    inference = tensor.is_inference()
    if inference != LOCAL.inference:
        extras_of(made).inference = inference
    return made


def owned(tensor: Tensor) -> Any:
    """The data as a real array, which views, `detach()` and in-place ops can share.

    0-d results are NumPy scalars until somebody asks here (operators on scalars cost half). A node that saved this
    very result takes over the array.
    """
    array = tensor.array
    if not isinstance(array, np.generic):
        return array
    tensor.array = made = np.asarray(array)
    node = tensor._grad_fn
    if node is not None and node.saved and not node.special:
        node.saved = tuple([made if s is array else s for s in node.saved])
    return made


REGISTRY.tensor = plain
