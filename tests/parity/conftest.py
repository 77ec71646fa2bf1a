"""What parity tests ask for."""

from tests.parity.reference import torch

__all__ = ["torch"]
