"""Names of the front of PyTorch's compiler: mirrors part of `torch/_dynamo`.

The settings are stored, and change nothing.
"""

from types import SimpleNamespace

from minigrad.compiler import disable, is_compiling, list_backends, reset

__all__ = ["config", "disable", "is_compiling", "list_backends", "reset"]

config = SimpleNamespace(cache_size_limit=8, recompile_limit=8, suppress_errors=False, verbose=False, disable=False,
                         capture_scalar_outputs=False, optimize_ddp=True)
