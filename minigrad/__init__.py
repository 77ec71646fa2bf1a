"""minigrad: PyTorch's autograd in readable Python, on NumPy arrays.

`import minigrad as torch`: every public name is where PyTorch has it.
"""

# ruff: noqa: F403 - each module of ops says in its `__all__` what is public

from __future__ import annotations

import importlib
from math import e, inf, nan, pi
from typing import Any

from minigrad import autograd
from minigrad import backends as backends  # its `cudnn` and `mps` are asked for
from minigrad import ops as _ops  # it gives Tensor its methods
from minigrad import random as random  # a module, as `torch.random`
from minigrad._base import import_gc as _importing
from minigrad._base.device import OutOfMemoryError, device, get_default_device, layout, set_default_device, strided
from minigrad._base.dtype import (
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
from minigrad._base.tensor_str import set_printoptions
from minigrad._base.warnings import is_warn_always_enabled, set_warn_always
from minigrad.autograd.anomaly_mode import (
    is_anomaly_check_nan_enabled,
    is_anomaly_enabled,
    set_anomaly_enabled,
)
from minigrad.autograd.grad_mode import enable_grad, inference_mode, no_grad, set_grad_enabled
from minigrad.compat.complex import *
from minigrad.compat.switches import (
    are_deterministic_algorithms_enabled,
    get_float32_matmul_precision,
    set_float32_matmul_precision,
    use_deterministic_algorithms,
)
from minigrad.compat.tensor_types import *
from minigrad.compat.tensor_types import __all__ as _tensor_types
from minigrad.core.grad_mode import is_grad_enabled, is_inference_mode_enabled
from minigrad.core.tensor import Tensor
from minigrad.ops.activation.piecewise import *
from minigrad.ops.activation.smooth import *
from minigrad.ops.activation.softmax import *
from minigrad.ops.factory.sequences import *
from minigrad.ops.factory.sizes import *
from minigrad.ops.factory.values import *
from minigrad.ops.index.gather import *
from minigrad.ops.index.index_select import *
from minigrad.ops.index.indexing import *
from minigrad.ops.index.mask import *
from minigrad.ops.index.scatter_reduce import *
from minigrad.ops.linalg.add_products import *
from minigrad.ops.linalg.cholesky_qr import *
from minigrad.ops.linalg.distance import *
from minigrad.ops.linalg.einsum import *
from minigrad.ops.linalg.lu import *
from minigrad.ops.linalg.matmul import *
from minigrad.ops.linalg.matrix_functions import *
from minigrad.ops.linalg.norms import *
from minigrad.ops.linalg.products import *
from minigrad.ops.linalg.solve import *
from minigrad.ops.linalg.spectral import *
from minigrad.ops.nn.adaptive_pool import *
from minigrad.ops.nn.batch_norm import *
from minigrad.ops.nn.conv import *
from minigrad.ops.nn.ctc import *
from minigrad.ops.nn.dropout import *
from minigrad.ops.nn.embedding import *
from minigrad.ops.nn.fold import *
from minigrad.ops.nn.normalization import *
from minigrad.ops.nn.pool import *
from minigrad.ops.nn.rnn import *
from minigrad.ops.nn.rnn_cell import *
from minigrad.ops.pointwise.aliases import *
from minigrad.ops.pointwise.binary import *
from minigrad.ops.pointwise.bitwise import *
from minigrad.ops.pointwise.compare import *
from minigrad.ops.pointwise.division import *
from minigrad.ops.pointwise.functions import *
from minigrad.ops.pointwise.minmax import *
from minigrad.ops.pointwise.rounding import *
from minigrad.ops.pointwise.ternary import *
from minigrad.ops.pointwise.unary import *
from minigrad.ops.random.factory import *
from minigrad.ops.random.generator import *
from minigrad.ops.random.inplace import *
from minigrad.ops.reduce.count import *
from minigrad.ops.reduce.cumulative import *
from minigrad.ops.reduce.minmax import *
from minigrad.ops.reduce.quantile import *
from minigrad.ops.reduce.sort import *
from minigrad.ops.reduce.sums import *
from minigrad.ops.reduce.variance import *
from minigrad.ops.shape.broadcast import *
from minigrad.ops.shape.diagonal import *
from minigrad.ops.shape.flip import *
from minigrad.ops.shape.join import *
from minigrad.ops.shape.meshgrid import *
from minigrad.ops.shape.repeat import *
from minigrad.ops.shape.slices import *
from minigrad.ops.shape.split import *
from minigrad.ops.shape.views import *
from minigrad.ops.special.binary import *
from minigrad.ops.special.unary import *
from minigrad.ops.tensor.copy import *
from minigrad.ops.tensor.properties import *
from minigrad.ops.tensor.storage import *
from minigrad.ops.tensor.type_info import *

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
