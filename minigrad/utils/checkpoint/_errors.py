"""Holds the errors for functions that do not repeat themselves, from `torch/utils/checkpoint.py`."""

from collections.abc import Iterable
from typing import Any

__all__ = ["CheckpointError", "another_number", "other_facts", "too_many", "unpacked_twice"]

TIP = """
Tip: To see a more detailed error message, either pass `debug=True` to
`torch.utils.checkpoint.checkpoint(...)` or wrap the code block
with `with torch.utils.checkpoint.set_checkpoint_debug_enabled(True):` to
enable checkpoint‑debug mode globally.
"""
OVERLAP = (
    "Performing two backward calls that overlap (i.e. require the same saved activation in order to compute gradients) "
    "is not allowed while under the torch.utils.checkpoint.GraphExecGroup context. "
)


class CheckpointError(RuntimeError):
    """Raised when a function did not do the same on its second run."""


def too_many() -> CheckpointError:
    """Return the error for a second run that saves more tensors."""
    return CheckpointError("torch.utils.checkpoint: trying to save more tensors during recomputation than during the "
                           f"original forward pass.\n{TIP}")


def another_number(then: int, now: int) -> CheckpointError:
    """Return the error for a second run that saved a different number of tensors."""
    return CheckpointError(
        "torch.utils.checkpoint: A different number of tensors was saved during the original forward and "
        f"recomputation.\nNumber of tensors saved during forward: {then}\nNumber of tensors saved during "
        f"recomputation: {now}.\n{TIP}")


def other_facts(differing: Iterable[tuple[int, Any, Any]]) -> CheckpointError:
    """Return the error for tensors of another kind: with their positions, what was noted, and what was found."""
    rows = [f"tensor at position {index}:\nsaved metadata: {then}\nrecomputed metadata: {now}\n"
            for index, then, now in differing]
    return CheckpointError("torch.utils.checkpoint: Recomputed values for the following tensors have different "
                           f"metadata than during the forward pass.\n{''.join(rows)}.\n{TIP}")


def unpacked_twice(in_group: bool) -> CheckpointError:
    """Return the error for a pass that needs one saved tensor twice."""
    return CheckpointError(
        "torch.utils.checkpoint: Unpack is being triggered for a tensor that was already unpacked once. "
        f"{OVERLAP if in_group else ''}If you are calling ctx.saved_tensors in backward, make sure to do so only once. "
        "Otherwise please open an issue with details on your use case.")
