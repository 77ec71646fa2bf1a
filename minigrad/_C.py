"""The few private names of PyTorch's C++ module that packages use: mirrors `torch/_C`.

Nothing in minigrad is written in C; these names lead to the Python code.
"""

import itertools
import sys
from types import FrameType
from typing import Any

from minigrad._base.optional import module_getattr
from minigrad._base.type_name import type_name
from minigrad.core import LOCAL, Node, is_grad_enabled
from minigrad.core.engine import evaluate_function
from minigrad.core.evaluate import evaluate_fully
from minigrad.core.exec_info import will_run
from minigrad.core.grad_mode import is_inference_mode_enabled, switch
from minigrad.ops._dispatch.torch_function import DisableTorchFunction, DisableTorchFunctionSubclass
from minigrad.ops._dispatch.torch_function import disabled as _disabled_torch_function_impl

__all__ = ["DisableTorchFunction", "DisableTorchFunctionSubclass", "_current_autograd_node", "_current_graph_task_id",
           "_disabled_torch_function_impl", "_get_tracing_state", "_log_api_usage_once", "_set_grad_enabled",
           "_will_engine_execute_node", "is_grad_enabled", "is_inference_mode_enabled"]

EVALUATING = (evaluate_function.__code__, evaluate_fully.__code__)  # the calls that evaluate the node of their `buffer`
next_number = itertools.count().__next__


def _current_graph_task_id() -> int:
    """The number of the backward pass running in this thread, the innermost one; -1 outside passes.

    A pass gets its number on first request; later ones get higher numbers.
    """
    if LOCAL.graph_task is None:
        return -1
    facts = vars(LOCAL.graph_task)
    if "number" not in facts:
        facts["number"] = next_number()
    number: int = facts["number"]
    return number


def _current_autograd_node() -> Any:
    """The node that a backward pass evaluates in this thread, the innermost one, or None: for hooks and functions.

    It is found in the call stack, so that no pass has to note it for the few who ask.
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code not in EVALUATING:
        frame = frame.f_back
    return None if frame is None else frame.f_locals["buffer"].node


def _will_engine_execute_node(node: Any) -> bool:
    """Whether the running backward pass evaluates this node. Raises RuntimeError outside a pass, and for an object that
    is not a node."""
    if not isinstance(node, Node):
        raise RuntimeError(f"_will_engine_execute_node expects an grad_fn, but got {type_name(node)}")
    if LOCAL.graph_task is None:
        raise RuntimeError("_get_should_execute_nodes should only be called during the backward pass")
    return will_run(LOCAL.graph_task, node)


def _set_grad_enabled(mode: bool) -> None:
    """Set grad mode in this thread."""
    switch(mode)


def _get_tracing_state() -> None:
    """None: nothing is ever traced."""


def _log_api_usage_once(name: str) -> None:
    """Do nothing: minigrad reports to nobody."""


__getattr__ = module_getattr(__name__)
