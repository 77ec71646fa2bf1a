"""The models and loops of this group, by name."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import torch

from tests.models import small
from tests.models.loops import Loop

with warnings.catch_warnings():  # what these libraries use of PyTorch is in part deprecated
    warnings.simplefilter("ignore")
    from tests.models import language, libraries

__all__ = ["ZOO", "loop_of"]

ZOO: dict[str, Callable[[], Loop]] = {name: getattr(module, name) for module in (small, language, libraries)
                                      for name in module.__all__}


@contextmanager
def loop_of(name: str) -> Iterator[Loop]:
    """Make a loop, always with the same random numbers."""
    torch.manual_seed(0)
    random.seed(0)
    np.random.seed(0)
    loop = ZOO[name]()
    try:
        yield loop
    finally:
        loop.close()
