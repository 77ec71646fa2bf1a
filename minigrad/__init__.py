"""minigrad: PyTorch's autograd in readable Python, on NumPy arrays.

`import minigrad as torch`: every public name is where PyTorch has it.
"""

# ruff: noqa: F403 - each module of ops says in its `__all__` what is public

from __future__ import annotations

import importlib
from math import e, inf, nan, pi
from typing import Any

from minigrad import _importing, autograd
from minigrad import backends as backends  # its `cudnn` and `mps` are asked for
from minigrad import ops as _ops  # it gives Tensor its methods
from minigrad import random as random  # a module, as `torch.random`
from minigrad._device import OutOfMemoryError, device, get_default_device, layout, set_default_device, strided
from minigrad._dtype import (
    ABSENT,
    NOT_HERE,
    Size,
    bool,
    double,
    dtype,
    float,
    float16,
    float32,
    float64,
    half,
    int,
    int8,
    int16,
    int32,
    int64,
    long,
    short,
    uint8,
)
from minigrad._switches import (
    are_deterministic_algorithms_enabled,
    get_float32_matmul_precision,
    set_float32_matmul_precision,
    use_deterministic_algorithms,
)
from minigrad._tensor import Tensor
from minigrad._tensor_str import set_printoptions
from minigrad._warnings import is_warn_always_enabled, set_warn_always
from minigrad.autograd.anomaly_mode import (
    is_anomaly_check_nan_enabled,
    is_anomaly_enabled,
    set_anomaly_enabled,
)
from minigrad.autograd.grad_mode import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from minigrad.ops.adaptive_pool import *
from minigrad.ops.aliases import *
from minigrad.ops.batch_norm import *
from minigrad.ops.batches import *
from minigrad.ops.binary import *
from minigrad.ops.bits import *
from minigrad.ops.broadcast import *
from minigrad.ops.cdist import *
from minigrad.ops.chain import *
from minigrad.ops.compare import *
from minigrad.ops.complex import *
from minigrad.ops.conv import *
from minigrad.ops.copy import *
from minigrad.ops.count import *
from minigrad.ops.create import *
from minigrad.ops.ctc import *
from minigrad.ops.cumulative import *
from minigrad.ops.data import *
from minigrad.ops.diagonal import *
from minigrad.ops.distance import *
from minigrad.ops.division import *
from minigrad.ops.dropout import *
from minigrad.ops.dtypes import *
from minigrad.ops.einsum import *
from minigrad.ops.embed import *
from minigrad.ops.extrema import *
from minigrad.ops.extremes import *
from minigrad.ops.factor import *
from minigrad.ops.fill import *
from minigrad.ops.fold import *
from minigrad.ops.functions import *
from minigrad.ops.gather import *
from minigrad.ops.generator import *
from minigrad.ops.grid import *
from minigrad.ops.index import *
from minigrad.ops.join import *
from minigrad.ops.linalg import *
from minigrad.ops.lu import *
from minigrad.ops.mask import *
from minigrad.ops.matrix_exp import *
from minigrad.ops.matrix_norm import *
from minigrad.ops.memory import *
from minigrad.ops.moments import *
from minigrad.ops.norm import *
from minigrad.ops.pick import *
from minigrad.ops.pool import *
from minigrad.ops.products import *
from minigrad.ops.properties import *
from minigrad.ops.quantile import *
from minigrad.ops.random import *
from minigrad.ops.rectify import *
from minigrad.ops.reduce import *
from minigrad.ops.repeat import *
from minigrad.ops.rnn import *
from minigrad.ops.rnn_cell import *
from minigrad.ops.rounding import *
from minigrad.ops.scatter_reduce import *
from minigrad.ops.sequences import *
from minigrad.ops.shape import *
from minigrad.ops.similarity import *
from minigrad.ops.slices import *
from minigrad.ops.smooth import *
from minigrad.ops.softmax import *
from minigrad.ops.solve import *
from minigrad.ops.sort import *
from minigrad.ops.special import *
from minigrad.ops.special_pairs import *
from minigrad.ops.spectral import *
from minigrad.ops.split import *
from minigrad.ops.tensor_types import *
from minigrad.ops.tensor_types import __all__ as _tensor_types
from minigrad.ops.ternary import *
from minigrad.ops.turn import *
from minigrad.ops.unary import *

__all__ = [
    "OutOfMemoryError", "Size", "Tensor", "__version__", "are_deterministic_algorithms_enabled", "autograd", "bool",
    "device", "double", "dtype", "e", "enable_grad", "float", "float16", "float32", "float64", "get_default_device",
    "get_float32_matmul_precision", "half", "inf", "inference_mode", "int", "int16", "int32", "int64", "int8",
    "is_anomaly_check_nan_enabled", "is_anomaly_enabled", "is_grad_enabled", "is_inference_mode_enabled",
    "is_warn_always_enabled", "layout", "long", "nan", "newaxis", "no_grad", "pi", "random", "set_anomaly_enabled",
    "set_default_device", "set_float32_matmul_precision", "set_grad_enabled", "set_printoptions", "set_warn_always",
    "short", "strided", "uint8", "use_deterministic_algorithms",
    *_ops.FUNCTIONS,
    *_tensor_types,
]
globals().update(_ops.FUNCTIONS)  # each in its frame: PyTorch's errors for arguments that it does not take
__version__ = "0.1.0"
newaxis = None
_importing.done()
LATER = ("accelerator", "cuda", "linalg", "memory", "nn", "optim", "recorder", "serialization", "special",
         "utils")


def __getattr__(name: str) -> Any:
    """`minigrad.nn` and its like, `minigrad.save` and `load`: there without being loaded by `import minigrad`."""
    if name in LATER:
        return importlib.import_module(f"minigrad.{name}")
    if name in ("load", "save"):
        return getattr(importlib.import_module("minigrad.serialization"), name)
    raise AttributeError(f"module 'minigrad' has no attribute '{name}'{NOT_HERE if name in ABSENT else ''}")
