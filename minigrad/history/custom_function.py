"""Runs custom functions. Mirrors PyTorch's `python_function.cpp` and `custom_function.cpp`.

Read `wrap_outputs` to see how a tensor that the user's `forward` computed without grad mode becomes part of the graph,
and `FunctionBase.input_grads` to see how a backward pass calls the user's `backward` and checks what it returns.
"""

import warnings
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from minigrad._base.type_name import type_name
from minigrad.autograd.grad_mode import no_grad
from minigrad.backends.numpy import XP
from minigrad.backends.registry import BACKEND_OF, HOST, device_like, info_of
from minigrad.core import LOCAL, UNUSUAL, Node, Tensor, counter_of, edge_target, extras_of, materialized, plain
from minigrad.core.evaluate import check_device, check_gradient, sum_to
from minigrad.core.grad_mode import switch
from minigrad.core.graph import MAX_SEQUENCE_NR, NodeExtras, gradient_node, output_nrs_of
from minigrad.core.saved import refuse_outside_inference_mode, saved_tensors, versions_of
from minigrad.core.saved_tensor import SavedTensor, pack_all, saved_tensor_handles
from minigrad.history.inplace import check_inplace, rebase_history
from minigrad.history.views import FUNCTION, MANY, set_history, share

__all__ = ["Error", "FunctionBase", "delayed_error", "wrap_outputs"]

DIRTY_LEAF = "a leaf Variable that requires grad has been used in an in-place operation."
DIRTY_NO_INPUT = (
    "ctx.mark_dirty() received a tensor that was not an input. Only input Tensors that have been mutated should be "
    "passed to ctx.mark_dirty()."
)
DIRTY_NOT_RETURNED = (
    "Some elements marked as dirty during the forward method were not returned as output. The inputs that are modified "
    "inplace must all be outputs of the Function."
)
DIRTY_VIEW = (
    "If your Function modifies inplace an input that is a view of another Tensor, your Function cannot return more "
    "than one Tensor. This is not supported by the current autograd engine. You should either make sure the input is "
    "not a view (using .clone() for example) or make your Function only return one Tensor (potentially splitting it "
    "into two Functions: one doing the inplace that returns a single Tensor and a second one that does the other "
    "operations). You can ask on the forum https://discuss.pytorch.org/ if you need help to do this change."
)
SAVED_AS_IT_IS = (
    "An input that has been returned as-is as output is being saved for backward. This is not supported if you "
    "override setup_context. You should return and save a view of the input instead, e.g. with x.view_as(x) or setup "
    "ctx inside the forward function itself."
)
READ_ONCE = (
    "saved_tensors can only be accessed once when clear_saved_tensors_on_access=True is set on the autograd.Function. "
    "Either access saved_tensors only once, or set clear_saved_tensors_on_access=False."
)


class FunctionBase(Node, number=None):
    """The node of a custom Function, which is also the ctx that the user's forward and backward share.

    `_recorded`: whether this call is recorded: grad mode is on, and an input requires grad. `to_save`,
    `saved_for_forward`, `dirty_tensors`, `non_differentiable`: what forward marked (None: nothing), until its outputs
    are wrapped. `_input_info`: shape and dtype of each argument, and its device if that is not the CPU; `_output_info`:
    shape, device and dtype of each output; None for what is not a tensor. There is one edge per argument that is a
    tensor.
    """

    __slots__ = ("__dict__", "_cleared", "_input_info", "_materialize_non_diff_grads", "_output_info",
                 "_recorded", "_saved_nrs", "dirty_tensors", "materialize_grads", "needs_input_grad",
                 "non_differentiable", "outputs", "saved_for_forward", "to_save")
    own_input_grads = True
    prunes = False
    requires_grad = True
    _forward_cls: ClassVar[Any]
    apply: Any  # calls the user's backward,
    apply_boxed: Any  # and this with a list

    to_save: Any
    saved_for_forward: tuple[Any, ...] | None
    dirty_tensors: Any
    non_differentiable: Any
    materialize_grads: bool
    _materialize_non_diff_grads: bool
    _input_info: list[tuple[Any, ...] | None]
    _output_info: list[tuple[tuple[int, ...], Any, Any] | None]
    _saved_nrs: tuple[int, ...]

    def __init__(self, args: tuple[Any, ...]) -> None:
        self.to_save = self.saved_for_forward = self.dirty_tensors = self.non_differentiable = None
        self.materialize_grads, self._materialize_non_diff_grads, self._cleared = True, True, False
        self.needs_input_grad = tuple([isinstance(a, Tensor) and a._requires_grad for a in args])
        self._recorded = LOCAL.grad_enabled and True in self.needs_input_grad
        inputs = [a for a in args if isinstance(a, Tensor)] if self._recorded else []
        self.fill(tuple([edge_target(t) for t in inputs]), next_output_nrs=output_nrs_of(inputs))
        self.hold_accumulators()
        self.node_hooks()  # off the engine's fast path: user code sees the gradients, and may register hooks
        self._input_info = [(a.array.shape, a.array.dtype) if isinstance(a, Tensor) else None for a in args]
        if BACKEND_OF:
            self._input_info = [
                (*info, device_like(a.array)) if info is not None and type(a.array) in BACKEND_OF else info
                for a, info in zip(args, self._input_info, strict=True)]
        self.outputs, self._output_info, self._saved_nrs = 1, [], ()

    __repr__ = object.__repr__  # with the module, as PyTorch prints it

    def _differentiable(self, output: Tensor) -> bool:
        """Return whether an output of forward gets this node."""
        return (self._recorded and bool(output.array.dtype.kind == "f")
                and not among(output, self.non_differentiable))

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """What `save_for_backward` kept; in forward, what `save_for_forward` kept."""
        if self._cleared:
            raise RuntimeError(READ_ONCE)
        if self.saved_for_forward is not None:
            return self.saved_for_forward
        found = saved_tensors(self)
        if self._forward_cls.clear_saved_tensors_on_access:
            self.saved, self._cleared = (), True
        return found

    @property
    def saved_variables(self) -> tuple[Any, ...]:
        """The old name of `saved_tensors`."""
        warnings.warn("'saved_variables' is deprecated; use 'saved_tensors'", DeprecationWarning, stacklevel=2)
        return self.saved_tensors

    @property
    def _raw_saved_tensors(self) -> tuple[SavedTensor, ...]:
        """Handles on what was saved, for registering hooks."""
        return saved_tensor_handles(self)

    def saved_output_nr(self, index: int) -> int:
        return self._saved_nrs[index]

    def release(self) -> None:
        """Free what was saved; asking for it afterwards raises, even if nothing was saved."""
        self.saved = None

    def maybe_clear_saved_tensors(self) -> None:
        """Free what was saved, when called in backward, unless the pass keeps its graph."""
        if LOCAL.graph_task is not None and not LOCAL.graph_task.keep_graph:
            self.release()

    def _keep(self, saved: tuple[Any, ...], made: Sequence[Any]) -> None:
        """Turn what forward saved into saved values: inputs as tensors, outputs as arrays (NOTE 2 in saved.py)."""
        numbers = {id(t): nr for nr, t in enumerate(made) if isinstance(t, Tensor) and not t.is_leaf}
        self._saved_nrs = tuple([numbers.get(id(t), 0) for t in saved])
        self.saved = tuple([materialized(t) if id(t) in numbers else t for t in saved])
        extras, versions = self.extras(), versions_of(self.saved)
        for t, nr in zip(saved, self._saved_nrs, strict=True):  # a result that was written to has a counter already
            if t is not None and t._version_counter is not None and id(t) in numbers:
                extras.result_counters = {**(extras.result_counters or {}), nr: t._version_counter}
                versions = tuple([t._version if s is t else v for s, v in zip(saved, versions, strict=True)])
        extras.versions = versions
        if LOCAL.saved_tensors_hooks:
            edges = [gradient_node(t) for t in saved if t is not None]  # packing finds the AccumulateGrad of each leaf
            pack_all(self, made)
            del edges

    def input_grads(self, task: Any, grad: Any) -> tuple[Any, ...]:
        """Run the user's backward, always on tensors. Grad mode is that of the pass, and is restored afterwards."""
        grads = [grad] if self.outputs == 1 else grad
        given = [handed(task, task.xp.zeros(*info) if g is None and info and self.materialize_grads else g)
                 for g, info in zip(grads, self._output_info, strict=True)]
        mode = LOCAL.grad_enabled
        found = self.apply_boxed(given) if self._forward_cls.boxed_grads_call else self.apply(*given)
        if LOCAL.grad_enabled is not mode:
            switch(mode)
        results = self._checked(found if isinstance(found, tuple) else (found,))
        edges, index, input_metadata = iter(self.next), -1, []
        for g, info in zip(results, self._input_info, strict=True):
            if info is not None:
                index += 1
                wanted = next(edges) is not None and g is not None
                input_metadata.append(fitted(self, index, g, info, task) if wanted else task.unwrapped(g))
        return tuple(input_metadata)

    def _checked(self, results: tuple[Any, ...]) -> tuple[Any, ...]:
        """What backward returned, checked: one gradient per argument, a tensor or None for a tensor, else None."""
        name, count = type(self).__name__, len(self._input_info)
        if len(results) > count and all(g is None for g in results[count:]):
            results = results[:count]
        if len(results) != count:
            raise RuntimeError(f"function {name} returned an incorrect number of gradients (expected {count}, got "
                               f"{len(results)})")
        for i, (g, info) in enumerate(zip(results, self._input_info, strict=True)):
            if g is not None and info is None:
                raise RuntimeError(f"function {name} returned a gradient different than None at position {i + 1}, but "
                                   "the corresponding forward input was not a Variable")
            if g is not None and not isinstance(g, Tensor):
                raise RuntimeError(f"expected Variable or None (got {type_name(g)})")
        return results


def handed(task: Any, grad: Any) -> Any:
    """Return a gradient as the user's backward gets it: in a first-order pass a view too, where its array is one.

    An array that lies in a row in memory which was made for it, such as the zeros that an index adds to, is none.
    """
    given = task.wrapped(grad)
    if not task.first_order or given is None or given._extras is not None or given._requires_grad:
        return given
    array, base = given.array, getattr(given.array, "base", None)
    if type(base) is np.ndarray and base.dtype == array.dtype and not (
            base.size == array.size and base.ndim in (1, array.ndim) and array.flags.c_contiguous):
        share(given, plain(base))
    return given


def fitted(node: FunctionBase, index: int, grad: Tensor, info: tuple[Any, ...], task: Any) -> Any:
    """Return a gradient in its input's shape, dtype and device; raise PyTorch's error if it cannot be summed to it."""
    check_gradient(node, index, grad, info[0])
    xp, g = (XP, grad.array) if task.first_order else (task.xp, grad)
    if len(info) == 2 and type(grad.array) not in BACKEND_OF:
        return sum_to(g, info, xp)
    handle = info[2] if len(info) == 3 else HOST
    return check_device(sum_to(g, info[:2], xp), handle, index, xp, f"Function {node.name()} returned an ")


def wrap_outputs(ctx: FunctionBase, args: tuple[Any, ...], outputs: tuple[Any, ...]) -> list[Any]:
    """Return the outputs of forward as the caller gets them: with their history, if this call is recorded. Raises
    RuntimeError for what forward marked and should not have, and TypeError for a saved value that is not a tensor."""
    check_names(ctx)
    check_marks(ctx)
    dirty, ctx.outputs, wanted, made = ctx.dirty_tensors or (), len(outputs), 0, []
    for t in dirty:
        refuse_outside_inference_mode(t)
        counter_of(t).value += 1
    for output in outputs:
        if among(output, dirty) and ctx._differentiable(output):
            check_dirty(ctx, output, among(output, args))
    for nr, output in enumerate(outputs):
        info = None
        if isinstance(output, Tensor):
            differentiable = ctx._differentiable(output)
            wanted += differentiable
            if differentiable or ctx._materialize_non_diff_grads:
                info = info_of(output.array)
            output = wrapped(ctx, nr, output, among(output, args), differentiable)
        made.append(output)
        ctx._output_info.append(info)
    if wanted > 1:
        refuse_writing(made)
    if dirty and not all(among(t, outputs) for t in dirty):
        raise RuntimeError(DIRTY_NOT_RETURNED)
    if ctx._recorded and ctx.to_save:
        ctx._keep(ctx.to_save, made)
    if UNUSUAL.tangents is not None:
        UNUSUAL.tangents.kept(ctx.saved_for_forward)
    ctx.to_save = ctx.saved_for_forward = ctx.dirty_tensors = ctx.non_differentiable = None
    return made


def among(tensor: Any, others: Sequence[Any] | None) -> bool:
    """Return whether a tensor is one of `others`: by identity, not by value."""
    for other in others or ():
        if tensor is other:
            return True
    return False


def check_names(ctx: FunctionBase) -> None:
    """Raise an error for an attribute that the user set on ctx but the node needs for itself: it would get lost."""
    if not (type(ctx.next) is type(ctx.saved) is tuple and type(ctx.outputs) is type(ctx.sequence_nr) is int
            and type(ctx._extras) is NodeExtras and not ctx.saved and ctx.outputs == 1):
        raise AttributeError("this attribute of ctx is taken: _extras, next, outputs, saved and sequence_nr "
                             "are the node's, which ctx is; use another name")


def check_marks(ctx: FunctionBase) -> None:
    """Raise PyTorch's errors for what forward marked, word for word: some end before they name what they got."""
    marks = {"to_save": ctx.to_save, "non_differentiable": ctx.non_differentiable, "dirty_tensors": ctx.dirty_tensors}
    for name, mark in marks.items():
        if mark is not None and not isinstance(mark, tuple):
            raise RuntimeError(f"autograd internal error: {name} attribute is expected to be a tuple but is ")
    for i, t in enumerate(ctx.to_save or ()):
        if ctx._recorded and t is not None and not isinstance(t, Tensor):
            raise TypeError(f"save_for_backward can only save variables, but argument {i} is of type {type_name(t)}")
    for t in ctx.non_differentiable or ():
        if not isinstance(t, Tensor):
            raise RuntimeError(f"mark_non_differentiable only accepts variable arguments, but got \n\nIt got "
                               f"{type_name(t)}.")
    for i, t in enumerate(ctx.dirty_tensors or ()):
        if not isinstance(t, Tensor):
            raise RuntimeError(f"mark_dirty can only accept variables, but argument \n\nArgument {i} is of type "
                               f"{type_name(t)}.")


def refuse_writing(outputs: Sequence[Any]) -> None:
    """Forbid recorded in-place writes to views that are outputs of a Function with several outputs."""
    for t in outputs:
        if isinstance(t, Tensor) and t._is_view():
            extras_of(t).view.creation = MANY


def wrapped(ctx: FunctionBase, nr: int, output: Tensor, is_input: bool, differentiable: bool) -> Tensor:
    """Return one output with its history; a view does not allow recorded in-place writes."""
    modified = among(output, ctx.dirty_tensors)
    if not differentiable:
        t = without_history(ctx, output, is_input, modified)
    elif modified:
        t = written(ctx, nr, output)
    else:
        t = viewed(ctx, output) if is_input else output
        set_history(t, ctx, nr)
    if t._is_view() and not (is_input and modified):
        extras_of(t).view.creation = FUNCTION
    return t


def without_history(ctx: FunctionBase, output: Tensor, is_input: bool, modified: bool) -> Tensor:
    """Return an output that no gradient goes through; an input is returned as a new tensor that does not require grad.

    A view that forward took requires grad if its base does, like one taken inside `no_grad`.
    """
    if not output._requires_grad:
        return viewed(ctx, output) if is_input and not modified else output
    if is_input:
        return output.detach()
    return output if output._is_view() else output.detach_()


def check_dirty(ctx: FunctionBase, output: Tensor, is_input: bool) -> None:
    """Raise PyTorch's errors for an output that forward marked as dirty, before any output gets a history."""
    is_view = output._is_view()
    if output._requires_grad and output._current_grad_fn is None:
        raise RuntimeError(DIRTY_LEAF)
    if not is_input and is_view:
        raise RuntimeError(DIRTY_NO_INPUT)
    if not is_input:
        warnings.warn(DIRTY_NO_INPUT, UserWarning, stacklevel=4)
    if is_view and ctx.outputs > 1:
        raise RuntimeError(DIRTY_VIEW)
    check_inplace(output, True)


def written(ctx: FunctionBase, nr: int, output: Tensor) -> Tensor:
    """Return an output that forward marked as dirty: an input that it wrote to, which stays the same tensor."""
    output._grad = None
    rebase_history(output, ctx, nr)
    return output


def viewed(ctx: FunctionBase, t: Tensor) -> Tensor:
    """Return an input that forward returned unchanged as another tensor: a view taken with grad mode off."""
    if ctx._forward_cls._has_setup() and (among(t, ctx.to_save) or among(t, ctx.saved_for_forward)):
        raise RuntimeError(SAVED_AS_IT_IS)
    view = plain(materialized(t))
    with no_grad():
        share(view, t)
    return view


class Error(Node, number=None):
    """The node of tensors that cannot be differentiated again: it raises when a gradient reaches it."""

    __slots__ = ("outputs",)
    own_input_grads = True

    def __init__(self, inputs: Sequence[Tensor | None], message: str) -> None:
        self.fill(tuple([None if t is None else edge_target(t) for t in inputs]), (), (message,), MAX_SEQUENCE_NR)
        self.outputs = len(inputs)

    def name(self) -> str:
        """PyTorch's qualified name of this node."""
        return "torch::autograd::Error"

    def input_grads(self, task: Any, grad: Any) -> tuple[Any, ...]:
        """Raise the error: there are no gradients."""
        raise RuntimeError(self.const[0])


def delayed_error(values: Sequence[Any], message: str) -> list[Any]:
    """Return the same tensors (or None) as results of an op whose derivative raises `message`."""
    inputs = [None if t is None else t.detach() for t in values]
    for t in inputs:
        if t is not None:
            t.requires_grad = True  # the method `requires_grad_` is refused inside of a transform
    node = Error(inputs, message)
    made = [None if t is None else plain(t.array) for t in values]
    for nr, t in enumerate(made):
        if t is not None:
            set_history(t, node, nr)
    return made
