"""What PyTorch says about flags and gradients that a tensor cannot have. Lessons 1, 2 and 6 provoke these."""

from __future__ import annotations

from typing import Any

__all__ = ["DETACH_VIEW", "NON_LEAF_GRAD", "NOT_A_LEAF", "check_grad"]

DETACH_VIEW = (
    "Can't detach views in-place. Use detach() instead. If you are using DistributedDataParallel (DDP) for training, "
    "and gradient_as_bucket_view is set as True, gradients are views of DDP buckets, and hence detach_() cannot be "
    "called on these gradients. To fix this error, please refer to the Optimizer.zero_grad() function in "
    "torch/optim/optimizer.py as the solution."
)
NON_LEAF_GRAD = (
    "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute won't be "
    "populated during autograd.backward(). If you indeed want the .grad field to be populated for a non-leaf Tensor, "
    "use .retain_grad() on the non-leaf Tensor. If you access the non-leaf Tensor by mistake, make sure you access the "
    "leaf Tensor instead. See github.com/pytorch/pytorch/pull/30531 for more information."
)
NOT_A_LEAF = (
    "you can only change requires_grad flags of leaf variables."
    " If you want to use a computed variable in a subgraph that doesn't require differentiation use "
    "var_no_grad = var.detach()."
)


def check_grad(tensor: Any, new: Any) -> None:
    """Whether `new` can become `tensor.grad`: another tensor of the same dtype and shape.

    Raises:
        RuntimeError: PyTorch's sentence for what does not fit.
    """
    if new is tensor:
        raise RuntimeError("can't assign Variable as its own grad")
    if new.array.dtype != tensor.array.dtype:
        scalar_type = {"float32": "float", "float64": "double"}.get(new.dtype.name, new.dtype.name)
        raise RuntimeError(
            f"attempting to assign a gradient with dtype '{scalar_type}' to a tensor with grad_dtype "
            f"'{tensor.dtype.type_name}'. The gradient must match the tensor's grad_dtype (defaults to the tensor's "
            "dtype). You can set the tensor's grad_dtype attribute with a specific dtype, or None to allow any dtype. "
            "Set grad_dtype with caution. Diverging the dtypes of a tensor and its gradient may break downstream "
            "systems that assume they match.")
    if new.array.shape != tensor.array.shape:
        raise RuntimeError(
            f"attempting to assign a gradient of size '{list(new.shape)}' to a tensor of size '{list(tensor.shape)}'. "
            "Please ensure that the gradient and the tensor are the same size")
