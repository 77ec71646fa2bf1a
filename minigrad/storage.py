"""The memory of tensors: mirrors `torch/storage.py`."""

from minigrad.ops.tensor.storage import TypedStorage, UntypedStorage

__all__ = ["TypedStorage", "UntypedStorage"]
