"""Offers the graph to users: nodes, edges and hooks. Mirrors `torch/autograd/graph.py`.

Nodes are defined in core/graph.py, the contexts in saved_hooks.py, and the hook on several tensors in multi_grad.py.
"""

from typing import Any

from minigrad.autograd.multi_grad import register_multi_grad_hook, sure_edge
from minigrad.autograd.saved_hooks import (
    allow_mutation_on_saved_tensors,
    disable_saved_tensors_hooks,
    save_on_cpu,
    saved_tensors_hooks,
)
from minigrad.backends.registry import info_of
from minigrad.core import Node, counter_of
from minigrad.core.graph import AccumulateGrad, GradientEdge
from minigrad.core.saved import is_tensor

__all__ = ["GradientEdge", "Node", "allow_mutation_on_saved_tensors", "disable_saved_tensors_hooks",
           "get_gradient_edge", "increment_version", "register_multi_grad_hook", "save_on_cpu", "saved_tensors_hooks"]


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
