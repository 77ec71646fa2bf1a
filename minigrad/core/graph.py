"""The graph: mirrors `torch/autograd/graph.py` and PyTorch's `node.h`.

A graph is nodes and edges. A `Node` is one recorded op; `next_functions` are its edges, one per input, each a pair of
a node and an integer: *which output of that node* the input was. A walk along them ends in an `AccumulateGrad`, one
per leaf tensor. Lesson 3 walks a graph by hand.

This module is also the one that users know as `torch.autograd.graph`. The contexts that it offers are in
saved_hooks.py, the hook on several tensors is in multi_grad.py.
"""

from __future__ import annotations

import itertools
import operator
import weakref
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, ClassVar, NamedTuple

from minigrad.autograd.anomaly_mode import ANOMALY, note
from minigrad.autograd.hooks import Hook, NodeHooks, RemovableHandle
from minigrad.autograd.multi_grad import register_multi_grad_hook, sure_edge
from minigrad.autograd.saved_hooks import (
    allow_mutation_on_saved_tensors,
    disable_saved_tensors_hooks,
    save_on_cpu,
    saved_tensor,
    saved_tensors_hooks,
)
from minigrad.backends.registry import info_of
from minigrad.core.extras import NodeExtras, Notes, extras_of, noted
from minigrad.core.formula import Formula, fitting
from minigrad.core.saved import REGISTRY, arrays, counter_of, is_tensor, tensors, value_of

__all__ = ["GradientEdge", "Node", "allow_mutation_on_saved_tensors", "disable_saved_tensors_hooks",
           "get_gradient_edge", "increment_version", "register_multi_grad_hook", "save_on_cpu", "saved_tensors_hooks"]

next_sequence_nr = itertools.count().__next__
FIRST_OF_ALL = (1 << 64) - 1  # an AccumulateGrad's number, as in PyTorch; here leaves go first by `flush`


class Node:
    """One recorded op.

    A subclass is written as `class Mul(Node)` with `forward` (on Tensors) and right under it `backward`, the one
    formula of its derivative. Its name becomes PyTorch's `MulBackward0` (another digit by `number=`,
    another word by `name=`).

    `next`: for each input a node, a leaf tensor (its AccumulateGrad appears when somebody looks) or None;
    `output_nrs`: which output of it (None: all 0); `saved`: tensors (inputs), arrays (results), None (nobody wants
    the gradient that needs it); `versions`: of the saved inputs (None: all 0); `const`: further arguments of the
    formula; `fit`: per input the (shape, dtype) to which its gradient is summed and cast, where they differ.
    Those of them that are None for most nodes share one slot, `_notes`: the fewer slots, the cheaper is a graph.
    """

    __slots__ = ("__weakref__", "_notes", "const", "next", "rare", "saved", "sequence_nr")

    next: tuple[Any, ...]
    _notes: Notes | None
    saved: tuple[Any, ...] | None
    const: tuple[Any, ...]
    sequence_nr: int
    rare: NodeExtras | None

    op: ClassVar[str] = ""  # the name without its end, `Mul`
    requires_grad: ClassVar[bool] = True  # of every node that there is
    outputs: int = 1  # how many gradients come in; ops of several outputs set their own
    saves: ClassVar[tuple[str, ...]] = ()  # names of the saved values, as in `_saved_self`
    constants: ClassVar[tuple[str, ...]] = ()  # names of `const`, as in `_saved_dim`; "" for what PyTorch does not show
    special: ClassVar[bool] = False  # several outputs, or user code: such a node always has `rare`
    prunes: ClassVar[bool] = True  # computes no gradient that a pass leaves out (user code, ops on a list: all)
    formula: ClassVar[Formula]  # calls `backward` on arrays, by the way that fits what is saved
    backward: Any
    in_pass: Any  # of a special node: all of its gradients at once, in a pass

    def __init_subclass__(cls, name: str = "", number: int | None = 0, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if number is not None:
            cls.op = name or cls.__name__
            cls.__name__ = cls.__qualname__ = f"{cls.op}Backward{number}"
        if "formula" not in cls.__dict__:
            cls.formula = fitting(cls.saves)
        for index, name in enumerate(cls.saves):
            setattr(cls, f"_saved_{name}", property(partial(value_of, index=index)))
            setattr(cls, f"_raw_saved_{name}", property(partial(saved_tensor, index=index)))
        for index, name in enumerate(cls.constants):
            if name:
                setattr(cls, f"_saved_{name}", property(partial(constant_of, index=index)))

    output_nrs, versions, input_metadata = noted("output_nrs"), noted("versions"), noted("input_metadata")

    def name(self) -> str:
        """The node's name, for instance `MulBackward0`."""
        return type(self).__name__

    def __repr__(self) -> str:
        return f"<{type(self).__name__} object at {id(self):#x}>"

    def begin(self, edges: tuple[Any, ...], output_nrs: tuple[int, ...] | None = None, saved: tuple[Any, ...] = (),
              const: tuple[Any, ...] = (), sequence_nr: int | None = None) -> None:
        """Fill the slots of a new node. The straight path does the same in straight code (record.py)."""
        self.next, self._notes = edges, None
        if output_nrs is not None and any(output_nrs):
            self.output_nrs = output_nrs
        self.saved, self.const = saved, const
        self.rare = NodeExtras() if self.special else None
        self.sequence_nr = next_sequence_nr() if sequence_nr is None else sequence_nr
        if ANOMALY.enabled:
            note(self)

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """For each input: the node that made it and which of that node's outputs it was, or (None, 0)."""
        if any(n is not None and not isinstance(n, Node) for n in self.next):
            self.next = tuple([accumulator_of(n) if n is not None and not isinstance(n, Node) else n
                               for n in self.next])
        return tuple(zip(self.next, self.output_nrs or (0,) * len(self.next), strict=True))

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

    def extras(self) -> NodeExtras:
        """The rarely needed part of this node, made now if it was not there."""
        if self.rare is None:
            self.rare = NodeExtras()
        return self.rare

    def node_hooks(self) -> NodeHooks:
        """The hooks of this node, made now if there were none."""
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
        """Which output the saved result number `index` is."""
        return 0

    def result(self, array: Any, output_nr: int = 0) -> Any:
        """A tensor around a saved array, as a result of this node."""
        made = REGISTRY.tensor(array)
        made._requires_grad, made._grad_fn, made._output_nr = True, self, output_nr
        return made

    def release(self) -> None:
        """Let go of what was saved; a second pass through a node that had saved something raises."""
        if self.saved:
            self.saved = None

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(f"cannot pickle '{type(self).__name__}' object")

    def __call__(self, *grads: Any, **names: Any) -> Any:
        """Run this node by hand, under the caller's grad mode; gives the gradients of its inputs.

        Raises:
            TypeError: if the number of gradients is not the number of the op's outputs, or one is no tensor, or has
                a name.
            RuntimeError: if what the node saved was freed by a backward pass.
        """
        if names:
            raise TypeError("keyword arguments are not supported")
        return CALL[0](self, grads)


CALL: list[Callable[[Node, tuple[Any, ...]], Any]] = []  # evaluate.py puts its `call` here

# An abstract class, as in PyTorch: nodes are what ops make. This is what ABCMeta would set; it costs no metaclass.
ABSTRACT = frozenset({"_sequence_nr", "metadata", "name", "next_functions", "register_hook", "register_prehook"})
setattr(Node, "__abstractmethods__", ABSTRACT)  # noqa: B010 (mypy knows it of classes that ABCMeta made alone)


def constant_of(node: Node, index: int) -> Any:
    """One of the further arguments of a formula: what `node._saved_dim` and its like give. A scale of 1 is not kept."""
    return node.const[index] if index < len(node.const) else 1


class AccumulateGrad(Node, number=None):
    """The end of every walk: adds what it receives to `variable.grad`."""

    __slots__ = ("variable",)
    variable: Any

    def name(self) -> str:
        """PyTorch's qualified name of this node."""
        return "torch::autograd::AccumulateGrad"

    def node_hooks(self) -> NodeHooks:
        """The hooks; the leaf keeps them too, for graphs that were there before this object (`hooks_at`)."""
        hooks = super().node_hooks()
        extras = extras_of(self.variable)
        if extras.kept_hooks is not hooks:
            extras.kept_hooks, extras.hooked_at = hooks, next_sequence_nr()
        return hooks

    def result(self, array: Any, output_nr: int = 0) -> Any:
        """A leaf around a saved array, whose gradient is accumulated where that of `variable` is."""
        if array.dtype.kind not in "fc":
            raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
        made = REGISTRY.tensor(array)
        made._requires_grad = True
        extras_of(made).accumulator = weakref.ref(self)
        return made


def accumulator_of(leaf: Any) -> AccumulateGrad:
    """The one AccumulateGrad of a leaf, as long as anybody holds it."""
    extras = extras_of(leaf)
    found = None if extras.accumulator is None else extras.accumulator()
    if found is None:
        found = AccumulateGrad()
        found.begin((), sequence_nr=FIRST_OF_ALL)
        found.variable = leaf
        extras.accumulator = weakref.ref(found)
    return found


def hooks_at(leaf: Any, nodes: Iterable[Any]) -> NodeHooks | None:
    """The hooks of a leaf's AccumulateGrad, in a pass over `nodes`.

    In PyTorch every graph over a leaf holds its one AccumulateGrad, so that hooks on it last as long as any of these
    graphs. Here an edge may hold the leaf instead, and the AccumulateGrad that somebody hung hooks on may be gone. So
    a graph that was there before the hooks were hung still calls them; one that was recorded after does not.
    """
    extras = leaf._rare
    found = None if extras.accumulator is None else extras.accumulator()
    if found is not None and found.rare is not None and found.rare.hooks is not None:
        return found.rare.hooks  # type: ignore[no-any-return]  # `leaf` is Any on this floor
    if extras.kept_hooks is None:
        return None
    older = any(isinstance(n, Node) and n.sequence_nr < extras.hooked_at and any(e is leaf for e in n.next)
                for n in nodes)
    return extras.kept_hooks if older else None


class ManyOutputs(Node, number=None):
    """A node with several outputs: its formula takes a list of gradients, zeros where none arrived."""

    __slots__ = ("output_info", "outputs")
    special = True
    output_info: list[tuple[tuple[int, ...], Any, Any]]  # shape, place and NumPy dtype of each output

    def in_pass(self, grads: list[Any], task: Any) -> tuple[Any, ...]:
        """Run the formula in a pass."""
        if all(g is None for g in grads):
            return (None,) * len(self.next)
        full = [task.xp.zeros(*info) if g is None else g for g, info in zip(grads, self.output_info, strict=True)]
        saved = arrays(self) if task.first_order else tensors(self)
        found = self.backward(task.xp, full, *saved, *self.const)
        return found if type(found) is tuple else (found,)


class GradientEdge(NamedTuple):
    """A node and which of its outputs: where a gradient is sent (`torch.autograd.graph.GradientEdge`).

    `ownership_token` is always None here: a node keeps alive what is behind it. In PyTorch one of Python does not.
    """

    node: Any
    output_nr: int
    ownership_token: Any = None


def get_gradient_edge(tensor: Any) -> GradientEdge:
    """Where the gradient of a tensor is computed: takes the tensor's place in `autograd.grad` and `backward`.

    Raises:
        RuntimeError: if the tensor does not require grad.
        AssertionError: for a view that requires grad only because its base does: no gradient goes to it.
    """
    if not tensor.requires_grad:
        raise RuntimeError("It is not possible to get the gradient edge for a Tensor that does not require gradients")
    edge = GradientEdge(*sure_edge(tensor))
    if not isinstance(edge.node, AccumulateGrad):
        edge.node.extras().output_info[edge.output_nr] = info_of(tensor.array)
    return edge


def metadata_of(edge: GradientEdge) -> tuple[tuple[int, ...], Any, Any]:
    """Shape, place and NumPy dtype of the output of a node that an edge stands for.

    Raises:
        RuntimeError: if the edge was not made by `get_gradient_edge`: a node does not know what it made.
    """
    if isinstance(edge.node, AccumulateGrad):
        return info_of(edge.node.variable.array)
    info: tuple[tuple[int, ...], Any, Any] | None = edge.node.extras().output_info.get(edge.output_nr)
    if info is None:
        raise RuntimeError("minigrad does not know the shape of this edge.\n\nMake it by get_gradient_edge(tensor).")
    return info


def increment_version(tensor: Any) -> None:
    """Say that a tensor, or each of several, was changed in place by something that autograd does not see.

    Raises:
        RuntimeError: for what is no tensor, and for a tensor of inference mode, which has no version.
    """
    try:
        tensors = iter((tensor,) if is_tensor(tensor) else tensor)
    except TypeError:
        raise RuntimeError("increment_version expect a Iterable[Tensor] as input") from None
    for each in tensors:
        if not is_tensor(each):
            raise RuntimeError("increment_version expects each element of the iterable to be a tensor")
        if not each.is_inference():
            counter_of(each).value += 1
