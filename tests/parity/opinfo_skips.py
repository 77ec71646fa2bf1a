"""What of PyTorch's table of ops (`op_db`) is not run through minigrad, and why. Plain data: docs and tests print it.

`opinfo.py` says how the rest is run.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

# By reason: names of ops, of one variant of an op ("name.variant"), or of a method or alias ("Tensor.name").
REASONS: dict[str, str] = {
}
SKIPS = {name: reason for reason, names in REASONS.items() for name in names.split()}

# Ops whose algorithm differs from PyTorch's: values to 1e-9 instead of 1e-12.
LOOSE: frozenset[str] = frozenset()

# Results without values: only shape, dtype and flags are compared.
UNDEFINED = frozenset({"empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided"})

# Results that are fixed up to a sign or a phase: compared after what PyTorch's own tests do to them.
PROCESSED: frozenset[str] = frozenset()

# Samples of an op that are left out: what they have in common, and why.
SAMPLES: dict[str, list[tuple[Callable[[Any], bool], str]]] = {
}
