"""minigrad: PyTorch's autograd in readable Python, on NumPy arrays.

`import minigrad as torch`: every public name is where PyTorch has it.
"""

from __future__ import annotations

import importlib
from types import ModuleType

from minigrad import autograd
from minigrad import ops as _ops  # noqa: F401 - it gives Tensor its methods
from minigrad._device import device, layout, strided
from minigrad._dtype import (
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
from minigrad._tensor import Tensor
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
from minigrad.ops.compare import all_ as all
from minigrad.ops.compare import (
    allclose,
    eq,
    equal,
    ge,
    gt,
    isclose,
    isfinite,
    isinf,
    isnan,
    le,
    logical_and,
    logical_not,
    logical_or,
    lt,
    ne,
)
from minigrad.ops.compare import any_ as any
from minigrad.ops.copy import clone
from minigrad.ops.create import (
    arange,
    as_tensor,
    empty,
    empty_like,
    eye,
    full,
    full_like,
    linspace,
    ones,
    ones_like,
    scalar_tensor,
    tensor,
    zeros,
    zeros_like,
)
from minigrad.ops.functions import (
    abs,
    add,
    cos,
    div,
    exp,
    log,
    mul,
    neg,
    pow,
    reciprocal,
    relu,
    rsub,
    sigmoid,
    sign,
    sin,
    sqrt,
    square,
    sub,
    tanh,
    where,
)
from minigrad.ops.join import cat, chunk, split, stack, unbind
from minigrad.ops.linalg import addmm, bmm, dot, matmul, mm, mv
from minigrad.ops.memory import UntypedStorage, from_numpy
from minigrad.ops.properties import (
    is_complex,
    is_floating_point,
    is_inference,
    is_nonzero,
    is_same_size,
    is_signed,
    is_tensor,
    numel,
    typename,
)
from minigrad.ops.reduce import mean, norm
from minigrad.ops.reduce import sum_ as sum
from minigrad.ops.shape import flatten, movedim, permute, reshape, squeeze, t, transpose, unsqueeze
from minigrad.random import (
    Generator,
    default_generator,
    get_rng_state,
    initial_seed,
    manual_seed,
    rand,
    rand_like,
    randint,
    randint_like,
    randn,
    randn_like,
    randperm,
    seed,
    set_rng_state,
)

__all__ = [
    "Generator", "Size", "Tensor", "UntypedStorage", "__version__", "abs", "add", "addmm", "all", "allclose", "any",
    "arange", "as_tensor", "autograd", "bmm", "bool", "cat", "chunk", "clone", "cos", "default_generator", "device",
    "div", "dot", "double", "dtype", "empty", "empty_like", "enable_grad", "eq", "equal", "exp", "eye", "flatten",
    "float", "float16", "float32", "float64", "from_numpy", "full", "full_like", "ge", "get_rng_state", "gt", "half",
    "inference_mode", "initial_seed", "int", "int8", "int16", "int32", "int64", "is_anomaly_check_nan_enabled",
    "is_anomaly_enabled", "is_complex", "is_floating_point", "is_grad_enabled", "is_inference",
    "is_inference_mode_enabled", "is_nonzero", "is_same_size", "is_signed", "is_tensor", "is_warn_always_enabled",
    "isclose", "isfinite", "isinf", "isnan", "layout", "le", "linspace", "log", "logical_and", "logical_not",
    "logical_or", "long", "lt", "manual_seed", "matmul", "mean", "mm", "movedim", "mul", "mv", "ne", "neg", "no_grad",
    "norm", "numel", "ones", "ones_like", "permute", "pow", "rand", "rand_like", "randint", "randint_like", "randn",
    "randn_like", "randperm", "reciprocal", "relu", "reshape", "rsub", "scalar_tensor", "seed", "set_anomaly_enabled",
    "set_grad_enabled", "set_rng_state", "set_warn_always", "short", "sigmoid", "sign", "sin", "split", "sqrt",
    "square", "squeeze", "stack", "strided", "sub", "sum", "t", "tanh", "tensor", "transpose", "typename", "uint8",
    "unbind", "unsqueeze", "where", "zeros", "zeros_like",
]
__version__ = "0.1.0"
LATER = ("nn", "optim", "utils")


def __getattr__(name: str) -> ModuleType:
    """`minigrad.nn` and its like are there without being loaded by `import minigrad`."""
    if name in LATER:
        return importlib.import_module(f"minigrad.{name}")
    raise AttributeError(f"module 'minigrad' has no attribute '{name}'")
