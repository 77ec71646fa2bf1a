"""What this library was built with: mirrors `torch/version.py`. No GPU library is: CuPy brings its own."""

import importlib
from typing import Any

__all__ = ["__version__", "cuda", "debug", "git_version", "hip"]

__version__: Any = importlib.import_module("minigrad").__version__
debug = False
cuda: str | None = None
hip: str | None = None
git_version = "unknown"
