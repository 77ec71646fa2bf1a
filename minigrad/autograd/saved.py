"""Saved tensors: mirrors PyTorch's `saved_variable.cpp`.

What a node keeps from the forward pass for its derivative, and how it is taken out again: checked against in-place
changes, as arrays for a first-order pass or as tensors of the graph where the pass is itself recorded.

NOTE 2 (saved outputs, and freeing). A node may need its own result (exp does). If it kept the result tensor, that
tensor would hold the node (`grad_fn`) and the node the tensor: a cycle, which only the garbage collector frees. So a
saved *input* is kept as the tensor itself, a saved *output* as its bare array; the tensor is made anew when somebody
asks. Its version lives in a counter that the result's tensor makes on demand and tells its node of (`Node.watch`).
Nothing in a graph then points back, a dropped graph is freed at once, and freeing a chain of a million nodes needs no
recursion, since CPython's own deallocation of tuples and objects is guarded against depth.
"""

from __future__ import annotations

import re
import weakref
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from minigrad._dtype import from_numpy_dtype
from minigrad.autograd.anomaly_mode import ANOMALY
from minigrad.autograd.grad_mode import LOCAL, no_grad

__all__ = ["REGISTRY", "Packed", "VersionCounter", "arrays", "counter_of", "tensors", "versions_of"]

FREED = (
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already "
    "been freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). "
    "Specify retain_graph=True if you need to backward through the graph a second time or if you need to access saved "
    "tensors after calling backward."
)
WRITTEN_OUTSIDE = (
    "Inplace update to inference tensor outside InferenceMode is not allowed.You can make a clone to get a normal "
    "tensor before doing inplace update.See https://github.com/pytorch/rfcs/pull/17 for more details."
)
WRITTEN_TWICE = (
    "unsupported operation: more than one element of the written-to tensor refers to a single memory location. Please "
    "clone() the tensor before performing the operation."
)


class Registry:
    """The one place through which low floors reach what a higher floor defines.

    `tensor(array)` makes a Tensor; `words` are the functions on Tensors that a formula may use.
    """

    tensor: Callable[[Any], Any]
    words: Any


REGISTRY = Registry()


class VersionCounter:
    """How often a storage was written in place; a tensor and all its views share one.

    `views`: those that were taken while their base did not require grad (views.py), None for none.
    """

    __slots__ = ("value", "views")

    def __init__(self) -> None:
        self.value = 0
        self.views: weakref.WeakSet[Any] | None = None


def counter_of(tensor: Any) -> VersionCounter:
    """The version counter, made when first needed; the node that made the tensor learns of it (NOTE 2).

    All tensors around one result of a node, such as the one that `_saved_result` gives, share one counter.
    """
    if tensor._version_counter is None:
        tensor._version_counter = VersionCounter()
        if tensor._grad_fn is not None:
            watch = tensor._grad_fn.extras().watched()
            tensor._version_counter = watch.setdefault(tensor._output_nr, tensor._version_counter)
    counter: VersionCounter = tensor._version_counter
    return counter


class Packed:
    """A saved value that went through `saved_tensors_hooks`: what the pack hook returned, and the way back."""

    __slots__ = ("is_output", "output_nr", "source", "unpack", "value")

    value: Any
    unpack: Callable[[Any], Any]
    is_output: bool  # of the node that saved it
    source: Any  # the node that made it, where it is another
    output_nr: int

    def unpacked(self) -> Any:
        """The tensor that the unpack hook makes of what was packed."""
        with no_grad():
            made = self.unpack(self.value)
        if not hasattr(made, "array"):
            raise TypeError("Output of saved tensor unpack_hook expected to be a Tensor but got result of type "
                            f"{type(made).__name__}")
        return made


def is_tensor(value: Any) -> bool:
    """Whether a saved value is a tensor (a saved input), not an array (a saved result) or a number."""
    return hasattr(value, "_version_counter")


def is_array(value: Any) -> bool:
    """Whether a saved value is the bare data of a result."""
    return isinstance(value, (np.ndarray, np.generic))


INFERENCE = (
    "Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode in "
    "computation tracked by autograd. To work around this, you can make a clone to get a normal tensor and use it in "
    "autograd, or use `torch.no_grad()` instead of `torch.inference_mode()`."
)


def refuse_inference(saved: tuple[Any, ...]) -> None:
    """PyTorch's error for a tensor of inference mode among what is saved."""
    if any(s._rare is not None and s._rare.inference for s in saved if is_tensor(s)):
        raise RuntimeError(INFERENCE)


def versions_of(saved: tuple[Any, ...]) -> tuple[int, ...]:
    """The version of each saved input now; results and numbers count as 0. Tensors of inference mode are refused.

    Raises:
        RuntimeError: for a tensor that was made in inference mode.
    """
    refuse_inference(saved)
    return tuple([0 if getattr(s, "_version_counter", None) is None else s._version_counter.value for s in saved])


def arrays(node: Any) -> tuple[Any, ...]:
    """The saved values of a node as arrays, their versions checked."""
    if node.saved is None:
        raise RuntimeError(FREED)
    check_versions(node)
    return tuple([s.array if is_tensor(s) else s.unpacked().array if type(s) is Packed else s for s in node.saved])


def arrays_of_inputs(node: Any) -> tuple[Any, ...]:
    """`arrays` for a node that saves two inputs, straight where neither has a version yet."""
    if node.saved is None or node.rare is not None or node.versions is not None:
        return arrays(node)
    a, b = node.saved
    if a is None:
        if b is None or b._version_counter is None:
            return None, b if b is None else b.array
    elif b is None:
        if a._version_counter is None:
            return a.array, None
    elif a._version_counter is None and b._version_counter is None:
        return a.array, b.array
    return arrays(node)


def arrays_of_results(node: Any) -> tuple[Any, ...]:
    """`arrays` for a node that saves results or numbers only: bare data, changed or packed only where `rare` is set."""
    if node.saved is None or node.rare is not None:
        return arrays(node)
    saved: tuple[Any, ...] = node.saved
    return saved


def value_of(node: Any, index: int) -> Any:
    """One saved value as a tensor of the graph: what `node._saved_self` and its like give."""
    return tensors(node)[index]


def tensors(node: Any) -> tuple[Any, ...]:
    """The saved values of a node as tensors of its graph, for a pass that is recorded."""
    if node.saved is None:
        raise RuntimeError(FREED)
    check_versions(node)
    return tuple([repacked(node, s) if type(s) is Packed else
                  watched_result(node, s, node.saved_output_nr(i)) if is_array(s) else s
                  for i, s in enumerate(node.saved)])


def watched_result(node: Any, array: Any, output_nr: int) -> Any:
    """A saved result as a tensor: it shares its counter with the result, for whoever saves it again."""
    made = node.result(array, output_nr)
    counter_of(made)
    return made


def repacked(node: Any, packed: Packed) -> Any:
    """An unpacked value with the history that it had when it was saved."""
    made = packed.unpacked()
    if packed.source is None:
        return made if not packed.is_output else node.result(made.array, packed.output_nr)
    return node.result(made.array, packed.output_nr, packed.source)


def pack(node: Any, index: int, value: Any) -> Any:
    """Send one saved value through the pack hook that is on in this thread (numbers stay as they are)."""
    if not (is_tensor(value) or is_array(value)):
        return value
    packed = Packed()
    packed.is_output = not is_tensor(value)
    if packed.is_output:
        packed.source, packed.output_nr = None, node.saved_output_nr(index)
        handed = REGISTRY.tensor(value)
    else:
        packed.source, packed.output_nr = value.gradient_edge()
        handed = value
    pack_hook, packed.unpack = LOCAL.saved_tensors_hooks[-1]
    with no_grad():
        packed.value = pack_hook(handed)
    return packed


def check_versions(node: Any) -> None:
    """Raise PyTorch's error if a saved tensor was changed in place since it was saved."""
    then = node.versions or (0,) * len(node.saved)
    for saved, expected in zip(node.saved, then, strict=True):
        counter = getattr(saved, "_version_counter", None)
        if counter is not None and counter.value != expected:
            changed(saved.array, saved.grad_fn, saved._output_nr, counter.value, expected)
    if node.rare is not None and node.rare.watch:
        for index, (value, expected) in enumerate(zip(node.saved, then, strict=True)):
            output_nr = node.saved_output_nr(index)
            counter = node.rare.watch.get(output_nr)
            if counter is not None and is_array(value) and counter.value != expected:
                changed(value, node, output_nr, counter.value, expected)


def op_of(node: Any) -> str:
    """A node's name as PyTorch's errors say it: `Mul` for `MulBackward0`."""
    return re.sub("Backward0?([0-9]*)$", r"\1", node.name())


HINT = (
    "enable anomaly detection to find the operation that failed to compute its gradient, with "
    "torch.autograd.set_detect_anomaly(True, check_nan=False)."
)
HINT_IN_ANOMALY_MODE = (
    "the backtrace further above shows the operation that failed to compute its gradient. The variable in question was "
    "changed in there or anywhere later. Good luck!"
)


def changed(array: Any, grad_fn: Any, output_nr: int, version: int, expected: int) -> NoReturn:
    """PyTorch's error for a saved tensor that an in-place operation has changed."""
    dtype = from_numpy_dtype(array.dtype)
    kind = "CPUBoolType" if dtype.name == "bool" else f"torch.{dtype.type_name}Tensor"  # PyTorch names them so
    what = f"[{kind} {list(array.shape)}]"
    maker = "" if grad_fn is None else op_of(grad_fn)
    whose = f", which is output {output_nr} of {maker}," if maker else ""
    raise RuntimeError(
        "one of the variables needed for gradient computation has been modified by an inplace operation: "
        f"{what}{whose} is at version {version}; expected version {expected} instead. Hint: "
        f"{HINT_IN_ANOMALY_MODE if ANOMALY.enabled else HINT}"
    )
