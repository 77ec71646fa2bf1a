"""Names of `torch` that scripts use, but that minigrad does not need: switches, and the constructors of early PyTorch.

What the switches request holds anyway: minigrad's results are reproducible, and float32 products are computed in
float32. The constructors, one per dtype (`FloatTensor(2, 3)`, `LongTensor([1, 2])`), also name types of tensors:
`x.type(LongTensor)`, `isinstance(x, FloatTensor)`. Today `tensor(..., dtype=)` replaces them.
"""

import os
import warnings
from typing import Any

from minigrad._base.device import strided
from minigrad._base.dtype import DTYPES
from minigrad._base.dtype import dtype as dtype_type
from minigrad._base.tensor_errors import IN_C
from minigrad._base.type_name import type_name
from minigrad.backends.registry import count
from minigrad.core import Tensor
from minigrad.ops.factory import PLACED, legacy_tensor

__all__ = ["BoolTensor", "ByteTensor", "CharTensor", "DoubleTensor", "FloatTensor", "HalfTensor", "IntTensor",
           "LongTensor", "ShortTensor", "are_deterministic_algorithms_enabled", "get_deterministic_debug_mode",
           "get_float32_matmul_precision", "get_num_interop_threads", "get_num_threads",
           "is_deterministic_algorithms_warn_only_enabled", "set_deterministic_debug_mode",
           "set_float32_matmul_precision", "set_flush_denormal", "set_num_interop_threads", "set_num_threads",
           "use_deterministic_algorithms"]

DEBUG_MODES = ("default", "warn", "error")
OPTIONS = ("TensorOptions(dtype={}, device=cpu, layout=Strided, requires_grad=false (default), pinned_memory=false "
           "(default), memory_format=(nullopt))")


class Switches:
    """The values of the switches."""

    deterministic = False
    warn_only = False
    precision = "highest"
    threads = 0
    interop_threads = 0


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Request reproducible results, which minigrad's always are."""
    Switches.deterministic, Switches.warn_only = bool(mode), bool(warn_only)


def are_deterministic_algorithms_enabled() -> bool:
    """The value set by `use_deterministic_algorithms`."""
    return Switches.deterministic


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Whether `use_deterministic_algorithms` was called with `warn_only`."""
    return Switches.warn_only


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """`use_deterministic_algorithms` by a number or a string: 0 or "default", 1 or "warn", 2 or "error". Raises
    RuntimeError for another number or string; TypeError for anything else."""
    if not isinstance(debug_mode, (int, str)):
        raise TypeError(f"debug_mode must be str or int, but got {type(debug_mode)}")
    if isinstance(debug_mode, str) and debug_mode not in DEBUG_MODES:
        raise RuntimeError("invalid value of debug_mode, expected one of `default`, `warn`, `error`, but got "
                           f"{debug_mode}")
    mode = DEBUG_MODES.index(debug_mode) if isinstance(debug_mode, str) else debug_mode
    if mode not in (0, 1, 2):
        raise RuntimeError(f"invalid value of debug_mode, expected 0, 1, or 2, but got {mode}")
    use_deterministic_algorithms(mode > 0, warn_only=mode == 1)


def get_deterministic_debug_mode() -> int:
    """The value set by `set_deterministic_debug_mode`, as a number."""
    return (1 if Switches.warn_only else 2) if Switches.deterministic else 0


def set_float32_matmul_precision(precision: str) -> None:
    """Allow less precise float32 products; minigrad never uses them."""
    if precision in ("highest", "high", "medium"):
        Switches.precision = precision
    else:
        warnings.warn(f"{precision} is not one of 'highest', 'high', or 'medium'; the current"
                      "setFloat32MatmulPrecision call has no effect.", UserWarning, stacklevel=2)


def get_float32_matmul_precision() -> str:
    """The value set by `set_float32_matmul_precision`."""
    return Switches.precision


def check_count(function: str, num: int) -> None:
    """Raise PyTorch's errors for an invalid number of threads."""
    if not isinstance(num, int):
        raise RuntimeError(f"{function} expects an int, but got {type_name(num)}")
    if num <= 0:
        raise RuntimeError(f"{function} expects a positive integer")


def set_num_threads(num: int, /) -> None:
    """Store the number of threads that PyTorch would use; NumPy reads `OMP_NUM_THREADS` when it is loaded."""
    check_count("set_num_threads", num)
    Switches.threads = num


def get_num_threads() -> int:
    """The value set by `set_num_threads`, or the number of processors."""
    return Switches.threads or os.cpu_count() or 1


def set_num_interop_threads(num: int, /) -> None:
    """Store, once, how many ops PyTorch would run in parallel; minigrad runs one after the other."""
    check_count("set_num_interop_threads", num)
    if Switches.interop_threads:
        raise RuntimeError("Error: cannot set number of interop threads after parallel work has started or "
                           "set_num_interop_threads called")
    Switches.interop_threads = num


def get_num_interop_threads() -> int:
    """The value set by `set_num_interop_threads`, or the number of processors."""
    return Switches.interop_threads or os.cpu_count() or 1


def set_flush_denormal(mode: bool, /) -> bool:
    """Whether denormal numbers can be flushed to 0: NumPy cannot."""
    return False


def _assert(condition: object, message: str) -> None:
    """Python's `assert` as a function, which PyTorch has for its tracer."""
    if not condition:
        raise AssertionError(message)


class tensortype:
    """Creates tensors of one dtype; its instances are the tensors of that dtype."""

    __slots__ = ("__name__", "__qualname__", "dtype", "is_cuda")

    __name__: str
    __qualname__: str
    dtype: dtype_type
    is_cuda: bool
    layout = strided

    def __init__(self, kind: dtype_type, is_cuda: bool = False) -> None:
        self.dtype, self.is_cuda = kind, is_cuda
        self.__name__ = f"{kind.type_name}Tensor"
        self.__qualname__ = f"torch.{'cuda.' * is_cuda}{self.__name__}"

    def __repr__(self) -> str:
        return f"<class '{self.__qualname__}'>"

    def __reduce__(self) -> str:
        return self.__name__

    def __instancecheck__(self, instance: object) -> bool:
        return isinstance(instance, Tensor) and instance.dtype is self.dtype and instance.is_cuda == self.is_cuda

    def __call__(self, *data: Any, device: Any = PLACED) -> Tensor:
        """A tensor of that size, filled with zeros; or with these values (errors: `legacy_tensor`). Raises TypeError
        for the type of a GPU where there is none."""
        if self.is_cuda:
            if not count("cuda"):
                raise TypeError(f"type {self.__qualname__} not available. Torch not compiled with CUDA enabled.")
            on_device: Tensor = TYPES[self.dtype.type_name](*data).cuda()
            return on_device
        tensor = legacy_tensor(self.dtype, data, device)
        if tensor.dtype is not self.dtype:
            wanted, got = (OPTIONS.format(IN_C[dtype.name]) for dtype in (self.dtype, tensor.dtype))
            raise TypeError(f"expected {wanted} (got {got})")
        return tensor


TYPES = {kind.type_name: tensortype(kind) for kind in DTYPES}
BoolTensor, ByteTensor, CharTensor = TYPES["Bool"], TYPES["Byte"], TYPES["Char"]
ShortTensor, IntTensor, LongTensor = TYPES["Short"], TYPES["Int"], TYPES["Long"]
HalfTensor, FloatTensor, DoubleTensor = TYPES["Half"], TYPES["Float"], TYPES["Double"]
