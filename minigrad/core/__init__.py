"""The reading path: a tensor, its graph, and one backward pass. An op is written with the names below."""

from minigrad.core.grad_mode import LOCAL, is_grad_enabled
from minigrad.core.graph import ManyOutputs, Node, gradient_node
from minigrad.core.record import record1, record2, record_many, record_n
from minigrad.core.tensor import Tensor, counter_of, owned, plain

__all__ = ["LOCAL", "ManyOutputs", "Node", "Tensor", "counter_of", "gradient_node", "is_grad_enabled", "owned", "plain",
           "record1", "record2", "record_many", "record_n"]
