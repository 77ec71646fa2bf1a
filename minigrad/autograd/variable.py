"""Offers the deprecated `Variable` where PyTorch has it."""

from minigrad.compat.variable import Variable

__all__ = ["Variable"]
