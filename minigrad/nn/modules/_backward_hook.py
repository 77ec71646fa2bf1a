"""Full backward hooks of modules: mirrors `torch/nn/modules/_functions.py`, and `BackwardHook` of PyTorch's hooks.

The inputs of the module go through one node, BackwardHookFunctionBackward, and its outputs through another. When a
backward pass has run that of the outputs, the gradients of the outputs are known; when it has run that of the inputs,
those of the inputs are. Look at `grad_fn` of such a module's output to see it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from minigrad._base.warnings import warn
from minigrad.autograd.function import Function
from minigrad.core.grad_mode import is_grad_enabled
from minigrad.core.tensor import Tensor

__all__ = ["BackwardHook"]

NO_INPUT_GRAD = (
    "Full backward hook is firing when gradients are computed with respect to module outputs since no inputs require "
    "gradients. See https://docs.pytorch.org/docs/main/generated/torch.nn.Module.html#torch.nn.Module.register_full_"
    "backward_hook for more details."
)
NO_RETURN = (
    "Backward hook for Modules where no input requires gradient should always return None or None for all gradients."
)

Hooks = list[Callable[..., Any]]


class BackwardHookFunction(Function):
    """The identity, of many tensors at once."""

    @staticmethod
    def forward(ctx: Any, *tensors: Tensor) -> tuple[Tensor, ...]:
        ctx.mark_non_differentiable(*[each for each in tensors if not each.requires_grad])
        return tensors

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return grads


class Passage:
    """The tensors among the inputs, or among the outputs, of one call of a module, and the node they go through.

    `places`: where they are among all `count` of them; None if no gradient will come through.
    """

    places: list[int] | None = None
    count = 0

    def through(self, values: tuple[Any, ...], hang: Callable[[Any], Any]) -> tuple[Any, ...]:
        """The values with the tensors gone through a node, on which `hang` hangs a hook."""
        self.count = len(values)
        places = [i for i, each in enumerate(values) if isinstance(each, Tensor)]
        tensors = [values[i] for i in places]
        if not (is_grad_enabled() and any(each.requires_grad for each in tensors)):
            return values
        passed = BackwardHookFunction.apply(*tensors)
        hang(next(each.grad_fn for each in passed if each.requires_grad))
        self.places, found = places, list(values)
        for i, each in zip(places, passed, strict=True):
            found[i] = each
        return tuple(found) if type(values) is tuple else type(values)(*found)

    def spread(self, grads: Sequence[Any]) -> tuple[Any, ...]:
        """The gradients of the tensors, at their places among all values; None at the others."""
        found = [None] * self.count
        for i, grad in zip(self.places or (), grads, strict=True):
            found[i] = grad
        return tuple(found)

    def gathered(self, grads: Sequence[Any]) -> tuple[Any, ...]:
        """Of gradients for all values those of the tensors."""
        return tuple([grads[i] for i in self.places or ()])


class BackwardHook:
    """The full backward hooks and the full backward pre-hooks of one call of a module."""

    def __init__(self, module: Any, hooks: Hooks, pre_hooks: Hooks) -> None:
        self.module, self.hooks, self.pre_hooks = module, hooks, pre_hooks
        self.inputs, self.outputs = Passage(), Passage()
        self.grad_outputs: Any = None

    def setup_input_hook(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The module's arguments, ready to go into `forward`."""
        def hook(grad_inputs: tuple[Any, ...], _: Any) -> Any:  # its name is in PyTorch's errors
            return self.leave(grad_inputs)
        return self.inputs.through(args, lambda node: node.register_hook(hook))

    def setup_output_hook(self, result: Any) -> Any:
        """What `forward` returned, ready to be given out."""
        def hook(_: tuple[Any, ...], grad_outputs: tuple[Any, ...]) -> Any:
            return self.enter(grad_outputs)
        many = isinstance(result, tuple)
        found = self.outputs.through(result if many else (result,), lambda node: node.register_hook(hook))
        return found if many else found[0]

    def enter(self, grads: tuple[Any, ...]) -> Any:
        """The gradients of the outputs are known; `leave` comes next, or never if no input requires grad."""
        self.grad_outputs = self.replaced(self.pre_hooks, self.outputs.spread(grads), "pre hook", "grad_output")
        given = self.grad_outputs
        if self.inputs.places is None:
            self.call_without_inputs()
        return self.outputs.gathered(given)

    def leave(self, grads: tuple[Any, ...]) -> Any:
        """The gradients of the inputs are known."""
        if self.grad_outputs is None:
            return None  # they came not by the outputs, as in a pass through the gradients of another one
        found = self.replaced(self.hooks, self.inputs.spread(grads), "hook", "grad_input", self.grad_outputs)
        self.grad_outputs = None
        return self.inputs.gathered(found)

    def replaced(self, hooks: Hooks, grads: Any, what: str, of: str, *more: Any) -> Any:
        """The gradients, or what the hooks gave in their place; the first error is PyTorch's about their number."""
        for hook in hooks:
            given = hook(self.module, grads, *more)
            if given is not None:
                if len(given) != len(grads):
                    raise RuntimeError(f"Backward {what} returned an invalid number of {of}, got {len(given)}, but "
                                       f"expected {len(grads)}")
                grads = given
        return grads

    def call_without_inputs(self) -> None:
        """Call the hooks at the outputs, since no pass will come to the inputs."""
        warn(NO_INPUT_GRAD)
        for hook in self.hooks:
            given = hook(self.module, self.inputs.spread(()), self.grad_outputs)
            if given is not None and not (isinstance(given, tuple) and all(each is None for each in given)):
                raise RuntimeError(NO_RETURN)
        self.grad_outputs = None
