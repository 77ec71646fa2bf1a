"""Custom functions: mirrors `torch/autograd/function.py`.

`Function` is the way to write an op with its own derivative: `forward` runs with grad mode off, then the node is
attached to what it returned, which is why an output's `requires_grad` is False inside and True outside. The `ctx` that
forward and backward share *is* that node. Lesson 9 steps through `apply`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

from minigrad._tensor import Tensor, plain
from minigrad.autograd.anomaly_mode import ANOMALY, note
from minigrad.autograd.evaluate import sum_to
from minigrad.autograd.grad_mode import LOCAL, no_grad, set_grad_enabled
from minigrad.autograd.graph import Node, NodeExtras, next_sequence_nr
from minigrad.autograd.inplace import check_inplace, rebase_history
from minigrad.autograd.saved import FREED, counter_of, pack, tensors, versions_of
from minigrad.autograd.views import FUNCTION, edge_of, set_history, share
from minigrad.backends.numpy import WORDS

__all__ = ["BackwardCFunction", "Function", "FunctionCtx", "once_differentiable"]


class FunctionCtx:
    """What `forward` and `backward` share: save tensors here, and ask what is needed."""

    __slots__ = ()

    if TYPE_CHECKING:  # the node that derives from this class has a dict for them, and for the user's attributes
        to_save: tuple[Any, ...]
        non_differentiable: tuple[Any, ...]
        dirty_tensors: tuple[Any, ...]
        materialize_grads: bool
        def __setattr__(self, name: str, value: Any) -> None: ...

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep inputs or outputs (or None) for backward, as `saved_tensors`. Call it once, in forward.

        Kept so, a tensor is freed in time, makes no reference cycle, and a later in-place change is noticed.
        """
        for t in tensors:
            if t is not None and not isinstance(t, Tensor):
                raise TypeError("save_for_backward can only save variables, but argument "
                                f"{tensors.index(t)} is of type {type(t).__name__}")
        self.to_save = tensors

    def mark_non_differentiable(self, *args: Tensor) -> None:
        """These outputs will have no gradient."""
        self.non_differentiable = args

    def mark_dirty(self, *args: Tensor) -> None:
        """These inputs were changed in place."""
        self.dirty_tensors = args

    def set_materialize_grads(self, value: bool) -> None:
        """Whether backward gets zeros (the default) or None for an output without a gradient."""
        self.materialize_grads = value


class BackwardCFunction(Node, FunctionCtx, number=None):
    """The node of a custom Function, and its ctx."""

    __slots__ = ("__dict__", "input_info", "needs_input_grad", "output_info", "outputs", "saved_nrs")
    special = True
    _forward_cls: ClassVar[Any] = None

    needs_input_grad: tuple[bool, ...]
    input_info: list[tuple[tuple[int, ...], Any] | None]
    output_info: list[tuple[tuple[int, ...], Any] | None]  # None for an output that is no tensor
    saved_nrs: tuple[int, ...]

    def __init__(self, args: tuple[Any, ...]) -> None:
        self.to_save = self.non_differentiable = self.dirty_tensors = ()
        self.materialize_grads = True
        self.needs_input_grad = tuple([isinstance(a, Tensor) and a._requires_grad for a in args])
        self.next = tuple([edge_of(a) if isinstance(a, Tensor) and a._requires_grad else None for a in args])
        self.output_nrs = tuple([a._output_nr if isinstance(a, Tensor) else 0 for a in args])
        self.input_info = [(a.array.shape, a.array.dtype) if isinstance(a, Tensor) else None for a in args]
        self.saved, self.versions, self.const, self.fit, self.rare = (), None, (), None, NodeExtras()
        self.outputs, self.output_info, self.saved_nrs = 1, [], ()
        self.sequence_nr = next_sequence_nr()
        if ANOMALY.enabled:
            note(self)

    def __repr__(self) -> str:
        return f"<torch.autograd.function.{type(self).__name__} object at {id(self):#x}>"

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """What `save_for_backward` kept."""
        if self.saved is None:
            raise RuntimeError(FREED)
        return tensors(self) if self.saved else self.to_save

    def saved_output_nr(self, index: int) -> int:
        return self.saved_nrs[index]

    def keep(self, outputs: tuple[Any, ...]) -> None:
        """Turn what forward wanted to save into saved values: inputs as tensors, outputs as bare data (NOTE 2)."""
        numbers = {id(o): i for i, o in enumerate(outputs) if isinstance(o, Tensor)}
        saved = self.to_save
        self.saved_nrs = tuple([numbers.get(id(t), 0) for t in saved])
        kept = tuple([t.array if id(t) in numbers else t for t in saved])
        if LOCAL.saved_tensors_hooks:
            kept = tuple([pack(self, i, s) for i, s in enumerate(kept)])
        self.saved, self.versions, self.to_save = kept, versions_of(kept), ()
        for i, output in enumerate(outputs):  # one that forward changed in place has a counter already
            counter = output._version_counter if isinstance(output, Tensor) else None
            if counter is not None:
                self.extras().watched()[i] = counter
                self.versions = tuple([counter.value if numbers.get(id(t)) == i else v
                                       for t, v in zip(saved, self.versions, strict=True)])

    def apply(self, grads: list[Any], task: Any) -> tuple[Any, ...]:
        """Run the user's backward in a pass: always on tensors, with grad mode as in the pass."""
        given = [task.wrapped(task.xp.zeros(*info) if g is None and info and self.materialize_grads else g)
                 for g, info in zip(grads, self.output_info, strict=True)]
        with set_grad_enabled(not task.first_order):
            found = self._forward_cls.backward(self, *given)
        results = found if isinstance(found, tuple) else tuple(found) if isinstance(found, list) else (found,)
        return tuple([task.unwrapped(g) for g in self.checked(results, task)])

    def checked(self, results: tuple[Any, ...], task: Any) -> list[Any]:
        """The gradients that backward returned: as many as inputs, tensors or None, of the inputs' shapes."""
        name, count = type(self).__name__, len(self.next)
        if len(results) > count and all(g is None for g in results[count:]):
            results = results[:count]
        if len(results) != count:
            raise RuntimeError(f"function {name} returned an incorrect number of gradients (expected {count}, got "
                               f"{len(results)})")
        out: list[Any] = []
        for i, (g, info, edge) in enumerate(zip(results, self.input_info, self.next, strict=True)):
            if g is not None and info is None:
                raise RuntimeError(f"function {name} returned a gradient different than None at position {i + 1}, but "
                                   "the corresponding forward input was not a Variable")
            if g is not None and not isinstance(g, Tensor):
                raise RuntimeError(f"expected Variable or None (got {type(g).__name__})")
            out.append(None if g is None or edge is None or info is None else fitted(name, i, g, info, task))
        return out


def fitted(name: str, index: int, grad: Tensor, info: tuple[tuple[int, ...], Any], task: Any) -> Tensor:
    """A gradient in its input's shape and dtype, if it can be summed to it; PyTorch's error else."""
    shape, got = info[0], grad.array.shape
    lead = len(got) - len(shape)
    if lead < 0 or any(n not in (1, got[lead + i]) for i, n in enumerate(shape)):
        raise RuntimeError(f"Function {name} returned an invalid gradient at index {index} - got {list(got)} but "
                           f"expected shape compatible with {list(shape)}")
    if task.first_order:
        summed = sum_to(grad.array, info, WORDS)
        return grad if summed is grad.array else plain(summed)
    return sum_to(grad, info, task.xp)  # type: ignore[no-any-return]  # a Tensor, since `grad` is one


class Function(FunctionCtx):
    """Derive from this class, write `forward` and `backward` as static methods, and call `apply`.

    `forward(ctx, *args)`, or `forward(*args)` with `setup_context(ctx, inputs, output)`; `backward(ctx, *grads)`
    returns one gradient per input of forward (None for what is no tensor, or needs none).
    """

    _backward_cls: ClassVar[type[BackwardCFunction]] = BackwardCFunction

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls._backward_cls = type(f"{cls.__name__}Backward", (BackwardCFunction,), {"_forward_cls": cls}, number=None)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The way before `apply`; an error today."""
        raise RuntimeError("Legacy autograd function with non-static forward method is deprecated. Please use "
                           "new-style autograd function with static forward method. (Example: "
                           "https://pytorch.org/docs/stable/autograd.html#torch.autograd.Function)")

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Compute the outputs; runs with grad mode off."""
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> Any:
        """Save what backward needs; where this is defined, `forward` takes no ctx."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """From the gradients of the outputs, those of the inputs."""
        raise NotImplementedError("You must implement either the backward or vjp method for your custom "
                                  "autograd.Function to use it with backward mode AD.")

    @classmethod
    def apply(cls, *args: Any) -> Any:
        """Run `forward` and record one node for it."""
        ctx = cls._backward_cls(args)
        with no_grad():
            if cls.setup_context is Function.setup_context:
                found = cls.forward(ctx, *args)
            else:
                found = cls.forward(*args)
                cls.setup_context(ctx, args, found)
        outputs = found if isinstance(found, tuple) else (found,)
        recorded = LOCAL.recording and any(ctx.needs_input_grad)
        _check_dirty(ctx, outputs, recorded)
        made = tuple([_attached(ctx, args, o, recorded) for o in outputs])
        if recorded:
            _finish(ctx, outputs, made)
        if LOCAL.observer is not None:
            LOCAL.observer.forward(cls.__name__, ctx if recorded else None,
                                   [a for a in args if isinstance(a, Tensor)],
                                   [o for o in made if isinstance(o, Tensor)])
        return made if isinstance(found, tuple) else made[0]


def _check_dirty(ctx: BackwardCFunction, outputs: tuple[Any, ...], recorded: bool) -> None:
    """Inputs that were changed in place must come out again, and none may be a leaf that requires grad."""
    for dirty in ctx.dirty_tensors:
        counter_of(dirty).value += 1
        if not any(dirty is o for o in outputs):
            raise RuntimeError("Some elements marked as dirty during the forward method were not returned as output. "
                               "The inputs that are modified inplace must all be outputs of the Function.")
        if recorded and dirty._requires_grad and dirty.is_leaf:
            raise RuntimeError("a leaf Variable that requires grad has been used in an in-place operation.")
        if recorded:
            check_inplace(dirty, True)


def _attached(ctx: BackwardCFunction, args: tuple[Any, ...], output: Any, recorded: bool) -> Any:
    """An output as the caller gets it: an input that was returned as it is becomes a view of it."""
    if isinstance(output, Tensor) and any(output is a for a in args) and not any(
            output is d for d in ctx.dirty_tensors):
        view = output.detach()
        with no_grad():
            share(view, output)
        return view
    return output


def _finish(ctx: BackwardCFunction, outputs: tuple[Any, ...], made: tuple[Any, ...]) -> None:
    """Attach the node to the outputs, and keep what was saved."""
    ctx.outputs = len(made)
    ctx.keep(outputs)
    ctx.output_info = [(o.array.shape, o.array.dtype) if isinstance(o, Tensor) else None for o in made]
    for i, o in enumerate(made):
        skip = any(o is n or outputs[i] is n for n in ctx.non_differentiable)
        if isinstance(o, Tensor) and not skip and o.array.dtype.kind == "f":
            if any(o is d for d in ctx.dirty_tensors):
                rebase_history(o, ctx, i)
                continue
            set_history(o, ctx, i)
            if o._base is not None:
                o._rare.view.creation = FUNCTION  # forward took the view, and grad mode was off


def once_differentiable(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a `backward` that cannot itself be differentiated: a second derivative raises."""

    def backward(ctx: Any, *args: Any) -> Any:
        with no_grad():
            outputs = function(ctx, *args)
        if not LOCAL.grad_enabled or not any(isinstance(a, Tensor) and a._requires_grad for a in args):
            return outputs
        many = outputs if isinstance(outputs, tuple) else (outputs,)
        made = [_Error.apply(o.detach().requires_grad_()) if isinstance(o, Tensor) else o for o in many]
        return tuple(made) if isinstance(outputs, tuple) else made[0]

    return backward


class _Error(Function):
    """Passes its input on; raises when a gradient reaches it."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Any:
        return x.clone()

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        raise RuntimeError("trying to differentiate twice a function that was marked with @once_differentiable")
