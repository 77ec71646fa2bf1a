"""Norms of each channel over a batch: mirrors `torch/nn/modules/batchnorm.py`.

In training a batch is normalised by its own mean and variance, which update `running_mean` and `running_var`; in
evaluation it is normalised by these.
"""

from typing import Any

from minigrad._base.dtype import dtype as dtype_type
from minigrad._base.dtype import int64
from minigrad.core import Tensor
from minigrad.nn import functional as F
from minigrad.nn.modules.normalization import _Affine
from minigrad.nn.modules.utils import attributes
from minigrad.ops.factory import ones, zeros

__all__ = ["BatchNorm1d", "BatchNorm2d", "BatchNorm3d"]


class _NormBase(_Affine):
    """A norm with `num_features` channels; `momentum` is the weight of the latest batch, None for the mean of all.

    Version 2 of its state holds `num_batches_tracked`.
    """

    _version = 2
    running_mean: Tensor | None
    running_var: Tensor | None
    num_batches_tracked: Tensor | None

    def __init__(self, num_features: int, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = True,
                 track_running_stats: bool = True, device: Any = None, dtype: dtype_type | None = None, *,
                 bias: bool = True) -> None:
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        self._add_affine(num_features, affine, bias, device, dtype)
        tracked = track_running_stats
        self.register_buffer("running_mean", zeros(num_features, device=device, dtype=dtype) if tracked else None)
        self.register_buffer("running_var", ones(num_features, device=device, dtype=dtype) if tracked else None)
        self.register_buffer("num_batches_tracked", zeros((), device=device, dtype=int64) if tracked else None)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Forget all batches."""
        if self.running_mean is not None and self.running_var is not None and self.num_batches_tracked is not None:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        """Forget all batches and everything that was learned."""
        self.reset_running_stats()
        super().reset_parameters()

    def _check_input_dim(self, input: Tensor) -> None:
        if input.ndim not in self._input_dims:
            expected = " or ".join([f"{n}D" for n in self._input_dims])
            raise ValueError(f"expected {expected} input (got {input.ndim}D input)")

    def extra_repr(self) -> str:
        return (f"{self.num_features}, {self._attributes('eps', 'momentum', 'affine')}, "
                f"{attributes(self, 'track_running_stats')}")

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, local_metadata: dict[str, Any],
                              *rest: Any) -> None:
        if (local_metadata.get("version") or 1) < 2 and self.track_running_stats:
            count = self.num_batches_tracked
            state_dict.setdefault(f"{prefix}num_batches_tracked", zeros((), dtype=int64) if count is None else count)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)


class _BatchNorm(_NormBase):
    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        factor = 0.0 if self.momentum is None else self.momentum
        if self.training and self.track_running_stats and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:
                factor = 1.0 / float(self.num_batches_tracked)
        mean, var = self.running_mean, self.running_var
        by_batch = self.training or (mean is None and var is None)
        if self.training and not self.track_running_stats:
            mean = var = None
        return F.batch_norm(input, mean, var, self.weight, self.bias, by_batch, factor, self.eps)


class BatchNorm1d(_BatchNorm, input_dims=(2, 3)):
    """(x - mean) / √(variance + eps) · weight + bias for each channel: input (N, C) or (N, C, L)."""


class BatchNorm2d(_BatchNorm, input_dims=(4,)):
    """(x - mean) / √(variance + eps) · weight + bias for each channel: input (N, C, H, W)."""


class BatchNorm3d(_BatchNorm, input_dims=(5,)):
    """(x - mean) / √(variance + eps) · weight + bias for each channel: input (N, C, D, H, W)."""
