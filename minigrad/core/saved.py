"""Saved tensors: mirrors PyTorch's `saved_variable.cpp`.

What a node keeps from the forward pass for its derivative, and how it is taken out again: checked against in-place
changes, as arrays for a first-order pass or as tensors of the graph where the pass is itself recorded.

NOTE 2 (saved outputs, and freeing). A node may need its own result (exp does). If it kept the result tensor, that
tensor would hold the node (`grad_fn`) and the node the tensor: a cycle, which only the garbage collector frees. So a
saved *input* is kept as the tensor itself, a saved *output* as its bare array; the tensor is made anew when somebody
asks. Its version lives in a counter that the result's tensor makes on demand and tells its node of
(`NodeExtras.watch`). Nothing in a graph then points back, a dropped graph is freed at once, and freeing a chain of a
million nodes needs no recursion, since CPython's own deallocation of tuples and objects is guarded against depth.
"""

from __future__ import annotations

import re
import weakref
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from minigrad._base.dtype import from_numpy_dtype
from minigrad._base.type_name import type_name
from minigrad.autograd.anomaly_mode import ANOMALY
from minigrad.backends import registry
from minigrad.backends.registry import Apart
from minigrad.core.grad_mode import LOCAL

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
DETACHED = (
    "Trying to use a saved tensor that has been detached in-place, i.e. with .detach_().This is not supported, please "
    "use out-of-place `.detach()` instead"
)
WRITTEN_TWICE = (
    "unsupported operation: more than one element of the written-to tensor refers to a single memory location. Please "
    "clone() the tensor before performing the operation."
)


class Registry:
    """Through this low floors reach Tensors and their ops, which higher floors define.

    `tensor(array)` makes a Tensor; `words` are the functions on Tensors that a formula may use.
    """

    tensor: Callable[[Any], Any]
    words: Any


REGISTRY = Registry()


class VersionCounter:
    """How often a storage was written in place; a tensor and all its views share one.

    `views`: those that were taken off record (views.py), None for none; `before_write`: to be called before the storage
    is written to (`allow_mutation_on_saved_tensors`), None for nothing.
    """

    __slots__ = ("before_write", "value", "views")

    def __init__(self) -> None:
        self.value = 0
        self.before_write: Callable[[], None] | None = None
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
    """A saved value that went through a pack hook: what the hook returned, the way back, and its place in the graph.

    `source`: the node that made it, or the AccumulateGrad of a leaf that requires grad, else None. It is None too
    where the node that saved the value also made it (`is_result`): to keep that one would be a cycle.
    """

    __slots__ = ("is_number", "is_result", "output_nr", "source", "unpack_hook", "value")

    value: Any
    unpack_hook: Callable[[Any], Any]
    is_number: bool
    is_result: bool
    source: Any
    output_nr: int

    def tensor(self) -> Any:
        """The tensor that the unpack hook makes of what was packed; it runs under the caller's grad mode."""
        made = self.unpack_hook(self.value)
        if not is_tensor(made):
            raise TypeError("Output of saved tensor unpack_hook expected to be a Tensor but got result of type "
                            f"{type_name(made)}")
        return made

    def array(self, node: Any) -> Any:
        """The value for a first-order pass."""
        made = self.tensor().array
        return made.item() if self.is_number else made

    def restored(self, node: Any) -> Any:
        """The value as a tensor with the history that it had when it was saved, whatever the hook gave it."""
        made = self.tensor()
        source = node if self.is_result else self.source
        if self.is_number:
            return made.array.item()
        if source is None and not made._requires_grad:
            return made
        fresh = REGISTRY.tensor(made.array) if source is None else source.result(made.array, self.output_nr)
        fresh._version_counter = counter_of(made)
        return fresh


def is_tensor(value: Any) -> bool:
    """Whether a saved value is a tensor (a saved input), not an array (a saved result) or a number."""
    return hasattr(value, "_requires_grad")  # a slot: half the time of a property


def is_array(value: Any) -> bool:
    """Whether a saved value is the bare data of a result."""
    return registry.is_array(value)


INFERENCE = (
    "Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode in "
    "computation tracked by autograd. To work around this, you can make a clone to get a normal tensor and use it in "
    "autograd, or use `torch.no_grad()` instead of `torch.inference_mode()`."
)


def refuse_inference(saved: tuple[Any, ...]) -> None:
    """PyTorch's error for a tensor of inference mode among what is saved."""
    if any(s._rare is not None and s._rare.inference for s in saved if is_tensor(s)):
        raise RuntimeError(INFERENCE)


def refuse_outside(written: Any) -> None:
    """PyTorch's error for a tensor of inference mode that is written to in normal mode."""
    if written._rare is not None and written._rare.inference and not LOCAL.inference:
        raise RuntimeError(WRITTEN_OUTSIDE)


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
    kept = node.saved if node.rare is None else opened(node, Packed.array)
    values = tuple([s.array if is_tensor(s) else s for s in kept])
    return values if node._notes is None or type(node._notes.input_metadata) is not Apart else numbers(values)


def numbers(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Arrays of which one, 0-d, lies on the CPU and meets a device's as a number."""
    return tuple([v[()] if type(v) is np.ndarray and not v.ndim else v for v in values])


def tensors(node: Any) -> tuple[Any, ...]:
    """The saved values of a node as tensors of its graph, for a pass that is recorded."""
    if node.saved is None:
        raise RuntimeError(FREED)
    check_versions(node)
    kept = node.saved if node.rare is None else opened(node, Packed.restored)
    return tuple([watched_result(node, s, node.saved_output_nr(i)) if is_array(s) else s for i, s in enumerate(kept)])


def opened(node: Any, unpacked: Callable[[Packed, Any], Any]) -> tuple[Any, ...]:
    """What a node saved, with what hooks unpack in the place of what they packed."""
    kept = list(node.saved)
    for i in saving_order(node):
        if type(kept[i]) is Packed:
            kept[i] = unpacked(kept[i], node)
    return tuple(kept)


def saving_order(node: Any) -> Sequence[int]:
    """The order in which hooks see what a node saves: as in PyTorch inputs by their names, then results."""
    names = node.saves
    if len(names) != len(node.saved):
        return range(len(node.saved))
    return sorted(range(len(names)), key=lambda i: (names[i] == "result", names[i]))


def value_of(node: Any, index: int) -> Any:
    """One saved value as a tensor of the graph: what `node._saved_self` and its like give."""
    if node.saved is None:
        raise RuntimeError(FREED)
    check_versions(node, index)
    kept = node.saved[index]
    if type(kept) is Packed:
        kept = kept.restored(node)
    if is_array(kept):
        return watched_result(node, kept, node.saved_output_nr(index))
    return REGISTRY.tensor(np.asarray(kept)) if isinstance(kept, (bool, int, float)) else kept


def watched_result(node: Any, array: Any, output_nr: int) -> Any:
    """A saved result as a tensor: it shares its counter with the result, for whoever saves it again."""
    made = maker_of(node).result(array, output_nr)
    made._version_counter = node.extras().watched().setdefault(output_nr, VersionCounter())
    return made


def maker_of(node: Any) -> Any:
    """Whose output a node's saved result is: its own, but that of a view's node where it was written into a view."""
    written = None if node.rare is None or node.rare.written is None else node.rare.written()
    return node if written is None else written


def check_versions(node: Any, only: int | None = None) -> None:
    """Raise PyTorch's error if a saved tensor (`only` one of them, if given) was changed in place since it was saved.

    An input that was then taken out of its graph by `detach_()` is an error too: its history is gone. (PyTorch lets it
    pass in a custom Function.)
    """
    watch = None if node.rare is None else node.rare.watch
    then = node.versions or (0,) * len(node.saved)
    places = range(len(node.saved))
    for index in places if node.special else reversed(places):  # as PyTorch: the first gradient needs the last of them
        if only is not None and only != index:
            continue
        saved, expected = node.saved[index], then[index]
        counter = getattr(saved, "_version_counter", None)
        if counter is not None:
            if saved._rare is not None and saved._rare.detached_at > node.sequence_nr and not node.special:
                raise RuntimeError(DETACHED)
            if counter.value != expected:
                changed(saved.array, saved.grad_fn, saved._output_nr, counter.value, expected)
        elif watch and is_array(saved):
            output_nr = node.saved_output_nr(index)
            if output_nr in watch and watch[output_nr].value != expected:
                changed(saved, maker_of(node), output_nr, watch[output_nr].value, expected)


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
    place = registry.device_of(array).type
    prefix = "" if place == "cpu" else f"{place}."
    kind = f"{place.upper()}BoolType" if dtype.name == "bool" else f"torch.{prefix}{dtype.type_name}Tensor"
    what = f"[{kind} {list(array.shape)}]"
    maker = "" if grad_fn is None else op_of(grad_fn)
    whose = f", which is output {output_nr} of {maker}," if maker else ""
    raise RuntimeError(
        "one of the variables needed for gradient computation has been modified by an inplace operation: "
        f"{what}{whose} is at version {version}; expected version {expected} instead. Hint: "
        f"{HINT_IN_ANOMALY_MODE if ANOMALY.enabled else HINT}"
    )
