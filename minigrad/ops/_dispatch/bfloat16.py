"""Lets the formulas of derivatives compute bfloat16 in float32, and round what they give once, as PyTorch's kernels do.

This file is loaded when somebody first asks for `bfloat16`; until then nothing of it is there.
"""

from typing import Any

from minigrad._base.dtype import register_bfloat16
from minigrad._base.optional import optional
from minigrad.core import Node

__all__ = ["bfloat16"]

arrays = optional("minigrad.backends.bfloat16", "bfloat16")
input_grads = Node.input_grads


def input_grads_rounded_once(self: Node, task: Any, grad: Any) -> Any:
    """`Node.input_grads`. In a recorded pass the formula is made of ops, which round for themselves."""
    if not task.first_order:
        return input_grads(self, task, grad)
    with arrays.unrounded():
        found = input_grads(self, task, grad)
    return arrays.mapped(arrays.round_up, found)


setattr(Node, "input_grads", input_grads_rounded_once)  # noqa: B010 (mypy lets nobody assign a method)
bfloat16 = register_bfloat16()
