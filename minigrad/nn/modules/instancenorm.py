"""Norms of each channel of each sample: mirrors `torch/nn/modules/instancenorm.py`."""

import warnings
from typing import Any

from minigrad._base.dtype import dtype as dtype_type
from minigrad.core import Tensor
from minigrad.nn import functional as F
from minigrad.nn.modules.batchnorm import _NormBase

__all__ = ["InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d"]

OLD = ("Unexpected running stats buffer(s) {names} for {kind} with track_running_stats=False. If state_dict is a "
       "checkpoint saved before 0.4.0, this may be expected because {kind} does not track running stats by default "
       "since 0.4.0. Please remove these keys from state_dict. If the running stats are actually needed, instead set "
       "track_running_stats=True in {kind} to enable them. See the documentation of {kind} for details.")


class _InstanceNorm(_NormBase):
    def __init__(self, num_features: int, eps: float = 1e-5, momentum: float = 0.1, affine: bool = False,
                 track_running_stats: bool = False, device: Any = None, dtype: dtype_type | None = None, *,
                 bias: bool = True) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        alone = input.ndim == self._input_dims[0]  # one sample, without a dimension for the batch
        channels_dim = 0 if alone else 1
        channels = input.shape[channels_dim]
        if channels != self.num_features:
            if self.affine:
                raise ValueError(f"expected input's size at dim={channels_dim} to match num_features "
                                 f"({self.num_features}), but got: {channels}.")
            warnings.warn(f"input's size at dim={channels_dim} does not match num_features. You can silence this "
                          "warning by not passing in num_features, which is not used because affine=False",
                          stacklevel=2)
        normed = F.instance_norm(input.unsqueeze(0) if alone else input, self.running_mean, self.running_var,
                                 self.weight, self.bias, self.training or not self.track_running_stats,
                                 0.0 if self.momentum is None else self.momentum, self.eps)
        return normed.squeeze(0) if alone else normed

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, local_metadata: dict[str, Any],
                              *rest: Any) -> None:
        if local_metadata.get("version") is None and not self.track_running_stats:
            old_buffers = [name for name in ("running_mean", "running_var") if prefix + name in state_dict]
            if old_buffers:
                names = " and ".join([f'"{prefix}{name}"' for name in old_buffers])
                rest[-1].append(OLD.format(names=names, kind=type(self).__name__))  # the messages of all errors
            for name in old_buffers:
                del state_dict[prefix + name]
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)


class InstanceNorm1d(_InstanceNorm, input_dims=(2, 3)):
    """(x - mean) / √(variance + eps) · weight + bias for each channel of each sample: (N, C, L) or (C, L)."""


class InstanceNorm2d(_InstanceNorm, input_dims=(3, 4)):
    """(x - mean) / √(variance + eps) · weight + bias for each channel of each sample: (N, C, H, W) or (C, H, W)."""


class InstanceNorm3d(_InstanceNorm, input_dims=(4, 5)):
    """As InstanceNorm2d, with a third spatial dimension: (N, C, D, H, W) or (C, D, H, W)."""
