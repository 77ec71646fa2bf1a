"""Makes leaves that need more than an array: in inference mode, and for an observer that notes where data comes from.

`plain` in tensor.py makes all leaves. While a recorder is on, it must know which of them are results of an op without a
derivative, which hold constants, and which nobody explains; so ops say which by the function that they call. For ops
whose results may require grad, see record.py.
"""

from typing import Any

from minigrad.core.grad_mode import LOCAL, UNUSUAL
from minigrad.core.tensor import Tensor, VersionCounter, extras_of, plain

__all__ = ["constant", "observed", "on_new_leaf", "record_without_grad"]


def on_new_leaf(tensor: Tensor) -> None:
    """Mark a leaf that was made in inference mode, and report it to the observer, if there is one."""
    if LOCAL.inference:
        extras_of(tensor).inference = True
        tensor._version_counter = VersionCounter()
    if LOCAL.observer is not None:
        LOCAL.observer.created(tensor)


UNUSUAL.on_new_leaf = on_new_leaf


def constant(array: Any, requires_grad: bool = False, written: bool = True) -> Tensor:
    """Return a leaf around numbers that come from no tensor, such as those of `zeros` and `randn`; those of `empty` are
    not `written` yet."""
    tensor = plain(array, requires_grad)
    if LOCAL.observer is not None:
        LOCAL.observer.constant(tensor, written)
    return tensor


def record_without_grad(op: str, array: Any, *inputs: Tensor) -> Tensor:
    """Wrap `array`, the result of an op whose result never requires grad: a comparison, an index, integers."""
    return observed(op, plain(array), *inputs)


def observed(op: str, result: Tensor, *inputs: Tensor) -> Tensor:
    """Report to the observer, if there is one, that an op without a node made this result; return the result."""
    if LOCAL.observer is not None:
        LOCAL.observer.forward(op, None, inputs, (result,))
    return result
