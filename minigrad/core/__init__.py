"""The reading path: a tensor, its graph, and one backward pass. An op is written with the names below.

Read tensor.py, graph.py, record.py, input_buffer.py, engine.py and saved.py, in this order. The other files handle what
is rare: evaluate.py hooks and captures, exec_info.py `inputs=`, reentrant.py passes inside passes.

Reasons that are too long for a comment are numbered notes, which comments cite. NOTE 1 (the order of nodes) and
NOTE 3 (who may keep a gradient) are in engine.py, NOTE 2 (saved outputs) in saved.py, NOTE 5 (passes inside passes) in
reentrant.py, NOTE 6 (leaves in edges) in graph.py. NOTE 4 is about nested checkpoints, 7 to 10 about memory, imports,
devices and interrupts, each beside what it explains.
"""

from minigrad.core.evaluate import sum_to
from minigrad.core.grad_mode import LOCAL, UNUSUAL, is_grad_enabled
from minigrad.core.graph import ManyOutputs, Node, attributes, edge_target
from minigrad.core.new_leaf import constant, observed, record_without_grad
from minigrad.core.record import SCALAR_OPERAND, record1, record2, record_many, record_n
from minigrad.core.reentrant import queue_callback
from minigrad.core.saved import NothingSaved, Packed, is_tensor
from minigrad.core.tensor import Tensor, counter_of, extras_of, materialized, plain

__all__ = ["LOCAL", "SCALAR_OPERAND", "UNUSUAL", "ManyOutputs", "Node", "NothingSaved", "Packed", "Tensor",
           "attributes", "constant", "counter_of", "edge_target", "extras_of", "is_grad_enabled", "is_tensor",
           "materialized", "observed", "plain", "queue_callback", "record1", "record2", "record_many", "record_n",
           "record_without_grad", "sum_to"]
