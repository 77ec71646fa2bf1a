"""Switches for which minigrad has no use, since scripts set them: mirrors a few functions of `torch/__init__.py`.

What they ask for holds anyway: minigrad's results are the same at each run, and a float32 is multiplied as a float32.
"""

import os
import warnings

from minigrad._base.type_name import type_name


class Switches:
    """What was set."""

    deterministic = False
    precision = "highest"
    threads = 0


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Ask for results that are the same at each run, which they are."""
    Switches.deterministic = bool(mode)


def are_deterministic_algorithms_enabled() -> bool:
    """What `use_deterministic_algorithms` was set to."""
    return Switches.deterministic


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


def set_num_threads(num: int, /) -> None:
    """Note how many threads PyTorch would use; NumPy's take the number in `OMP_NUM_THREADS` when it is loaded."""
    if not isinstance(num, int):
        raise RuntimeError(f"set_num_threads expects an int, but got {type_name(num)}")
    if num <= 0:
        raise RuntimeError("set_num_threads expects a positive integer")
    Switches.threads = num


def get_num_threads() -> int:
    """What `set_num_threads` was set to, or the number of processors."""
    return Switches.threads or os.cpu_count() or 1


def set_flush_denormal(mode: bool, /) -> bool:
    """Whether tiny numbers can be taken for 0: NumPy cannot."""
    return False


def is_autocast_enabled(device_type: str = "cuda", /) -> bool:
    """Whether `autocast` is on: never."""
    return False


def _assert(condition: object, message: str) -> None:
    """Python's `assert` as a function, which PyTorch has for its tracer."""
    if not condition:
        raise AssertionError(message)
