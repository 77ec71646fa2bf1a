"""Implements `use_reentrant=True`: one node stands for the function; its backward runs it again, and a pass through it.

In the forward pass the function runs as the forward of a custom Function: with grad mode off, so nothing inside it is
recorded, and only its tensor arguments are saved. Its outputs are outputs of that one node, which is why all of them
require grad if an input does. In the backward pass the node runs the function once more, with grad mode on, on detached
inputs, and then calls `backward` inside the running pass: that is what "reentrant" means.
"""

import warnings
from collections.abc import Callable, Iterable
from typing import Any

from minigrad.amp import same_autocast
from minigrad.autograd._api import backward
from minigrad.autograd.function import Function
from minigrad.autograd.grad_mode import enable_grad, no_grad
from minigrad.core import Tensor
from minigrad.core.exec_info import inside_full_passes
from minigrad.utils.checkpoint._events import Run
from minigrad.utils.checkpoint._random import random_state

__all__ = ["CheckpointFunction", "check_backward_validity", "detach_variable"]

NO_INPUTS_ARGUMENT = (
    "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or passing an `inputs` parameter to "
    ".backward(). To resolve this error, you can either set use_reentrant=False, or call .backward() without passing "
    "the `inputs` argument."
)


def detach_variable(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return leaves with the same values that require grad where the inputs do; what is not a tensor stays as it is.

    Raises:
        RuntimeError: if `inputs` is not a tuple.
    """
    if not isinstance(inputs, tuple):
        raise RuntimeError("Only tuple of tensors is supported. Got Unsupported input type: "
                           f"{type(inputs).__name__}")
    return tuple([x.detach().requires_grad_(x.requires_grad) if isinstance(x, Tensor) else x for x in inputs])


def check_backward_validity(inputs: Iterable[Any]) -> None:
    """Warn if no input requires grad: then there will be no gradients, not even for parameters."""
    if not any(x.requires_grad for x in inputs if isinstance(x, Tensor)):
        warnings.warn("None of the inputs have requires_grad=True. Gradients will be None", stacklevel=2)


class CheckpointFunction(Function):
    """A function as one op: saves the tensors among its arguments, and runs it again for their gradients."""

    @staticmethod
    def forward(ctx: Any, run_function: Callable[..., Any], preserve_rng_state: bool, *args: Any) -> Any:
        """Return what the function returns. The `no_grad` changes nothing under `apply`: it is for a direct call."""
        check_backward_validity(args)
        ctx.run_function = run_function
        ctx.random_state, ctx.autocast = random_state(preserve_rng_state, args), same_autocast()
        ctx.inputs = [None if isinstance(x, Tensor) else x for x in args]
        ctx.tensor_indices = [i for i, x in enumerate(args) if isinstance(x, Tensor)]
        ctx.save_for_backward(*[args[i] for i in ctx.tensor_indices])
        with no_grad(), Run("checkpoint", ctx, run_function, True):
            return run_function(*args)

    @staticmethod
    def backward(ctx: Any, *args: Any) -> Any:
        """Return the gradients of the tensor arguments; those of parameters are added to their `.grad` on the way.

        Raises:
            RuntimeError: inside `grad()` or a pass with `inputs`, since it would reach the parameters anyway; if no
                output requires grad.
        """
        if not inside_full_passes():
            raise RuntimeError(NO_INPUTS_ARGUMENT)
        inputs = list(ctx.inputs)
        for index, tensor in zip(ctx.tensor_indices, ctx.saved_tensors, strict=True):
            inputs[index] = tensor
        detached = detach_variable(tuple(inputs))
        with ctx.random_state(), enable_grad(), ctx.autocast(), Run("recompute", ctx):
            outputs = ctx.run_function(*detached)
        outputs = (outputs,) if isinstance(outputs, Tensor) else outputs
        differentiable = [i for i, out in enumerate(outputs) if isinstance(out, Tensor) and out.requires_grad]
        if not differentiable:
            raise RuntimeError("none of output has requires_grad=True, this checkpoint() is not necessary")
        backward([outputs[i] for i in differentiable], [args[i] for i in differentiable])
        return None, None, *[x.grad if isinstance(x, Tensor) else None for x in detached]
