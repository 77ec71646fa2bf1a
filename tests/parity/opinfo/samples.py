"""PyTorch's own samples for its ops, made neutral: arrays with strides and flags, which either library can be given.

PyTorch keeps, for its own tests, a table of ops with sample inputs and inputs that must be refused (`op_db`, part of
the installed wheel). Here a sample is taken apart into NumPy arrays, and put together again as tensors of PyTorch or
of minigrad: the same strides, dtypes, flags, and the same tensor where one is given twice.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.opinfo.core import gradcheck_wrapper_hermitian_input

from minigrad._base.optional import LeftOut
from tests.parity.compare import copied, laid_out

SPREAD = 4  # every so many samples, one is given a second time with gaps in its memory


class CannotTell(Exception):
    """A sample speaks of what minigrad does not have: complex numbers, sparse tensors, other devices."""


@dataclass(frozen=True, eq=False)
class Leaf:
    """A tensor of a sample: its values as they lie in memory, and whether it wants a gradient."""

    array: np.ndarray
    grad: bool

    def spread(self) -> Leaf:
        """The same values with gaps between them, where there are several."""
        return Leaf(laid_out(self.array, "gaps"), self.grad)


@dataclass(frozen=True)
class Sample:
    """What an op is called with."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    process: Callable[[Any], Any]  # what PyTorch does to the result before it differentiates

    def spread(self) -> Sample:
        """The same with gaps in the memory of all tensors."""
        memo: dict[int, Leaf] = {}
        apart = functools.partial(each, lambda v: memo.setdefault(id(v), v.spread()) if isinstance(v, Leaf) else v)
        return Sample(apart(self.args), apart(self.kwargs), self.process)

    def single(self) -> bool:
        """Whether some of it is of single precision or less."""
        found: list[Leaf] = []
        each(lambda v: found.append(v) if isinstance(v, Leaf) else None, (self.args, self.kwargs))
        return any(v.array.dtype.kind == "f" and v.array.itemsize < 8 for v in found)


@dataclass(frozen=True)
class Named:
    """A thing that both libraries have under this name: a dtype or a layout."""

    name: str


def each(change: Callable[[Any], Any], value: Any) -> Any:
    """A nest of tuples, lists, dicts and slices, each thing in it changed."""
    if isinstance(value, (tuple, list)) and not isinstance(value, torch.Size):
        return type(value)([each(change, v) for v in value])
    if isinstance(value, dict):
        return {key: each(change, v) for key, v in value.items()}
    if isinstance(value, slice):
        return slice(*[each(change, v) for v in (value.start, value.stop, value.step)])
    return change(value)


def neutral(value: Any, memo: dict[int, Leaf]) -> Any:
    """A thing of PyTorch's as data."""
    if isinstance(value, torch.Tensor):
        if id(value) not in memo:
            memo[id(value)] = leaf_of(value)
        return memo[id(value)]
    if isinstance(value, torch.dtype):
        if value.is_complex or value == torch.bfloat16 or not hasattr(np, str(value).removeprefix("torch.")):
            raise CannotTell(f"dtype {value}")
        return Named(str(value).removeprefix("torch."))
    if isinstance(value, torch.memory_format):
        raise CannotTell("memory formats")
    if isinstance(value, torch.layout):
        return Named(str(value).removeprefix("torch."))
    if isinstance(value, (torch.device, torch.Generator)) or (isinstance(value, str) and value.startswith("cuda")):
        if str(value) != "cpu":
            raise CannotTell(f"{type(value).__name__} {value}")
        return "cpu"
    if isinstance(value, torch.Size):
        return tuple(value)
    if isinstance(value, complex):
        raise CannotTell("complex")
    if value is None or value is ... or isinstance(value, (bool, int, float, str, np.ndarray, np.generic)):
        return value
    raise CannotTell(f"{type(value).__name__}s as arguments")


def leaf_of(tensor: torch.Tensor) -> Leaf:
    """A tensor of PyTorch's as an array."""
    if tensor.layout is not torch.strided or tensor.device.type != "cpu":
        raise CannotTell(f"{tensor.layout} on {tensor.device}")
    if tensor.is_complex() or tensor.dtype == torch.bfloat16:
        raise CannotTell(str(tensor.dtype))
    try:
        array = tensor.detach().resolve_neg().numpy()
    except (TypeError, RuntimeError, ValueError) as error:
        raise CannotTell("more than 64 dimensions" if tensor.dim() > 64 else str(tensor.dtype)) from error
    return Leaf(copied(array), tensor.requires_grad)


def sample_of(given: Any) -> Sample:
    """A sample of PyTorch's as data."""
    memo: dict[int, Leaf] = {}
    change = functools.partial(each, lambda v: neutral(v, memo))
    return Sample(change((given.input, *given.args)), change(dict(given.kwargs)), given.output_process_fn_grad)


def samples(op: Any, dtype: torch.dtype, most: int | None, left_out: dict[str, int]) -> Iterator[Sample]:
    """Samples of an op, `most` of them evenly chosen; what minigrad has no word for is counted in `left_out`."""
    torch.manual_seed(0)
    wants = dtype.is_floating_point and op.supports_autograd
    made = list(op.sample_inputs_func(op, "cpu", dtype, wants))  # not sample_inputs: it notes the stack of each sample
    found = []
    for index, given in enumerate(made):
        try:
            found.append(sample_of(given))
        except CannotTell as why:
            left_out[str(why)] = left_out.get(str(why), 0) + 1
            continue
        if index % SPREAD == 1:
            found.append(found[-1].spread())
    yield from evenly(found, most)


def refused(op: Any, most: int | None, left_out: dict[str, int]) -> Iterator[Sample]:
    """What an op must refuse; `most` and `left_out` as of `samples`."""
    if op.error_inputs_func is None:
        return
    torch.manual_seed(0)
    for given in evenly(list(op.error_inputs_func(op, "cpu")), most):
        try:
            yield sample_of(given.sample_input)
        except CannotTell as why:
            left_out[str(why)] = left_out.get(str(why), 0) + 1


def evenly(found: list[Any], most: int | None) -> list[Any]:
    """So many of a list, spread over it."""
    if most is None or len(found) <= most:
        return found
    return [found[i * len(found) // most] for i in range(most)]


def built(value: Any, lib: ModuleType, memo: dict[int, Any]) -> Any:
    """A neutral thing in a library; `memo` keeps the tensors, by their leaves."""
    def change(part: Any) -> Any:
        if isinstance(part, Named):
            return getattr(lib, part.name)
        if not isinstance(part, Leaf):
            return part
        if id(part) not in memo:
            memo[id(part)] = lib.from_numpy(copied(part.array)).requires_grad_(part.grad)
        return memo[id(part)]

    return each(change, value)


def in_words(sample: Sample) -> str:
    """A sample in full."""
    words = [*map(word, sample.args), *[f"{key}={word(value)}" for key, value in sample.kwargs.items()]]
    return ", ".join(words)


def word(value: Any) -> str:
    """One argument in full; of a large tensor, what it is."""
    if isinstance(value, (tuple, list)):
        inside = ", ".join(map(word, value)) + ("," if isinstance(value, tuple) and len(value) == 1 else "")
        return f"({inside})" if isinstance(value, tuple) else f"[{inside}]"
    if isinstance(value, Named):
        return value.name
    if not isinstance(value, Leaf):
        return repr(value)
    array = value.array
    what = f"{array.dtype}{list(array.shape)}"
    if not array.flags.c_contiguous:
        what += f" stride {tuple([n // array.itemsize for n in array.strides])}"
    values = f" {array.tolist()}" if array.size <= 12 else ""
    return f"<{what}{' grad' if value.grad else ''}{values}>"


@functools.cache
def translated(function: Any, lib: ModuleType) -> Any:
    """A function of PyTorch's own tests with this library for the name `torch`."""
    if lib is torch or not isinstance(function, types.FunctionType):
        return function
    def seeded(op: Any, *args: Any, **kwargs: Any) -> Any:
        lib.manual_seed(42)
        return op(*args, **kwargs)

    words = {**function.__globals__, "torch": lib, "wrapper_set_seed": seeded}
    made = types.FunctionType(function.__code__, words, function.__name__, function.__defaults__, function.__closure__)
    made.__kwdefaults__ = function.__kwdefaults__
    return made


def looked_up(lib: ModuleType, path: str) -> Any:
    """What a library has under a dotted name, or None."""
    found: Any = lib
    for part in path.removeprefix("torch.").split("."):
        found = getattr(found, part, None)
    return None if isinstance(found, type) and issubclass(found, LeftOut) else found


def function_of(op: Any, lib: ModuleType) -> Any:
    """How an op is called in a library: by its name, as a method, or by PyTorch's own lambda; None if it is missing."""
    found, method = looked_up(lib, op.name), None
    if not callable(looked_up(torch, op.name)):
        method = getattr(lib.Tensor, op.name, None) or getattr(lib.Tensor, f"{op.name}_", None)
    if not callable(found) and method is None:
        return None
    if isinstance(op.op, types.FunctionType) and "testing" in op.op.__module__:
        call = translated(op.op, lib)
    else:
        call = method if method is not None else found
    if op.gradcheck_wrapper is gradcheck_wrapper_hermitian_input:
        return lambda x, *args, **kwargs: call(x + x.mT, *args, **kwargs)
    return call


def full_name(op: Any) -> str:
    """The name of an op and of its variant."""
    return f"{op.name}.{op.variant_test_name}" if op.variant_test_name else op.name


OPS = {full_name(op): op for op in op_db}
