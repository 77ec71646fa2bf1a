"""Checks what a user passes to `backward` and `grad` besides the tensors: gradients to start from, and `inputs`.

Mirrors `_make_grads` of `torch/autograd/__init__.py` and the checks of PyTorch's `python_engine.cpp`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from minigrad._base.dtype import Size
from minigrad._base.type_name import type_name
from minigrad._base.warnings import warn_once
from minigrad.backends.registry import BACKEND_OF, HOST, device_like, info_of, is_host, lies_on
from minigrad.core.evaluate import check_device
from minigrad.core.graph import AccumulateGrad, GradientEdge, ManyOutputs
from minigrad.core.tensor import Tensor, materialized, plain

__all__ = ["NOT_SCALAR", "check_grad", "check_inputs", "inputs_of", "sequence_of", "warn_of_cycle"]

NOT_SCALAR = "grad can be implicitly created only for scalar outputs"


def sequence_of(value: Any) -> tuple[Any, ...]:
    """Return one or several tensors or GradientEdges as a tuple."""
    return (value,) if isinstance(value, (Tensor, GradientEdge)) else tuple(value)


def inputs_of(inputs: Any, caller: str) -> tuple[Any, ...]:
    """Return the argument `inputs` of `backward` or `grad` as a tuple."""
    if isinstance(inputs, Mapping) and type(inputs) is not dict:
        raise TypeError(f"`inputs` argument to `{caller}()` must be a dict, not {type(inputs).__name__}. Other Mapping "
                        "types are not supported.")
    tensors = sequence_of(inputs.values() if type(inputs) is dict else inputs)
    if not tensors:
        raise RuntimeError(f"`inputs` argument to `{caller}()` cannot be empty.")
    return tensors


def check_inputs(inputs: Sequence[Any], accumulate_grad: bool) -> None:
    """Raise PyTorch's error for an input that no gradient can reach."""
    for tensor in inputs:
        if not isinstance(tensor, (Tensor, GradientEdge)):
            raise RuntimeError(f"all inputs have to be Tensors or GradientEdges, but got {type_name(tensor)}")
        if isinstance(tensor, Tensor) and not tensor._requires_grad:
            raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False" if accumulate_grad else
                               "One of the differentiated Tensors does not require grad")


def check_grad(i: int, root: Any, grad: Any, batched: bool) -> Any:
    """Return the gradient that the user passed for root number `i`, as a tensor of the root's dtype on its device.

    None stands for a 1, if the root is a GradientEdge of one element. A `batched` gradient has a dimension in front.
    """
    if not isinstance(root, (Tensor, GradientEdge)):
        raise AssertionError("Expected output to be a torch.Tensor")
    shape, handle, dtype = metadata_of(root, grad)
    if grad is None:
        if any(n != 1 for n in shape):
            raise RuntimeError(NOT_SCALAR)
        return plain(np.ones(shape, dtype, like=handle)[()])
    if not isinstance(grad, Tensor):
        raise TypeError(f"gradients can be either Tensors or None, but got {type(grad).__name__}")
    check_shape(i, root, shape, grad, batched)
    if grad._requires_grad:
        materialized(grad)  # so that `GraphTask.wrapped` knows views of it
    xp, result = Tensor.backward_namespace, grad
    if grad.array.dtype != dtype:
        result = xp.cast(grad, dtype)
    if is_host(handle) and type(grad.array) not in BACKEND_OF:
        return result
    if batched and grad.array.ndim == 1 and not lies_on(grad.array, handle):  # numbers go there, in a batch too
        return xp.moved(result, handle)
    return check_device(result, handle, i, xp)


def metadata_of(root: Any, grad: Any) -> tuple[tuple[int, ...], Any, Any]:
    """Return shape, device and NumPy dtype of a root: a tensor, or the output of a node that a GradientEdge names.

    A node with one output does not know these. If `get_gradient_edge` has not noted them, those of `grad` are returned.
    Raises RuntimeError if there is no `grad` either.
    """
    if isinstance(root, Tensor):
        return root.array.shape, device_like(root.array) if BACKEND_OF else HOST, root.array.dtype
    if isinstance(root.node, AccumulateGrad):
        return info_of(root.node.variable.array)
    info: tuple[tuple[int, ...], Any, Any] | None = (root.node.extras().output_info or {}).get(root.output_nr)
    if info is None and isinstance(root.node, ManyOutputs):
        info = root.node.output_info[root.output_nr]
    if info is None and not isinstance(grad, Tensor):
        raise RuntimeError(f"the gradient of this edge cannot be created: {root.node.name()} does not know the shape "
                           "of what it made\n\nGive a gradient, or make the edge by get_gradient_edge(tensor).")
    return info_of(grad.array) if info is None else info


def check_shape(i: int, root: Any, shape: tuple[int, ...], grad: Tensor, batched: bool) -> None:
    """Raise PyTorch's error for a gradient whose shape is not that of its root."""
    got = grad[0].array.shape if batched else grad.array.shape
    if got == shape:
        return
    if batched and isinstance(root, GradientEdge):
        raise RuntimeError("Batched grads are not supported with GradientEdge")
    if batched:
        raise RuntimeError(
            "If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the batch dimension. "
            "The sizes of the remaining dimensions are expected to match the shape of corresponding output, but a "
            f"mismatch was detected: grad_output[{i}] has a shape of {Size(got[1:])} and output[{i}] has a "
            f"shape of {Size(shape)}. If you only want some tensors in `grad_output` to be considered batched, "
            "consider using vmap.")
    raise RuntimeError(f"Mismatch in shape: grad_output[{i}] has a shape of {Size(got)} and output[{i}] has a "
                       f"shape of {Size(shape)}.")


def warn_of_cycle() -> None:
    """Warn, once, that `backward(create_graph=True)` makes a reference cycle."""
    warn_once(
        "Using backward() with create_graph=True will create a reference cycle between the parameter and its "
        "gradient which can cause a memory leak. We recommend using autograd.grad when creating the graph to avoid "
        "this. If you have to use this function, make sure to reset the .grad fields of your parameters to None "
        "after use to break the cycle and avoid the leak.")
