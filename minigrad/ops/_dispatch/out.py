"""Implements `out=`, which writes the result of a function into a given tensor. Mirrors PyTorch's `resize_output`.

Every function with `out` in PyTorch has it here, by this one rule (arg_parser.py): autograd records nothing, and the
tensor takes the result's shape but keeps its own dtype, to which the result must be convertible.
"""

from collections.abc import Callable, Sequence
from typing import Any

from minigrad._base.dtype import as_dtype
from minigrad._base.warnings import warn
from minigrad.core import LOCAL, Tensor, counter_of, materialized
from minigrad.core.saved import refuse_outside_inference_mode
from minigrad.history.inplace import check_memory, check_written

RESIZED = (
    "An output with one or more elements was resized since it had shape {}, which does not match the required output "
    "shape {}. This behavior is deprecated, and in a future PyTorch release outputs will not be resized unless they "
    "have zero elements. You can explicitly reuse an out tensor t by resizing it, inplace, to zero elements with "
    "t.resize_(0)."
)


def delivered(name: str, out: Any, args: Sequence[Any], compute: Callable[[], Any]) -> Any:
    """Write the result into the tensors of `out`, and return them.

    Raises:
        RuntimeError: if an argument requires grad, the result cannot be converted to the dtype of its tensor, or
            memory is shared in a way that would change what is read.
    """
    outs = out if isinstance(out, (tuple, list)) else (out,)
    tensors = [v for each in args for v in (each if isinstance(each, (tuple, list)) else (each,))
               if isinstance(v, Tensor)]
    if LOCAL.recording and any(v._requires_grad for v in (*tensors, *outs)):
        raise RuntimeError(f"{name}(): functions with out=... arguments don't support automatic differentiation, but "
                           "one of the arguments requires grad.")
    result = compute()
    results = result if isinstance(result, tuple) else (result,)
    for target, value in zip(outs, results, strict=True):
        write(target, value, tensors)
    return type(result)(outs) if isinstance(result, tuple) else out


def write(target: Tensor, value: Tensor, inputs: Sequence[Tensor]) -> None:
    """Write one result into one tensor, which takes its shape."""
    refuse_outside_inference_mode(target)
    counter = counter_of(target)  # before anything is written: see track.py, NOTE 2
    if target.array.shape != value.array.shape:
        if target.array.size and inputs:  # factories, which have no tensor inputs, resize without a warning
            warn(RESIZED.format(list(target.array.shape), list(value.array.shape)))
        array = as_dtype(value.array, target.array.dtype)
        check_written(array, value)
        target.array = array
    else:
        array = materialized(target)
        check_written(array, value)
        check_memory(array, tuple(v for v in inputs if v is not target), constant=False)
        array[...] = value.array
    counter.value += 1
