"""Automatic mixed precision: mirrors `torch/amp`.

In `autocast`, products compute in bfloat16 or float16, and losses in float32; `minigrad/ops/autocast_mode.py` lists
the ops. `GradScaler` scales losses and skips steps with infinite gradients, as PyTorch's does: a model in float16 needs
it.
"""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from minigrad._base.device import device as device_of
from minigrad.backends.registry import count
from minigrad.core import Tensor
from minigrad.ops.autocast_mode import (
    STATE,
    autocast_decrement_nesting,
    autocast_increment_nesting,
    check_device_type,
    clear_autocast_cache,
    eligible,
    get_autocast_dtype,
    is_autocast_cache_enabled,
    is_autocast_enabled,
    set_autocast_enabled,
)
from minigrad.ops.factory import tensor

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]

REFUSED = (
    "autocast is not available on a GPU: minigrad computes there in the dtypes of the tensors.\n\n"
    "Pass enabled=False, or convert the module and its inputs with half(). To inspect PyTorch's own mixed precision, "
    "record the PyTorch program with minigrad_widgets.inspect.")
UNSUPPORTED = (
    "In CPU autocast, but the target dtype is not supported. Disabling autocast.\n"
    "CPU Autocast only supports dtypes of torch.bfloat16, torch.float16 currently.")
NO_CUDA = "CUDA is not available or torch_xla is imported. Disabling autocast."
NO_SCALE = ("new_scale should be a float or a 1-element torch.cuda.FloatTensor or torch.FloatTensor with "
            "requires_grad=False.")
UNSCALED_TWICE = "unscale_() has already been called on this optimizer since the last update()."


def is_autocast_available(device_type: str) -> bool:
    """Whether PyTorch has an `autocast` for a type of device, which need not be there. minigrad has that of the CPU."""
    check_device_type("_is_autocast_available", device_type)
    return device_of(device_type).type in ("cpu", "cuda", "hpu", "ipu", "mps", "mtia", "xla", "xpu", "privateuseone")


class autocast:
    """A `with` block, or a decorator, in which products compute in bfloat16 or float16, and losses in float32.

    Args:
        device_type: "cpu" or "cuda". Without a GPU, "cuda" is disabled with PyTorch's warning.
        dtype: the dtype of products; by default `get_autocast_dtype(device_type)`, initially bfloat16.
        enabled: False for a block without casts.
        cache_enabled: whether the cast of a parameter is cached until the outermost block ends.

    Raises RuntimeError on a GPU.
    """

    def __init__(self, device_type: str, dtype: Any = None, enabled: bool = True,
                 cache_enabled: bool | None = None) -> None:
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        self.device = device_of(device_type).type
        if enabled and self.device == "cuda":
            if count("cuda"):
                raise RuntimeError(REFUSED)
            warnings.warn(NO_CUDA, UserWarning, stacklevel=2)
            enabled = False
        self.fast_dtype = dtype
        if enabled and dtype is not None and getattr(dtype, "name", "") not in ("bfloat16", "float16"):
            warnings.warn(UNSUPPORTED, UserWarning, stacklevel=2)
            enabled = False
        if enabled and dtype is None:
            self.fast_dtype = get_autocast_dtype(self.device)
        self._enabled = enabled
        self._cache_enabled = is_autocast_cache_enabled() if cache_enabled is None else cache_enabled
        self._before: list[tuple[Any, ...]] = []

    def __enter__(self) -> autocast:
        self._before.append((STATE.enabled, STATE.dtype, STATE.cache_enabled))
        autocast_increment_nesting()
        if self.device == "cpu":
            STATE.dtype = self.fast_dtype if self._enabled else STATE.dtype
            set_autocast_enabled(self.device, self._enabled)
        STATE.cache_enabled = self._cache_enabled
        return self

    def __exit__(self, *error: Any) -> None:
        if autocast_decrement_nesting() == 0:
            clear_autocast_cache()
        enabled, STATE.dtype, STATE.cache_enabled = self._before.pop()
        set_autocast_enabled("cpu", enabled)

    def __call__(self, func: Callable[..., Any]) -> Callable[..., Any]:
        if not callable(func):
            raise TypeError(f"autocast()(func) requires a callable, but got {type(func).__name__}. "
                            "Did you mean to use autocast as a context manager? For example:\n"
                            "    with torch.autocast(device_type=...):\n        output = model(input)")

        @functools.wraps(func)
        def decorated(*args: Any, **kwargs: Any) -> Any:
            with self:
                return func(*args, **kwargs)
        return decorated


def same_autocast() -> Callable[[], autocast]:
    """Note the present settings on the CPU; return a function that makes a block with these."""
    return functools.partial(autocast, "cpu", STATE.dtype, STATE.enabled, STATE.cache_enabled)


def autocast_values(value: Any, device_type: str, dtype: Any) -> Any:
    """A value with its floating-point tensors on a device cast to a dtype, also in mappings and sequences."""
    if isinstance(value, Tensor):
        return value.to(dtype) if eligible(value) and value.device.type == device_type else value
    if isinstance(value, dict):
        return {key: autocast_values(each, device_type, dtype) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)([autocast_values(each, device_type, dtype) for each in value])
    return value


def custom_fwd(fwd: Any = None, *, device_type: str, cast_inputs: Any = None) -> Any:
    """Mark the `forward` of a Function for `autocast`: with `cast_inputs` its inputs are cast, and its ops are not."""
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def decorated(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        ctx._dtype = get_autocast_dtype(device_type) if is_autocast_enabled(device_type) else None
        ctx._fwd_used_autocast = is_autocast_enabled(device_type)
        if cast_inputs is None or not ctx._fwd_used_autocast:
            return fwd(ctx, *args, **kwargs)
        ctx._fwd_used_autocast = False
        with autocast(device_type, enabled=False):
            return fwd(ctx, *autocast_values(args, device_type, cast_inputs),
                       **autocast_values(kwargs, device_type, cast_inputs))
    return decorated


def custom_bwd(bwd: Any = None, *, device_type: str) -> Any:
    """Mark the `backward` of a Function for `autocast`: it runs with the settings of its `forward`."""
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        with autocast(device_type, enabled=args[0]._fwd_used_autocast, dtype=args[0]._dtype):
            return bwd(*args, **kwargs)
    return decorated


def setting(attribute: str, meaning: str) -> tuple[Callable[[Any], Any], Callable[[Any, Any], None]]:
    """The getter and setter of an attribute of a scaler."""
    def get(self: Any) -> Any:
        return getattr(self, attribute)

    def set_(self: Any, new: Any) -> None:
        setattr(self, attribute, new)

    get.__doc__, set_.__doc__ = f"Return {meaning}.", f"Set {meaning}."
    return get, set_


def as_float32(number: float) -> float:
    """The nearest number of float32, infinite beyond its range: a scale is a tensor in PyTorch."""
    with np.errstate(over="ignore"):
        return float(np.float32(number))


class GradScaler:
    """Multiplies losses so that small gradients survive in float16, and divides the gradients before each step.

    A step whose gradients are not finite is skipped, and the scale shrinks; after enough finite steps it grows.

    Args:
        device: without a GPU, "cuda" disables the scaler with PyTorch's warning.
        init_scale, growth_factor, backoff_factor, growth_interval: the initial scale, the factors by which it grows and
            shrinks, and the number of steps after which it grows.
        enabled: False leaves losses unscaled, and makes every step.
    """

    def __init__(self, device: str = "cuda", init_scale: float = 2.0 ** 16, growth_factor: float = 2.0,
                 backoff_factor: float = 0.5, growth_interval: int = 2000, enabled: bool = True) -> None:
        self._device, self._enabled = device, enabled
        if enabled and device == "cuda" and not count("cuda"):
            warnings.warn("torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling.", UserWarning,
                          stacklevel=2)
            self._enabled = False
        if self._enabled:
            if growth_factor <= 1.0:
                raise AssertionError("The growth factor must be > 1.0.")
            if backoff_factor >= 1.0:
                raise AssertionError("The backoff factor must be < 1.0.")
        self._scale, self._tracker, self._started = init_scale, 0, False  # a float32, once something was scaled
        self._growth_factor, self._backoff_factor = growth_factor, backoff_factor
        self._growth_interval = growth_interval
        self._stages: dict[int, str] = {}  # of optimizers, since the last update: "unscaled" or "stepped"
        self._infinite: dict[int, bool] = {}  # by optimizer with gradients: whether one was not finite

    def scale(self, outputs: Any) -> Any:
        """A tensor times the scale, or each tensor of an iterable."""
        if not self._enabled:
            return outputs
        if not self._started:
            self._started, self._scale = True, as_float32(self._scale)
        if isinstance(outputs, Tensor):
            return outputs * tensor(self._scale, device=outputs.device)
        if not isinstance(outputs, Iterable):
            raise ValueError("outputs must be a Tensor or an iterable of Tensors")
        scaled = map(self.scale, outputs)
        return type(outputs)(scaled) if isinstance(outputs, (list, tuple)) else scaled

    def _check_started(self, what: str) -> None:
        if not self._started:
            raise AssertionError(f"Attempted {what} but _scale is None.  This may indicate your script did not use "
                                 "scaler.scale(loss or outputs) earlier in the iteration.")

    def unscale_(self, optimizer: Any) -> None:
        """Divide the gradients of an optimizer's parameters by the scale, in place: before they are clipped. Raises
        RuntimeError for a second call since `update`, and after `step`."""
        if not self._enabled:
            return
        self._check_started("unscale_")
        stage = self._stages.get(id(optimizer))
        if stage == "unscaled":
            raise RuntimeError(UNSCALED_TWICE)
        if stage == "stepped":
            raise RuntimeError("unscale_() is being called after step().")
        grads = [p.grad for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
        for grad in grads:
            if grad.array.dtype.name == "float16":
                raise ValueError("Attempting to unscale FP16 gradients.")
        if grads:
            self._infinite[id(optimizer)] = not all(grad.isfinite().all() for grad in grads)
        for grad in grads:
            grad.detach().mul_(1.0 / self._scale)
        self._stages[id(optimizer)] = "unscaled"

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """Unscale the gradients, unless that was done, and step the optimizer if they are finite. Raises RuntimeError
        for a second call since `update`, and for a closure."""
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        self._check_started("step")
        stage = self._stages.get(id(optimizer))
        if stage == "stepped":
            raise RuntimeError("step() has already been called since the last update().")
        if getattr(optimizer, "_step_supports_amp_scaling", False):
            return self._step_fused(optimizer, stage, *args, **kwargs)
        if stage is None:
            self.unscale_(optimizer)
        if id(optimizer) not in self._infinite:
            raise AssertionError("No inf checks were recorded for this optimizer.")
        result = None if self._infinite[id(optimizer)] else optimizer.step(*args, **kwargs)
        self._stages[id(optimizer)] = "stepped"
        return result

    def _step_fused(self, optimizer: Any, stage: str | None, *args: Any, **kwargs: Any) -> Any:
        """Let an optimizer of PyTorch's kind `fused` unscale the gradients, or skip its groups, by itself."""
        if stage is None:
            grads = [p.grad for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
            self._infinite[id(optimizer)] = not all(grad.isfinite().all() for grad in grads)
            scale = getattr(optimizer, "grad_scale", None)
            optimizer.grad_scale = tensor(self._scale) * (1 if scale is None else scale)
        else:
            optimizer.grad_scale = None
        optimizer.found_inf = tensor(float(self._infinite.get(id(optimizer), False)))
        result = optimizer.step(*args, **kwargs)
        self._stages[id(optimizer)] = "stepped"
        del optimizer.grad_scale, optimizer.found_inf
        return result

    def update(self, new_scale: Any = None) -> None:
        """Grow or shrink the scale by the steps since the last update; or set it. Raises AssertionError if nothing was
        scaled or unscaled, or if the new scale is not a single number."""
        if not self._enabled:
            return
        self._check_started("update")
        if new_scale is not None:
            self._scale = as_float32(new_scale if isinstance(new_scale, float) else self._checked(new_scale).item())
        elif not self._infinite:
            raise AssertionError("No inf checks were recorded prior to update.")
        elif any(self._infinite.values()):
            self._scale, self._tracker = as_float32(self._scale * self._backoff_factor), 0
        else:
            self._tracker += 1
            if self._tracker == self._growth_interval:
                grown = as_float32(self._scale * self._growth_factor)
                self._scale, self._tracker = grown if math.isfinite(grown) else self._scale, 0
        self._stages.clear()
        self._infinite.clear()

    def _checked(self, new_scale: Any) -> Any:
        if new_scale.device.type != self._device or new_scale.numel() != 1 or new_scale.requires_grad:
            raise AssertionError(NO_SCALE)
        return new_scale

    def __getstate__(self) -> dict[str, Any]:
        if self._enabled and self._stages:
            raise AssertionError("A GradScaler instance may only be pickled at the beginning of an iteration, or at "
                                 "the end after scaler.update().")
        return {**self.__dict__, "_started": False}

    def get_scale(self) -> float:
        """The scale; 1 if the scaler is off."""
        return self._scale if self._enabled else 1.0

    get_growth_factor, set_growth_factor = setting("_growth_factor", "the factor by which the scale grows")
    get_backoff_factor, set_backoff_factor = setting("_backoff_factor", "the factor by which the scale shrinks")
    get_growth_interval, set_growth_interval = setting("_growth_interval", "the steps after which the scale grows")

    def is_enabled(self) -> bool:
        """Whether losses are scaled."""
        return self._enabled

    def state_dict(self) -> dict[str, Any]:
        """The scale and its settings; nothing if the scaler is off."""
        if not self._enabled:
            return {}
        return {"scale": self._scale, "growth_factor": self._growth_factor, "backoff_factor": self._backoff_factor,
                "growth_interval": self._growth_interval, "_growth_tracker": self._tracker}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore the result of `state_dict`. Raises RuntimeError for the state of a disabled scaler."""
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError("The source state dict is empty, possibly because it was saved from a disabled instance "
                               "of GradScaler.")
        self._scale, self._growth_factor = state_dict["scale"], state_dict["growth_factor"]
        self._backoff_factor, self._growth_interval = state_dict["backoff_factor"], state_dict["growth_interval"]
        self._tracker = state_dict["_growth_tracker"]
