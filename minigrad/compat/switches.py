"""Switches for which minigrad has no use, since scripts set them: mirrors a few functions of `torch/__init__.py`.

What they ask for holds anyway: minigrad's results are the same at each run, and a float32 is multiplied as a float32.
"""

import warnings


class Switches:
    """What was set."""

    deterministic = False
    precision = "highest"


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Ask for results that are the same at each run, which they are."""
    Switches.deterministic = bool(mode)


def are_deterministic_algorithms_enabled() -> bool:
    """What `use_deterministic_algorithms` was told."""
    return Switches.deterministic


def set_float32_matmul_precision(precision: str) -> None:
    """Allow coarser products of float32; minigrad never takes them."""
    if precision in ("highest", "high", "medium"):
        Switches.precision = precision
    else:
        warnings.warn(f"{precision} is not one of 'highest', 'high', or 'medium'; the current"
                      "setFloat32MatmulPrecision call has no effect.", UserWarning, stacklevel=2)


def get_float32_matmul_precision() -> str:
    """What `set_float32_matmul_precision` was told."""
    return Switches.precision
