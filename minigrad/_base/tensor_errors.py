"""PyTorch's errors for flags and gradients that a tensor cannot have."""

from typing import Any

from minigrad._base.type_name import type_name
from minigrad.backends.registry import BACKEND_OF

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
NO_LEAF = "you can only change requires_grad flags of leaf variables."
DETACH_IT = (
    " If you want to use a computed variable in a subgraph that doesn't require differentiation use "
    "var_no_grad = var.detach()."
)
SCALAR = (
    "Converting a tensor with requires_grad=True to a scalar may lead to unexpected behavior.\n"
    "Consider using tensor.detach() first."
)


# the names of dtypes in C++
IN_C = {"bfloat16": "c10::BFloat16", "float16": "c10::Half", "float32": "float", "float64": "double",
        "uint8": "unsigned char", "int8": "signed char", "int16": "short int", "int32": "int", "int64": "long int",
        "bool": "bool"}


def check_tensor(value: Any, name: str, argument: str = "input", position: int = 1) -> None:
    """Raise PyTorch's error for an argument of the function `name` that should be a tensor but is not."""
    if not hasattr(value, "_version_counter"):
        raise TypeError(f"{name}(): argument '{argument}' (position {position}) must be Tensor, not {type_name(value)}")


def check_data(tensor: Any, new: Any) -> None:
    """Check that `new` can become `tensor.data`. Raises TypeError if it is not a tensor; RuntimeError for integers if
    the tensor requires grad."""
    if not hasattr(new, "array"):
        raise TypeError(f"Variable data has to be a tensor, but got {type_name(new)}")
    if tensor._requires_grad and new.array.dtype.kind != "f":
        raise RuntimeError("data set to a tensor that requires gradients must be floating point or complex dtype")


def check_grad(tensor: Any, new: Any) -> None:
    """Check that `new` can become `tensor.grad`: another tensor of the same dtype, device and shape. Raises
    RuntimeError, PyTorch's, if it does not fit."""
    if new is tensor:
        raise RuntimeError("can't assign Variable as its own grad")
    if new.array.dtype != tensor.array.dtype:
        raise RuntimeError(
            f"attempting to assign a gradient with dtype '{IN_C[new.dtype.name]}' to a tensor with grad_dtype "
            f"'{tensor.dtype.type_name}'. The gradient must match the tensor's grad_dtype (defaults to the tensor's "
            "dtype). You can set the tensor's grad_dtype attribute with a specific dtype, or None to allow any dtype. "
            "Set grad_dtype with caution. Diverging the dtypes of a tensor and its gradient may break downstream "
            "systems that assume they match.")
    on_device = type(new.array) in BACKEND_OF or type(tensor.array) in BACKEND_OF
    if on_device and new.device != tensor.device:
        got, wanted = new.device, tensor.device
        what = (("with device type", got.type, wanted.type) if got.type != wanted.type else
                ("located on device with index", got.index, wanted.index))
        raise RuntimeError(f"attempting to assign a gradient {what[0]} '{what[1]}' to a tensor {what[0]} '{what[2]}'. "
                           "Please ensure that the gradient and the tensor are on the same device")
    if new.array.shape != tensor.array.shape:
        raise RuntimeError(
            f"attempting to assign a gradient of size '{list(new.shape)}' to a tensor of size '{list(tensor.shape)}'. "
            "Please ensure that the gradient and the tensor are the same size")


def broadcast_shape(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of two operands broadcast together; PyTorch's error if they do not fit."""
    out: list[int] = []
    for dim in range(-1, -max(len(a), len(b)) - 1, -1):
        m = a[dim] if -dim <= len(a) else 1
        n = b[dim] if -dim <= len(b) else 1
        if m != n and m != 1 and n != 1:
            raise RuntimeError(f"The size of tensor a ({m}) must match the size of tensor b ({n}) at non-singleton "
                               f"dimension {dim + max(len(a), len(b))}")
        out.insert(0, n if m == 1 else m)
    return tuple(out)


def mismatch(target: tuple[int, ...], source: tuple[int, ...]) -> str:
    """PyTorch's message for a source that cannot be broadcast to a target."""
    try:
        shape = broadcast_shape(target, source)
    except RuntimeError as error:
        return str(error)
    return f"output with shape {list(target)} doesn't match the broadcast shape {list(shape)}"
