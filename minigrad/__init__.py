"""minigrad: PyTorch's autograd in readable Python, on NumPy arrays.

`import minigrad as torch`: every public name is where PyTorch has it.
"""

# ruff: noqa: F403, F405 - a reader looks an op up in `minigrad.ops.public`, the rest in the `__all__` of each file

import importlib
from math import e, inf, nan, pi
from typing import TYPE_CHECKING, Any

from minigrad import autograd
from minigrad import backends as backends  # for its `cudnn` and `mps`
from minigrad import ops as _ops  # it gives Tensor its methods
from minigrad import random as random  # a module, as `torch.random`
from minigrad._base import import_gc as _importing
from minigrad._base.device import *
from minigrad._base.dtype import *
from minigrad._base.dtype import ABSENT, NOT_HERE
from minigrad._base.optional import missing
from minigrad._base.tensor_data import set_printoptions
from minigrad._base.warnings import is_warn_always_enabled, set_warn_always
from minigrad.autograd.anomaly_mode import is_anomaly_check_nan_enabled, is_anomaly_enabled, set_anomaly_enabled
from minigrad.autograd.grad_mode import enable_grad, inference_mode, no_grad, set_grad_enabled
from minigrad.compat.legacy import *
from minigrad.compat.legacy import __all__ as _legacy
from minigrad.compat.legacy import _assert as _assert
from minigrad.core import Tensor, is_grad_enabled
from minigrad.core.grad_mode import is_inference_mode_enabled
from minigrad.ops._dispatch.torch_function import overridable_module as _overridable_module
from minigrad.ops.random import Generator, default_generator
from minigrad.ops.tensor.properties import finfo, iinfo
from minigrad.ops.tensor.storage import UntypedStorage

if TYPE_CHECKING:
    from minigrad.ops.public import *

__all__ = [
    "Generator", "OutOfMemoryError", "Size", "Tensor", "UntypedStorage", "__version__",
    "autograd", "bool", "channels_last", "channels_last_3d",
    "contiguous_format", "default_generator", "device", "double", "dtype", "e", "enable_grad", "finfo", "float",
    "float16", "float32", "float64", "get_default_device", "half",
    "iinfo", "inf", "inference_mode", "int", "int16", "int32", "int64", "int8", "is_anomaly_check_nan_enabled",
    "is_anomaly_enabled", "is_grad_enabled", "is_inference_mode_enabled",
    "is_warn_always_enabled", "layout", "long", "memory_format", "nan", "newaxis", "no_grad", "pi", "preserve_format",
    "random", "set_anomaly_enabled", "set_default_device",
    "set_grad_enabled", "set_printoptions", "set_warn_always", "short", "strided", "uint8",
    *_ops.FUNCTIONS,
    *_legacy,
]
globals().update(_ops.FUNCTIONS)  # the functions of `minigrad.ops.public`, wrapped in PyTorch's argument parsing
_overridable_module(vars(autograd), ("backward", "grad"))
for _public in (Tensor, Size, dtype, device, layout, memory_format, Generator, finfo, iinfo, UntypedStorage):
    _public.__module__ = "minigrad"  # printed and pickled under the name that users write
__version__ = "0.1.0"
newaxis = None
_importing.done()
__path__.append(f"{__path__[0]}/left_out")  # for `minigrad.fft` and others, which can be imported but not used
LATER = ("_C", "__future__", "_dynamo", "accelerator", "amp", "ao", "compiler", "cpu", "cuda", "distributed",
         "distributions", "export", "fft", "func", "functional", "futures", "fx", "hub", "jit", "library", "linalg",
         "masked", "memory", "monitor", "mps", "multiprocessing", "nested", "nn", "onnx", "optim", "overrides",
         "package", "profiler", "quantization", "recorder", "serialization", "sparse", "special", "storage", "testing",
         "types", "utils", "version", "xpu")
LATER_NAMES = {"GradScaler": "amp", "autocast": "amp", "bfloat16": "ops._dispatch.bfloat16", "compile": "compiler",
               "load": "serialization", "save": "serialization", "is_storage": "ops.tensor.storage",
               "vmap": "func", "get_device_module": "accelerator",
               **dict.fromkeys(("autocast_decrement_nesting", "autocast_increment_nesting", "clear_autocast_cache",
                                "get_autocast_dtype", "is_autocast_cache_enabled", "is_autocast_enabled",
                                "set_autocast_cache_enabled", "set_autocast_dtype", "set_autocast_enabled"),
                               "ops.autocast_mode")}


def __getattr__(name: str) -> Any:
    """Return `minigrad.nn`, `minigrad.save` and others that `import minigrad` does not load."""
    if name in LATER:
        return importlib.import_module(f"minigrad.{name}")
    if name in LATER_NAMES:
        return getattr(importlib.import_module(f"minigrad.{LATER_NAMES[name]}"), name)
    missing("module 'minigrad'", name, NOT_HERE if name in ABSENT else "")
