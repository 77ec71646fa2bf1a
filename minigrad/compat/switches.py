"""Switches for which minigrad has no use, since scripts set them: mirrors a few functions of `torch/__init__.py`.

What they ask for holds anyway: minigrad's results are the same at each run, and a float32 is multiplied as a float32.
"""

import os
import warnings

from minigrad._base.type_name import type_name


class Switches:
    """What was set."""

    deterministic = False
    warn_only = False
    precision = "highest"
    threads = 0
    interop_threads = 0


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Ask for results that are the same at each run, which they are."""
    Switches.deterministic, Switches.warn_only = bool(mode), bool(warn_only)


def are_deterministic_algorithms_enabled() -> bool:
    """What `use_deterministic_algorithms` was set to."""
    return Switches.deterministic


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Whether `use_deterministic_algorithms` was called with `warn_only`."""
    return Switches.warn_only


DEBUG_MODES = ("default", "warn", "error")


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """`use_deterministic_algorithms` by a number or a word: 0 or "default", 1 or "warn", 2 or "error".

    Raises:
        RuntimeError: for another number or word.
        TypeError: for what is neither.
    """
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
    """What `set_deterministic_debug_mode` was set to, as a number."""
    return (1 if Switches.warn_only else 2) if Switches.deterministic else 0


def set_float32_matmul_precision(precision: str) -> None:
    """Allow coarser products of float32; minigrad never takes them."""
    if precision in ("highest", "high", "medium"):
        Switches.precision = precision
    else:
        warnings.warn(f"{precision} is not one of 'highest', 'high', or 'medium'; the current"
                      "setFloat32MatmulPrecision call has no effect.", UserWarning, stacklevel=2)


def get_float32_matmul_precision() -> str:
    """What `set_float32_matmul_precision` was set to."""
    return Switches.precision


def check_count(function: str, num: int) -> None:
    """PyTorch's errors for what is no number of threads."""
    if not isinstance(num, int):
        raise RuntimeError(f"{function} expects an int, but got {type_name(num)}")
    if num <= 0:
        raise RuntimeError(f"{function} expects a positive integer")


def set_num_threads(num: int, /) -> None:
    """Note how many threads PyTorch would use; NumPy's take the number in `OMP_NUM_THREADS` when it is loaded."""
    check_count("set_num_threads", num)
    Switches.threads = num


def get_num_threads() -> int:
    """What `set_num_threads` was set to, or the number of processors."""
    return Switches.threads or os.cpu_count() or 1


def set_num_interop_threads(num: int, /) -> None:
    """Note how many ops PyTorch would run side by side, once; minigrad runs one after the other."""
    check_count("set_num_interop_threads", num)
    if Switches.interop_threads:
        raise RuntimeError("Error: cannot set number of interop threads after parallel work has started or "
                           "set_num_interop_threads called")
    Switches.interop_threads = num


def get_num_interop_threads() -> int:
    """What `set_num_interop_threads` was set to, or the number of processors."""
    return Switches.interop_threads or os.cpu_count() or 1


def set_flush_denormal(mode: bool, /) -> bool:
    """Whether tiny numbers can be taken for 0: NumPy cannot."""
    return False


def _assert(condition: object, message: str) -> None:
    """Python's `assert` as a function, which PyTorch has for its tracer."""
    if not condition:
        raise AssertionError(message)
