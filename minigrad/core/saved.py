"""Reads the values that a node saved for its derivative. Mirrors PyTorch's `saved_variable.cpp`.

A node keeps values of the forward pass. When its formula runs they are taken out: checked against in-place changes, as
arrays for a first-order pass, or as tensors of the graph for a pass that is itself recorded.

NOTE 2 (saved outputs, and freeing). A node may need its own result; exp does. If it kept the result tensor, that tensor
would hold the node (`grad_fn`) and the node the tensor: a cycle, which only the garbage collector frees. So a saved
*input* is kept as the tensor itself, a saved *output* as its bare array, and a tensor is made around the array on
demand. Its version is in a counter that the result's tensor makes when needed and registers with its node
(`NodeExtras.result_counters`). Nothing in a graph then points back: a graph that is dropped is freed at once, and
freeing a chain of a million nodes needs no recursion, since CPython guards the deallocation of tuples and objects
against depth.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from minigrad._base.dtype import from_numpy_dtype
from minigrad._base.type_name import type_name
from minigrad.backends import registry
from minigrad.backends.registry import MixedDeviceMetadata
from minigrad.core.grad_mode import LOCAL, UNUSUAL
from minigrad.core.tensor import Tensor, VersionCounter, counter_of, plain

__all__ = ["NothingSaved", "Packed", "as_arrays", "saved_arrays", "saved_constant", "saved_tensors", "saved_value",
           "versions_of"]

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
INFERENCE = (
    "Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode in "
    "computation tracked by autograd. To work around this, you can make a clone to get a normal tensor and use it in "
    "autograd, or use `torch.no_grad()` instead of `torch.inference_mode()`."
)


class NothingSaved(tuple[None, ...]):
    """The saved values of a node whose wanted gradients need none: all are None, and it counts as empty.

    So there is nothing to free, and a second pass through the node does not raise.
    """

    __slots__ = ()

    def __bool__(self) -> bool:
        return False


class Packed:
    """A saved value that went through a pack hook: what the hook returned, and how to get the value back."""

    __slots__ = ("info", "is_number", "is_result", "output_nr", "source", "unpack_hook", "value")

    value: Any  # what the pack hook returned
    unpack_hook: Callable[[Any], Any]
    info: Any  # shape, device and dtype of what was saved
    is_number: bool  # a Python number was saved
    is_result: bool  # the node's own result was saved
    source: Any  # the node that made it; None if no node made it, and for a result, since that would be a cycle
    output_nr: int  # which output of `source` it is

    def tensor(self) -> Tensor:
        """Call the unpack hook, under the caller's grad mode."""
        tensor = self.unpack_hook(self.value)
        if not isinstance(tensor, Tensor):
            raise TypeError("Output of saved tensor unpack_hook expected to be a Tensor but got result of type "
                            f"{type_name(tensor)}")
        return tensor

    def is_like(self, value: Any) -> bool:
        """Return whether an unpacked value has the shape, the device and the dtype of what was saved."""
        return self.is_number or bool(registry.info_of(value.array) == self.info)

    def unpack(self, node: Any) -> Any:
        """Return the value as a tensor with the history that it had when it was saved, whatever the hook gave it."""
        tensor, source = self.tensor(), node if self.is_result else self.source
        if self.is_number:
            return tensor.array.item()
        if source is None and not tensor._requires_grad:
            return tensor
        result = plain(tensor.array) if source is None else source.result(tensor.array, self.output_nr)
        result._version_counter = counter_of(tensor)
        return result


def is_tensor(value: Any) -> bool:
    """Return whether a saved value is a tensor (a saved input), not an array (a saved result) or a number."""
    return hasattr(value, "_requires_grad")  # a slot: half the time of isinstance


def is_array(value: Any) -> bool:
    """Return whether a saved value is the bare data of a result."""
    return registry.is_array(value)


def saved_arrays(node: Any) -> Sequence[Any]:
    """Return the saved values of a node as arrays, for a first-order pass. Raises RuntimeError if they were freed, or
    one was changed in place since it was saved."""
    if node.saved is None or node._extras is not None:
        return checked_arrays(node)
    values = []
    for value in node.saved:
        if hasattr(value, "_requires_grad"):  # `is_tensor`, without the call
            if value._extras is not None:  # it may have a version by now
                return checked_arrays(node)
            value = value.array
        values.append(value)
    return values


def checked_arrays(node: Any) -> Sequence[Any]:
    """`saved_arrays` where a value may have a version or may have gone through hooks, or where all were freed."""
    if node.saved is None:
        raise RuntimeError(FREED)
    check_versions(node)
    return as_arrays(node, unpacked(node))


def as_arrays(node: Any, saved: Sequence[Any]) -> Sequence[Any]:
    """Return the arrays of what a node saved."""
    values = [value.array if is_tensor(value) else value for value in saved]
    # To CuPy, a 0-d array on the CPU that met one on a GPU is a number.
    if node._extras is not None and type(node._extras.input_metadata) is MixedDeviceMetadata:
        values = [v[()] if type(v) is np.ndarray and not v.ndim else v for v in values]
    return values


def saved_tensors(node: Any) -> tuple[Any, ...]:
    """Return the saved values of a node as tensors of its graph, for a recorded pass; the errors are the same."""
    if node.saved is None:
        raise RuntimeError(FREED)
    check_versions(node)
    return tuple([result_tensor(node, value, node.saved_output_nr(i)) if is_array(value) else value
                  for i, value in enumerate(unpacked(node))])


def unpacked(node: Any) -> tuple[Any, ...]:
    """Return what a node saved, with packed values replaced by what the hooks unpack."""
    values = list(node.saved)
    for i in saving_order(node) if any(type(value) is Packed for value in values) else ():
        if type(values[i]) is Packed:
            values[i] = values[i].unpack(node)
    return tuple(values)


def saving_order(node: Any) -> Sequence[int]:
    """Return the order in which hooks see what a node saves: as in PyTorch, inputs by name, then results."""
    names = node.saves
    if len(names) != len(node.saved):
        return range(len(node.saved))
    return sorted(range(len(names)), key=lambda i: (names[i] == "result", names[i]))


def saved_value(node: Any, index: int) -> Any:
    """Return one saved value as a tensor of the graph: `node._saved_self` and its like."""
    if node.saved is None:
        raise RuntimeError(FREED)
    check_versions(node, index)
    value = node.saved[index]
    if type(value) is Packed:
        value = value.unpack(node)
    if is_array(value):
        return result_tensor(node, value, node.saved_output_nr(index))
    return plain(np.asarray(value)) if isinstance(value, (bool, int, float)) else value


def saved_constant(node: Any, index: int) -> Any:
    """Return one of the further arguments of a formula: `node._saved_dim` and its like. A scale of 1 is not kept."""
    return node.const[index] if index < len(node.const) else 1


def result_tensor(node: Any, array: Any, output_nr: int) -> Tensor:
    """Return a saved result as a tensor. It shares the version counter of the result, in case it is saved again."""
    tensor: Tensor = maker_of(node).result(array, output_nr)
    tensor._version_counter = node.extras().counter(output_nr, VersionCounter())
    return tensor


def maker_of(node: Any) -> Any:
    """Return the node whose output a saved result is: this one, or that of the view that it was written into."""
    extras = node._extras
    written = None if extras is None or extras.written is None else extras.written()
    return node if written is None else written


def versions_of(saved: tuple[Any, ...]) -> tuple[int, ...]:
    """Return the version of each saved input now; results and numbers count as 0. Raises RuntimeError for a tensor that
    was made in inference mode."""
    if any(value._extras is not None and value._extras.inference for value in saved if is_tensor(value)):
        raise RuntimeError(INFERENCE)
    return tuple([0 if getattr(value, "_version_counter", None) is None else value._version_counter.value
                  for value in saved])


def refuse_outside_inference_mode(tensor: Tensor) -> None:
    """Raise PyTorch's error if normal mode is about to write to a tensor of inference mode."""
    if tensor._extras is not None and tensor._extras.inference and not LOCAL.inference:
        raise RuntimeError(WRITTEN_OUTSIDE)


def check_versions(node: Any, only: int | None = None) -> None:
    """Raise PyTorch's error if a saved tensor (`only` one of them, if given) was changed in place since it was saved.

    An input that `detach_()` took out of its graph is an error too: its history is gone. As in PyTorch a node with
    `own_input_grads`, such as a custom Function, accepts that, and checks first to last; others last to first.
    """
    extras = node._extras
    counters = None if extras is None else extras.result_counters
    expected = (0,) * len(node.saved) if extras is None or extras.versions is None else extras.versions
    indices = range(len(node.saved))
    for index in indices if node.own_input_grads else reversed(indices):
        if only is not None and only != index:
            continue
        value = node.saved[index]
        counter = getattr(value, "_version_counter", None)
        if counter is not None:
            if value._extras.detached_at > node.sequence_nr and not node.own_input_grads:
                raise RuntimeError(DETACHED)
            if counter.value != expected[index]:
                raise_changed(value.array, value.grad_fn, value._output_nr, counter.value, expected[index])
        elif counters and is_array(value):
            output_nr = node.saved_output_nr(index)
            if output_nr in counters and counters[output_nr].value != expected[index]:
                raise_changed(value, maker_of(node), output_nr, counters[output_nr].value, expected[index])


def op_of(node: Any) -> str:
    """Return a node's name in PyTorch's errors: `Mul` for `MulBackward0`."""
    return re.sub("Backward0?([0-9]*)$", r"\1", node.name())


HINT = (
    "enable anomaly detection to find the operation that failed to compute its gradient, with "
    "torch.autograd.set_detect_anomaly(True, check_nan=False)."
)
HINT_IN_ANOMALY_MODE = (
    "the backtrace further above shows the operation that failed to compute its gradient. The variable in question was "
    "changed in there or anywhere later. Good luck!"
)


def raise_changed(array: Any, grad_fn: Any, output_nr: int, version: int, expected: int) -> NoReturn:
    """Raise PyTorch's error for a saved tensor that an in-place operation has changed."""
    dtype = from_numpy_dtype(array.dtype)
    device = registry.device_of(array).type
    prefix = "" if device == "cpu" else f"{device}."
    kind = f"{device.upper()}BoolType" if dtype.name == "bool" else f"torch.{prefix}{dtype.type_name}Tensor"
    what = f"[{kind} {list(array.shape)}]"
    maker = "" if grad_fn is None else op_of(grad_fn)
    whose = f", which is output {output_nr} of {maker}," if maker else ""
    raise RuntimeError(
        "one of the variables needed for gradient computation has been modified by an inplace operation: "
        f"{what}{whose} is at version {version}; expected version {expected} instead. Hint: "
        f"{HINT_IN_ANOMALY_MODE if UNUSUAL.on_new_node is not None else HINT}"
    )
