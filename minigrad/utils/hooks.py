"""Handles of hooks: mirrors `torch/utils/hooks.py`, whose work is done in `minigrad._base.hooks`."""

from typing import Any

from minigrad._base.hooks import RemovableHandle
from minigrad.nn.modules._backward_hook import BackwardHook

__all__ = ["BackwardHook", "RemovableHandle", "unserializable_hook"]


def unserializable_hook(f: Any) -> Any:
    """Mark a hook as one that is not pickled with its tensor, so that no warning is issued."""
    f.__torch_unserializable__ = True
    return f
