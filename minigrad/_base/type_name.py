"""Names the type of a wrong argument as PyTorch's errors do."""

from typing import Any


def type_name(value: Any) -> str:
    """The name of a value's type as in C: types that are written in C include their module, `numpy.ndarray`."""
    kind = type(value)
    in_c = not kind.__flags__ & 1 << 9 and kind.__module__ != "builtins"  # CPython's flag of a class made at run time
    return f"{kind.__module__}.{kind.__name__}" if in_c else kind.__name__
