"""Names for hints: mirrors `torch/types.py`."""

import os
from typing import IO, Any

from minigrad._base.device import device
from minigrad.ops.tensor.storage import UntypedStorage

__all__ = ["Device", "FileLike", "Number", "Storage"]

Number = int | float | bool
Device = device | str | int | None
FileLike = str | os.PathLike[str] | IO[bytes]
Storage: Any = UntypedStorage
