"""Automatic differentiation: mirrors `torch/autograd/__init__.py`."""

import importlib
from typing import TYPE_CHECKING, Any

from minigrad._base.optional import module_getattr
from minigrad.autograd import device_passes as _device_passes  # noqa: F401 -- it waits for a second device
from minigrad.autograd import functional, graph
from minigrad.autograd._api import backward, grad
from minigrad.autograd.anomaly_mode import detect_anomaly, set_detect_anomaly
from minigrad.autograd.function import Function
from minigrad.autograd.grad_mode import (  # noqa: F401 -- the first name exists, but is not public
    _unsafe_preserve_version_counter,
    enable_grad,
    inference_mode,
    is_multithreading_enabled,
    no_grad,
    set_grad_enabled,
    set_multithreading_enabled,
)
from minigrad.autograd.gradcheck import gradcheck, gradgradcheck
from minigrad.autograd.graph import SavedTensor
from minigrad.autograd.variable import Variable
from minigrad.recording import observer as _observer  # noqa: F401 -- it registers itself with the recorder

__all__ = ["Function", "SavedTensor", "Variable", "backward", "detect_anomaly", "enable_grad", "functional", "grad",
           "gradcheck", "gradgradcheck", "graph", "inference_mode", "is_multithreading_enabled", "no_grad",
           "set_detect_anomaly", "set_grad_enabled", "set_multithreading_enabled"]

if not TYPE_CHECKING:  # a type checker reports missing names by itself
    def __getattr__(name: str) -> Any:
        """Import `profiler` on first access: `import minigrad` does not load it."""
        if name in ("forward_ad", "profiler", "profiler_util"):
            return importlib.import_module(f"{__name__}.{name}")
        return module_getattr(__name__)(name)
