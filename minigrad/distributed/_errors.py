"""The errors of `torch.distributed`."""

__all__ = ["DistBackendError", "DistError", "DistNetworkError"]


class DistError(RuntimeError):
    """An error of this package."""


class DistBackendError(DistError):
    """Raised if the ranks do not work together: they disagree, one is missing, or MPI has refused a call."""


class DistNetworkError(DistError):
    """Kept for programs that catch it: MPI reports its errors as DistBackendError."""


for _error in (DistError, DistBackendError, DistNetworkError):
    _error.__module__ = "minigrad.distributed"
