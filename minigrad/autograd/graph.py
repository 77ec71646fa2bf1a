"""The graph as users know it: mirrors `torch/autograd/graph.py`.

Nodes are in `minigrad.core.graph`, the contexts in saved_hooks.py, the hook on several tensors in multi_grad.py.
"""

from minigrad.autograd.multi_grad import register_multi_grad_hook
from minigrad.autograd.saved_hooks import (
    allow_mutation_on_saved_tensors,
    disable_saved_tensors_hooks,
    save_on_cpu,
    saved_tensors_hooks,
)
from minigrad.core.graph import GradientEdge, Node, get_gradient_edge, increment_version

__all__ = ["GradientEdge", "Node", "allow_mutation_on_saved_tensors", "disable_saved_tensors_hooks",
           "get_gradient_edge", "increment_version", "register_multi_grad_hook", "save_on_cpu", "saved_tensors_hooks"]
