"""Defines Node, a recorded op, and AccumulateGrad, the end of every walk. Mirrors PyTorch's `node.h`.

`tensor.grad_fn` is the node that made a tensor. `next_functions` are its edges, one for each input: a pair of a node
and an integer, which says *which output of that node* the input was. A walk along the edges ends in an
`AccumulateGrad`, one for each leaf that requires grad. Lesson 3 walks a graph by hand.

NOTE 6 (leaves in edges). In PyTorch an edge to a leaf holds the leaf's AccumulateGrad. Creating one costs a third
of the time of a small op, and most are never looked at. So an edge to a leaf holds the leaf itself. A backward pass
creates an AccumulateGrad for it and drops it at the end. When somebody asks for `next_functions`, one is created that
lasts: the leaf remembers it weakly, this node and nodes that are recorded later keep it alive, and passes use it. Once
nobody holds it any more it is freed, and its hooks would go with it. In PyTorch a graph that was recorded before would
still hold the node and call them, and graphs recorded later would not. So the leaf keeps the hooks, with the sequence
number at which the first was registered, and a pass calls them if it meets a node with a lower number that has an edge
to the leaf.
"""

from __future__ import annotations

import operator
import weakref
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, ClassVar, NamedTuple

from numpy import generic

from minigrad._base.hooks import Hook, NodeHooks, RemovableHandle
from minigrad._base.locks import new_lock
from minigrad.core.accumulate import add_in_place, with_layout_of
from minigrad.core.grad_mode import LOCAL, UNUSUAL
from minigrad.core.saved import saved_arrays, saved_constant, saved_tensors, saved_value
from minigrad.core.saved_tensor import saved_tensor_handle
from minigrad.core.tensor import Tensor, VersionCounter, extras_of, next_sequence_nr, plain

__all__ = ["AccumulateGrad", "GradientEdge", "ManyOutputs", "Node", "NodeExtras", "accumulator_of", "attributes",
           "edge_target", "gradient_node", "known_accumulator", "output_nrs_of", "target_of"]

ACCUMULATING = new_lock()  # threads may add to one `.grad`: NumPy releases the interpreter's lock during an addition
MAX_SEQUENCE_NR = (1 << 64) - 1  # the highest: of an AccumulateGrad, and of the node of an op without a derivative


class NodeExtras:
    """Rarely used facts about a node, allocated on demand."""

    __slots__ = ("accumulators", "handles", "hooks", "input_metadata", "metadata", "output_info", "result_counters",
                 "versions", "written")

    def __init__(self) -> None:
        self.input_metadata: tuple[Any, ...] | None = None  # per input the (shape, dtype) of its gradient, or None
        self.versions: tuple[int, ...] | None = None  # versions of the saved values when they were saved; None: all 0
        self.result_counters: dict[int, VersionCounter] | None = None  # of results, by output number (NOTE 2: saved.py)
        self.hooks: NodeHooks | None = None  # a node that has them, even if empty, leaves the engine's fast path
        self.metadata: dict[Any, Any] | None = None  # whatever a user keeps with the node
        self.accumulators: list[AccumulateGrad] | None = None  # those of the leaves that edges lead to, kept alive
        self.handles: weakref.WeakValueDictionary[int | None, Any] | None = None  # SavedTensors: `_raw_saved_self`
        self.written: weakref.ref[Any] | None = None  # the node of a view, if an in-place op wrote the result there
        self.output_info: dict[int, tuple[tuple[int, ...], Any, Any]] | None = None  # outputs with a GradientEdge

    def counter(self, output_nr: int, new: VersionCounter) -> VersionCounter:
        """Return the version counter of a result: the registered one, or else `new`, which is registered now."""
        if self.result_counters is None:
            self.result_counters = {}
        return self.result_counters.setdefault(output_nr, new)


def attributes(**read: Callable[[Any], Any]) -> dict[str, Callable[[Any], Any]]:
    """Return what nodes show under these names, after `_saved_`, and how to read each from a node."""
    return read


class NodeType(type):
    """The metaclass of Node. Gives a subclass empty `__slots__`: nodes have no `__dict__` unless their class asks."""

    @classmethod
    def __prepare__(cls, name: str, bases: tuple[type, ...], /, **kwargs: Any) -> dict[str, Any]:
        return {"__slots__": ()}

    def __repr__(cls) -> str:
        """As of nodes in PyTorch, whose classes are in C++."""
        private = cls.__module__.startswith("minigrad.") and not cls.__module__.startswith("minigrad.autograd.")
        return f"<class '{cls.__name__}'>" if private else super().__repr__()


class Node(metaclass=NodeType):
    """One recorded op: its edges, and what its derivative needs.

    A subclass is written as `class Mul(Node)` with `forward` (on Tensors) and right under it `backward`, the formula of
    its derivative. Its name becomes PyTorch's `MulBackward0` (another digit by `number=`, another word by `name=`).
    With `number=None` it stays as it is: for classes that are not ops themselves.
    """

    __module__ = "minigrad.autograd.graph"

    __slots__ = ("__weakref__", "_extras", "const", "next", "next_output_nrs", "saved", "sequence_nr")

    next: tuple[Any, ...]  # where the gradient of each input goes: to a node, to a leaf (NOTE 6), or nowhere (None)
    next_output_nrs: tuple[int, ...] | None  # for each input, which output of that node it was; None: the first
    saved: tuple[Any, ...] | None  # inputs (tensors), results (arrays), numbers, None, Packed; None once freed
    const: tuple[Any, ...]  # further arguments of the formula: a dimension, an exponent
    sequence_nr: int  # higher for nodes that were recorded later; the engine runs the highest first
    _extras: NodeExtras | None

    op: ClassVar[str] = ""  # the op's name, `Mul`
    outputs: int = 1  # how many outputs the op has, and so how many gradients the node receives
    saves: ClassVar[tuple[str, ...]] = ()  # names of what `forward` passes to `record1` as `saved`: `_saved_self`
    constants: ClassVar[tuple[str, ...]] = ()  # names of `const`, as in `_saved_dim`; "" for what PyTorch does not show
    shows: ClassVar[dict[str, Callable[[Any], Any]]] = {}  # what else PyTorch's node shows: how to read it here
    own_input_grads: ClassVar[bool] = False  # overrides `input_grads`, whose results are not summed to shapes
    prunes: ClassVar[bool] = True  # what a pass with `inputs=` does not need is dropped; not for custom Functions
    requires_grad: ClassVar[bool] = True  # PyTorch's flag; always True here
    backward: Any  # the formula: backward(xp, gradient, *saved, *const) returns the gradients of the inputs

    def __init_subclass__(cls, name: str = "", number: int | None = 0, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if number is not None:
            cls.op = name or cls.__name__
            cls.__name__ = cls.__qualname__ = f"{cls.op}Backward{number}"
        for index, name in enumerate(cls.saves):
            setattr(cls, f"_saved_{name}", property(partial(saved_value, index=index)))
            setattr(cls, f"_raw_saved_{name}", property(partial(saved_tensor_handle, index=index)))
        for index, name in enumerate(cls.constants):
            if name:
                setattr(cls, f"_saved_{name}", property(partial(saved_constant, index=index)))
        for name, read in cls.shows.items():
            setattr(cls, f"_saved_{name}", property(read))

    def fill(self, next_nodes: tuple[Any, ...], saved: tuple[Any, ...] = (), const: tuple[Any, ...] = (),
             sequence_nr: int | None = None, next_output_nrs: tuple[int, ...] | None = None) -> None:
        """Fill a new node: the one place that does. (As `__init__` it would take twice the time.)"""
        self.next = next_nodes
        self.next_output_nrs = next_output_nrs
        self.saved = saved
        self.const = const
        self.sequence_nr = next_sequence_nr() if sequence_nr is None else sequence_nr
        self._extras = None
        if UNUSUAL.on_new_node is not None:
            UNUSUAL.on_new_node(self)

    def input_grads(self, task: Any, grad: Any) -> Any:
        """Compute the gradients of the inputs from that of the result. Only this method calls a formula, apart from
        `input_grads_of_unpacked`, where hooks unpack what was saved.

        In a first-order pass the formula gets arrays. In a pass that is itself recorded (`create_graph=True`) it gets
        tensors, whose operators record themselves.
        """
        if grad is None:
            return (None,) * len(self.next)
        saved = saved_arrays(self) if task.first_order else saved_tensors(self)
        return self.backward(task.xp, grad, *saved, *self.const)

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """For each input: the node that made it, and which of that node's outputs it was; (None, 0) for no node."""
        self.hold_accumulators()
        nodes = [accumulator_of(target) if isinstance(target, Tensor) else target for target in self.next]
        return tuple(zip(nodes, self.output_nrs()))

    def hold_accumulators(self) -> None:
        """Keep alive, from now on, the AccumulateGrads of the leaves that the edges lead to (NOTE 6)."""
        leaves = [target for target in self.next if isinstance(target, Tensor)]
        if leaves:
            self.extras().accumulators = [accumulator_of(leaf) for leaf in leaves]

    def output_nrs(self) -> tuple[int, ...]:
        """For each input, which output of its node it was."""
        return (0,) * len(self.next) if self.next_output_nrs is None else self.next_output_nrs

    def name(self) -> str:
        """Return the node's name, for instance `MulBackward0`."""
        return type(self).__name__

    def __repr__(self) -> str:
        return f"<{type(self).__name__} object at {id(self):#x}>"

    def extras(self) -> NodeExtras:
        """Return the extras of this node, allocated now if it had none."""
        if self._extras is None:
            self._extras = NodeExtras()
        return self._extras

    @property
    def metadata(self) -> dict[Any, Any]:
        """A dict for whatever a user wants to keep with this node."""
        extras = self.extras()
        if extras.metadata is None:
            extras.metadata = {}
        return extras.metadata

    def _sequence_nr(self) -> int:
        return self.sequence_nr

    def _set_sequence_nr(self, number: int) -> None:
        self.sequence_nr = operator.index(number)

    def node_hooks(self) -> NodeHooks:
        """Return the hooks of this node, allocated now if there were none."""
        extras = self.extras()
        if extras.hooks is None:
            extras.hooks = NodeHooks()
        return extras.hooks

    def register_hook(self, fn: Hook) -> RemovableHandle:
        """Call `fn(grad_inputs, grad_outputs)` after this node ran; a tuple that it returns replaces grad_inputs.

        `grad_inputs` are the gradients that the node computed, `grad_outputs` those that it received.
        """
        return self.node_hooks().post.register(fn)

    def register_prehook(self, fn: Hook) -> RemovableHandle:
        """Call `fn(grad_outputs)` before this node runs; a tuple that it returns replaces them."""
        return self.node_hooks().pre.register(fn)

    def saved_output_nr(self, index: int) -> int:
        """Return which output the saved result number `index` is."""
        return 0

    def replace_saved(self, old: Any, new: Any) -> None:
        """Replace `old` by `new`, if this node saved `old`."""
        if self.saved:
            self.saved = tuple([new if value is old else value for value in self.saved])

    def result(self, array: Any, output_nr: int = 0) -> Tensor:
        """Return a tensor around a saved array, as a result of this node."""
        tensor = plain(array)
        tensor._requires_grad, tensor._grad_fn, tensor._output_nr = True, self, output_nr
        return tensor

    def release(self) -> None:
        """Free what was saved; a second pass through a node that had saved something raises."""
        self.saved = None if self.saved else self.saved  # () and NothingSaved stay

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(f"cannot pickle '{type(self).__name__}' object")


# An abstract class, as in PyTorch: nodes are what ops make. This is what ABCMeta would set; it costs no metaclass.
ABSTRACT = frozenset({"_sequence_nr", "metadata", "name", "next_functions", "register_hook", "register_prehook"})
setattr(Node, "__abstractmethods__", ABSTRACT)  # noqa: B010 (mypy knows it of classes that ABCMeta made alone)


class AccumulateGrad(Node, number=None):
    """The end of every walk: adds what it receives to `variable.grad`."""

    __slots__ = ("variable",)
    variable: Tensor

    def __init__(self, variable: Tensor) -> None:
        self.variable = variable
        self.fill((), sequence_nr=MAX_SEQUENCE_NR)

    def accumulate(self, task: Any, grad: Any, can_steal: bool) -> tuple[()]:
        """Add to `.grad`; there are no inputs to pass gradients to. A leaf that no longer requires grad gets none.

        With `can_steal` the gradient itself becomes the `.grad`: nobody else can see its array (NOTE 3 in engine.py).
        """
        leaf = self.variable
        if leaf._grad_fn is not None or (leaf._extras and leaf._extras.view and leaf.grad_fn):
            raise RuntimeError("leaf variable has been moved into the graph interior")
        if grad is None or not leaf._requires_grad:
            return ()
        with ACCUMULATING:
            if leaf._grad is None:
                leaf._grad = plain(grad) if task.first_order else task.xp.copy(grad)
                if not isinstance(grad, generic):  # a NumPy scalar cannot be changed: it may be shared
                    leaf._grad.array = with_layout_of(leaf.array, leaf._grad.array, can_steal or not task.first_order)
            elif task.first_order:
                add_in_place(leaf._grad, grad)
            else:
                leaf._grad = leaf._grad + grad
        return ()

    def name(self) -> str:
        """PyTorch's qualified name of this node."""
        return "torch::autograd::AccumulateGrad"

    def has_leaf_hooks(self) -> bool:
        """Return whether hooks were registered on the leaf itself, or are kept there."""
        return (extras := self.variable._extras) is not None and bool(
            extras.hooks or extras.post_accumulate or extras.accumulator_hooks)

    def restore_hooks(self, nodes: Iterable[Any]) -> None:
        """Take over the hooks that the leaf has kept, if one of the nodes has an older edge to it (NOTE 6)."""
        leaf_extras = extras_of(self.variable)
        if leaf_extras.accumulator_hooks is not None and self.extras().hooks is None and any(
                isinstance(node, Node) and node.sequence_nr < leaf_extras.hooked_at
                and any(target is self.variable for target in node.next) for node in nodes):
            self.extras().hooks = leaf_extras.accumulator_hooks

    def node_hooks(self) -> NodeHooks:
        """Return the hooks; the leaf keeps them too, for graphs that were recorded before (NOTE 6)."""
        hooks, leaf_extras = super().node_hooks(), extras_of(self.variable)
        if leaf_extras.accumulator_hooks is not hooks:
            leaf_extras.accumulator_hooks, leaf_extras.hooked_at = hooks, next_sequence_nr()
        return hooks

    def result(self, array: Any, output_nr: int = 0) -> Tensor:
        """Return a leaf around a saved array, whose gradient is accumulated where that of `variable` is."""
        if array.dtype.kind not in "fc":
            raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
        tensor = plain(array)
        tensor._requires_grad = True
        extras_of(tensor).accumulator = lambda: self  # a strong reference: nobody else may hold it
        return tensor


def known_accumulator(leaf: Tensor) -> AccumulateGrad | None:
    """Return the AccumulateGrad of a leaf, if one was asked for and is still held."""
    return None if leaf._extras is None or leaf._extras.accumulator is None else leaf._extras.accumulator()


def accumulator_of(leaf: Tensor) -> AccumulateGrad:
    """Return the AccumulateGrad that a leaf remembers, weakly as in PyTorch; created now if there is none."""
    node = known_accumulator(leaf)
    if node is None:
        buffer = None if LOCAL.graph_task is None else LOCAL.graph_task.buffers.get(leaf)
        node = AccumulateGrad(leaf) if buffer is None else buffer.node  # a hook may inspect the graph of a running pass
        extras_of(leaf).accumulator = weakref.ref(node)
    return node


def output_nrs_of(tensors: Iterable[Tensor]) -> tuple[int, ...] | None:
    """Return which output of its node each tensor is: the `next_output_nrs` of a node with these inputs."""
    output_nrs = tuple([tensor._output_nr for tensor in tensors])
    return output_nrs if any(output_nrs) else None


def target_of(node: Any) -> Any:
    """Return what an edge to a node holds: the node, or for an AccumulateGrad its leaf (NOTE 6)."""
    return node.variable if isinstance(node, AccumulateGrad) else node


def edge_target(tensor: Tensor) -> Any:
    """Return what an edge to a tensor holds: the node that made it, the leaf (NOTE 6), or None for no gradient.

    None for a tensor that does not require grad, and for a view that does only because its base does: no gradient goes
    through a view that was made while grad mode was off.
    """
    if tensor._grad_fn is not None or not tensor._requires_grad:
        return tensor._grad_fn
    if tensor._extras is None:
        return tensor
    if tensor._extras.view is not None:
        node = tensor.grad_fn
        if node is not None or not tensor._extras.view.own:
            return node
    accumulator = known_accumulator(tensor)  # of another leaf, if this one was made by `AccumulateGrad.result`
    return tensor if accumulator is None else accumulator.variable


def gradient_node(tensor: Tensor) -> Any:
    """Return the node that a gradient of a tensor goes to: its `grad_fn`, or the AccumulateGrad of a leaf, or None."""
    target = edge_target(tensor)
    return accumulator_of(target) if isinstance(target, Tensor) else target


class ManyOutputs(Node, number=None):
    """A node with several outputs: its formula takes a list of gradients."""

    __slots__ = ("output_info", "outputs")
    fills_missing: ClassVar[bool] = True  # the formula gets zeros, not None, for a gradient that did not arrive
    own_input_grads = True
    output_info: list[tuple[tuple[int, ...], Any, Any]]  # shape, device and NumPy dtype of each output

    def input_grads(self, task: Any, grad: Any) -> Any:
        """Compute the gradients of the inputs from those of the outputs."""
        grads = [grad] if self.outputs == 1 else grad
        if all(g is None for g in grads):
            return (None,) * len(self.next)
        if self.fills_missing:
            grads = [task.xp.zeros(*info) if g is None else g for g, info in zip(grads, self.output_info, strict=True)]
        return super().input_grads(task, grads)


class GradientEdge(NamedTuple):
    """A node and which of its outputs: where a gradient is sent (`torch.autograd.graph.GradientEdge`).

    `ownership_token` is always None here: a node keeps alive what is behind it. In PyTorch the node of a custom
    Function does not.
    """

    node: Any
    output_nr: int
    ownership_token: Any = None


GradientEdge.__module__ = "minigrad.autograd.graph"
