"""What stands around a training loop: mirrors `torch/utils`. `minigrad.utils.data` feeds a loop with batches."""

from minigrad.utils import checkpoint, data, hooks

__all__ = ["checkpoint", "data", "hooks"]
