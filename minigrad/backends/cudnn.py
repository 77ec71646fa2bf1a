"""The switches of cuDNN, a library for GPUs that minigrad does not use: mirrors part of `torch/backends/cudnn`.

Scripts set them to make runs reproducible. They are stored, but change nothing, as in PyTorch on a CPU: minigrad's
results are reproducible anyway.
"""

__all__ = ["allow_tf32", "benchmark", "deterministic", "enabled", "is_available", "version"]

enabled = True
benchmark = False
deterministic = False
allow_tf32 = True


def is_available() -> bool:
    """Whether cuDNN is available: False."""
    return False


def version() -> int | None:
    """The version of cuDNN: None."""
    return None
