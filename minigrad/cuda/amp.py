"""Mixed precision on a GPU, by its deprecated names: mirrors `torch/cuda/amp`. See `minigrad.amp` for its scope."""

from typing import Any

from minigrad._base.warnings import warn
from minigrad.amp import GradScaler as Scaler
from minigrad.amp import autocast as autocast_for
from minigrad.amp import custom_bwd as mark_backward
from minigrad.amp import custom_fwd as mark_forward

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]

OLD = "`torch.cuda.amp.{0}(args...)` is deprecated. Please use `torch.amp.{0}('cuda', args...)` instead."


class autocast(autocast_for):
    """`amp.autocast("cuda")`."""

    def __init__(self, enabled: bool = True, dtype: Any = None, cache_enabled: bool = True) -> None:
        warn(OLD.format("autocast"), FutureWarning)
        super().__init__("cuda", dtype, enabled, cache_enabled)


class GradScaler(Scaler):
    """`amp.GradScaler("cuda")`."""

    def __init__(self, init_scale: float = 2.0 ** 16, growth_factor: float = 2.0, backoff_factor: float = 0.5,
                 growth_interval: int = 2000, enabled: bool = True) -> None:
        warn(OLD.format("GradScaler"), FutureWarning)
        super().__init__("cuda", init_scale, growth_factor, backoff_factor, growth_interval, enabled)


def custom_fwd(fwd: Any = None, *, cast_inputs: Any = None) -> Any:
    """`amp.custom_fwd` for a GPU."""
    return mark_forward(fwd, device_type="cuda", cast_inputs=cast_inputs)


def custom_bwd(bwd: Any) -> Any:
    """`amp.custom_bwd` for a GPU."""
    return mark_backward(bwd, device_type="cuda")
