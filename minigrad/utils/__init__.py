"""Tools around a training loop: mirrors `torch/utils`. `minigrad.utils.data` feeds a loop with batches."""

from typing import TYPE_CHECKING

from minigrad._base.optional import module_getattr
from minigrad.ops.tensor.storage import swap_tensors
from minigrad.utils import checkpoint, data, hooks

__all__ = ["checkpoint", "data", "hooks", "swap_tensors"]

if not TYPE_CHECKING:  # a type checker reports missing names by itself
    __getattr__ = module_getattr(__name__)
