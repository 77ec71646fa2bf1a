"""The argument `out`, which every function has here that has it in PyTorch.

Autograd records nothing. The tensor takes the result's shape, over the memory that it has (PyTorch's `resize_output`),
and keeps its own dtype: an elementwise result must be convertible to it, a sum is computed in it, and many functions
want exactly the dtype of their result, each family in words of its own.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from minigrad._base.dtype import as_dtype
from minigrad._base.warnings import warn
from minigrad.backends.batched import refuse_out
from minigrad.core import LOCAL, UNUSUAL, Tensor, counter_of, materialized, plain
from minigrad.core.saved import refuse_outside_inference_mode
from minigrad.history.inplace import check_memory, check_written

RESIZED = (
    "An output with one or more elements was resized since it had shape {}, which does not match the required output "
    "shape {}. This behavior is deprecated, and in a future PyTorch release outputs will not be resized unless they "
    "have zero elements. You can explicitly reuse an out tensor t by resizing it, inplace, to zero elements with "
    "t.resize_(0)."
)
IN_OUTS_DTYPE = frozenset("cumprod cumsum eye full linspace logspace ones prod sum zeros".split())
EXACT = frozenset((
    "addbmm addmm addmv aminmax argmax argmin baddbmm bmm cross diag gather index_add isin linalg_cholesky "
    "linalg_cross linalg_det linalg_inv linalg_solve linalg_vector_norm matmul max min mm msort mv norm renorm scatter "
    "scatter_add softmax sort take_along_dim topk tril triu").split())
IN_C = {"Bool": "bool", "Byte": "unsigned char", "Char": "signed char", "Short": "short", "Int": "int",
        "Long": "long int", "Half": "c10::Half", "BFloat16": "c10::BFloat16", "Float": "float", "Double": "double"}
ONLY_BOOL = "{name} only supports bool tensor for result, got: {given}"
NOT_BOOLEAN = "{name} does not support non-boolean outputs."
MATCHING = ("Expected the dtype for input and out to match, but got {wanted} for input's dtype and {given} for out's "
            "dtype.")
POSITIONS = ("torch.searchsorted(): output tensor's dtype is wrong, it can only be Int(int32) or Long(int64) depending "
             "on whether out_int32 flag is True, but we got output tensor's dtype {given} and out_int32 flag is ")
SENTENCES: dict[str, str] = {  # of functions with words of their own
    **dict.fromkeys(("all", "any"), ONLY_BOOL),
    **dict.fromkeys(("isneginf", "isposinf", "signbit"), NOT_BOOLEAN),
    **dict.fromkeys(("amax", "amin"), MATCHING),
    **dict.fromkeys(("cummax", "cummin", "logcumsumexp"), "expected scalar_type {wanted} but found {given}"),
    **dict.fromkeys(("index_select", "masked_select"), "{name}(): self and result must have the same scalar type"),
    **dict.fromkeys(("bucketize", "searchsorted"), POSITIONS),
    "nonzero": "nonzero: Expected out tensor to have scalar type {wanted} but got scalar type{given}",
    "mode": "expected scalar type '{wanted}' but got '{given}' for {role} output",
    "take": "take(): self and out expected to have the same dtype, but got self.dtype = {wanted} and out.dtype = "
            "{given}",
    "where": "Expected out type to be {wanted} but got {given}",
    "dot": "result dtype {given} does not match input dtype {wanted}",
    "quantile": "quantile() out tensor must be same dtype as the input tensor",
    "clamp": "Found dtype {given} but expected {wanted}",
}


def dtype_of_out(name: str, out: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    """The dtype that a sum or a factory takes from its `out`, as an argument of it."""
    return {"dtype": out.dtype} if name in IN_OUTS_DTYPE and given.get("dtype") is None else {}


def check_out_dtype(name: str, target: Tensor, value: Tensor, position: int) -> None:
    """Raise PyTorch's error for a result whose function does not write it to the dtype of `target`."""
    given, wanted = target.dtype.type_name, value.dtype.type_name
    if given == wanted or (name in ("all", "any") and given in ("Bool", "Byte")):
        return
    if name in EXACT:
        raise RuntimeError(f"Expected out tensor to have dtype {IN_C[wanted]}, but got {IN_C[given]} instead")
    if name in ("kthvalue", "median", "nanmedian"):
        raise RuntimeError(of_ranked(name, given, wanted, position))
    if name in SENTENCES:
        words = SENTENCES[name].format(name=name, given=given, wanted=wanted, role=("values", "indices")[position])
        raise RuntimeError(words + str(wanted == "Int") if SENTENCES[name] is POSITIONS else words)


def of_ranked(name: str, given: str, wanted: str, position: int) -> str:
    """What PyTorch says of an element by its rank, or of its position, that is to have another dtype."""
    if name == "kthvalue":
        return f"output {'indices must be of scalar type Long' if position else 'values must be of same type as input'}"
    legacy, own = ("CPUBoolType" if kind == "Bool" else f"torch.{kind}Tensor" for kind in (given, wanted))
    where = " (while checking arguments for median)"
    if position:
        return f"Expected tensor for argument #1 'indices' to have scalar type Long; but got {legacy} instead{where}"
    return (f"Expected tensor for 'values' to have the same type as tensor for argument #2 'self'; but type {legacy} "
            f"does not equal {own}{where}")


def delivered(name: str, out: Any, args: Sequence[Any], compute: Callable[[], Any]) -> Any:
    """Write the result into the tensors of `out`, and return them.

    Raises RuntimeError for random numbers and batches inside of `vmap`; if an argument requires grad, the result cannot
    be converted to the dtype of its tensor, or memory is shared in a way that would change what is read.
    """
    outs = out if isinstance(out, (tuple, list)) else (out,)
    tensors = [v for each in args for v in (each if isinstance(each, (tuple, list)) else (each,))
               if isinstance(v, Tensor)]
    if LOCAL.recording and any(v._requires_grad for v in (*tensors, *outs)):
        raise RuntimeError(f"{name}(): functions with out=... arguments don't support automatic differentiation, but "
                           "one of the arguments requires grad.")
    refuse_out(name, [each.array for each in (*tensors, *outs)])
    if UNUSUAL.tangents is not None:
        UNUSUAL.tangents.refuse_out(name, (*tensors, *outs))
    result = compute()
    results = result if isinstance(result, tuple) else (result,)
    for position, (target, value) in enumerate(zip(outs, results, strict=True)):
        check_out_dtype(name, target, value, position)
        write(target, plain(value.array != 0) if name in ("all", "any") else value, tensors)
    return type(result)(outs) if isinstance(result, tuple) else out


def write(target: Tensor, value: Tensor, inputs: Sequence[Tensor]) -> None:
    """Write one result into one tensor, which takes its shape."""
    refuse_outside_inference_mode(target)
    counter = counter_of(target)  # before anything is written: see track.py, NOTE 2
    if target.array.shape == value.array.shape:
        array = materialized(target)
        check_written(array, value)
        check_memory(array, tuple(v for v in inputs if v is not target), constant=False)
        array[...] = value.array
    else:
        if target.array.size and inputs:  # factories, which have no tensor inputs, resize without a warning
            warn(RESIZED.format(list(target.array.shape), list(value.array.shape)))
        array = as_dtype(value.array, target.array.dtype)
        check_written(array, value)
        if fits(target, array):
            target.array[...] = array
        else:
            target.array = array
    counter.value += 1


def fits(target: Tensor, array: Any) -> bool:
    """Whether the memory of a tensor is large enough for a result, with whose shape and order the tensor then looks at
    it. Memory that is too small is not enlarged: what else looks at it keeps it."""
    if target.array.base is None and not target.array.size:
        return False
    storage, offset, counter = target.untyped_storage(), target.storage_offset(), counter_of(target)
    if storage.nbytes() < (offset + array.size) * array.itemsize:
        return False
    version, steps = counter.value, np.empty_like(array).strides
    target.set_(storage, offset, array.shape, tuple([step // array.itemsize for step in steps]))
    counter.value = version  # to resize and to write are one change
    return True
