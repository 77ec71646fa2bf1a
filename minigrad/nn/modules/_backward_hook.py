"""Runs the full backward hooks of modules: mirrors `torch/nn/modules/_functions.py` and hooks.py.

The inputs of the module go through one node, BackwardHookFunctionBackward, and its outputs through another. When a
backward pass has run the outputs' node, the gradients of the outputs are known; when it has run the inputs' node, so
are those of the inputs. The `grad_fn` of such a module's output is this node.
"""

from collections.abc import Callable, Sequence
from typing import Any

from minigrad._base.warnings import warn
from minigrad.autograd.function import Function
from minigrad.core import Tensor, is_grad_enabled

NO_INPUT_GRAD = ("Full backward hook is firing when gradients are computed with respect to module outputs since no "
                 "inputs require gradients. See https://docs.pytorch.org/docs/main/generated/torch.nn.Module.html#"
                 "torch.nn.Module.register_full_backward_hook for more details.")
NO_RETURN = ("Backward hook for Modules where no input requires gradient should always return None or None for all "
             "gradients.")


class BackwardHookFunction(Function):
    """The identity on several tensors at once."""

    @staticmethod
    def forward(ctx: Any, *tensors: Tensor) -> tuple[Tensor, ...]:
        ctx.mark_non_differentiable(*[t for t in tensors if not t.requires_grad])
        return tensors

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return grads


class IdentityNode:
    """The node that the tensors among the inputs, or among the outputs, of one call of a module go through.

    `indices`: where the tensors are among all `count` values; None if there is no node.
    """

    indices: list[int] | None = None
    count = 0

    def apply(self, values: tuple[Any, ...], hook: Callable[..., Any]) -> tuple[Any, ...]:
        """Return the values, with the tensors replaced by the outputs of a node that has the hook."""
        self.count = len(values)
        indices = [i for i, value in enumerate(values) if isinstance(value, Tensor)]
        tensors = [values[i] for i in indices]
        if not (is_grad_enabled() and any(t.requires_grad for t in tensors)):
            return values
        outputs = BackwardHookFunction.apply(*tensors)
        next(t.grad_fn for t in outputs if t.requires_grad).register_hook(hook)
        self.indices, result = indices, list(values)
        for i, output in zip(indices, outputs, strict=True):
            result[i] = output
        return tuple(result) if type(values) is tuple else type(values)(*result)

    def for_all_values(self, grads: Sequence[Any]) -> tuple[Any, ...]:
        """Return the gradients of the tensors at their positions; None elsewhere."""
        by_index = dict(zip(self.indices or (), grads, strict=True))
        return tuple([by_index.get(i) for i in range(self.count)])

    def for_tensors(self, grads: Sequence[Any]) -> tuple[Any, ...]:
        """Return the gradients of the tensors, from those of all values."""
        return tuple([grads[i] for i in self.indices or ()])


class BackwardHook:
    """The full backward hooks and the backward pre-hooks of one call of a module."""

    def __init__(self, module: Any, hooks: list[Any], pre_hooks: list[Any]) -> None:
        self.module, self.hooks, self.pre_hooks = module, hooks, pre_hooks
        self.inputs, self.outputs = IdentityNode(), IdentityNode()
        self.grad_outputs: Any = None

    def setup_input_hook(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the module's arguments, to be passed to `forward`."""
        def hook(grad_inputs: tuple[Any, ...], _: Any) -> Any:  # its name is in PyTorch's errors
            if self.grad_outputs is None:
                return None  # the pass did not come through the outputs, as with gradients of gradients
            grads = self.inputs.for_all_values(grad_inputs)
            for user_hook in self.hooks:
                grads = replaced_by(user_hook(self.module, grads, self.grad_outputs), grads, "hook", "grad_input")
            self.grad_outputs = None
            return self.inputs.for_tensors(grads)
        return self.inputs.apply(args, hook)

    def setup_output_hook(self, result: Any) -> Any:
        """Return the output of `forward`, to be returned by the module."""
        def hook(_: tuple[Any, ...], grad_outputs: tuple[Any, ...]) -> Any:
            grads = self.outputs.for_all_values(grad_outputs)
            for user_hook in self.pre_hooks:
                grads = replaced_by(user_hook(self.module, grads), grads, "pre hook", "grad_output")
            self.grad_outputs = grads
            if self.inputs.indices is None:
                self.call_without_inputs()
            return self.outputs.for_tensors(grads)
        is_tuple = isinstance(result, tuple)
        outputs = self.outputs.apply(result if is_tuple else (result,), hook)
        return outputs if is_tuple else outputs[0]

    def call_without_inputs(self) -> None:
        """Call the hooks at the outputs, since no pass will reach the inputs."""
        warn(NO_INPUT_GRAD)
        for hook in self.hooks:
            replaced = hook(self.module, self.inputs.for_all_values(()), self.grad_outputs)
            if replaced is not None and not (isinstance(replaced, tuple) and all(grad is None for grad in replaced)):
                raise RuntimeError(NO_RETURN)
        self.grad_outputs = None


def replaced_by(returned: Any, grads: Any, kind: str, name: str) -> Any:
    """Return the gradients, or what a hook returned instead; raise PyTorch's error for a wrong number of them."""
    if returned is not None and len(returned) != len(grads):
        raise RuntimeError(f"Backward {kind} returned an invalid number of {name}, got {len(returned)}, but expected "
                           f"{len(grads)}")
    return grads if returned is None else returned
