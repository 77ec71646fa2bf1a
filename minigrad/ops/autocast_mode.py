"""Automatic mixed precision: chooses the dtypes in which ops compute. Mirrors ATen's `autocast_mode.cpp`.

Some ops gain from float16 or bfloat16 (`LOWER`), some need float32 (`FLOAT32_OPS`), and some need one dtype for all
inputs (`PROMOTE`); all others are unaffected. The lists are PyTorch's for the CPU.

While autocast is on in any thread, each call of a public function goes through `Casts`, and each op through a wrapper,
which also sees the ops that other ops call. While it is off, neither is installed.
"""

import functools
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from minigrad._base.device import device
from minigrad._base.dtype import dtype, float16, load_bfloat16, promote_types
from minigrad._base.dtype import dtype as dtype_class
from minigrad._base.locks import new_lock
from minigrad._base.type_name import type_name
from minigrad.autograd.grad_mode import enable_grad
from minigrad.core import LOCAL, Node, Tensor
from minigrad.ops._dispatch.op_wrappers import OPS, is_part
from minigrad.ops._dispatch.torch_function import TorchFunctionMode, path_of
from minigrad.ops.linalg.checks import CASTING
from minigrad.ops.tensor.copy import cast

# Names of functions, and of classes of ops that several functions call. Beside these `addbmm`, `baddbmm`, `linear`,
# `matmul` and `scaled_dot_product_attention` ask for themselves, since other ops are made of them.
LOWER = {"Addmm", "Bmm", "Convolution", "MkldnnRnnLayer", "Mm", "conv1d", "conv2d", "conv3d", "conv_transpose1d",
         "conv_transpose2d", "conv_transpose3d", "linalg_vecdot", "prelu"}
FLOAT32_OPS = {
    "AvgPool3D", "CtcLoss", "HuberLoss", "MaxUnpool2D", "MseLoss", "NllLoss", "NllLoss2D", "ReflectionPad1D",
    "ReflectionPad2D", "ReplicationPad1D", "ReplicationPad2D", "ReplicationPad3D", "adaptive_avg_pool3d",
    "adaptive_max_pool3d", "binary_cross_entropy", "binary_cross_entropy_with_logits", "cdist", "cholesky",
    "cholesky_inverse", "cholesky_solve", "cosine_embedding_loss", "cross_entropy", "fractional_max_pool2d",
    "fractional_max_pool3d", "geqrf", "grid_sample", "hinge_embedding_loss", "inverse", "kl_div", "l1_loss",
    "linalg_cholesky", "linalg_cholesky_ex", "linalg_cond", "linalg_eigh", "linalg_eigvalsh",
    "linalg_householder_product", "linalg_inv", "linalg_inv_ex", "linalg_lstsq", "linalg_matrix_rank", "linalg_qr",
    "linalg_solve", "linalg_svd", "linalg_svdvals", "linalg_tensorinv", "linalg_tensorsolve", "lu_solve",
    "margin_ranking_loss", "max_pool3d", "max_unpool3d", "multi_margin_loss", "multilabel_margin_loss", "nanquantile",
    "orgqr", "ormqr", "pinverse", "poisson_nll_loss", "prod", "qr", "quantile", "smooth_l1_loss", "soft_margin_loss",
    "svd", "trace", "triangular_solve", "triplet_margin_loss"}
PROMOTE = {"Cat", "Stack", "index_copy"}
FLOAT16, FLOAT32, FLOAT64 = np.dtype("float16"), np.dtype("float32"), np.dtype("float64")


class State(threading.local):
    """The settings of autocast in one thread."""

    enabled = False
    dtype: Any = None  # minigrad's; None: bfloat16, not loaded yet
    cache_enabled = True
    nesting = 0
    mode: Any = None  # the active `Casts`

    def __init__(self) -> None:
        self.cache: dict[int, tuple[Tensor, Tensor]] = {}  # by the id of a leaf: the leaf, and its cast

    def lower(self) -> Any:
        """NumPy's dtype for the ops in `LOWER`."""
        return (self.dtype or load_bfloat16()).numpy

    def call(self, function: Callable[..., Any], *args: Any, **options: Any) -> Any:
        """Call a function with its tensors in the dtype of the ops in `LOWER`."""
        return call_cast(function, self.lower(), args, options)


STATE = State()
CASTING.append(STATE)


def eligible(value: Any) -> bool:
    """Whether a value is cast: a floating-point tensor on the CPU other than float64."""
    return isinstance(value, Tensor) and value.array.dtype.kind == "f" and (
        value.array.dtype is not FLOAT64 and value.device.type == "cpu")


def cached_cast(tensor: Tensor, dtype: Any) -> Tensor:
    """A tensor in a dtype; the cast of a float32 leaf that requires grad is cached until the outermost block ends."""
    if tensor.array.dtype is dtype:
        return tensor
    kept = (dtype is STATE.lower() and tensor.array.dtype is FLOAT32 and tensor._requires_grad and tensor.is_leaf
            and tensor._base is None and STATE.cache_enabled and not LOCAL.inference)
    if kept and id(tensor) in STATE.cache:
        return STATE.cache[id(tensor)][1]
    if not kept:
        return cast(tensor, dtype)
    with enable_grad():  # the cache also serves what follows a `no_grad` block
        result = cast(tensor, dtype)
    STATE.cache[id(tensor)] = tensor, result
    return result


def all_cast(value: Any, dtype: Any) -> Any:
    """An argument with its tensors, including those in tuples and lists, cast to a dtype."""
    if type(value) in (tuple, list):
        return type(value)([all_cast(each, dtype) for each in value])
    return cached_cast(value, dtype) if eligible(value) else value


def widest(values: Any) -> Any:
    """The dtype to which the floating-point tensors among arguments are promoted."""
    found = None
    for value in values:
        kind = widest(value) if type(value) in (tuple, list) else value.array.dtype if eligible(value) else None
        found = found if kind is None else kind if found is None else promote_types(found, kind)
    return found


def dtype_for(name: str, values: tuple[Any, ...]) -> Any:
    """The dtype in which autocast runs the function with this PyTorch name; None if it leaves it alone."""
    if name in LOWER:
        return STATE.lower()
    if name in FLOAT32_OPS:
        return FLOAT32
    return widest(values) if name in PROMOTE else None


class off:
    """A block without autocast."""

    def __enter__(self) -> None:
        self.before, STATE.enabled = STATE.enabled, False

    def __exit__(self, *error: object) -> None:
        STATE.enabled = self.before


def call_cast(func: Callable[..., Any], dtype: Any, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Call a function with its tensors cast to a dtype."""
    with off():
        args = tuple([all_cast(each, dtype) for each in args])
        return func(*args, **{name: all_cast(each, dtype) for name, each in options.items()})


class Casts(TorchFunctionMode):
    """Intercepts each call of a public function, and casts its arguments."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        options = kwargs or {}
        name = path_of(func).split(".")[-1]
        if options.get("out") is not None or (name.endswith("_") and not name.startswith("_")):  # these are left alone
            with off():
                return func(*args, **options)
        weighted = name == "l1_loss" and options.get("weight") is not None  # is made of other ops
        dtype = dtype_for(name, (*args, *options.values())) if STATE.enabled and not weighted else None
        return func(*args, **options) if dtype is None else call_cast(func, dtype, args, options)


def autocast_op(forward: Callable[..., Any], cls: type[Node] | None) -> Callable[..., Any]:
    """The forward of an op with its inputs cast, if they are to be; without `cls` the class is the first argument."""
    if is_part(forward) or (cls is not None and cls.op not in LOWER | FLOAT32_OPS | PROMOTE):
        return forward

    @functools.wraps(forward)
    def call(*args: Any, **options: Any) -> Any:
        dtype = dtype_for((cls or args[0]).op, args) if STATE.enabled else None
        return forward(*args, **options) if dtype is None else call_cast(forward, dtype, args, options)

    return call


class ThreadsOn:
    """The threads with autocast on: the first installs the wrapper of the ops, the last removes it."""

    def __init__(self) -> None:
        self.lock, self.threads = new_lock(), set[int]()

    def update(self) -> None:
        """Record whether autocast is on in this thread. Call it after each change of `STATE.enabled`."""
        if STATE.enabled and STATE.mode is None:
            STATE.mode = Casts()
            STATE.mode.__enter__()
        elif not STATE.enabled and STATE.mode is not None:
            STATE.mode.__exit__()
            STATE.mode = None
        with self.lock:
            (self.threads.add if STATE.enabled else self.threads.discard)(threading.get_ident())
            OPS.wrap(autocast_op, on=bool(self.threads))


THREADS_ON = ThreadsOn()


def check_device_type(name: str, device_type: Any) -> None:
    """Raise PyTorch's error for a device's type that is no text."""
    if not isinstance(device_type, str):
        raise TypeError(f"{name}(): argument 'device_type' (position 1) must be str, not {type_name(device_type)}")


def is_autocast_enabled(device_type: str = "cuda", /) -> bool:
    """Whether `autocast` is on in this thread; always False for a GPU."""
    check_device_type("is_autocast_enabled", device_type)
    return device(device_type).type == "cpu" and STATE.enabled


def set_autocast_enabled(device_type: str, enabled: bool, /) -> None:
    """Switch autocast on or off in this thread, as a block of `autocast` does."""
    check_device_type("set_autocast_enabled", device_type)
    if not isinstance(enabled, bool):
        raise TypeError(f"set_autocast_enabled(): argument 'enabled' (position 2) must be bool, not "
                        f"{type_name(enabled)}")
    if device(device_type).type == "cpu":
        STATE.enabled = enabled
        THREADS_ON.update()


def get_autocast_dtype(device_type: str, /) -> dtype:
    """The dtype of products under autocast: by default bfloat16 on the CPU, float16 on a GPU.

    Raises:
        MissingExtra: if it is bfloat16, and ml_dtypes is not installed.
    """
    check_device_type("get_autocast_dtype", device_type)
    if device(device_type).type != "cpu":
        return float16
    return STATE.dtype or load_bfloat16()


def set_autocast_dtype(device_type: str, dtype: dtype, /) -> None:
    """Set the dtype of products under autocast."""
    check_device_type("set_autocast_dtype", device_type)
    if not isinstance(dtype, dtype_class):
        raise TypeError("set_autocast_dtype(): argument 'dtype' (position 2) must be torch.dtype, not "
                        f"{type_name(dtype)}")
    if device(device_type).type == "cpu":
        STATE.dtype = dtype


def is_autocast_cache_enabled() -> bool:
    """Whether casts of parameters are cached until the outermost block ends."""
    return STATE.cache_enabled


def set_autocast_cache_enabled(enabled: bool, /) -> None:
    """Cache casts of parameters until the outermost block ends, or do not."""
    if not isinstance(enabled, bool):
        raise TypeError(f"enabled must be a bool (got {type_name(enabled)})")
    STATE.cache_enabled = enabled


def clear_autocast_cache() -> None:
    """Discard the cached casts."""
    STATE.cache.clear()


def autocast_increment_nesting() -> int:
    """Count one more block and return the number of blocks."""
    STATE.nesting += 1
    return STATE.nesting


def autocast_decrement_nesting() -> int:
    """Count one block less and return the number of blocks."""
    STATE.nesting -= 1
    return STATE.nesting
