"""What these tests ask for: the PyTorch that minigrad is compared with."""

from tests.parity.conftest import every_warning, no_cupy
from tests.parity.reference import torch

__all__ = ["every_warning", "no_cupy", "torch"]
