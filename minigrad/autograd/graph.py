"""Offers the graph to users: nodes, edges and hooks. Mirrors `torch/autograd/graph.py`.

Nodes are defined in core/graph.py, the contexts in saved_hooks.py, and the hook on several tensors in multi_grad.py.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from minigrad._base.dtype import from_numpy_dtype
from minigrad.autograd.custom_function import FunctionBase
from minigrad.autograd.multi_grad import register_multi_grad_hook, sure_edge
from minigrad.autograd.saved_hooks import (
    allow_mutation_on_saved_tensors,
    disable_saved_tensors_hooks,
    save_on_cpu,
    saved_tensors_hooks,
)
from minigrad.backends.registry import HOST, device_of, info_of
from minigrad.core import Node, counter_of
from minigrad.core.graph import AccumulateGrad, GradientEdge, ManyOutputs
from minigrad.core.saved import is_tensor

__all__ = ["GradientEdge", "Node", "allow_mutation_on_saved_tensors", "disable_saved_tensors_hooks",
           "get_gradient_edge", "increment_version", "register_multi_grad_hook", "save_on_cpu", "saved_tensors_hooks"]

NO_TENSOR = ((), HOST, np.dtype("float32"))  # what PyTorch says of an output that gets no gradient


def get_gradient_edge(tensor: Any) -> GradientEdge:
    """Return where the gradient of a tensor is computed: an edge that can replace it in `autograd.grad` and `backward`.

    Raises:
        RuntimeError: if the tensor does not require grad.
        AssertionError: for a view that requires grad only because its base does: no gradient goes to it.
    """
    if not tensor.requires_grad:
        raise RuntimeError("It is not possible to get the gradient edge for a Tensor that does not require gradients")
    edge = GradientEdge(*sure_edge(tensor))
    if not isinstance(edge.node, AccumulateGrad):
        extras = edge.node.extras()
        extras.output_info = {**(extras.output_info or {}), edge.output_nr: info_of(tensor.array)}
    return edge


@dataclass(frozen=True)
class InputMetadata:
    """What a gradient is like that a node receives: as one of the node's outputs."""

    shape: list[int]
    dtype: Any
    device: Any
    is_nested_tensor: ClassVar[bool] = False
    is_cpp_nested_tensor: ClassVar[bool] = False


def input_metadata(node: Any) -> tuple[InputMetadata, ...]:
    """`node._input_metadata`: for each output of a node what its gradient is like.

    Raises:
        AttributeError: for a node with one output of which nobody has asked for the edge: it does not keep its shape.
    """
    if isinstance(node, AccumulateGrad):
        known = [info_of(node.variable.array)]
    elif isinstance(node, FunctionBase):
        known = [NO_TENSOR if info is None or info[2].kind != "f" else info for info in node._output_info]
    elif isinstance(node, ManyOutputs):
        known = node.output_info
    else:
        noted = {} if node._extras is None else node._extras.output_info or {}
        if len(noted) < node.outputs:
            raise AttributeError(f"{node.name()} does not know the shape of what it made: get_gradient_edge(tensor) "
                                 "notes it")
        known = [noted[nr] for nr in range(node.outputs)]
    return tuple([InputMetadata([*shape], from_numpy_dtype(dtype), device_of(np.empty(0, like=handle)))
                  for shape, handle, dtype in known])


setattr(Node, "_input_metadata", property(input_metadata))  # noqa: B010 (mypy lets nobody assign a property)


def increment_version(tensor: Any) -> None:
    """Declare that a tensor, or each of several, was changed in place by something that autograd does not see.

    Raises:
        RuntimeError: for an argument that is not a tensor, and for a tensor of inference mode, which has no version.
    """
    try:
        tensors = iter((tensor,) if is_tensor(tensor) else tensor)
    except TypeError:
        raise RuntimeError("increment_version expect a Iterable[Tensor] as input") from None
    for each in tensors:
        if not is_tensor(each):
            raise RuntimeError("increment_version expects each element of the iterable to be a tensor")
        if not each.is_inference():
            counter_of(each).value += 1
