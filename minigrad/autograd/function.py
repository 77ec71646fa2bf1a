"""Defines `Function`, the base class of custom functions. Mirrors `torch/autograd/function.py`.

`Function` is the way to write an op with its own derivative. `forward` runs with grad mode off, then the node is
attached to what it returned, which is why an output's `requires_grad` is False inside and True outside. The `ctx` that
forward and backward share *is* that node. What happens between the two is in history/custom_function.py.
"""

import functools
import inspect
import warnings
from collections.abc import Callable
from typing import Any, ClassVar

from minigrad.autograd.grad_mode import no_grad
from minigrad.core import LOCAL, UNUSUAL, Tensor
from minigrad.history.custom_function import FunctionBase, delayed_error, wrap_outputs

__all__ = ["BackwardCFunction", "Function", "FunctionCtx", "InplaceFunction", "once_differentiable"]


class FunctionCtx:
    """What `forward` and `backward` share: save tensors here, mark outputs, and ask what is needed.

    You can set other attributes too, except `next`, `outputs`, `saved`, `versions` and the like, which are the node's.
    A tensor kept as an attribute stays alive, unchecked, and in a cycle if it is an output: save it instead.
    """

    to_save: Any
    saved_for_forward: tuple[Any, ...] | None
    dirty_tensors: Any
    non_differentiable: Any
    materialize_grads: bool

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep inputs or outputs (or None) for backward, as `saved_tensors`. Call it once, in forward.

        A tensor kept this way is freed in time, makes no reference cycle, and a later in-place change is noticed.
        """
        self.to_save = tensors

    def save_for_forward(self, *tensors: Any) -> None:
        """As `save_for_backward`, for `jvp`, which forward mode calls once the outputs are known.
        Raises AssertionError for an argument that is neither a tensor nor None."""
        if not all(t is None or isinstance(t, Tensor) for t in tensors):
            raise AssertionError("save_for_forward expects all arguments to be tensors; you should save non-tensors as "
                                 "attributes on ctx.")
        self.saved_for_forward = tensors

    def mark_dirty(self, *args: Tensor) -> None:
        """Mark inputs that forward changed in place; it has to return them."""
        self.dirty_tensors = args

    def mark_shared_storage(self, *pairs: Any) -> None:
        """Do nothing but warn, as in PyTorch, where it is deprecated."""
        warnings.warn("`mark_shared_storage` is deprecated. Tensors with shared storages are automatically tracked. "
                      "Note that calls to `set_()` are not tracked", FutureWarning, stacklevel=2)

    def mark_non_differentiable(self, *args: Tensor) -> None:
        """Mark outputs that will not require grad."""
        self.non_differentiable = args

    def set_materialize_grads(self, value: bool) -> None:
        """Set whether backward gets zeros (the default) or None for an output without a gradient."""
        if not isinstance(value, bool):
            raise TypeError("set_materialize_grads received an invalid combination of arguments - got (), but expected "
                            "(bool)")
        self.materialize_grads = value


class BackwardCFunction(FunctionBase, FunctionCtx, number=None):
    """The node of a custom Function, and its ctx. Each class of Function has a class of nodes, `…Backward`."""

    def apply(self, *grads: Any) -> Any:
        """Call the user's `backward` by hand: no gradient is checked, no grad mode is set."""
        if self._forward_cls.boxed_grads_call:
            return self.apply_boxed(list(grads))
        return self._user_backward()(self, *grads)

    def apply_boxed(self, grads: list[Any]) -> Any:
        """As `apply`, for a `backward` that takes one list, which it may empty."""
        return self._user_backward()(self, grads)

    def _user_backward(self) -> Callable[..., Any]:
        """`backward`, or `vjp` if that is what the user wrote."""
        cls = self._forward_cls
        own_backward, own_vjp = cls.backward is not Function.backward, cls.vjp is not Function.vjp
        if own_backward and own_vjp:
            raise RuntimeError("Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You "
                               "should only implement one of them.")
        found: Callable[..., Any] = cls.vjp if own_vjp else cls.backward
        return found

    def __call__(self, *grads: Any, **names: Any) -> Any:
        """Raise an error, as in PyTorch: unlike other nodes, this one cannot be called."""
        raise TypeError(f"'{type(self).__name__}' object is not callable\n\nCall its apply() with the gradients of the "
                        "outputs.")


class Function(FunctionCtx):
    """Derive from this class, write `forward` and `backward` as static methods, and call `apply`.

    `forward(ctx, *args)`, or `forward(*args)` with `setup_context(ctx, inputs, output)`; `backward(ctx, *grads)`
    returns one gradient per argument of forward: None for an argument that is not a tensor or needs none; extra Nones
    at the end are ignored. `vjp` is another name for `backward`.

    `clear_saved_tensors_on_access`: `ctx.saved_tensors` can be read only once, which frees them.
    `boxed_grads_call`: `backward(ctx, grads)` gets a list, which it may empty to free gradients early.
    `jvp(ctx, *tangents)` returns the tangents of the outputs, for forward mode; it finds in `ctx.saved_tensors` what
    `save_for_forward` kept.

    Inside of transforms, such as `minigrad.func.grad`, a Function needs `setup_context`, and for `minigrad.vmap` a rule
    of its own: `vmap(info, in_dims, *args)` gets whole batches and returns `(output, out_dims)`; `info` has
    `batch_size` and `randomness`, and `in_dims` says which dimension of each argument has the examples, None for one
    that is the same for all. With `generate_vmap_rule = True`, `forward` and `backward` run on tensors of one example.
    """

    generate_vmap_rule: ClassVar[bool] = False
    clear_saved_tensors_on_access: ClassVar[bool] = False
    boxed_grads_call: ClassVar[bool] = False
    _backward_cls: ClassVar[type[BackwardCFunction]]
    _generated: ClassVar["type[Function]"]
    _transformed: ClassVar[Callable[..., Any] | None] = None  # what a transform makes of a call, in a list; or None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls._backward_cls = node_class(cls)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warnings.warn(f"{self.__class__} should not be instantiated. Methods on autograd functions are all static, so "
                      "you should invoke them on the class itself. Instantiating an autograd function will raise an "
                      "error in a future version of PyTorch.", DeprecationWarning, stacklevel=2)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Raise an error: the old way, before `apply`."""
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
        """Compute the gradients of the inputs from those of the outputs."""
        raise NotImplementedError("You must implement either the backward or vjp method for your custom "
                                  "autograd.Function to use it with backward mode AD.")

    vjp = backward

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any) -> Any:
        """Return the tangents of the outputs, given those of the inputs."""
        raise NotImplementedError("You must implement the jvp function for custom autograd.Function to use it with "
                                  "forward mode AD.")

    @staticmethod
    def vmap(info: Any, in_dims: Any, *args: Any) -> Any:
        """Return the same function over a batch."""
        raise NotImplementedError("To use autograd.Function with vmap, you must either override the vmap staticmethod "
                                  "or set generate_vmap_rule=True.")

    @classmethod
    def _has_setup(cls) -> bool:
        """Return whether the class has its own `setup_context`, so that `forward` takes no ctx."""
        return cls.setup_context is not Function.setup_context

    @classmethod
    def _bound(cls, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """Return all arguments of `forward` by position. Raises TypeError if they do not fit."""
        own_setup = cls._has_setup()
        if own_setup:
            bound = inspect.signature(cls.forward).bind(*args, **kwargs)
            bound.apply_defaults()
            args, kwargs = bound.args, bound.kwargs
        return positional(cls.forward, args, kwargs, skip=not own_setup) if kwargs else args

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run `forward` and record one node for it. Inside of a transform of `minigrad.func` the transform decides."""
        if Function._transformed is not None and (made := Function._transformed(cls, args, kwargs)) is not None:
            return made[0]
        own_setup, args = cls._has_setup(), cls._bound(args, kwargs)
        for flag in ("clear_saved_tensors_on_access", "boxed_grads_call"):
            if not isinstance(getattr(cls, flag), bool):
                raise RuntimeError(f"{flag} must be a bool, got {type(getattr(cls, flag)).__name__}")
        ctx = cls._backward_cls(args)
        with no_grad():
            if own_setup:
                found = cls.forward(*args)
                cls.setup_context(ctx, args, found)
            else:
                found = cls.forward(ctx, *args)
        dirty = ctx.dirty_tensors or ()
        made = wrap_outputs(ctx, args, found if isinstance(found, tuple) else (found,))
        if UNUSUAL.tangents is not None:
            UNUSUAL.tangents.called(cls, ctx, args, made)
        if LOCAL.observer is not None:
            inputs, outputs = [a for a in args if isinstance(a, Tensor)], [o for o in made if isinstance(o, Tensor)]
            LOCAL.observer.forward(cls.__name__, ctx if ctx._recorded else None, inputs, outputs)
            for t in dirty:
                LOCAL.observer.version(t)
        return tuple(made) if isinstance(found, tuple) else made[0]


def node_class(cls: type[Function]) -> type[BackwardCFunction]:
    """Return the class of the nodes of a Function; its module is given as PyTorch's, as PyTorch prints it."""
    body = {"_forward_cls": cls, "__module__": "torch.autograd.function"}
    return type(f"{cls.__name__}Backward", (BackwardCFunction,), body, number=None)


Function._backward_cls = node_class(Function)


def positional(forward: Any, args: tuple[Any, ...], kwargs: dict[str, Any], skip: bool) -> tuple[Any, ...]:
    """Move keyword arguments to the positions where `forward` takes them; `skip` its first parameter, the ctx."""
    code = forward.__code__
    names = code.co_varnames[skip:code.co_argcount]
    placed = dict(enumerate(args))
    for name, value in kwargs.items():
        if name not in names:
            raise TypeError(f"forward() got an unexpected keyword argument '{name}'")
        if names.index(name) < len(args):
            raise TypeError(f"forward() got multiple values for argument '{name}'")
        placed[names.index(name)] = value
    for i in range(max(placed)):
        if i not in placed:
            raise TypeError(f"forward() missing required argument: '{names[i]}' (position {i})")
    return tuple([placed[i] for i in range(len(placed))])


def once_differentiable(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a `backward` that cannot itself be differentiated: a second derivative raises."""

    @functools.wraps(function)
    def wrapper(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        with no_grad():
            outputs = function(ctx, *args, **kwargs)
        if not LOCAL.grad_enabled or not any(isinstance(a, Tensor) and a._requires_grad for a in args):
            return outputs
        made = delayed_error(outputs if isinstance(outputs, tuple) else (outputs,),
                             "trying to differentiate twice a function that was marked with @once_differentiable")
        return made[0] if len(made) == 1 else tuple(made)

    return wrapper


class InplaceFunction(Function):
    """A Function with a flag, as old code has it."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace
