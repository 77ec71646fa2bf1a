"""Mixed precision on the CPU, by its deprecated names: mirrors `torch/cpu/amp`. `minigrad.amp` has the present ones."""

from typing import Any

from minigrad._base.dtype import load_bfloat16
from minigrad._base.warnings import warn
from minigrad.amp import GradScaler as Scaler
from minigrad.amp import autocast as autocast_for

__all__ = ["GradScaler", "autocast"]

OLD = "`torch.cpu.amp.{0}(args...)` is deprecated. Please use `torch.amp.{0}('cpu', args...)` instead."


class autocast(autocast_for):
    """`amp.autocast("cpu")`; without a dtype it uses bfloat16, whatever `set_autocast_dtype` says."""

    def __init__(self, enabled: bool = True, dtype: Any = None, cache_enabled: bool = True) -> None:
        warn(OLD.format("autocast"), FutureWarning)
        super().__init__("cpu", load_bfloat16() if dtype is None else dtype, enabled, cache_enabled)


class GradScaler(Scaler):
    """`amp.GradScaler("cpu")`."""

    def __init__(self, init_scale: float = 2.0 ** 16, growth_factor: float = 2.0, backoff_factor: float = 0.5,
                 growth_interval: int = 2000, enabled: bool = True) -> None:
        warn(OLD.format("GradScaler"), FutureWarning)
        super().__init__("cpu", init_scale, growth_factor, backoff_factor, growth_interval, enabled)
